/* What a device checks, in integers and before it reads data, to know that a vector release keeps
 * its epsilon: the sensitivity of the set that quantize.h enforces, and the inequalities of
 * exact-privacy B5.
 *
 * Neighbours are ANY two inputs, so a sensitivity is the diameter of the set: 2 R of a ball, not R.
 * It is computed from the set's integers and never stated by anybody. All products are 128 bits
 * wide; none wraps. Public data, any time. */
#ifndef DPOT_MECHANISM_ACCEPTANCE_H
#define DPOT_MECHANISM_ACCEPTANCE_H

#include "mechanism/gauss_certificate.h"
#include "mechanism/u128.h"
#include "model/vector.h"

/* Grid units. */
struct dpot_sensitivity {
    uint64_t l1;                 /* D1 */
    struct dpot_u128 l2_squared; /* D2^2 */
    uint64_t widest;             /* the largest hi - lo of a coordinate */
};

/* Of a set whose numbers need not have been checked: DPOT_ERR_RANGE for a dim, side or radius
 * outside the ranges of model/vector.h, in which no sum here can wrap.
 *
 *   box      D1 = sum (hi - lo) < 2^61        D2^2 = sum (hi - lo)^2 <= 2^102
 *   l1 ball  D1 = 2 R                         D2^2 = 4 R^2 (of two opposite corners)
 *   l2 ball  D1 = ceil(2 R sqrt(dim))         D2^2 = 4 R^2 */
DPOT_WARN_UNUSED dpot_status dpot_sensitivity_compute(const struct dpot_vector_domain *vector,
                                                      struct dpot_sensitivity *sensitivity,
                                                      struct dpot_error *error);

/* Largest hi - lo of a coordinate under Laplace noise: M - 2, M = 2^(k+5). */
uint64_t dpot_laplace_widest(unsigned k);

/* Theorem B1: Laplace noise of scale 2^k is (E / 2^32)-LDP when
 *   1 <= E <= 512 2^32,  widest <= M - 2  and  D1 2^32 <= (E - 1) 2^k.
 * False for a k outside 1..40. The ceiling of a device is its caller's check. */
bool dpot_laplace_accepts(const struct dpot_sensitivity *sensitivity, uint64_t epsilon_q32,
                          unsigned k);

/* Theorem B2: Gaussian noise of scale 2^k has the epsilon and delta of `row` when
 *   D2^2 < 2^54,  D2^2 2^40 <= mu2_q40 2^(2k),  2^(2k) >= 2^c (dim + 128),  1 <= dim <= d_max.
 * False for a k outside 2..24. The ceiling of a device is its caller's check. */
bool dpot_gaussian_accepts(const struct dpot_sensitivity *sensitivity,
                           const struct dpot_gauss_row *row, unsigned k, uint32_t dim);

/* B3: what a zCDP account is charged for one release, rho in Q32 rounded up:
 * ceil(D2^2 2^32 / 2^(2k+1)) + 1. True and *rho_q32 when D2^2 < 2^54, 1 <= dim <= 2^20 and k is in
 * 2..24; else false and UINT64_MAX, more than any cap. */
bool dpot_gaussian_rho(const struct dpot_sensitivity *sensitivity, unsigned k, uint32_t dim,
                       uint64_t *rho_q32);

/* Whether a charge in rho means what it says (noise.h, "Cut noise and zCDP"): rho <= 8, in Q32 and
 * with the one unit that dpot_gaussian_rho adds. Above, the noise is cut so near that some outputs
 * tell two inputs apart for certain. */
#define DPOT_GAUSSIAN_RHO_MAX 8
bool dpot_gaussian_rho_accepts(uint64_t rho_q32);

#endif
