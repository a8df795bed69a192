/* The integer lower bound of e^epsilon against rows of an exact rational series. */
#include "audit/exp_bound.h"

#include "privacy/exp_bound.h"

#include <criterion/criterion.h>
#include <math.h>

Test(exp_bound, is_just_below_e_to_the_epsilon)
{
    for (size_t row = 0; row < N_EXP_BOUNDS; row++) {
        const uint64_t e = exp_bound_epsilon_q32(row);
        const struct dpot_u128 bound = exp_bound(e);
        const double value = ldexp((double)bound.hi, -32) + ldexp((double)bound.lo, -96);
        cr_assert_float_eq(value, exp(ldexp((double)e, -32)), 1e-15 * value);
    }
}

/* Against ratio_is_within, which shares no code: for l = 2^61 / e^epsilon and the largest m with
 * m <= e^epsilon l, both accept m and reject m + 1. */
Test(exp_bound, compares_ratios_to_the_unit)
{
    for (size_t row = 0; row < N_EXP_BOUNDS; row++) {
        const uint64_t e = exp_bound_epsilon_q32(row);
        const uint64_t least = (uint64_t)ldexp(exp(-ldexp((double)e, -32)), 61);
        uint64_t low = least, high = UINT64_C(1) << 62;
        while (high - low > 1) {
            const uint64_t middle = low + (high - low) / 2;
            if (exp_bound_holds(middle, least, e)) {
                low = middle;
            } else {
                high = middle;
            }
        }
        cr_assert(ratio_is_within(low, least, e), "row %zu", row);
        cr_assert_not(ratio_is_within(high, least, e), "row %zu", row);
    }
}

Test(exp_bound, one_unit_more_than_one_is_too_much_at_the_smallest_epsilon)
{
    const uint64_t l = (uint64_t)1 << 40;
    cr_assert(exp_bound_holds(l + (l >> 32), l, 1)); /* l (1 + 2^-32) <= l e^(2^-32) */
    cr_assert_not(exp_bound_holds(l + (l >> 32) + 1, l, 1));
}
