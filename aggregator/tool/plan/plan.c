/* dpot plan: predicts the error of an estimate before any privacy is spent.
 *
 * Nothing is collected or charged: the laws of the reports are those of the device, the population
 * is assumed. --target-error solves for the number of reports, or for epsilon.
 *
 * forecast/outlook.h defines the predicted quantities, forecast/forecast.h the bands. */
#include "tool/plan/plan.h"

#include "mechanism/mechanism.h"
#include "tool/shared/commands.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"
#include "tool/shared/remote.h"

#include "campaign/spec.h"

#include <math.h>
#include <string.h>

#define DRAWS_MAX 100000
#define SPREAD_LARGEST 1e300
#define TARGET_LARGEST 1e300
#define SEED_DEFAULT 1
#define PATH_SIZE 4096

static const struct option options[] = {
    {"campaign", "FILE|ID", "SPEC.json, a signed campaign, or an ID with --server"},
    {"n", "N 1..1000000000000", "number of accepted reports, one per device"},
    {"reference", "F", "assumed population: weights (k,), or rows of device, coordinates, [count]"},
    {"normalize", NULL, "scale the weights of --reference to sum 1"},
    {"spread", "S (0,1e300]", "vectors: assumed standard deviation of each coordinate of the data"},
    {"crowd", "drawn|fixed",
     "devices drawn from the reference (default), or its first N themselves"},
    {"target-error", "X (0,1e300]", "solve for the smallest n with this mean error"},
    {"error", "histogram|w1|w2|mean", "error for --target-error (default: w1; vectors: mean)"},
    {"vary", "n|epsilon", "unknown of --target-error (default n); epsilon needs --n and a SPEC"},
    {"draws", "N 39..100000", "campaigns drawn for means and bands (default: by size)"},
    {"out", "F", "index campaigns: (kv, 2) expected share and standard error of each point"},
    REMOTE_OPTIONS,
    CAMPAIGN_PIN_OPTION,
    {NULL, NULL, NULL},
};

const struct dpot_campaign *plan_campaign(const struct plan *plan)
{
    return plan->outlook ? plan->outlook->campaign : &plan->file.campaign;
}

/* ---- options ---- */

static dpot_status read_crowd(struct plan *plan)
{
    struct run *run = plan->run;
    const char *text = option_text(run, "crowd");
    plan->config.is_fixed = text && strcmp(text, "fixed") == 0;
    if (text && !plan->config.is_fixed && strcmp(text, "drawn") != 0) {
        return RUN_USAGE(run, "--crowd is %.40s: choose drawn or fixed", text);
    }
    if (plan->config.is_fixed && !option_is_given(run, "reference")) {
        return RUN_USAGE(run, "--crowd fixed needs --reference with the devices that will report");
    }
    return option_excludes(run, "spread", "reference", "the reference has a spread of its own");
}

static dpot_status read_vary(struct plan *plan)
{
    struct run *run = plan->run;
    const char *text = option_text(run, "vary");
    plan->is_inverse = option_is_given(run, "target-error");
    plan->is_epsilon_wanted = text && strcmp(text, "epsilon") == 0;
    if (text && !plan->is_epsilon_wanted && strcmp(text, "n") != 0) {
        return RUN_USAGE(run, "--vary is %.40s: choose n or epsilon", text);
    }
    if (!plan->is_inverse && (text || option_is_given(run, "error"))) {
        return RUN_USAGE(run, "--vary and --error go with --target-error X: give it too");
    }
    if (plan->is_inverse && !plan->is_epsilon_wanted && plan->n > 0) {
        return RUN_USAGE(run, "--n is what --target-error solves for: leave it out, or add "
                              "--vary epsilon");
    }
    if (plan->is_inverse && !plan->is_epsilon_wanted && plan->config.is_fixed) {
        return RUN_USAGE(run, "--crowd fixed has as many devices as it has: add --vary epsilon");
    }
    return option_positive(run, "target-error", TARGET_LARGEST, &plan->target);
}

static dpot_status read_n(struct plan *plan)
{
    struct run *run = plan->run;
    dpot_status status = option_integer(run, "n", 1, (uint64_t)PLAN_N_MAX, &plan->n);
    if (status == DPOT_OK) {
        status = read_crowd(plan);
    }
    if (status == DPOT_OK) {
        status = read_vary(plan);
    }
    const bool needs_n =
        (!plan->is_inverse || plan->is_epsilon_wanted) && !plan->config.is_fixed && plan->n == 0;
    if (status == DPOT_OK && needs_n) {
        status = RUN_USAGE(run, "option --n is missing: give the number of reports%s",
                           plan->is_inverse ? "" : ", or --target-error to solve for it");
    }
    return status;
}

static dpot_status read_options(struct plan *plan)
{
    struct run *run = plan->run;
    uint64_t n_draws = 0;
    dpot_status status = option_require(run, "campaign", "a SPEC.json, a signed campaign or an ID",
                                        &plan->campaign_text);
    if (status == DPOT_OK) {
        status = read_n(plan);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "spread", SPREAD_LARGEST, &plan->config.spread);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "draws", FORECAST_DRAWS_MIN, DRAWS_MAX, &n_draws);
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "out", &plan->out_path);
    }
    plan->config.n_draws = (size_t)n_draws;
    plan->config.seed = run->has_seed ? run->seed : SEED_DEFAULT;
    return status;
}

/* ---- what depends on the mechanism ---- */

static dpot_status read_target_figure(struct plan *plan, bool is_vector)
{
    static const struct {
        const char *name;
        enum figure_id figure;
        bool is_vector;
    } names[] = {{"w1", FIGURE_W1, false},
                 {"w2", FIGURE_W2, false},
                 {"histogram", FIGURE_HISTOGRAM, false},
                 {"mean", FIGURE_MEAN, true}};
    const char *text = option_text(plan->run, "error");
    text = text ? text : is_vector ? "mean" : "w1";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, text) == 0 && names[i].is_vector == is_vector) {
            plan->target_figure = names[i].figure;
            return DPOT_OK;
        }
    }
    return RUN_USAGE(plan->run, "--error is %.40s: a campaign of %s has %s", text,
                     dpot_mechanism_name(plan->file.campaign.mechanism),
                     is_vector ? "mean" : "histogram, w1 and w2");
}

/* The forecast on a sphere holds for any data. A device that projects several vectors at once has
 * no unbiased estimate. */
static dpot_status check_sphere(struct plan *plan)
{
    struct run *run = plan->run;
    const struct dpot_campaign *campaign = &plan->file.campaign;
    static const char *const without[] = {"reference", "spread", "out"};
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        if (option_is_given(run, without[i])) {
            return RUN_USAGE(
                run,
                "--%s: on a sphere the error of the mean is the same for any data, leave "
                "it out",
                without[i]);
        }
    }
    return campaign->n_max == 1 || campaign->sample_first
               ? DPOT_OK
               : dpot_error_set(
                     &run->error, DPOT_ERR_SHAPE,
                     "a device of this campaign projects up to %u vectors at once, whose "
                     "mean report is no multiple of their mean: say \"sample_first\": "
                     "true, or \"n_max\": 1",
                     (unsigned)campaign->n_max);
}

static dpot_status check_mechanism(struct plan *plan)
{
    struct run *run = plan->run;
    const struct dpot_campaign *campaign = &plan->file.campaign;
    const bool is_sphere = dpot_campaign_is_sphere(campaign);
    const bool is_vector = dpot_mechanism_is_vector(campaign->mechanism) || is_sphere;
    const dpot_status checked = is_sphere ? check_sphere(plan) : DPOT_OK;
    if (checked != DPOT_OK) {
        return checked;
    }
    if (!is_vector && plan->config.spread > 0) {
        return RUN_USAGE(run,
                         "--spread is for laplace and gaussian, and the campaign has %s: give "
                         "--reference",
                         dpot_mechanism_name(campaign->mechanism));
    }
    if (is_vector && plan->out_path) {
        return RUN_USAGE(run,
                         "--out is for wpm, kpm and exponential, and the campaign has %s: "
                         "leave it out",
                         dpot_mechanism_name(campaign->mechanism));
    }
    plan->config.wanted = FIGURES_ALL;
    if (!plan->is_inverse) {
        return DPOT_OK;
    }
    const dpot_status status = read_target_figure(plan, is_vector);
    /* The search needs one figure only. */
    plan->config.wanted = 1u << plan->target_figure;
    plan->config.is_mean_enough = true;
    return status;
}

/* Loads the SPEC, whose epsilon the search changes. */
static dpot_status load_spec(struct plan *plan)
{
    char folder[PATH_SIZE];
    struct run *run = plan->run;
    if (!plan->is_epsilon_wanted) {
        return DPOT_OK;
    }
    if (plan->file.is_signed) {
        return RUN_USAGE(run,
                         "campaign %.200s is signed, with its epsilon: --vary epsilon needs the "
                         "SPEC.json that it was made from",
                         plan->campaign_text);
    }
    campaign_file_folder(plan->campaign_text, folder, sizeof folder);
    const dpot_status status = json_read(plan->campaign_text, &plan->spec, &run->error);
    return status == DPOT_OK ? spec_inline(plan->spec, folder, &run->error) : status;
}

static dpot_status load(struct plan *plan)
{
    struct run *run = plan->run;
    dpot_status status = campaign_file_load(run, plan->campaign_text, &plan->file);
    if (status == DPOT_OK) {
        status = check_mechanism(plan);
    }
    if (status == DPOT_OK) {
        status = load_spec(plan);
    }
    if (status == DPOT_OK) {
        const uint64_t n_first = plan->config.is_fixed ? plan->n : 0;
        status = reference_load(run, &plan->file.campaign, plan->config.is_fixed, n_first,
                                &plan->reference);
    }
    if (status == DPOT_OK && plan->config.is_fixed) {
        plan->n = plan->reference.n_members;
    }
    return status;
}

/* ---- the run ---- */

static dpot_status require_target(const struct plan *plan)
{
    if (!plan->is_inverse || (plan->outlook->figures & plan->config.wanted) != 0) {
        return DPOT_OK;
    }
    return dpot_error_set(&plan->run->error, DPOT_ERR_TOO_LARGE,
                          "%s cannot be computed: population and output points have more than "
                          "2^24 costs between them; choose --error histogram",
                          plan_figure_key(plan->target_figure));
}

dpot_status plan_open_outlook(struct plan *plan, const struct dpot_campaign *campaign)
{
    struct progress progress;
    outlook_free(plan->outlook);
    plan->outlook = NULL;
    progress_init(&progress, plan->run, "laws", 0);
    plan->config.n_threads = plan->run->n_threads;
    plan->config.control = progress_control(&progress);
    const dpot_status status =
        outlook_new(campaign, &plan->reference, &plan->config, &plan->outlook, &plan->run->error);
    progress_end(&progress);
    return status;
}

dpot_status plan_forecast(struct plan *plan, double n, struct forecast *forecast)
{
    struct progress progress;
    progress_init(&progress, plan->run, "draws", plan->outlook->n_draws);
    plan->outlook->config.control = progress_control(&progress);
    const dpot_status status = outlook_forecast(plan->outlook, n, forecast);
    progress_end(&progress);
    return status;
}

static dpot_status predict(struct plan *plan)
{
    dpot_status status = plan_open_outlook(plan, &plan->file.campaign);
    if (status == DPOT_OK) {
        status = require_target(plan);
    }
    if (status != DPOT_OK) {
        return status;
    }
    return plan->is_inverse ? plan_solve(plan)
                            : plan_forecast(plan, (double)plan->n, &plan->forecast);
}

static void warn_of_size(const struct plan *plan)
{
    const uint64_t min_pool = plan_campaign(plan)->min_pool;
    if (plan->forecast.n < (double)min_pool) {
        run_warn(plan->run,
                 "%.0f report%s below the campaign's min_pool of %llu: nothing is released of "
                 "such a pool",
                 plan->forecast.n, plan->forecast.n == 1 ? " is" : "s are",
                 (unsigned long long)min_pool);
    }
    if (!plan->config.is_fixed && plan->reference.kind == REFERENCE_DEVICES &&
        plan->forecast.n == (double)plan->reference.n_members) {
        run_warn(
            plan->run,
            "--reference has exactly as many devices as n: if they are those that will report, "
            "add --crowd fixed");
    }
}

static dpot_status write_points(const struct plan *plan)
{
    struct array points = {0};
    if (!plan->out_path) {
        return DPOT_OK;
    }
    const size_t kv = plan_campaign(plan)->output.size;
    dpot_status status = array_init(&points, kv, 2, false);
    for (size_t j = 0; status == DPOT_OK && j < kv; j++) {
        points.values[2 * j] = plan->outlook->reported[j];
        points.values[2 * j + 1] = sqrt(plan->outlook->variance[j] / plan->forecast.n);
    }
    if (status == DPOT_OK) {
        status = array_write(plan->out_path, &points, ARRAY_F8, &plan->run->error);
    }
    array_release(&points);
    return status;
}

static void release(struct plan *plan)
{
    outlook_free(plan->outlook);
    reference_release(&plan->reference);
    dpot_campaign_release(&plan->adjusted);
    campaign_file_release(&plan->file);
    json_decref(plan->spec);
}

static dpot_status run_plan(struct run *run)
{
    struct plan plan = {.run = run};
    dpot_status status = read_options(&plan);
    if (status == DPOT_OK) {
        status = load(&plan);
    }
    if (status == DPOT_OK) {
        status = predict(&plan);
    }
    if (status == DPOT_OK) {
        warn_of_size(&plan);
        plan_put_result(&plan);
        status = write_points(&plan);
    }
    release(&plan);
    return status;
}

const struct command command_plan = {
    .name = "plan",
    .summary = "the error that a campaign will have, before anything is spent",
    .details =
        "Index campaigns (wpm, kpm, exponential): histogram_l1 and histogram_tv are the distance\n"
        "of the histogram of reports from the law of the reports (sampling noise);\n"
        "point_standard_error {mean, max} is that of one frequency; w1 and w2 are the exact W_1\n"
        "and W_2 between histogram and true population, in the campaign's metric, including the\n"
        "bias of the mechanism. The default reference is uniform over the domain.\n"
        "Vector campaigns (laplace, gaussian): mean_l2 and mean_coordinate are the l2 error of\n"
        "the mean vector and the absolute error of one coordinate; noise and spread are standard\n"
        "deviations of one coordinate of one report, coordinate_standard_error that of the mean;\n"
        "clipped is the share of the reference outside the set. On a sphere (wpm): the same for\n"
        "the mean of any unit vectors, with noise, contraction, expected_cost and\n"
        "optimal_cost.\n\n"
        "Each error is {mean, lower, upper, bias}: in 95 of 100 campaigns the error lies between\n"
        "lower and upper; bias remains at any n. With --crowd fixed the first N devices of\n"
        "--reference (default: all) are those that report, as in dpot simulate.\n\n"
        "--target-error X solves for the smallest n (w1, w2 and mean: within 1 %), or with\n"
        "--vary epsilon for the smallest epsilon of the SPEC in thousandths (spec_epsilon), such\n"
        "that the mean of the error named by --error is at most X; exit code 2, with the lowest\n"
        "error, if none exists. Other keys: n, mechanism, epsilon, delta, rho (gaussian),\n"
        "metric, draws, assumptions; solved, target, target_error.",
    .example = "dpot plan --campaign census.json --n 100000",
    .options = options,
    .run = run_plan,
};
