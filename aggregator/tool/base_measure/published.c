/* dpot base-measure by the published methods: the best uniform measure, and mirror descent. */
#include "solve/base_measure/best_uniform.h"
#include "solve/base_measure/mirror_descent.h"
#include "tool/base_measure/job.h"
#include "tool/shared/progress.h"

#include <math.h>
#include <string.h>

static dpot_status find_best_uniform(struct base_measure_job *job)
{
    struct best_uniform_result result;
    struct solve_control control = {.cancel = NULL};
    base_measure_job_limit(job, &control);
    const dpot_status status = best_uniform(&job->phi, &control, job->base_measure.values, &result);
    if (status == DPOT_OK) {
        job->objective = job->uniform_objective = result.objective;
        job->lower_bound = result.lower_bound;
        job->iterations = result.iterations;
        run_put_text(job->run, "outcome", solve_outcome_name(result.outcome));
    }
    return status;
}

static dpot_status write_trajectory(struct base_measure_job *job,
                                    const struct mirror_descent_result *result)
{
    struct array course = {0};
    if (!job->trajectory_path) {
        return DPOT_OK;
    }
    dpot_status status = array_init(&course, result->trajectory_len, 5, false);
    for (size_t i = 0; status == DPOT_OK && i < result->trajectory_len; i++) {
        const struct mirror_descent_point *point = &result->trajectory[i];
        const double row[5] = {(double)point->iteration, point->iterate_objective,
                               point->best_objective, point->average_objective, point->lower_bound};
        memcpy(course.values + 5 * i, row, sizeof row);
    }
    if (status == DPOT_OK) {
        status = array_write_named(job->trajectory_path, &course,
                                   "iteration,iterate_objective,best_objective,"
                                   "average_objective,lower_bound",
                                   &job->run->error);
    }
    array_release(&course);
    return status;
}

static void take_result(struct base_measure_job *job, const struct mirror_descent_result *result)
{
    struct run *run = job->run;
    memcpy(job->base_measure.values, result->base_measure, job->cost.n_cols * sizeof(double));
    job->objective = result->objective;
    job->lower_bound = result->lower_bound;
    job->iterations = result->iterations;
    run_put_text(run, "outcome", solve_outcome_name(result->outcome));
    run_put_number(run, "best_objective", result->best_objective);
    run_put_number(run, "average_objective", result->average_objective);
}

/* From the best uniform measure. */
static dpot_status descend(struct base_measure_job *job)
{
    struct progress progress;
    struct mirror_descent *solver = NULL;
    struct mirror_descent_result result;
    const struct mirror_descent_config config = {.phi = &job->phi,
                                                 .max_iterations = (size_t)job->max_iterations,
                                                 .gap = job->gap,
                                                 .start = job->base_measure.values,
                                                 .lower_bound = job->lower_bound};
    struct solve_control control = progress_control(&progress);
    base_measure_job_limit(job, &control);
    dpot_status status = mirror_descent_new(&config, &solver, &job->run->error);
    if (status == DPOT_OK) {
        progress_init(&progress, job->run, "mirror descent", config.max_iterations);
        mirror_descent_run(solver, &control, &result);
        progress_end(&progress);
        take_result(job, &result);
        status = write_trajectory(job, &result);
    }
    mirror_descent_free(solver);
    return status;
}

dpot_status base_measure_job_publish(struct base_measure_job *job)
{
    const struct phi_config config = {
        .n_rows = job->cost.n_rows,
        .n_cols = job->cost.n_cols,
        .cost = job->cost.values,
        .epsilon = job->epsilon,
        .weights = job->weights.values,
        .linalg = dpot_linalg_openblas(),
    };
    struct progress progress; /* the number of evaluations is unknown */
    progress_init(&progress, job->run, "best uniform measure", 0);
    dpot_status status = phi_init(&job->phi, &config, &job->run->error);
    if (status == DPOT_OK) {
        status = find_best_uniform(job);
    }
    progress_end(&progress);
    if (status == DPOT_OK && strcmp(job->method, "mirror") == 0) {
        status = descend(job);
    }
    if (status == DPOT_OK) {
        (void)phi_evaluate(&job->phi, job->base_measure.values);
        job->worst_case = job->phi.values[job->phi.worst];
        run_put_number(job->run, "uniform_objective", job->uniform_objective);
    }
    return status;
}
