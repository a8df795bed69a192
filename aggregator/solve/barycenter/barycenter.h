/* Wasserstein barycenters with free support, p = 2. Finds m points x_j with weights b_j that
 * minimise
 *
 *     sum_i w_i W_2^2(mu_i, nu),   nu = sum_j b_j dirac(x_j),
 *
 * over groups mu_i of weighted points with group weights w_i (Cuturi and Doucet 2014, Algorithm 2;
 * the solver that 003 calls NonPrivateApprox).
 *
 *     struct barycenter_problem problem = {.n_groups = k, .groups = sets, .dim = 2};
 *     struct barycenter_options options = {.support_size = 48, .inner = BARYCENTER_EXACT,
 *                                          .max_iterations = 200, .tol = 1e-6, .n_starts = 1};
 *     barycenter_solve(&problem, &options, NULL, &result, &error);
 *     barycenter_cost(&problem, result.support, result.weights, 48, team, &cost, &error);
 *     barycenter_bound(&problem, BARYCENTER_BOUND_PAIRS, team, &bound, &error);
 *     barycenter_result_release(&result);
 *
 * An iteration solves the transport of every group to the current points and moves each point to
 * the weighted mean of its plans' sources, x_j = sum_i w_i sum_l P^i_jl y_l / sum_l P^i_jl, with
 * the actual row sums of the plan, so that a point never leaves the convex hull of the data. With
 * exact or converged plans, no iteration raises the cost (or the entropic value). The result is a
 * local minimum, so use several starts. barycenter_bound is a lower bound for every nu with any
 * support; no cheap bound is tight for a given support size.
 *
 * Data are centred internally and costs are sums of squared differences, so an offset loses no
 * digits. Results do not depend on the number of threads. */
#ifndef DPOT_SOLVE_BARYCENTER_BARYCENTER_H
#define DPOT_SOLVE_BARYCENTER_BARYCENTER_H

#include "base/error.h"
#include "solve/transport/entropic.h"
#include "solve/transport/wasserstein.h"

#define BARYCENTER_GROUPS_MAX ((size_t)1 << 16)
#define BARYCENTER_SUPPORT_MAX ((size_t)1 << 20)
#define BARYCENTER_STARTS_MAX 10000
#define BARYCENTER_ITERATIONS_MAX 1000000

/* Everything is borrowed. */
struct barycenter_problem {
    size_t n_groups, dim;
    const struct point_set *groups; /* at least one point each; points without mass are ignored */
    const double *group_weights;    /* (n_groups) >= 0, sum 1 up to 1e-6; NULL: equal; 0: ignored */
};

enum barycenter_inner {
    BARYCENTER_EXACT = 0,    /* network simplex, warm-started from the last plan */
    BARYCENTER_SINKHORN = 1, /* entropic plans: a larger lambda contracts the points */
};

struct barycenter_options {
    size_t support_size;
    const double *init; /* (support_size, dim) first start; NULL: drawn from data */
    enum barycenter_inner inner;
    bool moves_weights; /* optimise b too, starting at equal weights */

    /* Ends when the points (and weights) move by less than tol, in units of the spread of the data
     * (weights: L1). 0: exactly max_iterations. */
    double tol;
    size_t max_iterations;

    /* BARYCENTER_SINKHORN only. inner_tol 0: exactly inner_iterations sweeps from zero potentials,
     * as published. Otherwise starts at the last potentials (annealing to a small lambda) and ends
     * when the L1 violation of the weights is at most inner_tol; plans that miss it by a factor of
     * 100 make the outcome an iteration limit. */
    double lambda; /* in units of squared distance */
    size_t inner_iterations;
    double inner_tol;
    enum entropic_precision precision;

    size_t n_starts; /* the best of these is returned; 0: 1 */
    uint64_t seed;   /* of the starts */
    struct team *team;
};

/* One row of the curve: the plans to the points before the step, and the step. */
struct barycenter_step {
    double cost;     /* sum_i w_i <C, P_i> */
    double movement; /* of the points: root mean square, in units of the spread */
};

struct barycenter_result {
    enum solve_outcome outcome; /* of the best start, as all that follows */
    size_t iterations;
    size_t sweeps; /* Sinkhorn sweeps or simplex pivots, over all groups and starts */
    size_t support_size, dim;
    double *support; /* (support_size, dim) owned */
    double *weights; /* (support_size) owned, sum 1 */
    double movement; /* of the last iteration */
    double residual; /* largest L1 violation of the weights by a plan of the last iteration */
    struct barycenter_step *curve; /* (iterations) owned */
    size_t curve_cap;

    size_t n_starts, n_run; /* requested and run: fewer if the control stopped */
    size_t best_start;
    double *start_costs; /* (n_starts) exact if affordable; NAN with one start. Owned */

    /* Baseline: the cost of all mass at the mean of the data, sum_i w_i E |y - mean|^2. */
    double one_point_cost;
};

/* DPOT_ERR_RANGE, DPOT_ERR_SHAPE, DPOT_ERR_TOO_LARGE with a message about groups, weights or
 * options; DPOT_ERR_MEMORY. On failure *result is released. If `control` stops it: the result so
 * far. */
DPOT_WARN_UNUSED dpot_status barycenter_solve(const struct barycenter_problem *problem,
                                              const struct barycenter_options *options,
                                              const struct solve_control *control,
                                              struct barycenter_result *result,
                                              struct dpot_error *error);

/* May be zeroed. */
void barycenter_result_release(struct barycenter_result *result);

/* sum_i w_i W_2^2(mu_i, nu), exactly, for any nu; NULL weights: equal. DPOT_ERR_TOO_LARGE:
 * more than WASSERSTEIN_COSTS_MAX pairs in one group. */
DPOT_WARN_UNUSED dpot_status barycenter_cost(const struct barycenter_problem *problem,
                                             const double *support /* (m, dim) */,
                                             const double *weights /* (m) or NULL */, size_t m,
                                             struct team *team, double *cost,
                                             struct dpot_error *error);

#define BARYCENTER_FRECHET_DIM 128

enum barycenter_bound_method {
    /* sum_{i<j} w_i w_j F_ij, F the Frechet distance of means and covariances
     * (solve/transport/moments.h), a lower bound of W_2^2 for any laws (Gelbrich 1990); above
     * BARYCENTER_FRECHET_DIM dimensions, that of means and standard deviations by coordinate. Minus
     * 1e-7 of the variances, for rounding. */
    BARYCENTER_BOUND_MOMENTS = 0,
    /* sum_{i<j} w_i w_j W_2^2(mu_i, mu_j), by exact transport of every pair of groups. Valid
     * because the masses that nu joins in one point cost at least their distance from each
     * other. */
    BARYCENTER_BOUND_PAIRS = 1,
};

/* A lower bound of sum_i w_i W_2^2(mu_i, nu) for every nu; 0 for one group. DPOT_ERR_TOO_LARGE as
 * above. */
DPOT_WARN_UNUSED dpot_status barycenter_bound(const struct barycenter_problem *problem,
                                              enum barycenter_bound_method method,
                                              struct team *team, double *bound,
                                              struct dpot_error *error);

/* ---- by random projection (003, Algorithms 2 to 4) ---- */

struct barycenter_projected {
    double cost;          /* of the solution in `dim` dimensions, exact */
    double solution_cost; /* the same plans, full space: >= the cost of result->support */
};

/* Projects every group by one random linear map with independent N(0, 1 / dim) entries drawn from
 * options->seed (Johnson-Lindenstrauss; squared distances are unbiased), solves there, computes
 * exact plans to that solution (Algorithm 3), and sets every point to the weighted mean of its
 * sources in the full space (Algorithm 4 for p = 2). options->init, result->support and
 * one_point_cost are in the full space; curve, movement and start_costs are those of the projected
 * problem. DPOT_ERR_RANGE: dim is 0 or above the dimension of the data. */
DPOT_WARN_UNUSED dpot_status barycenter_solve_projected(
    const struct barycenter_problem *problem, size_t dim, const struct barycenter_options *options,
    const struct solve_control *control, struct barycenter_result *result,
    struct barycenter_projected *projected, struct dpot_error *error);

#endif
