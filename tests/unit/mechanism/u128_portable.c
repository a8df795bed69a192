#define DPOT_NO_INT128

#include "unit/mechanism/u128_portable.h"

struct dpot_u128 portable_add(struct dpot_u128 a, struct dpot_u128 b)
{
    return dpot_u128_add(a, b);
}

struct dpot_u128 portable_sub(struct dpot_u128 a, struct dpot_u128 b)
{
    return dpot_u128_sub(a, b);
}

struct dpot_u128 portable_mul(uint64_t a, uint64_t b)
{
    return dpot_u128_mul(a, b);
}

struct dpot_u128 portable_shr(struct dpot_u128 a, unsigned n)
{
    return dpot_u128_shr(a, n);
}

int portable_is_native(void)
{
    return DPOT_U128_NATIVE;
}
