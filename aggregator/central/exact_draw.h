/* Exact draws for a trusted curator: uniform integers and events of probability e^(-a/b), in
 * integers (Canonne, Kamath, Steinke 2020, algorithm 1).
 *
 * Every probability is exact: no floating point, no table, no truncation. The running time depends
 * on the values drawn, and so on private values: a curator's clock is outside of the guarantee.
 * (Devices use mechanism/noise.h, whose running time does not depend on them.)
 *
 * A draw owns a stream of the operating system's randomness (base/rng.h) and reads it in blocks. */
#ifndef DPOT_CENTRAL_EXACT_DRAW_H
#define DPOT_CENTRAL_EXACT_DRAW_H

#include "base/rng.h"

#define EXACT_DRAW_WORDS 64 /* words of one block */

struct exact_draw {
    struct dpot_rng rng;
    uint64_t words[EXACT_DRAW_WORDS];
    size_t n_left; /* unused words, at the beginning of the array */
};

/* Fetches the key from the source. Call it before any data are read. */
void exact_draw_init(struct exact_draw *draw, const struct dpot_rng_source *source);

/* Wipes the state; a zeroed struct is allowed. */
void exact_draw_release(struct exact_draw *draw);

/* The next 64 bits. */
uint64_t exact_draw_word(struct exact_draw *draw);

/* Uniform on 0 .. n - 1, n >= 1. */
uint64_t exact_draw_below(struct exact_draw *draw, uint64_t n);

/* True with probability e^(-a / b), b >= 1, in about a / b + 1 steps. */
bool exact_draw_exp(struct exact_draw *draw, uint64_t a, uint64_t b);

/* Uniform in [0, 1), a multiple of 2^-53. For positions of points only, never for a probability
 * that privacy depends on. */
double exact_draw_unit(struct exact_draw *draw);

#endif
