/* Balanced entropic transport <C,P> + lambda KL(P | a x b), plain and safe: log-domain sweeps in
 * float64. a x b has the mass of a: a_i b_j / sum a. The fast engine is
 * aggregator/solve/entropic.h. */
#ifndef DPOT_OT_SINKHORN_H
#define DPOT_OT_SINKHORN_H

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>

/* The largest lambda, in units of the largest |cost|: the plan is then a x b to about 1e-6. */
#define DPOT_SINKHORN_LAMBDA_RATIO 1e6

struct dpot_sinkhorn_result {
    double transport_cost; /* <C, P> of the last plan */
    double value;          /* <C, P> + lambda KL(P | a x b) of that plan */
    double dual;           /* of the potentials: a lower bound on the optimal value */
    double residual;       /* L1 violation of the row marginal */
    size_t iterations;
    int converged; /* residual <= tol was reached */
};

/* P_ij = a_i b_j / (sum a) exp((f_i + g_j - C_ij) / lambda).
 *
 * a and b are nonnegative with equal mass (up to 1e-6 relative; b is scaled to a); points without
 * mass are allowed and get finite potentials. Stops when residual <= tol or after max_iterations
 * (at least one); the residual is that of the returned plan. Small lambda converges slowly. The
 * largest |cost| must be between 1e-6 lambda and 1e15 lambda, or 0. Rounding errors of value and
 * dual are about 1e-14 of the mean |cost| under a x b, for every lambda in that range.
 *
 * DPOT_ERR_RANGE, DPOT_ERR_SHAPE, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_sinkhorn(
    const double *cost /* (n_rows, n_cols) */, const double *a /* (n_rows) */,
    const double *b /* (n_cols) */, size_t n_rows, size_t n_cols, double lambda, double tol,
    size_t max_iterations, const struct dpot_allocator *allocator, double *f /* (n_rows) or NULL */,
    double *g /* (n_cols) or NULL */, double *plan /* (n_rows, n_cols) or NULL */,
    struct dpot_sinkhorn_result *result, struct dpot_error *error);

#endif
