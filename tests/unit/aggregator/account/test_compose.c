#include "account/binomial.h"
#include "account/compose.h"
#include "account/gaussian.h"
#include "account/optimal.h"
#include "account/zcdp.h"
#include "golden.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(compose, .init = golden_load_reference, .fini = golden_drop_reference);
TestSuite(binomial, .init = golden_load_reference, .fini = golden_drop_reference);

Test(binomial, probabilities_are_exact_up_to_1e15_trials)
{
    const json_t *cases = json_object_get(golden_reference, "binomial");
    cr_assert_geq(json_array_size(cases), 11);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        const double n = golden_number(c, "n"), x = golden_number(c, "x"),
                     p = golden_number(c, "p");
        const double value = binomial_log_pmf(n, x, p, 1 - p);
        const double allowed = 1e-11 + 1e-15 * fabs(x - n * p);
        cr_assert_float_eq(value, golden_number(c, "log_pmf"), allowed, "case %zu: %.17g", i,
                           value);
    }
}

Test(binomial, tail_of_fair_coins_is_a_lower_bound_within_1e12)
{
    const json_t *cases = json_object_get(golden_reference, "fair_tail");
    cr_assert_geq(json_array_size(cases), 12);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        expect_just_below(binomial_fair_tail(golden_number(c, "c"), golden_number(c, "t")),
                          golden_number(c, "ratio"), 1e-12, "ratio");
    }
}

Test(binomial, tail_in_the_very_middle_of_many_coins_stays_a_lower_bound)
{
    /* P[>= t] / P[= t - 1] is about sqrt(pi c / 8) there. */
    const double c = 1e15, value = binomial_fair_tail(c, c / 2 + 1);
    cr_assert(value >= 0 && value <= sqrt(3.14159265358979 * c / 8), "%g", value);
}

Test(compose, equal_pure_releases_cost_the_exact_epsilon_of_randomised_response)
{
    const json_t *cases = json_object_get(golden_reference, "optimal");
    cr_assert_geq(json_array_size(cases), 9);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        const double epsilon = golden_number(c, "epsilon"), count = golden_number(c, "count");
        const double total = optimal_epsilon(epsilon, (uint64_t)count, golden_number(c, "delta"));
        expect_just_above(total, golden_number(c, "total"), 1e-7, "total");
        cr_assert_leq(total, epsilon * count * (1 + 1e-14));
    }
}

Test(compose, a_hundred_million_releases_are_counted_in_bounded_time)
{
    const double total = optimal_epsilon(1e-3, OPTIMAL_COUNT_MAX, 1e-9);
    cr_assert(total > 50 && total < 1e-3 * 1e8, "%g", total);
    cr_assert_leq(total, zcdp_epsilon(1e8 * 1e-6 / 2, 1e-9));
}

static struct compose_part part(enum compose_unit unit, double value, double delta, uint64_t count)
{
    return (struct compose_part){.unit = unit, .value = value, .delta = delta, .count = count};
}

Test(compose, pure_epsilons_add_to_the_digit)
{
    struct composition out[ACCOUNTANTS];
    const struct compose_part parts[] = {part(COMPOSE_EPSILON, 0.1, 0, 100),
                                         part(COMPOSE_EPSILON, 2.5, 0, 4)};
    compose(parts, 2, 0, out);
    cr_assert_null(out[ACCOUNTANT_BASIC].why);
    expect_just_above(out[ACCOUNTANT_BASIC].epsilon, 20, 2e-15, "basic");
    cr_assert_eq(out[ACCOUNTANT_BASIC].delta, 0);
    cr_assert_not_null(out[ACCOUNTANT_ZCDP].why, "there is no delta");
    cr_assert_not_null(out[ACCOUNTANT_OPTIMAL].why);
    expect_just_above(out[ACCOUNTANT_ZCDP].rho, 100 * 0.005 + 4 * 3.125, 2e-15, "rho");
    cr_assert_eq(compose_best(out), ACCOUNTANT_BASIC);
}

Test(compose, mus_add_in_squares_and_rhos_straight)
{
    struct composition out[ACCOUNTANTS];
    const struct compose_part mus[] = {part(COMPOSE_MU, 0.3, 0, 1), part(COMPOSE_MU, 0.1, 0, 16)};
    compose(mus, 2, 1e-6, out);
    expect_just_above(out[ACCOUNTANT_GDP].mu, 0.5, 1e-15, "mu");
    expect_just_above(out[ACCOUNTANT_GDP].epsilon, gaussian_epsilon(0.5, 1e-6), 1e-10, "gdp");
    expect_just_above(out[ACCOUNTANT_ZCDP].epsilon, zcdp_epsilon(0.125, 1e-6), 1e-10, "zcdp");
    cr_assert_lt(out[ACCOUNTANT_GDP].epsilon, out[ACCOUNTANT_ZCDP].epsilon);
    cr_assert_lt(out[ACCOUNTANT_ZCDP].epsilon, out[ACCOUNTANT_BASIC].epsilon);
    cr_assert_eq(compose_best(out), ACCOUNTANT_GDP);

    /* rho does not imply Gaussian differential privacy. */
    const struct compose_part rho = part(COMPOSE_RHO, 0.125, 0, 1);
    compose(&rho, 1, 1e-6, out);
    cr_assert_not_null(out[ACCOUNTANT_GDP].why);
    expect_just_above(out[ACCOUNTANT_ZCDP].epsilon, zcdp_epsilon(0.125, 1e-6), 1e-12, "zcdp");
}

Test(compose, one_release_costs_its_own_epsilon)
{
    struct composition out[ACCOUNTANTS];
    struct compose_part one = part(COMPOSE_EPSILON, 1, 1e-6, 1);
    compose(&one, 1, 0, out);
    expect_just_above(out[ACCOUNTANT_BASIC].epsilon, 1, 1e-15, "epsilon");
    cr_assert_eq(out[ACCOUNTANT_BASIC].delta, 1e-6);
    one = part(COMPOSE_RHO, 0.01, 1e-5, 1);
    compose(&one, 1, 0, out);
    cr_assert_float_eq(out[ACCOUNTANT_BASIC].epsilon, 0.5457255482740024, 1e-11);
}

Test(compose, gaussian_parts_with_epsilon_and_delta_need_no_delta_under_zcdp)
{
    struct composition out[ACCOUNTANTS];
    struct compose_part many = part(COMPOSE_EPSILON, 1, 1e-6, 50);
    many.is_gaussian = true;
    compose(&many, 1, 1e-6, out);
    cr_assert_not_null(out[ACCOUNTANT_BASIC].why, "50e-6 is more than 1e-6");
    const double mu = gaussian_mu(1, 1e-6);
    expect_just_above(out[ACCOUNTANT_ZCDP].rho, 25 * mu * mu, 1e-8, "rho");
    cr_assert_geq(out[ACCOUNTANT_ZCDP].epsilon, gaussian_epsilon(mu * sqrt(50), 1e-6));

    /* For other mechanisms the deltas are lost. */
    many.is_gaussian = false;
    compose(&many, 1, 1e-6, out);
    cr_assert_not_null(out[ACCOUNTANT_ZCDP].why);
    compose(&many, 1, 1e-4, out);
    expect_just_above(out[ACCOUNTANT_ZCDP].epsilon, zcdp_epsilon(25, 5e-5), 1e-9, "zcdp");
}

Test(compose, every_accountant_grows_with_every_part)
{
    struct composition less[ACCOUNTANTS], more[ACCOUNTANTS];
    static const enum compose_unit units[] = {COMPOSE_EPSILON, COMPOSE_RHO, COMPOSE_MU};
    for (size_t u = 0; u < 3; u++) {
        for (uint64_t count = 1; count < 1000000; count *= 7) {
            const struct compose_part a = part(units[u], 0.02, 0, count);
            const struct compose_part b = part(units[u], 0.02, 0, count + 1);
            compose(&a, 1, 1e-8, less);
            compose(&b, 1, 1e-8, more);
            for (int i = 0; i < ACCOUNTANTS; i++) {
                cr_assert(!!less[i].why == !!more[i].why);
                cr_assert(less[i].why || more[i].epsilon > less[i].epsilon, "%s, unit %zu, %llu",
                          accountant_name((enum accountant)i), u, (unsigned long long)count);
            }
        }
    }
}

Test(compose, no_accountant_exceeds_basic_composition)
{
    /* The optimal one is below every other valid bound for pure releases. */
    struct composition out[ACCOUNTANTS];
    for (double epsilon = 0.01; epsilon < 5; epsilon *= 3) {
        for (uint64_t count = 1; count < 5000; count *= 6) {
            const struct compose_part pure = part(COMPOSE_EPSILON, epsilon, 0, count);
            compose(&pure, 1, 1e-7, out);
            cr_assert_leq(out[ACCOUNTANT_OPTIMAL].epsilon,
                          out[ACCOUNTANT_BASIC].epsilon * (1 + 1e-14));
            cr_assert_leq(out[ACCOUNTANT_OPTIMAL].epsilon, out[ACCOUNTANT_ZCDP].epsilon);
        }
    }
}

Test(compose, huge_counts_and_values_stay_finite)
{
    struct composition out[ACCOUNTANTS];
    const struct compose_part parts[] = {
        part(COMPOSE_EPSILON, COMPOSE_VALUE_MAX, 0, COMPOSE_COUNT_MAX),
        part(COMPOSE_RHO, COMPOSE_VALUE_MAX, 0, COMPOSE_COUNT_MAX),
        part(COMPOSE_MU, COMPOSE_VALUE_MAX, 0, COMPOSE_COUNT_MAX)};
    compose(parts, 3, 1e-6, out);
    cr_assert(isfinite(out[ACCOUNTANT_BASIC].epsilon) && out[ACCOUNTANT_BASIC].epsilon > 1e21);
    cr_assert(isfinite(out[ACCOUNTANT_ZCDP].epsilon));
    compose(&parts[2], 1, 1e-6, out);
    cr_assert(isfinite(out[ACCOUNTANT_GDP].epsilon) && out[ACCOUNTANT_GDP].epsilon > 1e26);
}

Test(compose, deltas_that_add_to_one_leave_only_basic)
{
    struct composition out[ACCOUNTANTS];
    const struct compose_part parts = part(COMPOSE_EPSILON, 1, 0.5, 3);
    compose(&parts, 1, 0, out);
    cr_assert_eq(compose_best(out), ACCOUNTANT_BASIC);
    cr_assert_eq(out[ACCOUNTANT_BASIC].delta, 1.5);
    cr_assert_not_null(strstr(out[ACCOUNTANT_ZCDP].why, "add to 1"));
}
