/* dpot barycenter --grid, --cost, --fixed: weights on fixed points. */
#include "tool/barycenter/barycenter.h"

#include "base/alloc.h"
#include "model/metric.h"
#include "ot/cost.h"
#include "ot/network_simplex.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"
#include "tool/shared/save.h"

#include <math.h>
#include <string.h>

#define EXACT_MAX ((size_t)1 << 21) /* entries of a cost up to which the exact cost is computed */

/* Group i has n_in[i] points or cells, its masses and a cost matrix, which groups may share. */
struct fixed {
    struct barycenter_job *job;
    size_t n_out;
    double *masses; /* (n_groups, n) of histograms, owned */
    size_t n_masses;
    double **costs;                      /* (n_groups) (n_in, n_out); NULL for a large grid */
    size_t *n_in;                        /* (n_groups) */
    bool is_shared;                      /* all groups use costs[0] */
    struct array matrix;                 /* of --cost or --fixed */
    struct barycenter_kernel **kernels;  /* (n_groups), one with is_shared */
    struct barycenter_histogram *groups; /* (n_groups) */
    const double *weights;
    struct barycenter_fixed_result result;
};

static void fixed_release(struct fixed *f)
{
    const size_t k = f->job->n_groups, n_owned = f->is_shared ? 1 : k;
    for (size_t i = 0; f->kernels && i < n_owned; i++) {
        barycenter_kernel_free(f->kernels[i]);
    }
    for (size_t i = 0; f->costs && i < n_owned; i++) {
        if (f->costs[i] != f->matrix.values) {
            dpot_free_array(NULL, f->costs[i], f->n_in[i] * f->n_out, sizeof(double));
        }
    }
    dpot_free_array(NULL, f->kernels, k, sizeof *f->kernels);
    dpot_free_array(NULL, f->groups, k, sizeof *f->groups);
    dpot_free_array(NULL, f->costs, k, sizeof *f->costs);
    dpot_free_array(NULL, f->n_in, k, sizeof *f->n_in);
    dpot_free_array(NULL, f->masses, f->n_masses, sizeof *f->masses);
    array_release(&f->matrix);
    barycenter_fixed_release(&f->result);
}

static dpot_status alloc_groups(struct fixed *f)
{
    const size_t k = f->job->n_groups;
    f->kernels = dpot_alloc_array(NULL, k, sizeof *f->kernels);
    f->groups = dpot_alloc_array(NULL, k, sizeof *f->groups);
    f->costs = dpot_alloc_array(NULL, k, sizeof *f->costs);
    f->n_in = dpot_alloc_array(NULL, k, sizeof *f->n_in);
    return f->kernels && f->groups && f->costs && f->n_in ? DPOT_OK : DPOT_ERR_MEMORY;
}

/* ---- costs ---- */

/* Squared distances between the cells of a grid, row-major. */
static void fill_grid(const struct barycenter_job *job, size_t n, double *cost)
{
    for (size_t k = 0; k < n * n; k++) {
        size_t a = k / n, b = k % n;
        cost[k] = 0.0;
        for (size_t d = job->n_dims; d-- > 0;) {
            const double steps = (double)(a % job->shape[d]) - (double)(b % job->shape[d]);
            cost[k] += pow(job->spacing[d] * steps, 2.0);
            a /= job->shape[d];
            b /= job->shape[d];
        }
    }
}

static dpot_status share_masses(struct fixed *f, size_t n_in)
{
    struct barycenter_job *job = f->job;
    dpot_status status = barycenter_load_histograms(job, n_in, &f->masses);
    f->n_masses = job->n_groups * n_in;
    f->is_shared = true;
    if (status == DPOT_OK) {
        status = alloc_groups(f);
    }
    for (size_t i = 0; status == DPOT_OK && i < job->n_groups; i++) {
        f->n_in[i] = n_in;
        f->groups[i].mass = f->masses + i * n_in;
    }
    return status;
}

static dpot_status load_grid(struct fixed *f)
{
    struct barycenter_job *job = f->job;
    size_t n = 1;
    for (size_t d = 0; d < job->n_dims; d++) {
        n *= job->shape[d];
    }
    f->n_out = n;
    dpot_status status = share_masses(f, n);
    if (status == DPOT_OK && n <= EXACT_MAX / n) {
        f->costs[0] = dpot_alloc_array(NULL, n * n, sizeof(double));
        status = f->costs[0] ? DPOT_OK : DPOT_ERR_MEMORY;
        if (status == DPOT_OK) {
            fill_grid(job, n, f->costs[0]);
        }
    }
    if (status == DPOT_OK) {
        status = barycenter_kernel_grid(job->n_dims, job->shape, job->spacing, job->lambda,
                                        job->n_groups, option_is_given(job->run, "log-domain"),
                                        &f->kernels[0], &job->run->error);
    }
    return status;
}

static dpot_status make_kernel(struct fixed *f, size_t i, size_t n_batch)
{
    struct barycenter_job *job = f->job;
    return barycenter_kernel_matrix(f->costs[i], f->n_in[i], f->n_out, job->lambda, n_batch,
                                    option_is_given(job->run, "log-domain"), &f->kernels[i],
                                    &job->run->error);
}

static dpot_status load_matrix(struct fixed *f)
{
    dpot_status status = load_finite(f->job->run, "cost", &f->matrix);
    f->n_out = f->matrix.n_cols;
    if (status == DPOT_OK) {
        status = share_masses(f, f->matrix.n_rows);
    }
    if (status == DPOT_OK) {
        f->costs[0] = f->matrix.values;
        status = make_kernel(f, 0, f->job->n_groups);
    }
    return status;
}

static dpot_status check_places(struct fixed *f, const struct dpot_metric *metric, size_t dim)
{
    struct barycenter_job *job = f->job;
    dpot_status status = metric_check_points(
        job->run, metric,
        &(struct named_points){"fixed", option_text(job->run, "fixed"), f->matrix.values,
                               f->matrix.n_rows, f->matrix.n_cols});
    for (size_t i = 0; status == DPOT_OK && i < job->n_groups; i++) {
        status =
            metric_check_points(job->run, metric,
                                &(struct named_points){"group-files", barycenter_group_path(job, i),
                                                       job->sets[i].points, job->sets[i].n, dim});
    }
    return status;
}

static dpot_status check_costs(struct fixed *f, const struct dpot_metric *metric, double power,
                               size_t dim, size_t i)
{
    const struct point_set *set = &f->job->sets[i];
    size_t k = 0;
    if (!dpot_cost_find_vanished(metric, (uint32_t)dim, set->points, set->n, f->matrix.values,
                                 f->n_out, f->costs[i], &k)) {
        return DPOT_OK;
    }
    return dpot_error_set(&f->job->run->error, DPOT_ERR_RANGE,
                          "row %zu and row %zu of --fixed differ, and their distance to the power "
                          "%g is below 2^-1000: scale the points or lower --power",
                          k / f->n_out + 1, k % f->n_out + 1, power);
}

static dpot_status make_costs(struct fixed *f, const struct dpot_metric *metric, double power,
                              size_t dim)
{
    struct barycenter_job *job = f->job;
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < job->n_groups; i++) {
        const struct point_set *set = &job->sets[i];
        f->n_in[i] = set->n;
        f->costs[i] = dpot_alloc_array(NULL, set->n * f->n_out, sizeof(double));
        if (!f->costs[i]) {
            return dpot_error_set(&job->run->error, DPOT_ERR_MEMORY,
                                  "no memory for the costs of group %zu, %zu x %zu", i + 1, set->n,
                                  f->n_out);
        }
        dpot_cost_matrix(metric, power, (uint32_t)dim, set->points, set->n, f->matrix.values,
                         f->n_out, f->costs[i]);
        status = check_costs(f, metric, power, dim, i);
        status = status == DPOT_OK ? make_kernel(f, i, 1) : status;
        if (status != DPOT_OK) {
            status = dpot_error_prefix(&job->run->error, status, "--group-files %s",
                                       barycenter_group_path(job, i));
        }
    }
    return status;
}

/* Masses of the groups: their weights, or equal ones. */
static dpot_status take_set_masses(struct fixed *f)
{
    struct barycenter_job *job = f->job;
    f->n_masses = job->n_points;
    f->masses = dpot_alloc_array(NULL, f->n_masses, sizeof *f->masses);
    double *at = f->masses;
    if (!at) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; i < job->n_groups; i++) {
        const struct point_set *set = &job->sets[i];
        for (size_t l = 0; l < set->n; l++) {
            at[l] = set->weights ? set->weights[l] : 1.0 / (double)set->n;
        }
        f->groups[i].mass = at;
        at += set->n;
    }
    return DPOT_OK;
}

static dpot_status load_points(struct fixed *f)
{
    struct barycenter_job *job = f->job;
    struct dpot_metric metric = {.id = DPOT_METRIC_EUCLIDEAN};
    double power = 2.0;
    size_t dim = 0;
    dpot_status status = metric_read_options(job->run, &metric, &power);
    if (status == DPOT_OK) {
        status = load_finite(job->run, "fixed", &f->matrix);
    }
    if (status == DPOT_OK) {
        status = barycenter_load_points(job, &dim);
    }
    if (status == DPOT_OK && f->matrix.n_cols != dim) {
        status = dpot_error_set(&job->run->error, DPOT_ERR_SHAPE,
                                "--fixed %s has %zu column%s, the groups %zu coordinate%s: they "
                                "must agree",
                                option_text(job->run, "fixed"), f->matrix.n_cols,
                                DPOT_S(f->matrix.n_cols), dim, DPOT_S(dim));
    }
    if (status == DPOT_OK) {
        status = check_places(f, &metric, dim);
    }
    f->n_out = f->matrix.n_rows;
    if (status == DPOT_OK) {
        status = alloc_groups(f);
    }
    if (status == DPOT_OK) {
        status = take_set_masses(f);
    }
    return status == DPOT_OK ? make_costs(f, &metric, power, dim) : status;
}

static dpot_status load(struct fixed *f)
{
    const enum barycenter_kind kind = f->job->kind;
    dpot_status status = kind == KIND_GRID     ? load_grid(f)
                         : kind == KIND_MATRIX ? load_matrix(f)
                                               : load_points(f);
    for (size_t i = 0; status == DPOT_OK && i < f->job->n_groups; i++) {
        f->groups[i].kernel = f->kernels[f->is_shared ? 0 : i];
    }
    return status == DPOT_OK ? barycenter_load_group_weights(f->job, &f->weights) : status;
}

/* ---- solve and result ---- */

static dpot_status solve(struct fixed *f)
{
    struct barycenter_job *job = f->job;
    struct progress progress;
    const struct solve_control control = progress_control(&progress);
    const struct barycenter_fixed_problem problem = {job->n_groups, f->groups, f->weights};
    const double most = (double)job->outer * (double)job->inner;
    const struct barycenter_fixed_options options = {
        .is_debiased = option_is_given(job->run, "debiased"),
        .tol = job->tol,
        .max_iterations = most < 1e8 ? (size_t)most : (size_t)1e8,
        .team = job->team,
    };
    progress_init(&progress, job->run, "barycenter", options.max_iterations);
    const dpot_status status =
        barycenter_fixed_solve(&problem, &options, &control, &f->result, &job->run->error);
    progress_end(&progress);
    job->run->is_stopped = !job->keeps_going && f->result.outcome != SOLVE_CONVERGED;
    return status;
}

/* sum_i w_i W(a_i, b), exact if every group is small enough. */
static dpot_status put_cost(struct fixed *f)
{
    struct barycenter_job *job = f->job;
    struct run *run = job->run;
    double cost = 0.0;
    bool is_exact = true;
    dpot_status status = DPOT_OK;
    for (size_t i = 0; i < job->n_groups; i++) {
        is_exact = is_exact && f->costs[f->is_shared ? 0 : i] && f->n_in[i] <= EXACT_MAX / f->n_out;
    }
    for (size_t i = 0; is_exact && status == DPOT_OK && i < job->n_groups; i++) {
        struct dpot_exact_result plan;
        const double weight = f->weights ? f->weights[i] : 1.0 / (double)job->n_groups;
        if (weight > 0.0) {
            status =
                dpot_exact_ot(f->costs[f->is_shared ? 0 : i], f->groups[i].mass, f->result.weights,
                              f->n_in[i], f->n_out, NULL, &plan, &run->error);
            cost += status == DPOT_OK ? weight * plan.transport_cost : 0.0;
            if (status == DPOT_OK) {
                dpot_exact_result_release(&plan);
            }
        }
    }
    run_put_number(run, "cost", is_exact ? cost : f->result.cost);
    run_put_text(run, "cost_is", is_exact ? "exact" : "plans");
    return status;
}

static void put_result(struct fixed *f)
{
    struct run *run = f->job->run;
    const struct barycenter_fixed_result *r = &f->result;
    const struct barycenter_kernel *kernel = f->kernels[0];
    double mass = 0.0;
    for (size_t j = 0; j < r->n; j++) {
        mass += r->weights[j];
    }
    run_put_integer(run, "groups", f->job->n_groups);
    run_put_integer(run, "support", r->n);
    run_put_text(run, "method", f->job->kind == KIND_GRID ? "separable" : "matrix");
    run_put(run, "log_domain", json_boolean(kernel->is_log));
    run_put(run, "debiased", json_boolean(option_is_given(run, "debiased")));
    run_put_number(run, "lambda", f->job->lambda);
    run_put_text(run, "outcome", solve_outcome_name(r->outcome));
    run_put_integer(run, "iterations", r->iterations);
    run_put_number(run, "residual", r->residual);
    run_put_number(run, "mass", mass);
    run_put_number(run, "plan_cost", r->cost);
    run_put_number(run, "lower_bound", r->unregularised_lower);
    run_put_number(run, "upper_bound", r->unregularised_upper);
    run_put_number(run, "value", r->value);
    run_put_number(run, "dual", r->dual);
}

static dpot_status write_curve(struct barycenter_job *job, const struct barycenter_fixed_result *r)
{
    struct array array = {0};
    if (!job->curve_path) {
        return DPOT_OK;
    }
    dpot_status status = array_init(&array, r->n_curve, 2, false);
    for (size_t t = 0; status == DPOT_OK && t < r->n_curve; t++) {
        const size_t step = (t + 1) * BARYCENTER_FIXED_EVERY;
        array.values[2 * t] = (double)(step < r->iterations ? step : r->iterations);
        array.values[2 * t + 1] = r->curve[t];
    }
    if (status == DPOT_OK) {
        status = array_write_named(job->curve_path, &array, "iteration,residual", &job->run->error);
    }
    array_release(&array);
    return status;
}

static dpot_status write_outputs(struct fixed *f)
{
    struct barycenter_job *job = f->job;
    const bool is_flat = job->kind != KIND_GRID || job->n_dims != 2;
    const dpot_status status =
        save_values(job->run, job->out_path, f->result.weights, is_flat ? f->n_out : job->shape[0],
                    is_flat ? 1 : job->shape[1], is_flat);
    return status == DPOT_OK ? write_curve(job, &f->result) : status;
}

dpot_status barycenter_run_fixed(struct barycenter_job *job)
{
    struct fixed f = {.job = job};
    dpot_status status = load(&f);
    if (status == DPOT_OK) {
        status = solve(&f);
    }
    if (status == DPOT_OK) {
        status = put_cost(&f);
    }
    if (status == DPOT_OK) {
        put_result(&f);
        status = write_outputs(&f);
    }
    fixed_release(&f);
    return status;
}
