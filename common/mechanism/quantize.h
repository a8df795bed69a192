/* From real coordinates to integers of a public set: what the sensitivity of a vector mechanism is
 * the diameter of.
 *
 * Claim. For ANY doubles (NaN, infinities, garbage) dpot_quantize leaves integers inside the set of
 * the domain: within the sides of the box, sum |z| <= R, or sum z^2 <= R^2. Rounding to the grid
 * decides utility only; the set is enforced on integers afterwards. Points inside a set are left as
 * they are.
 *
 * Total; no allocation; no branch, address or hardware division depends on the data (two
 * floating-point operations per coordinate are left, which a machine without them may do in varying
 * time). The domain must have passed dpot_vector_domain_check. */
#ifndef DPOT_MECHANISM_QUANTIZE_H
#define DPOT_MECHANISM_QUANTIZE_H

#include "mechanism/u128.h"
#include "model/vector.h"

/* z = floor(x inverse_step + 1/2) after NaN -> 0 and a clamp to +-2^40, exact for the double
 * product. x and z are (dim) and may be the same memory (through memcpy). */
void dpot_quantize_round(double inverse_step, const double *x, size_t dim, int64_t *z);

/* Moves integers |z| <= 2^40 into the set: the box coordinate by coordinate, balls by a clamp to
 * [-R, R] and a common factor. */
void dpot_quantize_enforce(const struct dpot_vector_domain *vector, int64_t *z);

/* Both. */
void dpot_quantize(const struct dpot_vector_domain *vector, const double *x, int64_t *z);

/* ceil(sqrt(x)) for x < 2^126. */
uint64_t dpot_u128_ceil_sqrt(struct dpot_u128 x);

#endif
