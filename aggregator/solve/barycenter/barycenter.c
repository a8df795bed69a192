#include "solve/barycenter/barycenter.h"

#include "base/alloc.h"
#include "solve/barycenter/parts.h"

#include <math.h>
#include <string.h>

#define STEP_START 0.5 /* first step of the weights: logarithm of the largest ratio */
#define STEP_GROWTH 1.3
#define STEP_MOST 4.0
#define PLANS_SLACK 100.0
#define ROUNDING 1e-13 /* relative: a smaller rise of the objective is ignored */

/* The state of one start. */
struct attempt {
    struct barycenter_state *state;
    const struct solve_control *control;
    size_t n_done_before, n_total; /* iterations of all starts, for the control */

    enum solve_outcome outcome;
    size_t iterations;
    double movement, residual;
    struct barycenter_step *curve; /* (max_iterations) */

    /* Steps of the weights: a step that raised the objective is undone, and the step size
     * halved. */
    double *last_b;   /* (m) */
    double *gradient; /* (m) */
    double step, last_objective, weight_change;
    bool has_stepped;
};

static double objective_of(const struct barycenter_state *s)
{
    double sum = 0.0;
    for (size_t i = 0; i < s->n_groups; i++) {
        sum += s->groups[i].weight * s->groups[i].objective;
    }
    return sum;
}

/* ---- the points ---- */

/* x_j = sum_i w_i target_ij; returns the root of sum_j b_j |change of x_j|^2, in units of the
 * spread. */
static double move_points(struct barycenter_state *s)
{
    double squares = 0.0;
    for (size_t k = 0; k < s->m * s->dim; k++) {
        double x = 0.0;
        for (size_t i = 0; i < s->n_groups; i++) {
            x += s->groups[i].weight * s->groups[i].targets[k];
        }
        squares += s->b[k / s->dim] * (x - s->x[k]) * (x - s->x[k]);
        s->x[k] = x;
    }
    return s->spread > 0.0 ? sqrt(squares) / s->spread : 0.0;
}

/* ---- the weights ---- */

/* b_j exp(-step (h_j - min h) / (max h - min h)), scaled to sum 1, with h = sum_i w_i potential_i
 * the gradient: a step of mirror descent of its own length. */
static void step_weights(struct attempt *a)
{
    struct barycenter_state *s = a->state;
    double least = HUGE_VAL, most = -HUGE_VAL, sum = 0.0;
    for (size_t j = 0; j < s->m; j++) {
        a->gradient[j] = 0.0;
        for (size_t i = 0; i < s->n_groups; i++) {
            a->gradient[j] += s->groups[i].weight * s->groups[i].potential[j];
        }
        least = fmin(least, a->gradient[j]);
        most = fmax(most, a->gradient[j]);
    }
    memcpy(a->last_b, s->b, s->m * sizeof *s->b);
    a->weight_change = 0.0;
    a->has_stepped = most > least;
    if (!a->has_stepped) {
        return;
    }
    for (size_t j = 0; j < s->m; j++) {
        s->b[j] *= exp(-a->step * (a->gradient[j] - least) / (most - least));
        sum += s->b[j];
    }
    for (size_t j = 0; j < s->m; j++) {
        s->b[j] /= sum;
        a->weight_change += fabs(s->b[j] - a->last_b[j]);
    }
    barycenter_forget_plans(s, false);
}

/* Whether the last step of the weights lowered the objective. If not, undoes it and halves the step
 * size; the points stay. */
static bool accept_step(struct attempt *a, double objective)
{
    const double slack = ROUNDING * a->state->spread * a->state->spread;
    if (!a->has_stepped) {
        return true;
    }
    if (objective <= a->last_objective + slack) {
        a->step = fmin(STEP_MOST, STEP_GROWTH * a->step);
        return true;
    }
    memcpy(a->state->b, a->last_b, a->state->m * sizeof *a->last_b);
    a->step *= 0.5;
    a->has_stepped = false;
    barycenter_forget_plans(a->state, false);
    return false;
}

/* ---- an attempt ---- */

/* Transport to the current points, after the last step of the weights was accepted or undone. */
static dpot_status transport(struct attempt *a, struct dpot_error *error)
{
    dpot_status status = barycenter_transport(a->state, error);
    if (status == DPOT_OK && a->state->options->moves_weights &&
        !accept_step(a, objective_of(a->state))) {
        status = barycenter_transport(a->state, error);
    }
    a->last_objective = objective_of(a->state);
    return status;
}

static dpot_status iterate(struct attempt *a, struct dpot_error *error)
{
    struct barycenter_state *s = a->state;
    struct barycenter_step *step = &a->curve[a->iterations];
    const dpot_status status = transport(a, error);
    if (status != DPOT_OK) {
        return status;
    }
    step->cost = a->residual = 0.0;
    for (size_t i = 0; i < s->n_groups; i++) {
        step->cost += s->groups[i].weight * s->groups[i].cost;
        a->residual = fmax(a->residual, s->groups[i].residual);
    }
    if (s->options->moves_weights) {
        step_weights(
            a); /* uses the same plans as the points; movement is weighted by the old weights */
    }
    a->movement = step->movement = move_points(s);
    a->iterations++;
    return DPOT_OK;
}

/* Points computed from plans that do not meet the weights have not converged. */
static bool has_plans(const struct attempt *a)
{
    const double tol = a->state->options->inner_tol;
    return tol == 0.0 || a->residual <= PLANS_SLACK * tol;
}

static dpot_status attempt_run(struct attempt *a, size_t number, struct dpot_error *error)
{
    const struct barycenter_options *options = a->state->options;
    a->outcome = SOLVE_ITERATION_LIMIT;
    a->iterations = 0;
    a->step = STEP_START;
    a->has_stepped = false;
    a->weight_change = 0.0;
    dpot_status status = barycenter_start(a->state, number, error);
    while (status == DPOT_OK && a->iterations < options->max_iterations) {
        status = iterate(a, error);
        if (options->tol > 0.0 && a->movement <= options->tol &&
            (!options->moves_weights || a->weight_change <= options->tol)) {
            a->outcome = has_plans(a) ? SOLVE_CONVERGED : SOLVE_ITERATION_LIMIT;
            break;
        }
        if (solve_control_stops(a->control, a->n_done_before + a->iterations, a->n_total,
                                &a->outcome)) {
            break;
        }
    }
    if (status == DPOT_OK && options->moves_weights && a->has_stepped) {
        /* The last step of the weights has not been checked yet. */
        status = transport(a, error);
    }
    return status;
}

/* ---- the result ---- */

static dpot_status result_init(struct barycenter_result *r, const struct barycenter_state *s)
{
    const struct barycenter_options *options = s->options;
    r->support_size = s->m;
    r->dim = s->dim;
    r->n_starts = options->n_starts > 0 ? options->n_starts : 1;
    r->curve_cap = options->max_iterations;
    r->one_point_cost = s->spread * s->spread;
    r->support = dpot_alloc_array(NULL, s->m * s->dim, sizeof *r->support);
    r->weights = dpot_alloc_array(NULL, s->m, sizeof *r->weights);
    r->curve = dpot_alloc_array(NULL, r->curve_cap, sizeof *r->curve);
    r->start_costs = dpot_alloc_array(NULL, r->n_starts, sizeof *r->start_costs);
    return r->support && r->weights && r->curve && r->start_costs ? DPOT_OK : DPOT_ERR_MEMORY;
}

void barycenter_result_release(struct barycenter_result *r)
{
    dpot_free_array(NULL, r->support, r->support_size * r->dim, sizeof *r->support);
    dpot_free_array(NULL, r->weights, r->support_size, sizeof *r->weights);
    dpot_free_array(NULL, r->curve, r->curve_cap, sizeof *r->curve);
    dpot_free_array(NULL, r->start_costs, r->n_starts, sizeof *r->start_costs);
    *r = (struct barycenter_result){0};
}

static void take_attempt(struct barycenter_result *r, const struct attempt *a, size_t number)
{
    const struct barycenter_state *s = a->state;
    r->outcome = a->outcome;
    r->iterations = a->iterations;
    r->movement = a->movement;
    r->residual = a->residual;
    r->best_start = number;
    memcpy(r->curve, a->curve, a->iterations * sizeof *a->curve);
    for (size_t k = 0; k < s->m * s->dim; k++) {
        r->support[k] = s->x[k] + s->centre[k % s->dim];
    }
    memcpy(r->weights, s->b, s->m * sizeof *s->b);
}

/* The cost by which starts are compared: exact, or if that is too expensive, of the last plans. */
static dpot_status compare_cost(const struct barycenter_problem *problem, const struct attempt *a,
                                double *scratch, double *cost, struct dpot_error *error)
{
    const struct barycenter_state *s = a->state;
    for (size_t k = 0; k < s->m * s->dim; k++) {
        scratch[k] = s->x[k] + s->centre[k % s->dim];
    }
    dpot_status status =
        barycenter_cost(problem, scratch, s->b, s->m, s->options->team, cost, error);
    if (status == DPOT_ERR_TOO_LARGE) {
        *cost = a->curve[a->iterations - 1].cost;
        status = DPOT_OK;
    }
    return status;
}

static dpot_status run_starts(const struct barycenter_problem *problem, struct attempt *a,
                              double *scratch, struct barycenter_result *r,
                              struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    double best = HUGE_VAL;
    bool goes_on = true;
    for (size_t number = 0; status == DPOT_OK && goes_on && number < r->n_starts; number++) {
        double cost = NAN;
        status = attempt_run(a, number, error);
        if (status == DPOT_OK && r->n_starts > 1) {
            status = compare_cost(problem, a, scratch, &cost, error);
        }
        if (status == DPOT_OK) {
            r->start_costs[number] = cost;
            if (number == 0 || cost < best) {
                take_attempt(r, a, number);
                best = cost;
            }
            a->n_done_before += a->state->options->max_iterations;
            goes_on = a->outcome == SOLVE_CONVERGED || a->outcome == SOLVE_ITERATION_LIMIT;
            r->outcome = goes_on ? r->outcome : a->outcome;
            r->n_run = number + 1;
        }
    }
    for (size_t i = 0; i < a->state->n_groups; i++) {
        r->sweeps += a->state->groups[i].sweeps;
    }
    return status;
}

dpot_status barycenter_solve(const struct barycenter_problem *problem,
                             const struct barycenter_options *options,
                             const struct solve_control *control, struct barycenter_result *result,
                             struct dpot_error *error)
{
    struct barycenter_state s;
    *result = (struct barycenter_result){0};
    dpot_status status = barycenter_state_init(&s, problem, options, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct attempt a = {.state = &s, .control = control};
    double *scratch = dpot_alloc_array(NULL, s.m * s.dim, sizeof *scratch);
    a.curve = dpot_alloc_array(NULL, options->max_iterations, sizeof *a.curve);
    a.last_b = dpot_alloc_array(NULL, s.m, sizeof *a.last_b);
    a.gradient = dpot_alloc_array(NULL, s.m, sizeof *a.gradient);
    status = result_init(result, &s);
    if (!scratch || !a.curve || !a.last_b || !a.gradient || status != DPOT_OK) {
        status =
            dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for a support of %zu points", s.m);
    } else {
        a.n_total = result->n_starts * options->max_iterations;
        status = run_starts(problem, &a, scratch, result, error);
    }
    dpot_free_array(NULL, scratch, s.m * s.dim, sizeof *scratch);
    dpot_free_array(NULL, a.curve, options->max_iterations, sizeof *a.curve);
    dpot_free_array(NULL, a.last_b, s.m, sizeof *a.last_b);
    dpot_free_array(NULL, a.gradient, s.m, sizeof *a.gradient);
    barycenter_state_release(&s);
    if (status != DPOT_OK) {
        barycenter_result_release(result);
    }
    return status;
}
