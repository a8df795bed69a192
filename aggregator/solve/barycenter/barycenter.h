/* Wasserstein barycenters with free support, p = 2: m points x_j with weights b_j that minimise
 *
 *     sum_i w_i W_2^2(mu_i, nu),   nu = sum_j b_j dirac(x_j),
 *
 * over groups mu_i of weighted points with group weights w_i (Cuturi and Doucet 2014, Algorithm 2; the
 * solver that 003 calls NonPrivateApprox).
 *
 *     struct barycenter_problem problem = {.n_groups = k, .groups = sets, .dim = 2};
 *     struct barycenter_options options = {.support_size = 48, .inner = BARYCENTER_EXACT,
 *                                          .max_iterations = 200, .tol = 1e-6, .n_starts = 1};
 *     barycenter_solve(&problem, &options, NULL, &result, &error);
 *     barycenter_cost(&problem, result.support, result.weights, 48, team, &cost, &error);
 *     barycenter_bound(&problem, BARYCENTER_BOUND_PAIRS, team, &bound, &error);
 *     barycenter_result_release(&result);
 *
 * An iteration solves the transport of every group to the present points and moves each point to the
 * weighted mean of where its plans come from, x_j = sum_i w_i sum_l P^i_jl y_l / sum_l P^i_jl: row sums
 * of the plan as it is, so that a point never leaves the hull of the data. With exact plans (or
 * converged ones) no iteration raises the cost (the entropic value); it ends in a local minimum, which is
 * why several starts pay. No cheap bound tells how far from the global one it is: barycenter_bound is
 * below every nu, whatever its support.
 *
 * Data are centred inside, costs are sums of squared differences: an offset costs no digits. Results do
 * not depend on the number of threads. */
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
    const struct point_set
        *groups; /* of at least one point; a point without mass counts for nothing */
    const double *group_weights; /* (n_groups) not negative, sum 1 up to 1e-6; NULL: equal. A group
                                       of weight 0 is left out */
};

enum barycenter_inner {
    BARYCENTER_EXACT = 0,    /* network simplex, from the plan of the iteration before */
    BARYCENTER_SINKHORN = 1, /* entropic plans: points are drawn together as lambda grows */
};

struct barycenter_options {
    size_t support_size;
    const double *init; /* (support_size, dim) of the first start; NULL: drawn from the data */
    enum barycenter_inner inner;
    bool moves_weights; /* b is optimised too, from equal weights */

    /* Of iterations: ends when the points (and weights) move by less than tol, in units of the spread of
     * the data (weights: L1). 0: exactly max_iterations. */
    double tol;
    size_t max_iterations;

    /* Of Sinkhorn's plans. inner_tol 0: exactly inner_iterations sweeps from nothing, as published;
     * otherwise from the potentials of the iteration before (for a small lambda from a large one down)
     * and until the L1 violation of the weights is at most inner_tol. Plans that end 100 times above it
     * make the outcome an iteration limit. */
    double lambda; /* in units of the squared distance */
    size_t inner_iterations;
    double inner_tol;
    enum entropic_precision precision;

    size_t n_starts; /* 0 is 1: the best cost of so many */
    uint64_t seed;   /* of what is drawn */
    struct team *team;
};

/* One row of the curve: of the plans to the points before the step, and the step. */
struct barycenter_step {
    double cost;     /* sum_i w_i <C, P_i> */
    double movement; /* of the points, root mean square in units of the spread */
};

struct barycenter_result {
    enum solve_outcome outcome; /* of the best start, like all that follows */
    size_t iterations;
    size_t sweeps; /* of Sinkhorn, or pivots of the exact method: of all groups and starts */
    size_t support_size, dim;
    double *support; /* (support_size, dim) owned */
    double *weights; /* (support_size) owned, sum 1 */
    double movement; /* of the last iteration */
    double residual; /* largest L1 violation of the weights by a plan of the last iteration */
    struct barycenter_step *curve; /* (iterations) owned */
    size_t curve_cap;

    size_t n_starts, n_run; /* asked for, and run: fewer when a control stopped */
    size_t best_start;
    double *start_costs; /* (n_starts) exact costs, where affordable; with one start NAN. Owned */

    /* Without any choice of points: the cost of all mass in the mean of the data, sum_i w_i E |y -
     * mean|^2. A barycenter that is worth having costs less. */
    double one_point_cost;
};

/* DPOT_ERR_RANGE / DPOT_ERR_SHAPE / DPOT_ERR_TOO_LARGE name what is wrong with groups, weights or
 * options, DPOT_ERR_MEMORY; *result is then released. A control that stops leaves what there is. */
DPOT_WARN_UNUSED dpot_status barycenter_solve(const struct barycenter_problem *problem,
                                              const struct barycenter_options *options,
                                              const struct solve_control *control,
                                              struct barycenter_result *result,
                                              struct dpot_error *error);

/* A zeroed result is allowed. */
void barycenter_result_release(struct barycenter_result *result);

/* sum_i w_i W_2^2(mu_i, nu), exactly, of any nu; NULL weights are equal ones. DPOT_ERR_TOO_LARGE:
 * more than WASSERSTEIN_COSTS_MAX pairs in one group. */
DPOT_WARN_UNUSED dpot_status barycenter_cost(const struct barycenter_problem *problem,
                                             const double *support /* (m, dim) */,
                                             const double *weights /* (m) or NULL */, size_t m,
                                             struct team *team, double *cost,
                                             struct dpot_error *error);

#define BARYCENTER_FRECHET_DIM 128

enum barycenter_bound_method {
    /* sum_{i<j} w_i w_j F_ij, F the Frechet distance of means and covariances (solve/transport/moments.h), which
     * is below W_2^2 whatever the laws (Gelbrich 1990); above BARYCENTER_FRECHET_DIM coordinates that of
     * means and the coordinates' deviations. Less 1e-7 of the variances, for rounding. */
    BARYCENTER_BOUND_MOMENTS = 0,
    /* sum_{i<j} w_i w_j W_2^2(mu_i, mu_j), by exact transport of every pair of groups: the points that a
     * nu sends to one place cost at least what they cost each other. */
    BARYCENTER_BOUND_PAIRS = 1,
};

/* Below sum_i w_i W_2^2(mu_i, nu) for every nu; 0 for one group. DPOT_ERR_TOO_LARGE as above. */
DPOT_WARN_UNUSED dpot_status barycenter_bound(const struct barycenter_problem *problem,
                                              enum barycenter_bound_method method,
                                              struct team *team, double *bound,
                                              struct dpot_error *error);

/* ---- in few dimensions (003, Algorithms 2 to 4) ---- */

struct barycenter_projected {
    double cost; /* of the solution in `dim` dimensions, exact */
    double
        solution_cost; /* of its plans between the points in the full space: an upper bound of the
                             cost of result->support */
};

/* Projects every group by one random linear map with independent N(0, 1 / dim) entries, drawn from
 * options->seed (JL; distances are kept in the mean), solves there, takes the plans from the groups to
 * that solution (exact, Algorithm 3) and gives every point the weighted mean of its group's points in the
 * full space (Algorithm 4 for p = 2). options->init is in the full space. result->support and one_point_cost are
 * too; curve, movement and start_costs are those of the projected problem.
 * DPOT_ERR_RANGE: dim is 0 or above the dimension of the data. */
DPOT_WARN_UNUSED dpot_status barycenter_solve_projected(
    const struct barycenter_problem *problem, size_t dim, const struct barycenter_options *options,
    const struct solve_control *control, struct barycenter_result *result,
    struct barycenter_projected *projected, struct dpot_error *error);

#endif
