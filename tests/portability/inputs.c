#include "portability.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (!memory) {
        (void)fputs("portability: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

double inputs_double(struct inputs *inputs, double scale)
{
    static const uint64_t special[] = {
        0,
        UINT64_C(1) << 63,
        UINT64_C(0x7ff0000000000000),
        UINT64_C(0xfff0000000000000),
        UINT64_C(0x7ff8000000000001),
        UINT64_C(0xfff0000000000001),
        1,
        UINT64_C(0x000fffffffffffff),
        UINT64_C(0x7fefffffffffffff),
        UINT64_C(0x3ff0000000000000),
        UINT64_C(0x3fefffffffffffff),
    };
    const uint64_t kind = inputs_below(inputs, 8), random = inputs_next(inputs);
    const uint64_t bits = kind == 0 ? special[random % (sizeof special / sizeof *special)] : random;
    double value;
    if (kind > 1) { /* exact: 53 bits, then a product that IEEE 754 rounds in one way only */
        value = (double)(random >> 11) / 9007199254740992.0 * scale;
        return kind > 4 ? -value : value;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}
