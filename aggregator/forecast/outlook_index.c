/* Index campaigns: campaigns are simulated from the exact laws of their reports.
 *
 * The reports of a crowd drawn from the reference are independent with the law q = sum_t share_t
 * law_t, so their counts are multinomial. The counts of a fixed crowd are drawn device by device.
 * The mean l1 error of a drawn crowd has a formula: sum_j E |N_j / n - q_j| of binomial counts. */
#include "forecast/outlook.h"

#include "base/alloc.h"
#include "forecast/channel.h"
#include "forecast/distance.h"
#include "forecast/variates.h"
#include "solve/run/workers.h"

#include <math.h>
#include <string.h>

#define DRAWS_MOST 999
#define WORK_BUDGET 3e8             /* cost entries read over all draws */
#define FIXED_MAX ((size_t)1 << 27) /* stored counts of a fixed crowd */
/* random streams of devices, disjoint from those of draws */
#define FIXED_STREAM ((uint64_t)1 << 62)
#define SCRATCH_COSTS ((size_t)1 << 27) /* of all threads together: 1 GiB */
#define N_DISTANCES 2

struct scratch {
    double *counts;    /* (kv) */
    double *histogram; /* (kv) */
    struct distance_scratch distances[N_DISTANCES];
};

struct index_outlook {
    struct outlook base;
    const struct reference *reference; /* borrowed */
    struct reference points;           /* used instead if devices first draw one of their points */
    size_t kv;
    double *reported;   /* (kv) q */
    double *variance;   /* (kv) per report */
    double *cumulative; /* (kv) partial sums of q, or of the law of one device */
    uint32_t *fixed;    /* (n_draws, kv) counts of a fixed crowd */
    struct distance distances[N_DISTANCES];
    struct scratch *scratches; /* (n_workers) */
    size_t n_workers;
    double *errors[N_FIGURES]; /* (n_draws) */
    double n;                  /* of the current forecast */
};

static bool has_figure(const struct index_outlook *o, enum figure_id figure)
{
    return (o->base.figures & 1u << figure) != 0;
}

static enum figure_id figure_of(size_t distance)
{
    return distance == 0 ? FIGURE_W1 : FIGURE_W2;
}

/* ---- memory ---- */

static void scratch_release(struct scratch *scratch, size_t kv)
{
    dpot_free_array(NULL, scratch->counts, kv, sizeof(double));
    dpot_free_array(NULL, scratch->histogram, kv, sizeof(double));
    for (size_t i = 0; i < N_DISTANCES; i++) {
        distance_scratch_release(&scratch->distances[i]);
    }
}

static void close_index(struct outlook *outlook)
{
    struct index_outlook *o = (struct index_outlook *)outlook;
    for (size_t w = 0; o->scratches && w < o->n_workers; w++) {
        scratch_release(&o->scratches[w], o->kv);
    }
    for (size_t i = 0; i < N_DISTANCES; i++) {
        distance_release(&o->distances[i]);
    }
    for (size_t f = 0; f < N_FIGURES; f++) {
        dpot_free_array(NULL, o->errors[f], o->base.n_draws, sizeof(double));
    }
    dpot_free_array(NULL, o->scratches, o->n_workers, sizeof *o->scratches);
    dpot_free_array(NULL, o->fixed, o->base.n_draws * o->kv, sizeof *o->fixed);
    dpot_free_array(NULL, o->reported, o->kv, sizeof *o->reported);
    dpot_free_array(NULL, o->variance, o->kv, sizeof *o->variance);
    dpot_free_array(NULL, o->cumulative, o->kv, sizeof *o->cumulative);
    reference_release(&o->points);
}

static dpot_status scratch_init(const struct index_outlook *o, struct scratch *scratch,
                                struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    scratch->counts = dpot_alloc_array(NULL, o->kv, sizeof(double));
    scratch->histogram = dpot_alloc_array(NULL, o->kv, sizeof(double));
    if (!scratch->counts || !scratch->histogram) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; status == DPOT_OK && i < N_DISTANCES; i++) {
        if (has_figure(o, figure_of(i))) {
            status = distance_scratch_init(&scratch->distances[i], &o->distances[i], error);
        }
    }
    return status;
}

/* Limited by memory: every thread needs a copy of the costs. */
static size_t choose_workers(const struct index_outlook *o)
{
    size_t n_costs = 1;
    for (size_t i = 0; i < N_DISTANCES; i++) {
        const struct distance *d = &o->distances[i];
        n_costs += d->is_line ? 0 : d->n_rows * d->n_cols;
    }
    const size_t most = SCRATCH_COSTS / n_costs > 0 ? SCRATCH_COSTS / n_costs : 1;
    return o->base.config.n_threads < most ? o->base.config.n_threads : most;
}

static dpot_status allocate(struct index_outlook *o)
{
    const bool is_fixed = o->base.config.is_fixed;
    o->n_workers = choose_workers(o);
    o->reported = dpot_alloc_array(NULL, o->kv, sizeof *o->reported);
    o->variance = dpot_alloc_array(NULL, o->kv, sizeof *o->variance);
    o->cumulative = dpot_alloc_array(NULL, o->kv, sizeof *o->cumulative);
    o->scratches = dpot_alloc_array(NULL, o->n_workers, sizeof *o->scratches);
    o->fixed = dpot_alloc_array(NULL, is_fixed ? o->base.n_draws * o->kv : 0, sizeof *o->fixed);
    bool is_complete = o->reported && o->variance && o->cumulative && o->scratches && o->fixed;
    for (size_t f = 0; f < N_FIGURES; f++) {
        o->errors[f] = dpot_alloc_array(NULL, o->base.n_draws, sizeof(double));
        is_complete = is_complete && o->errors[f];
    }
    dpot_status status = is_complete ? DPOT_OK : DPOT_ERR_MEMORY;
    for (size_t w = 0; status == DPOT_OK && w < o->n_workers; w++) {
        status = scratch_init(o, &o->scratches[w], o->base.error);
    }
    return status;
}

/* ---- set-up ---- */

/* W_1 and W_2, if wanted and small enough to compute. */
static dpot_status open_distances(struct index_outlook *o)
{
    const struct dpot_campaign *campaign = o->base.campaign;
    const double *truth = o->reference->truth;
    dpot_status status = DPOT_OK;
    o->base.figures = 1u << FIGURE_HISTOGRAM;
    for (size_t i = 0; status == DPOT_OK && i < N_DISTANCES; i++) {
        const unsigned bit = 1u << figure_of(i);
        if ((o->base.config.wanted & bit) != 0 && distance_fits(campaign, truth)) {
            o->base.figures |= bit;
            status =
                distance_init(&o->distances[i], campaign, truth, (double)(i + 1), o->base.error);
        }
    }
    return status;
}

/* Entries read by one draw: all costs of each distance, and its counts. */
static double work_of_a_draw(const struct index_outlook *o)
{
    double work = (double)o->kv;
    for (size_t i = 0; i < N_DISTANCES; i++) {
        const struct distance *d = &o->distances[i];
        work +=
            d->is_line ? (double)(d->n_rows + d->n_cols) : (double)d->n_rows * (double)d->n_cols;
    }
    return work;
}

static dpot_status choose_draws(struct index_outlook *o)
{
    const size_t wanted = o->base.config.n_draws;
    o->base.n_draws =
        wanted > 0 ? wanted : outlook_choose_draws(work_of_a_draw(o), WORK_BUDGET, DRAWS_MOST);
    if (o->base.config.is_fixed && o->base.n_draws > FIXED_MAX / o->kv) {
        return dpot_error_set(o->base.error, DPOT_ERR_TOO_LARGE,
                              "%zu draws of %zu output points are too many for --crowd fixed: ask "
                              "for at most %zu (--draws)",
                              o->base.n_draws, o->kv, FIXED_MAX / o->kv);
    }
    return DPOT_OK;
}

static void accumulate(const double *law, size_t kv, double *cumulative)
{
    double sum = 0;
    for (size_t j = 0; j < kv; j++) {
        sum += law[j];
        cumulative[j] = sum;
    }
}

/* Draws one report of a device of the fixed crowd for each simulated campaign. */
static void draw_reports(struct index_outlook *o, size_t member, const double *law)
{
    struct variates variates;
    accumulate(law, o->kv, o->cumulative);
    variates_init(&variates, o->base.config.seed, FIXED_STREAM + member);
    for (size_t b = 0; b < o->base.n_draws; b++) {
        const double u = variates_uniform(&variates);
        o->fixed[b * o->kv + variates_pick(o->cumulative, o->kv, u)]++;
    }
    variates_release(&variates);
}

static void take_law(void *ctx, size_t member, const double *law)
{
    struct index_outlook *o = ctx;
    for (size_t j = 0; j < o->kv; j++) {
        o->reported[j] += o->reference->share[member] * law[j];
        o->variance[j] += o->reference->share[member] * law[j] * (1 - law[j]); /* fixed crowd */
    }
    if (o->base.config.is_fixed) {
        draw_reports(o, member, law);
    }
}

static dpot_status find_biases(struct index_outlook *o)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < N_DISTANCES; i++) {
        if (has_figure(o, figure_of(i))) {
            status = distance_measure(&o->distances[i], &o->scratches[0].distances[i], o->reported,
                                      &o->base.bias[figure_of(i)], o->base.error);
        }
    }
    return status;
}

static void set_shares(struct index_outlook *o)
{
    for (size_t j = 0; !o->base.config.is_fixed && j < o->kv; j++) {
        o->variance[j] = o->reported[j] * fmax(1 - o->reported[j], 0);
    }
    o->base.reported = o->reported;
    o->base.variance = o->variance;
}

static dpot_status open_index(struct outlook *outlook, const struct reference *reference)
{
    struct index_outlook *o = (struct index_outlook *)outlook;
    dpot_status status = DPOT_OK;
    o->kv = outlook->campaign->output.size;
    o->reference = reference;
    if (o->base.campaign->sample_first && !o->base.config.is_fixed) {
        status = reference_spread(reference, &o->points);
        o->reference = &o->points;
    }
    if (status == DPOT_OK) {
        status = open_distances(o);
    }
    if (status == DPOT_OK) {
        status = choose_draws(o);
    }
    if (status == DPOT_OK) {
        status = allocate(o);
    }
    if (status == DPOT_OK) {
        status = channel_laws(o->base.campaign, o->reference, o->base.config.n_threads,
                              &o->base.config.control, take_law, o, o->base.error);
    }
    if (status == DPOT_OK) {
        accumulate(o->reported, o->kv, o->cumulative);
        set_shares(o);
        status = find_biases(o);
    }
    return status;
}

/* ---- forecasts ---- */

static void draw_counts(const struct index_outlook *o, size_t draw, double *counts)
{
    struct variates variates;
    if (o->base.config.is_fixed) {
        for (size_t j = 0; j < o->kv; j++) {
            counts[j] = o->fixed[draw * o->kv + j];
        }
        return;
    }
    variates_init(&variates, o->base.config.seed, draw);
    variates_multinomial(&variates, o->n, o->reported, o->cumulative, o->kv, counts);
    variates_release(&variates);
}

static dpot_status draw_campaign(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    struct index_outlook *o = ctx;
    struct scratch *scratch = &o->scratches[worker];
    dpot_status status = DPOT_OK;
    double l1 = 0;
    draw_counts(o, item, scratch->counts);
    for (size_t j = 0; j < o->kv; j++) {
        scratch->histogram[j] = scratch->counts[j] / o->n;
        l1 += fabs(scratch->histogram[j] - o->reported[j]);
    }
    o->errors[FIGURE_HISTOGRAM][item] = l1;
    for (size_t i = 0; status == DPOT_OK && i < N_DISTANCES; i++) {
        if (has_figure(o, figure_of(i))) {
            status = distance_measure(&o->distances[i], &scratch->distances[i], scratch->histogram,
                                      &o->errors[figure_of(i)][item], error);
        }
    }
    return status;
}

/* sum_j E |N_j / n - q_j| */
static double mean_l1(const struct index_outlook *o, double n)
{
    double l1 = 0;
    for (size_t j = 0; j < o->kv; j++) {
        l1 += forecast_mean_deviation(n, o->reported[j]);
    }
    return l1;
}

static dpot_status draw_campaigns(struct index_outlook *o, struct forecast *forecast)
{
    struct outlook *outlook = &o->base;
    const dpot_status status = workers_run(outlook->n_draws, o->n_workers, draw_campaign, o,
                                           &outlook->config.control, outlook->error);
    for (size_t f = 0; status == DPOT_OK && f < N_FIGURES; f++) {
        if ((outlook->figures & 1u << f) != 0) {
            figure_from_draws(&forecast->figures[f], o->errors[f], outlook->n_draws);
            forecast->figures[f].bias = outlook->bias[f];
        }
    }
    return status;
}

static dpot_status forecast_index(struct outlook *outlook, double n, struct forecast *forecast)
{
    struct index_outlook *o = (struct index_outlook *)outlook;
    const bool is_drawn = !outlook->config.is_fixed;
    const bool is_formula =
        is_drawn && outlook->config.is_mean_enough && outlook->figures == 1u << FIGURE_HISTOGRAM;
    o->n = n;
    const dpot_status status = is_formula ? DPOT_OK : draw_campaigns(o, forecast);
    if (status == DPOT_OK && is_drawn) {
        forecast->figures[FIGURE_HISTOGRAM].mean = mean_l1(o, n);
    }
    return status;
}

const struct outlook_class outlook_index = {.size = sizeof(struct index_outlook),
                                            .open = open_index,
                                            .close = close_index,
                                            .forecast = forecast_index};
