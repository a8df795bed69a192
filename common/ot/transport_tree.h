/* The spanning tree of ot/transport_simplex.h: its order, its flow, and pivots. */
#ifndef DPOT_OT_TRANSPORT_TREE_H
#define DPOT_OT_TRANSPORT_TREE_H

#include "ot/transport_simplex.h"

/* Hangs a node, with what hangs below it, below another that is not among these. */
void dpot_transport_tree_hang(struct dpot_transport_simplex *t, int32_t node, int32_t parent,
                              int64_t flow);

/* Sets the sizes of all subtrees, once everything hangs. */
void dpot_transport_tree_count(struct dpot_transport_simplex *t);

/* Lets an arc of reduced cost `reduced` enter: flow goes round its cycle, an arc that gets to zero
 * leaves, the part of the tree below that is hung by the entering arc, and potentials shift so that
 * this has reduced cost zero. */
void dpot_transport_tree_pivot(struct dpot_transport_simplex *t, struct dpot_transport_arc arc,
                               double reduced);

#endif
