/* The spanning tree of ot/transport_simplex.h: its order, its flow, and pivots. */
#ifndef DPOT_OT_TRANSPORT_TREE_H
#define DPOT_OT_TRANSPORT_TREE_H

#include "ot/transport_simplex.h"

/* Makes the subtree of `node` a child of `parent`, which is outside of it. */
void dpot_transport_tree_hang(struct dpot_transport_simplex *t, int32_t node, int32_t parent,
                              int64_t flow);

/* Sets the sizes of all subtrees of a complete tree. */
void dpot_transport_tree_count(struct dpot_transport_simplex *t);

/* Lets an arc of reduced cost `reduced` enter: pushes flow around its cycle, removes an arc whose
 * flow becomes zero, attaches the subtree below it by the entering arc, and shifts potentials so
 * that this has reduced cost zero. */
void dpot_transport_tree_pivot(struct dpot_transport_simplex *t, struct dpot_transport_arc arc,
                               double reduced);

#endif
