#include "privacy/wide.h"

#include <criterion/criterion.h>
#include <math.h>

struct wide wide_from_u64(uint64_t x)
{
    return (struct wide){.limb = {(uint32_t)x, (uint32_t)(x >> 32)}};
}

struct wide wide_from_u128(struct dpot_u128 x)
{
    return wide_add(wide_from_u64(x.lo), wide_shift_left(wide_from_u64(x.hi), 64));
}

struct wide wide_from_decimal(const char *text)
{
    struct wide value = {{0}};
    for (; *text; text++) {
        value =
            wide_add(wide_mul(value, wide_from_u64(10)), wide_from_u64((uint64_t)(*text - '0')));
    }
    return value;
}

struct wide wide_add(struct wide a, struct wide b)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < WIDE_LIMBS; i++) {
        carry += (uint64_t)a.limb[i] + b.limb[i];
        a.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    cr_assert_eq(carry, 0);
    return a;
}

struct wide wide_sub(struct wide a, struct wide b)
{
    uint64_t borrow = 0;
    for (size_t i = 0; i < WIDE_LIMBS; i++) {
        const uint64_t diff = (uint64_t)a.limb[i] - b.limb[i] - borrow;
        a.limb[i] = (uint32_t)diff;
        borrow = diff >> 63;
    }
    cr_assert_eq(borrow, 0);
    return a;
}

static size_t length(const struct wide *a)
{
    size_t n = WIDE_LIMBS;
    while (n > 0 && a->limb[n - 1] == 0) {
        n--;
    }
    return n;
}

struct wide wide_mul(struct wide a, struct wide b)
{
    const size_t a_len = length(&a), b_len = length(&b);
    struct wide product = {{0}};
    for (size_t i = 0; i < a_len; i++) {
        uint64_t carry = 0;
        for (size_t j = 0; j < b_len || carry > 0; j++) {
            cr_assert_lt(i + j, WIDE_LIMBS);
            carry += product.limb[i + j] + (j < b_len ? (uint64_t)a.limb[i] * b.limb[j] : 0);
            product.limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return product;
}

struct wide wide_shift_left(struct wide a, unsigned bits)
{
    struct wide power = {{0}};
    cr_assert_lt(bits / 32, WIDE_LIMBS);
    power.limb[bits / 32] = (uint32_t)1 << bits % 32;
    return wide_mul(a, power);
}

struct wide wide_shift_right(struct wide a, unsigned bits)
{
    const size_t limbs = bits / 32;
    const unsigned rest = bits % 32;
    struct wide shifted = {{0}};
    for (size_t i = 0; i + limbs < WIDE_LIMBS; i++) {
        const uint64_t high = i + limbs + 1 < WIDE_LIMBS ? a.limb[i + limbs + 1] : 0;
        shifted.limb[i] = (uint32_t)((high << 32 | a.limb[i + limbs]) >> rest);
    }
    return shifted;
}

struct wide wide_divide_small(struct wide a, uint32_t divisor)
{
    uint64_t rem = 0;
    for (size_t i = WIDE_LIMBS; i-- > 0;) {
        rem = rem << 32 | a.limb[i];
        a.limb[i] = (uint32_t)(rem / divisor);
        rem %= divisor;
    }
    return a;
}

bool wide_less(const struct wide *a, const struct wide *b)
{
    for (size_t i = WIDE_LIMBS; i-- > 0;) {
        if (a->limb[i] != b->limb[i]) {
            return a->limb[i] < b->limb[i];
        }
    }
    return false;
}

bool wide_is_zero(const struct wide *a)
{
    return length(a) == 0;
}

double wide_to_double(struct wide a, int bits)
{
    double value = 0;
    for (size_t i = 0; i < WIDE_LIMBS; i++) {
        value += ldexp(a.limb[i], 32 * (int)i - bits);
    }
    return value;
}
