#include "fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

void start_proto_suite(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
}

static void fill_id(uint8_t *id, size_t len, uint8_t first)
{
    for (size_t i = 0; i < len; i++) {
        id[i] = (uint8_t)(first + i);
    }
}

static void make_base_measure(struct dpot_campaign *campaign, uint32_t size)
{
    struct dpot_base_measure *base_measure = &campaign->base_measure;
    base_measure->mass_code =
        dpot_alloc_array(campaign->allocator, size, sizeof *base_measure->mass_code);
    cr_assert_not_null(base_measure->mass_code);
    base_measure->size = size;
    for (uint32_t j = 0; j < size; j++) {
        base_measure->mass_code[j] = UINT32_MAX - 3 * j;
    }
    base_measure->total = UINT64_C(0x3fedcba987654321);
}

static void make_common(struct dpot_campaign *campaign, const struct dpot_allocator *allocator)
{
    *campaign = (struct dpot_campaign){.allocator = allocator,
                                       .revision = 7,
                                       .name = "census-2026",
                                       .mechanism = DPOT_MECHANISM_WPM,
                                       .epsilon_q32 = UINT64_C(2) << 32,
                                       .lambda = 0.1,
                                       .iterations = 300,
                                       .n_max = 32,
                                       .cost_power = 1.5,
                                       .rounds = 4,
                                       .opens_ms = INT64_C(1764547200000),
                                       .closes_ms = INT64_C(1765152000000),
                                       .min_pool = 1000};
    fill_id(campaign->id, sizeof campaign->id, 0xa0);
}

void make_grid_campaign(struct dpot_campaign *campaign, const struct dpot_allocator *allocator)
{
    const double lo[2] = {24.5, -125}, hi[2] = {49.4, -66.9};
    const uint32_t shape[2] = {2, 3};
    make_common(campaign, allocator);
    campaign->metric.id = DPOT_METRIC_HAVERSINE;
    cr_assert_eq(dpot_domain_init_grid(&campaign->domain, 2, lo, hi, shape, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_copy(&campaign->output, &campaign->domain), DPOT_OK);
    campaign->output_is_domain = true;
    make_base_measure(campaign, 6);
}

void make_points_campaign(struct dpot_campaign *campaign, const struct dpot_allocator *allocator)
{
    const double domain[10] = {0.1, -0.0, 1e-308, 5e-324, 1, 2, 3, 4, -1e300, 1.0 / 3};
    const double output[6] = {0, 0, 1, 1, 2.5, -2.5};
    make_common(campaign, allocator);
    campaign->metric.id = DPOT_METRIC_L1;
    cr_assert_eq(dpot_domain_init_points(&campaign->domain, 5, 2, domain, allocator, NULL),
                 DPOT_OK);
    cr_assert_eq(dpot_domain_init_points(&campaign->output, 3, 2, output, allocator, NULL),
                 DPOT_OK);
    make_base_measure(campaign, 3);
    campaign->groups = dpot_alloc_array(allocator, 2, sizeof *campaign->groups);
    cr_assert_not_null(campaign->groups);
    campaign->n_groups = 2;
    memcpy(campaign->groups[0], "north", sizeof "north");
    memset(campaign->groups[1], 'g', DPOT_CAMPAIGN_NAME_MAX);
}

void make_ring_campaign(struct dpot_campaign *campaign, const struct dpot_allocator *allocator)
{
    make_common(campaign, allocator);
    campaign->metric = (struct dpot_metric){DPOT_METRIC_RING, 400};
    cr_assert_eq(dpot_domain_init_ring(&campaign->domain, 400, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_ring(&campaign->output, 400, NULL), DPOT_OK);
    make_base_measure(campaign, 400);
    campaign->simulation = true;
    campaign->sample_first = true;
}

void make_sphere_campaign(struct dpot_campaign *campaign, const struct dpot_allocator *allocator)
{
    make_common(campaign, allocator);
    campaign->metric = (struct dpot_metric){DPOT_METRIC_EUCLIDEAN, 0};
    cr_assert_eq(dpot_domain_init_sphere(&campaign->domain, 7, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_directions(&campaign->output, 90, 7, NULL), DPOT_OK);
    make_base_measure(campaign, 90);
    campaign->lambda = 0;
    campaign->iterations = 0;
    campaign->output_is_domain = false;
    campaign->solver = DPOT_SOLVER_EXACT;
}

static void make_baseline(struct dpot_campaign *campaign, enum dpot_mechanism_id mechanism,
                          double sensitivity)
{
    campaign->mechanism = mechanism;
    campaign->lambda = 0;
    campaign->iterations = 0;
    campaign->sensitivity = sensitivity;
    campaign->sample_first = true;
}

void make_kpm_campaign(struct dpot_campaign *campaign, const struct dpot_allocator *allocator)
{
    make_grid_campaign(campaign, allocator);
    make_baseline(campaign, DPOT_MECHANISM_KPM, 0);
}

void make_exponential_campaign(struct dpot_campaign *campaign,
                               const struct dpot_allocator *allocator)
{
    make_points_campaign(campaign, allocator);
    make_baseline(campaign, DPOT_MECHANISM_EXPONENTIAL, 1.0 / 3);
}

static void expect_same_domain(const struct dpot_domain *a, const struct dpot_domain *b)
{
    cr_assert_eq(a->type, b->type);
    cr_assert_eq(a->dim, b->dim);
    cr_assert_eq(a->size, b->size);
    cr_assert_arr_eq(a->lo, b->lo, sizeof a->lo);
    cr_assert_arr_eq(a->hi, b->hi, sizeof a->hi);
    cr_assert_arr_eq(a->shape, b->shape, sizeof a->shape);
    cr_assert_eq(!a->points, !b->points);
    if (a->points) {
        cr_assert_arr_eq(a->points, b->points, (size_t)a->size * a->dim * sizeof *a->points);
    }
}

static void expect_same_mechanism(const struct dpot_campaign *a, const struct dpot_campaign *b)
{
    cr_assert_eq(a->mechanism, b->mechanism);
    cr_assert_eq(a->epsilon_q32, b->epsilon_q32);
    cr_assert_eq(a->solver, b->solver);
    cr_assert_arr_eq(&a->lambda, &b->lambda, sizeof a->lambda);
    cr_assert_eq(a->iterations, b->iterations);
    cr_assert_eq(a->passes, b->passes);
    cr_assert_arr_eq(&a->sensitivity, &b->sensitivity, sizeof a->sensitivity);
    cr_assert_eq(a->n_max, b->n_max);
    cr_assert_eq(a->sample_first, b->sample_first);
    cr_assert_eq(a->base_measure.total, b->base_measure.total);
    cr_assert_eq(a->base_measure.size, b->base_measure.size);
    cr_assert_arr_eq(a->base_measure.mass_code, b->base_measure.mass_code,
                     a->base_measure.size * sizeof *a->base_measure.mass_code);
}

void expect_same_campaign(const struct dpot_campaign *a, const struct dpot_campaign *b)
{
    cr_assert_arr_eq(a->id, b->id, sizeof a->id);
    cr_assert_eq(a->revision, b->revision);
    cr_assert_str_eq(a->name, b->name);
    expect_same_domain(&a->domain, &b->domain);
    expect_same_domain(&a->output, &b->output);
    cr_assert_eq(a->output_is_domain, b->output_is_domain);
    cr_assert_eq(a->metric.id, b->metric.id);
    cr_assert_eq(a->metric.ring_size, b->metric.ring_size);
    cr_assert_arr_eq(&a->cost_power, &b->cost_power, sizeof a->cost_power);
    expect_same_mechanism(a, b);
    cr_assert_eq(a->rounds, b->rounds);
    cr_assert_eq(a->opens_ms, b->opens_ms);
    cr_assert_eq(a->closes_ms, b->closes_ms);
    cr_assert_eq(a->min_pool, b->min_pool);
    cr_assert_eq(a->n_groups, b->n_groups);
    for (uint32_t i = 0; i < a->n_groups; i++) {
        cr_assert_str_eq(a->groups[i], b->groups[i]);
    }
    cr_assert_eq(a->simulation, b->simulation);
}

void make_signer(struct signer *signer)
{
    dpot_sign_keypair(signer->public_key, signer->secret_key);
}

void make_seal_key(struct dpot_seal_key *seal_key, uint8_t secret_key[DPOT_SEAL_SECRET_LEN],
                   int64_t not_before_ms, int64_t not_after_ms)
{
    dpot_seal_keypair(seal_key->public_key, secret_key);
    dpot_seal_key_id(seal_key->public_key, seal_key->id);
    seal_key->not_before_ms = not_before_ms;
    seal_key->not_after_ms = not_after_ms;
}

void make_batch(struct dpot_batch *batch, size_t n, const struct dpot_allocator *allocator)
{
    *batch = (struct dpot_batch){.round = 3, .n_reports = n, .allocator = allocator};
    fill_id(batch->campaign_hash, sizeof batch->campaign_hash, 0x10);
    batch->reports = dpot_alloc_array(allocator, n, sizeof *batch->reports);
    cr_assert_not_null(batch->reports);
    for (size_t i = 0; i < n; i++) {
        struct dpot_report *report = &batch->reports[i];
        fill_id(report->id, sizeof report->id, (uint8_t)i);
        report->index = (uint32_t)(i * 7919);
        report->group = (uint32_t)(i % 3);
        report->test = i % 2 == 1;
    }
}

static void *resize(void *ctx, void *pointer, size_t old_size, size_t new_size)
{
    struct peak_allocator *peak = ctx;
    peak->held += new_size - old_size;
    peak->peak = peak->held > peak->peak ? peak->held : peak->peak;
    if (new_size == 0) {
        free(pointer);
        return NULL;
    }
    return realloc(pointer, new_size);
}

void peak_allocator_init(struct peak_allocator *peak)
{
    *peak = (struct peak_allocator){.allocator = {resize, NULL}};
    peak->allocator.ctx = peak;
}
