/* The channels of the baselines (channel.h): KPM and the exponential mechanism, with their own base
 * measures, with others, and with numbers that no honest campaign states. */
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "privacy/channel.h"
#include "privacy/exp_bound.h"
#include "unit/mechanism/campaigns.h"

#include <criterion/criterion.h>
#include <math.h>

#define RING 6

static const double points[] = {0, .1, .5, 2, 2.1, 7, 100}, output[] = {.3, 1, 50};

static struct campaign_numbers numbers_of(size_t i, size_t row)
{
    return (struct campaign_numbers){
        .epsilon = ldexp((double)exp_bound_epsilon_q32(row), -32),
        .n_max = 1 + (uint32_t)(i % 7),
        .mass = (double)(i % 3) - 1,
        .is_skewed = i % 2 == 0,
    };
}

Test(kpm_channel, no_report_tells_two_inputs_apart_by_more_than_epsilon)
{
    for (size_t row = 0; row < N_EXP_BOUNDS; row++) {
        for (size_t i = 0; i < 20; i++) {
            const uint32_t size = 2 + (uint32_t)(i / 2 % 5);
            struct dpot_campaign campaign = campaign_on_ring(size, numbers_of(i, row));
            campaign_become(&campaign, DPOT_MECHANISM_KPM, i % 2 == 0);
            expect_private(&campaign);
            dpot_campaign_release(&campaign);
        }
    }
}

Test(exponential_channel, no_report_tells_two_inputs_apart_by_more_than_epsilon)
{
    for (size_t row = 0; row < N_EXP_BOUNDS; row++) {
        for (size_t i = 0; i < 20; i++) {
            struct dpot_campaign campaign =
                i % 4 < 2 ? campaign_on_ring(RING, numbers_of(i, row))
                          : campaign_on_line(7, points, 3, output, 1 + (double)(i % 3),
                                             numbers_of(i, row));
            campaign_become(&campaign, DPOT_MECHANISM_EXPONENTIAL, i % 2 == 0);
            expect_private(&campaign);
            dpot_campaign_release(&campaign);
        }
    }
}

Test(exponential_channel, a_wrong_sensitivity_costs_no_privacy)
{
    const double lies[] = {5e-324, 1e-300, .01, 1e300};
    for (size_t row = 0; row < N_EXP_BOUNDS; row++) {
        for (size_t i = 0; i < 8; i++) {
            struct dpot_campaign campaign =
                campaign_on_line(7, points, 3, output, 1, numbers_of(i, row));
            campaign_become(&campaign, DPOT_MECHANISM_EXPONENTIAL, i % 2 == 0);
            campaign.sensitivity = lies[i / 2];
            expect_private(&campaign);
            dpot_campaign_release(&campaign);
        }
    }
}

Test(exponential_channel, costs_that_overflow_cost_no_privacy)
{
    const double far[] = {0, 1e300, -1e300, 1e-300}, near[] = {1e308, -1e308, 0, 1};
    for (size_t row = 0; row < N_EXP_BOUNDS; row++) {
        struct dpot_campaign campaign = campaign_on_line(4, far, 4, near, 64, numbers_of(row, row));
        campaign.mechanism = DPOT_MECHANISM_EXPONENTIAL;
        campaign.lambda = 0;
        campaign.sensitivity = 1;
        expect_private(&campaign);
        dpot_campaign_release(&campaign);
    }
}

/* Point masses through KPM's own base measure: the truth with probability e^epsilon / (e^epsilon +
 * k - 1), every other answer with 1 / (e^epsilon + k - 1). */
Test(kpm_channel, on_point_masses_it_is_randomised_response)
{
    for (uint32_t size = 2; size <= 40; size += 19) {
        const struct campaign_numbers numbers = {.epsilon = 1.5, .n_max = 2};
        struct dpot_campaign campaign = campaign_on_ring(size, numbers);
        campaign_become(&campaign, DPOT_MECHANISM_KPM, true);
        struct dpot_privatizer *privatizer = NULL;
        cr_assert_eq(dpot_privatizer_new(&campaign, NULL, &privatizer, NULL), DPOT_OK);
        for (uint32_t x = 0; x < size; x++) {
            double histogram[64] = {0};
            uint64_t weights[64];
            histogram[x] = 1;
            struct dpot_private_measure measure = private_measure_of(&campaign, histogram);
            dpot_privatizer_law(privatizer, &measure, weights);
            for (uint32_t j = 0; j < size; j++) {
                const double expected = (j == x ? exp(1.5) : 1) / (exp(1.5) + size - 1);
                cr_assert_float_eq((double)weights[j] / (double)DPOT_MASS_ONE, expected, 1e-13);
            }
            dpot_private_measure_release(&measure);
        }
        dpot_privatizer_free(privatizer);
        dpot_campaign_release(&campaign);
    }
}

/* Broken twins: KPM at epsilon 1 that claims 0.5 (it spends all of it), and the exponential
 * mechanism at epsilon 4 that claims 1 (on a ring, where every law has the same normaliser, it
 * spends 2). */
Test(twin, a_channel_that_claims_less_than_it_spends_is_caught)
{
    const struct {
        enum dpot_mechanism_id id;
        double epsilon;
        uint64_t claim;
    } twins[] = {{DPOT_MECHANISM_KPM, 1, DPOT_EPSILON_ONE / 2},
                 {DPOT_MECHANISM_EXPONENTIAL, 4, DPOT_EPSILON_ONE}};
    for (size_t i = 0; i < 2; i++) {
        const struct campaign_numbers numbers = {.epsilon = twins[i].epsilon, .n_max = 3};
        struct dpot_campaign campaign = campaign_on_ring(RING, numbers);
        struct channel channel;
        size_t n_caught = 0;
        campaign_become(&campaign, twins[i].id, true);
        channel_read(&campaign, &channel);
        for (size_t j = 0; j < RING; j++) {
            n_caught += !ratio_is_within(channel.most[j], channel.least[j], twins[i].claim);
            cr_assert(ratio_is_within(channel.most[j], channel.least[j], campaign.epsilon_q32));
        }
        cr_assert_eq(n_caught, RING);
        dpot_campaign_release(&campaign);
    }
}
