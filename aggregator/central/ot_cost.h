/* The optimal transport cost between two private samples, released with noise.
 *
 *     OT(mu, nu) = min <C, P> + lambda KL(P | mu x nu),   lambda >= 0,   0 <= C <= B
 *
 * Theorem. |OT(mu, nu) - OT(mu', nu')| <= B (TV(mu, mu') + TV(nu, nu')). Proof: carry the optimal plan
 * along a TV coupling of mu and mu': KL does not grow (data processing), and only the mass that moves
 * changes its cost, by at most B; then the same for nu. It is tight. KL must be against mu x nu: with
 * the entropy of P in its place the value moves by lambda times the entropy of the marginals as well.
 *
 * Claim. What ot_cost_release gives is epsilon-DP (delta 0) when one record of x or of y is replaced
 * (sensitivity B / min(n_x, n_y)), or one of each (replace-pair: B / n_x + B / n_y); n_x and n_y are
 * public. Proof. Records are clamped into the public box, where costs are at most B; they are cut there
 * as well. The value that is released is a lower bound within `tol` of OT for every input
 * (ot_cost_value certifies it or fails), so that it moves by at most the sensitivity + tol. It is
 * rounded to a multiple of gamma = that / 1024, so that the integer moves by at most 1024 + 1, and gets
 * discrete Laplace noise of scale 1025 / epsilon. Rounding errors of the value are far below tol and
 * part of it.
 *
 * NOT private: the value before noise, a failure, and how long it takes. */
#ifndef DPOT_CENTRAL_OT_COST_H
#define DPOT_CENTRAL_OT_COST_H

#include "central/budget.h"
#include "model/metric.h"
#include "solve/team.h"

#define OT_COST_PAIRS_MAX ((size_t)1 << 26) /* entries of the cost matrix: 512 MiB */
#define OT_COST_SWEEPS_MAX 1000000

/* What is public. */
struct ot_cost_config {
    struct dpot_metric metric; /* euclidean, l1 or linf */
    double power;              /* the cost is distance^power */
    size_t dim;
    const double *lo, *hi; /* (dim) the box, checked by partition_check; borrowed */
    double cap;            /* costs are cut to this; 0: to what the box allows */
    double lambda;         /* 0: no regularisation */
    size_t n_x, n_y;
    enum adjacency adjacency; /* replace-one or replace-pair */
    double epsilon;
    struct team *team; /* borrowed; NULL: the calling thread */
};

#define OT_COST_EPSILON_MIN (1.0 / (1 << 30))

/* Whether the largest cost over a box is known. */
bool ot_cost_takes_metric(enum dpot_metric_id id);

/* DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE with a sentence: a metric without a largest cost, costs that are
 * not finite, no records, too many pairs, epsilon. */
DPOT_WARN_UNUSED dpot_status ot_cost_check(const struct ot_cost_config *config,
                                           struct dpot_error *error);

/* B: the largest cost. */
double ot_cost_max(const struct ot_cost_config *config);

/* How far below OT the released value may lie; 1 % of the sensitivity, or 1e-9 B for lambda 0. */
double ot_cost_tol(const struct ot_cost_config *config);

/* Of that value, tol included. */
double ot_cost_sensitivity(const struct ot_cost_config *config);

/* PRIVATE: the value itself, in [0, B]. DPOT_ERR_INFEASIBLE: it could not be certified (a very small
 * lambda). DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status ot_cost_value(const struct ot_cost_config *config, const double *x,
                                           const double *y, double *value,
                                           struct dpot_error *error);

/* The scale of the noise, in units of the cost. */
double ot_cost_noise_scale(const struct ot_cost_config *config);

/* What it spends: at most epsilon. */
double ot_cost_spent(const struct ot_cost_config *config);

/* Adds it. */
double ot_cost_release(const struct ot_cost_config *config, double value, struct exact_draw *draw);

/* The integer that noise is added to, and the scale of the noise: what the claim rests on. */
int64_t ot_cost_steps(const struct ot_cost_config *config, double value);
struct discrete_laplace ot_cost_noise(const struct ot_cost_config *config);

#endif
