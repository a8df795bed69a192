/* dpot ot: transport between two measures, exact or entropic. */
#include "tool/commands.h"

#include "base/alloc.h"
#include "ot/network_simplex.h"
#include "ot/sinkhorn.h"
#include "tool/campaign_file.h"
#include "tool/load.h"
#include "tool/options.h"
#include "tool/progress.h"
#include "tool/remote.h"

#include <float.h>
#include <math.h>

#define TOL_DEFAULT 1e-9
#define ITERATIONS_DEFAULT 100000
#define ITERATIONS_MAX 1000000000

static const struct option options[] = {
    COST_OPTIONS("x", "y", "points of the first measure (n, d), instead of --cost",
                 "points of the second measure (m, d), instead of --cost"),
    {"campaign", "FILE|ID", "cost between the domain and the output points of a campaign"},
    {"a", "F", "weights of the first measure (n,) (default: equal)"},
    {"b", "F", "weights of the second measure (m,) (default: equal)"},
    {"normalize", NULL, "scale the weights to sum 1"},
    {"exact", NULL, "exact transport (network simplex)"},
    {"lambda", "L", "entropic transport with this regularisation, cost units (one thread)"},
    {"tol", "T", "L1 violation of the first marginal to reach (default 1e-9)"},
    {"max-iterations", "N", "most sweeps (default 100000)"},
    {"plan", "F", "write the plan (n, m)"},
    {"potentials", "F", "write the potentials f and g in one column (n + m,)"},
    REMOTE_OPTIONS,
    CAMPAIGN_PIN_OPTION,
    {NULL, NULL, NULL},
};

struct transport {
    struct run *run;
    struct cost cost;
    struct array a, b;
    struct array plan;       /* (n, m); empty unless asked for */
    struct array potentials; /* (n + m) */
    const char *plan_path, *potentials_path;
    bool is_exact;
    double lambda, tol;
    uint64_t max_iterations;
};

/* ---- options and inputs ---- */

static dpot_status check_cost_options(struct run *run)
{
    const char *const others[] = {"cost", "x", "y", "metric", "power", "ring-size"};
    if (!option_is_given(run, "campaign")) {
        return cost_check_options(run, "x", "y");
    }
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof others / sizeof others[0]; i++) {
        status =
            option_excludes(run, "campaign", others[i], "the campaign has its own points and cost");
    }
    return status;
}

static dpot_status read_options(struct transport *t)
{
    struct run *run = t->run;
    dpot_status status = check_cost_options(run);
    if (status == DPOT_OK) {
        status = option_either(run, "exact", "lambda");
    }
    if (status == DPOT_OK) {
        status = option_excludes(run, "exact", "tol", "the exact method has no tolerance");
    }
    if (status == DPOT_OK) {
        status = option_excludes(run, "exact", "max-iterations", "the exact method ends by itself");
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "lambda", DBL_MAX, &t->lambda);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "tol", 1, &t->tol);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "max-iterations", 1, ITERATIONS_MAX, &t->max_iterations);
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "plan", &t->plan_path);
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "potentials", &t->potentials_path);
    }
    t->is_exact = option_is_given(run, "exact");
    return status;
}

static dpot_status load_cost(struct transport *t)
{
    struct campaign_file file;
    const char *campaign = option_text(t->run, "campaign");
    if (!campaign) {
        return cost_load(t->run, "x", "y", &t->cost);
    }
    dpot_status status = campaign_file_load(t->run, campaign, &file);
    if (status == DPOT_OK) {
        status = cost_of_campaign(t->run, &file.campaign, &t->cost);
        campaign_file_release(&file);
    }
    return status;
}

static dpot_status load_measure(struct run *run, const char *name, size_t n, struct array *out)
{
    if (!option_is_given(run, name)) {
        const dpot_status status = array_init(out, n, 1, true);
        for (size_t i = 0; status == DPOT_OK && i < n; i++) {
            out->values[i] = 1.0 / (double)n;
        }
        return status;
    }
    const dpot_status status = load_weights(run, name, n, out);
    if (status == DPOT_OK && !out->is_vector && out->n_rows != 1) {
        array_release(out);
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--%s has several rows: give one measure", name);
    }
    return status;
}

static dpot_status load_inputs(struct transport *t)
{
    dpot_status status = load_cost(t);
    const size_t n = t->cost.n_rows, m = t->cost.n_cols;
    if (status == DPOT_OK) {
        status = load_measure(t->run, "a", n, &t->a);
    }
    if (status == DPOT_OK) {
        status = load_measure(t->run, "b", m, &t->b);
    }
    if (status == DPOT_OK && t->plan_path) {
        status = array_init(&t->plan, n, m, false);
    }
    if (status == DPOT_OK) {
        status = array_init(&t->potentials, n + m, 1, true);
    }
    return status;
}

/* ---- the two methods ---- */

/* L1 violation of the first marginal by the plan's entries; `row` is scratch. */
static double exact_residual(const struct dpot_exact_result *result, const double *a, size_t n)
{
    double residual = 0;
    double *row = dpot_alloc_array(NULL, n, sizeof *row);
    for (size_t e = 0; row && e < result->n_entries; e++) {
        row[result->entries[e].row] += result->entries[e].mass;
    }
    for (size_t i = 0; row && i < n; i++) {
        residual += fabs(row[i] - a[i]);
    }
    dpot_free_array(NULL, row, n, sizeof *row);
    return residual;
}

static void put_result(struct transport *t, double value, double transport_cost, double dual,
                       double residual, size_t iterations)
{
    struct run *run = t->run;
    run_put_number(run, "value", value);
    run_put_number(run, "transport_cost", transport_cost);
    run_put_number(run, "dual", dual);
    run_put_text(run, "outcome", run->is_stopped ? "iteration_limit" : "converged");
    run_put_number(run, "residual", residual);
    run_put_integer(run, "iterations", iterations);
    if (t->is_exact && t->cost.cost_power > 0 && transport_cost >= 0) {
        run_put_number(run, "distance", pow(transport_cost, 1 / t->cost.cost_power));
    }
}

static dpot_status solve_exact(struct transport *t)
{
    struct dpot_exact_result result = {0};
    struct progress progress; /* nobody knows how many pivots there will be */
    const size_t n = t->cost.n_rows, m = t->cost.n_cols;
    progress_init(&progress, t->run, "exact transport", 0);
    const dpot_status status = dpot_exact_ot(t->cost.values, t->a.values, t->b.values, n, m, NULL,
                                             &result, &t->run->error);
    progress_end(&progress);
    if (status != DPOT_OK) {
        return status;
    }
    for (size_t e = 0; t->plan_path && e < result.n_entries; e++) {
        t->plan.values[result.entries[e].row * m + result.entries[e].col] = result.entries[e].mass;
    }
    for (size_t i = 0; i < n + m; i++) {
        t->potentials.values[i] = i < n ? result.f[i] : result.g[i - n];
    }
    put_result(t, result.transport_cost, result.transport_cost, result.dual,
               exact_residual(&result, t->a.values, n), result.pivots);
    dpot_exact_result_release(&result);
    return DPOT_OK;
}

/* How far the sweeps are: the residual falls geometrically, so its logarithm tells, and the last
 * sweep allowed ends them in any case. */
struct sweeps {
    struct progress progress;
    double first_residual, tol;
    double max_iterations;
};

static void show_sweep(void *ctx, size_t iterations, double residual)
{
    struct sweeps *s = ctx;
    if (iterations == 1) {
        s->first_residual = residual;
    }
    const double way = log(s->first_residual / s->tol);
    const double by_residual = way > 0 ? log(s->first_residual / residual) / way : 0;
    progress_share(&s->progress, fmax(by_residual, (double)iterations / s->max_iterations));
}

static dpot_status solve_entropic(struct transport *t)
{
    struct dpot_sinkhorn_result result = {0};
    struct sweeps sweeps = {.tol = t->tol, .max_iterations = (double)t->max_iterations};
    const struct dpot_sinkhorn_watch watch = {show_sweep, &sweeps};
    const size_t n = t->cost.n_rows, m = t->cost.n_cols;
    progress_init(&sweeps.progress, t->run, "entropic transport", 0);
    const dpot_status status =
        dpot_sinkhorn_watched(t->cost.values, t->a.values, t->b.values, n, m, t->lambda, t->tol,
                              (size_t)t->max_iterations, NULL, &watch, t->potentials.values,
                              t->potentials.values + n, t->plan.values, &result, &t->run->error);
    progress_end(&sweeps.progress);
    if (status != DPOT_OK) {
        return status;
    }
    t->run->is_stopped = !result.converged;
    put_result(t, result.value, result.transport_cost, result.dual, result.residual,
               result.iterations);
    run_put_number(t->run, "lambda", t->lambda);
    return DPOT_OK;
}

static dpot_status write_outputs(struct transport *t)
{
    dpot_status status = DPOT_OK;
    if (t->plan_path) {
        status = array_write(t->plan_path, &t->plan, ARRAY_F8, &t->run->error);
    }
    if (status == DPOT_OK && t->potentials_path) {
        status = array_write(t->potentials_path, &t->potentials, ARRAY_F8, &t->run->error);
    }
    return status;
}

static dpot_status run_ot(struct run *run)
{
    struct transport t = {.run = run, .tol = TOL_DEFAULT, .max_iterations = ITERATIONS_DEFAULT};
    dpot_status status = read_options(&t);
    if (status == DPOT_OK) {
        status = load_inputs(&t);
    }
    if (status == DPOT_OK) {
        status = t.is_exact ? solve_exact(&t) : solve_entropic(&t);
    }
    if (status == DPOT_OK) {
        status = write_outputs(&t);
    }
    array_release(&t.a);
    array_release(&t.b);
    array_release(&t.plan);
    array_release(&t.potentials);
    cost_release(&t.cost);
    return status;
}

const struct command command_ot = {
    .name = "ot",
    .summary = "optimal transport between two measures, exact or entropic",
    .details =
        "Entropic values are <C,P> + lambda KL(P | a x b); lambda is at most 1e6 times the\n"
        "largest |cost|, where P is a x b already. With --campaign the first measure lives\n"
        "on the domain and the second on the output points, and the cost is the campaign's.\n"
        "Keys: value, transport_cost (<C,P>), dual (a lower bound), outcome, residual (L1 "
        "violation\n"
        "of the first marginal), iterations, distance (exact: transport_cost^(1/p)).",
    .example = "dpot ot --x a.csv --y b.csv --metric euclidean --power 2 --exact --plan plan.npy",
    .options = options,
    .run = run_ot,
};
