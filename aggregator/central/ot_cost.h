/* The optimal transport cost between two private samples, released with noise.
 *
 *     OT(mu, nu) = min <C, P> + lambda KL(P | mu x nu),   lambda >= 0,   0 <= C <= B
 *
 * Theorem. |OT(mu, nu) - OT(mu', nu')| <= B (TV(mu, mu') + TV(nu, nu')). Proof: carry the optimal
 * plan along a TV coupling of mu and mu': KL does not grow (data processing), and only the mass
 * that moves changes its cost, by at most B; then the same for nu. It is tight. KL must be against
 * mu x nu: with the entropy of P in its place the value moves by lambda times the entropy of the
 * marginals as well.
 *
 * Claim. What ot_cost_release gives is epsilon-DP (delta 0) when one record of x or of y is
 * replaced (sensitivity B / min(n_x, n_y)), or one of each (replace-pair: B / n_x + B / n_y); n_x
 * and n_y are public. Proof. Records are clamped into the public box, where costs are at most B;
 * they are cut there as well. The value that is released lies within `tol` below OT for all records
 * (below), so that it moves by at most the sensitivity + tol. It is rounded to a multiple of gamma
 * = that / 1024, so that the integer moves by at most 1024 + 1, and gets discrete Laplace noise of
 * scale 1025 / epsilon. Rounding errors of the value are far below tol and part of it.
 *
 * Why the value is always within tol, without a certificate. With lambda 0, costs are rounded down
 * to integers of B 2^-31, in which the network simplex method makes no error. With lambda > 0, n
 * the smaller number of records, and plain Sinkhorn half-sweeps from f = 0:
 * (i) after k of them the dual value is within 2 B^2 / (lambda k) of OT. Proof. One marginal is
 *     exact, the other off by r in l1; the gap is at most <residual, f* - f> <= B r, since
 *     potentials that a half-sweep made, and the best ones, have a range of at most B; and a
 *     half-sweep gains lambda KL >= lambda r^2 / 2 (Pinsker). So gap' <= gap - lambda gap^2 / (2
 *     B^2) (after Dvurechensky, Gasnikov, Kroshnin 2018).
 * (ii) OT without lambda is at most lambda log n below: the KL of any plan to mu x nu is at most
 *      that.
 * (iii) the mean cost of all pairs is at most B^2 / (8 lambda) above (Hoeffding's lemma, for f =
 *       0).
 * tol is 1 % of B / n; or, where that is not enough, what (i) gives for 2 OT_COST_SWEEPS_MAX
 * half-sweeps, or (ii), the smaller of both. Whether (ii) or (iii) is used follows from lambda, B
 * and n. Otherwise a fast engine is tried, whose value counts where an upper bound proves it, and
 * then the sweeps of (i); lambda is below 12.5 n B then, so that rounding costs less than 10^-10 B.
 *
 * Silence. What is refused follows from public numbers (ot_cost_check). NOT private: the value
 * before noise, how long it takes, and memory that runs out. */
#ifndef DPOT_CENTRAL_OT_COST_H
#define DPOT_CENTRAL_OT_COST_H

#include "central/budget.h"
#include "model/metric.h"
#include "solve/run/team.h"

#define OT_COST_PAIRS_MAX ((size_t)1 << 26) /* entries of the cost matrix: 512 MiB */
#define OT_COST_SWEEPS_MAX ((size_t)1 << 24)

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

/* How far below OT the value before noise may lie: 1 % of B / n, 1e-9 B for lambda 0, and more for
 * a lambda so small that sweeps may not get there. */
double ot_cost_tol(const struct ot_cost_config *config);

/* Whether plain transport stands for it: lambda is 0, or too small to matter. */
bool ot_cost_is_plain(const struct ot_cost_config *config);

/* Of that value, tol included. */
double ot_cost_sensitivity(const struct ot_cost_config *config);

/* PRIVATE: the value itself, in [0, B]. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status ot_cost_value(const struct ot_cost_config *config, const double *x,
                                           const double *y, double *value,
                                           struct dpot_error *error);

/* The dual value after plain sweeps from f: OT_COST_SWEEPS_MAX, or fewer where a residual shows
 * that it is within tol. cost (n_x, n_y); f (n_x) starts and ends the sweeps, g (n_y) ends them,
 * next (n_x) is scratch. */
double ot_cost_sweep(const struct ot_cost_config *config, const double *cost, double *f, double *g,
                     double *next);

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
