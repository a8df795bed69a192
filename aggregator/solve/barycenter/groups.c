#include "solve/barycenter/parts.h"

#include "base/alloc.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SUM_TOL 1e-6 /* absolute, on a sum of 1 */
#define ENTRIES_MAX ((size_t)1 << 32)
#define COORDINATE_MAX 1e100 /* sums of squares stay finite */

/* ---- validation ---- */

static dpot_status check_group(const struct barycenter_problem *problem, size_t i,
                               struct dpot_error *error)
{
    const struct point_set *group = &problem->groups[i];
    double sum = 0.0;
    if (group->n == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "group %zu is empty: leave it out, or give it a point", i + 1);
    }
    for (size_t k = 0; k < group->n * problem->dim; k++) {
        if (!(fabs(group->points[k]) <= COORDINATE_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "group %zu, point %zu, coordinate %zu is %g: coordinates are "
                                  "finite and at most %g",
                                  i + 1, k / problem->dim + 1, k % problem->dim + 1,
                                  group->points[k], COORDINATE_MAX);
        }
    }
    for (size_t l = 0; group->weights && l < group->n; l++) {
        if (!(group->weights[l] >= 0.0 && group->weights[l] <= DBL_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "group %zu, point %zu has weight %g: weights are finite and not "
                                  "negative",
                                  i + 1, l + 1, group->weights[l]);
        }
        sum += group->weights[l];
    }
    if (group->weights && !(fabs(sum - 1.0) <= SUM_TOL)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the weights of group %zu sum to %.9g, not to 1: scale them", i + 1,
                              sum);
    }
    return DPOT_OK;
}

static dpot_status check_group_weights(const struct barycenter_problem *problem, double *weights,
                                       struct dpot_error *error)
{
    double sum = 0.0;
    for (size_t i = 0; i < problem->n_groups; i++) {
        weights[i] =
            problem->group_weights ? problem->group_weights[i] : 1.0 / (double)problem->n_groups;
        if (!(weights[i] >= 0.0 && weights[i] <= DBL_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "group weight %zu is %g: weights are finite and not negative",
                                  i + 1, weights[i]);
        }
        sum += weights[i];
    }
    if (!(fabs(sum - 1.0) <= SUM_TOL)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the group weights sum to %.9g, not to 1: scale them", sum);
    }
    for (size_t i = 0; i < problem->n_groups; i++) {
        weights[i] /= sum;
    }
    return DPOT_OK;
}

dpot_status barycenter_check(const struct barycenter_problem *problem, double *weights,
                             struct dpot_error *error)
{
    if (problem->n_groups == 0 || problem->n_groups > BARYCENTER_GROUPS_MAX || problem->dim == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "%zu groups of %zu coordinates: give 1 to %zu groups of points",
                              problem->n_groups, problem->dim, BARYCENTER_GROUPS_MAX);
    }
    dpot_status status = check_group_weights(problem, weights, error);
    for (size_t i = 0; status == DPOT_OK && i < problem->n_groups; i++) {
        status = check_group(problem, i, error);
    }
    return status;
}

static dpot_status check_options(const struct barycenter_problem *problem,
                                 const struct barycenter_options *options, struct dpot_error *error)
{
    const size_t m = options->support_size;
    if (m == 0 || m > BARYCENTER_SUPPORT_MAX || m > ENTRIES_MAX / problem->dim) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "a support of %zu points of %zu coordinates: give 1 to %zu points", m,
                              problem->dim, BARYCENTER_SUPPORT_MAX);
    }
    for (size_t k = 0; options->init && k < m * problem->dim; k++) {
        if (!(fabs(options->init[k]) <= COORDINATE_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "starting point %zu, coordinate %zu is %g: coordinates are "
                                  "finite and at most %g",
                                  k / problem->dim + 1, k % problem->dim + 1, options->init[k],
                                  COORDINATE_MAX);
        }
    }
    if (!(options->tol >= 0.0) || !(options->inner_tol >= 0.0) || options->max_iterations == 0 ||
        options->max_iterations > BARYCENTER_ITERATIONS_MAX ||
        options->n_starts > BARYCENTER_STARTS_MAX ||
        (options->inner == BARYCENTER_SINKHORN && options->inner_iterations == 0)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "tolerance %g, %zu iterations, %zu sweeps, %zu starts: give "
                              "tolerances from 0, 1 to %d iterations, at least one sweep, at most "
                              "%d starts",
                              options->tol, options->max_iterations, options->inner_iterations,
                              options->n_starts, BARYCENTER_ITERATIONS_MAX, BARYCENTER_STARTS_MAX);
    }
    for (size_t i = 0; options->inner == BARYCENTER_EXACT && i < problem->n_groups; i++) {
        if (problem->groups[i].n > WASSERSTEIN_COSTS_MAX / m) {
            return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                  "%zu points and a support of %zu: exact plans take up to %zu "
                                  "pairs a group, use Sinkhorn's",
                                  problem->groups[i].n, m, WASSERSTEIN_COSTS_MAX);
        }
    }
    return DPOT_OK;
}

/* ---- copies ---- */

static double mass_of(const struct point_set *set, size_t l)
{
    return set->weights ? set->weights[l] : 1.0 / (double)set->n;
}

static bool alloc_group(struct barycenter_group *group, size_t m, size_t dim,
                        const struct barycenter_options *options)
{
    const bool is_exact = options->inner == BARYCENTER_EXACT;
    group->stride = (group->n + LANES_PAD - 1) / LANES_PAD * LANES_PAD;
    group->points = dpot_alloc_array(NULL, group->n * dim, sizeof(double));
    group->points_t = dpot_alloc_array(NULL, group->stride * dim, sizeof(double));
    group->mass = dpot_alloc_array(NULL, group->n, sizeof(double));
    group->targets = dpot_alloc_array(NULL, m * dim, sizeof(double));
    group->potential = dpot_alloc_array(NULL, m, sizeof(double));
    group->matrix = is_exact ? dpot_alloc_array(NULL, m * group->stride, sizeof(double)) : NULL;
    group->g = dpot_alloc_array(NULL, group->n, sizeof(double));
    group->rows =
        is_exact ? NULL : dpot_alloc_array(NULL, BARYCENTER_ROWS * group->stride, sizeof(double));
    return group->points && group->points_t && group->mass && group->targets && group->potential &&
           group->g && (is_exact ? group->matrix != NULL : group->rows != NULL);
}

static bool alloc_single(struct barycenter_group *group, size_t dim)
{
    group->single = dpot_alloc_array(NULL, group->n * dim, sizeof(float));
    group->single_t = dpot_alloc_array(NULL, group->stride * dim, sizeof(float));
    group->tile = dpot_alloc_array(NULL, BARYCENTER_ROWS * group->stride, sizeof(float));
    group->sums = dpot_alloc_array(NULL, BARYCENTER_ROWS * dim, sizeof(float));
    return group->single && group->single_t && group->tile && group->sums;
}

static void release_group(struct barycenter_group *group, size_t m, size_t dim)
{
    dpot_free_array(NULL, group->points, group->n * dim, sizeof(double));
    dpot_free_array(NULL, group->points_t, group->stride * dim, sizeof(double));
    dpot_free_array(NULL, group->mass, group->n, sizeof(double));
    dpot_free_array(NULL, group->targets, m * dim, sizeof(double));
    dpot_free_array(NULL, group->potential, m, sizeof(double));
    dpot_free_array(NULL, group->matrix, m * group->stride, sizeof(double));
    dpot_free_array(NULL, group->g, group->n, sizeof(double));
    dpot_free_array(NULL, group->rows, BARYCENTER_ROWS * group->stride, sizeof(double));
    dpot_free_array(NULL, group->single, group->n * dim, sizeof(float));
    dpot_free_array(NULL, group->single_t, group->stride * dim, sizeof(float));
    dpot_free_array(NULL, group->tile, BARYCENTER_ROWS * group->stride, sizeof(float));
    dpot_free_array(NULL, group->sums, BARYCENTER_ROWS * dim, sizeof(float));
    dpot_exact_sequence_free(group->sequence);
    entropic_free(group->engine);
}

/* Copies the points with mass; scales their masses to sum 1. */
static dpot_status take_group(struct barycenter_state *state, const struct point_set *set,
                              size_t number, double weight, struct dpot_error *error)
{
    struct barycenter_group *group = &state->groups[state->n_groups++];
    double sum = 0.0;
    group->state = state;
    group->number = number;
    group->weight = weight;
    for (size_t l = 0; l < set->n; l++) {
        group->n += mass_of(set, l) > 0.0;
        sum += mass_of(set, l);
    }
    if (!alloc_group(group, state->m, state->dim, state->options) ||
        (state->is_single && !alloc_single(group, state->dim))) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for group %zu of %zu points",
                              number + 1, set->n);
    }
    for (size_t l = 0, k = 0; l < set->n; l++) {
        if (mass_of(set, l) > 0.0) {
            group->mass[k] = mass_of(set, l) / sum;
            memcpy(group->points + k++ * state->dim, set->points + l * state->dim,
                   state->dim * sizeof(double));
        }
    }
    return DPOT_OK;
}

/* Shifts the origin to the mean of all groups. */
static void centre_groups(struct barycenter_state *state)
{
    const size_t dim = state->dim;
    for (size_t i = 0; i < state->n_groups; i++) {
        const struct barycenter_group *group = &state->groups[i];
        for (size_t k = 0; k < group->n * dim; k++) {
            state->centre[k % dim] += group->weight * group->mass[k / dim] * group->points[k];
        }
    }
    double squares = 0.0;
    for (size_t i = 0; i < state->n_groups; i++) {
        struct barycenter_group *group = &state->groups[i];
        for (size_t k = 0; k < group->n * dim; k++) {
            const double x = group->points[k] - state->centre[k % dim];
            group->points[k] = group->points_t[k % dim * group->stride + k / dim] = x;
            group->second_moment += group->mass[k / dim] * x * x;
            if (state->is_single) {
                group->single[k] = group->single_t[k % dim * group->stride + k / dim] = (float)x;
            }
        }
        squares += group->weight * group->second_moment;
    }
    state->spread = sqrt(squares);
}

static dpot_status take_groups(struct barycenter_state *state,
                               const struct barycenter_problem *problem, const double *weights,
                               struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < problem->n_groups; i++) {
        if (weights[i] > 0.0) {
            status = take_group(state, &problem->groups[i], i, weights[i], error);
        }
    }
    if (status == DPOT_OK) {
        centre_groups(state);
    }
    return status;
}

dpot_status barycenter_state_init(struct barycenter_state *state,
                                  const struct barycenter_problem *problem,
                                  const struct barycenter_options *options,
                                  struct dpot_error *error)
{
    *state = (struct barycenter_state){.options = options,
                                       .lanes = lanes_get(),
                                       .linalg = dpot_linalg_openblas(),
                                       .linalg_f32 = dpot_linalg_f32_openblas(),
                                       .is_single = options->inner == BARYCENTER_SINKHORN &&
                                                    options->precision == ENTROPIC_F32,
                                       .n_groups_cap = problem->n_groups,
                                       .dim = problem->dim,
                                       .m = options->support_size};
    double *weights = NULL;
    dpot_status status = check_options(problem, options, error);
    if (status != DPOT_OK) {
        return status;
    }
    weights = dpot_alloc_array(NULL, problem->n_groups, sizeof *weights);
    state->groups = dpot_alloc_array(NULL, problem->n_groups, sizeof *state->groups);
    state->centre = dpot_alloc_array(NULL, state->dim, sizeof(double));
    state->x = dpot_alloc_array(NULL, state->m * state->dim, sizeof(double));
    state->x_single = dpot_alloc_array(NULL, state->m * state->dim, sizeof(float));
    state->b = dpot_alloc_array(NULL, state->m, sizeof(double));
    status = DPOT_ERR_MEMORY;
    if (weights && state->groups && state->centre && state->x && state->x_single && state->b) {
        status = barycenter_check(problem, weights, error);
    }
    if (status == DPOT_OK) {
        status = take_groups(state, problem, weights, error);
    }
    dpot_free_array(NULL, weights, problem->n_groups, sizeof *weights);
    if (status != DPOT_OK) {
        barycenter_state_release(state);
    }
    return status;
}

void barycenter_state_release(struct barycenter_state *state)
{
    for (size_t i = 0; i < state->n_groups; i++) {
        release_group(&state->groups[i], state->m, state->dim);
    }
    dpot_free_array(NULL, state->groups, state->n_groups_cap, sizeof *state->groups);
    dpot_free_array(NULL, state->centre, state->dim, sizeof(double));
    dpot_free_array(NULL, state->x, state->m * state->dim, sizeof(double));
    dpot_free_array(NULL, state->x_single, state->m * state->dim, sizeof(float));
    dpot_free_array(NULL, state->b, state->m, sizeof(double));
    *state = (struct barycenter_state){0};
}
