#include "solve/base_measure/planes_parts.h"

#include <math.h>
#include <string.h>

#define PERTURBATION 3e-8         /* initial, relative to the program's value */
#define PERTURBATION_FACTOR 100.0 /* it is divided by this when rounds become slow */
#define PERTURBATION_MIN 1e-13
#define MIX 0.3 /* with users: weight of the solution; the rest is the best measure so far */
#define TEMPERATURE 1e-4 /* initial, relative to the objective */
#define COOLING 10.0     /* divides it when the exact gap is larger than the crowd's */
#define TEMPERATURE_MIN 1e-12
#define SLOW 0.9      /* a round is slow if it leaves a larger part of the gap */
#define SLOW_ROUNDS 2 /* consecutive slow rounds of the worst case that the perturbation explains */
#define SLOW_ROUNDS_USERS 6 /* with users: mixed points converge more slowly */

/* ---- memory ---- */

static dpot_status allocate_result(const struct base_measure_planes_config *config,
                                   struct base_measure_planes_result *result)
{
    const struct dpot_allocator *allocator = config->allocator;
    *result = (struct base_measure_planes_result){.n_cols = config->n_cols,
                                                  .n_rows = planes_n_rows(config),
                                                  .n_points = planes_n_points(config),
                                                  .objective = INFINITY,
                                                  .allocator = allocator};
    result->base_measure = dpot_alloc_array(allocator, result->n_cols, sizeof(double));
    result->w = dpot_alloc_array(allocator, result->n_rows, sizeof(double));
    result->y = dpot_alloc_array(allocator, result->n_rows, sizeof(double));
    result->potentials = dpot_alloc_array(allocator, result->n_points, sizeof(double));
    return result->base_measure && result->w && result->y && result->potentials ? DPOT_OK
                                                                                : DPOT_ERR_MEMORY;
}

void base_measure_planes_release(struct base_measure_planes_result *result)
{
    const struct dpot_allocator *allocator = result->allocator;
    dpot_free_array(allocator, result->base_measure, result->n_cols, sizeof(double));
    dpot_free_array(allocator, result->w, result->n_rows, sizeof(double));
    dpot_free_array(allocator, result->y, result->n_rows, sizeof(double));
    dpot_free_array(allocator, result->potentials, result->n_points, sizeof(double));
    *result = (struct base_measure_planes_result){0};
}

/* One block for the arrays of fixed size. */
static size_t block_size(const struct planes *p)
{
    const struct base_measure_planes_config *config = p->config;
    return 3 * planes_n_orbits(config) + 3 * config->n_cols +
           p->n_user_groups * (1 + config->n_cols) + 2 * planes_n_rows(config) +
           planes_n_points(config);
}

static dpot_status allocate(struct planes *p)
{
    const struct base_measure_planes_config *config = p->config;
    const size_t n = config->n_cols, n_orbits = planes_n_orbits(config),
                 n_rows = planes_n_rows(config);
    double *at = dpot_alloc_array(config->allocator, block_size(p), sizeof *at);
    if (!at) {
        return DPOT_ERR_MEMORY;
    }
    p->orbit_size = at;
    p->x = (at += n_orbits);
    p->tied = (at += n_orbits);
    p->point = (at += n_orbits);
    p->solution = (at += n);
    p->gradient = (at += n);
    p->offsets = (at += n);
    p->gradients = (at += p->n_user_groups);
    p->w = (at += p->n_user_groups * n);
    p->y = (at += n_rows);
    p->potentials = at + n_rows;
    for (size_t j = 0; j < n; j++) {
        p->orbit_size[config->orbit ? config->orbit[j] : j]++;
    }
    return DPOT_OK;
}

static void release(struct planes *p)
{
    const struct dpot_allocator *allocator = p->config->allocator;
    base_measure_lp_free(p->lp);
    for (size_t s = 0; s < p->n_snapshots; s++) {
        dpot_free_array(allocator, p->snapshots[s], planes_n_points(p->config), sizeof(double));
    }
    dpot_free_array(allocator, p->snapshots, p->cap_snapshots, sizeof(double *));
    dpot_free_array(allocator, p->sources, p->cap_sources, sizeof *p->sources);
    dpot_free_array(allocator, p->cut_weights, p->cap_sources, sizeof *p->cut_weights);
    dpot_free_array(allocator, p->orbit_size, block_size(p), sizeof *p->orbit_size);
}

/* ---- rounds ---- */

struct progress {
    double gap; /* smallest so far */
    double perturbation;
    double temperature; /* at that gap */
    size_t n_slow;
};

/* Converts the program's solution to a measure, and corrects its total for rounding so that it is
 * in M. */
static void load_solution(struct planes *p)
{
    const struct base_measure_planes_config *config = p->config;
    double sum = 0;
    base_measure_lp_point(p->lp, p->x);
    for (size_t j = 0; j < config->n_cols; j++) {
        const size_t o = config->orbit ? config->orbit[j] : j;
        p->solution[j] = p->x[o] * p->mass_unit / p->orbit_size[o];
        sum += p->solution[j];
    }
    const double low = exp(-config->epsilon / 2), high = exp(config->epsilon / 2);
    const double scale = sum > 0 ? fmin(fmax(sum, low), high) / sum : 1;
    for (size_t j = 0; j < config->n_cols; j++) {
        p->solution[j] = sum > 0 ? p->solution[j] * scale : low / (double)config->n_cols;
    }
}

static void choose_point(struct planes *p)
{
    const double share = p->config->crowd ? MIX : 1;
    for (size_t j = 0; j < p->config->n_cols; j++) {
        p->point[j] = (1 - share) * p->result->base_measure[j] + share * p->solution[j];
    }
}

/* t of the worst case at the program's solution: rows above it are new cuts. */
static double level_of(const struct planes *p)
{
    if (!p->config->phi) {
        return 0;
    }
    const double t = base_measure_lp_level(p->lp, p->n_groups - 1) * p->value_unit;
    return t + 1e-14 * fabs(t);
}

static dpot_status set_up_program(struct planes *p, double value)
{
    const struct base_measure_planes_config *config = p->config;
    double *weights = dpot_alloc_array(config->allocator, p->n_groups, sizeof *weights);
    if (!weights) {
        return DPOT_ERR_MEMORY;
    }
    double mass = 0;
    for (size_t j = 0; j < config->n_cols; j++) {
        mass += config->starts[config->n_starts - 1][j];
    }
    p->mass_unit = mass;
    p->value_unit = value;
    for (size_t g = 0; g < p->n_user_groups; g++) {
        weights[g] = (1 - config->worst_share) * base_measure_crowd_weight(config->crowd, g);
    }
    if (config->phi) {
        weights[p->n_groups - 1] = config->worst_share;
    }
    const struct base_measure_lp_config lp = {.n_points = planes_n_orbits(config),
                                              .n_groups = p->n_groups,
                                              .group_weights = weights,
                                              .mass_min = exp(-config->epsilon / 2) / mass,
                                              .mass_max = exp(config->epsilon / 2) / mass,
                                              .perturbation = PERTURBATION,
                                              .linalg = config->linalg,
                                              .allocator = config->allocator};
    const dpot_status status = base_measure_lp_new(&lp, &p->lp);
    dpot_free_array(config->allocator, weights, p->n_groups, sizeof *weights);
    return status;
}

/* F at the last start: the unit of the program. */
static double first_value(struct planes *p)
{
    const struct base_measure_planes_config *config = p->config;
    const double *m = config->starts[config->n_starts - 1];
    double value = 0;
    if (config->crowd) {
        value +=
            (1 - config->worst_share) * base_measure_crowd_evaluate(config->crowd, m, NULL, NULL);
        p->temperature = TEMPERATURE * value / (1 - config->worst_share);
        base_measure_crowd_set_temperature(config->crowd, p->temperature);
    }
    return config->phi ? value + config->worst_share * phi_evaluate(config->phi, m) : value;
}

static bool has_gap(struct planes *p)
{
    struct base_measure_planes_result *result = p->result;
    result->relative_gap =
        result->objective < INFINITY ? phi_relative_gap(result->objective, result->lower_bound) : 1;
    return result->relative_gap <= p->config->gap;
}

/* Computes the exact objective and checks the gap with it; lowers the temperature if it is
 * larger. */
static bool is_confirmed(struct planes *p)
{
    const struct base_measure_planes_config *config = p->config;
    const double *m = p->result->base_measure;
    if (!config->crowd || p->temperature == 0) {
        return true;
    }
    base_measure_crowd_set_temperature(config->crowd, 0);
    double value =
        (1 - config->worst_share) * base_measure_crowd_evaluate(config->crowd, m, NULL, NULL);
    if (base_measure_crowd_is_stopped(config->crowd)) {
        return false;
    }
    value += config->phi ? config->worst_share * phi_evaluate(config->phi, m) : 0;
    p->result->objective = value;
    p->temperature = p->temperature > TEMPERATURE_MIN * value ? p->temperature / COOLING : 0;
    base_measure_crowd_set_temperature(config->crowd, p->temperature);
    return has_gap(p);
}

static bool is_done(struct planes *p, const struct solve_control *control)
{
    struct base_measure_planes_result *result = p->result;
    if (has_gap(p) && is_confirmed(p)) {
        result->outcome = SOLVE_CONVERGED;
        return true;
    }
    return result->rounds >= p->config->max_rounds ||
           solve_control_stops(control, result->rounds, p->config->max_rounds, &result->outcome);
}

/* After a round: shrinks the perturbation if rounds have become slow. False: it is at its
 * minimum. */
static bool adapt_to_progress(struct planes *p, struct progress *progress)
{
    const double gap = phi_relative_gap(p->result->objective, p->result->lower_bound);
    if (progress->temperature != p->temperature) { /* the earlier gap was not the exact one */
        progress->temperature = p->temperature;
        progress->gap = INFINITY;
    }
    progress->n_slow = gap > SLOW * progress->gap ? progress->n_slow + 1 : 0;
    progress->gap = fmin(gap, progress->gap);
    if (progress->n_slow < (p->config->crowd ? SLOW_ROUNDS_USERS : SLOW_ROUNDS)) {
        return true;
    }
    if (progress->perturbation / PERTURBATION_FACTOR < PERTURBATION_MIN) {
        return false;
    }
    base_measure_lp_shrink_perturbation(p->lp, PERTURBATION_FACTOR);
    progress->perturbation /= PERTURBATION_FACTOR;
    progress->n_slow = 0;
    return true;
}

static bool is_stopped(const struct planes *p)
{
    return p->config->crowd && base_measure_crowd_is_stopped(p->config->crowd);
}

static dpot_status run_rounds(struct planes *p, const struct solve_control *control)
{
    struct base_measure_planes_result *result = p->result;
    struct progress progress = {
        .gap = INFINITY, .perturbation = PERTURBATION, .temperature = p->temperature};
    dpot_status status = DPOT_OK;
    for (size_t s = 0; status == DPOT_OK && s < p->config->n_starts; s++) {
        status = planes_evaluate(p, p->config->starts[s], -INFINITY);
    }
    if (is_stopped(p)) { /* the last start may not have been evaluated */
        result->objective = INFINITY;
    }
    while (status == DPOT_OK && !is_done(p, control)) {
        bool is_optimal = false;
        base_measure_lp_solve(p->lp, control, &is_optimal);
        planes_update_bound(p, true);
        planes_update_bound(p, false);
        result->rounds++;
        if (is_done(p, control)) {
            break;
        }
        load_solution(p);
        choose_point(p);
        status = planes_evaluate(p, p->point, level_of(p));
        if (status == DPOT_OK && !is_stopped(p) && !adapt_to_progress(p, &progress)) {
            result->outcome = SOLVE_STALLED;
            (void)is_done(p, NULL);
            break;
        }
    }
    result->n_cuts = base_measure_lp_n_cuts(p->lp);
    result->n_lp_steps = base_measure_lp_n_steps(p->lp);
    return status;
}

/* All costs are 0: any measure is optimal, with the bound 0. */
static void take_start(struct planes *p)
{
    const struct base_measure_planes_config *config = p->config;
    memcpy(p->result->base_measure, config->starts[config->n_starts - 1],
           config->n_cols * sizeof(double));
    for (size_t i = 0; i < planes_n_rows(config); i++) {
        p->result->w[i] = i == 0 ? config->worst_share : 0;
    }
    p->result->objective = 0;
    p->result->outcome = SOLVE_CONVERGED;
}

dpot_status base_measure_planes(const struct base_measure_planes_config *config,
                                const struct solve_control *control,
                                struct base_measure_planes_result *result, struct dpot_error *error)
{
    struct planes p = {.config = config, .result = result};
    p.n_user_groups = config->crowd ? base_measure_crowd_n_groups(config->crowd) : 0;
    p.n_groups = p.n_user_groups + (config->phi ? 1 : 0);
    dpot_status status = allocate_result(config, result);
    if (status == DPOT_OK) {
        status = allocate(&p);
    }
    if (status == DPOT_OK) {
        const double value = first_value(&p);
        result->outcome = SOLVE_ITERATION_LIMIT;
        if (is_stopped(&p)) {
            (void)is_done(&p, control);
        } else if (value > 0) {
            status = set_up_program(&p, value);
            status = status == DPOT_OK ? run_rounds(&p, control) : status;
        } else {
            take_start(&p);
        }
    }
    release(&p);
    if (status == DPOT_OK) {
        return DPOT_OK;
    }
    base_measure_planes_release(result);
    return status == DPOT_ERR_TOO_LARGE
               ? dpot_error_set(error, status,
                                "%zu output points that no symmetry ties, with %zu groups of "
                                "users: cutting planes take at most %zu together",
                                planes_n_orbits(config), p.n_groups, BASE_MEASURE_LP_ROWS_MAX)
               : dpot_error_set(error, status, "out of memory for the cutting planes");
}
