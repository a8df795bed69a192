/* dpot project --lambda: many users at once. */
#include "tool/transport/project.h"

#include "base/alloc.h"
#include "solve/projection/batch.h"

/* A sweep for one user costs time only for points with mass; a matrix product is about this many
 * times faster per entry. */
#define SPARSITY_GAIN 6

#define USERS_LEAST 8
#define KERNEL_ENTRIES_MAX ((size_t)1 << 27) /* 1 GiB each: kernel, costs, and their product */

/* Users per call, between reports of progress. */
#define CHUNK 1024

/* The number of points with mass, over all users. */
static size_t support_of_all(const struct projection_job *job)
{
    size_t n = 0;
    for (size_t k = 0; k < job->n_users * job->cost.n_rows; k++) {
        n += job->mu.values[k] > 0;
    }
    return n;
}

/* Always for separable costs. */
static bool is_worth_it(const struct projection_job *job, size_t n_axes)
{
    const size_t k = job->cost.n_rows, kv = job->cost.n_cols;
    return n_axes > 1 || (k <= KERNEL_ENTRIES_MAX / kv &&
                          support_of_all(job) * SPARSITY_GAIN >= job->n_users * k);
}

static void take_results(struct projection_job *job, size_t first, size_t n,
                         const struct projection_batch_result *results)
{
    for (size_t i = 0; i < n; i++) {
        if (!results[i].is_lost) {
            job->users[first + i] = (struct user_result){
                .transport_cost = results[i].transport_cost,
                .residual = results[i].residual,
                .iterations = results[i].iterations,
                .is_stopped = job->tol > 0 && !results[i].is_converged,
                .is_done = true,
            };
        }
    }
}

static dpot_status run_chunks(struct projection_job *job, struct projection_batch *batch,
                              struct progress *progress)
{
    struct projection_batch_result *results = dpot_alloc_array(NULL, CHUNK, sizeof *results);
    if (!results) {
        return dpot_error_set(&job->run->error, DPOT_ERR_MEMORY, "out of memory for %d results",
                              CHUNK);
    }
    for (size_t first = 0; first < job->n_users; first += CHUNK) {
        const size_t n = job->n_users - first < CHUNK ? job->n_users - first : CHUNK;
        projection_batch_run(batch, job->mu.values + first * job->cost.n_rows, n, true,
                             job->q.values + first * job->cost.n_cols, results);
        take_results(job, first, n, results);
        progress_step(progress, first + n);
    }
    dpot_free_array(NULL, results, CHUNK, sizeof *results);
    return DPOT_OK;
}

static dpot_status run_batch(struct projection_job *job, const struct projection_batch_split *split,
                             struct progress *progress)
{
    struct projection_batch_config config = {.n_axes = split->n_axes,
                                             .lambda = job->lambda,
                                             .iterations = (size_t)job->iterations,
                                             .tol = job->tol,
                                             .is_float32 = job->is_float32,
                                             .polytope = &job->polytope};
    struct projection_batch *batch = NULL;
    dpot_status status = team_new(job->run->n_threads, &config.team);
    for (size_t d = 0; d < split->n_axes; d++) {
        config.axes[d] = split->axes[d];
    }
    if (status == DPOT_OK) {
        status = projection_batch_new(&config, &batch, &job->run->error);
    }
    if (status == DPOT_OK) {
        status = run_chunks(job, batch, progress);
    }
    projection_batch_free(batch);
    team_free(config.team);
    return status;
}

dpot_status project_batch(struct projection_job *job, struct progress *progress)
{
    struct projection_batch_split split;
    if (job->is_exact || job->method != DPOT_MECHANISM_WPM || job->n_users < USERS_LEAST ||
        !(job->cost.range / job->lambda <= PROJECTION_BATCH_RATIO)) {
        return DPOT_OK;
    }
    dpot_status status =
        projection_batch_split(job->cost.values, job->cost.n_rows, job->cost.n_cols, &split);
    if (status != DPOT_OK) {
        return dpot_error_set(&job->run->error, status, "out of memory for the axes of the cost");
    }
    if (is_worth_it(job, split.n_axes)) {
        status = run_batch(job, &split, progress);
    }
    projection_batch_split_release(&split);
    return status;
}
