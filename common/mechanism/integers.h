/* Signed integers for secrets, as u128.h: no branch or division, and no conditional that a compiler
 * for small cores could turn into a branch. */
#ifndef DPOT_MECHANISM_INTEGERS_H
#define DPOT_MECHANISM_INTEGERS_H

#include "mechanism/u128.h"

/* The int64_t with these bits (two's complement). */
static inline int64_t dpot_i64_of_bits(uint64_t bits)
{
    const union {
        uint64_t bits;
        int64_t value;
    } both = {bits};
    return both.value;
}

/* All ones if a < 0, else 0. */
static inline uint64_t dpot_i64_sign_mask(int64_t a)
{
    return dpot_u64_mask(dpot_u64_top_bit((uint64_t)a));
}

/* |a| */
static inline uint64_t dpot_i64_magnitude(int64_t a)
{
    const uint64_t mask = dpot_i64_sign_mask(a);
    return ((uint64_t)a ^ mask) - mask;
}

/* mask ? -magnitude : magnitude, for a magnitude below 2^63 */
static inline int64_t dpot_i64_with_sign(uint64_t magnitude, uint64_t mask)
{
    return dpot_i64_of_bits((magnitude ^ mask) - mask);
}

/* mask ? a : 0 */
static inline int64_t dpot_i64_and(int64_t a, uint64_t mask)
{
    return dpot_i64_of_bits((uint64_t)a & mask);
}

/* min(max(a, lo), hi) for lo <= hi. Signed numbers have the order of unsigned ones with the top bit
 * flipped. */
static inline int64_t dpot_i64_clamp(int64_t a, int64_t lo, int64_t hi)
{
    const uint64_t flip = (uint64_t)1 << 63;
    const uint64_t above = dpot_u64_max((uint64_t)a ^ flip, (uint64_t)lo ^ flip);
    return dpot_i64_of_bits(dpot_u64_min(above, (uint64_t)hi ^ flip) ^ flip);
}

#endif
