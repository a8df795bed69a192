/* The limit of the laws of a wpm device as its sweeps go on, and a proved bound of its error.
 *
 * The entropic projection of a measure mu is q = P' 1 of the plan P that makes <C, P> + lambda sum
 * P log P smallest among those with row sums mu and column sums in the polytope (002, Algorithm 1).
 * It is solved from coarse to fine (dpot_projection_run_scaled), which does not stall where sweeps
 * from v = 1 do: at a small lambda a sweep moves a potential by about lambda, and the law may not
 * change for thousands of sweeps far from its limit.
 *
 * Bound. After any sweep P = diag(u) K diag(v) is the minimiser for its own row sums mu'. With f =
 * lambda log u, g = lambda log v, and f*, g* and P* those of mu, the gradient of the objective
 * being C + lambda log P + lambda,
 *
 *   lambda (KL(P | P*) + KL(P* | P)) = <f - f*, mu' - mu> + <g - g*, q - q*>,
 *
 * where the last term is at most 0, since g and g* are multipliers of the same box. f_i / lambda is
 * log mu_i - log (K v)_i, so that f - f* varies by at most 2 R over the rows, R = max_j (max_i C_ij
 * - min_i C_ij). With Pinsker's inequality on the left, and r the L1 distance of mu' and mu,
 *
 *   L1(q, q*)^2 <= r R / lambda.
 *
 * One row: R = 0, a single sweep is exact. Doubles add a rounding of about 1e-15 to r. */
#ifndef DPOT_CAMPAIGN_SWEEPS_LIMIT_H
#define DPOT_CAMPAIGN_SWEEPS_LIMIT_H

#include "base/error.h"
#include "model/campaign.h"

#define SWEEPS_LIMIT_ITERATIONS 50000 /* of all stages together */

/* Finds the limit for one measure.
 * histogram: (domain size) its weights, at most campaign->n_max of them above 0.
 * error_wanted: the solver aims at a bound of a quarter of it.
 * law: (output size) gets q.
 * bound: gets the square root of the right side above; infinite where the solver did not converge.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status sweeps_limit(const struct dpot_campaign *campaign,
                                          const double *histogram, double error_wanted, double *law,
                                          double *bound, struct dpot_error *error);

#endif
