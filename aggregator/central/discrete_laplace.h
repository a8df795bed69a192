/* Noise of a trusted curator: the exact discrete Laplace law of any rational scale.
 *
 * Claim. P[Y = y] is proportional to e^(-|y| s / t) for every integer y, exactly (given ideal random
 * bits). Hence f(x) + Y is (s D / t)-DP for an integer f of l1 sensitivity D, whatever is done with it
 * afterwards: also when it is clamped, as below. (Canonne, Kamath, Steinke 2020, algorithm 2.)
 *
 * Magnitudes above DISCRETE_LAPLACE_MAX are reported as that. Callers clamp what they release to ranges
 * within it, and then this is a part of their clamp and changes nothing. */
#ifndef DPOT_CENTRAL_DISCRETE_LAPLACE_H
#define DPOT_CENTRAL_DISCRETE_LAPLACE_H

#include "central/exact_draw.h"

#define DISCRETE_LAPLACE_MAX ((int64_t)1 << 62)

/* A rational scale t / s. */
struct discrete_laplace {
    uint64_t t; /* 1 .. 2^41 */
    uint64_t s; /* 1 .. 2^62 */
};

int64_t discrete_laplace_draw(struct exact_draw *draw, struct discrete_laplace scale);

/* min(floor((u + v t) / s), DISCRETE_LAPLACE_MAX) for u < t: the last step, for any v. */
uint64_t discrete_laplace_quotient(uint64_t u, uint64_t v, struct discrete_laplace scale);

#endif
