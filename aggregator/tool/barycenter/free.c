/* dpot barycenter --support: free points. */
#include "tool/barycenter/barycenter.h"

#include "tool/shared/options.h"
#include "tool/shared/progress.h"
#include "tool/shared/save.h"

#include <math.h>
#include <string.h>

#define PAIRS_MAX 1e7   /* costs up to which the bound by pairs is the default */
#define COLLAPSED 1e-3  /* in units of the data's spread: the points have collapsed to one */
#define PLANS_FAR 100.0 /* times the inner tolerance: the residual gets a warning */

struct solution {
    struct barycenter_problem problem;
    struct barycenter_options options;
    struct barycenter_result result;
    struct barycenter_projected projected;
    struct array init;
};

static dpot_status load_init(struct barycenter_job *job, struct solution *s)
{
    struct run *run = job->run;
    if (!option_is_given(run, "init")) {
        return DPOT_OK;
    }
    const dpot_status status = load_finite(run, "init", &s->init);
    if (status == DPOT_OK &&
        (s->init.n_rows != job->support_size || s->init.n_cols != s->problem.dim)) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--init %s is %zu x %zu, the support %zu points of %zu coordinates: "
                              "they must agree",
                              option_text(run, "init"), s->init.n_rows, s->init.n_cols,
                              (size_t)job->support_size, s->problem.dim);
    }
    s->options.init = s->init.values;
    return status;
}

static dpot_status load(struct barycenter_job *job, struct solution *s)
{
    struct run *run = job->run;
    dpot_status status = barycenter_load_points(job, &s->problem.dim);
    if (status == DPOT_OK) {
        status = barycenter_load_group_weights(job, &s->problem.group_weights);
    }
    s->problem.n_groups = job->n_groups;
    s->problem.groups = job->sets;
    s->options = (struct barycenter_options){
        .support_size = (size_t)job->support_size,
        .inner = job->is_exact ? BARYCENTER_EXACT : BARYCENTER_SINKHORN,
        .moves_weights = option_is_given(run, "optimize-weights"),
        .tol = job->tol,
        .max_iterations = (size_t)job->outer,
        .lambda = job->lambda,
        .inner_iterations = (size_t)job->inner,
        .inner_tol = job->inner_tol,
        .precision = option_is_given(run, "float32") ? ENTROPIC_F32 : ENTROPIC_F64,
        .n_starts = (size_t)job->n_starts,
        .seed = run->seed,
        .team = job->team,
    };
    return status == DPOT_OK ? load_init(job, s) : status;
}

static dpot_status solve(struct barycenter_job *job, struct solution *s)
{
    struct run *run = job->run;
    struct progress progress;
    const struct solve_control control = progress_control(&progress);
    dpot_status status;
    progress_init(&progress, run, "barycenter", (size_t)job->outer * (size_t)job->n_starts);
    if (job->project > 0) {
        status = barycenter_solve_projected(&s->problem, (size_t)job->project, &s->options,
                                            &control, &s->result, &s->projected, &run->error);
    } else {
        status = barycenter_solve(&s->problem, &s->options, &control, &s->result, &run->error);
    }
    progress_end(&progress);
    run->is_stopped = !job->keeps_going && s->result.outcome != SOLVE_CONVERGED;
    return status;
}

/* ---- result ---- */

/* The exact cost; with too many points, the cost of the last plans. */
static dpot_status put_cost(struct barycenter_job *job, struct solution *s)
{
    struct run *run = job->run;
    const struct barycenter_result *r = &s->result;
    double cost = r->curve[r->iterations - 1].cost;
    bool is_exact = true;
    dpot_status status = barycenter_cost(&s->problem, r->support, r->weights, r->support_size,
                                         job->team, &cost, &run->error);
    if (status == DPOT_ERR_TOO_LARGE) {
        status = DPOT_OK;
        is_exact = false;
    }
    run_put_number(run, "cost", cost);
    run_put_text(run, "cost_is", is_exact ? "exact" : "plans");
    run_put_number(run, "distance", sqrt(cost));
    return status;
}

static double pairs_of(const struct barycenter_problem *problem)
{
    double pairs = 0.0, before = 0.0;
    for (size_t i = 0; i < problem->n_groups; i++) {
        pairs += before * (double)problem->groups[i].n;
        before += (double)problem->groups[i].n;
    }
    return pairs;
}

static dpot_status put_bound(struct barycenter_job *job, struct solution *s)
{
    struct run *run = job->run;
    const char *how = option_text(run, "lower-bound");
    double bound = 0.0;
    const bool is_pairs = how ? strcmp(how, "pairs") == 0 : pairs_of(&s->problem) <= PAIRS_MAX;
    if (how && strcmp(how, "none") == 0) {
        return DPOT_OK;
    }
    const dpot_status status =
        barycenter_bound(&s->problem, is_pairs ? BARYCENTER_BOUND_PAIRS : BARYCENTER_BOUND_MOMENTS,
                         job->team, &bound, &run->error);
    run_put_number(run, "lower_bound", bound);
    run_put_text(run, "lower_bound_from", is_pairs ? "pairs" : "moments");
    return status;
}

static void put_starts(struct run *run, const struct barycenter_result *r)
{
    json_t *costs = json_array();
    run_put_integer(run, "starts", r->n_run);
    if (r->n_run < 2) {
        json_decref(costs);
        return;
    }
    for (size_t i = 0; i < r->n_run; i++) {
        (void)json_array_append_new(costs, json_number(r->start_costs[i]));
    }
    run_put_integer(run, "best_start", r->best_start + 1);
    run_put(run, "start_costs", costs);
}

static void put_result(struct barycenter_job *job, const struct solution *s)
{
    struct run *run = job->run;
    const struct barycenter_result *r = &s->result;
    size_t n = 0;
    for (size_t i = 0; i < job->n_groups; i++) {
        n += job->sets[i].n;
    }
    run_put_integer(run, "groups", job->n_groups);
    run_put_integer(run, "n", n);
    run_put_integer(run, "dim", s->problem.dim);
    run_put_integer(run, "support", r->support_size);
    run_put_text(run, "method", job->is_exact ? "exact" : "sinkhorn");
    if (!job->is_exact) {
        run_put_number(run, "lambda", job->lambda);
    }
    run_put_text(run, "outcome", solve_outcome_name(r->outcome));
    run_put_integer(run, "iterations", r->iterations);
    run_put_integer(run, job->is_exact ? "pivots" : "sweeps", r->sweeps);
    run_put_number(run, "movement", r->movement);
    run_put_number(run, "residual", r->residual);
    if (job->project == 0) {
        run_put_number(run, "plan_cost", r->curve[r->iterations - 1].cost);
    }
    run_put_number(run, "one_point_cost", r->one_point_cost);
    put_starts(run, r);
    if (job->project > 0) {
        run_put_integer(run, "projected_dim", job->project);
        run_put_number(run, "projected_cost", s->projected.cost);
        run_put_number(run, "solution_cost", s->projected.solution_cost);
    }
}

/* The standard deviation of the points, in units of the data's spread. */
static double width_of(const struct barycenter_result *r)
{
    double squares = 0.0;
    for (size_t c = 0; c < r->dim; c++) {
        double mean = 0.0;
        for (size_t j = 0; j < r->support_size; j++) {
            mean += r->weights[j] * r->support[j * r->dim + c];
        }
        for (size_t j = 0; j < r->support_size; j++) {
            squares += r->weights[j] * pow(r->support[j * r->dim + c] - mean, 2.0);
        }
    }
    return r->one_point_cost > 0.0 ? sqrt(squares / r->one_point_cost) : 1.0;
}

static void warn_of_result(const struct barycenter_job *job, const struct solution *s)
{
    const struct barycenter_result *r = &s->result;
    if (!job->is_exact && r->support_size > 1 && width_of(r) < COLLAPSED) {
        run_warn(job->run,
                 "all points lie in one place: --lambda %g is large beside the squared distances "
                 "of the data, whose mean is %g: take a smaller one, or --exact",
                 job->lambda, r->one_point_cost);
    }
    if (job->inner_tol > 0.0 && r->residual > PLANS_FAR * job->inner_tol) {
        run_warn(
            job->run,
            "a plan misses the weights by %.2g: allow more --max-sweeps sweeps, or take a larger "
            "--lambda or --exact",
            r->residual);
    }
    if (s->options.moves_weights && !job->weights_path) {
        run_warn(job->run, "the points have different weights: --weights-out F keeps them");
    }
}

static dpot_status write_curve(struct barycenter_job *job, const struct barycenter_result *r)
{
    struct array array = {0};
    if (!job->curve_path) {
        return DPOT_OK;
    }
    dpot_status status = array_init(&array, r->iterations, 3, false);
    for (size_t t = 0; status == DPOT_OK && t < r->iterations; t++) {
        array.values[3 * t] = (double)(t + 1);
        array.values[3 * t + 1] = r->curve[t].cost;
        array.values[3 * t + 2] = r->curve[t].movement;
    }
    if (status == DPOT_OK) {
        status =
            array_write_named(job->curve_path, &array, "iteration,cost,movement", &job->run->error);
    }
    array_release(&array);
    return status;
}

static dpot_status write_outputs(struct barycenter_job *job, const struct solution *s)
{
    const struct barycenter_result *r = &s->result;
    dpot_status status =
        save_values(job->run, job->out_path, r->support, r->support_size, r->dim, r->dim == 1);
    if (status == DPOT_OK) {
        status = save_values(job->run, job->weights_path, r->weights, r->support_size, 1, true);
    }
    return status == DPOT_OK ? write_curve(job, r) : status;
}

dpot_status barycenter_run_free(struct barycenter_job *job)
{
    struct solution s = {.init = {0}};
    const char *how = option_text(job->run, "lower-bound");
    if (how && strcmp(how, "pairs") != 0 && strcmp(how, "moments") != 0 &&
        strcmp(how, "none") != 0) {
        return RUN_USAGE(job->run, "--lower-bound is %.40s: choose pairs, moments or none", how);
    }
    dpot_status status = load(job, &s);
    if (status == DPOT_OK) {
        status = solve(job, &s);
    }
    if (status == DPOT_OK) {
        status = put_cost(job, &s);
    }
    if (status == DPOT_OK) {
        status = put_bound(job, &s);
    }
    if (status == DPOT_OK) {
        put_result(job, &s);
        warn_of_result(job, &s);
        status = write_outputs(job, &s);
    }
    barycenter_result_release(&s.result);
    array_release(&s.init);
    return status;
}
