/* From real coordinates to integers of a public set, whose diameter is the sensitivity of a vector
 * mechanism.
 *
 * Claim (client/doc/exact-privacy.md, B2). For ANY doubles (NaN, infinities, garbage) dpot_quantize
 * gives integers of the domain's set: within the sides of the box, sum |z| <= R, or sum z^2 <= R^2.
 * Rounding to the grid decides utility only; the set is enforced on integers afterwards. Integer
 * points of the set are unchanged.
 *
 * Total; no allocation; no branch, address or hardware division depends on the data. Two
 * floating-point operations per coordinate remain, whose time may vary on a machine without an FPU.
 * The domain must have passed dpot_vector_domain_check. */
#ifndef DPOT_MECHANISM_QUANTIZE_H
#define DPOT_MECHANISM_QUANTIZE_H

#include "mechanism/u128.h"
#include "model/vector.h"

/* z = floor(v + 1/2) for the double v = x inverse_step, after NaN -> 0 and a clamp to +-2^40. x and
 * z are (dim) and may be the same memory (read through memcpy). */
void dpot_quantize_round(double inverse_step, const double *x, size_t dim, int64_t *z);

/* Moves integers |z| <= 2^40 into the set: a box coordinate by coordinate, a ball by a clamp to
 * [-R, R] and a common factor. */
void dpot_quantize_enforce(const struct dpot_vector_domain *vector, int64_t *z);

/* Rounds, then enforces. */
void dpot_quantize(const struct dpot_vector_domain *vector, const double *x, int64_t *z);

/* ceil(sqrt(x)) for x < 2^126. */
uint64_t dpot_u128_ceil_sqrt(struct dpot_u128 x);

#endif
