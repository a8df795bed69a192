#include "privacy/channel.h"

#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "privacy/exp_bound.h"
#include "unit/mechanism/campaigns.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N_INPUTS 50

/* Inputs over `size` points: every Dirac, pairs, no data, the uniform measure, and random measures
 * of very unequal weights. */
static void fill_input(size_t input, size_t size, double *histogram)
{
    uint64_t state = input * 977 + 5;
    memset(histogram, 0, size * sizeof *histogram);
    if (input < size) {
        histogram[input] = 1;
    } else if (input < 2 * size) {
        histogram[input - size] = 1;
        histogram[(input - size + size / 2) % size] += 1e-6;
    } else if (input > 2 * size) { /* 2 * size is the input without data */
        for (size_t x = 0; x < size; x++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            histogram[x] = input == 2 * size + 1 ? 1 : exp2(-(double)(state >> 58));
        }
    }
}

void channel_read(const struct dpot_campaign *campaign, struct channel *channel)
{
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_mechanism_check_campaign(campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(dpot_privatizer_new(campaign, NULL, &privatizer, &error), DPOT_OK, "%s",
                 error.text);
    channel->n_outputs = campaign->output.size;
    memset(channel->least, 0xff, sizeof channel->least);
    memset(channel->most, 0, sizeof channel->most);
    for (size_t input = 0; input < N_INPUTS; input++) {
        double histogram[64];
        uint64_t weights[64], left = DPOT_MASS_ONE;
        fill_input(input, campaign->domain.size, histogram);
        struct dpot_private_measure measure = private_measure_of(campaign, histogram);
        dpot_privatizer_law(privatizer, &measure, weights);
        for (size_t j = 0; j < channel->n_outputs; j++) {
            cr_assert_leq(weights[j], left);
            left -= weights[j];
            channel->least[j] = weights[j] < channel->least[j] ? weights[j] : channel->least[j];
            channel->most[j] = weights[j] > channel->most[j] ? weights[j] : channel->most[j];
        }
        cr_assert_eq(left, 0, "the law of input %zu does not sum to 2^62", input);
        dpot_private_measure_release(&measure);
    }
    dpot_privatizer_free(privatizer);
}

/* The largest ratio over all pairs of inputs is that of the largest and the smallest weight. */
void expect_private(const struct dpot_campaign *campaign)
{
    struct channel channel;
    channel_read(campaign, &channel);
    for (size_t j = 0; j < channel.n_outputs; j++) {
        cr_assert(ratio_is_within(channel.most[j], channel.least[j], campaign->epsilon_q32),
                  "epsilon %g lambda %g, outcome %zu: %llu over %llu",
                  dpot_epsilon_to_double(campaign->epsilon_q32), campaign->lambda, j,
                  (unsigned long long)channel.most[j], (unsigned long long)channel.least[j]);
    }
}
