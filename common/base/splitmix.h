/* SplitMix64 (Steele, Lea, Flood 2014): reproducible numbers for solvers, resampling and synthetic
 * users. Not for privacy: one 64-bit state determines all numbers. Mechanisms and the client draw
 * from rng.h and must not include this header (tests/lint). */
#ifndef DPOT_BASE_SPLITMIX_H
#define DPOT_BASE_SPLITMIX_H

#include <stddef.h>
#include <stdint.h>

/* The next number; any value of `state` is a valid seed. */
static inline uint64_t splitmix_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A multiple of 2^-53 in [0, 1). */
static inline double splitmix_unit(uint64_t *state)
{
    return (double)(splitmix_next(state) >> 11) * 0x1p-53;
}

/* An integer in [0, n), n >= 1; for n < 2^32 within 2^-21 of uniform. */
static inline size_t splitmix_below(uint64_t *state, size_t n)
{
    return (size_t)(splitmix_unit(state) * (double)n);
}

#endif
