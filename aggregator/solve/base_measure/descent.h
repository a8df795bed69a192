/* The expected-case base measure by stochastic mirror descent.
 *
 *     F(m) = (1 - worst_share) sum_u omega_u P(mu_u, m) + worst_share max_i phi_i(m)
 *
 * One user per step, without replacement, in a new random order for each pass:
 *
 *     g_t   = a subgradient of (1 - worst_share) n omega_u P(mu_u, m_t), u the user of step t,
 *             plus one of the worst case
 *     m_t+1 = m_t exp(-eta_t g_t), rescaled to a total mass in [alpha, beta] if it is outside
 *     eta_t = .3 sqrt(1 + ln n_cols) / sqrt(sum_{s <= t} <m_s, g_s^2> / sum_j m_s,j)
 *
 * The step size adapts to the gradients in the local norm of the measure: the published step (002,
 * Appendix G) is derived for the worst case and far too small at large epsilon. The answer is the
 * mean of the second half of the iterates. Weights are stored as logarithms. Deterministic for a
 * seed. It gives no lower bound (see solve/base_measure/planes.h) and may end above its start: the
 * caller compares the two (solve/base_measure/expected.c). */
#ifndef DPOT_SOLVE_BASE_MEASURE_DESCENT_H
#define DPOT_SOLVE_BASE_MEASURE_DESCENT_H

#include "base/error.h"
#include "solve/base_measure/crowd.h"
#include "solve/base_measure/phi.h"
#include "solve/run/control.h"

#define BASE_MEASURE_PASSES 3

struct base_measure_descent_config {
    const struct base_measure_users *users;
    struct base_measure_crowd *crowd; /* of these users */
    struct phi *phi;                  /* NULL when worst_share is 0 */
    double worst_share;
    size_t n_steps; /* default: BASE_MEASURE_PASSES times the number of users */
    uint64_t seed;
    const double *start; /* (n_cols) in M, entries > 0 */
    const struct dpot_allocator *allocator;
};

/* Writes the measure. If `control` (may be NULL) stops it: the mean of the second half so far. */
DPOT_WARN_UNUSED dpot_status base_measure_descend(const struct base_measure_descent_config *config,
                                                  const struct solve_control *control,
                                                  double *m /* (n_cols) */, size_t *n_steps,
                                                  enum solve_outcome *outcome);

#endif
