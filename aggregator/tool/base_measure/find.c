/* dpot base-measure by solve/base_measure/base_measure.h: method certified, and all methods for
 * users. */
#include "tool/base_measure/job.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "tool/shared/progress.h"

#include <math.h>
#include <string.h>

#define ROUNDS_DEFAULT 1000

dpot_status base_measure_job_place_weights(struct base_measure_job *job)
{
    if (job->fit.n > 0 || !job->weights.values) {
        return DPOT_OK;
    }
    const struct base_measure_users_config config = {.n_rows = job->cost.n_rows,
                                                     .n_cols = job->cost.n_cols,
                                                     .cost = job->cost.values,
                                                     .epsilon = job->epsilon,
                                                     .weights = job->weights.values};
    return base_measure_users_init_points(&job->fit, &config, &job->run->error);
}

static void fill_problem(const struct base_measure_job *job, struct base_measure_problem *problem)
{
    const bool is_mirror = strcmp(job->method, "mirror") == 0;
    const bool has_users = job->fit.n > 0;
    *problem = (struct base_measure_problem){
        .n_rows = job->cost.n_rows,
        .n_cols = job->cost.n_cols,
        .cost = job->cost.values,
        .epsilon = job->epsilon,
        .users = has_users ? &job->fit : NULL,
        .worst_share = !has_users            ? 1
                       : job->is_mix_uniform ? 0
                                             : job->mix,
        .uniform_share = job->is_mix_uniform ? job->mix : 0,
        .has_planes = strcmp(job->method, "certified") == 0,
        .gap = job->gap,
        .max_rounds = job->has_max_iterations ? (size_t)job->max_iterations : ROUNDS_DEFAULT,
        .n_steps = strcmp(job->method, "uniform") == 0    ? 0
                   : is_mirror && job->has_max_iterations ? (size_t)job->max_iterations
                                                          : SIZE_MAX,
        .n_reported = job->held.n,
        .seed = job->run->has_seed ? job->run->seed : 1,
        .team = job->team,
        .linalg = dpot_linalg_openblas()};
}

static void take_answer(struct base_measure_job *job)
{
    struct run *run = job->run;
    const struct base_measure_answer *answer = &job->answer;
    memcpy(job->base_measure.values, answer->base_measure,
           job->cost.n_cols * sizeof *answer->base_measure);
    job->has_answer = true;
    job->objective = answer->objective;
    job->lower_bound = answer->lower_bound;
    job->worst_case = answer->worst_case;
    job->iterations = strcmp(job->method, "certified") == 0 ? answer->rounds : answer->n_steps;
    run_put_text(run, "outcome", solve_outcome_name(answer->outcome));
    if (answer->n_steps > 0) {
        run_put_integer(run, "descent_steps", answer->n_steps);
    }
    if (strcmp(job->method, "certified") == 0) {
        run_put_integer(run, "cuts", answer->n_cuts);
        run_put_integer(run, "row_orbits", answer->n_row_orbits);
        run_put_integer(run, "column_orbits", answer->n_col_orbits);
        run_put_number(run, "symmetry_deviation", answer->deviation);
    }
    if (answer->is_descent_only) {
        run_warn(run,
                 "%zu output points that no symmetry ties are too many for the cutting planes: "
                 "this is mirror descent, and relative_gap is what it reached",
                 answer->n_cols);
    }
}

void base_measure_job_limit(const struct base_measure_job *job, struct solve_control *control)
{
    if (job->max_seconds > 0) {
        const double elapsed = progress_seconds() - job->started;
        control->clock = dpot_clock_system();
        control->deadline_ms = control->clock->now(control->clock->ctx) +
                               (int64_t)(1000 * (job->max_seconds - elapsed));
    }
}

dpot_status base_measure_job_find(struct base_measure_job *job)
{
    struct progress progress;
    struct base_measure_problem problem;
    struct solve_control control = progress_control(&progress);
    dpot_status status = base_measure_job_place_weights(job);
    if (status != DPOT_OK) {
        return status;
    }
    base_measure_job_limit(job, &control);
    fill_problem(job, &problem);
    progress_init(&progress, job->run, "base measure", 0);
    status = base_measure_find(&problem, &control, &job->answer, &job->run->error);
    progress_end(&progress);
    if (status == DPOT_OK) {
        take_answer(job);
    }
    return status;
}
