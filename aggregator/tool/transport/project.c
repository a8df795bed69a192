/* dpot project: the laws of the index mechanisms in floating point: the Wasserstein projection of
 * measures onto the LDP polytope, and the baselines (project_baseline.c).
 *
 * This is the law before the integer draw (mechanism/ has the complete mechanisms). Always
 * exp(-epsilon/2) m <= q <= exp(epsilon/2) m, but floating point is no proof of privacy. */
#include "tool/transport/project.h"

#include "base/alloc.h"
#include "mechanism/baselines.h"
#include "ot/network_simplex.h"
#include "solve/run/workers.h"
#include "tool/shared/commands.h"
#include "tool/shared/options.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPSILON_MAX 100 /* exp(epsilon) is far from overflow */
#define TOL_DEFAULT 1e-9
#define ITERATIONS_DEFAULT 100000
#define ITERATIONS_MAX 1000000000

static const struct option options[] = {
    {"mu", "F", "input measures (k,) or (users, k)"},
    COST_OPTIONS("x", "v", "input points (k, d), instead of --cost",
                 "output points (kv, d) (default: those of --x)"),
    {"base-measure", "F",
     "(kv,), uniform, or uniform:<total mass>; required by wpm; kpm, exponential: own default"},
    {"epsilon", "E (0,100]", "privacy parameter"},
    {"exact", NULL, "exact projection (minimum cost flow); baselines: exact transport cost of q"},
    {"lambda", "L (0,inf)",
     "entropic projection with this regularisation, cost units; baselines: of the plan"},
    {"iterations", "N 1..1000000000", "exactly N sweeps, as a device does (with --lambda)"},
    {"tol", "T (0,1]", "sweep until log v changes by at most T (default 1e-9)"},
    {"max-iterations", "N 1..1000000000", "maximum number of sweeps with --tol (default 100000)"},
    {"float32", NULL,
     "all sweeps but the last in float32 (with --iterations): faster, accurate to about 1e-6"},
    {"method", "wpm|kpm|exponential", "default wpm"},
    {"normalize", NULL, "scale each row of --mu to sum 1"},
    {"out", "F", "write q, (kv,) or (users, kv)"},
    {NULL, NULL, NULL},
};

/* ---- options ---- */

static dpot_status read_method(struct projection_job *job)
{
    const char *method = option_text(job->run, "method");
    job->method = DPOT_MECHANISM_WPM;
    if (!method) {
        return DPOT_OK;
    }
    const dpot_status status = dpot_mechanism_find(method, &job->method);
    if (status != DPOT_OK || job->method > DPOT_MECHANISM_EXPONENTIAL) {
        return RUN_USAGE(job->run, "--method is %.40s: choose wpm, kpm or exponential", method);
    }
    return DPOT_OK;
}

/* KPM needs costs only to report the transport cost. */
static dpot_status check_cost_options(struct projection_job *job)
{
    static const char *const asks_for_cost[] = {"exact", "lambda", "cost", "x", "v", "metric"};
    job->has_cost = job->method != DPOT_MECHANISM_KPM;
    for (size_t i = 0; i < sizeof asks_for_cost / sizeof asks_for_cost[0]; i++) {
        job->has_cost = job->has_cost || option_is_given(job->run, asks_for_cost[i]);
    }
    return job->has_cost ? cost_check_options(job->run, "x", cost_output_option(job->run))
                         : DPOT_OK;
}

/* The projection needs a solver; a baseline only to report its transport cost. */
static dpot_status check_solver(struct projection_job *job)
{
    struct run *run = job->run;
    const char *const entropic_only[] = {"iterations", "tol", "max-iterations", "float32"};
    const bool has_solver = option_is_given(run, "exact") || option_is_given(run, "lambda");
    if (!project_is_baseline(job) || has_solver) {
        return option_either(run, "exact", "lambda");
    }
    for (size_t i = 0; i < 4; i++) {
        if (option_is_given(run, entropic_only[i])) {
            return RUN_USAGE(run, "--%s belongs to --lambda: give that too", entropic_only[i]);
        }
    }
    return DPOT_OK;
}

static dpot_status read_stopping_rule(struct projection_job *job)
{
    struct run *run = job->run;
    const char *const entropic_only[] = {"iterations", "tol", "max-iterations", "float32"};
    dpot_status status = check_solver(job);
    for (size_t i = 0; status == DPOT_OK && i < 4; i++) {
        status = option_excludes(run, "exact", entropic_only[i], "it belongs to --lambda");
    }
    if (status == DPOT_OK) {
        status = option_excludes(run, "iterations", "tol", "give a fixed count or a tolerance");
    }
    if (status == DPOT_OK) {
        status = option_excludes(run, "iterations", "max-iterations", "the count is fixed");
    }
    job->is_float32 = option_is_given(run, "float32");
    if (status == DPOT_OK && job->is_float32 &&
        (project_is_baseline(job) || !option_is_given(run, "iterations"))) {
        status = RUN_USAGE(
            run, "--float32 is for --method wpm with --iterations: a tolerance needs float64");
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "lambda", DBL_MAX, &job->lambda);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "tol", 1, &job->tol);
    }
    job->is_exact = option_is_given(run, "exact");
    if (status == DPOT_OK) {
        status = option_integer(run, "max-iterations", 1, ITERATIONS_MAX, &job->iterations);
    }
    if (status == DPOT_OK && option_is_given(run, "iterations")) {
        job->tol = 0;
        status = option_integer(run, "iterations", 1, ITERATIONS_MAX, &job->iterations);
    }
    return status;
}

static dpot_status read_options(struct projection_job *job)
{
    struct run *run = job->run;
    const char *text = NULL;
    double uniform_mass = 0;
    dpot_status status = option_require(run, "mu", "a file of input measures", &text);
    if (status == DPOT_OK) {
        status = read_method(job);
    }
    if (status == DPOT_OK) {
        status = check_cost_options(job);
    }
    if (status == DPOT_OK) {
        status = project_check_base_measure(job, &uniform_mass);
    }
    if (status == DPOT_OK) {
        status = option_require(run, "epsilon", "the privacy parameter", &text);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "epsilon", EPSILON_MAX, &job->epsilon);
    }
    if (status == DPOT_OK) {
        status = read_stopping_rule(job);
    }
    if (status == DPOT_OK) {
        status = option_require_array_output(run, "out", "a file for the result", &job->out_path);
    }
    return status;
}

/* ---- one user ---- */

size_t project_find_support(const struct projection_job *job, size_t user, struct workspace *ws)
{
    const double *mu = job->mu.values + user * job->cost.n_rows;
    size_t n = 0;
    for (size_t i = 0; i < job->cost.n_rows; i++) {
        if (mu[i] > 0) {
            ws->support[n] = i;
            ws->mu[n++] = mu[i];
        }
    }
    return n;
}

void project_copy_cost(const struct projection_job *job, const struct workspace *ws, size_t n,
                       double *out)
{
    const size_t kv = job->cost.n_cols;
    for (size_t r = 0; r < n; r++) {
        memcpy(out + r * kv, job->cost.values + ws->support[r] * kv, kv * sizeof *out);
    }
}

static dpot_status prepare_projection(const struct projection_job *job, struct workspace *ws,
                                      size_t n_rows)
{
    if (ws->projection && ws->n_rows == n_rows) {
        return DPOT_OK;
    }
    const struct dpot_projection_config config = {.n_rows = n_rows,
                                                  .n_cols = job->cost.n_cols,
                                                  .lambda = job->lambda,
                                                  .cost_range = job->cost.range,
                                                  .polytope = &job->polytope};
    dpot_projection_free(ws->projection);
    ws->projection = NULL;
    ws->n_rows = n_rows;
    return dpot_projection_new(&config, &ws->projection);
}

static dpot_status project_entropic(const struct projection_job *job, struct workspace *ws,
                                    size_t n_rows, double *q, struct user_result *user,
                                    struct dpot_error *error)
{
    struct dpot_projection_result result = {0};
    const dpot_status status = prepare_projection(job, ws, n_rows);
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "the projection of %zu x %zu points: %s", n_rows,
                              job->cost.n_cols, dpot_status_text(status));
    }
    project_copy_cost(job, ws, n_rows, dpot_projection_cost(ws->projection));
    if (job->tol > 0) {
        dpot_projection_run_scaled(ws->projection, ws->mu, (size_t)job->iterations, job->tol, q,
                                   &result);
    } else {
        dpot_projection_run(ws->projection, ws->mu, (size_t)job->iterations, 0, q, &result);
    }
    user->transport_cost = dpot_projection_transport_cost(ws->projection, &user->residual);
    user->iterations = result.iterations;
    user->is_stopped = job->tol > 0 && !result.converged;
    return DPOT_OK;
}

static dpot_status project_user(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    struct projection_job *job = ctx;
    struct workspace *ws = &job->workspaces[worker];
    double *q = job->q.values + item * job->cost.n_cols;
    if (project_is_baseline(job)) {
        return baseline_project(job, ws, item, q, &job->users[item], error);
    }
    if (job->users[item].is_done) {
        return DPOT_OK;
    }
    const size_t n_rows = project_find_support(job, item, ws);
    if (!job->is_exact) {
        return project_entropic(job, ws, n_rows, q, &job->users[item], error);
    }
    project_copy_cost(job, ws, n_rows, ws->cost);
    return dpot_exact_projection_proved(ws->cost, ws->mu, job->lower, job->upper, n_rows,
                                        job->cost.n_cols, NULL, q, &job->users[item].transport_cost,
                                        &job->users[item].dual, error);
}

/* ---- result ---- */

/* The maximum over users and points of max(q/m, m/q): at most exp(epsilon/2) inside the polytope. q
 * has no mass where m has none. */
static double largest_ratio(const struct projection_job *job)
{
    double largest = 0;
    const size_t kv = job->cost.n_cols;
    for (size_t i = 0; i < job->n_users * kv; i++) {
        const double m = job->base_measure[i % kv], q = job->q.values[i];
        if (m > 0) {
            largest = fmax(largest, fmax(q / m, m / q));
        }
    }
    return largest;
}

static void put_result(struct projection_job *job)
{
    struct run *run = job->run;
    double transport_cost = 0, dual = 0, residual = 0;
    size_t iterations = 0;
    for (size_t i = 0; i < job->n_users; i++) {
        const struct user_result *user = &job->users[i];
        transport_cost += user->transport_cost / (double)job->n_users;
        dual += user->dual / (double)job->n_users;
        residual = fmax(residual, user->residual);
        iterations = user->iterations > iterations ? user->iterations : iterations;
        run->is_stopped = run->is_stopped || user->is_stopped;
    }
    const bool has_solver = job->is_exact || job->lambda > 0;
    const bool is_converged = job->is_exact || !has_solver || (job->tol > 0 && !run->is_stopped);
    run_put_text(run, "outcome", is_converged ? "converged" : "iteration_limit");
    run_put_integer(run, "iterations", iterations);
    if (has_solver) {
        run_put_number(run, "transport_cost", transport_cost);
    }
    if (job->is_exact && !project_is_baseline(job)) {
        run_put_number(run, "dual", dual);
        run_put_number(run, "gap", transport_cost - dual);
    }
    if (has_solver && !job->is_exact && !project_is_baseline(job)) {
        run_put_number(run, "residual", residual);
    }
    run_put_number(run, "max_ratio", largest_ratio(job));
    if (!job->mu.is_vector) {
        run_put_integer(run, "users", job->n_users);
    }
}

static dpot_status run_project(struct run *run)
{
    struct projection_job job = {.run = run, .tol = TOL_DEFAULT, .iterations = ITERATIONS_DEFAULT};
    struct progress progress;
    dpot_status status = read_options(&job);
    if (status == DPOT_OK) {
        status = project_load_inputs(&job);
    }
    if (status == DPOT_OK) {
        progress_init(&progress, run, "projecting", job.n_users);
        const struct solve_control control = progress_control(&progress);
        status = project_batch(&job, &progress);
        if (status == DPOT_OK) {
            status =
                workers_run(job.n_users, job.n_workers, project_user, &job, &control, &run->error);
        }
        progress_end(&progress);
    }
    if (status == DPOT_OK) {
        put_result(&job);
        status = array_write(job.out_path, &job.q, ARRAY_F8, &run->error);
    }
    project_release(&job);
    return status;
}

const struct command command_project = {
    .name = "project",
    .summary = "laws of the index mechanisms (floats, before the integer draw)",
    .details =
        "The result q satisfies exp(-epsilon/2) m <= q <= exp(epsilon/2) m for the base measure m\n"
        "(which need not sum to 1) and is nearest to mu in Wasserstein distance: exactly, or with\n"
        "--lambda up to entropic regularisation, by Algorithm 1, whose plan P minimises\n"
        "<C,P> + lambda sum P log P (KL to the uniform measure, not to a x b as in dpot ot). For\n"
        "a batch (users, k), transport_cost, dual and gap are means over users, iterations and\n"
        "residual maxima.\n"
        "--method kpm is the KL projection of mu; it ignores the cost and needs as many outputs\n"
        "as inputs. The law of exponential is proportional to exp(-epsilon <mu, C_j> / (2\n"
        "Delta)). Both have a default base measure, and report transport_cost, that of q against\n"
        "mu, only with --exact or --lambda.\n"
        "Keys: outcome, iterations, transport_cost (exact OT cost with --exact, otherwise <C,P>\n"
        "of a plan from mu to q, never below it), dual (--exact: a lower bound on the cost of\n"
        "any q) and gap (transport_cost - dual), residual (--lambda: L1 distance from mu of the\n"
        "plan of the last sweep, before it was rounded to mu and q), max_ratio (largest q/m or\n"
        "m/q; at most exp(epsilon/2)), users (batches only).",
    .example = "dpot project --mu mu.csv --cost cost.npy --base-measure uniform --epsilon 2 "
               "--lambda 0.01 --out q.npy",
    .options = options,
    .run = run_project,
};
