/* Balanced entropic transport <C,P> + lambda KL(P | a x b), plain and safe: log-domain sweeps,
 * float64. a x b is the product with the mass of a: a_i b_j / sum a. The fast engine (stored kernel, absorption, warm starts) takes this interface over. */
#ifndef DPOT_OT_SINKHORN_H
#define DPOT_OT_SINKHORN_H

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>

/* The largest lambda, in units of the largest |cost|: the plan is then a x b to about a millionth.
 */
#define DPOT_SINKHORN_LAMBDA_RATIO 1e6

struct dpot_sinkhorn_result {
    double transport_cost; /* <C, P> of the last plan */
    double value;          /* <C, P> + lambda KL(P | a x b) of that plan */
    double dual;           /* dual value of the potentials: at most the optimal value */
    double residual;       /* L1 violation of the row marginal */
    size_t iterations;
    int converged; /* residual <= tol was reached */
};

/* Called after every iteration on the thread that solves, for who wants to show progress. */
struct dpot_sinkhorn_watch {
    void (*step)(void *ctx, size_t iterations, double residual);
    void *ctx;
};

/* a and b are nonnegative, of equal mass (up to 1e-6 relative; b is scaled to a's); points without
 * mass are allowed and get finite potentials. Stops when residual <= tol or after max_iterations (at
 * least one): the residual is that of the returned plan, so "not converged" is honest. A small
 * lambda converges slowly in this plain form. The largest |cost| lies between 1e-6 lambda and 1e15
 * lambda; without any cost every lambda will do. Rounding costs value and dual about 1e-14 of the
 * mean |cost| (under a x b), at any lambda in that range.
 * P_ij = a_i b_j / (sum a) exp((f_i + g_j - C_ij) / lambda).
 *
 * DPOT_ERR_RANGE / DPOT_ERR_SHAPE with a sentence, DPOT_ERR_MEMORY. f and g may be NULL. */
DPOT_WARN_UNUSED dpot_status dpot_sinkhorn(
    const double *cost /* (n_rows, n_cols) */, const double *a /* (n_rows) */,
    const double *b /* (n_cols) */, size_t n_rows, size_t n_cols, double lambda, double tol,
    size_t max_iterations, const struct dpot_allocator *allocator, double *f /* (n_rows) or NULL */,
    double *g /* (n_cols) or NULL */, double *plan /* (n_rows, n_cols) or NULL */,
    struct dpot_sinkhorn_result *result, struct dpot_error *error);

/* The same, watched; `watch` may be NULL. */
DPOT_WARN_UNUSED dpot_status dpot_sinkhorn_watched(
    const double *cost, const double *a, const double *b, size_t n_rows, size_t n_cols,
    double lambda, double tol, size_t max_iterations, const struct dpot_allocator *allocator,
    const struct dpot_sinkhorn_watch *watch, double *f, double *g, double *plan,
    struct dpot_sinkhorn_result *result, struct dpot_error *error);

#endif
