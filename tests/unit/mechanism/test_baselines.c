#include "base/rng_seeded.h"
#include "mechanism/baselines.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "support/allocator.h"
#include "unit/mechanism/campaigns.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#define RING 6
#define N_BASELINES 2

static const enum dpot_mechanism_id baselines[] = {DPOT_MECHANISM_KPM, DPOT_MECHANISM_EXPONENTIAL};
static const struct campaign_numbers usual = {.epsilon = 2, .n_max = 4};

static struct dpot_campaign baseline_on_ring(size_t baseline)
{
    struct dpot_campaign campaign = campaign_on_ring(RING, usual);
    campaign_become(&campaign, baselines[baseline], true);
    return campaign;
}

/* The law of a device whose measure is `histogram`, as doubles. */
static void read_law(const struct dpot_campaign *campaign, const double *histogram, double *q)
{
    uint64_t weights[64];
    struct dpot_privatizer *privatizer = new_privatizer(campaign);
    struct dpot_private_measure measure = private_measure_of(campaign, histogram);
    dpot_privatizer_law(privatizer, &measure, weights);
    for (uint32_t j = 0; j < campaign->output.size; j++) {
        q[j] = (double)weights[j] / (double)DPOT_MASS_ONE;
    }
    dpot_private_measure_release(&measure);
    dpot_privatizer_free(privatizer);
}

static double l1_to(const double *q, const json_t *reference)
{
    double l1 = 0;
    for (size_t j = 0; j < json_array_size(reference); j++) {
        l1 += fabs(q[j] - json_number_value(json_array_get(reference, j)));
    }
    return l1;
}

static void read_numbers(const json_t *array, double *out)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        out[i] = json_number_value(json_array_get(array, i));
    }
}

Test(kpm, its_law_is_that_of_the_reference)
{
    json_t *golden = json_load_file(DPOT_TEST_DATA "/golden/wpm/p01_ring30_s0.json", 0, NULL);
    cr_assert_not_null(golden);
    const json_t *input = json_object_get(golden, "input");
    const json_t *reference = json_object_get(golden, "reference");
    const struct campaign_numbers numbers = {
        .epsilon = json_number_value(json_object_get(input, "eps")), .n_max = 30};
    double mu[64] = {0}, q[64];
    read_numbers(json_object_get(input, "mu"), mu);
    struct dpot_campaign campaign = campaign_on_ring(30, numbers);
    campaign_become(&campaign, DPOT_MECHANISM_KPM, true);
    read_law(&campaign, mu, q);
    cr_assert_leq(l1_to(q, json_object_get(reference, "kpm_q")), 1e-12);
    cr_assert_leq(
        fabs(dpot_kpm_mass(numbers.epsilon, 30) -
             json_number_value(json_array_get(json_object_get(reference, "kpm_base"), 7))),
        1e-15);
    dpot_campaign_release(&campaign);
    json_decref(golden);
}

/* Listed points of two coordinates. */
static void read_points(const json_t *rows, struct dpot_domain *domain)
{
    double points[128];
    cr_assert_leq(json_array_size(rows), 64);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        read_numbers(json_array_get(rows, i), points + 2 * i);
    }
    cr_assert_eq(
        dpot_domain_init_points(domain, (uint32_t)json_array_size(rows), 2, points, NULL, NULL),
        DPOT_OK);
}

static struct dpot_campaign exponential_campaign_of(const json_t *test)
{
    const struct campaign_numbers numbers = {
        .epsilon = json_number_value(json_object_get(test, "eps")), .n_max = 64};
    const json_t *cost = json_object_get(test, "cost");
    const uint32_t size = (uint32_t)json_array_size(json_object_get(cost, "V"));
    struct dpot_campaign campaign = campaign_on_ring(size, numbers);
    dpot_domain_release(&campaign.domain);
    dpot_domain_release(&campaign.output);
    read_points(json_object_get(cost, "X"), &campaign.domain);
    read_points(json_object_get(cost, "V"), &campaign.output);
    campaign.output_is_domain = false;
    campaign.metric = (struct dpot_metric){DPOT_METRIC_EUCLIDEAN, 0};
    campaign.cost_power = json_number_value(json_object_get(cost, "p"));
    campaign_become(&campaign, DPOT_MECHANISM_EXPONENTIAL, true);
    return campaign;
}

/* With the mechanism's own base measure the polytope must not change the law of a mixture. */
Test(exponential, its_law_is_that_of_the_reference)
{
    json_t *golden = json_load_file(DPOT_TEST_DATA "/golden/wpm/e01_expmech.json", 0, NULL);
    cr_assert_not_null(golden);
    const json_t *tests = json_object_get(json_object_get(golden, "reference"), "tests");
    cr_assert_eq(json_array_size(tests), 6);
    for (size_t t = 0; t < json_array_size(tests); t++) {
        const json_t *test = json_array_get(tests, t);
        double mu[64] = {0}, q[64];
        struct dpot_campaign campaign = exponential_campaign_of(test);
        const double sensitivity = json_number_value(json_object_get(test, "sens"));
        cr_assert_float_eq(campaign.sensitivity, sensitivity, 1e-14);
        read_numbers(json_object_get(test, "mu"), mu);
        read_law(&campaign, mu, q);
        const double l1 = l1_to(q, json_object_get(test, "q"));
        cr_assert_leq(l1, 1e-12, "test %zu: %g", t, l1);
        dpot_campaign_release(&campaign);
    }
    json_decref(golden);
}

Test(baselines, a_valid_campaign_is_charged_its_epsilon)
{
    for (size_t b = 0; b < N_BASELINES; b++) {
        struct dpot_campaign campaign = baseline_on_ring(b);
        cr_assert_eq(dpot_mechanism_get(baselines[b])->id, baselines[b]);
        cr_assert_eq(dpot_mechanism_check_campaign(&campaign, NULL), DPOT_OK);
        cr_assert_eq(dpot_mechanism_charge(&campaign).epsilon_q32, 2 * DPOT_EPSILON_ONE);
        cr_assert_eq(dpot_mechanism_charge(&campaign).delta_q64, 0);
        campaign.base_measure.total = DPOT_MASS_ONE / 8; /* below e^-2 of it */
        cr_assert_eq(dpot_mechanism_check_campaign(&campaign, NULL), DPOT_ERR_INFEASIBLE);
        dpot_campaign_release(&campaign);
    }
}

Test(kpm, an_output_other_than_the_domain_is_refused)
{
    const double points[] = {0, 1, 2}, same[] = {0, 1, 2}, other[] = {0, 1, 3};
    struct dpot_error error = {{0}};
    struct dpot_campaign campaign = campaign_on_line(3, points, 3, other, 1, usual);
    campaign_become(&campaign, DPOT_MECHANISM_KPM, true);
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(error.text, "output must be the same"), "%s", error.text);
    dpot_campaign_release(&campaign);
    campaign = campaign_on_line(3, points, 3, same, 1, usual);
    campaign_become(&campaign, DPOT_MECHANISM_KPM, true);
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_OK, "%s", error.text);
    dpot_campaign_release(&campaign);
}

Test(baselines, every_allocation_may_fail_and_nothing_leaks)
{
    for (size_t b = 0; b < N_BASELINES; b++) {
        struct dpot_campaign campaign = baseline_on_ring(b);
        campaign.sample_first = true;
        assert_allocations_may_fail(&campaign);
        dpot_campaign_release(&campaign);
    }
}

static void run_without_memory(const struct dpot_campaign *campaign,
                               struct dpot_privatizer *privatizer, struct test_allocator *allocator)
{
    const double histogram[RING] = {1, 0, 2, 0, 0, 1};
    struct dpot_private_measure measure = private_measure_of(campaign, histogram);
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    dpot_rng_seeded_init(&seeded, 1, 1);
    dpot_rng_init(&rng, &seeded.source);
    test_allocator_fail_at(allocator, 1);
    const size_t n_calls = allocator->n_calls;
    for (size_t i = 0; i < 50; i++) {
        struct dpot_report report = {.group = 3, .test = true, .index = UINT32_MAX};
        dpot_privatizer_run(privatizer, &measure, &rng, &report);
        cr_assert_lt(report.index, RING);
        cr_assert(report.group == 3 && report.test, "only the index is set");
    }
    cr_assert_eq(allocator->n_calls, n_calls);
    dpot_rng_release(&rng);
    dpot_private_measure_release(&measure);
}

Test(baselines, they_need_the_memory_that_was_checked_and_none_to_run)
{
    for (size_t i = 0; i < 2 * N_BASELINES; i++) {
        struct dpot_campaign campaign = baseline_on_ring(i / 2);
        struct test_allocator allocator;
        struct dpot_privatizer *privatizer = NULL;
        campaign.sample_first = i % 2;
        test_allocator_init(&allocator);
        cr_assert_eq(dpot_privatizer_new(&campaign, &allocator.allocator, &privatizer, NULL),
                     DPOT_OK);
        cr_assert_eq(allocator.bytes, dpot_privatizer_bytes(&campaign));
        run_without_memory(&campaign, privatizer, &allocator);
        dpot_privatizer_free(privatizer);
        cr_assert_eq(allocator.bytes, 0);
        dpot_campaign_release(&campaign);
    }
}

static void expect_lawful(const struct dpot_campaign *campaign, const uint64_t *weights)
{
    uint64_t lower[RING], upper[RING], sum = 0;
    cr_assert_eq(
        dpot_bounds_compute(&campaign->base_measure, campaign->epsilon_q32, lower, upper, NULL),
        DPOT_OK);
    for (uint32_t j = 0; j < RING; j++) {
        cr_assert(lower[j] <= weights[j] && weights[j] <= upper[j]);
        sum += weights[j];
    }
    cr_assert_eq(sum, DPOT_MASS_ONE);
}

Test(baselines, a_shorter_or_invalid_measure_does_no_harm)
{
    const double wild[] = {NAN, -1, INFINITY, 1e308, 0, 5e-324, -INFINITY};
    for (size_t i = 0; i < 8 * N_BASELINES; i++) {
        struct dpot_campaign campaign = baseline_on_ring(i / 8);
        struct dpot_privatizer *privatizer = new_privatizer(&campaign);
        struct dpot_private_measure measure;
        uint64_t weights[RING];
        const size_t size = i % 8;
        cr_assert_eq(dpot_private_measure_init(&measure, size, NULL), DPOT_OK);
        for (size_t r = 0; r < size; r++) {
            measure.measure.support[r] = r % 2 ? UINT32_MAX : (uint32_t)r;
            measure.measure.weights[r] = wild[(r + size) % 7];
        }
        dpot_privatizer_law(privatizer, &measure, weights);
        expect_lawful(&campaign, weights);
        dpot_private_measure_release(&measure);
        dpot_privatizer_free(privatizer);
        dpot_campaign_release(&campaign);
    }
}

#define N_DRAWS 20000

/* Pearson's statistic with 5 degrees of freedom exceeds 37 with probability below 1e-6. */
static void expect_draws_to_fit(struct dpot_privatizer *privatizer,
                                const struct dpot_private_measure *measure, const double *q)
{
    size_t counts[RING] = {0};
    double statistic = 0;
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    dpot_rng_seeded_init(&seeded, 20260101, 7);
    dpot_rng_init(&rng, &seeded.source);
    for (size_t i = 0; i < N_DRAWS; i++) {
        struct dpot_report report = {0};
        dpot_privatizer_run(privatizer, measure, &rng, &report);
        counts[report.index]++;
    }
    for (size_t j = 0; j < RING; j++) {
        const double diff = (double)counts[j] - N_DRAWS * q[j];
        statistic += diff * diff / (N_DRAWS * q[j]);
    }
    cr_assert_lt(statistic, 37, "chi-square is %g", statistic);
    dpot_rng_release(&rng);
}

Test(baselines, reports_follow_the_law_or_with_sample_first_the_mixture_of_laws)
{
    const double histogram[RING] = {.5, 0, .375, 0, 0, .125};
    for (size_t i = 0; i < 2 * N_BASELINES; i++) {
        struct dpot_campaign campaign = baseline_on_ring(i / 2);
        double q[RING], mixture[RING] = {0};
        campaign.sample_first = i % 2;
        read_law(&campaign, histogram, q);
        for (size_t x = 0; x < RING && campaign.sample_first; x++) {
            double dirac[RING] = {0};
            dirac[x] = 1;
            read_law(&campaign, dirac, q);
            for (size_t j = 0; j < RING; j++) {
                mixture[j] += histogram[x] * q[j];
            }
        }
        struct dpot_privatizer *privatizer = new_privatizer(&campaign);
        struct dpot_private_measure measure = private_measure_of(&campaign, histogram);
        expect_draws_to_fit(privatizer, &measure, campaign.sample_first ? mixture : q);
        dpot_private_measure_release(&measure);
        dpot_privatizer_free(privatizer);
        dpot_campaign_release(&campaign);
    }
}

/* Rows of a small matrix. */
struct matrix {
    size_t n_cols;
    const double *values;
};

static void matrix_row(void *ctx, size_t i, double *row)
{
    const struct matrix *matrix = ctx;
    memcpy(row, matrix->values + i * matrix->n_cols, matrix->n_cols * sizeof *row);
}

static void refuse_costs(const double values[4], const char *word)
{
    struct matrix matrix = {2, values};
    const struct dpot_cost_rows cost = {2, 2, matrix_row, &matrix};
    struct dpot_error error = {{0}};
    double sensitivity = 0;
    cr_assert_eq(dpot_exponential_sensitivity(&cost, NULL, &sensitivity, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
}

Test(exponential, costs_without_a_finite_difference_are_refused)
{
    refuse_costs((const double[]){1, 2, 1, 2}, "differ between inputs by 0");
    refuse_costs((const double[]){1, 2, 1, INFINITY}, "input point 1 is not finite");
    refuse_costs((const double[]){NAN, 2, 1, 2}, "input point 0 is not finite");
    refuse_costs((const double[]){-1e308, 2, 1e308, 2}, "by inf at most");
}

Test(exponential, the_law_of_every_point_mass_lies_in_the_polytope_of_its_own_base_measure)
{
    const double values[] = {0, 1, 9, 1, 0, 4, 3, 3, 0, 7, 2, 2};
    struct matrix matrix = {3, values};
    const struct dpot_cost_rows cost = {4, 3, matrix_row, &matrix};
    for (double epsilon = .01; epsilon < 21; epsilon *= 2) {
        double sensitivity, m[3], q[3];
        cr_assert_eq(dpot_exponential_sensitivity(&cost, NULL, &sensitivity, NULL), DPOT_OK);
        cr_assert_eq(sensitivity, 9);
        const double rate = epsilon / (2 * sensitivity);
        cr_assert_eq(dpot_exponential_base_measure(&cost, rate, NULL, m, NULL), DPOT_OK);
        for (size_t i = 0; i < 4; i++) {
            matrix_row(&matrix, i, q);
            dpot_exponential_law(rate, q, 3);
            for (size_t j = 0; j < 3; j++) {
                cr_assert_leq(q[j], m[j] * exp(epsilon / 2) * (1 + 1e-12));
                cr_assert_geq(q[j], m[j] * exp(-epsilon / 2) * (1 - 1e-12));
            }
        }
    }
}

Test(exponential, mean_costs_of_nan_get_no_mass)
{
    double q[] = {0, NAN, INFINITY, log(2)}, none[] = {NAN, INFINITY};
    dpot_exponential_law(1, q, 4);
    cr_assert_float_eq(q[0], 2.0 / 3, 1e-15);
    cr_assert_eq(q[1], 0);
    cr_assert_eq(q[2], 0);
    cr_assert_float_eq(q[3], 1.0 / 3, 1e-15);
    dpot_exponential_law(1, none, 2);
    cr_assert(none[0] == 0 && none[1] == 0);
}
