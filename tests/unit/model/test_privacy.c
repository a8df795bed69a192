#include "model/privacy.h"

#include <criterion/criterion.h>
#include <math.h>

Test(privacy, sums_saturate_and_then_fit_no_cap)
{
    const struct dpot_privacy a = {UINT64_MAX - 1, 5, 7, 1}, b = {2, 6, UINT64_MAX, UINT64_MAX};
    const struct dpot_privacy sum = dpot_privacy_add(a, b);
    cr_assert_eq(sum.epsilon_q32, UINT64_MAX);
    cr_assert_eq(sum.delta_q64, 11);
    cr_assert_eq(sum.rho_q32, UINT64_MAX);
    cr_assert_not(dpot_privacy_within(sum, a));
}

Test(privacy, within_needs_every_part)
{
    const struct dpot_privacy cap = {10, 10, 10, 0};
    cr_assert(dpot_privacy_within(cap, cap));
    cr_assert_not(dpot_privacy_within((struct dpot_privacy){11, 0, 0, 0}, cap));
    cr_assert_not(dpot_privacy_within((struct dpot_privacy){0, 11, 0, 0}, cap));
    cr_assert_not(dpot_privacy_within((struct dpot_privacy){0, 0, 11, 0}, cap));
}

Test(privacy, a_pure_charge_has_rho_of_half_epsilon_squared_rounded_up)
{
    static const struct {
        uint64_t epsilon_q32, rho_q32;
    } cases[] = {
        {1, 1},
        {(uint64_t)1 << 16, 1},
        {((uint64_t)1 << 17) + 1, 3}, /* 2^34 + 2^18 + 1 over 2^33 */
        {DPOT_EPSILON_ONE, (uint64_t)1 << 31},
        {20 * DPOT_EPSILON_ONE, 200 * DPOT_EPSILON_ONE},
        {UINT32_MAX, ((uint64_t)1 << 31)},
        {(uint64_t)1 << 47, UINT64_MAX}, /* 2^61 would fit, but such an epsilon is never charged */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct dpot_privacy charge = dpot_privacy_pure(cases[i].epsilon_q32);
        cr_assert_eq(charge.epsilon_q32, cases[i].epsilon_q32);
        cr_assert_eq(charge.delta_q64, 0);
        cr_assert_eq(charge.rho_q32, cases[i].rho_q32, "case %zu: %llu", i,
                     (unsigned long long)charge.rho_q32);
    }
}

Test(privacy, epsilon_is_rounded_down_to_q32)
{
    uint64_t e = 0;
    cr_assert_eq(dpot_epsilon_from_double(1, &e), DPOT_OK);
    cr_assert_eq(e, DPOT_EPSILON_ONE);
    cr_assert_eq(dpot_epsilon_from_double(0.1, &e), DPOT_OK);
    cr_assert_eq(e, 429496729);
    cr_assert_float_eq(dpot_epsilon_to_double(e), 0.1, 1e-9);
    cr_assert_leq(dpot_epsilon_to_double(e), 0.1);
}

Test(privacy, an_epsilon_that_is_not_positive_is_refused)
{
    const double refused[] = {0, -1, NAN, INFINITY, -INFINITY, 1e-10, 2147483648.0, 1e300};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        uint64_t e = 77;
        cr_assert_eq(dpot_epsilon_from_double(refused[i], &e), DPOT_ERR_RANGE, "%g", refused[i]);
        cr_assert_eq(e, 77);
    }
}

static struct dpot_privacy spent(double rho, uint64_t n_gaussian)
{
    return (struct dpot_privacy){.rho_q32 = (uint64_t)ldexp(rho, 32), .n_gaussian = n_gaussian};
}

Test(privacy, rho_of_pure_reports_is_converted_at_the_whole_delta)
{
    const double delta = 1e-6;
    cr_assert_float_eq(dpot_epsilon_of_rho(spent(0.5, 0), delta), 0.5 + 2 * sqrt(0.5 * log(1e6)),
                       1e-12);
}

Test(privacy, the_truncation_of_gaussian_noise_is_deducted_from_delta)
{
    const uint64_t n = (uint64_t)1 << 30;
    const double delta = 1e-9, cut = ldexp(64, -40) + ldexp((double)n, -75);
    const double rest = (delta - cut) * exp(-ldexp((double)n, -38));
    cr_assert_lt(rest, 0.95 * delta); /* the exception is visible */
    cr_assert_float_eq(dpot_epsilon_of_rho(spent(64, n), delta),
                       64 + 2 * sqrt(64 * log(1 / rest)) + ldexp((double)n, -39), 1e-9);
}

Test(privacy, where_the_truncation_takes_all_of_delta_there_is_no_epsilon)
{
    cr_assert(isinf(dpot_epsilon_of_rho(spent(8, 1), 7e-12))); /* 8 2^-40 = 7.3e-12 */
    cr_assert(isfinite(dpot_epsilon_of_rho(spent(8, 1), 8e-12)));
    cr_assert(isfinite(dpot_epsilon_of_rho(spent(8, 0), 7e-12)));
    cr_assert(isinf(dpot_epsilon_of_rho(spent(0.5, UINT64_MAX), 1e-6)));
}
