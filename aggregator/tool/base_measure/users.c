/* dpot base-measure: users, their split, and the report on users held out. */
#include "tool/base_measure/job.h"

#include "base/alloc.h"
#include "base/splitmix.h"
#include "solve/base_measure/report.h"
#include "tool/shared/options.h"

#include <stdio.h>
#include <string.h>

#define HELD_OUT_SHARE 4 /* without --held-out, one user in four is held out */

static dpot_status load_distributions(struct base_measure_job *job, const char *name,
                                      struct array *array)
{
    struct run *run = job->run;
    if (!option_is_given(run, name)) {
        return DPOT_OK;
    }
    const dpot_status status = load_weights(run, name, job->cost.n_rows, array);
    if (status == DPOT_OK && array->is_vector) { /* one user */
        array->n_cols = array->n_rows;
        array->n_rows = 1;
        array->is_vector = false;
    }
    return status;
}

/* A seeded random order of the users; the first ones are fitted. */
static dpot_status make_order(struct base_measure_job *job)
{
    const size_t n = job->distributions.n_rows;
    uint64_t state = job->run->has_seed ? job->run->seed : 1;
    job->order = dpot_alloc_array(NULL, n, sizeof *job->order);
    if (!job->order) {
        return dpot_error_set(&job->run->error, DPOT_ERR_MEMORY, "out of memory for %zu users", n);
    }
    for (size_t u = 0; u < n; u++) {
        job->order[u] = u;
    }
    for (size_t u = n; u > 1; u--) {
        const size_t other = splitmix_below(&state, u), held = job->order[u - 1];
        job->order[u - 1] = job->order[other];
        job->order[other] = held;
    }
    return DPOT_OK;
}

static dpot_status take_users(struct base_measure_job *job, const struct array *array,
                              const double *weights, const size_t *chosen, size_t n,
                              struct base_measure_users *users)
{
    const struct base_measure_users_config config = {.n_rows = job->cost.n_rows,
                                                     .n_cols = job->cost.n_cols,
                                                     .cost = job->cost.values,
                                                     .epsilon = job->epsilon,
                                                     .distributions = array->values,
                                                     .weights = weights,
                                                     .chosen = chosen,
                                                     .n_chosen = n};
    return base_measure_users_init(users, &config, &job->run->error);
}

static dpot_status load_user_weights(struct base_measure_job *job)
{
    struct run *run = job->run;
    if (!option_is_given(run, "weights") || !job->distributions.values) {
        return DPOT_OK;
    }
    return load_measure(run, "weights", job->distributions.n_rows, &job->weights);
}

/* Holds out the last quarter of the order, unless there is a file for that. */
static dpot_status split(struct base_measure_job *job)
{
    const size_t n = job->distributions.n_rows;
    const size_t n_held = job->held_out.values ? 0 : n / HELD_OUT_SHARE;
    dpot_status status = make_order(job);
    if (status == DPOT_OK) {
        status = take_users(job, &job->distributions, job->weights.values, job->order, n - n_held,
                            &job->fit);
    }
    if (status == DPOT_OK && n_held > 0) {
        status = take_users(job, &job->distributions, job->weights.values,
                            job->order + (n - n_held), n_held, &job->held);
    }
    return status;
}

dpot_status base_measure_job_load_users(struct base_measure_job *job)
{
    dpot_status status = load_distributions(job, "users", &job->distributions);
    if (status == DPOT_OK) {
        status = load_distributions(job, "held-out", &job->held_out);
    }
    if (status == DPOT_OK) {
        status = load_user_weights(job);
    }
    if (status == DPOT_OK && job->distributions.values) {
        status = split(job);
    }
    if (status == DPOT_OK && job->held_out.values) {
        status = take_users(job, &job->held_out, NULL, NULL, job->held_out.n_rows, &job->held);
    }
    return status;
}

static void put_yardstick(struct run *run, const char *name,
                          const struct base_measure_cost_summary *stick)
{
    char key[64];
    (void)snprintf(key, sizeof key, "%s_cost", name);
    run_put_number(run, key, stick->cost);
    (void)snprintf(key, sizeof key, "%s_cost_error", name);
    run_put_number(run, key, stick->cost_error);
    (void)snprintf(key, sizeof key, "%s_cost_95", name);
    run_put_number(run, key, stick->percentile_95);
}

dpot_status base_measure_job_report(struct base_measure_job *job)
{
    struct base_measure_report report;
    struct run *run = job->run;
    if (job->distributions.values) {
        run_put_integer(run, "users", job->fit.n);
    }
    if (job->held.n == 0) {
        return DPOT_OK;
    }
    const dpot_status status = base_measure_report_make(
        &job->held, job->distributions.values ? &job->fit : NULL, job->base_measure.values,
        job->answer.uniform_mass, job->team, &report);
    if (status != DPOT_OK) {
        return dpot_error_set(&run->error, status, "out of memory for %zu users", job->held.n);
    }
    run_put_integer(run, "held_out_users", report.n);
    put_yardstick(run, "held_out", &report.made);
    put_yardstick(run, "held_out_uniform", &report.uniform);
    put_yardstick(run, "held_out_constant", &report.constant);
    run_put_number(run, "share_worse_than_uniform", report.share_worse);
    run_put_integer(run, "constant_point", report.constant_point);
    run_put_number(run, "uniform_total_mass", report.uniform_mass);
    run_put_number(run, "measure_worst_cost", report.worst_case);
    run_put_number(run, "uniform_worst_cost", report.uniform_worst_case);
    return DPOT_OK;
}
