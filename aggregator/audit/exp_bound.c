#include "audit/exp_bound.h"

#define ONE_BITS 124   /* bits after the point in the series */
#define HALVINGS 6     /* e^x = (e^(x / 64))^64; x / 64 < 0.32 */
#define RESULT_BITS 96 /* e^20 < 2^29 */

/* floor(a b / 2^128), the upper half of the 256-bit product. */
static struct dpot_u128 multiply_high(struct dpot_u128 a, struct dpot_u128 b)
{
    const struct dpot_u128 low = dpot_u128_mul(a.lo, b.lo);
    const struct dpot_u128 left = dpot_u128_mul(a.hi, b.lo), right = dpot_u128_mul(a.lo, b.hi);
    const struct dpot_u128 high = dpot_u128_mul(a.hi, b.hi);
    struct dpot_u128 middle = dpot_u128_add(dpot_u128_from(left.lo), dpot_u128_from(right.lo));
    middle = dpot_u128_add(middle, dpot_u128_from(low.hi));
    const struct dpot_u128 upper = dpot_u128_add(dpot_u128_from(left.hi), dpot_u128_from(right.hi));
    return dpot_u128_add(dpot_u128_add(high, upper), dpot_u128_from(middle.hi));
}

static struct dpot_u128 shift_left(struct dpot_u128 a, unsigned bits)
{
    return (struct dpot_u128){a.lo << bits, a.hi << bits | a.lo >> (64 - bits)};
}

/* floor(a / divisor), in steps of half limbs. */
static struct dpot_u128 divide(struct dpot_u128 a, uint32_t divisor)
{
    const uint64_t limbs[4] = {a.hi >> 32, a.hi & UINT32_MAX, a.lo >> 32, a.lo & UINT32_MAX};
    uint64_t quotient[4], rest = 0;
    for (int i = 0; i < 4; i++) {
        const uint64_t part = rest << 32 | limbs[i];
        quotient[i] = part / divisor;
        rest = part % divisor;
    }
    return (struct dpot_u128){quotient[2] << 32 | quotient[3], quotient[0] << 32 | quotient[1]};
}

/* Rounded down. The square of a number with b bits after the point keeps 2 b - 128 of them, plus
 * the leading zeros of the result. */
static struct dpot_u128 square(struct dpot_u128 a, unsigned *bits)
{
    struct dpot_u128 result = multiply_high(a, a);
    *bits = 2 * *bits - 128;
    while (*bits < ONE_BITS && result.hi >> 63 == 0) {
        result = shift_left(result, 1);
        *bits += 1;
    }
    return result;
}

struct dpot_u128 exp_bound(uint64_t epsilon_q32)
{
    const struct dpot_u128 x = {0, epsilon_q32 << (ONE_BITS - 64 - 32 - HALVINGS)};
    struct dpot_u128 term = {0, (uint64_t)1 << (ONE_BITS - 64)}, sum = term;
    for (uint32_t i = 1; term.hi != 0 || term.lo != 0; i++) {
        term = divide(shift_left(multiply_high(term, x), 128 - ONE_BITS), i);
        sum = dpot_u128_add(sum, term);
    }
    unsigned bits = ONE_BITS;
    for (int i = 0; i < HALVINGS; i++) {
        sum = square(sum, &bits);
    }
    return dpot_u128_shr(sum, bits - RESULT_BITS);
}

bool exp_bound_holds(uint64_t most, uint64_t least, uint64_t epsilon_q32)
{
    /* Compares most 2^96 <= bound least in three limbs. */
    const struct dpot_u128 bound = exp_bound(epsilon_q32);
    const struct dpot_u128 low = dpot_u128_mul(least, bound.lo);
    const struct dpot_u128 limit =
        dpot_u128_add(dpot_u128_mul(least, bound.hi), dpot_u128_from(low.hi));
    const struct dpot_u128 value = {most << (RESULT_BITS - 64), most >> (128 - RESULT_BITS)};
    return !dpot_u128_less(limit, value);
}
