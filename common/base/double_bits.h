/* A double and its IEEE 754 bits. */
#ifndef DPOT_BASE_DOUBLE_BITS_H
#define DPOT_BASE_DOUBLE_BITS_H

#include <stdint.h>
#include <string.h>

static inline uint64_t dpot_double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double dpot_double_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
