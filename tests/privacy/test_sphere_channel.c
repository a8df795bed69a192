/* The channel of the mechanism on a sphere, exactly: for each of several ids the integer law of
 * every input, every pair of inputs compared at every direction; and the extreme laws of the whole
 * polytope. The id is drawn before the data are read and has the same law for all, so this is the
 * loss of the pair (id, index). */
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "privacy/exp_bound.h"
#include "unit/mechanism/campaigns.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define DIRECTIONS_MAX 24
#define N_INPUTS 40
#define N_IDS 12
#define ROWS_MAX 3

struct extremes {
    uint64_t least[DIRECTIONS_MAX], most[DIRECTIONS_MAX];
};

/* Axes, random vectors, several at once with random weights, and invalid vectors. */
static size_t fill_input(size_t input, uint32_t dim, double *data, double *weights)
{
    static const double bad[] = {NAN, INFINITY, 0, 1e-320, -1e308};
    uint64_t state = input * 977 + 5;
    const size_t n = input < 2 * dim ? 1 : input % (ROWS_MAX + 1);
    for (size_t i = 0; i < n * dim; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        data[i] = ldexp((double)(int64_t)state, -60);
        data[i] = input % 7 == 6 ? bad[(state >> 40) % 5] : data[i];
        data[i] = input < 2 * dim ? (i == input / 2 ? 1 - 2 * (double)(input % 2) : 0) : data[i];
    }
    for (size_t r = 0; r < n; r++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        weights[r] = exp2(-(double)(state >> 58));
    }
    return n;
}

static void read_extremes(const struct dpot_campaign *campaign, const uint8_t *id,
                          struct extremes *extremes)
{
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_private_points points;
    struct dpot_error error = {{0}};
    const uint32_t dim = campaign->domain.dim;
    cr_assert_eq(dpot_mechanism_check_campaign(campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(dpot_privatizer_new(campaign, NULL, &privatizer, NULL), DPOT_OK);
    cr_assert_eq(dpot_private_points_init(&points, campaign->n_max, dim, NULL), DPOT_OK);
    memset(extremes->least, 0xff, sizeof extremes->least);
    memset(extremes->most, 0, sizeof extremes->most);
    for (size_t input = 0; input < N_INPUTS; input++) {
        double data[ROWS_MAX * 8], weights[ROWS_MAX];
        uint64_t law[DIRECTIONS_MAX], left = DPOT_MASS_ONE;
        const size_t n = fill_input(input, dim, data, weights);
        dpot_private_points_set(&points, data, weights, n, 0);
        dpot_privatizer_law_points(privatizer, &points, id, law);
        for (size_t j = 0; j < campaign->output.size; j++) {
            cr_assert_leq(law[j], left);
            left -= law[j];
            extremes->least[j] = law[j] < extremes->least[j] ? law[j] : extremes->least[j];
            extremes->most[j] = law[j] > extremes->most[j] ? law[j] : extremes->most[j];
        }
        cr_assert_eq(left, 0, "the law of input %zu does not sum to 2^62", input);
    }
    dpot_private_points_release(&points);
    dpot_privatizer_free(privatizer);
}

static struct campaign_numbers numbers_of(size_t i, size_t row)
{
    return (struct campaign_numbers){.epsilon = ldexp((double)exp_bound_epsilon_q32(row), -32),
                                     .n_max = 1 + (uint32_t)(i % ROWS_MAX),
                                     .mass = (double)(i % 5) / 2 - 1};
}

/* The smallest and the largest weight of each direction over ALL laws of the polytope, reached or
 * not. */
static void expect_polytope_within(const struct dpot_campaign *campaign)
{
    uint64_t lower[DIRECTIONS_MAX], upper[DIRECTIONS_MAX], sum_lower = 0, least, most;
    double sum_upper = 0;
    const uint32_t k = campaign->output.size;
    cr_assert_eq(
        dpot_bounds_compute(&campaign->base_measure, campaign->epsilon_q32, lower, upper, NULL),
        DPOT_OK);
    for (uint32_t j = 0; j < k; j++) {
        sum_lower += lower[j];
        sum_upper += (double)upper[j];
    }
    for (uint32_t j = 0; j < k; j++) {
        const uint64_t room = DPOT_MASS_ONE - (sum_lower - lower[j]);
        most = upper[j] < room ? upper[j] : room;
        least = lower[j]; /* or more, if the others cannot take the rest: a smaller ratio */
        cr_assert_geq(sum_upper, (double)DPOT_MASS_ONE);
        cr_assert(ratio_is_within(most, least, campaign->epsilon_q32));
    }
}

Test(sphere_channel, no_pair_of_id_and_index_tells_two_inputs_apart_by_more_than_epsilon)
{
    for (size_t row = 0; row < N_EXP_BOUNDS; row++) {
        for (size_t i = 0; i < N_IDS; i++) {
            const uint8_t id[DPOT_REPORT_ID_LEN] = {(uint8_t)i, (uint8_t)row};
            const uint32_t dim = 2 + (uint32_t)(i % 7), k = 2 + 2 * (uint32_t)i;
            struct dpot_campaign campaign =
                campaign_on_sphere(dim, k, 1 + (double)(i % 3), numbers_of(i, row));
            struct extremes extremes;
            read_extremes(&campaign, id, &extremes);
            for (uint32_t j = 0; j < k; j++) {
                cr_assert(
                    ratio_is_within(extremes.most[j], extremes.least[j], campaign.epsilon_q32),
                    "epsilon %g, dim %u, direction %u of %u",
                    dpot_epsilon_to_double(campaign.epsilon_q32), dim, j, k);
            }
            expect_polytope_within(&campaign);
            dpot_campaign_release(&campaign);
        }
    }
}

/* On two directions with total mass 1 the mechanism is randomised response: it spends all of
 * epsilon. */
Test(sphere_channel, two_directions_are_randomised_response)
{
    const double epsilon = 1, truth = exp(epsilon) / (exp(epsilon) + 1);
    const double mass = 2 * exp(epsilon / 2) / (exp(epsilon) + 1);
    const struct campaign_numbers numbers = {
        .epsilon = epsilon, .n_max = 1, .mass = log(mass) / (epsilon / 2)};
    struct dpot_campaign campaign = campaign_on_sphere(2, 2, 1, numbers);
    const uint8_t id[DPOT_REPORT_ID_LEN] = {7};
    struct extremes extremes;
    read_extremes(&campaign, id, &extremes);
    for (size_t j = 0; j < 2; j++) {
        cr_assert_float_eq((double)extremes.most[j] / (double)DPOT_MASS_ONE, truth, 1e-9);
        cr_assert_float_eq((double)extremes.least[j] / (double)DPOT_MASS_ONE, 1 - truth, 1e-9);
    }
    dpot_campaign_release(&campaign);
}

/* Twin: the law of a campaign at epsilon 1 that claims 0.5. */
Test(twin, a_sphere_that_claims_less_than_it_spends_is_caught)
{
    const struct campaign_numbers numbers = {.epsilon = 1, .n_max = 1};
    struct dpot_campaign campaign = campaign_on_sphere(3, 12, 1, numbers);
    const uint8_t id[DPOT_REPORT_ID_LEN] = {1};
    struct extremes extremes;
    size_t n_caught = 0;
    read_extremes(&campaign, id, &extremes);
    for (size_t j = 0; j < 12; j++) {
        n_caught += !ratio_is_within(extremes.most[j], extremes.least[j], DPOT_EPSILON_ONE / 2);
        cr_assert(ratio_is_within(extremes.most[j], extremes.least[j], DPOT_EPSILON_ONE));
    }
    cr_assert_eq(n_caught, 12);
    dpot_campaign_release(&campaign);
}
