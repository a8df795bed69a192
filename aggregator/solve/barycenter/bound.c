#include "base/alloc.h"
#include "solve/barycenter/parts.h"
#include "solve/transport/moments.h"

#include <math.h>

#define ROUNDING 1e-7 /* relative to the variances: error of roots of eigenvalues near 0 */

/* A sum over tasks that may fail: groups, or pairs of groups. */
struct sum {
    const struct barycenter_problem *problem;
    const double *weights; /* (n_groups) sum 1 */
    struct point_set nu;
    struct moments *moments; /* (n_groups) */
    double *terms;           /* (n_tasks) */
    dpot_status *statuses;   /* (n_tasks) */
    struct dpot_error *errors;
    size_t n_tasks;
};

static dpot_status sum_init(struct sum *sum, size_t n_tasks)
{
    sum->n_tasks = n_tasks;
    sum->terms = dpot_alloc_array(NULL, n_tasks, sizeof *sum->terms);
    sum->statuses = dpot_alloc_array(NULL, n_tasks, sizeof *sum->statuses);
    sum->errors = dpot_alloc_array(NULL, n_tasks, sizeof *sum->errors);
    return sum->terms && sum->statuses && sum->errors ? DPOT_OK : DPOT_ERR_MEMORY;
}

static void sum_release(struct sum *sum)
{
    dpot_free_array(NULL, sum->terms, sum->n_tasks, sizeof *sum->terms);
    dpot_free_array(NULL, sum->statuses, sum->n_tasks, sizeof *sum->statuses);
    dpot_free_array(NULL, sum->errors, sum->n_tasks, sizeof *sum->errors);
}

/* Runs the tasks; *total is the sum of their terms, in their order. */
static dpot_status sum_run(struct sum *sum, struct team *team, void (*work)(void *ctx, size_t task),
                           double *total, struct dpot_error *error)
{
    team_run(team, sum->n_tasks, work, sum);
    *total = 0.0;
    for (size_t t = 0; t < sum->n_tasks; t++) {
        if (sum->statuses[t] != DPOT_OK) {
            *error = sum->errors[t];
            return sum->statuses[t];
        }
        *total += sum->terms[t];
    }
    return DPOT_OK;
}

/* ---- W_2^2 of two sets ---- */

static double squared_distance(const double *x, const double *y, size_t dim)
{
    double sum = 0.0;
    for (size_t c = 0; c < dim; c++) {
        sum += (x[c] - y[c]) * (x[c] - y[c]);
    }
    return sum;
}

/* Uses only the points with mass: a group may have many without. */
static dpot_status exact_square(const struct point_set *x, const struct point_set *y, size_t dim,
                                double *square, struct dpot_error *error)
{
    struct dpot_exact_result result;
    const size_t n = x->n, m = y->n;
    if (n > WASSERSTEIN_COSTS_MAX / m) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "%zu and %zu points: an exact cost takes up to %zu pairs", n, m,
                              WASSERSTEIN_COSTS_MAX);
    }
    double *cost = dpot_alloc_array(NULL, n * m, sizeof *cost);
    double *mass = dpot_alloc_array(NULL, n + m, sizeof *mass);
    dpot_status status = DPOT_ERR_MEMORY;
    if (cost && mass) {
        for (size_t k = 0; k < n * m; k++) {
            cost[k] = squared_distance(x->points + k / m * dim, y->points + k % m * dim, dim);
        }
        for (size_t i = 0; i < n; i++) {
            mass[i] = x->weights ? x->weights[i] : 1.0 / (double)n;
        }
        for (size_t j = 0; j < m; j++) {
            mass[n + j] = y->weights ? y->weights[j] : 1.0 / (double)m;
        }
        status = dpot_exact_ot(cost, mass, mass + n, n, m, NULL, &result, error);
    }
    if (status == DPOT_OK) {
        *square = fmax(result.transport_cost, 0.0);
        dpot_exact_result_release(&result);
    }
    dpot_free_array(NULL, cost, n * m, sizeof *cost);
    dpot_free_array(NULL, mass, n + m, sizeof *mass);
    return status;
}

static void cost_of_group(void *ctx, size_t i)
{
    struct sum *sum = ctx;
    if (sum->weights[i] > 0.0) {
        sum->statuses[i] = exact_square(&sum->nu, &sum->problem->groups[i], sum->problem->dim,
                                        &sum->terms[i], &sum->errors[i]);
        sum->terms[i] *= sum->weights[i];
    }
}

static dpot_status check_nu(const struct point_set *nu, size_t dim, struct dpot_error *error)
{
    if (nu->n == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "a support without points has no cost");
    }
    for (size_t k = 0; k < nu->n * dim; k++) {
        if (!isfinite(nu->points[k])) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "point %zu of the support, coordinate %zu is %g: give a finite "
                                  "number",
                                  k / dim + 1, k % dim + 1, nu->points[k]);
        }
    }
    return DPOT_OK;
}

dpot_status barycenter_cost(const struct barycenter_problem *problem, const double *support,
                            const double *weights, size_t m, struct team *team, double *cost,
                            struct dpot_error *error)
{
    struct sum sum = {.problem = problem, .nu = {.n = m, .points = support, .weights = weights}};
    double *w = dpot_alloc_array(NULL, problem->n_groups, sizeof *w);
    dpot_status status = w ? check_nu(&sum.nu, problem->dim, error) : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status = barycenter_check(problem, w, error);
    }
    if (status == DPOT_OK) {
        sum.weights = w;
        status = sum_init(&sum, problem->n_groups);
    }
    if (status == DPOT_OK) {
        status = sum_run(&sum, team, cost_of_group, cost, error);
    }
    sum_release(&sum);
    dpot_free_array(NULL, w, problem->n_groups, sizeof *w);
    return status;
}

/* ---- lower bounds ---- */

/* Task t pairs group n - 1 - t with all groups before it: longest tasks first. */
static void pairs_of_group(struct sum *sum, size_t task,
                           dpot_status (*distance)(struct sum *sum, size_t i, size_t j,
                                                   double *value, struct dpot_error *error))
{
    const size_t j = sum->problem->n_groups - 1 - task;
    for (size_t i = 0; sum->statuses[task] == DPOT_OK && i < j; i++) {
        const double weight = sum->weights[i] * sum->weights[j];
        double value = 0.0;
        if (weight > 0.0) {
            sum->statuses[task] = distance(sum, i, j, &value, &sum->errors[task]);
            sum->terms[task] += weight * value;
        }
    }
}

static dpot_status exact_pair(struct sum *sum, size_t i, size_t j, double *value,
                              struct dpot_error *error)
{
    const struct point_set *groups = sum->problem->groups;
    return exact_square(&groups[i], &groups[j], sum->problem->dim, value, error);
}

static void exact_pairs(void *ctx, size_t task)
{
    pairs_of_group(ctx, task, exact_pair);
}

static double variance_of(const struct moments *m)
{
    double sum = 0.0;
    for (size_t c = 0; c < m->dim; c++) {
        sum += m->covariance[c * m->dim + c];
    }
    return sum;
}

/* By coordinate: in one dimension W_2^2 is at least that of the Gaussians with the same moments. */
static double coordinate_distance(const struct moments *a, const struct moments *b)
{
    double sum = 0.0;
    for (size_t c = 0; c < a->dim; c++) {
        const double mean = a->mean[c] - b->mean[c];
        const double deviation = sqrt(fmax(a->covariance[c * a->dim + c], 0.0)) -
                                 sqrt(fmax(b->covariance[c * b->dim + c], 0.0));
        sum += mean * mean + deviation * deviation;
    }
    return sum;
}

static dpot_status moments_pair(struct sum *sum, size_t i, size_t j, double *value,
                                struct dpot_error *error)
{
    const struct moments *a = &sum->moments[i], *b = &sum->moments[j];
    const double lost = ROUNDING * (variance_of(a) + variance_of(b));
    dpot_status status = DPOT_OK;
    if (a->dim <= BARYCENTER_FRECHET_DIM) {
        status = moments_frechet(a, b, value, error);
    } else {
        *value = coordinate_distance(a, b);
    }
    *value = fmax(*value - lost, 0.0);
    return status;
}

static void moments_pairs(void *ctx, size_t task)
{
    pairs_of_group(ctx, task, moments_pair);
}

/* The covariance of the law itself, divided by n: moments_init does that if weights are given. */
static dpot_status group_moments(const struct point_set *group, size_t dim, struct moments *moments,
                                 struct dpot_error *error)
{
    double *equal = NULL;
    if (!group->weights) {
        equal = dpot_alloc_array(NULL, group->n, sizeof *equal);
        for (size_t l = 0; equal && l < group->n; l++) {
            equal[l] = 1.0 / (double)group->n;
        }
        if (!equal) {
            return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for %zu weights", group->n);
        }
    }
    const dpot_status status = moments_init(group->points, group->weights ? group->weights : equal,
                                            group->n, dim, NULL, moments, error);
    dpot_free_array(NULL, equal, group->n, sizeof *equal);
    return status;
}

static dpot_status bound_of_moments(struct sum *sum, struct team *team, double *bound,
                                    struct dpot_error *error)
{
    const struct barycenter_problem *problem = sum->problem;
    dpot_status status = DPOT_OK;
    sum->moments = dpot_alloc_array(NULL, problem->n_groups, sizeof *sum->moments);
    if (!sum->moments) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; status == DPOT_OK && i < problem->n_groups; i++) {
        status = group_moments(&problem->groups[i], problem->dim, &sum->moments[i], error);
    }
    if (status == DPOT_OK) {
        status = sum_run(sum, team, moments_pairs, bound, error);
    }
    for (size_t i = 0; i < problem->n_groups; i++) {
        moments_release(&sum->moments[i]);
    }
    dpot_free_array(NULL, sum->moments, problem->n_groups, sizeof *sum->moments);
    return status;
}

dpot_status barycenter_bound(const struct barycenter_problem *problem,
                             enum barycenter_bound_method method, struct team *team, double *bound,
                             struct dpot_error *error)
{
    struct sum sum = {.problem = problem};
    const size_t k = problem->n_groups;
    double *w = dpot_alloc_array(NULL, k, sizeof *w);
    *bound = 0.0;
    dpot_status status = w ? barycenter_check(problem, w, error) : DPOT_ERR_MEMORY;
    if (status == DPOT_OK && k > 1) {
        sum.weights = w;
        status = sum_init(&sum, k);
        if (status == DPOT_OK && method == BARYCENTER_BOUND_PAIRS) {
            status = sum_run(&sum, team, exact_pairs, bound, error);
        } else if (status == DPOT_OK) {
            status = bound_of_moments(&sum, team, bound, error);
        }
    }
    sum_release(&sum);
    dpot_free_array(NULL, w, k, sizeof *w);
    return status;
}
