#include "base/alloc.h"
#include "solve/barycenter/parts.h"
#include "solve/run/draw.h"

#include <math.h>
#include <string.h>

#define MAP_STREAM (~(uint64_t)0) /* not used by any start */

/* The projected problem and its map. */
struct projection {
    const struct barycenter_problem *full;
    size_t dim;      /* of the projected problem */
    double *map;     /* (full dim, dim) */
    double *points;  /* all groups' points, one after the other */
    size_t n_points; /* of all groups */
    double *init;    /* (m, dim) or NULL */
    size_t m;
    struct point_set *groups;
    struct barycenter_problem small;
};

/* Box-Muller; the argument of the logarithm is never 0. */
static double draw_gaussian(uint64_t seed, size_t index)
{
    const double u = ldexp((double)(draw_bits(seed, MAP_STREAM, 2 * index) >> 11) + 0.5, -53);
    const double v = ldexp((double)(draw_bits(seed, MAP_STREAM, 2 * index + 1) >> 11), -53);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

static void apply_map(const struct projection *p, const double *points, size_t n, double *out)
{
    dpot_linalg_openblas()->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, n, p->dim, p->full->dim, 1.0,
                                 points, p->full->dim, p->map, p->dim, 0.0, out, p->dim);
}

static void projection_release(struct projection *p)
{
    dpot_free_array(NULL, p->map, p->full->dim * p->dim, sizeof *p->map);
    dpot_free_array(NULL, p->points, p->n_points * p->dim, sizeof *p->points);
    dpot_free_array(NULL, p->init, p->m * p->dim, sizeof *p->init);
    dpot_free_array(NULL, p->groups, p->full->n_groups, sizeof *p->groups);
}

static dpot_status projection_init(struct projection *p, const struct barycenter_options *options)
{
    const struct barycenter_problem *full = p->full;
    p->m = options->support_size;
    for (size_t i = 0; i < full->n_groups; i++) {
        p->n_points += full->groups[i].n;
    }
    p->map = dpot_alloc_array(NULL, full->dim * p->dim, sizeof *p->map);
    p->points = dpot_alloc_array(NULL, p->n_points * p->dim, sizeof *p->points);
    p->init = options->init ? dpot_alloc_array(NULL, p->m * p->dim, sizeof *p->init) : NULL;
    p->groups = dpot_alloc_array(NULL, full->n_groups, sizeof *p->groups);
    if (!p->map || !p->points || !p->groups || (options->init && !p->init)) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t k = 0; k < full->dim * p->dim; k++) {
        p->map[k] = draw_gaussian(options->seed, k) / sqrt((double)p->dim);
    }
    double *at = p->points;
    for (size_t i = 0; i < full->n_groups; i++) {
        p->groups[i] = full->groups[i];
        p->groups[i].points = at;
        apply_map(p, full->groups[i].points, full->groups[i].n, at);
        at += full->groups[i].n * p->dim;
    }
    if (options->init) {
        apply_map(p, options->init, p->m, p->init);
    }
    p->small = *full;
    p->small.dim = p->dim;
    p->small.groups = p->groups;
    return DPOT_OK;
}

/* ---- Algorithms 3 and 4 ---- */

static double mass_of(const struct point_set *set, size_t l)
{
    return set->weights ? set->weights[l] : 1.0 / (double)set->n;
}

/* The exact plan of one group to the projected solution; costs and masses are scratch. */
static dpot_status solve_group(const struct point_set *group, size_t dim,
                               const struct barycenter_result *small, double *cost, double *mass,
                               struct dpot_exact_result *plan, struct dpot_error *error)
{
    const size_t n = group->n, m = small->support_size;
    for (size_t k = 0; k < m * n; k++) {
        const double *x = small->support + k / n * dim, *y = group->points + k % n * dim;
        cost[k] = 0.0;
        for (size_t c = 0; c < dim; c++) {
            cost[k] += (x[c] - y[c]) * (x[c] - y[c]);
        }
    }
    for (size_t l = 0; l < n; l++) {
        mass[l] = mass_of(group, l);
    }
    return dpot_exact_ot(cost, small->weights, mass, m, n, NULL, plan, error);
}

/* Adds w_i P_jl y_l to the sums of the points, w_i P_jl to their masses and w_i P_jl |y_l|^2 to
 * *squares, with the first point of the data as the origin: an offset must not lose digits. */
static void add_plan(const struct projection *p, size_t i, double weight,
                     const struct dpot_exact_result *plan, double *sums, double *masses,
                     double *squares)
{
    const size_t dim = p->full->dim;
    const double *origin = p->full->groups[0].points;
    for (size_t e = 0; e < plan->n_entries; e++) {
        const double *y = p->full->groups[i].points + plan->entries[e].col * dim;
        const double mass = weight * plan->entries[e].mass;
        masses[plan->entries[e].row] += mass;
        for (size_t c = 0; c < dim; c++) {
            const double x = y[c] - origin[c];
            sums[plan->entries[e].row * dim + c] += mass * x;
            *squares += mass * x * x;
        }
    }
}

static dpot_status add_group(const struct projection *p, size_t i, double weight,
                             const struct barycenter_result *small, double *sums, double *masses,
                             double *squares, double *cost, struct dpot_error *error)
{
    const size_t n = p->groups[i].n, m = small->support_size;
    struct dpot_exact_result plan;
    if (n > WASSERSTEIN_COSTS_MAX / m) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "group %zu of %zu points and a support of %zu: the plans of a "
                              "projection take up to %zu pairs",
                              i + 1, n, m, WASSERSTEIN_COSTS_MAX);
    }
    double *costs = dpot_alloc_array(NULL, m * n, sizeof *costs);
    double *mass = dpot_alloc_array(NULL, n, sizeof *mass);
    dpot_status status = costs && mass
                             ? solve_group(&p->groups[i], p->dim, small, costs, mass, &plan, error)
                             : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        add_plan(p, i, weight, &plan, sums, masses, squares);
        *cost += weight * plan.transport_cost;
        dpot_exact_result_release(&plan);
    }
    dpot_free_array(NULL, costs, m * n, sizeof *costs);
    dpot_free_array(NULL, mass, n, sizeof *mass);
    return status;
}

/* x_j = sum of its group S_j / its mass, and its cost: sum w |y|^2 - sum_j mass_j |x_j|^2. */
static void take_means(const double *masses, size_t m, size_t dim, const double *origin,
                       double squares, double *sums, double *solution_cost)
{
    *solution_cost = squares;
    for (size_t j = 0; j < m; j++) {
        for (size_t c = 0; c < dim; c++) {
            double *x = sums + j * dim + c;
            *x = masses[j] > 0.0 ? *x / masses[j] : 0.0;
            *solution_cost -= masses[j] * *x * *x;
            *x += origin[c];
        }
    }
    *solution_cost = fmax(*solution_cost, 0.0);
}

/* |sum_j sums_j|^2, the squared mean of all the data (mass 1). */
static double square_of_mean(const double *sums, size_t m, size_t dim)
{
    double square = 0.0;
    for (size_t c = 0; c < dim; c++) {
        double mean = 0.0;
        for (size_t j = 0; j < m; j++) {
            mean += sums[j * dim + c];
        }
        square += mean * mean;
    }
    return square;
}

static dpot_status lift(const struct projection *p, const double *weights,
                        struct barycenter_result *result, struct barycenter_projected *projected,
                        struct dpot_error *error)
{
    const size_t m = result->support_size, dim = p->full->dim;
    double squares = 0.0;
    dpot_status status = DPOT_OK;
    double *sums = dpot_alloc_array(NULL, m * dim, sizeof *sums);
    double *masses = dpot_alloc_array(NULL, m, sizeof *masses);
    if (!sums || !masses) {
        status = DPOT_ERR_MEMORY;
    }
    projected->cost = 0.0;
    for (size_t i = 0; status == DPOT_OK && i < p->full->n_groups; i++) {
        if (weights[i] > 0.0) {
            status = add_group(p, i, weights[i], result, sums, masses, &squares, &projected->cost,
                               error);
        }
    }
    if (status == DPOT_OK) {
        result->one_point_cost = squares - square_of_mean(sums, m, dim);
        take_means(masses, m, dim, p->full->groups[0].points, squares, sums,
                   &projected->solution_cost);
        dpot_free_array(NULL, result->support, m * result->dim, sizeof *result->support);
        result->support = sums;
        result->dim = dim;
        sums = NULL;
    }
    dpot_free_array(NULL, sums, m * dim, sizeof *sums);
    dpot_free_array(NULL, masses, m, sizeof *masses);
    return status;
}

dpot_status barycenter_solve_projected(const struct barycenter_problem *problem, size_t dim,
                                       const struct barycenter_options *options,
                                       const struct solve_control *control,
                                       struct barycenter_result *result,
                                       struct barycenter_projected *projected,
                                       struct dpot_error *error)
{
    struct projection p = {.full = problem, .dim = dim};
    struct barycenter_options small = *options;
    *result = (struct barycenter_result){0};
    *projected = (struct barycenter_projected){0};
    if (dim == 0 || dim > problem->dim) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "a projection to %zu of %zu coordinates: give 1 to %zu", dim,
                              problem->dim, problem->dim);
    }
    double *weights = dpot_alloc_array(NULL, problem->n_groups, sizeof *weights);
    dpot_status status = weights ? barycenter_check(problem, weights, error) : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status = projection_init(&p, options);
        small.init = p.init;
    }
    if (status == DPOT_OK) {
        status = barycenter_solve(&p.small, &small, control, result, error);
    }
    if (status == DPOT_OK) {
        status = lift(&p, weights, result, projected, error);
    }
    if (status != DPOT_OK) {
        barycenter_result_release(result);
    }
    projection_release(&p);
    dpot_free_array(NULL, weights, problem->n_groups, sizeof *weights);
    return status;
}
