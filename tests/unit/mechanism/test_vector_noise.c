/* Laplace and Gaussian campaigns: which are accepted, what a report costs, what a release contains.
 */
#include "mechanism/vector_noise.h"

#include "base/rng_seeded.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { DIM = 3 };

static struct dpot_campaign base_campaign(enum dpot_mechanism_id id)
{
    return (struct dpot_campaign){
        .revision = 1,
        .name = "noise",
        .metric = {.id = DPOT_METRIC_EUCLIDEAN},
        .cost_power = 1,
        .mechanism = id,
        .rounds = 1,
        .opens_ms = 0,
        .closes_ms = 5000,
        .min_pool = 1,
    };
}

/* l1 ball of radius 512, k = 10: D1 / t = 1. */
static struct dpot_campaign laplace_campaign(void)
{
    struct dpot_campaign campaign = base_campaign(DPOT_MECHANISM_LAPLACE);
    campaign.epsilon_q32 = DPOT_EPSILON_ONE + 1;
    campaign.vector = (struct dpot_vector_domain){.set = DPOT_VECTOR_L1_BALL,
                                                  .dim = DIM,
                                                  .radius = 512,
                                                  .grid_step = 0.25,
                                                  .inverse_step = 4};
    campaign.noise.scale_log2 = 10;
    return campaign;
}

/* The row of epsilon 1, delta 2^-20 covers mu = 0.236: 2 R <= 0.236 * 2^12. */
static struct dpot_campaign gaussian_campaign(void)
{
    struct dpot_campaign campaign = base_campaign(DPOT_MECHANISM_GAUSSIAN);
    campaign.vector = (struct dpot_vector_domain){
        .set = DPOT_VECTOR_L2_BALL, .dim = DIM, .radius = 480, .grid_step = 0.5, .inverse_step = 2};
    campaign.noise.scale_log2 = 12;
    cr_assert_eq(dpot_gauss_row_find(DPOT_EPSILON_ONE, (uint64_t)1 << 44, DIM,
                                     &campaign.noise.certificate_row, NULL),
                 DPOT_OK);
    return campaign;
}

static void expect_refused(const struct dpot_campaign *campaign, dpot_status status,
                           const char *word)
{
    struct dpot_error error = {""};
    cr_assert_eq(dpot_mechanism_check_campaign(campaign, &error), status, "%s", error.text);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
}

Test(vector_noise, a_laplace_campaign_must_cover_the_diameter_with_its_epsilon)
{
    struct dpot_error error = {""};
    struct dpot_campaign campaign = laplace_campaign();
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(dpot_mechanism_charge(&campaign).epsilon_q32, DPOT_EPSILON_ONE + 1);
    cr_assert_eq(dpot_mechanism_charge(&campaign).delta_q64, 0);
    campaign.epsilon_q32 = DPOT_EPSILON_ONE;
    expect_refused(&campaign, DPOT_ERR_EPSILON, "l1 diameter 1024");
    campaign = laplace_campaign();
    campaign.vector.radius = 513;
    expect_refused(&campaign, DPOT_ERR_EPSILON, "l1 diameter 1026");
    campaign = laplace_campaign();
    campaign.epsilon_q32 = ((uint64_t)20 << 32) + 1;
    expect_refused(&campaign, DPOT_ERR_EPSILON, "at most 20");
    campaign.noise.scale_log2 = 0;
    campaign.epsilon_q32 = DPOT_EPSILON_ONE;
    expect_refused(&campaign, DPOT_ERR_RANGE, "scale_log2");
}

Test(vector_noise, above_epsilon_twenty_only_a_simulation_is_accepted)
{
    struct dpot_error error = {""};
    struct dpot_campaign campaign = laplace_campaign();
    campaign.vector.radius = 100 * 512 / 8;
    campaign.noise.scale_log2 = 7;
    campaign.epsilon_q32 = (uint64_t)101 << 32;
    expect_refused(&campaign, DPOT_ERR_EPSILON, "at most 20");
    campaign.simulation = true;
    expect_refused(&campaign, DPOT_ERR_RANGE, "wide"); /* one coordinate may hold the whole ball */
    campaign.vector.radius = 2000;
    campaign.epsilon_q32 = ((uint64_t)32 << 32);
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_OK, "%s", error.text);
}

Test(vector_noise, a_gaussian_campaign_has_the_privacy_of_its_row_and_no_other)
{
    struct dpot_error error = {""};
    struct dpot_campaign campaign = gaussian_campaign();
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_OK, "%s", error.text);
    const struct dpot_privacy cost = dpot_mechanism_charge(&campaign);
    cr_assert_eq(cost.epsilon_q32, DPOT_EPSILON_ONE);
    cr_assert_eq(cost.delta_q64, (uint64_t)1 << 44);
    cr_assert_eq(cost.n_gaussian, DIM);
    /* rho = 960^2 / 2^25, rounded up, plus one unit */
    cr_assert_eq(cost.rho_q32, (uint64_t)960 * 960 * 128 + 1);
    campaign.vector.radius = 500;
    expect_refused(&campaign, DPOT_ERR_EPSILON, "does not cover");
    campaign = gaussian_campaign();
    campaign.noise.certificate_row = dpot_gauss_row_count() + 1;
    expect_refused(&campaign, DPOT_ERR_RANGE, "certificate row");
    campaign = gaussian_campaign();
    campaign.epsilon_q32 = 1;
    expect_refused(&campaign, DPOT_ERR_RANGE, "epsilon");
}

Test(vector_noise, without_a_row_there_is_no_epsilon_to_charge)
{
    struct dpot_error error = {""};
    struct dpot_campaign campaign = gaussian_campaign();
    campaign.noise = (struct dpot_noise_parameters){.scale_log2 = 8};
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_OK, "%s", error.text);
    const struct dpot_privacy cost = dpot_mechanism_charge(&campaign);
    cr_assert_eq(cost.epsilon_q32, UINT64_MAX);
    cr_assert_eq(cost.delta_q64, UINT64_MAX);
    cr_assert_lt(cost.rho_q32, UINT64_MAX);
}

/* rho 8: a diameter of 4 sigma. */
Test(vector_noise, without_a_row_one_report_is_at_most_rho_eight)
{
    struct dpot_error error = {""};
    struct dpot_campaign campaign = gaussian_campaign();
    campaign.noise = (struct dpot_noise_parameters){.scale_log2 = 8};
    campaign.vector.radius = 512;
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(dpot_mechanism_charge(&campaign).rho_q32, 8 * DPOT_EPSILON_ONE + 1);
    campaign.vector.radius = 513;
    expect_refused(&campaign, DPOT_ERR_EPSILON, "rho 8.0");
    campaign.simulation = true;
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_OK, "%s", error.text);
}

/* y - z has mean 0 and the variance of the noise; data outside of the set are released as its edge.
 */
static void expect_moments(struct dpot_campaign campaign, double variance)
{
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_private_vector data;
    int64_t values[DIM];
    struct dpot_report report = {.values = values};
    const int n = 20000;
    double sum[DIM] = {0}, square = 0;
    cr_assert_eq(dpot_private_vector_init(&data, DIM, NULL), DPOT_OK);
    cr_assert_eq(dpot_privatizer_new(&campaign, NULL, &privatizer, NULL), DPOT_OK);
    dpot_rng_seeded_init(&seeded, 7, 0);
    dpot_rng_init(&rng, &seeded.source);
    for (int i = 0; i < n; i++) {
        memcpy(data.values, (const double[DIM]){-1e300, NAN, 0}, sizeof values);
        dpot_privatizer_run_vector(privatizer, &data, &rng, &report);
        cr_assert_eq(report.n_values, DIM);
        for (uint32_t j = 0; j < DIM; j++) {
            int64_t lo = 0, hi = 0;
            dpot_mechanism_value_range(&campaign, j, &lo, &hi);
            cr_assert(values[j] >= lo && values[j] <= hi);
            sum[j] += (double)values[j];
        }
        square += (double)values[2] * (double)values[2];
    }
    const double deviation = sqrt(variance / n);
    cr_assert_float_eq(sum[0] / n, -(double)campaign.vector.radius, 6 * deviation);
    cr_assert_float_eq(sum[1] / n, 0, 6 * deviation);
    cr_assert_float_eq(square / n, variance, 0.1 * variance);
    dpot_rng_release(&rng);
    dpot_private_vector_release(&data);
    dpot_privatizer_free(privatizer);
}

Test(vector_noise, reports_are_the_clipped_vector_and_noise_of_the_stated_scale)
{
    expect_moments(laplace_campaign(), 2.0 * 1024 * 1024);
    expect_moments(gaussian_campaign(), 4096.0 * 4096);
}
