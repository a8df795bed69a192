#include "base/crypto.h"
#include "base/rng_seeded.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "support/allocator.h"
#include "unit/mechanism/campaigns.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define RING 6

static const struct campaign_numbers usual = {
    .epsilon = 2, .lambda = .2, .iterations = 100, .n_max = 4};

Test(wpm, a_valid_campaign_passes_and_is_charged_its_epsilon)
{
    struct dpot_campaign campaign = campaign_on_ring(RING, usual);
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_OK, "%s", error.text);
    const struct dpot_privacy charge = dpot_mechanism_charge(&campaign);
    cr_assert_eq(charge.epsilon_q32, 2 * DPOT_EPSILON_ONE);
    cr_assert_eq(charge.delta_q64, 0);
    cr_assert_eq(charge.rho_q32, 2 * DPOT_EPSILON_ONE);
    dpot_campaign_release(&campaign);
}

Test(wpm, an_empty_polytope_is_refused_before_any_data)
{
    struct dpot_campaign campaign = campaign_on_ring(RING, usual);
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_error error = {{0}};
    campaign.base_measure.total = DPOT_MASS_ONE / 8; /* below e^-2 of it */
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_ERR_INFEASIBLE);
    cr_assert_not_null(strstr(error.text, "infeasible"), "%s", error.text);
    cr_assert_eq(dpot_privatizer_new(&campaign, NULL, &privatizer, &error), DPOT_ERR_INFEASIBLE);
    cr_assert_null(privatizer);
    dpot_campaign_release(&campaign);
}

Test(mechanism, one_that_this_build_does_not_have_is_refused_by_name)
{
    struct dpot_campaign campaign = campaign_on_ring(RING, usual);
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_error error = {{0}};
    campaign.mechanism = (enum dpot_mechanism_id)99;
    cr_assert_null(dpot_mechanism_get((enum dpot_mechanism_id)99));
    cr_assert_neq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_OK);
    cr_assert_not_null(strstr(error.text, "mechanism 99"), "%s", error.text);
    cr_assert_eq(dpot_privatizer_new(&campaign, NULL, &privatizer, &error), DPOT_ERR_VERSION);
    cr_assert_eq(dpot_mechanism_charge(&campaign).epsilon_q32, UINT64_MAX);
    dpot_campaign_release(&campaign);
}

Test(mechanism, every_row_of_the_table_is_found_by_its_number)
{
    const struct dpot_mechanism *wpm = dpot_mechanism_get(DPOT_MECHANISM_WPM);
    cr_assert_not_null(wpm);
    cr_assert_eq(wpm->id, DPOT_MECHANISM_WPM);
    cr_assert_null(dpot_mechanism_get((enum dpot_mechanism_id)0));
    cr_assert_null(dpot_mechanism_get((enum dpot_mechanism_id)99));
}

Test(mechanism, a_campaign_that_asks_for_too_much_memory_is_refused)
{
    struct dpot_campaign campaign = campaign_on_ring(RING, usual);
    struct dpot_error error = {{0}};
    dpot_campaign_release(&campaign);
    campaign = campaign_on_ring(RING, usual);
    campaign_resize_ring(&campaign, 1u << 16);
    campaign.n_max = 10000;
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "n_max 10000"), "%s", error.text);
    campaign.n_max = 2;
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_OK, "%s", error.text);
    dpot_campaign_release(&campaign);
}

static void check_failing_allocations(enum dpot_solver_id solver)
{
    struct dpot_campaign campaign = campaign_on_ring(RING, usual);
    if (solver == DPOT_SOLVER_EXACT) {
        campaign_be_exact(&campaign);
    }
    campaign.sample_first = true;
    assert_allocations_may_fail(&campaign);
    dpot_privatizer_free(NULL);
    dpot_campaign_release(&campaign);
}

Test(privatizer, every_allocation_may_fail_and_nothing_leaks)
{
    check_failing_allocations(DPOT_SOLVER_ENTROPIC);
    check_failing_allocations(DPOT_SOLVER_EXACT);
}

Test(privatizer, it_needs_the_memory_that_was_checked_and_none_to_run)
{
    for (int kind = 0; kind < 4; kind++) {
        struct dpot_campaign campaign = campaign_on_ring(RING, usual);
        campaign.sample_first = kind % 2 == 1;
        if (kind >= 2) {
            campaign_be_exact(&campaign);
        }
        struct test_allocator allocator;
        struct dpot_privatizer *privatizer = NULL;
        test_allocator_init(&allocator);
        cr_assert_eq(dpot_privatizer_new(&campaign, &allocator.allocator, &privatizer, NULL),
                     DPOT_OK);
        cr_assert_eq(allocator.bytes, dpot_privatizer_bytes(&campaign));
        const double histogram[RING] = {1, 0, 2, 0, 0, 1};
        struct dpot_private_measure measure = private_measure_of(&campaign, histogram);
        struct dpot_rng_seeded seeded;
        struct dpot_rng rng;
        struct dpot_report report = {.group = 3, .test = true};
        dpot_rng_seeded_init(&seeded, 1, 1);
        dpot_rng_init(&rng, &seeded.source);
        test_allocator_fail_at(&allocator, 1);
        const size_t n_calls = allocator.n_calls;
        for (size_t i = 0; i < 50; i++) {
            report.index = UINT32_MAX;
            dpot_privatizer_run(privatizer, &measure, &rng, &report);
            cr_assert_lt(report.index, RING);
        }
        cr_assert_eq(allocator.n_calls, n_calls);
        cr_assert_eq(report.group, 3, "only the index is set");
        cr_assert(report.test);
        dpot_rng_release(&rng);
        dpot_private_measure_release(&measure);
        dpot_privatizer_free(privatizer);
        cr_assert_eq(allocator.bytes, 0);
        dpot_campaign_release(&campaign);
    }
}

Test(privatizer, a_report_is_the_draw_from_the_law_with_the_next_eight_bytes)
{
    struct dpot_campaign campaign = campaign_on_ring(RING, usual);
    struct dpot_privatizer *privatizer = new_privatizer(&campaign);
    const double histogram[RING] = {0, 3, 0, 1, 0, 0};
    struct dpot_private_measure measure = private_measure_of(&campaign, histogram);
    uint64_t weights[RING], sum = 0;
    dpot_privatizer_law(privatizer, &measure, weights);
    assert_law(&campaign, weights);
    for (uint8_t k = 0; k < 100; k++) {
        const uint8_t key[DPOT_RNG_KEY_LEN] = {k, 1, 2};
        struct dpot_rng_replay replay;
        struct dpot_rng rng;
        struct dpot_report report = {0};
        dpot_rng_replay_init(&replay, key, sizeof key);
        dpot_rng_init(&rng, &replay.source);
        dpot_privatizer_run(privatizer, &measure, &rng, &report);
        dpot_rng_release(&rng);
        dpot_rng_replay_init(&replay, key, sizeof key);
        dpot_rng_init(&rng, &replay.source);
        const uint64_t u = dpot_rng_u64(&rng) & (DPOT_MASS_ONE - 1);
        uint32_t expected = 0;
        sum = weights[0];
        while (u >= sum) {
            sum += weights[++expected];
        }
        cr_assert_eq(report.index, expected);
        dpot_rng_release(&rng);
    }
    dpot_private_measure_release(&measure);
    dpot_privatizer_free(privatizer);
    dpot_campaign_release(&campaign);
}

Test(privatizer, the_law_does_not_depend_on_what_ran_before)
{
    struct dpot_campaign campaign = campaign_on_ring(RING, usual);
    struct dpot_privatizer *privatizer = new_privatizer(&campaign);
    const double first[RING] = {0, 3, 0, 1, 0, 0}, other[RING] = {1, 1, 1, 0, 0, 9};
    struct dpot_private_measure a = private_measure_of(&campaign, first);
    struct dpot_private_measure b = private_measure_of(&campaign, other);
    uint64_t weights[RING], again[RING], between[RING];
    dpot_privatizer_law(privatizer, &a, weights);
    dpot_privatizer_law(privatizer, &b, between);
    dpot_privatizer_law(privatizer, &a, again);
    cr_assert_eq(memcmp(weights, again, sizeof weights), 0);
    cr_assert_neq(memcmp(weights, between, sizeof weights), 0);
    dpot_private_measure_release(&a);
    dpot_private_measure_release(&b);
    dpot_privatizer_free(privatizer);
    dpot_campaign_release(&campaign);
}

static void check_wild_measures(enum dpot_solver_id solver)
{
    struct dpot_campaign campaign = campaign_on_ring(RING, usual);
    if (solver == DPOT_SOLVER_EXACT) {
        campaign_be_exact(&campaign);
    }
    struct dpot_privatizer *privatizer = new_privatizer(&campaign);
    const double wild[] = {NAN, -1, INFINITY, 1e308, 0, 5e-324, -INFINITY};
    for (size_t size = 0; size <= 7; size++) {
        struct dpot_private_measure measure;
        uint64_t weights[RING];
        cr_assert_eq(dpot_private_measure_init(&measure, size, NULL), DPOT_OK);
        for (size_t r = 0; r < size; r++) {
            measure.measure.support[r] = r % 2 ? UINT32_MAX : (uint32_t)r;
            measure.measure.weights[r] = wild[(r + size) % 7];
        }
        dpot_privatizer_law(privatizer, &measure, weights);
        assert_law(&campaign, weights);
        dpot_private_measure_release(&measure);
    }
    dpot_privatizer_free(privatizer);
    dpot_campaign_release(&campaign);
}

Test(privatizer, a_shorter_or_invalid_measure_does_no_harm)
{
    check_wild_measures(DPOT_SOLVER_ENTROPIC);
    check_wild_measures(DPOT_SOLVER_EXACT);
}

Test(privatizer, hostile_costs_and_regularisers_cannot_harm)
{
    const double points[] = {0, 1e-300, 1, 1e200, -1e308}, output[] = {-1e308, 0, 1e308};
    const double lambdas[] = {5e-324, 1e-9, 1, 1e300};
    const double powers[] = {1, 2, 64};
    for (size_t i = 0; i < 15; i++) {
        const struct campaign_numbers numbers = {.epsilon = 1 + (double)(i % 2) * 18,
                                                 .lambda = lambdas[i % 4],
                                                 .iterations = 20,
                                                 .n_max = 3};
        struct dpot_campaign campaign =
            campaign_on_line(5, points, 3, output, powers[i % 3], numbers);
        if (i >= 12) {
            campaign_be_exact(&campaign);
        }
        cr_assert_eq(dpot_mechanism_check_campaign(&campaign, NULL), DPOT_OK);
        struct dpot_privatizer *privatizer = new_privatizer(&campaign);
        for (size_t x = 0; x < 5; x++) {
            double histogram[5] = {0, 0, 0, 0, 0};
            uint64_t weights[3];
            histogram[x] = 1;
            histogram[(x + 2) % 5] = (double)(x % 2);
            struct dpot_private_measure measure = private_measure_of(&campaign, histogram);
            dpot_privatizer_law(privatizer, &measure, weights);
            assert_law(&campaign, weights);
            dpot_private_measure_release(&measure);
        }
        dpot_privatizer_free(privatizer);
        dpot_campaign_release(&campaign);
    }
}

Test(privatizer, a_place_of_ones_own_is_the_likeliest_report)
{
    struct dpot_campaign campaign = campaign_on_ring(RING, usual);
    struct dpot_privatizer *privatizer = new_privatizer(&campaign);
    for (size_t x = 0; x < RING; x++) {
        double histogram[RING] = {0};
        uint64_t weights[RING];
        histogram[x] = 1;
        struct dpot_private_measure measure = private_measure_of(&campaign, histogram);
        dpot_privatizer_law(privatizer, &measure, weights);
        for (size_t j = 0; j < RING; j++) {
            cr_assert(j == x || weights[j] < weights[x]);
        }
        dpot_private_measure_release(&measure);
    }
    dpot_privatizer_free(privatizer);
    dpot_campaign_release(&campaign);
}

#define N_DRAWS 20000

static void count_reports(struct dpot_privatizer *privatizer,
                          const struct dpot_private_measure *measure, size_t counts[RING])
{
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    dpot_rng_seeded_init(&seeded, 20260101, 7);
    dpot_rng_init(&rng, &seeded.source);
    for (size_t i = 0; i < N_DRAWS; i++) {
        struct dpot_report report = {0};
        dpot_privatizer_run(privatizer, measure, &rng, &report);
        counts[report.index]++;
    }
    dpot_rng_release(&rng);
}

/* Pearson's statistic with 5 degrees of freedom exceeds 37 with probability below 1e-6. */
static void assert_fits(const size_t counts[RING], const double probability[RING])
{
    double statistic = 0;
    for (size_t j = 0; j < RING; j++) {
        const double expected = N_DRAWS * probability[j];
        const double diff = (double)counts[j] - expected;
        statistic += diff * diff / expected;
    }
    cr_assert_lt(statistic, 37, "chi-square is %g", statistic);
}

Test(privatizer, reports_follow_the_law)
{
    const struct campaign_numbers numbers = {
        .epsilon = 1.5, .lambda = 1, .iterations = 5, .n_max = 3, .is_skewed = 1};
    struct dpot_campaign campaign = campaign_on_ring(RING, numbers);
    struct dpot_privatizer *privatizer = new_privatizer(&campaign);
    const double histogram[RING] = {5, 0, 0, 2, 0, 1};
    struct dpot_private_measure measure = private_measure_of(&campaign, histogram);
    uint64_t weights[RING];
    double probability[RING];
    size_t counts[RING] = {0};
    dpot_privatizer_law(privatizer, &measure, weights);
    for (size_t j = 0; j < RING; j++) {
        probability[j] = (double)weights[j] / (double)DPOT_MASS_ONE;
    }
    count_reports(privatizer, &measure, counts);
    assert_fits(counts, probability);
    dpot_private_measure_release(&measure);
    dpot_privatizer_free(privatizer);
    dpot_campaign_release(&campaign);
}

Test(privatizer, with_sample_first_reports_follow_the_mixture_of_the_places_laws)
{
    const struct campaign_numbers numbers = {
        .epsilon = 3, .lambda = 1, .iterations = 5, .n_max = 4};
    struct dpot_campaign campaign = campaign_on_ring(RING, numbers);
    campaign.sample_first = true;
    struct dpot_privatizer *privatizer = new_privatizer(&campaign);
    const double histogram[RING] = {.5, 0, .375, 0, 0, .125};
    double mixture[RING] = {0};
    size_t counts[RING] = {0};
    for (size_t x = 0; x < RING; x++) {
        double dirac[RING] = {0};
        uint64_t weights[RING];
        dirac[x] = 1;
        struct dpot_private_measure place = private_measure_of(&campaign, dirac);
        dpot_privatizer_law(privatizer, &place, weights);
        for (size_t j = 0; j < RING; j++) {
            mixture[j] += histogram[x] * (double)weights[j] / (double)DPOT_MASS_ONE;
        }
        dpot_private_measure_release(&place);
    }
    struct dpot_private_measure measure = private_measure_of(&campaign, histogram);
    count_reports(privatizer, &measure, counts);
    assert_fits(counts, mixture);
    dpot_private_measure_release(&measure);
    dpot_privatizer_free(privatizer);
    dpot_campaign_release(&campaign);
}

Test(privatizer, with_sample_first_a_measure_without_weight_still_gives_a_report)
{
    struct dpot_campaign campaign = campaign_on_ring(RING, usual);
    campaign.sample_first = true;
    struct dpot_privatizer *privatizer = new_privatizer(&campaign);
    const double wild[] = {0, NAN, INFINITY, -1};
    for (size_t i = 0; i < 4; i++) {
        struct dpot_private_measure measure;
        size_t counts[RING] = {0};
        cr_assert_eq(dpot_private_measure_init(&measure, 4, NULL), DPOT_OK);
        for (size_t r = 0; r < 4; r++) {
            measure.measure.weights[r] = wild[i];
        }
        count_reports(privatizer, &measure, counts);
        dpot_private_measure_release(&measure);
    }
    dpot_privatizer_free(privatizer);
    dpot_campaign_release(&campaign);
}
