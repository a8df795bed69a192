/* The Wasserstein projection mechanism with the exact solver. test_wpm.c tests what both solvers
 * share. */
#include "base/rng_seeded.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "ot/network_simplex.h"
#include "unit/mechanism/campaigns.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define RING 6

/* The law of a histogram over the domain under a campaign. */
static void read_law(const struct dpot_campaign *campaign, const double *histogram,
                     uint64_t *weights)
{
    struct dpot_privatizer *privatizer = new_privatizer(campaign);
    struct dpot_private_measure measure = private_measure_of(campaign, histogram);
    dpot_privatizer_law(privatizer, &measure, weights);
    assert_law(campaign, weights);
    dpot_private_measure_release(&measure);
    dpot_privatizer_free(privatizer);
}

/* The law of one place solves a fractional knapsack: the nearest outputs have U, the farthest L,
 * and one between them the rest, up to the rounding of q to doubles. */
Test(exact, a_single_place_fills_the_nearest_outputs)
{
    const double points[] = {0, 10}, output[] = {-4, 1, 2.5, 7, 9, 30};
    const size_t order[2][6] = {{1, 2, 0, 3, 4, 5}, {4, 3, 2, 1, 0, 5}};
    const struct campaign_numbers numbers = {.epsilon = 2, .n_max = 4};
    struct dpot_campaign campaign = campaign_on_line(2, points, 6, output, 2, numbers);
    uint64_t lower[6], upper[6], weights[6];
    campaign_be_exact(&campaign);
    cr_assert_eq(
        dpot_bounds_compute(&campaign.base_measure, campaign.epsilon_q32, lower, upper, NULL),
        DPOT_OK);
    for (size_t x = 0; x < 2; x++) {
        const double histogram[2] = {x == 0, x == 1};
        double left = (double)DPOT_MASS_ONE;
        read_law(&campaign, histogram, weights);
        for (size_t j = 0; j < 6; j++) {
            left -= (double)lower[j];
        }
        for (size_t r = 0; r < 6; r++) {
            const size_t j = order[x][r];
            const double room = (double)(upper[j] - lower[j]), more = fmin(room, left);
            cr_assert_float_eq((double)weights[j] - (double)lower[j], more,
                               1e-12 * (double)DPOT_MASS_ONE, "place %zu, output %zu", x, j);
            left -= more;
        }
    }
    dpot_campaign_release(&campaign);
}

/* Randomised response on three equidistant points, without the blur of an entropic solver. */
Test(exact, on_three_equidistant_points_it_is_randomised_response)
{
    const double epsilon = 1, truth = exp(epsilon) / (exp(epsilon) + 2);
    const double mass = 3 * exp(epsilon / 2) / (exp(epsilon) + 2);
    const struct campaign_numbers numbers = {
        .epsilon = epsilon, .n_max = 2, .mass = log(mass) / (epsilon / 2)};
    struct dpot_campaign campaign = campaign_on_ring(3, numbers);
    campaign_be_exact(&campaign);
    for (size_t x = 0; x < 3; x++) {
        double histogram[3] = {0, 0, 0};
        uint64_t weights[3];
        histogram[x] = 1;
        read_law(&campaign, histogram, weights);
        for (size_t j = 0; j < 3; j++) {
            cr_assert_float_eq((double)weights[j] / (double)DPOT_MASS_ONE,
                               j == x ? truth : (1 - truth) / 2, 1e-9);
        }
    }
    dpot_campaign_release(&campaign);
}

/* Distances that are equal in exact arithmetic, but not as doubles: .1 + .2 is not .3. Of the two
 * outputs the later one has the larger share, as if the distances were equal to the last bit. */
Test(exact, distances_that_differ_by_rounding_are_equal)
{
    const double points[] = {0, 5}, nearer[] = {.3, -(.1 + .2), 8}, farther[] = {-(.1 + .2), .3, 8};
    const struct campaign_numbers numbers = {.epsilon = 1, .n_max = 1};
    struct dpot_campaign a = campaign_on_line(2, points, 3, nearer, 1, numbers);
    struct dpot_campaign b = campaign_on_line(2, points, 3, farther, 1, numbers);
    const double histogram[2] = {1, 0};
    uint64_t first[3], second[3];
    campaign_be_exact(&a);
    campaign_be_exact(&b);
    read_law(&a, histogram, first);
    read_law(&b, histogram, second);
    cr_assert_gt(first[1], first[0]);
    cr_assert_arr_eq(first, second, sizeof first);
    dpot_campaign_release(&a);
    dpot_campaign_release(&b);
}

/* On a line the transport cost is the area between the distribution functions. */
static double cost_on_line(const double *points, const double *histogram, size_t n,
                           const uint64_t *weights)
{
    double sum = 0, before = 0, behind = 0;
    for (size_t i = 0; i < n; i++) {
        sum += histogram[i];
    }
    double cost = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        before += histogram[i] / sum;
        behind += (double)weights[i] / (double)DPOT_MASS_ONE;
        cost += fabs(before - behind) * (points[i + 1] - points[i]);
    }
    return cost;
}

Test(exact, no_regularisation_serves_a_device_better)
{
    const double points[] = {0, 1, 1.5, 4, 6, 6.25, 9};
    const double lambdas[] = {1e-2, .1, 1, 10};
    for (uint64_t seed = 0; seed < 40; seed++) {
        double histogram[7];
        for (size_t i = 0; i < 7; i++) {
            histogram[i] = (double)((seed * 2654435761u + i * 40503u) % 17);
        }
        const struct campaign_numbers exact_numbers = {
            .epsilon = .5 + (double)(seed % 5), .n_max = 7, .is_skewed = seed % 2 == 0};
        struct dpot_campaign exact = campaign_on_line(7, points, 7, points, 1, exact_numbers);
        uint64_t weights[7];
        campaign_be_exact(&exact);
        read_law(&exact, histogram, weights);
        const double best = cost_on_line(points, histogram, 7, weights);
        struct campaign_numbers numbers = exact_numbers;
        numbers.lambda = lambdas[seed % 4];
        numbers.iterations = 200;
        struct dpot_campaign entropic = campaign_on_line(7, points, 7, points, 1, numbers);
        read_law(&entropic, histogram, weights);
        cr_assert_leq(best, cost_on_line(points, histogram, 7, weights) + 1e-10, "seed %llu",
                      (unsigned long long)seed);
        dpot_campaign_release(&entropic);
        dpot_campaign_release(&exact);
    }
}

/* ---- passes ---- */

#define SIDE 20
#define N_PLACES 32

/* Outputs are a square grid, and data lie on it: the campaign that the documented sizes refer to.
 */
static struct dpot_campaign campaign_on_square(double cost_power)
{
    const uint32_t counts[] = {SIDE, SIDE};
    const double lo[] = {0, 0}, hi[] = {1, 1};
    const struct campaign_numbers numbers = {.epsilon = 2, .n_max = N_PLACES};
    struct dpot_campaign campaign = campaign_on_ring(SIDE * SIDE, numbers);
    dpot_domain_release(&campaign.domain);
    dpot_domain_release(&campaign.output);
    cr_assert_eq(dpot_domain_init_grid(&campaign.domain, 2, lo, hi, counts, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_copy(&campaign.output, &campaign.domain), DPOT_OK);
    campaign.metric.id = DPOT_METRIC_EUCLIDEAN;
    campaign.metric.ring_size = 0;
    campaign.cost_power = cost_power;
    campaign_be_exact(&campaign);
    return campaign;
}

enum places { ONE_PLACE, BLOCK, LINE, ONE_POINT, SCATTERED, N_KINDS };

static void place(struct dpot_private_measure *measure, enum places places)
{
    for (uint32_t r = 0; r < N_PLACES; r++) {
        const uint32_t block = (r / 8 + 8) * SIDE + r % 8 + 6, line = r % SIDE * SIDE + 9;
        const uint32_t at[N_KINDS] = {r, block, line, 210, r * 2654435761u % (SIDE * SIDE)};
        measure->measure.support[r] = at[places];
        measure->measure.weights[r] = places == ONE_PLACE ? r == 3 : 1 + r * 40503u % 17;
    }
}

/* The cost of the law, and the least cost of any law of the campaign, by another method. */
static void compare_costs(const struct dpot_campaign *campaign, const struct dpot_measure *own,
                          const uint64_t *weights, double *cost, double *least)
{
    enum { M = SIDE * SIDE };
    static double costs[N_PLACES * M], points[2 * M], mu[N_PLACES], q[M], lower[M], upper[M];
    uint64_t low[M], high[M];
    double sum = 0;
    struct dpot_exact_result result;
    dpot_domain_points(&campaign->domain, points);
    cr_assert_eq(
        dpot_bounds_compute(&campaign->base_measure, campaign->epsilon_q32, low, high, NULL),
        DPOT_OK);
    for (size_t r = 0; r < N_PLACES; r++) {
        sum += own->weights[r];
    }
    for (size_t r = 0; r < N_PLACES; r++) {
        const double *x = points + 2 * (size_t)own->support[r];
        mu[r] = own->weights[r] / sum;
        for (size_t j = 0; j < M; j++) {
            const double distance = hypot(x[0] - points[2 * j], x[1] - points[2 * j + 1]);
            costs[r * M + j] = pow(distance, campaign->cost_power);
        }
    }
    for (size_t j = 0; j < M; j++) {
        q[j] = (double)weights[j] / (double)DPOT_MASS_ONE;
        lower[j] = (double)low[j] / (double)DPOT_MASS_ONE;
        upper[j] = (double)high[j] / (double)DPOT_MASS_ONE;
    }
    cr_assert_eq(dpot_exact_ot(costs, mu, q, N_PLACES, M, NULL, &result, NULL), DPOT_OK);
    *cost = result.transport_cost;
    dpot_exact_result_release(&result);
    cr_assert_eq(dpot_exact_projection(costs, mu, lower, upper, N_PLACES, M, NULL, q, least, NULL),
                 DPOT_OK);
}

Test(exact, the_default_passes_reach_the_optimum_for_32_places_on_400_outputs)
{
    for (int kind = 0; kind < 2 * N_KINDS; kind++) {
        struct dpot_campaign campaign = campaign_on_square(1 + kind / N_KINDS);
        struct dpot_private_measure measure;
        uint64_t weights[SIDE * SIDE];
        double cost = 0, least = 0;
        cr_assert_eq(dpot_private_measure_init(&measure, N_PLACES, NULL), DPOT_OK);
        place(&measure, (enum places)(kind % N_KINDS));
        struct dpot_privatizer *privatizer = new_privatizer(&campaign);
        dpot_privatizer_law(privatizer, &measure, weights);
        compare_costs(&campaign, &measure.measure, weights, &cost, &least);
        cr_assert_float_eq(cost, least, 1e-9 * least, "kind %d: %.12g, not %.12g", kind, cost,
                           least);
        dpot_privatizer_free(privatizer);
        dpot_private_measure_release(&measure);
        dpot_campaign_release(&campaign);
    }
}

/* After the draw the device uses up the rest of its steps, the server does not: the law is the same
 * in either order, also when the passes are used up first. */
Test(exact, a_report_is_drawn_from_the_published_law_with_few_passes_and_many)
{
    struct dpot_private_measure measure;
    cr_assert_eq(dpot_private_measure_init(&measure, N_PLACES, NULL), DPOT_OK);
    for (uint32_t passes = 1; passes <= 64; passes *= 8) {
        struct dpot_campaign campaign = campaign_on_square(2);
        campaign.passes = passes;
        struct dpot_privatizer *privatizer = new_privatizer(&campaign);
        struct dpot_rng_seeded seeded, same;
        struct dpot_rng rng, second;
        uint64_t weights[SIDE * SIDE], again[SIDE * SIDE], low[SIDE * SIDE], high[SIDE * SIDE];
        uint64_t fallback[SIDE * SIDE];
        cr_assert_eq(
            dpot_bounds_compute(&campaign.base_measure, campaign.epsilon_q32, low, high, NULL),
            DPOT_OK);
        dpot_bounds_fallback(low, high, SIDE * SIDE, fallback);
        dpot_rng_seeded_init(&seeded, passes, 0);
        dpot_rng_seeded_init(&same, passes, 0);
        dpot_rng_init(&rng, &seeded.source);
        dpot_rng_init(&second, &same.source);
        for (int kind = 0; kind < N_KINDS; kind++) {
            struct dpot_report report = {.index = 0};
            place(&measure, (enum places)kind);
            dpot_privatizer_law(privatizer, &measure, weights);
            dpot_privatizer_run(privatizer, &measure, &rng, &report);
            dpot_privatizer_law(privatizer, &measure, again);
            cr_assert_arr_eq(weights, again, sizeof weights);
            cr_assert_eq(report.index, dpot_weights_draw(weights, low, high, fallback, SIDE * SIDE,
                                                         dpot_rng_u64(&second)));
        }
        dpot_rng_release(&rng);
        dpot_rng_release(&second);
        dpot_privatizer_free(privatizer);
        dpot_campaign_release(&campaign);
    }
    dpot_private_measure_release(&measure);
}

Test(exact, steps_follow_from_the_campaign_and_grow_with_its_passes)
{
    struct dpot_campaign campaign = campaign_on_square(1);
    const uint64_t usual = dpot_mechanism_steps(&campaign), a_pass = N_PLACES * (N_PLACES + 400);
    campaign.passes = 1;
    cr_assert_eq(dpot_mechanism_steps(&campaign), usual - 63 * a_pass);
    campaign.passes = 64;
    cr_assert_eq(dpot_mechanism_steps(&campaign), usual);
    campaign.mechanism = (enum dpot_mechanism_id)99;
    cr_assert_eq(dpot_mechanism_steps(&campaign), UINT64_MAX);
    dpot_campaign_release(&campaign);
}

Test(exact, a_campaign_that_asks_for_too_much_memory_is_refused)
{
    struct dpot_campaign campaign =
        campaign_on_ring(RING, (struct campaign_numbers){.epsilon = 2, .n_max = 4});
    struct dpot_error error = {{0}};
    campaign_be_exact(&campaign);
    campaign.n_max = DPOT_EXACT_N_MAX_MAX;
    campaign_resize_ring(&campaign, 1u << 20);
    cr_assert_eq(dpot_mechanism_check_campaign(&campaign, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "n_max 64"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "lower n_max"), "%s", error.text);
    dpot_campaign_release(&campaign);
}
