/* dpot estimate: the population's distribution from a pool of indices.
 *
 * Raw frequencies: the share of reports that name each output point. That is an unbiased estimate of
 * the mean of what devices report, which the mechanism has moved towards the base measure; its
 * sampling error is given by the bootstrap. Only post-processing of private reports: it costs no
 * privacy. */
#include "tool/commands.h"

#include "base/alloc.h"
#include "base/rng_seeded.h"
#include "tool/campaign_file.h"
#include "tool/load.h"
#include "tool/options.h"
#include "tool/progress.h"
#include "tool/provenance.h"
#include "tool/revision.h"
#include "tool/side_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES_DEFAULT 200
#define RESAMPLES_MAX 100000
#define COUNTS_MAX ((size_t)1 << 27) /* kept for the intervals: resamples x points */
#define LEVEL 0.95

static const struct option options[] = {
    {"campaign", "FILE|ID", "the campaign of the pool"},
    {"pool", "F", "indices of the reports (n,), from dpot pool"},
    {"bootstrap", "B", "resamples for the intervals (default 200; 0: none)"},
    {"out", "F", "frequencies (kv,); F.json holds standard errors and intervals"},
    {"revision", "N", "of an ID: another revision than devices get; needs the admin token"},
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    CAMPAIGN_PIN_OPTION,
    {NULL, NULL, NULL},
};

struct estimate {
    struct run *run;
    const char *pool_path, *out_path;
    struct campaign_file file;
    json_t *pool_side; /* the file beside the pool; NULL without one */
    size_t n, kv, n_resamples;
    uint32_t *pool;         /* (n) */
    struct array frequency; /* (kv) */
    uint32_t *counts;       /* (kv, n_resamples) of the resamples */
    size_t counts_size;
};

static dpot_status read_options(struct estimate *e, const char **campaign)
{
    struct run *run = e->run;
    uint64_t n_resamples = RESAMPLES_DEFAULT;
    dpot_status status = option_require(run, "campaign", "the campaign of the pool", campaign);
    if (status == DPOT_OK) {
        status = option_require(run, "pool", "a file of indices", &e->pool_path);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "bootstrap", 0, RESAMPLES_MAX, &n_resamples);
    }
    if (status == DPOT_OK) {
        status = option_require(run, "out", "a file for the frequencies", &e->out_path);
    }
    e->n_resamples = (size_t)n_resamples;
    return status == DPOT_OK ? option_array_output(run, "out", &e->out_path) : status;
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

/* A pool and a side file of two exports. */
static dpot_status check_count(struct estimate *e, size_t n_rows)
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
    status = check_count(e, array.n_rows);
    if (status == DPOT_OK) {
        status = check_pool(e, &array);
    }
    if (status == DPOT_OK) {
        e->n = array.n_rows;
        e->pool = dpot_alloc_array(NULL, e->n, sizeof *e->pool);
        status = e->pool ? array_init(&e->frequency, e->kv, 1, true) : DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; status == DPOT_OK && i < e->n; i++) {
        e->pool[i] = (uint32_t)array.values[i];
    }
    array_release(&array);
    return status;
}

static dpot_status allocate_counts(struct estimate *e)
{
    if (e->n_resamples > COUNTS_MAX / e->kv) {
        return RUN_USAGE(e->run,
                         "--bootstrap %zu over %zu points is too much to hold: give at most "
                         "%zu",
                         e->n_resamples, e->kv, COUNTS_MAX / e->kv);
    }
    e->counts_size = e->n_resamples * e->kv;
    e->counts = dpot_alloc_array(NULL, e->counts_size, sizeof *e->counts);
    return e->counts ? DPOT_OK : DPOT_ERR_MEMORY;
}

/* With sample_first a report is a draw from one public row per place, so that the share of a place is
 * known to be mixed with those of the others. */
static void warn_of_channel(const struct estimate *e)
{
    if (e->file.campaign.sample_first) {
        run_warn(e->run,
                 "the devices of this campaign sample one place first: the frequencies of their "
                 "reports are not corrected for the mechanism's known channel yet, and are nearer "
                 "to the base measure than the population is");
    }
}

static void count_frequencies(struct estimate *e)
{
    for (size_t i = 0; i < e->n; i++) {
        e->frequency.values[e->pool[i]] += 1;
    }
    for (size_t j = 0; j < e->kv; j++) {
        e->frequency.values[j] /= (double)e->n;
    }
}

/* SplitMix64 (Steele, Lea, Flood 2014): resampling public reports needs speed, not secrecy. */
static uint64_t next_u64(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t first_state(const struct run *run)
{
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    dpot_rng_seeded_init(&seeded, run->seed, 0);
    dpot_rng_init(&rng, run->has_seed ? &seeded.source : &dpot_rng_source_sodium);
    const uint64_t state = dpot_rng_u64(&rng);
    dpot_rng_release(&rng);
    return state;
}

/* Draws n of the n reports with replacement, n_resamples times. */
static void resample(struct estimate *e)
{
    struct progress progress;
    uint64_t state = first_state(e->run);
    progress_init(&progress, e->run, "bootstrap", e->n_resamples);
    for (size_t b = 0; b < e->n_resamples; b++) {
        for (size_t i = 0; i < e->n; i++) {
            /* n <= 2^28 and 32 random bits: the bias is below 2^-4 of one part in 2^28. */
            const size_t pick = (size_t)((next_u64(&state) >> 32) * e->n >> 32);
            e->counts[e->pool[pick] * e->n_resamples + b]++;
        }
        progress_step(&progress, b + 1);
    }
    progress_end(&progress);
}

static int compare_counts(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double standard_error(const uint32_t *counts, size_t n_resamples, double n)
{
    double mean = 0, sum = 0;
    for (size_t b = 0; b < n_resamples; b++) {
        mean += counts[b] / n / (double)n_resamples;
    }
    for (size_t b = 0; b < n_resamples; b++) {
        sum += (counts[b] / n - mean) * (counts[b] / n - mean);
    }
    return n_resamples > 1 ? sqrt(sum / (double)(n_resamples - 1)) : 0;
}

/* Per point: standard error and percentile interval. */
static void put_intervals(struct estimate *e, json_t *side)
{
    json_t *errors = json_array(), *lower = json_array(), *upper = json_array();
    const size_t n_resamples = e->n_resamples;
    const size_t low = (size_t)floor((1 - LEVEL) / 2 * (double)n_resamples);
    for (size_t j = 0; j < e->kv; j++) {
        uint32_t *counts = e->counts + j * n_resamples;
        const double n = (double)e->n;
        qsort(counts, n_resamples, sizeof *counts, compare_counts);
        (void)json_array_append_new(errors, json_number(standard_error(counts, n_resamples, n)));
        (void)json_array_append_new(lower, json_number(counts[low] / n));
        (void)json_array_append_new(upper, json_number(counts[n_resamples - 1 - low] / n));
    }
    (void)json_object_set_new(side, "standard_error", errors);
    (void)json_object_set_new(side, "lower", lower);
    (void)json_object_set_new(side, "upper", upper);
    (void)json_object_set_new(side, "level", json_real(LEVEL));
}

/* Which revision the reports are of: a SPEC has none, but the pool's side file may tell. */
static void put_revision(const struct estimate *e, json_t *object)
{
    char hash[2 * DPOT_HASH_LEN + 1];
    json_t *told_hash = json_object_get(e->pool_side, "campaign_hash");
    json_t *told = json_object_get(e->pool_side, "revision");
    dpot_hex_encode(hash, e->file.hash, sizeof e->file.hash);
    (void)json_object_set_new(object, "campaign_hash",
                              e->file.is_signed ? json_string(hash)
                              : told_hash       ? json_incref(told_hash)
                                                : json_null());
    (void)json_object_set_new(object, "revision",
                              e->file.is_signed
                                  ? json_integer((json_int_t)e->file.campaign.revision)
                              : told ? json_incref(told)
                                     : json_null());
}

static dpot_status write_side_file(struct estimate *e)
{
    json_t *side = json_object();
    (void)json_object_set_new(side, "method", json_string("frequency"));
    (void)json_object_set_new(side, "is_corrected", json_false());
    put_revision(e, side);
    (void)json_object_set_new(side, "n", json_integer((json_int_t)e->n));
    (void)json_object_set_new(side, "kv", json_integer((json_int_t)e->kv));
    (void)json_object_set_new(side, "bootstrap", json_integer((json_int_t)e->n_resamples));
    if (e->n_resamples > 0) {
        put_intervals(e, side);
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
    run_put_text(e->run, "method", "frequency");
    run_put(e->run, "is_corrected", json_false());
    put_revision(e, e->run->result);
    run_put_integer(e->run, "min_pool", e->file.campaign.min_pool);
    run_put_integer(e->run, "bootstrap", e->n_resamples);
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
        e.kv = e.file.campaign.output.size;
        status = provenance_check(run, &e.file, "pool", e.pool_path, &e.pool_side);
    }
    if (status == DPOT_OK) {
        status = load_pool(&e);
    }
    if (status == DPOT_OK && e.n_resamples > 0) {
        status = allocate_counts(&e);
    }
    if (status == DPOT_OK) {
        warn_of_channel(&e);
        count_frequencies(&e);
        resample(&e);
        status = array_write(e.out_path, &e.frequency, ARRAY_F8, &run->error);
    }
    if (status == DPOT_OK) {
        put_result(&e);
        status = write_side_file(&e);
    }
    dpot_free_array(NULL, e.pool, e.n, sizeof *e.pool);
    dpot_free_array(NULL, e.counts, e.counts_size, sizeof *e.counts);
    array_release(&e.frequency);
    json_decref(e.pool_side);
    campaign_file_release(&e.file);
    return status;
}

const struct command command_estimate = {
    .name = "estimate",
    .summary = "the population's distribution from a pool of indices",
    .details =
        "The share of reports that name each output point. F.json beside the output holds the\n"
        "standard error and a 95% percentile interval of every point, from the bootstrap.\n"
        "Frequencies are those of the reports, not corrected for the mechanism (is_corrected is\n"
        "false); campaigns with sample_first, whose channel is known, get a warning.\n"
        "The campaign must be the one of the pool, as its side file tells: a SPEC by what it\n"
        "computes, a signed campaign by its revision (--revision N of an ID; exit code 3).\n"
        "A pool without a side file gets a warning; one whose side file counts another number\n"
        "of reports is refused.\n"
        "Exit code 7 below the campaign's min_pool. Keys: n, kv, method (frequency),\n"
        "is_corrected, campaign_hash, revision (null when neither campaign nor pool tells),\n"
        "min_pool, bootstrap.",
    .example = "dpot estimate --campaign campaign.signed --pool pool.npy --out estimate.csv",
    .options = options,
    .run = run_estimate,
};
