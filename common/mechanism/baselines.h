/* For campaigns of the baselines (KPM, exponential mechanism): their own base measures, the
 * sensitivity of the utility, and the law of the exponential mechanism. All of this is utility:
 * privacy depends on the integers of mechanism/sampler.h alone. */
#ifndef DPOT_MECHANISM_BASELINES_H
#define DPOT_MECHANISM_BASELINES_H

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>

/* The mass of each of `size` outcomes in KPM's own base measure (002, section 2.2),
 *     m = e^(epsilon/2) / (e^epsilon + size - 1):
 * a point mass is answered by randomised response, truthfully with probability
 * e^epsilon / (e^epsilon + size - 1). */
double dpot_kpm_mass(double epsilon, size_t size);

/* A cost matrix that is computed row by row. */
struct dpot_cost_rows {
    size_t n_rows, n_cols;
    void (*row)(void *ctx, size_t i, double *row /* (n_cols) */);
    void *ctx;
};

/* The sensitivity of the utility  u(mu, j) = - sum_i mu_i C_ij  between any two measures,
 *     Delta = max_j (max_i C_ij - min_i C_ij).
 * DPOT_ERR_RANGE: a cost is not finite, or Delta is 0 (the utility does not depend on the input).
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_exponential_sensitivity(const struct dpot_cost_rows *cost,
                                                          const struct dpot_allocator *allocator,
                                                          double *sensitivity,
                                                          struct dpot_error *error);

/* The law of the exponential mechanism (McSherry and Talwar 2007): q_j proportional to exp(-rate
 * c_j), rate = epsilon / (2 Delta), for mean costs c_j = sum_i mu_i C_ij, which q holds on entry.
 * Total: NaN counts as an infinite cost; without a finite cost q is 0. */
void dpot_exponential_law(double rate, double *q /* (size) */, size_t size);

/* The exponential mechanism's own base measure: m_j = sqrt(min_i q_ij max_i q_ij), where q_i is the
 * law of the point mass on i. Since max_i q_ij / min_i q_ij <= e^epsilon, every q_i is in the LDP
 * polytope of m. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_exponential_base_measure(const struct dpot_cost_rows *cost,
                                                           double rate,
                                                           const struct dpot_allocator *allocator,
                                                           double *m /* (n_cols) */,
                                                           struct dpot_error *error);

#endif
