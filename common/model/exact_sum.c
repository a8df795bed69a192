#include "model/exact_sum.h"

#include <string.h>

#define LIMB_BITS 32
#define LIMB_MASK UINT64_C(0xffffffff)
#define FRACTION_BITS 52

/* |value| = mantissa 2^(shift - 1074), with shift >= 0. */
struct parts {
    uint64_t mantissa;
    uint32_t shift;
    int64_t sign;
};

static struct parts take_apart(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t exponent = (uint32_t)(bits >> FRACTION_BITS) & 0x7ff;
    const uint64_t fraction = bits & ((UINT64_C(1) << FRACTION_BITS) - 1);
    return (struct parts){
        .mantissa = fraction | (uint64_t)(exponent > 0) << FRACTION_BITS,
        .shift = exponent > 0 ? exponent - 1 : 0,
        .sign = bits >> 63 ? -1 : 1,
    };
}

/* sum += sign value 2^(bit - 2148). */
static void add_shifted(struct dpot_exact_sum *sum, int64_t sign, uint64_t value, uint32_t bit)
{
    int64_t *limb = sum->limb + bit / LIMB_BITS;
    const uint32_t shift = bit % LIMB_BITS;
    const uint64_t low = (value & LIMB_MASK) << shift, high = (value >> LIMB_BITS) << shift;
    limb[0] += sign * (int64_t)(low & LIMB_MASK);
    limb[1] += sign * (int64_t)((low >> LIMB_BITS) + (high & LIMB_MASK));
    limb[2] += sign * (int64_t)(high >> LIMB_BITS);
}

/* (h_a 2^32 + l_a) (h_b 2^32 + l_b), h < 2^21: the four products are below 2^64. */
void dpot_exact_sum_add(struct dpot_exact_sum *sum, double a, double b)
{
    const struct parts x = take_apart(a), y = take_apart(b);
    const uint64_t x_low = x.mantissa & LIMB_MASK, x_high = x.mantissa >> LIMB_BITS;
    const uint64_t y_low = y.mantissa & LIMB_MASK, y_high = y.mantissa >> LIMB_BITS;
    const uint32_t bit = x.shift + y.shift;
    const int64_t sign = x.sign * y.sign;
    add_shifted(sum, sign, x_low * y_low, bit);
    add_shifted(sum, sign, x_low * y_high + x_high * y_low, bit + LIMB_BITS);
    add_shifted(sum, sign, x_high * y_high, bit + 2 * LIMB_BITS);
}

/* Every limb but the last to [0, 2^32): the sign is then that of the last, unless all are zero. */
int dpot_exact_sum_sign(struct dpot_exact_sum *sum)
{
    int64_t carry = 0;
    int64_t any = 0;
    for (uint32_t i = 0; i + 1 < DPOT_EXACT_SUM_LIMBS; i++) {
        const int64_t value = sum->limb[i] + carry;
        const int64_t rest = (int64_t)((uint64_t)value & LIMB_MASK);
        sum->limb[i] = rest;
        any |= rest;
        carry = (value - rest) / ((int64_t)1 << LIMB_BITS); /* exact: floor(value / 2^32) */
    }
    int64_t *last = &sum->limb[DPOT_EXACT_SUM_LIMBS - 1];
    *last += carry;
    return *last < 0 ? -1 : (*last | any) != 0;
}
