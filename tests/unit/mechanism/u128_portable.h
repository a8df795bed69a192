/* The portable half of mechanism/u128.h, beside the native one in one program. */
#ifndef DPOT_TESTS_MECHANISM_U128_PORTABLE_H
#define DPOT_TESTS_MECHANISM_U128_PORTABLE_H

#include "mechanism/u128.h"

struct dpot_u128 portable_add(struct dpot_u128 a, struct dpot_u128 b);
struct dpot_u128 portable_sub(struct dpot_u128 a, struct dpot_u128 b);
struct dpot_u128 portable_mul(uint64_t a, uint64_t b);
struct dpot_u128 portable_shr(struct dpot_u128 a, unsigned n);
int portable_is_native(void);

#endif
