/* Unsigned integers of up to 640 bits for the exact privacy tests: weights of noise have up to 192
 * bits, their cross products times a bound on e^epsilon up to 560. An overflow fails the test. */
#ifndef DPOT_TESTS_PRIVACY_WIDE_H
#define DPOT_TESTS_PRIVACY_WIDE_H

#include "mechanism/u128.h"

#include <stdbool.h>

#define WIDE_LIMBS 20

struct wide {
    uint32_t limb[WIDE_LIMBS]; /* low first */
};

struct wide wide_from_u64(uint64_t x);
struct wide wide_from_u128(struct dpot_u128 x);
struct wide wide_from_decimal(const char *text);
struct wide wide_add(struct wide a, struct wide b);
struct wide wide_sub(struct wide a, struct wide b); /* a >= b */
struct wide wide_mul(struct wide a, struct wide b);
struct wide wide_shift_left(struct wide a, unsigned bits);
struct wide wide_shift_right(struct wide a, unsigned bits);     /* floor */
struct wide wide_divide_small(struct wide a, uint32_t divisor); /* floor */
bool wide_less(const struct wide *a, const struct wide *b);
bool wide_is_zero(const struct wide *a);

/* a / 2^bits to double accuracy. */
double wide_to_double(struct wide a, int bits);

#endif
