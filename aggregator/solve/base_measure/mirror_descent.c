#include "solve/base_measure/mirror_descent.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define POINTS_PER_DECADE 20

struct mirror_descent {
    struct mirror_descent_config config;
    struct phi *phi;
    double step_size; /* eta */

    double *log_m;    /* (n_cols) logarithm of the iterate */
    double *m;        /* (n_cols) the iterate m^(t) */
    double *gradient; /* (n_cols) */
    double *average;  /* (n_cols) mean of m^(1) .. m^(t) */
    double *best;     /* (n_cols) */
    double *w, *y;    /* (n_rows) sums of the dual points */
    double *recent_w; /* (n_rows) the same since the last power-of-two iteration: */
    double *recent_y; /* (n_rows) without the early iterations the bound is often better */
    double *proof_w;  /* (n_rows) of the best bound */
    double *proof_y;  /* (n_rows) */
    size_t recent_from;
    double best_objective, average_objective, lower_bound;

    struct mirror_descent_point *trajectory; /* (trajectory_cap) */
    size_t trajectory_cap, trajectory_len;
};

/* The next iteration whose point is recorded. */
static size_t next_point(size_t iteration)
{
    const double next = ceil((double)iteration * pow(10, 1.0 / POINTS_PER_DECADE));
    return (size_t)fmax(next, (double)iteration + 1);
}

static size_t count_points(size_t max_iterations)
{
    size_t n = 1; /* the last iteration is always recorded */
    for (size_t t = 1; t <= max_iterations; t = next_point(t)) {
        n++;
    }
    return n;
}

static dpot_status check_config(const struct mirror_descent_config *config,
                                struct dpot_error *error)
{
    if (config->max_iterations < 1 || config->max_iterations > MIRROR_DESCENT_ITERATIONS_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the number of iterations is %zu: choose 1 to %zu",
                              config->max_iterations, MIRROR_DESCENT_ITERATIONS_MAX);
    }
    if (!(config->gap >= 0 && config->gap < INFINITY)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the gap is %g: choose a relative gap, 0 or above", config->gap);
    }
    return DPOT_OK;
}

/* eta of Proposition G.1; 0 if all costs are 0 or negligible. */
static double published_step_size(const struct phi *phi, size_t max_iterations)
{
    const double slope = phi->beta * phi->cost_max * sqrt((double)max_iterations);
    return slope >= DBL_MIN ? sqrt(2 * (1 + log((double)phi->n_cols))) / slope : 0;
}

dpot_status mirror_descent_new(const struct mirror_descent_config *config,
                               struct mirror_descent **solver, struct dpot_error *error)
{
    const struct dpot_allocator *allocator = config->phi->allocator;
    const size_t k = config->phi->n_rows, n = config->phi->n_cols;
    *solver = NULL;
    const dpot_status status = check_config(config, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct mirror_descent *s = dpot_alloc_array(allocator, 1, sizeof *s);
    if (!s) {
        return DPOT_ERR_MEMORY;
    }
    s->config = *config;
    s->phi = config->phi;
    s->step_size = published_step_size(s->phi, config->max_iterations);
    s->trajectory_cap = count_points(config->max_iterations);
    s->trajectory = dpot_alloc_array(allocator, s->trajectory_cap, sizeof *s->trajectory);
    s->log_m = dpot_alloc_array(allocator, 5 * n, sizeof *s->log_m);
    s->w = dpot_alloc_array(allocator, 6 * k, sizeof *s->w);
    if (!s->trajectory || !s->log_m || !s->w) {
        mirror_descent_free(s);
        return DPOT_ERR_MEMORY;
    }
    s->m = s->log_m + n;
    s->gradient = s->log_m + 2 * n;
    s->average = s->log_m + 3 * n;
    s->best = s->log_m + 4 * n;
    s->y = s->w + k;
    s->recent_w = s->w + 2 * k;
    s->recent_y = s->w + 3 * k;
    s->proof_w = s->w + 4 * k;
    s->proof_y = s->w + 5 * k;
    *solver = s;
    return DPOT_OK;
}

void mirror_descent_free(struct mirror_descent *solver)
{
    if (!solver) {
        return;
    }
    const struct dpot_allocator *allocator = solver->phi->allocator;
    dpot_free_array(allocator, solver->trajectory, solver->trajectory_cap,
                    sizeof *solver->trajectory);
    dpot_free_array(allocator, solver->log_m, 5 * solver->phi->n_cols, sizeof *solver->log_m);
    dpot_free_array(allocator, solver->w, 6 * solver->phi->n_rows, sizeof *solver->w);
    dpot_free_array(allocator, solver, 1, sizeof *solver);
}

/* m^(1): the given start, or uniform with total mass beta. */
static void start(struct mirror_descent *s)
{
    const size_t k = s->phi->n_rows, n = s->phi->n_cols;
    for (size_t j = 0; j < n; j++) {
        s->m[j] = s->config.start ? s->config.start[j] : s->phi->beta / (double)n;
        s->log_m[j] = log(s->m[j]);
    }
    memset(s->average, 0, n * sizeof *s->average);
    memset(s->w, 0, 6 * k * sizeof *s->w);
    s->best_objective = s->average_objective = INFINITY;
    s->lower_bound = fmax(s->config.lower_bound, 0); /* costs are not negative */
    s->trajectory_len = 0;
}

/* f(m^(t)), its dual point, the best iterate and the running mean. */
static double evaluate(struct mirror_descent *s, size_t t)
{
    const size_t n = s->phi->n_cols;
    const double objective = phi_evaluate(s->phi, s->m);
    if ((t & (t - 1)) == 0) {
        memset(s->recent_w, 0, 2 * s->phi->n_rows * sizeof *s->recent_w);
        s->recent_from = t;
    }
    phi_add_dual(s->phi, s->w, s->y);
    phi_add_dual(s->phi, s->recent_w, s->recent_y);
    for (size_t j = 0; j < n; j++) {
        s->average[j] += (s->m[j] - s->average[j]) / (double)t;
    }
    if (objective < s->best_objective) {
        s->best_objective = objective;
        memcpy(s->best, s->m, n * sizeof *s->best);
    }
    return objective;
}

/* Multiplicative step, then the projection onto M in the generalised KL divergence, which scales
 * the total mass to the nearer end. */
static void step(struct mirror_descent *s)
{
    const size_t n = s->phi->n_cols;
    double total = 0;
    for (size_t j = 0; j < n; j++) {
        s->log_m[j] -= s->step_size * s->gradient[j];
        s->m[j] = exp(s->log_m[j]);
        total += s->m[j];
    }
    const double scale = fmin(fmax(total, s->phi->alpha), s->phi->beta) / total;
    if (scale != 1) {
        const double log_scale = log(scale);
        for (size_t j = 0; j < n; j++) {
            s->log_m[j] += log_scale;
            s->m[j] *= scale;
        }
    }
}

/* The bound of the sums of n dual points: (D) is homogeneous in them, so it is n times a bound.
 * Stored if it is the best. */
static void update_bound(struct mirror_descent *s, const double *w, const double *y, size_t n)
{
    const double offset = phi_minorant(s->phi, w, y, s->gradient);
    const double bound = phi_minorant_least(s->phi, offset, s->gradient) / (double)n;
    if (!(bound > s->lower_bound)) {
        return;
    }
    s->lower_bound = bound;
    for (size_t i = 0; i < s->phi->n_rows; i++) {
        s->proof_w[i] = w[i] / (double)n;
        s->proof_y[i] = y[i] / (double)n;
    }
}

/* Evaluates the mean and the lower bound so far, and records a point of the trajectory. Overwrites
 * the gradient and the evaluation of the iterate. */
static void record(struct mirror_descent *s, size_t t, double iterate_objective)
{
    const size_t n_recent = t - s->recent_from + 1;
    s->average_objective = phi_evaluate(s->phi, s->average);
    update_bound(s, s->w, s->y, t);
    update_bound(s, s->recent_w, s->recent_y, n_recent);
    s->trajectory[s->trajectory_len++] = (struct mirror_descent_point){
        t, iterate_objective, s->best_objective, s->average_objective, s->lower_bound};
}

static bool is_within_gap(const struct mirror_descent *s)
{
    const double objective = fmin(s->best_objective, s->average_objective);
    return s->config.gap > 0 && phi_relative_gap(objective, s->lower_bound) <= s->config.gap;
}

static void fill_result(const struct mirror_descent *s, size_t iterations,
                        enum solve_outcome outcome, struct mirror_descent_result *result)
{
    const bool is_best = s->best_objective <= s->average_objective;
    *result = (struct mirror_descent_result){
        .base_measure = is_best ? s->best : s->average,
        .objective = is_best ? s->best_objective : s->average_objective,
        .best = s->best,
        .best_objective = s->best_objective,
        .average = s->average,
        .average_objective = s->average_objective,
        .lower_bound = s->lower_bound,
        .w = s->proof_w,
        .y = s->proof_y,
        .iterations = iterations,
        .outcome = outcome,
        .trajectory = s->trajectory,
        .trajectory_len = s->trajectory_len,
    };
    result->relative_gap = phi_relative_gap(result->objective, result->lower_bound);
    for (size_t j = 0; j < s->phi->n_cols; j++) {
        result->total_mass += result->base_measure[j];
    }
}

void mirror_descent_run(struct mirror_descent *s, const struct solve_control *control,
                        struct mirror_descent_result *result)
{
    const size_t n_total = s->config.max_iterations;
    enum solve_outcome outcome = SOLVE_ITERATION_LIMIT;
    size_t t = 1, point = 1;
    start(s);
    for (;; t++) {
        const double objective = evaluate(s, t);
        const bool is_stopped = solve_control_stops(control, t, n_total, &outcome);
        const bool is_last = is_stopped || t == n_total;
        if (!is_last) {
            (void)phi_tangent(s->phi, s->gradient); /* before record, which evaluates the mean */
            step(s);
        }
        if (is_last || t == point) {
            record(s, t, objective);
            point = next_point(t);
            if (is_within_gap(s)) {
                outcome = SOLVE_CONVERGED;
                break;
            }
        }
        if (is_last) {
            break;
        }
    }
    fill_result(s, t, outcome, result);
}
