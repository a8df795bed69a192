/* The exact discrete Laplace distribution of a rational scale: noise of a trusted curator.
 *
 * Claim. P[Y = y] is proportional to e^(-|y| s / t) for every integer y, exactly, given ideal
 * random bits (Canonne, Kamath, Steinke 2020, algorithm 2). For an integer f of l1 sensitivity D,
 * f(x) + Y is (s D / t)-DP, and so is any post-processing of it, clamping included.
 *
 * Magnitudes above DISCRETE_LAPLACE_MAX are clamped to it. Callers clamp what they release to
 * ranges within it, so this changes nothing. */
#ifndef DPOT_CENTRAL_DISCRETE_LAPLACE_H
#define DPOT_CENTRAL_DISCRETE_LAPLACE_H

#include "central/exact_draw.h"

#define DISCRETE_LAPLACE_MAX ((int64_t)1 << 62)

/* The scale t / s. */
struct discrete_laplace {
    uint64_t t; /* 1 .. 2^41 */
    uint64_t s; /* 1 .. 2^62 */
};

int64_t discrete_laplace_draw(struct exact_draw *draw, struct discrete_laplace scale);

/* The last step of a draw: min(floor((u + v t) / s), DISCRETE_LAPLACE_MAX), with t and s of
 * `scale`, u < t and any v. */
uint64_t discrete_laplace_quotient(uint64_t u, uint64_t v, struct discrete_laplace scale);

#endif
