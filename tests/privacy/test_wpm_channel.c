/* The channel of the Wasserstein projection mechanism (channel.h). */
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "privacy/channel.h"
#include "privacy/exp_bound.h"
#include "unit/mechanism/campaigns.h"

#include <criterion/criterion.h>
#include <math.h>

#define RING 6

static const double lambdas[] = {1e-6, 1e-3, .1, 1, 100};
static const uint32_t iteration_counts[] = {1, 7, 60};

static struct campaign_numbers numbers_of(size_t i, size_t row)
{
    return (struct campaign_numbers){
        .epsilon = ldexp((double)exp_bound_epsilon_q32(row), -32),
        .lambda = lambdas[i % 5],
        .iterations = iteration_counts[i % 3],
        .n_max = 1 + (uint32_t)(i % 7),
        .mass = (double)(i % 3) - 1,
        .is_skewed = i % 2 == 0,
    };
}

Test(wpm_channel, no_report_on_a_ring_tells_two_inputs_apart_by_more_than_epsilon)
{
    for (size_t row = 0; row < N_EXP_BOUNDS; row++) {
        for (size_t i = 0; i < 30; i++) {
            struct dpot_campaign campaign = campaign_on_ring(RING, numbers_of(i, row));
            expect_private(&campaign);
            dpot_campaign_release(&campaign);
        }
    }
}

Test(wpm_channel, no_report_on_other_output_points_tells_two_inputs_apart_by_more_than_epsilon)
{
    const double points[] = {0, .1, .5, 2, 2.1, 7, 100}, output[] = {.3, 1, 50};
    for (size_t row = 0; row < N_EXP_BOUNDS; row++) {
        for (size_t i = 0; i < 15; i++) {
            struct dpot_campaign campaign =
                campaign_on_line(7, points, 3, output, 1 + (double)(i % 2), numbers_of(i, row));
            expect_private(&campaign);
            dpot_campaign_release(&campaign);
        }
    }
}

Test(wpm_channel, costs_that_overflow_cost_no_privacy)
{
    const double points[] = {0, 1e300, -1e300, 1e-300}, output[] = {1e308, -1e308, 0, 1};
    for (size_t row = 0; row < N_EXP_BOUNDS; row++) {
        for (size_t i = 0; i < 5; i++) {
            struct dpot_campaign campaign =
                campaign_on_line(4, points, 4, output, 64, numbers_of(i, row));
            expect_private(&campaign);
            dpot_campaign_release(&campaign);
        }
    }
}

/* All of the above with the exact solver, whose laws have corners where the entropic ones are
 * smooth. */
Test(wpm_channel, no_report_of_the_exact_solver_tells_two_inputs_apart_by_more_than_epsilon)
{
    const double points[] = {0, .1, .5, 2, 2.1, 7, 100}, output[] = {.3, 1, 50};
    const double wild[] = {0, 1e300, -1e300, 1e-300}, wild_output[] = {1e308, -1e308, 0, 1};
    for (size_t row = 0; row < N_EXP_BOUNDS; row++) {
        for (size_t i = 0; i < 21; i++) {
            struct dpot_campaign campaigns[] = {
                campaign_on_ring(RING, numbers_of(i, row)),
                campaign_on_line(7, points, 3, output, 1 + (double)(i % 2), numbers_of(i, row)),
                campaign_on_line(4, wild, 4, wild_output, 64, numbers_of(i, row)),
            };
            for (size_t c = 0; c < 3; c++) {
                campaign_be_exact(&campaigns[c]);
                expect_private(&campaigns[c]);
                dpot_campaign_release(&campaigns[c]);
            }
        }
    }
}

/* On three points all distances are equal, so the exact projection of a Dirac onto the polytope of
 * the uniform base measure of this mass is randomised response; a small lambda comes close. */
Test(wpm_channel, on_three_equidistant_points_it_is_randomised_response)
{
    const double epsilon = 1, truth = exp(epsilon) / (exp(epsilon) + 2);
    const double mass = 3 * exp(epsilon / 2) / (exp(epsilon) + 2);
    const struct campaign_numbers numbers = {.epsilon = epsilon,
                                             .lambda = .02,
                                             .iterations = 500,
                                             .n_max = 2,
                                             .mass = log(mass) / (epsilon / 2)};
    struct dpot_campaign campaign = campaign_on_ring(3, numbers);
    struct dpot_privatizer *privatizer = NULL;
    cr_assert_eq(dpot_privatizer_new(&campaign, NULL, &privatizer, NULL), DPOT_OK);
    for (size_t x = 0; x < 3; x++) {
        double histogram[3] = {0, 0, 0};
        uint64_t weights[3];
        histogram[x] = 1;
        struct dpot_private_measure measure = private_measure_of(&campaign, histogram);
        dpot_privatizer_law(privatizer, &measure, weights);
        for (size_t j = 0; j < 3; j++) {
            cr_assert_float_eq((double)weights[j] / (double)DPOT_MASS_ONE,
                               j == x ? truth : (1 - truth) / 2, 1e-9);
        }
        dpot_private_measure_release(&measure);
    }
    dpot_privatizer_free(privatizer);
    dpot_campaign_release(&campaign);
}

/* Twin: the law of a campaign at epsilon 1 that claims 0.5. */
Test(twin, a_channel_that_claims_less_than_it_spends_is_caught)
{
    const struct campaign_numbers numbers = {
        .epsilon = 1, .lambda = .05, .iterations = 100, .n_max = 3};
    struct dpot_campaign campaign = campaign_on_ring(RING, numbers);
    struct channel channel;
    size_t n_caught = 0;
    channel_read(&campaign, &channel);
    for (size_t j = 0; j < RING; j++) {
        n_caught += !ratio_is_within(channel.most[j], channel.least[j], DPOT_EPSILON_ONE / 2);
        cr_assert(ratio_is_within(channel.most[j], channel.least[j], DPOT_EPSILON_ONE));
    }
    cr_assert_eq(n_caught, RING);
    dpot_campaign_release(&campaign);
}
