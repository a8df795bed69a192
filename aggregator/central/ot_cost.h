/* The optimal transport cost between two private samples, released with noise.
 *
 *     OT(mu, nu) = min <C, P> + lambda KL(P | mu x nu),   lambda >= 0,   0 <= C <= B
 *
 * Theorem. |OT(mu, nu) - OT(mu', nu')| <= B (TV(mu, mu') + TV(nu, nu')), and this is tight. Proof.
 * Carry the optimal plan along a TV coupling of mu and mu': KL does not grow (data processing), and
 * only the mass that moves changes its cost, by at most B; then do the same for nu. KL must be
 * relative to mu x nu: with the entropy of P instead, the value also changes by lambda times the
 * entropy of the marginals.
 *
 * Claim. ot_cost_release is epsilon-DP (delta 0) when one record of x or of y is replaced
 * (sensitivity B / min(n_x, n_y)), or one of each (replace-pair: B / n_x + B / n_y); n_x and n_y
 * are public. Proof. Records are clamped into the public box, where costs are at most B; larger
 * costs are cut to B. The value lies at most `tol` below OT for all records (see below), so it
 * changes by at most the sensitivity + tol. It is rounded to a multiple of gamma = (sensitivity +
 * tol) / 1024, so the integer changes by at most 1024 + 1, and gets discrete Laplace noise of scale
 * 1025 / epsilon. Rounding errors of the value are far below tol and part of it.
 *
 * Why the value is always within tol, without a certificate. With lambda 0, costs are rounded down
 * to multiples of B 2^-31, on which the network simplex method makes no error. With lambda > 0, n
 * the smaller number of records, and plain Sinkhorn half-sweeps from f = 0:
 * (i) After k half-sweeps the dual value is within 2 B^2 / (lambda k) of OT. Proof. One marginal is
 *     exact, the other is off by r in l1. The gap is at most <residual, f* - f> <= B r, since the
 *     potentials of a half-sweep and the optimal ones have a range of at most B. A half-sweep gains
 *     lambda KL >= lambda r^2 / 2 (Pinsker). So gap' <= gap - lambda gap^2 / (2 B^2) (after
 *     Dvurechensky, Gasnikov, Kroshnin 2018).
 * (ii) OT at lambda 0 is at most lambda log n lower, because the KL of any plan to mu x nu is at
 *      most log n.
 * (iii) The mean cost of all pairs is at most B^2 / (8 lambda) higher (Hoeffding's lemma, for
 *       f = 0).
 * tol is the larger of 1 % of B / n and min(bound (i) for 2 OT_COST_SWEEPS_MAX half-sweeps, bound
 * (ii)). lambda, B and n alone decide whether (ii) or (iii) is used. Otherwise the fast engine is
 * tried first; its value is used only if its upper bound proves it, and else the sweeps of (i). In
 * that case lambda is below 12.5 n B, so that rounding costs less than 10^-10 B.
 *
 * Silence. Refusals depend on public numbers (ot_cost_check). NOT private: the value before noise,
 * the running time, and out-of-memory failures. */
#ifndef DPOT_CENTRAL_OT_COST_H
#define DPOT_CENTRAL_OT_COST_H

#include "central/budget.h"
#include "model/metric.h"
#include "solve/run/team.h"

#define OT_COST_PAIRS_MAX ((size_t)1 << 26) /* entries of the cost matrix: 512 MiB */
#define OT_COST_SWEEPS_MAX ((size_t)1 << 24)

/* Public inputs. */
struct ot_cost_config {
    struct dpot_metric metric; /* euclidean, l1 or linf */
    double power;              /* the cost is distance^power */
    size_t dim;
    const double *lo, *hi; /* (dim) the box, must pass partition_check; borrowed */
    double cap;            /* costs are cut to this; 0: to the largest cost in the box */
    double lambda;         /* 0: no regularisation */
    size_t n_x, n_y;
    enum adjacency adjacency; /* replace-one or replace-pair */
    double epsilon;
    struct team *team; /* borrowed; NULL: the calling thread */
};

#define OT_COST_EPSILON_MIN (1.0 / (1 << 30))

/* Whether ot_cost_max is known for this metric. */
bool ot_cost_takes_metric(enum dpot_metric_id id);

/* Validates the public inputs. DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE, with a message: a metric without
 * a largest cost, costs that are not finite, no records, too many pairs, epsilon. */
DPOT_WARN_UNUSED dpot_status ot_cost_check(const struct ot_cost_config *config,
                                           struct dpot_error *error);

/* B, the largest cost. */
double ot_cost_max(const struct ot_cost_config *config);

/* How far the value before noise may lie below OT: 1 % of B / n; 1e-9 B for lambda 0; more if
 * lambda is so small that the sweeps may not reach that. */
double ot_cost_tol(const struct ot_cost_config *config);

/* Whether plain transport is solved instead: lambda is 0 or too small to matter. */
bool ot_cost_is_plain(const struct ot_cost_config *config);

/* Sensitivity of the value before noise, tol included. */
double ot_cost_sensitivity(const struct ot_cost_config *config);

/* PRIVATE: the value before noise, in [0, B]. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status ot_cost_value(const struct ot_cost_config *config, const double *x,
                                           const double *y, double *value,
                                           struct dpot_error *error);

/* The dual value after plain sweeps from f: OT_COST_SWEEPS_MAX, or fewer if the residual shows that
 * the value is within tol.
 * cost (n_x, n_y). f (n_x): start and final potentials. g (n_y): final potentials. next (n_x):
 * scratch. */
double ot_cost_sweep(const struct ot_cost_config *config, const double *cost, double *f, double *g,
                     double *next);

/* The noise scale, in units of the cost. */
double ot_cost_noise_scale(const struct ot_cost_config *config);

/* The epsilon spent: at most config->epsilon. */
double ot_cost_spent(const struct ot_cost_config *config);

/* Adds the noise to the value. */
double ot_cost_release(const struct ot_cost_config *config, double value, struct exact_draw *draw);

/* The integer to which noise is added, and the scale of the noise: the claim is about these. */
int64_t ot_cost_steps(const struct ot_cost_config *config, double value);
struct discrete_laplace ot_cost_noise(const struct ot_cost_config *config);

#endif
