/* dpot central barycenter: the barycenter of measures, and its costs. */
#include "base/alloc.h"
#include "tool/central/barycenter.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"

static struct barycenter_problem problem_of(const struct central_barycenter *job)
{
    return (struct barycenter_problem){
        .n_groups = job->n_measures,
        .groups = job->sets,
        .dim = job->region.dim,
        .group_weights = job->weights.values,
    };
}

dpot_status central_solve(struct central_barycenter *job)
{
    struct run *run = job->run;
    const struct barycenter_problem problem = problem_of(job);
    const struct barycenter_options options = {
        .support_size = (size_t)job->support_size,
        .inner = option_is_given(run, "lambda") ? BARYCENTER_SINKHORN : BARYCENTER_EXACT,
        .tol = job->tol,
        .max_iterations = (size_t)job->outer,
        .lambda = job->lambda,
        .inner_iterations = (size_t)job->inner,
        .inner_tol = 1e-9,
        .n_starts = (size_t)job->n_starts,
        .seed = run->seed,
        .team = job->team,
    };
    struct progress progress;
    const struct solve_control control = progress_control(&progress);
    struct barycenter_projected projected;
    dpot_status status;
    progress_init(&progress, run, "barycenter", (size_t)job->outer * (size_t)job->n_starts);
    if (job->project > 0) {
        status = barycenter_solve_projected(&problem, (size_t)job->project, &options, &control,
                                            &job->result, &projected, &run->error);
    } else {
        status = barycenter_solve(&problem, &options, &control, &job->result, &run->error);
    }
    progress_end(&progress);
    if (status == DPOT_OK) {
        run->is_stopped = job->result.outcome != SOLVE_CONVERGED;
        status = barycenter_cost(&problem, job->result.support, job->result.weights,
                                 job->result.support_size, job->team, &job->cost, &run->error);
    }
    return status;
}

/* The sum of w |x|^2. */
static double second_moment(const double *points, const double *weights, size_t n, size_t dim)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t a = 0; a < dim; a++) {
            sum += weights[i] * points[i * dim + a] * points[i * dim + a];
        }
    }
    return sum;
}

static double moment_of_records(const struct records *records, const struct records_group *group)
{
    double sum = 0;
    for (size_t i = group->begin; i < group->end; i++) {
        const double weight = (records->counts ? (double)records->counts[i] : 1) / (double)group->n;
        sum += second_moment(records->points + i * records->dim, &weight, 1, records->dim);
    }
    return sum;
}

/* A plan that moves the records of a cell together costs as much as their mean, plus their
 * variance: the moments of the records minus those of the means. */
dpot_status central_data_cost(struct central_barycenter *job, double *cost)
{
    const struct records *records = &job->records;
    const size_t k = records->n_groups;
    struct group_measure *measures = dpot_alloc_array(NULL, k, sizeof *measures);
    struct point_set *sets = dpot_alloc_array(NULL, k, sizeof *sets);
    dpot_status status = measures && sets ? DPOT_OK : DPOT_ERR_MEMORY;
    double within = 0;
    for (size_t g = 0; status == DPOT_OK && g < k; g++) {
        struct group_measure *m = &measures[g];
        const double weight = job->weights.values ? job->weights.values[g] : 1 / (double)k;
        status = central_measure_of_records(job, &records->groups[g], m);
        if (status == DPOT_OK) {
            sets[g] = (struct point_set){m->n, m->points, m->weights};
            within += weight * (moment_of_records(records, &records->groups[g]) -
                                second_moment(m->points, m->weights, m->n, records->dim));
        }
    }
    if (status == DPOT_OK) {
        const struct barycenter_problem problem = {k, records->dim, sets, job->weights.values};
        status = barycenter_cost(&problem, job->result.support, job->result.weights,
                                 job->result.support_size, job->team, cost, &job->run->error);
        *cost += within;
    }
    central_measures_free(measures, k, records->dim);
    dpot_free_array(NULL, sets, k, sizeof *sets);
    return status;
}
