#include "unit/mechanism/campaigns.h"

#include "mechanism/baselines.h"
#include "mechanism/ground.h"
#include "mechanism/sampler.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define SIZE_MAX_HERE 4096

static void set_numbers(struct dpot_campaign *campaign, struct campaign_numbers numbers)
{
    double m[SIZE_MAX_HERE], sum = 0;
    const uint32_t size = campaign->output.size;
    struct dpot_error error = {{0}};
    cr_assert_leq(size, SIZE_MAX_HERE);
    campaign->revision = 1;
    memcpy(campaign->name, "test", 5);
    campaign->mechanism = DPOT_MECHANISM_WPM;
    cr_assert_eq(dpot_epsilon_from_double(numbers.epsilon, &campaign->epsilon_q32), DPOT_OK);
    campaign->lambda = numbers.lambda;
    campaign->iterations = numbers.iterations;
    campaign->n_max = numbers.n_max;
    campaign->rounds = 1;
    campaign->opens_ms = 1000;
    campaign->closes_ms = 2000;
    for (uint32_t j = 0; j < size; j++) {
        m[j] = numbers.is_skewed ? exp2(j) : 1;
        sum += m[j];
    }
    const double epsilon = dpot_epsilon_to_double(campaign->epsilon_q32);
    for (uint32_t j = 0; j < size; j++) {
        m[j] *= exp(numbers.mass * epsilon / 2) / sum;
    }
    campaign->base_measure.mass_code = dpot_alloc_array(NULL, size, sizeof(uint32_t));
    cr_assert_eq(
        dpot_base_measure_encode(m, size, campaign->epsilon_q32, &campaign->base_measure, &error),
        DPOT_OK, "%s", error.text);
}

struct dpot_campaign campaign_on_ring(uint32_t size, struct campaign_numbers numbers)
{
    struct dpot_campaign campaign = {
        .output_is_domain = true, .metric = {DPOT_METRIC_RING, size}, .cost_power = 1};
    cr_assert_eq(dpot_domain_init_ring(&campaign.domain, size, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_copy(&campaign.output, &campaign.domain), DPOT_OK);
    set_numbers(&campaign, numbers);
    return campaign;
}

void campaign_resize_ring(struct dpot_campaign *campaign, uint32_t size)
{
    dpot_domain_release(&campaign->domain);
    dpot_domain_release(&campaign->output);
    cr_assert_eq(dpot_domain_init_ring(&campaign->domain, size, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_ring(&campaign->output, size, NULL), DPOT_OK);
    campaign->metric.ring_size = size;
    campaign->base_measure.mass_code =
        dpot_resize_array(NULL, campaign->base_measure.mass_code, campaign->base_measure.size, size,
                          sizeof(uint32_t));
    campaign->base_measure.size = size;
    for (uint32_t j = 0; j < size; j++) {
        campaign->base_measure.mass_code[j] = 1;
    }
}

struct dpot_campaign campaign_on_line(uint32_t size, const double *points, uint32_t output_size,
                                      const double *output, double cost_power,
                                      struct campaign_numbers numbers)
{
    struct dpot_campaign campaign = {.metric = {DPOT_METRIC_EUCLIDEAN, 0},
                                     .cost_power = cost_power};
    cr_assert_eq(dpot_domain_init_points(&campaign.domain, size, 1, points, NULL, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_points(&campaign.output, output_size, 1, output, NULL, NULL),
                 DPOT_OK);
    set_numbers(&campaign, numbers);
    return campaign;
}

void campaign_be_exact(struct dpot_campaign *campaign)
{
    campaign->solver = DPOT_SOLVER_EXACT;
    campaign->lambda = 0;
    campaign->iterations = 0;
}

struct dpot_campaign campaign_on_sphere(uint32_t dim, uint32_t n_directions, double cost_power,
                                        struct campaign_numbers numbers)
{
    struct dpot_campaign campaign = {.metric = {DPOT_METRIC_EUCLIDEAN, 0},
                                     .cost_power = cost_power};
    cr_assert_eq(dpot_domain_init_sphere(&campaign.domain, dim, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_directions(&campaign.output, n_directions, dim, NULL), DPOT_OK);
    set_numbers(&campaign, numbers);
    campaign.solver = DPOT_SOLVER_EXACT;
    return campaign;
}

static void ground_row(void *ctx, size_t i, double *row)
{
    dpot_ground_row(ctx, (uint32_t)i, row);
}

void campaign_become(struct dpot_campaign *campaign, enum dpot_mechanism_id mechanism,
                     bool with_own_measure)
{
    double m[SIZE_MAX_HERE];
    struct dpot_ground ground = {0};
    const uint32_t size = campaign->output.size;
    const struct dpot_cost_rows cost = {campaign->domain.size, size, ground_row, &ground};
    const double epsilon = dpot_epsilon_to_double(campaign->epsilon_q32);
    campaign->mechanism = mechanism;
    campaign->lambda = 0;
    campaign->iterations = 0;
    for (uint32_t j = 0; j < size; j++) {
        m[j] = dpot_kpm_mass(epsilon, size);
    }
    if (mechanism == DPOT_MECHANISM_EXPONENTIAL) {
        cr_assert_eq(dpot_ground_init(&ground, campaign, NULL, NULL), DPOT_OK);
        cr_assert_eq(dpot_exponential_sensitivity(&cost, NULL, &campaign->sensitivity, NULL),
                     DPOT_OK);
        cr_assert_eq(dpot_exponential_base_measure(&cost, epsilon / (2 * campaign->sensitivity),
                                                   NULL, m, NULL),
                     DPOT_OK);
        dpot_ground_release(&ground);
    }
    if (with_own_measure) {
        cr_assert_eq(
            dpot_base_measure_encode(m, size, campaign->epsilon_q32, &campaign->base_measure, NULL),
            DPOT_OK);
    }
}

struct dpot_private_measure private_measure_of(const struct dpot_campaign *campaign,
                                               const double *histogram)
{
    double scratch[SIZE_MAX_HERE];
    struct dpot_private_measure measure;
    cr_assert_leq(campaign->domain.size, SIZE_MAX_HERE);
    memcpy(scratch, histogram, campaign->domain.size * sizeof *scratch);
    cr_assert_eq(dpot_private_measure_init(&measure, campaign->n_max, NULL), DPOT_OK);
    dpot_private_measure_set(&measure, scratch, campaign->domain.size);
    return measure;
}

struct dpot_privatizer *new_privatizer(const struct dpot_campaign *campaign)
{
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_mechanism_check_campaign(campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(dpot_privatizer_new(campaign, NULL, &privatizer, &error), DPOT_OK, "%s",
                 error.text);
    return privatizer;
}

void assert_law(const struct dpot_campaign *campaign, const uint64_t *weights)
{
    uint64_t lower[64], upper[64], sum = 0;
    cr_assert_eq(
        dpot_bounds_compute(&campaign->base_measure, campaign->epsilon_q32, lower, upper, NULL),
        DPOT_OK);
    for (uint32_t j = 0; j < campaign->output.size; j++) {
        cr_assert_leq(lower[j], weights[j]);
        cr_assert_leq(weights[j], upper[j]);
        sum += weights[j]; /* at most 3 outputs could reach 2^64, which the bounds exclude */
    }
    cr_assert_eq(sum, DPOT_MASS_ONE);
}

void assert_allocations_may_fail(const struct dpot_campaign *campaign)
{
    dpot_status status = DPOT_ERR_MEMORY;
    for (size_t n = 1; status != DPOT_OK; n++) {
        struct test_allocator allocator;
        struct dpot_privatizer *privatizer = NULL;
        struct dpot_error error = {{0}};
        cr_assert_lt(n, 100);
        test_allocator_init(&allocator);
        test_allocator_fail_at(&allocator, n);
        status = dpot_privatizer_new(campaign, &allocator.allocator, &privatizer, &error);
        cr_assert(status == DPOT_OK || status == DPOT_ERR_MEMORY);
        cr_assert_eq(status == DPOT_OK, privatizer != NULL);
        cr_assert(status == DPOT_OK || error.text[0] != '\0');
        dpot_privatizer_free(privatizer);
        cr_assert_eq(allocator.bytes, 0);
    }
}
