#include "mechanism/baselines.h"
#include "ot/network_simplex.h"
#include "ot/sinkhorn.h"
#include "tool/shared/options.h"
#include "tool/transport/project.h"

#include <string.h>

static void cost_row(void *ctx, size_t i, double *row)
{
    const struct cost *cost = ctx;
    memcpy(row, cost->values + i * cost->n_cols, cost->n_cols * sizeof *row);
}

static dpot_status prepare_kpm(struct projection_job *job)
{
    const size_t k = job->cost.n_rows;
    if (job->cost.n_cols != k) {
        return dpot_error_set(
            &job->run->error, DPOT_ERR_SHAPE,
            "--method kpm reports points of the domain: there are %zu input%s and "
            "%zu output%s",
            k, DPOT_S(k), job->cost.n_cols, DPOT_S(job->cost.n_cols));
    }
    for (size_t j = 0; j < k; j++) {
        job->base_measure[j] = dpot_kpm_mass(job->epsilon, k);
    }
    return DPOT_OK;
}

static dpot_status prepare_exponential(struct projection_job *job)
{
    const struct dpot_cost_rows cost = {job->cost.n_rows, job->cost.n_cols, cost_row, &job->cost};
    double sensitivity = 0;
    const dpot_status status =
        dpot_exponential_sensitivity(&cost, NULL, &sensitivity, &job->run->error);
    if (status != DPOT_OK) {
        return status;
    }
    job->rate = job->epsilon / (2 * sensitivity);
    return option_is_given(job->run, "base-measure")
               ? DPOT_OK
               : dpot_exponential_base_measure(&cost, job->rate, NULL, job->base_measure,
                                               &job->run->error);
}

dpot_status baseline_prepare(struct projection_job *job)
{
    return job->method == DPOT_MECHANISM_KPM ? prepare_kpm(job) : prepare_exponential(job);
}

/* Sets q_j = sum_i mu_i C_ij, then the law. */
static void exponential_law(const struct projection_job *job, const double *mu, double *q)
{
    const size_t k = job->cost.n_rows, kv = job->cost.n_cols;
    memset(q, 0, kv * sizeof *q);
    for (size_t i = 0; i < k; i++) {
        const double *row = job->cost.values + i * kv;
        for (size_t j = 0; mu[i] > 0 && j < kv; j++) {
            q[j] += mu[i] * row[j];
        }
    }
    dpot_exponential_law(job->rate, q, kv);
}

static dpot_status exact_cost(const struct workspace *ws, size_t n_rows, size_t kv, const double *q,
                              struct user_result *result, struct dpot_error *error)
{
    struct dpot_exact_result exact;
    const dpot_status status = dpot_exact_ot(ws->cost, ws->mu, q, n_rows, kv, NULL, &exact, error);
    if (status == DPOT_OK) {
        result->transport_cost = exact.transport_cost;
        dpot_exact_result_release(&exact);
    }
    return status;
}

static dpot_status entropic_cost(const struct projection_job *job, const struct workspace *ws,
                                 size_t n_rows, const double *q, struct user_result *result,
                                 struct dpot_error *error)
{
    struct dpot_sinkhorn_result sinkhorn = {0};
    const dpot_status status =
        dpot_sinkhorn(ws->cost, ws->mu, q, n_rows, job->cost.n_cols, job->lambda, job->tol,
                      (size_t)job->iterations, NULL, NULL, NULL, NULL, &sinkhorn, error);
    result->transport_cost = sinkhorn.transport_cost;
    result->iterations = sinkhorn.iterations;
    result->is_stopped = job->tol > 0 && !sinkhorn.converged;
    return status;
}

dpot_status baseline_project(const struct projection_job *job, struct workspace *ws, size_t user,
                             double *q, struct user_result *result, struct dpot_error *error)
{
    const size_t kv = job->cost.n_cols;
    const double *mu = job->mu.values + user * job->cost.n_rows;
    if (job->method == DPOT_MECHANISM_KPM) {
        memcpy(q, mu, kv * sizeof *q);
    } else {
        exponential_law(job, mu, q);
    }
    (void)dpot_polytope_project_kl_linear(&job->polytope, q, 1, DPOT_STEPS_NEEDED, q);
    if (!ws->cost) {
        return DPOT_OK; /* no transport cost asked for */
    }
    const size_t n_rows = project_find_support(job, user, ws);
    project_copy_cost(job, ws, n_rows, ws->cost);
    return job->is_exact ? exact_cost(ws, n_rows, kv, q, result, error)
                         : entropic_cost(job, ws, n_rows, q, result, error);
}
