/* What exact transport and exact projection share (network_simplex.c, exact_projection.c): checks,
 * masses in integer units, and reading a solved tree. */
#ifndef DPOT_OT_EXACT_PARTS_H
#define DPOT_OT_EXACT_PARTS_H

#include "base/error.h"
#include "ot/transport_simplex.h"

#define DPOT_EXACT_UNIT_BITS 61  /* the total mass in units lies in [2^60, 2^61) */
#define DPOT_EXACT_MASS_TOL 1e-6 /* relative difference of two masses that count as equal */

/* Neumaier's sum: the certificate compares two long sums. */
struct dpot_exact_sum {
    double sum, lost;
};
void dpot_exact_add(struct dpot_exact_sum *s, double x);
double dpot_exact_sum_of(const struct dpot_exact_sum *s);

/* Sizes, then every cost; `n_more_nodes` besides rows and columns. */
DPOT_WARN_UNUSED dpot_status dpot_exact_check_shape(const double *cost /* (n_rows, n_cols) */,
                                                    size_t n_rows, size_t n_cols,
                                                    size_t n_more_nodes, struct dpot_error *error);

DPOT_WARN_UNUSED dpot_status dpot_exact_check_masses(const char *name, const double *mass, size_t n,
                                                     double *total, struct dpot_error *error);

/* Rounds masses to units of 2^(exponent - DPOT_EXACT_UNIT_BITS); returns their sum. */
int64_t dpot_exact_to_units(const double *mass, size_t n, double factor, int exponent,
                            int64_t *units);
double dpot_exact_to_mass(int64_t units, int exponent);

/* Row and column of the arc above a node; 0 at the root and outside the tree. */
int dpot_exact_arc_above(const struct dpot_transport_simplex *transport, size_t node, size_t *row,
                         size_t *col);

double dpot_exact_plan_cost(const struct dpot_transport_simplex *transport, int exponent);

#endif
