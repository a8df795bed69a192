/* dpot central ot-cost: a noisy transport cost between two private samples. */
#include "central/ot_cost.h"
#include "tool/central/guarantee.h"
#include "tool/central/pair.h"
#include "tool/shared/commands.h"
#include "tool/shared/options.h"

#include <float.h>
#include <math.h>

#define MECHANISM "transport-cost"
#define POWER_MAX 64

static const struct option options[] = {
    PAIR_OPTIONS,
    {"metric", "euclidean|l1|linf", "ground metric"},
    {"power", "p (0,64]", "the cost is distance^p (default 1)"},
    {"cost-cap", "C (0,inf)",
     "clip costs to C, for less noise (default: the largest cost over the box)"},
    {"exact", NULL, "plain optimal transport"},
    {"lambda", "L (0,inf)", "entropic transport with this regularisation, cost units"},
    GUARANTEE_OPTIONS("replace-one (default: of one file) or replace-pair (one of each)"),
    {NULL, NULL, NULL},
};

struct ot_cost_job {
    struct run *run;
    struct guarantee guarantee;
    struct ot_cost_config config;
    struct pair pair;
    struct exact_draw draw;
};

/* ---- options and inputs ---- */

static dpot_status read_metric(struct ot_cost_job *job)
{
    struct run *run = job->run;
    const char *name = NULL;
    dpot_status status = option_require(run, "metric", "euclidean, l1 or linf", &name);
    if (status == DPOT_OK && (dpot_metric_find(name, &job->config.metric.id) != DPOT_OK ||
                              !ot_cost_takes_metric(job->config.metric.id))) {
        status = RUN_USAGE(run,
                           "--metric is %.40s: choose euclidean, l1 or linf, whose largest cost "
                           "over a box is known",
                           name);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "power", POWER_MAX, &job->config.power);
    }
    return status == DPOT_OK ? option_positive(run, "cost-cap", DBL_MAX, &job->config.cap) : status;
}

static dpot_status read_options(struct ot_cost_job *job)
{
    struct run *run = job->run;
    dpot_status status =
        guarantee_read(run, ADJACENCY_REPLACE_PAIR, OT_COST_EPSILON_MIN, &job->guarantee);
    if (status == DPOT_OK) {
        status = pair_check_options(run);
    }
    if (status == DPOT_OK) {
        status = read_metric(job);
    }
    if (status == DPOT_OK) {
        status = option_either(run, "exact", "lambda");
    }
    return status == DPOT_OK ? option_positive(run, "lambda", DBL_MAX, &job->config.lambda)
                             : status;
}

static dpot_status configure(struct ot_cost_job *job, struct team *team)
{
    struct ot_cost_config *config = &job->config;
    config->dim = job->pair.x.n_cols;
    config->lo = job->pair.region.lo;
    config->hi = job->pair.region.hi;
    config->n_x = job->pair.x.n_rows;
    config->n_y = job->pair.y.n_rows;
    config->adjacency = job->guarantee.adjacency;
    config->epsilon = job->guarantee.epsilon;
    config->team = team;
    return ot_cost_check(config, &job->run->error);
}

/* ---- the work ---- */

static void put_result(struct ot_cost_job *job, double released)
{
    struct run *run = job->run;
    const struct ot_cost_config *config = &job->config;

    run_put_number(run, "value", released);
    run_put_number(run, "noise_scale", ot_cost_noise_scale(config));
    run_put_number(run, "error_95", ot_cost_noise_scale(config) * log(20));
    guarantee_put(run, &job->guarantee, MECHANISM, ot_cost_spent(config), config->n_x);
    run_put_integer(run, "n_x", config->n_x);
    run_put_integer(run, "n_y", config->n_y);
    run_put_integer(run, "dim", config->dim);
    run_put_number(run, "lambda", config->lambda);
    run_put_number(run, "largest_cost", ot_cost_max(config));
    run_put_number(run, "sensitivity", ot_cost_sensitivity(config));
}

static dpot_status release_value(struct ot_cost_job *job)
{
    double value = 0;
    const dpot_status status = ot_cost_value(&job->config, job->pair.x.values, job->pair.y.values,
                                             &value, &job->run->error);
    if (status == DPOT_OK) {
        put_result(job, ot_cost_release(&job->config, value, &job->draw));
    }
    return status;
}

static dpot_status run_ot_cost(struct run *run)
{
    struct ot_cost_job job = {.run = run, .config = {.power = 1}};
    struct team *team = NULL;
    size_t dim = 0;
    dpot_status status = read_options(&job);
    if (status == DPOT_OK) {
        status = guarantee_begin(run, &job.guarantee, MECHANISM, &job.draw, &dim);
    }
    if (status == DPOT_OK) {
        status = pair_load(run, &job.pair);
    }
    if (status == DPOT_OK) {
        status = team_new(run->n_threads, &team);
    }
    if (status == DPOT_OK) {
        status = configure(&job, team);
    }
    if (status == DPOT_OK) {
        pair_warn_outside(run, &job.pair);
        status = release_value(&job);
    }
    team_free(team);
    exact_draw_release(&job.draw);
    pair_release(&job.pair);
    return status;
}

const struct command command_central_ot_cost = {
    .name = "central ot-cost",
    .summary = "the transport cost between two files of raw records (pure epsilon-DP)",
    .details =
        "One record moves the optimal value by at most B / n, where B is the largest cost over\n"
        "the public box; discrete Laplace noise of that scale is added. Entropic values are\n"
        "<C,P> + lambda KL(P | a x b). The value before noise is within 1 % of the sensitivity\n"
        "for all records; for a very small lambda the error is larger, and included in the\n"
        "sensitivity. The run time may depend on the data: keep it private.\n"
        "Keys: value (may be below 0), noise_scale, error_95 (the noise is smaller in 95 of 100\n"
        "runs), mechanism, epsilon, epsilon_spent, delta, adjacency, guarantee, is_simulation,\n"
        "n_x, n_y, dim, lambda (0: exact), largest_cost, sensitivity.",
    .example =
        "dpot central ot-cost --x a.csv --y b.csv --metric euclidean --exact --epsilon 1 \\\n"
        "      --domain '{\"type\":\"box\",\"lo\":[0,0],\"hi\":[5,5]}'",
    .options = options,
    .run = run_ot_cost,
};
