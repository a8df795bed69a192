/* Balanced entropic transport <C,P> + lambda KL(P | a x b), plain and safe: log-domain sweeps,
 * float64. The fast engine (stored kernel, absorption, warm starts) takes this interface over. */
#ifndef DPOT_OT_SINKHORN_H
#define DPOT_OT_SINKHORN_H

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>

struct dpot_sinkhorn_result {
    double transport_cost; /* <C, P> of the last plan */
    double value;          /* <C, P> + lambda KL(P | a x b) of that plan */
    double dual;           /* dual value of the potentials */
    double residual;       /* L1 violation of the row marginal */
    size_t iterations;
    int converged; /* residual <= tol was reached */
};

/* a and b are nonnegative, of equal mass (up to 1e-6 relative; b is scaled to a's); points without
 * mass are allowed and get finite potentials. Stops when residual <= tol or after max_iterations (at
 * least one): the residual is that of the returned plan, so "not converged" is honest. A small
 * lambda converges slowly in this plain form. 1e15 lambda is the largest |cost|.
 *
 * DPOT_ERR_RANGE / DPOT_ERR_SHAPE with a sentence, DPOT_ERR_MEMORY. f and g may be NULL. */
DPOT_WARN_UNUSED dpot_status dpot_sinkhorn(
    const double *cost /* (n_rows, n_cols) */, const double *a /* (n_rows) */,
    const double *b /* (n_cols) */, size_t n_rows, size_t n_cols, double lambda, double tol,
    size_t max_iterations, const struct dpot_allocator *allocator, double *f /* (n_rows) or NULL */,
    double *g /* (n_cols) or NULL */, double *plan /* (n_rows, n_cols) or NULL */,
    struct dpot_sinkhorn_result *result, struct dpot_error *error);

#endif
