#include "account/gaussian.h"
#include "account/zcdp.h"
#include "golden.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(gaussian, .init = golden_load_reference, .fini = golden_drop_reference);
TestSuite(zcdp, .init = golden_load_reference, .fini = golden_drop_reference);

Test(gaussian, delta_is_an_upper_bound_within_1e9_of_the_exact_one_at_every_size)
{
    const json_t *cases = json_object_get(golden_reference, "gaussian_delta");
    cr_assert_geq(json_array_size(cases), 18);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        const double epsilon = golden_number(c, "epsilon"), mu = golden_number(c, "mu");
        const double exact = golden_number(c, "log_delta");
        const double above = gaussian_log_delta(epsilon, mu) - exact;
        /* The margin grows with epsilon / mu (gaussian.c); the reference is exact to an ulp. */
        const double most = epsilon <= 512 ? 1e-9 : 1e-7;
        cr_assert(above >= -1e-15 * fabs(exact) && above <= most,
                  "epsilon %g, mu %g: log delta is off by %g", epsilon, mu, above);
    }
}

Test(gaussian, mu_and_epsilon_are_the_exact_roots_rounded_to_the_safe_side)
{
    const json_t *mus = json_object_get(golden_reference, "gaussian_mu");
    const json_t *epsilons = json_object_get(golden_reference, "gaussian_epsilon");
    for (size_t i = 0; i < json_array_size(mus); i++) {
        const json_t *c = json_array_get(mus, i);
        const double delta = golden_number(c, "delta");
        expect_just_below(gaussian_mu(golden_number(c, "epsilon"), delta), golden_number(c, "mu"),
                          delta > 0.5 ? 1e-8 : 1e-10, "mu");
    }
    for (size_t i = 0; i < json_array_size(epsilons); i++) {
        const json_t *c = json_array_get(epsilons, i);
        expect_just_above(gaussian_epsilon(golden_number(c, "mu"), golden_number(c, "delta")),
                          golden_number(c, "epsilon"), 1e-10, "epsilon");
    }
    cr_assert_geq(json_array_size(mus), 12);
    cr_assert_geq(json_array_size(epsilons), 7);
}

static double delta_of(double epsilon, double mu)
{
    return exp(gaussian_log_delta(epsilon, mu));
}

Test(gaussian, and_zcdp_have_the_values_of_the_vectors)
{
    json_t *vectors = golden_load("accounting.json");
    static const struct {
        const char *list, *x, *y, *result;
        double (*function)(double x, double y);
    } lists[] = {{"gdp_delta", "eps", "mu", "delta", delta_of},
                 {"gdp_eps", "mu", "delta", "eps", gaussian_epsilon},
                 {"gdp_mu", "eps", "delta", "mu", gaussian_mu},
                 {"zcdp_eps", "rho", "delta", "eps", zcdp_epsilon}};
    for (size_t l = 0; l < 4; l++) {
        const json_t *cases = json_object_get(vectors, lists[l].list);
        cr_assert_geq(json_array_size(cases), 4);
        for (size_t i = 0; i < json_array_size(cases); i++) {
            const json_t *c = json_array_get(cases, i);
            const double exact = golden_number(c, lists[l].result);
            const double value =
                lists[l].function(golden_number(c, lists[l].x), golden_number(c, lists[l].y));
            cr_assert_float_eq(value, exact, 1e-6 * exact, "%s %zu: %.17g", lists[l].list, i,
                               value);
        }
    }
    json_decref(vectors);
}

Test(gaussian, invalid_arguments_return_at_once_without_a_guarantee)
{
    static const double odd[] = {0, 1, 2, -1, 1e308, -1e308, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < 9; i++) {
        for (size_t j = 0; j < 9; j++) {
            const double delta = exp(gaussian_log_delta(odd[i], odd[j]));
            const double mu = gaussian_mu(odd[i], odd[j]),
                         epsilon = gaussian_epsilon(odd[i], odd[j]);
            cr_assert(!(delta < 0) && !(mu < 0) && !(epsilon < 0), "%g, %g", odd[i], odd[j]);
            cr_assert(isnan(odd[j]) || odd[j] > 0 ? true : mu == 0 && !(epsilon < 1e300),
                      "%g, %g: mu %g, epsilon %g", odd[i], odd[j], mu, epsilon);
        }
    }
}

Test(gaussian, delta_falls_with_epsilon_and_grows_with_mu_across_the_seams)
{
    for (double epsilon = 0; epsilon < 60; epsilon = 1.3 * epsilon + 0.01) {
        double before = -INFINITY;
        for (double mu = 0.05; mu < 20; mu *= 1.003) { /* passes MU_SMALL and a = 2, -30 */
            const double now = gaussian_log_delta(epsilon, mu);
            cr_assert(now >= before && now <= 0, "epsilon %g, mu %g: %g then %g", epsilon, mu,
                      before, now);
            cr_assert_leq(gaussian_log_delta(epsilon + 0.01, mu), now + 1e-9);
            before = now;
        }
    }
}

Test(gaussian, inverse_of_the_inverse_is_the_same_and_never_less_private)
{
    for (double log10_delta = -300; log10_delta < -0.2; log10_delta += 13.3) {
        const double delta = pow(10, log10_delta);
        for (double epsilon = 1e-3; epsilon <= 512; epsilon *= 3.7) {
            const double mu = gaussian_mu(epsilon, delta);
            cr_assert_leq(gaussian_log_delta(epsilon, mu), log(delta));
            const double back = gaussian_epsilon(mu, delta);
            cr_assert(back <= epsilon && back >= epsilon * (1 - 1e-7),
                      "epsilon %g, delta %g: back to %.17g", epsilon, delta, back);
        }
    }
}

Test(gaussian, scale_is_proportional_to_the_diameter_and_less_than_the_papers)
{
    for (double epsilon = 0.05; epsilon < 100; epsilon *= 2.1) {
        for (double delta = 1e-12; delta < 0.4; delta *= 17) {
            const double sigma = gaussian_scale(epsilon, delta, 3);
            const double paper = gaussian_paper_scale(epsilon, delta, 3);
            cr_assert_float_eq(gaussian_scale(epsilon, delta, 6), 2 * sigma, 1e-14 * sigma);
            cr_assert_lt(sigma, paper, "epsilon %g, delta %g", epsilon, delta);
            cr_assert_leq(gaussian_log_delta(epsilon, 3 / paper), log(delta),
                          "equation (5) is valid");
        }
    }
}

/* As stated in the manual of `dpot calibrate`. */
Test(gaussian, the_papers_scale_is_larger_by_the_factor_in_the_manual)
{
    static const double epsilons[] = {0.1, 0.2, 0.5, 1, 1.5, 3, 10, 40, 512};
    static const double deltas[] = {1e-300, 1e-40, 1e-12, 1e-8, 1e-6, 1e-4, 0.01, 0.1,
                                    0.2,    0.25,  0.3,   0.35, 0.4,  0.45, 0.49};
    for (size_t i = 0; i < sizeof epsilons / sizeof epsilons[0]; i++) {
        for (size_t j = 0; j < sizeof deltas / sizeof deltas[0]; j++) {
            const double epsilon = epsilons[i], delta = deltas[j];
            const double ratio =
                gaussian_paper_scale(epsilon, delta, 1) / gaussian_scale(epsilon, delta, 1);
            const double most =
                delta <= 1e-6 ? (epsilon >= 1 ? 1.21 : 1.38) : (epsilon >= 1 ? 1.85 : INFINITY);
            cr_assert(ratio > 1 && ratio < most, "epsilon %g, delta %g: %g", epsilon, delta, ratio);
        }
    }
    cr_assert_float_eq(gaussian_paper_scale(0.01, 0.3, 1) / gaussian_scale(0.01, 0.3, 1), 66, 1);
}

/* The numbers in the experiments of the generator paper, with their true diameters. */
Test(gaussian, scales_of_the_paper_are_reproduced)
{
    cr_assert_float_eq(gaussian_scale(35, 1e-4, 56), 10.15, 0.005);
    cr_assert_float_eq(gaussian_paper_scale(35, 1e-4, 56), 10.57, 0.005);
    cr_assert_float_eq(gaussian_scale(5, 1e-4, 2), 1.592, 5e-4);
    cr_assert_float_eq(gaussian_paper_scale(5, 1e-4, 2), 1.804, 5e-4);
    cr_assert_float_eq(gaussian_epsilon(40 / 9.17, 1e-4), 25.02, 0.005);
    cr_assert_float_eq(gaussian_epsilon(40 / 7.24, 1e-4), 35.05, 0.005);
    cr_assert_float_eq(gaussian_epsilon(2 / 1.276, 1e-4), 6.55, 0.005);
}

Test(zcdp, epsilon_is_the_infimum_over_all_orders_rounded_up)
{
    const json_t *cases = json_object_get(golden_reference, "zcdp");
    cr_assert_geq(json_array_size(cases), 8);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        expect_just_above(zcdp_epsilon(golden_number(c, "rho"), golden_number(c, "delta")),
                          golden_number(c, "epsilon"), 1e-11, "epsilon");
    }
    cr_assert_eq(zcdp_epsilon(0, 1e-6), 0);
}

/* Gaussian noise is rho-zCDP for rho = mu^2/2, so its exact epsilon is a lower bound. */
Test(zcdp, epsilon_is_above_the_exact_one_of_gaussian_noise)
{
    for (double mu = 1e-3; mu < 100; mu *= 2.3) {
        for (double delta = 1e-15; delta < 0.1; delta *= 31) {
            const double exact = gaussian_epsilon(mu, delta);
            const double converted = zcdp_epsilon(zcdp_of_gaussian(mu), delta);
            cr_assert(converted >= exact, "mu %g, delta %g: %g < %g", mu, delta, converted, exact);
        }
    }
}
