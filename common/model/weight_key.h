/* Weights of device data as integers, compared and scaled in the same steps for all values: no
 * overflow, no subnormal number, no branch.
 *
 * The key of a weight is its bits, which have the order of the weights; 0 for weights that count as
 * 0: zero, negative, infinite, NaN and subnormal ones. */
#ifndef DPOT_MODEL_WEIGHT_KEY_H
#define DPOT_MODEL_WEIGHT_KEY_H

#include "base/compiler.h"
#include "base/double_bits.h"

#include <stdint.h>

#define DPOT_WEIGHT_FRACTION_BITS 52
#define DPOT_WEIGHT_BITS 40 /* weights below 2^-40 of the largest count as 0 too */

/* All ones or 0; opaque to the optimizer, which could branch on it. */
static inline uint64_t dpot_key_mask(int is_true)
{
    uint64_t mask = (uint64_t)0 - (uint64_t)(is_true != 0);
    DPOT_HIDE_VALUE(mask);
    return mask;
}

static inline uint64_t dpot_key_max(uint64_t a, uint64_t b)
{
    return a ^ ((a ^ b) & dpot_key_mask(a < b));
}

/* a if is_first, otherwise b. */
static inline double dpot_key_choose(int is_first, double a, double b)
{
    const uint64_t first = dpot_double_bits(a), second = dpot_double_bits(b);
    return dpot_double_of_bits(second ^ ((first ^ second) & dpot_key_mask(is_first)));
}

static inline uint64_t dpot_weight_key(double weight)
{
    const uint64_t least = UINT64_C(1) << DPOT_WEIGHT_FRACTION_BITS;
    const uint64_t infinity = UINT64_C(0x7ff) << DPOT_WEIGHT_FRACTION_BITS;
    const uint64_t bits = dpot_double_bits(weight);
    return bits & dpot_key_mask(bits - least < infinity - least);
}

/* The smallest key that counts next to this largest one; at least 1. */
static inline uint64_t dpot_weight_floor(uint64_t largest)
{
    const uint64_t range = (uint64_t)DPOT_WEIGHT_BITS << DPOT_WEIGHT_FRACTION_BITS;
    return 1 + ((largest - range - 1) & dpot_key_mask(largest > range));
}

/* The weight divided by the power of two above the largest: 0, or in [2^-41, 1). */
static inline double dpot_weight_scaled(uint64_t key, uint64_t largest)
{
    const uint64_t one = UINT64_C(1022); /* exponent of numbers in [1/2, 1) */
    const uint64_t shift = ((largest >> DPOT_WEIGHT_FRACTION_BITS) - one)
                           << DPOT_WEIGHT_FRACTION_BITS;
    return dpot_double_of_bits((key - shift) & dpot_key_mask(key >= dpot_weight_floor(largest)));
}

/* The same in units of 2^-40, rounded down; below 2^40. */
static inline uint64_t dpot_weight_integer(uint64_t key, uint64_t largest)
{
    const uint64_t one = UINT64_C(1) << DPOT_WEIGHT_FRACTION_BITS;
    const uint64_t mantissa = (key & (one - 1)) | one;
    const uint64_t shift =
        (largest >> DPOT_WEIGHT_FRACTION_BITS) - (key >> DPOT_WEIGHT_FRACTION_BITS);
    return mantissa >> (DPOT_WEIGHT_FRACTION_BITS + 1 - DPOT_WEIGHT_BITS) >> (shift & 63) &
           dpot_key_mask(key >= dpot_weight_floor(largest));
}

#endif
