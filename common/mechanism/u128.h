/* 128-bit unsigned integers as two 64-bit halves, for the integer draws.
 *
 * Where the compiler has `unsigned __int128`, products, sums and shifts use it. The portable half,
 * for 32-bit machines, gives identical results: DPOT_NO_INT128 selects it, and DPOT_NO_MUL64 in it
 * the products for cores that multiply 32 bits into 32; tests/portability runs all. No branch,
 * table or division depends on a value, which is checked there in the machine code for small
 * cores. */
#ifndef DPOT_MECHANISM_U128_H
#define DPOT_MECHANISM_U128_H

#include "base/compiler.h"

#include <stdint.h>

struct dpot_u128 {
    uint64_t lo;
    uint64_t hi;
};

/* The top bit of a, 0 or 1; opaque to the optimizer, which otherwise recognises `a < 0` and may
 * branch. */
static inline uint64_t dpot_u64_top_bit(uint64_t a)
{
    uint64_t bit = a >> 63;
    DPOT_HIDE_VALUE(bit);
    return bit;
}

/* a < b as 1 or 0, by the borrow of a - b: compilers for small cores turn the operator `<` into a
 * branch, and recognise it in its borrow unless the difference is hidden. */
static inline uint64_t dpot_u64_less(uint64_t a, uint64_t b)
{
    uint64_t diff = a - b;
    DPOT_HIDE_VALUE(diff);
    return dpot_u64_top_bit((~a & b) | ((~a | b) & diff));
}

/* a != 0 as 1 or 0. */
static inline uint64_t dpot_u64_nonzero(uint64_t a)
{
    uint64_t negated = (uint64_t)0 - a;
    DPOT_HIDE_VALUE(negated);
    return dpot_u64_top_bit(a | negated);
}

/* All ones if `bit` is 1, 0 if it is 0; opaque to the optimizer. */
static inline uint64_t dpot_u64_mask(uint64_t bit)
{
    uint64_t mask = (uint64_t)0 - bit;
    DPOT_HIDE_VALUE(mask);
    return mask;
}

/* mask ? a : b, for an all-ones or zero mask. */
static inline uint64_t dpot_u64_select(uint64_t mask, uint64_t a, uint64_t b)
{
    return b ^ (mask & (a ^ b));
}

static inline uint64_t dpot_u64_min(uint64_t a, uint64_t b)
{
    return dpot_u64_select(dpot_u64_mask(dpot_u64_less(a, b)), a, b);
}

static inline uint64_t dpot_u64_max(uint64_t a, uint64_t b)
{
    return dpot_u64_select(dpot_u64_mask(dpot_u64_less(a, b)), b, a);
}

static inline struct dpot_u128 dpot_u128_from(uint64_t x)
{
    return (struct dpot_u128){x, 0};
}

#if defined(__SIZEOF_INT128__) && !defined(DPOT_NO_INT128)

#define DPOT_U128_NATIVE 1
#define DPOT_U128_JOIN(x) (((unsigned __int128)(x).hi << 64) | (x).lo)
#define DPOT_U128_SPLIT(x) ((struct dpot_u128){(uint64_t)(x), (uint64_t)((x) >> 64)})

/* a + b mod 2^128 */
static inline struct dpot_u128 dpot_u128_add(struct dpot_u128 a, struct dpot_u128 b)
{
    const unsigned __int128 sum = DPOT_U128_JOIN(a) + DPOT_U128_JOIN(b);
    return DPOT_U128_SPLIT(sum);
}

/* a - b mod 2^128 */
static inline struct dpot_u128 dpot_u128_sub(struct dpot_u128 a, struct dpot_u128 b)
{
    const unsigned __int128 diff = DPOT_U128_JOIN(a) - DPOT_U128_JOIN(b);
    return DPOT_U128_SPLIT(diff);
}

/* The full product a b. */
static inline struct dpot_u128 dpot_u128_mul(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    return DPOT_U128_SPLIT(product);
}

/* floor(a / 2^n) for a public n in 0..127 */
static inline struct dpot_u128 dpot_u128_shr(struct dpot_u128 a, unsigned n)
{
    const unsigned __int128 shifted = DPOT_U128_JOIN(a) >> n;
    return DPOT_U128_SPLIT(shifted);
}

#else

#define DPOT_U128_NATIVE 0

/* a + b mod 2^128 */
static inline struct dpot_u128 dpot_u128_add(struct dpot_u128 a, struct dpot_u128 b)
{
    const uint64_t lo = a.lo + b.lo;
    const uint64_t carry = dpot_u64_top_bit((a.lo & b.lo) | ((a.lo | b.lo) & ~lo));
    return (struct dpot_u128){lo, a.hi + b.hi + carry};
}

/* a - b mod 2^128 */
static inline struct dpot_u128 dpot_u128_sub(struct dpot_u128 a, struct dpot_u128 b)
{
    return (struct dpot_u128){a.lo - b.lo, a.hi - b.hi - dpot_u64_less(a.lo, b.lo)};
}

/* The full product a b. */
static inline uint64_t dpot_u32_mul(uint32_t a, uint32_t b)
{
#ifdef DPOT_NO_MUL64
    const uint32_t half = UINT16_MAX;
    const uint32_t a_lo = a & half, a_hi = a >> 16, b_lo = b & half, b_hi = b >> 16;
    const uint32_t low = a_lo * b_lo;
    const uint32_t middle = a_hi * b_lo + (low >> 16);    /* < 2^32 */
    const uint32_t other = a_lo * b_hi + (middle & half); /* < 2^32 */
    const uint32_t high = a_hi * b_hi + (middle >> 16) + (other >> 16);
    return (uint64_t)high << 32 | (other << 16 | (low & half));
#else
    return (uint64_t)a * b;
#endif
}

/* The full product a b, by four products of 32-bit halves. */
static inline struct dpot_u128 dpot_u128_mul(uint64_t a, uint64_t b)
{
    const uint64_t half = UINT32_MAX;
    const uint32_t a_lo = (uint32_t)a, a_hi = (uint32_t)(a >> 32);
    const uint32_t b_lo = (uint32_t)b, b_hi = (uint32_t)(b >> 32);
    const uint64_t low = dpot_u32_mul(a_lo, b_lo);
    const uint64_t middle = dpot_u32_mul(a_hi, b_lo) + (low >> 32);    /* < 2^64 */
    const uint64_t other = dpot_u32_mul(a_lo, b_hi) + (middle & half); /* < 2^64 */
    return (struct dpot_u128){(other << 32) | (low & half),
                              dpot_u32_mul(a_hi, b_hi) + (middle >> 32) + (other >> 32)};
}

/* floor(a / 2^n) for a public n in 0..127 */
static inline struct dpot_u128 dpot_u128_shr(struct dpot_u128 a, unsigned n)
{
    if (n >= 64) {
        return (struct dpot_u128){a.hi >> (n - 64), 0};
    }
    if (n == 0) {
        return a;
    }
    return (struct dpot_u128){(a.hi << (64 - n)) | (a.lo >> n), a.hi >> n};
}

#endif

/* a < b as 1 or 0: the borrow of the 128-bit difference. */
static inline uint64_t dpot_u128_less(struct dpot_u128 a, struct dpot_u128 b)
{
    const uint64_t borrow = dpot_u64_less(a.lo, b.lo);
    uint64_t diff = a.hi - b.hi - borrow;
    DPOT_HIDE_VALUE(diff);
    return dpot_u64_top_bit((~a.hi & b.hi) | ((~a.hi | b.hi) & diff));
}

/* mask ? a : b */
static inline struct dpot_u128 dpot_u128_select(uint64_t mask, struct dpot_u128 a,
                                                struct dpot_u128 b)
{
    return (struct dpot_u128){dpot_u64_select(mask, a.lo, b.lo), dpot_u64_select(mask, a.hi, b.hi)};
}

/* max(a - b, 0) */
static inline struct dpot_u128 dpot_u128_sub_floor(struct dpot_u128 a, struct dpot_u128 b)
{
    const uint64_t below = dpot_u64_mask(dpot_u128_less(a, b));
    return dpot_u128_select(below, dpot_u128_from(0), dpot_u128_sub(a, b));
}

/* a b mod 2^64. The operator is a library call on small cores, which branches on its operands. */
static inline uint64_t dpot_u64_mul(uint64_t a, uint64_t b)
{
    return dpot_u128_mul(a, b).lo;
}

/* floor(a b / 2^n), for products below 2^(64 + n) */
static inline uint64_t dpot_u64_mul_shr(uint64_t a, uint64_t b, unsigned n)
{
    return dpot_u128_shr(dpot_u128_mul(a, b), n).lo;
}

/* min(a, b) for a wide a */
static inline uint64_t dpot_u128_min_u64(struct dpot_u128 a, uint64_t b)
{
    const uint64_t is_less = dpot_u64_mask(dpot_u128_less(a, dpot_u128_from(b)));
    return dpot_u64_select(is_less, a.lo, b);
}

#endif
