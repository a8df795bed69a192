/* What campaigns of the baselines (KPM, exponential mechanism) are made of: their own base
 * measures, the sensitivity of the utility, and the law of the exponential mechanism. All of it is
 * utility: whatever these numbers are, privacy rests on the integers of mechanism/sampler.h
 * alone. */
#ifndef DPOT_MECHANISM_BASELINES_H
#define DPOT_MECHANISM_BASELINES_H

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>

/* The mass that KPM's own base measure gives each of `size` outcomes (002, section 2.2):
 *     m = e^(epsilon/2) / (e^epsilon + size - 1),
 * so that a point mass is answered as by randomised response, with the truth having probability
 * e^epsilon / (e^epsilon + size - 1). */
double dpot_kpm_mass(double epsilon, size_t size);

/* A cost matrix that is asked for row by row. */
struct dpot_cost_rows {
    size_t n_rows, n_cols;
    void (*row)(void *ctx, size_t i, double *row /* (n_cols) */);
    void *ctx;
};

/* Sensitivity of the utility  u(mu, j) = - sum_i mu_i C_ij  between any two measures:
 *     Delta = max_j (max_i C_ij - min_i C_ij).
 * DPOT_ERR_RANGE for a cost that is not finite, or when Delta is 0 (the utility does not depend on
 * the input, so there is nothing to protect and no scale), DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_exponential_sensitivity(const struct dpot_cost_rows *cost,
                                                          const struct dpot_allocator *allocator,
                                                          double *sensitivity,
                                                          struct dpot_error *error);

/* The law of the exponential mechanism (McSherry and Talwar 2007) at mean costs c_j = sum_i mu_i
 * C_ij:  q_j proportional to exp(-rate c_j), rate = epsilon / (2 Delta). In place: mean costs in, q
 * out. Total: a mean cost that is NaN counts as infinite, and without a finite one q is 0. */
void dpot_exponential_law(double rate, double *q /* (size) */, size_t size);

/* The exponential mechanism's own base measure: m_j = sqrt(min_i q_ij max_i q_ij), q_i the law at
 * the point mass on i. Since max_i q_ij / min_i q_ij <= e^epsilon, every q_i lies in the LDP
 * polytope of m. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_exponential_base_measure(const struct dpot_cost_rows *cost,
                                                           double rate,
                                                           const struct dpot_allocator *allocator,
                                                           double *m /* (n_cols) */,
                                                           struct dpot_error *error);

#endif
