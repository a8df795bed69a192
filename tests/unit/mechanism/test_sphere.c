/* The mechanism on a sphere: its law is a spherical cap, its guarantees hold for any vectors, and
 * campaigns that it cannot serve are refused before data are read. */
#include "base/crypto.h"
#include "base/rng_seeded.h"
#include "mechanism/codebook.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "support/allocator.h"
#include "unit/mechanism/campaigns.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define DIM 5
#define COUNT 60

static const struct campaign_numbers usual = {.epsilon = 2, .n_max = 1};
static const uint8_t report_id[DPOT_REPORT_ID_LEN] = {1, 2, 3, 4, 5, 6, 7, 8};

static void read_law(const struct dpot_campaign *campaign, const double *data, size_t n,
                     uint64_t weights[COUNT])
{
    struct dpot_privatizer *privatizer = new_privatizer(campaign);
    struct dpot_private_points points;
    cr_assert_eq(dpot_private_points_init(&points, campaign->n_max, campaign->domain.dim, NULL),
                 DPOT_OK);
    dpot_private_points_set(&points, data, NULL, n, 0);
    dpot_privatizer_law_points(privatizer, &points, report_id, weights);
    dpot_private_points_release(&points);
    dpot_privatizer_free(privatizer);
}

/* <x, v_j> for every direction j. */
static void read_dots(const struct dpot_campaign *campaign, const double *x, double dots[COUNT])
{
    struct dpot_codebook codebook;
    double direction[DIM];
    dpot_codebook_init(&codebook, campaign, report_id);
    for (uint32_t j = 0; j < COUNT; j++) {
        dpot_codebook_direction(&codebook, j, direction);
        dots[j] = 0;
        for (size_t i = 0; i < DIM; i++) {
            dots[j] += x[i] * direction[i];
        }
    }
}

Test(sphere, the_nearest_directions_have_the_upper_probability_and_the_others_the_lower)
{
    const double x[DIM] = {.3, -.2, .1, 0, .9};
    for (int power = 1; power <= 3; power++) {
        struct dpot_campaign campaign = campaign_on_sphere(DIM, COUNT, power, usual);
        uint64_t weights[COUNT], lower[COUNT], upper[COUNT], sum = 0;
        double dots[COUNT], least_upper = 2, most_lower = -2;
        size_t n_upper = 0, n_between = 0;
        cr_assert_eq(
            dpot_bounds_compute(&campaign.base_measure, campaign.epsilon_q32, lower, upper, NULL),
            DPOT_OK);
        read_law(&campaign, x, 1, weights);
        read_dots(&campaign, x, dots);
        for (size_t j = 0; j < COUNT; j++) {
            /* Rounding to integers may move the last units to any output. */
            const bool is_upper = upper[j] - weights[j] < 1u << 20;
            const bool is_lower = weights[j] - lower[j] < 1u << 20;
            n_upper += is_upper;
            n_between += !is_upper && !is_lower;
            least_upper = is_upper ? fmin(least_upper, dots[j]) : least_upper;
            most_lower = is_lower ? fmax(most_lower, dots[j]) : most_lower;
            sum += weights[j];
        }
        cr_assert_eq(sum, DPOT_MASS_ONE);
        cr_assert_leq(n_between, 1);
        cr_assert_gt(least_upper, most_lower);
        /* e^1 n + e^-1 (60 - n) = 60 */
        cr_assert_eq(n_upper, 16);
        dpot_campaign_release(&campaign);
    }
}

Test(sphere, a_vector_counts_by_its_direction_alone)
{
    struct dpot_campaign campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    const double one[DIM] = {1, 2, -1, 0, .5};
    double other[DIM];
    uint64_t law[COUNT], same[COUNT];
    for (size_t i = 0; i < DIM; i++) {
        other[i] = one[i] * 0x1p-1000;
    }
    read_law(&campaign, one, 1, law);
    read_law(&campaign, other, 1, same);
    cr_assert_arr_eq(law, same, sizeof law);
    dpot_campaign_release(&campaign);
}

Test(sphere, invalid_vectors_count_as_the_first_axis)
{
    struct dpot_campaign campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    const double axis[DIM] = {1};
    const double none[][DIM] = {{0},         {NAN, 1},           {1, 2, 3, 4, INFINITY},
                                {-INFINITY}, {0, 0, 0, 0, -NAN}, {-0.0}};
    uint64_t law[COUNT], other[COUNT];
    read_law(&campaign, axis, 1, law);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        read_law(&campaign, none[i], 1, other);
        cr_assert_arr_eq(law, other, sizeof law);
    }
    read_law(&campaign, NULL, 0, other);
    cr_assert_arr_eq(law, other, sizeof law);
    dpot_campaign_release(&campaign);
}

Test(sphere, a_report_comes_from_the_law_of_its_own_id)
{
    struct dpot_campaign campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    struct dpot_privatizer *privatizer = new_privatizer(&campaign);
    struct dpot_private_points points;
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    uint64_t weights[COUNT];
    size_t n_near = 0;
    const double x[DIM] = {1, 1, 1, 1, 1};
    cr_assert_eq(dpot_private_points_init(&points, 1, DIM, NULL), DPOT_OK);
    dpot_private_points_set(&points, x, NULL, 1, 0);
    dpot_rng_seeded_init(&seeded, 7, 0);
    dpot_rng_init(&rng, &seeded.source);
    for (uint32_t n = 0; n < 2000; n++) {
        struct dpot_report report = {.id = {(uint8_t)n, (uint8_t)(n >> 8)}};
        dpot_privatizer_run_points(privatizer, &points, &rng, &report);
        dpot_privatizer_law_points(privatizer, &points, report.id, weights);
        cr_assert_lt(report.index, COUNT);
        n_near += weights[report.index] > DPOT_MASS_ONE / COUNT;
    }
    /* The upper probability is e / 60 on each of 16 directions: .7248 in total; sigma is .01. */
    cr_assert_float_eq((double)n_near / 2000, .7248, .05);
    dpot_rng_release(&rng);
    dpot_private_points_release(&points);
    dpot_privatizer_free(privatizer);
    dpot_campaign_release(&campaign);
}

Test(sphere, a_law_of_several_vectors_lies_in_the_bounds_and_goes_to_all_of_them)
{
    const double data[2 * DIM] = {1, 0, 0, 0, 0, -1, 0, 0, 0, 0};
    struct campaign_numbers numbers = usual;
    numbers.n_max = 3;
    struct dpot_campaign campaign = campaign_on_sphere(DIM, COUNT, 1, numbers);
    uint64_t weights[COUNT], lower[COUNT], upper[COUNT], sum = 0;
    double dots[COUNT], near = 0, far = 0;
    cr_assert_eq(
        dpot_bounds_compute(&campaign.base_measure, campaign.epsilon_q32, lower, upper, NULL),
        DPOT_OK);
    read_law(&campaign, data, 2, weights);
    read_dots(&campaign, data, dots);
    for (size_t j = 0; j < COUNT; j++) {
        cr_assert(lower[j] <= weights[j] && weights[j] <= upper[j]);
        sum += weights[j];
        const int is_high = weights[j] > DPOT_MASS_ONE / COUNT;
        near += is_high && dots[j] > 0;
        far += is_high && dots[j] < 0;
    }
    cr_assert_eq(sum, DPOT_MASS_ONE);
    cr_assert_geq(near, 6);
    cr_assert_geq(far, 6);
    dpot_campaign_release(&campaign);
}

Test(sphere, with_sample_first_one_vector_is_drawn_and_reported_as_a_point)
{
    const double data[2 * DIM] = {1, 0, 0, 0, 0, -1, 0, 0, 0, 0};
    struct campaign_numbers numbers = usual;
    numbers.n_max = 2;
    struct dpot_campaign campaign = campaign_on_sphere(DIM, COUNT, 1, numbers);
    campaign.sample_first = true;
    struct dpot_privatizer *privatizer = new_privatizer(&campaign);
    struct dpot_private_points points;
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    double dots[COUNT];
    size_t n_high = 0;
    uint64_t first[COUNT], second[COUNT];
    cr_assert_eq(dpot_private_points_init(&points, 2, DIM, NULL), DPOT_OK);
    dpot_private_points_set(&points, data, NULL, 2, 0);
    read_law(&campaign, data, 1, first);
    read_law(&campaign, data + DIM, 1, second);
    read_dots(&campaign, data, dots);
    dpot_rng_seeded_init(&seeded, 8, 0);
    dpot_rng_init(&rng, &seeded.source);
    for (size_t n = 0; n < 2000; n++) {
        struct dpot_report report = {.index = 0};
        memcpy(report.id, report_id, sizeof report.id);
        dpot_privatizer_run_points(privatizer, &points, &rng, &report);
        n_high += first[report.index] > DPOT_MASS_ONE / COUNT;
    }
    /* Half of the reports are drawn for the first vector; sigma is .011. */
    double share = 0;
    for (size_t j = 0; j < COUNT; j++) {
        const double mixed = ((double)first[j] + (double)second[j]) / 2 / (double)DPOT_MASS_ONE;
        share += first[j] > DPOT_MASS_ONE / COUNT ? mixed : 0;
    }
    cr_assert_float_eq((double)n_high / 2000, share, .07);
    dpot_rng_release(&rng);
    dpot_private_points_release(&points);
    dpot_privatizer_free(privatizer);
    dpot_campaign_release(&campaign);
}

static void expect_refused(struct dpot_campaign *campaign, const char *word)
{
    struct dpot_error error = {{0}};
    cr_assert_neq(dpot_mechanism_check_campaign(campaign, &error), DPOT_OK, "%s", word);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
    dpot_campaign_release(campaign);
}

Test(sphere, a_campaign_that_it_cannot_serve_is_refused_by_what_is_wrong)
{
    struct dpot_campaign campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    campaign.mechanism = DPOT_MECHANISM_KPM;
    expect_refused(&campaign, "kpm");
    campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    campaign.metric.id = DPOT_METRIC_COSINE;
    expect_refused(&campaign, "cosine");
    campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    campaign.base_measure.mass_code[7]--;
    expect_refused(&campaign, "mass code 7");
    campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    campaign.n_max = DPOT_EXACT_N_MAX_MAX + 1;
    expect_refused(&campaign, "n_max is 65");
    campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    campaign.solver = DPOT_SOLVER_ENTROPIC;
    expect_refused(&campaign, "exact");
    campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    campaign.lambda = 1;
    expect_refused(&campaign, "lambda");
    campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    campaign.iterations = 1;
    expect_refused(&campaign, "iterations");
    campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    campaign.output.dim = DIM + 1;
    expect_refused(&campaign, "coordinates");
    campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    campaign.output_is_domain = true;
    expect_refused(&campaign, "output");
    campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    campaign.domain.type = DPOT_DOMAIN_DIRECTIONS;
    campaign.domain.size = COUNT;
    expect_refused(&campaign, "together");
    campaign = campaign_on_sphere(DIM, COUNT, 1, usual);
    campaign.domain.size = 3;
    expect_refused(&campaign, "3");
}

Test(sphere, a_campaign_that_asks_for_too_much_work_or_memory_is_refused)
{
    struct campaign_numbers numbers = usual;
    numbers.n_max = 64;
    struct dpot_campaign campaign = campaign_on_sphere(4096, 4096, 1, numbers);
    expect_refused(&campaign, "at most 16");
    struct dpot_domain domain;
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_domain_init_directions(&domain, 16385, 4096, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "16384"), "%s", error.text);
    cr_assert_eq(dpot_domain_init_sphere(&domain, 1, &error), DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_domain_init_sphere(&domain, 4097, &error), DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_domain_init_directions(&domain, 1, 2, &error), DPOT_ERR_TOO_LARGE);
}

Test(sphere, memory_is_what_was_said_before_and_every_failed_allocation_is_survived)
{
    struct campaign_numbers numbers = usual;
    numbers.n_max = 3;
    struct dpot_campaign campaign = campaign_on_sphere(DIM, COUNT, 1, numbers);
    struct test_allocator t;
    struct dpot_privatizer *privatizer = NULL;
    dpot_status status = DPOT_ERR_MEMORY;
    size_t n_failures = 0;
    for (size_t n = 1; status == DPOT_ERR_MEMORY; n++) {
        test_allocator_init(&t);
        test_allocator_fail_at(&t, n);
        status = dpot_privatizer_new(&campaign, &t.allocator, &privatizer, NULL);
        n_failures += status == DPOT_ERR_MEMORY;
        cr_assert(status == DPOT_OK || (privatizer == NULL && t.bytes == 0));
    }
    cr_assert_eq(status, DPOT_OK);
    cr_assert_gt(n_failures, 8);
    cr_assert_eq(t.bytes, dpot_privatizer_bytes(&campaign));
    dpot_privatizer_free(privatizer);
    cr_assert_eq(t.bytes, 0);
    dpot_campaign_release(&campaign);
}
