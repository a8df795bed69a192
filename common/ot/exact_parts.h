/* Shared by network_simplex.c and exact_projection.c: checks, and reading a solved tree. */
#ifndef DPOT_OT_EXACT_PARTS_H
#define DPOT_OT_EXACT_PARTS_H

#include "base/error.h"
#include "ot/exact_units.h"
#include "ot/transport_simplex.h"

#define DPOT_EXACT_MASS_TOL 1e-6 /* largest relative difference of equal masses */

/* Checks the sizes, with `n_more_nodes` nodes besides rows and columns, then every cost. */
DPOT_WARN_UNUSED dpot_status dpot_exact_check_shape(const double *cost /* (n_rows, n_cols) */,
                                                    size_t n_rows, size_t n_cols,
                                                    size_t n_more_nodes, struct dpot_error *error);

/* Checks that masses are finite and >= 0, and sums them. */
DPOT_WARN_UNUSED dpot_status dpot_exact_check_masses(const char *name, const double *mass, size_t n,
                                                     double *total, struct dpot_error *error);

/* Row and column of the arc from a node to its parent. Returns 0 at the root and outside the
 * tree. */
int dpot_exact_arc_above(const struct dpot_transport_simplex *transport, size_t node, size_t *row,
                         size_t *col);

/* <C, P> of the flow. */
double dpot_exact_plan_cost(const struct dpot_transport_simplex *transport, int exponent);

#endif
