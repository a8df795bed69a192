#include "unit/mechanism/u128_portable.h"

#include <criterion/criterion.h>

/* Corner values first, then a fixed random sequence. */
static uint64_t number(size_t i)
{
    static const uint64_t corners[] = {0,
                                       1,
                                       2,
                                       UINT32_MAX,
                                       (uint64_t)1 << 32,
                                       ((uint64_t)1 << 62) - 1,
                                       (uint64_t)1 << 62,
                                       INT64_MAX,
                                       (uint64_t)1 << 63,
                                       UINT64_MAX - 1,
                                       UINT64_MAX};
    const size_t n_corners = sizeof corners / sizeof corners[0];
    if (i < n_corners) {
        return corners[i];
    }
    uint64_t x = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 31)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (x ^ (x >> 29)) >> (i % 3 * 17);
}
#define N_NUMBERS 60

static int equal(struct dpot_u128 a, struct dpot_u128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

Test(u128, the_portable_half_is_really_the_portable_one)
{
    cr_assert_eq(portable_is_native(), 0);
#if defined(__SIZEOF_INT128__)
    cr_assert_eq(DPOT_U128_NATIVE, 1);
#endif
}

Test(u128, native_and_portable_products_are_the_same)
{
    for (size_t i = 0; i < N_NUMBERS; i++) {
        for (size_t j = 0; j < N_NUMBERS; j++) {
            cr_assert(
                equal(dpot_u128_mul(number(i), number(j)), portable_mul(number(i), number(j))));
        }
    }
    const struct dpot_u128 square = portable_mul(UINT64_MAX, UINT64_MAX);
    cr_assert_eq(square.lo, 1);
    cr_assert_eq(square.hi, UINT64_MAX - 1);
}

Test(u128, native_and_portable_sums_differences_and_shifts_are_the_same)
{
    for (size_t i = 0; i < N_NUMBERS; i++) {
        for (size_t j = 0; j < N_NUMBERS; j++) {
            const struct dpot_u128 a = {number(i), number(j)}, b = {number(j / 2), number(i)};
            cr_assert(equal(dpot_u128_add(a, b), portable_add(a, b)));
            cr_assert(equal(dpot_u128_sub(a, b), portable_sub(a, b)));
            cr_assert(equal(dpot_u128_sub(dpot_u128_add(a, b), b), a));
        }
        for (unsigned n = 0; n < 128; n++) {
            const struct dpot_u128 a = {number(i), number(i + 7)};
            cr_assert(equal(dpot_u128_shr(a, n), portable_shr(a, n)));
        }
    }
}

Test(u128, comparisons_by_borrow_agree_with_the_operators)
{
    for (size_t i = 0; i < N_NUMBERS; i++) {
        for (size_t j = 0; j < N_NUMBERS; j++) {
            const uint64_t x = number(i), y = number(j);
            cr_assert_eq(dpot_u64_less(x, y), x < y);
            cr_assert_eq(dpot_u64_min(x, y), x < y ? x : y);
            cr_assert_eq(dpot_u64_max(x, y), x < y ? y : x);
            for (size_t k = 0; k < 16; k++) {
                const struct dpot_u128 a = {x, number(k / 4)}, b = {y, number(k % 4)};
                const uint64_t is_less = a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
                cr_assert_eq(dpot_u128_less(a, b), is_less);
                const struct dpot_u128 diff = dpot_u128_sub_floor(a, b);
                cr_assert(equal(diff, is_less ? dpot_u128_from(0) : dpot_u128_sub(a, b)));
                cr_assert_eq(dpot_u128_min_u64(a, y), a.hi > 0 || a.lo >= y ? y : a.lo);
            }
        }
    }
}
