/* dpot ot: transport between two measures, exact or entropic. */
#include "tool/shared/commands.h"

#include "base/alloc.h"
#include "ot/network_simplex.h"
#include "solve/transport/divergence.h"
#include "tool/shared/campaign_file.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"
#include "tool/shared/remote.h"

#include <float.h>
#include <math.h>

#define TOL_DEFAULT 1e-9
#define TOL_FLOAT32 1e-6 /* below it single precision may not converge */
#define ROUNDING 100.0   /* residuals above this multiple of the tolerance get a warning */
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
    {"lambda", "L (0,inf)", "entropic transport with this regularisation, cost units"},
    {"tol", "T (0,1]",
     "stop at this L1 violation of the first marginal (default 1e-9; float32: 1e-6)"},
    {"max-iterations", "N 1..1000000000", "maximum number of sweeps (default 100000)"},
    {"float32", NULL, "sweep in float32: faster, the first marginal to about 1e-6"},
    {"plain", NULL, "plain Sinkhorn sweeps, without annealing and over-relaxation"},
    {"debiased", NULL, "Sinkhorn divergence: minus half the value of each measure to itself"},
    {"plan-out", "F", "write the plan (n, m)"},
    {"potentials-out", "F", "write the potentials f and g in one column (n + m,)"},
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

static dpot_status check_method_options(struct run *run)
{
    static const char *const entropic[][2] = {
        {"tol", "the exact method has no tolerance"},
        {"max-iterations", "the exact method ends by itself"},
        {"float32", "the exact method works in float64"},
        {"plain", "the exact method has no sweeps"},
        {"debiased", "exact transport has no bias"},
    };
    dpot_status status = option_either(run, "exact", "lambda");
    for (size_t i = 0; status == DPOT_OK && i < sizeof entropic / sizeof entropic[0]; i++) {
        status = option_excludes(run, "exact", entropic[i][0], entropic[i][1]);
    }
    if (status == DPOT_OK) {
        status = option_excludes(run, "debiased", "cost", "it needs the points, --x and --y");
    }
    if (status == DPOT_OK) {
        status = option_excludes(run, "debiased", "campaign", "it needs the points, --x and --y");
    }
    return status;
}

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

static dpot_status read_tolerance(struct transport *t)
{
    struct run *run = t->run;
    const bool is_float32 = option_is_given(run, "float32");
    t->tol = is_float32 ? TOL_FLOAT32 : TOL_DEFAULT;
    const dpot_status status = option_positive(run, "tol", 1, &t->tol);
    return status == DPOT_OK && is_float32 ? option_check_float32(run, "tol", t->tol) : status;
}

static dpot_status read_options(struct transport *t)
{
    struct run *run = t->run;
    dpot_status status = check_cost_options(run);
    if (status == DPOT_OK) {
        status = check_method_options(run);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "lambda", DBL_MAX, &t->lambda);
    }
    if (status == DPOT_OK) {
        status = read_tolerance(t);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "max-iterations", 1, ITERATIONS_MAX, &t->max_iterations);
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "plan-out", &t->plan_path);
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "potentials-out", &t->potentials_path);
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
        status = campaign_file_require_index(t->run, &file);
        if (status == DPOT_OK) {
            status = cost_of_campaign(t->run, &file.campaign, &t->cost);
        }
        campaign_file_release(&file);
    }
    return status;
}

static dpot_status load_marginal(struct run *run, const char *name, size_t n, struct array *out)
{
    if (!option_is_given(run, name)) {
        const dpot_status status = array_init(out, n, 1, true);
        for (size_t i = 0; status == DPOT_OK && i < n; i++) {
            out->values[i] = 1.0 / (double)n;
        }
        return status;
    }
    return load_measure(run, name, n, out);
}

static dpot_status load_inputs(struct transport *t)
{
    dpot_status status = load_cost(t);
    const size_t n = t->cost.n_rows, m = t->cost.n_cols;
    if (status == DPOT_OK) {
        status = load_marginal(t->run, "a", n, &t->a);
    }
    if (status == DPOT_OK) {
        status = load_marginal(t->run, "b", m, &t->b);
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

/* The L1 violation of the first marginal by the entries of the plan. */
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
    struct progress progress; /* the number of pivots is unknown */
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

/* The share of sweeps done: by the logarithm of the residual, which falls geometrically, or by the
 * maximum number of sweeps, whichever is larger. */
struct sweeps {
    struct progress progress;
    const struct entropic_result *result; /* of the running solve */
    double first_residual, tol;
};

static void show_sweep(void *ctx, size_t n_done, size_t n_total)
{
    struct sweeps *s = ctx;
    if (n_done == 1) {
        s->first_residual = s->result->residual;
    }
    const double way = log(s->first_residual / s->tol);
    const double by_residual = way > 0 ? log(s->first_residual / s->result->residual) / way : 0;
    progress_share(&s->progress, fmax(by_residual, (double)n_done / (double)n_total));
}

/* Sweeps do not detect the rounding of their kernel: when costs are so many times lambda that the
 * last digit of a cost moves the plan, only the residual of the final plan shows it. */
static void warn_of_rounding(const struct transport *t, const struct entropic_result *result)
{
    if (result->outcome == SOLVE_CONVERGED && result->residual > ROUNDING * t->tol) {
        run_warn(
            t->run,
            "the sweeps have converged, but by rounding the plan misses the first marginal by "
            "%.3g, more than --tol %.3g: the costs are very large beside --lambda %.3g; a larger "
            "one, or points moved to near 0, are computed better (gap bounds the error of value)",
            result->residual, t->tol, t->lambda);
    }
}

static void warn_of_float32(const struct transport *t, const struct entropic_result *result)
{
    if (option_is_given(t->run, "float32") && t->tol < TOL_FLOAT32 &&
        result->outcome == SOLVE_ITERATION_LIMIT) {
        run_warn(t->run,
                 "float32 sweeps may not reach --tol %g, whatever their number: leave --float32 "
                 "out, or give %g or more",
                 t->tol, TOL_FLOAT32);
    }
}

static void take_solution(struct transport *t, struct entropic *e, struct entropic_result *result)
{
    struct run *run = t->run;
    entropic_value(e, result);
    entropic_potentials(e, t->potentials.values, t->potentials.values + t->cost.n_rows);
    if (t->plan_path) {
        entropic_plan_rows(e, 0, t->cost.n_rows, t->plan.values);
    }
    run->is_stopped = result->outcome != SOLVE_CONVERGED;
    warn_of_rounding(t, result);
    warn_of_float32(t, result);
    put_result(t, result->value, result->transport_cost, result->dual, result->residual,
               result->iterations);
    run_put_number(run, "primal", result->primal);
    run_put_number(run, "gap", result->gap);
    run_put_number(run, "kl", result->kl);
    run_put_number(run, "entropy", result->entropy);
    run_put_number(run, "lambda", t->lambda);
}

static struct entropic_cost cost_view(const struct cost *cost)
{
    return (struct entropic_cost){
        .n_rows = cost->n_rows, .n_cols = cost->n_cols, .matrix = cost->values};
}

/* Adds the divergence: solves two more problems, of each measure to itself. */
static dpot_status add_divergence(struct transport *t, const struct entropic_options *solver)
{
    struct run *run = t->run;
    struct cost xx = {0}, yy = {0};
    struct divergence_result result;
    dpot_status status = cost_load(run, "x", "x", &xx);
    if (status == DPOT_OK) {
        status = cost_load(run, "y", "y", &yy);
    }
    if (status == DPOT_OK) {
        const struct entropic_cost views[] = {cost_view(&t->cost), cost_view(&xx), cost_view(&yy)};
        const struct divergence_problem problem = {&views[0], &views[1], &views[2], t->a.values,
                                                   t->b.values};
        status = divergence_solve(&problem, solver, NULL, NULL, NULL, &result, &run->error);
    }
    if (status == DPOT_OK) {
        run->is_stopped = run->is_stopped || result.xx.outcome != SOLVE_CONVERGED ||
                          result.yy.outcome != SOLVE_CONVERGED;
        run_put_number(run, "divergence", result.value);
        run_put_number(run, "divergence_lower", result.lower);
        run_put_number(run, "divergence_upper", result.upper);
    }
    cost_release(&xx);
    cost_release(&yy);
    return status;
}

static dpot_status solve_entropic(struct transport *t)
{
    struct run *run = t->run;
    struct entropic_result result = {.residual = 0};
    struct sweeps sweeps = {.result = &result, .tol = t->tol};
    const struct solve_control control = {.progress = show_sweep, .ctx = &sweeps};
    const struct entropic_cost cost = cost_view(&t->cost);
    struct team *team = NULL;
    struct entropic *e = NULL;
    dpot_status status = team_new(run->n_threads, &team);
    if (status != DPOT_OK) {
        return dpot_error_set(&run->error, status, "no memory for %zu threads", run->n_threads);
    }
    const bool is_plain = option_is_given(run, "plain");
    const struct entropic_options solver = {
        .lambda = t->lambda,
        .tol = t->tol,
        .max_iterations = (size_t)t->max_iterations,
        .precision = option_is_given(run, "float32") ? ENTROPIC_F32 : ENTROPIC_F64,
        .anneal = !is_plain,
        .relax = !is_plain,
        .team = team,
    };
    progress_init(&sweeps.progress, run, "entropic transport", 0);
    status = entropic_new(cost.n_rows, cost.n_cols, &solver, &e, &run->error);
    if (status == DPOT_OK) {
        status = entropic_solve(e, &cost, t->a.values, t->b.values, &control, &result, &run->error);
    }
    progress_end(&sweeps.progress);
    if (status == DPOT_OK) {
        take_solution(t, e, &result);
    }
    entropic_free(e);
    if (status == DPOT_OK && option_is_given(run, "debiased")) {
        status = add_divergence(t, &solver);
    }
    team_free(team);
    return status;
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
    struct transport t = {.run = run, .max_iterations = ITERATIONS_DEFAULT};
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
        "Entropic values are <C,P> + lambda KL(P | a x b). With --campaign the first measure is\n"
        "on the domain, the second on the output points, and the cost is that of the campaign.\n"
        "Keys: value, transport_cost (<C,P>), dual (a lower bound), outcome, residual (L1\n"
        "violation of the first marginal), iterations; exact: distance (transport_cost^(1/p));\n"
        "entropic: primal (an upper bound: a plan with both marginals), gap (primal - dual), kl,\n"
        "entropy (nats); --debiased: divergence, with the certified bounds divergence_lower and\n"
        "divergence_upper.",
    .example =
        "dpot ot --x a.csv --y b.csv --metric euclidean --power 2 --exact --plan-out plan.npy",
    .options = options,
    .run = run_ot,
};
