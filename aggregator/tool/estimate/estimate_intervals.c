/* dpot estimate: bootstrap intervals, from reports resampled with replacement. */
#include "tool/estimate/estimate.h"

#include "base/alloc.h"
#include "base/rng_seeded.h"
#include "base/splitmix.h"
#include "solve/estimate/channel_inverse.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"

#include <math.h>
#include <stdlib.h>

#define COUNTS_MAX ((size_t)1 << 27) /* resamples x points */

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

/* Draws n of the n reports with replacement, n_resamples times. The reports are public: a fast
 * generator is enough. */
static void resample(struct estimate *e)
{
    struct progress progress;
    uint64_t state = first_state(e->run);
    progress_init(&progress, e->run, "bootstrap", e->n_resamples);
    for (size_t b = 0; b < e->n_resamples; b++) {
        for (size_t i = 0; i < e->n; i++) {
            /* n <= 2^28 and 32 random bits: the bias is below 2^-4 of one part in 2^28. */
            const size_t pick = (size_t)((splitmix_next(&state) >> 32) * e->n >> 32);
            e->counts[e->pool[pick] * e->n_resamples + b]++;
        }
        progress_step(&progress, b + 1);
    }
    progress_end(&progress);
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double standard_error(const double *draws, size_t n_draws)
{
    double mean = 0, sum = 0;
    for (size_t b = 0; b < n_draws; b++) {
        mean += draws[b] / (double)n_draws;
    }
    for (size_t b = 0; b < n_draws; b++) {
        sum += (draws[b] - mean) * (draws[b] - mean);
    }
    return n_draws > 1 ? sqrt(sum / (double)(n_draws - 1)) : 0;
}

static double share(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Standard error and percentile interval of each value from its draws, which it sorts. */
static void take_intervals(struct estimate *e, double *draws /* (n values, n_resamples) */)
{
    const size_t n = e->n_resamples, low = (size_t)floor((1 - e->level) / 2 * (double)n);
    for (size_t l = 0; l < e->values.n_rows; l++) {
        double *own = draws + l * n;
        e->errors.values[l] = standard_error(own, n);
        qsort(own, n, sizeof *own, compare_numbers);
        e->lower.values[l] = share(own[low]);
        e->upper.values[l] = share(own[n - 1 - low]);
    }
}

/* The law of a report under the estimate, at which the inverse is efficient. */
static double *law_of_estimate(const struct estimate *e)
{
    const size_t k = e->values.n_rows;
    double *law = dpot_alloc_array(NULL, e->kv, sizeof *law);
    if (law) {
        dpot_linalg_openblas()->gemv(DPOT_TRANSPOSE, k, e->kv, 1, e->channel, e->kv,
                                     e->values.values, 0, law);
    }
    return law;
}

/* draws = G shares; points that the channel does not determine get the interval [0, 1]. */
static dpot_status invert_shares(struct estimate *e, const double *shares, double *draws)
{
    const struct dpot_linalg *linalg = dpot_linalg_openblas();
    const size_t k = e->values.n_rows, n = e->n_resamples;
    struct channel_inverse inverse = {0};
    double *law = law_of_estimate(e);
    dpot_status status =
        law ? channel_inverse_init(e->channel, k, e->kv, law, linalg, &inverse, &e->run->error)
            : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, k, n, e->kv, 1, inverse.inverse, e->kv,
                     shares, n, 0, draws, n);
        take_intervals(e, draws);
        e->n_determined = inverse.n_determined;
    }
    for (size_t l = 0; status == DPOT_OK && l < k; l++) {
        if (!inverse.is_determined[l]) {
            e->errors.values[l] = NAN;
            e->lower.values[l] = 0;
            e->upper.values[l] = 1;
        }
    }
    channel_inverse_release(&inverse);
    dpot_free_array(NULL, law, e->kv, sizeof *law);
    return status;
}

static dpot_status summarise(struct estimate *e)
{
    const size_t n = e->n_resamples, k = e->values.n_rows;
    double *shares = dpot_alloc_array(NULL, e->counts_size, sizeof *shares);
    double *draws = e->is_likelihood ? dpot_alloc_array(NULL, k * n, sizeof *draws) : NULL;
    dpot_status status = shares && (draws || !e->is_likelihood) ? DPOT_OK : DPOT_ERR_MEMORY;
    for (size_t c = 0; status == DPOT_OK && c < e->counts_size; c++) {
        shares[c] = (double)e->counts[c] / (double)e->n;
    }
    if (status == DPOT_OK && e->is_likelihood) {
        status = invert_shares(e, shares, draws);
    } else if (status == DPOT_OK) {
        take_intervals(e, shares);
    }
    dpot_free_array(NULL, shares, e->counts_size, sizeof *shares);
    dpot_free_array(NULL, draws, k * n, sizeof *draws);
    return status;
}

/* A channel with nearly dependent rows, such as that of balls, determines regions but not
 * points. */
static void warn_of_undetermined(const struct estimate *e)
{
    const size_t k = e->values.n_rows;
    if (e->is_likelihood && e->n_determined < k) {
        run_warn(e->run,
                 "the reports do not determine the weights of %zu of %zu single points behind this "
                 "campaign's channel (so it is with many a base measure \"ball\"): their intervals "
                 "are 0 to 1, and their values lean on the start; read the estimate as a whole or "
                 "in sums over regions, or choose coarser points or base_measure \"uniform\" in "
                 "the next campaign",
                 k - e->n_determined, k);
    }
}

dpot_status estimate_intervals(struct estimate *e)
{
    const size_t k = e->values.n_rows, widest = k > e->kv ? k : e->kv;
    if (e->n_resamples > COUNTS_MAX / widest) {
        return RUN_USAGE(e->run,
                         "--bootstrap %zu over %zu points is too much to hold: give at most %zu",
                         e->n_resamples, widest, COUNTS_MAX / widest);
    }
    e->counts_size = e->n_resamples * e->kv;
    e->counts = dpot_alloc_array(NULL, e->counts_size, sizeof *e->counts);
    dpot_status status = e->counts ? array_init(&e->errors, k, 1, true) : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status = array_init(&e->lower, k, 1, true);
    }
    if (status == DPOT_OK) {
        status = array_init(&e->upper, k, 1, true);
    }
    if (status == DPOT_OK) {
        resample(e);
        status = summarise(e);
    }
    if (status == DPOT_OK) {
        warn_of_undetermined(e);
    }
    return status;
}

void estimate_release_parts(struct estimate *e)
{
    dpot_free_array(NULL, e->channel, (size_t)e->file.campaign.domain.size * e->kv, sizeof(double));
    dpot_free_array(NULL, e->counts, e->counts_size, sizeof *e->counts);
    channel_em_result_release(&e->em);
    array_release(&e->values);
    array_release(&e->prior);
    array_release(&e->errors);
    array_release(&e->lower);
    array_release(&e->upper);
}
