#include "privacy/exp_bound.h"

#include "mechanism/u128.h"

#include <criterion/criterion.h>

struct row {
    uint64_t epsilon_q32;
    struct dpot_u128 exp_q96; /* floor(2^96 e^epsilon) */
};

static const struct row rows[N_EXP_BOUNDS] = {
    {UINT64_C(1), {UINT64_C(0x0000000080000000), UINT64_C(0x0000000100000001)}},
    {UINT64_C(42949672), {UINT64_C(0xf9e78b2ed09f6516), UINT64_C(0x000000010292a5d1)}},
    {UINT64_C(2147483648), {UINT64_C(0xe069bc972dfefab6), UINT64_C(0x00000001a61298e1)}},
    {UINT64_C(4294967296), {UINT64_C(0x8aed2a6abf715880), UINT64_C(0x00000002b7e15162)}},
    {UINT64_C(17179869184), {UINT64_C(0x74b0cf1ada77fb72), UINT64_C(0x0000003699205c4e)}},
    {UINT64_C(85899345920), {UINT64_C(0x189797f9599cb8b6), UINT64_C(0x1ceb088b68e80402)}},
};

uint64_t exp_bound_epsilon_q32(size_t row)
{
    return rows[row].epsilon_q32;
}

bool ratio_is_within(uint64_t most, uint64_t least, uint64_t epsilon_q32)
{
    size_t row = 0;
    while (row < N_EXP_BOUNDS && rows[row].epsilon_q32 != epsilon_q32) {
        row++;
    }
    cr_assert_lt(row, N_EXP_BOUNDS, "no row for this epsilon");
    /* least * exp_q96 in three limbs against most * 2^96. */
    const struct dpot_u128 low = dpot_u128_mul(least, rows[row].exp_q96.lo);
    const struct dpot_u128 high = dpot_u128_mul(least, rows[row].exp_q96.hi);
    const struct dpot_u128 top = dpot_u128_add(high, dpot_u128_from(low.hi));
    const struct dpot_u128 limit = {top.lo, top.hi};
    const struct dpot_u128 value = {most << 32, most >> 32};
    return value.hi < limit.hi || (value.hi == limit.hi && value.lo <= limit.lo);
}
