/* The sphere in closed form against golden values; a finite codebook against the program's own
 * laws. */
#include "account/beta.h"
#include "account/sphere.h"
#include "golden.h"
#include "mechanism/codebook.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "unit/mechanism/campaigns.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

Test(beta, cumulative_values_are_those_of_known_cases)
{
    /* a = b: half of the mass is below 1/2. b = 1: x^a. The arcsine law. */
    for (double a = .5; a < 3000; a *= 1.7) {
        const struct beta_tails middle = beta_cumulative(a, a, .5, .5);
        cr_assert_float_eq(middle.below, .5, 1e-11);
        const struct beta_tails power = beta_cumulative(a, 1, .97, .03);
        cr_assert_float_eq(power.below, pow(.97, a), 1e-11);
    }
    for (double x = .01; x < 1; x += .07) {
        const struct beta_tails arcsine = beta_cumulative(.5, .5, x, 1 - x);
        cr_assert_float_eq(arcsine.below, asin(sqrt(x)) / acos(0), 1e-13);
        cr_assert_float_eq(arcsine.below + arcsine.above, 1, 1e-15);
    }
    cr_assert_eq(beta_cumulative(3, 4, 0, 1).below, 0);
    cr_assert_eq(beta_cumulative(3, 4, 1, 0).above, 0);
}

Test(sphere, the_closed_form_has_the_golden_values)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/golden/base_measure/s01_sphere.json", DPOT_TEST_DATA);
    json_t *root = json_load_file(path, 0, NULL);
    cr_assert_not_null(root, "cannot read %s", path);
    const json_t *tests = json_object_get(json_object_get(root, "reference"), "tests");
    cr_assert_eq(json_array_size(tests), 32);
    for (size_t i = 0; i < json_array_size(tests); i++) {
        const json_t *test = json_array_get(tests, i);
        const struct sphere sphere = {golden_number(test, "d"), golden_number(test, "p")};
        struct sphere_optimum optimum;
        cr_assert_eq(sphere_solve(&sphere, golden_number(test, "eps"), &optimum, NULL), DPOT_OK);
        cr_assert_float_eq(optimum.threshold, golden_number(test, "t"), 1e-9);
        cr_assert_float_eq(optimum.total_mass / golden_number(test, "alpha"), 1, 1e-9);
        cr_assert_float_eq(optimum.cost / golden_number(test, "value"), 1, 1e-10);
        cr_assert_float_eq(optimum.cap, golden_number(test, "S"), 1e-9);
        cr_assert_float_eq(optimum.mean_cost / golden_number(test, "H"), 1, 1e-12);
    }
    json_decref(root);
}

Test(sphere, values_out_of_range_are_refused_by_name)
{
    const struct {
        struct sphere sphere;
        double epsilon;
        const char *word;
    } cases[] = {{{0, 1}, 1, "dimension"}, {{1.5, 1}, 1, "dimension"},   {{4097, 1}, 1, "4097"},
                 {{2, .5}, 1, "power"},    {{2, NAN}, 1, "power"},       {{2, 1}, 0, "epsilon"},
                 {{2, 1}, NAN, "epsilon"}, {{2, 1}, 41, "epsilon is 41"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sphere_optimum optimum;
        struct dpot_error error = {{0}};
        cr_assert_eq(sphere_solve(&cases[i].sphere, cases[i].epsilon, &optimum, &error),
                     DPOT_ERR_RANGE);
        cr_assert_not_null(strstr(error.text, cases[i].word), "%s", error.text);
    }
}

/* (002, Proposition H.1: alpha decreases in p.) The cost decreases in epsilon, from H to 0. */
Test(sphere, the_closed_form_is_monotone_where_it_must_be)
{
    for (double d = 1; d <= 4096; d *= 8) {
        double mass = INFINITY, cost = INFINITY;
        for (double p = 1; p <= 16; p *= 2) {
            const struct sphere sphere = {d, p};
            struct sphere_optimum optimum;
            cr_assert_eq(sphere_solve(&sphere, 3, &optimum, NULL), DPOT_OK);
            cr_assert_lt(optimum.total_mass, mass);
            mass = optimum.total_mass;
        }
        for (double epsilon = .01; epsilon < 40; epsilon *= 1.5) {
            const struct sphere sphere = {d, 1};
            struct sphere_optimum optimum;
            cr_assert_eq(sphere_solve(&sphere, epsilon, &optimum, NULL), DPOT_OK);
            cr_assert(optimum.cost < cost && optimum.cost < optimum.mean_cost);
            cr_assert(optimum.contraction > 0 && optimum.contraction <= 1);
            cost = optimum.cost;
        }
    }
}

Test(sphere, a_large_codebook_approaches_the_closed_form_and_a_smaller_one_costs_more)
{
    for (double d = 1; d <= 1024; d *= 4) {
        const struct sphere sphere = {d, 1 + fmod(d, 3)};
        struct sphere_optimum optimum;
        double cost = INFINITY;
        cr_assert_eq(sphere_solve(&sphere, 2, &optimum, NULL), DPOT_OK);
        for (uint32_t k = 16; k <= 1u << 18; k *= 64) {
            struct sphere_choice choice;
            sphere_choose(&sphere, 2, k, &choice);
            cr_assert_lt(choice.channel.cost, cost);
            cr_assert_gt(choice.channel.cost, optimum.cost * (1 - 1e-9));
            cost = choice.channel.cost;
        }
        struct sphere_choice choice;
        sphere_choose(&sphere, 2, 1u << 20, &choice);
        cr_assert_float_eq(choice.channel.cost / optimum.cost, 1, 1e-5);
        cr_assert_float_eq(choice.total_mass / optimum.total_mass, 1, 1e-3);
        cr_assert_float_eq(choice.channel.contraction / optimum.contraction, 1, 1e-3);
    }
}

/* With two directions, the nearer of two: for d = 2, where w is uniform, its w is the smaller of
 * two uniform numbers and the mean of u = 1 - 2w is 1/3; with p = 2 the cost 4w has mean 4/3. */
Test(sphere, the_variance_of_a_report_follows_from_its_length)
{
    for (double dim = 1; dim < 300; dim *= 3) {
        for (double epsilon = 1; epsilon <= 20; epsilon += 6) {
            const struct sphere sphere = {dim, 1};
            struct sphere_choice choice;
            struct sphere_scatter scatter;
            sphere_choose(&sphere, epsilon, 4096, &choice);
            const double lower = choice.total_mass * exp(-epsilon / 2) / 4096;
            sphere_scatter(&sphere, 4096, lower, fmin(lower * exp(epsilon), 1), &scatter);
            const double c = choice.channel.contraction, trace = 1 - c * c;
            cr_assert_float_eq(scatter.along + dim * scatter.across, trace, 1e-9);
            cr_assert(scatter.along >= 0 && scatter.across >= 0);
        }
    }
}

Test(sphere, two_directions_are_the_known_case)
{
    const struct sphere sphere = {2, 2};
    struct sphere_choice choice;
    const double high = exp(1) / (exp(1) + 1), low = 1 - high;
    sphere_choose(&sphere, 1, 2, &choice);
    cr_assert_eq(choice.channel.n_near, 1);
    cr_assert_float_eq(choice.channel.contraction, (high - low) / 3, 1e-12);
    cr_assert_float_eq(choice.channel.cost, high * 4 / 3 + low * 8 / 3, 1e-12);
    struct sphere_channel channel;
    sphere_measure(&sphere, 2, low, high, &channel);
    cr_assert_float_eq(channel.contraction, choice.channel.contraction, 1e-12);
    cr_assert_float_eq(channel.cost, choice.channel.cost, 1e-12);
}

Test(sphere, the_chosen_total_mass_is_optimal)
{
    const struct sphere sphere = {4, 1};
    for (uint32_t k = 5; k < 500; k *= 3) {
        struct sphere_choice choice;
        sphere_choose(&sphere, 3, k, &choice);
        for (double factor = .5; factor < 2; factor *= 1.03) {
            const double mass = choice.total_mass * factor;
            const double lower = exp(-1.5) * mass / k, upper = exp(1.5) * mass / k;
            struct sphere_channel channel;
            if (k * lower <= 1 && k * upper >= 1) {
                sphere_measure(&sphere, k, lower, upper, &channel);
                cr_assert_geq(channel.cost, choice.channel.cost * (1 - 1e-12));
            }
        }
    }
}

/* Expectations over codebooks against the program's own laws over 4000 ids. */
Test(sphere, the_program_has_the_predicted_cost_and_contraction)
{
    enum { DIM = 3, K = 40, N = 4000 };
    const struct campaign_numbers numbers = {.epsilon = 2, .n_max = 1, .mass = .2};
    struct dpot_campaign campaign = campaign_on_sphere(DIM, K, 1, numbers);
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_private_points points;
    struct sphere_channel predicted;
    uint64_t lower[K], upper[K], weights[K];
    const double x[DIM] = {1, 2, 2};
    struct sphere_scatter scatter;
    double cost = 0, mean[DIM] = {0}, second[DIM] = {0};
    cr_assert_eq(
        dpot_bounds_compute(&campaign.base_measure, campaign.epsilon_q32, lower, upper, NULL),
        DPOT_OK);
    cr_assert_eq(dpot_privatizer_new(&campaign, NULL, &privatizer, NULL), DPOT_OK);
    cr_assert_eq(dpot_private_points_init(&points, 1, DIM, NULL), DPOT_OK);
    dpot_private_points_set(&points, x, NULL, 1, 0);
    for (uint32_t n = 0; n < N; n++) {
        const uint8_t id[DPOT_REPORT_ID_LEN] = {(uint8_t)n, (uint8_t)(n >> 8)};
        struct dpot_codebook codebook;
        dpot_codebook_init(&codebook, &campaign, id);
        dpot_privatizer_law_points(privatizer, &points, id, weights);
        for (uint32_t j = 0; j < K; j++) {
            const double share = (double)weights[j] / (double)DPOT_MASS_ONE / N;
            double v[DIM], square = 0;
            dpot_codebook_direction(&codebook, j, v);
            for (size_t i = 0; i < DIM; i++) {
                square += pow(x[i] / 3 - v[i], 2);
                mean[i] += share * v[i];
                second[i] += share * v[i] * v[i];
            }
            cost += share * sqrt(square);
        }
    }
    sphere_measure(&(struct sphere){DIM - 1, 1}, K, (double)lower[0] / (double)DPOT_MASS_ONE,
                   (double)upper[0] / (double)DPOT_MASS_ONE, &predicted);
    /* For one id the standard deviation is below .1. */
    cr_assert_float_eq(cost, predicted.cost, .01);
    for (size_t i = 0; i < DIM; i++) {
        cr_assert_float_eq(mean[i], predicted.contraction * x[i] / 3, .01);
    }
    cr_assert_gt(predicted.contraction, .3);
    sphere_scatter(&(struct sphere){DIM - 1, 1}, K, (double)lower[0] / (double)DPOT_MASS_ONE,
                   (double)upper[0] / (double)DPOT_MASS_ONE, &scatter);
    for (size_t i = 0; i < DIM; i++) {
        const double across = scatter.across, x_square = x[i] * x[i] / 9;
        const double variance = across + (scatter.along - across) * x_square;
        cr_assert_float_eq(second[i] - mean[i] * mean[i], variance, .01);
    }
    cr_assert(fabs(scatter.along - scatter.across) > .03, "not all directions alike");
    dpot_private_points_release(&points);
    dpot_privatizer_free(privatizer);
    dpot_campaign_release(&campaign);
}
