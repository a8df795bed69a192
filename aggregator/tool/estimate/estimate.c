/* dpot estimate: the distribution of a population from a pool of indices.
 *
 * Frequencies: the share of reports that name each output point, an unbiased estimate of the mean
 * report, which the mechanism has moved towards the base measure. Maximum likelihood, if reports
 * come through a known channel (pool/channel.h): the distribution of people's places, from a given
 * start. Post-processing of private reports: it costs no privacy. */
#include "tool/estimate/estimate.h"

#include "base/alloc.h"
#include "tool/estimate/estimate_sphere.h"
#include "tool/shared/commands.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/provenance.h"
#include "tool/shared/revision.h"
#include "json/side_file.h"

#include <math.h>
#include <string.h>

#define RESAMPLES_DEFAULT 200
#define RESAMPLES_MIN 20 /* fewer give no interval */
#define RESAMPLES_MAX 100000
#define LEVEL_DEFAULT 0.95

static const struct option options[] = {
    {"campaign", "FILE|ID", "the campaign of the pool"},
    {"pool", "F", "indices of the reports (n,), on a sphere directions (n, dim), from dpot pool"},
    {"method", "frequency|likelihood|mean",
     "default likelihood with sample_first, else frequency; mean on a sphere"},
    {"init", "F", "likelihood: initial weights (k,) (default: equal)"},
    {"normalize", NULL, "scale the weights of --init to sum 1"},
    {"bootstrap", "N 0..100000",
     "resamples for the intervals: 0 for none, or 20 and more (default 200)"},
    {"confidence", "C [0.01,0.999]", "of the intervals (default 0.95)"},
    {"out", "F",
     "the estimate, (kv,), (k,) or (dim,); F.json has standard errors, intervals and prior"},
    {"revision", "N 1..4294967295",
     "with an ID: this revision, not the one devices get; needs the admin token"},
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    CAMPAIGN_PIN_OPTION,
    {NULL, NULL, NULL},
};

static dpot_status read_options(struct estimate *e, const char **campaign)
{
    struct run *run = e->run;
    const char *method = option_text(run, "method");
    uint64_t n_resamples = RESAMPLES_DEFAULT;
    e->level = LEVEL_DEFAULT;
    dpot_status status = option_require(run, "campaign", "the campaign of the pool", campaign);
    if (status == DPOT_OK) {
        status = option_require(run, "pool", "a file of indices", &e->pool_path);
    }
    if (status == DPOT_OK && method && strcmp(method, "frequency") != 0 &&
        strcmp(method, "likelihood") != 0 && strcmp(method, "mean") != 0) {
        status = RUN_USAGE(
            run, "--method is %.40s: choose frequency, likelihood or, on a sphere, mean", method);
    }
    if (status == DPOT_OK && method && strcmp(method, "frequency") == 0 &&
        option_is_given(run, "init")) {
        status =
            RUN_USAGE(run, "--init is for --method likelihood: frequencies start from nothing");
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "bootstrap", 0, RESAMPLES_MAX, &n_resamples);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "confidence", 0.01, 0.999, &e->level);
    }
    if (status == DPOT_OK) {
        status = option_require_array_output(run, "out", "a file for the estimate", &e->out_path);
    }
    e->n_resamples = (size_t)n_resamples;
    return status;
}

/* Without --method the campaign decides. */
static dpot_status choose_method(struct estimate *e)
{
    const char *method = option_text(e->run, "method");
    e->kv = e->file.campaign.output.size;
    if (method && strcmp(method, "mean") == 0) {
        return RUN_USAGE(e->run,
                         "--method mean is for campaigns on a sphere, whose reports stand for "
                         "vectors: choose frequency or likelihood");
    }
    e->is_likelihood = method ? strcmp(method, "likelihood") == 0 : e->file.campaign.sample_first;
    if (!e->is_likelihood && option_is_given(e->run, "init")) {
        return RUN_USAGE(e->run,
                         "--init is for --method likelihood, and this campaign does not say "
                         "sample_first: give --method likelihood too");
    }
    if (e->n_resamples > 0 && e->n_resamples < RESAMPLES_MIN) {
        return RUN_USAGE(e->run,
                         "--bootstrap is %zu: give at least %d, of fewer resamples there is no "
                         "interval; or 0 for none",
                         e->n_resamples, RESAMPLES_MIN);
    }
    return DPOT_OK;
}

static dpot_status check_pool(struct estimate *e, const struct array *array)
{
    struct run *run = e->run;
    if (array->n_cols != 1) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--pool %s has %zu columns: a pool of indices has one", e->pool_path,
                              array->n_cols);
    }
    for (size_t i = 0; i < array->n_rows; i++) {
        const double x = array->values[i];
        if (!(x >= 0 && x < (double)e->kv && x == floor(x))) {
            return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                  "--pool %s: report %zu is %g: the output points are 0 to %zu",
                                  e->pool_path, i + 1, x, e->kv - 1);
        }
    }
    if (array->n_rows < e->file.campaign.min_pool) {
        return RUN_FAIL(run, EXIT_CODE_NOT_READY, DPOT_ERR_NOT_OPEN,
                        "the pool has %zu of %llu report%s: wait until it reaches the campaign's "
                        "min_pool",
                        array->n_rows, (unsigned long long)e->file.campaign.min_pool,
                        DPOT_S(e->file.campaign.min_pool));
    }
    return DPOT_OK;
}

dpot_status estimate_check_count(struct estimate *e, size_t n_rows)
{
    struct run *run = e->run;
    int64_t n = 0;
    if (!e->pool_side) {
        return DPOT_OK;
    }
    const dpot_status status =
        json_get_integer(e->pool_side, "", "n", 0, INT64_MAX, &n, &run->error);
    if (status == DPOT_ERR_NOT_FOUND) {
        return DPOT_OK;
    }
    if (status != DPOT_OK) {
        return dpot_error_prefix(&run->error, status, "--pool %.120s: its side file", e->pool_path);
    }
    return (uint64_t)n == n_rows
               ? DPOT_OK
               : dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                                "--pool %.100s has %zu report%s, and %.100s.json says %lld: export "
                                "both again",
                                e->pool_path, n_rows, DPOT_S(n_rows), e->pool_path, (long long)n);
}

static dpot_status load_pool(struct estimate *e)
{
    struct array array;
    dpot_status status = load_array(e->run, "pool", &array);
    if (status != DPOT_OK) {
        return status;
    }
    status = estimate_check_count(e, array.n_rows);
    if (status == DPOT_OK) {
        status = check_pool(e, &array);
    }
    if (status == DPOT_OK) {
        e->n = array.n_rows;
        e->pool = dpot_alloc_array(NULL, e->n, sizeof *e->pool);
        status = e->pool ? DPOT_OK : DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; status == DPOT_OK && i < e->n; i++) {
        e->pool[i] = (uint32_t)array.values[i];
    }
    array_release(&array);
    return status;
}

/* ---- frequencies ---- */

/* Sets the prior to the normalised base measure, the report without data; true if it is uniform. */
static bool take_base_measure(struct estimate *e)
{
    const struct dpot_base_measure *base = &e->file.campaign.base_measure;
    double total = 0;
    bool is_uniform = true;
    for (size_t j = 0; j < e->kv; j++) {
        total += (double)base->mass_code[j];
        is_uniform = is_uniform && base->mass_code[j] == base->mass_code[0];
    }
    for (size_t j = 0; j < e->kv; j++) {
        e->prior.values[j] = (double)base->mass_code[j] / total;
    }
    e->prior_is = "base measure";
    return is_uniform;
}

static dpot_status count_frequencies(struct estimate *e)
{
    dpot_status status = array_init(&e->values, e->kv, 1, true);
    if (status == DPOT_OK) {
        status = array_init(&e->prior, e->kv, 1, true);
    }
    if (status != DPOT_OK) {
        return status;
    }
    for (size_t i = 0; i < e->n; i++) {
        e->values.values[e->pool[i]] += 1;
    }
    for (size_t j = 0; j < e->kv; j++) {
        e->values.values[j] /= (double)e->n;
    }
    const bool is_uniform = take_base_measure(e);
    if (e->file.campaign.sample_first) {
        run_warn(
            e->run,
            "the devices of this campaign sample one place first: --method likelihood corrects "
            "for the mechanism's known channel, frequencies are nearer to the base measure than "
            "the population is");
    } else if (!is_uniform) {
        run_warn(
            e->run,
            "the base measure is not uniform and pulls these frequencies towards itself: compare "
            "them with the prior in the side file, which is that measure");
    }
    return DPOT_OK;
}

/* ---- results ---- */

void estimate_put_revision(const struct estimate *e, json_t *object)
{
    char hash[2 * DPOT_HASH_LEN + 1];
    json_t *side_hash = json_object_get(e->pool_side, "campaign_hash");
    json_t *side_revision = json_object_get(e->pool_side, "revision");
    dpot_hex_encode(hash, e->file.hash, sizeof e->file.hash);
    (void)json_object_set_new(object, "campaign_hash",
                              e->file.is_signed ? json_string(hash)
                              : side_hash       ? json_incref(side_hash)
                                                : json_null());
    (void)json_object_set_new(object, "revision",
                              e->file.is_signed
                                  ? json_integer((json_int_t)e->file.campaign.revision)
                              : side_revision ? json_incref(side_revision)
                                              : json_null());
}

/* The L1 distance, in [0, 2]. */
static double distance_from_prior(const struct estimate *e)
{
    double sum = 0;
    for (size_t i = 0; i < e->values.n_rows; i++) {
        sum += fabs(e->values.values[i] - e->prior.values[i]);
    }
    return sum;
}

json_t *estimate_list(const struct array *array)
{
    json_t *list = json_array();
    for (size_t i = 0; i < array->n_rows; i++) {
        const double x = array->values[i];
        (void)json_array_append_new(list, isnan(x) ? json_null() : json_number(x));
    }
    return list;
}

/* Keys of both the result on stdout and the side file. */
static void put_method(const struct estimate *e, json_t *object)
{
    (void)json_object_set_new(object, "method",
                              json_string(e->is_likelihood ? "likelihood" : "frequency"));
    (void)json_object_set_new(object, "is_corrected", json_boolean(e->is_likelihood));
    (void)json_object_set_new(object, "prior_is", json_string(e->prior_is));
    (void)json_object_set_new(object, "prior_distance", json_number(distance_from_prior(e)));
    if (e->is_likelihood) {
        (void)json_object_set_new(object, "outcome",
                                  json_string(solve_outcome_name(e->em.outcome)));
        (void)json_object_set_new(object, "iterations", json_integer((json_int_t)e->em.iterations));
        (void)json_object_set_new(object, "log_likelihood", json_number(e->em.log_likelihood));
        (void)json_object_set_new(object, "headroom", json_number(e->em.headroom));
    }
    if (e->is_likelihood && e->n_resamples > 0) {
        (void)json_object_set_new(object, "determined", json_integer((json_int_t)e->n_determined));
    }
}

static dpot_status write_side_file(struct estimate *e)
{
    json_t *side = json_object();
    put_method(e, side);
    estimate_put_revision(e, side);
    (void)json_object_set_new(side, "n", json_integer((json_int_t)e->n));
    (void)json_object_set_new(side, "kv", json_integer((json_int_t)e->kv));
    (void)json_object_set_new(side, "bootstrap", json_integer((json_int_t)e->n_resamples));
    (void)json_object_set_new(side, "prior", estimate_list(&e->prior));
    if (e->n_resamples > 0) {
        (void)json_object_set_new(side, "standard_error", estimate_list(&e->errors));
        (void)json_object_set_new(side, "lower", estimate_list(&e->lower));
        (void)json_object_set_new(side, "upper", estimate_list(&e->upper));
        (void)json_object_set_new(side, "level", json_real(e->level));
    }
    const dpot_status status =
        side ? side_file_write(e->out_path, side, &e->run->error) : DPOT_ERR_MEMORY;
    json_decref(side);
    return status;
}

static void put_result(struct estimate *e)
{
    run_put_integer(e->run, "n", e->n);
    run_put_integer(e->run, "kv", e->kv);
    put_method(e, e->run->result);
    estimate_put_revision(e, e->run->result);
    run_put_integer(e->run, "min_pool", e->file.campaign.min_pool);
    run_put_integer(e->run, "bootstrap", e->n_resamples);
}

/* For campaigns whose reports name points. */
static dpot_status estimate_points(struct estimate *e)
{
    dpot_status status = choose_method(e);
    if (status == DPOT_OK) {
        status = provenance_check(e->run, &e->file, "pool", e->pool_path, &e->pool_side);
    }
    if (status == DPOT_OK) {
        status = load_pool(e);
    }
    if (status == DPOT_OK) {
        status = e->is_likelihood ? estimate_likelihood(e) : count_frequencies(e);
    }
    if (status == DPOT_OK && e->n_resamples > 0) {
        status = estimate_intervals(e);
    }
    if (status == DPOT_OK) {
        status = array_write(e->out_path, &e->values, ARRAY_F8, &e->run->error);
    }
    if (status == DPOT_OK) {
        put_result(e);
        status = write_side_file(e);
    }
    return status;
}

static dpot_status estimate_directions(struct estimate *e)
{
    const dpot_status status =
        provenance_check(e->run, &e->file, "pool", e->pool_path, &e->pool_side);
    return status == DPOT_OK ? estimate_sphere(e) : status;
}

static dpot_status run_estimate(struct run *run)
{
    struct estimate e = {.run = run};
    const char *campaign = NULL;
    dpot_status status = read_options(&e, &campaign);
    if (status == DPOT_OK) {
        status = campaign_file_load(run, campaign, &e.file);
    }
    if (status == DPOT_OK) {
        status = dpot_campaign_is_sphere(&e.file.campaign) ? estimate_directions(&e)
                                                           : estimate_points(&e);
    }
    estimate_release_parts(&e);
    dpot_free_array(NULL, e.pool, e.n, sizeof *e.pool);
    json_decref(e.pool_side);
    campaign_file_release(&e.file);
    return status;
}

const struct command command_estimate = {
    .name = "estimate",
    .summary = "the distribution of a population from a pool of indices",
    .details =
        "frequency: the share of reports that name each output point, not corrected for the\n"
        "mechanism (is_corrected is false), with bootstrap percentile intervals.\n"
        "likelihood: the distribution of people's places that makes the reports most likely. It\n"
        "needs a known channel: a campaign with sample_first, or with n_max 1. EM starts from\n"
        "equal weights, or --init, and stops when a step gains less than .05 nats, so that the\n"
        "estimate depends on its start. The intervals do not: they are those of the unbiased\n"
        "linear inverse, and 0 to 1 where the channel does not determine a point (standard_error\n"
        "null, with a warning; determined counts the other points). The side file F.json has\n"
        "standard_error, lower, upper, and prior, the estimate without reports (the start; for\n"
        "frequencies the base measure).\n"
        "mean (campaigns on a sphere): the mean of the users' unit vectors, from the directions\n"
        "that reports name, divided by the campaign's contraction, so that it is unbiased\n"
        "(is_corrected). With n_max above 1 and no sample_first there is no such factor, and the\n"
        "plain mean is written. Keys: n, dim, method, is_corrected, contraction, length (of the\n"
        "estimate; the prior has 0), users_total_error and total_error: the l2 standard error\n"
        "against the mean of those who reported (the noise of the mechanism alone, as in dpot\n"
        "plan; null for a plain mean), and against the population they were drawn from (with the\n"
        "spread between users). F.json has users_standard_error, users_lower and users_upper for\n"
        "the first, standard_error, lower and upper for the second.\n"
        "The campaign must be that of the pool, by its side file: a SPEC by its content, a\n"
        "signed campaign by its revision (--revision N with an ID); otherwise exit code 3. A\n"
        "pool without a side file gets a warning; one with another number of reports than its\n"
        "side file is refused. Exit code 7 below the campaign's min_pool.\n"
        "Keys: n, kv, method, is_corrected, prior_is, prior_distance (L1 from the prior);\n"
        "likelihood: outcome, iterations, log_likelihood, headroom (the maximum is at most that\n"
        "much higher), determined; campaign_hash, revision (null if neither campaign nor pool\n"
        "has it), min_pool, bootstrap.",
    .example = "dpot estimate --campaign campaign.signed --pool pool.npy --out estimate.csv",
    .options = options,
    .run = run_estimate,
};
