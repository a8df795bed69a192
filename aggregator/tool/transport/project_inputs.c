/* dpot project: loads and validates measures, costs, the base measure and its bounds. */
#include "tool/transport/project.h"

#include "base/alloc.h"
#include "files/number.h"
#include "tool/shared/options.h"

#include <math.h>
#include <string.h>

#define FEASIBILITY_TOL 1e-9 /* relative, on the total mass */

bool project_is_baseline(const struct projection_job *job)
{
    return job->method != DPOT_MECHANISM_WPM;
}

dpot_status project_check_base_measure(const struct projection_job *job, double *uniform_mass)
{
    struct run *run = job->run;
    const char *text = NULL;
    *uniform_mass = 0;
    if (project_is_baseline(job) && !option_is_given(run, "base-measure")) {
        return DPOT_OK;
    }
    const dpot_status status =
        option_require(run, "base-measure", "a file, uniform or uniform:<total mass>", &text);
    if (status != DPOT_OK || strncmp(text, "uniform", 7) != 0 || (text[7] && text[7] != ':')) {
        return status;
    }
    *uniform_mass = 1;
    if (text[7] && !(number_parse_finite(text + 8, uniform_mass) && *uniform_mass > 0)) {
        return RUN_USAGE(run, "--base-measure is %.60s: give uniform:<total mass above 0>", text);
    }
    return DPOT_OK;
}

/* ---- inputs ---- */

static dpot_status load_base_measure(struct projection_job *job)
{
    struct run *run = job->run;
    struct array array = {0};
    double uniform_mass = 0;
    const size_t kv = job->cost.n_cols;
    if (!option_is_given(run, "base-measure")) {
        return DPOT_OK; /* a baseline with its default measure */
    }
    dpot_status status = project_check_base_measure(job, &uniform_mass);
    if (status == DPOT_OK && uniform_mass > 0) {
        for (size_t j = 0; j < kv; j++) {
            job->base_measure[j] = uniform_mass / (double)kv;
        }
        return DPOT_OK;
    }
    if (status == DPOT_OK) {
        status = load_finite(run, "base-measure", &array);
    }
    if (status == DPOT_OK && (array.n_cols != 1 || array.n_rows != kv)) {
        status = dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                                "--base-measure has shape (%zu, %zu) for %zu output points: give "
                                "(%zu,)",
                                array.n_rows, array.n_cols, kv, kv);
    }
    for (size_t j = 0; status == DPOT_OK && j < kv; j++) {
        job->base_measure[j] = array.values[j];
        if (!(array.values[j] >= 0)) {
            status = dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                    "--base-measure: mass %zu is %g: masses are not negative",
                                    j + 1, array.values[j]);
        }
    }
    array_release(&array);
    return status;
}

/* Bounds of 002 with alpha = exp(-epsilon/2), beta = exp(epsilon/2): alpha m <= q <= beta m. */
static dpot_status set_bounds(struct projection_job *job)
{
    const size_t kv = job->cost.n_cols;
    const double beta = exp(job->epsilon / 2), alpha = 1 / beta;
    double total = 0;
    for (size_t j = 0; j < kv; j++) {
        total += job->base_measure[j];
        job->lower[j] = alpha * job->base_measure[j];
        job->upper[j] = beta * job->base_measure[j];
    }
    if (!(total * alpha <= 1 + FEASIBILITY_TOL && total * beta >= 1 - FEASIBILITY_TOL)) {
        return dpot_error_set(
            &job->run->error, DPOT_ERR_INFEASIBLE,
            "the total mass of --base-measure is %.9g: for epsilon %g it must lie "
            "in [%.9g, %.9g]",
            total, job->epsilon, alpha, beta);
    }
    job->polytope = (struct dpot_polytope){kv, job->lower, job->upper};
    return DPOT_OK;
}

static dpot_status allocate(struct projection_job *job)
{
    const size_t k = job->cost.n_rows, kv = job->cost.n_cols;
    const bool needs_rows = job->is_exact || (project_is_baseline(job) && job->lambda > 0);
    bool is_complete = true;
    job->n_users = job->mu.is_vector ? 1 : job->mu.n_rows;
    job->n_workers = job->n_users < job->run->n_threads ? job->n_users : job->run->n_threads;
    job->users = dpot_alloc_array(NULL, job->n_users, sizeof *job->users);
    job->workspaces = dpot_alloc_array(NULL, job->n_workers, sizeof *job->workspaces);
    const dpot_status status = job->mu.is_vector ? array_init(&job->q, kv, 1, true)
                                                 : array_init(&job->q, job->n_users, kv, false);
    for (size_t w = 0; job->workspaces && w < job->n_workers; w++) {
        struct workspace *ws = &job->workspaces[w];
        ws->support = dpot_alloc_array(NULL, k, sizeof *ws->support);
        ws->mu = dpot_alloc_array(NULL, k, sizeof *ws->mu);
        ws->cost = needs_rows ? dpot_alloc_array(NULL, k * kv, sizeof *ws->cost) : NULL;
        is_complete = is_complete && ws->support && ws->mu && (ws->cost || !needs_rows);
    }
    if (!job->users || !job->workspaces || !is_complete || status != DPOT_OK) {
        return dpot_error_set(&job->run->error, status == DPOT_OK ? DPOT_ERR_MEMORY : status,
                              "no room for %zu x %zu results: split the users", job->n_users, kv);
    }
    return DPOT_OK;
}

dpot_status project_load_inputs(struct projection_job *job)
{
    dpot_status status = job->has_cost
                             ? cost_load(job->run, "x", cost_output_option(job->run), &job->cost)
                             : DPOT_OK;
    if (status == DPOT_OK && job->has_cost) {
        status = cost_check_lambda(job->run, &job->cost, job->lambda);
    }
    if (status == DPOT_OK) {
        status = load_weights(job->run, "mu", job->cost.n_rows, &job->mu);
    }
    if (status == DPOT_OK && !job->has_cost) {
        const size_t k = job->mu.is_vector ? job->mu.n_rows : job->mu.n_cols;
        job->cost = (struct cost){.n_rows = k, .n_cols = k};
    }
    if (status == DPOT_OK) {
        job->base_measure = dpot_alloc_array(NULL, job->cost.n_cols, sizeof(double));
        job->lower = dpot_alloc_array(NULL, job->cost.n_cols, sizeof(double));
        job->upper = dpot_alloc_array(NULL, job->cost.n_cols, sizeof(double));
        status = job->base_measure && job->lower && job->upper ? DPOT_OK : DPOT_ERR_MEMORY;
    }
    if (status == DPOT_OK && project_is_baseline(job)) {
        status = baseline_prepare(job);
    }
    if (status == DPOT_OK) {
        status = load_base_measure(job);
    }
    if (status == DPOT_OK) {
        status = set_bounds(job);
    }
    return status == DPOT_OK ? allocate(job) : status;
}

void project_release(struct projection_job *job)
{
    const size_t k = job->cost.n_rows, kv = job->cost.n_cols;
    for (size_t w = 0; job->workspaces && w < job->n_workers; w++) {
        struct workspace *ws = &job->workspaces[w];
        dpot_free_array(NULL, ws->support, k, sizeof *ws->support);
        dpot_free_array(NULL, ws->mu, k, sizeof *ws->mu);
        dpot_free_array(NULL, ws->cost, k * kv, sizeof *ws->cost);
        dpot_projection_free(ws->projection);
    }
    dpot_free_array(NULL, job->workspaces, job->n_workers, sizeof *job->workspaces);
    dpot_free_array(NULL, job->users, job->n_users, sizeof *job->users);
    dpot_free_array(NULL, job->base_measure, kv, sizeof(double));
    dpot_free_array(NULL, job->lower, kv, sizeof(double));
    dpot_free_array(NULL, job->upper, kv, sizeof(double));
    array_release(&job->mu);
    array_release(&job->q);
    cost_release(&job->cost);
}
