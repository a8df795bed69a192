/* Exact draws for a trusted curator: uniform integers and events of probability e^(-a/b), in integers.
 *
 * Every probability here is exact: no floating point, no table, no truncation. Time depends on what is
 * drawn, and with it on private values: a curator's clock is outside the guarantee (devices use
 * mechanism/noise.h, whose trials take no such liberties). Canonne, Kamath, Steinke 2020, algorithm 1.
 *
 * A draw owns a stream of the operating system's randomness (base/rng.h), read a block at a time. */
#ifndef DPOT_CENTRAL_EXACT_DRAW_H
#define DPOT_CENTRAL_EXACT_DRAW_H

#include "base/rng.h"

#define EXACT_DRAW_WORDS 64 /* of one block */

struct exact_draw {
    struct dpot_rng rng;
    uint64_t words[EXACT_DRAW_WORDS];
    size_t n_left; /* words not yet used, at the beginning */
};

/* Fetches the key from the source; call it before data are read. */
void exact_draw_init(struct exact_draw *draw, const struct dpot_rng_source *source);

/* Wipes everything; a zeroed struct is allowed. */
void exact_draw_release(struct exact_draw *draw);

/* The next 64 bits. */
uint64_t exact_draw_word(struct exact_draw *draw);

/* Uniform on 0 .. n - 1, n >= 1. */
uint64_t exact_draw_below(struct exact_draw *draw, uint64_t n);

/* True with probability e^(-a / b), b >= 1. Takes a / b + 1 steps or so. */
bool exact_draw_exp(struct exact_draw *draw, uint64_t a, uint64_t b);

/* Uniform in [0, 1), a multiple of 2^-53: for places of points, never for a probability that privacy
 * rests on. */
double exact_draw_unit(struct exact_draw *draw);

#endif
