/* A plain C program that computes a fixed set of results of the integer core and prints their
 * digests, which must be those of expected.txt for every compiler, flag and processor. It uses no
 * library but the C library. */
#ifndef DPOT_TESTS_PORTABILITY_PORTABILITY_H
#define DPOT_TESTS_PORTABILITY_PORTABILITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed memory; exits if there is none. */
void *allocate(size_t count, size_t size);

/* The inputs: the same numbers everywhere, computed with 64-bit integers. C does not specify the
 * order in which arguments are evaluated: never put two calls in one expression. */
struct inputs {
    uint64_t state;
};
uint64_t inputs_next(struct inputs *inputs);

/* At most `most` bits, 1 to 64; the number of bits is random, so small and large numbers are
 * equally frequent. */
uint64_t inputs_of_bits(struct inputs *inputs, unsigned most);
uint64_t inputs_any_size(struct inputs *inputs); /* of 64 bits */

/* Below n. */
uint64_t inputs_below(struct inputs *inputs, uint64_t n);

/* A double of any kind: NaN, infinity, zeros, subnormal, random bits, and ordinary ones of the
 * magnitude of `scale`. */
double inputs_double(struct inputs *inputs, double scale);

struct sha256;

/* Digests of everything that a part of the core computes. */
void digest_u128(struct sha256 *sha256);
void digest_sampler(struct sha256 *sha256);
void digest_noise(struct sha256 *sha256);
void digest_quantize(struct sha256 *sha256);
void digest_acceptance(struct sha256 *sha256);
void digest_certificate(struct sha256 *sha256);

#endif
