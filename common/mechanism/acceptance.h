/* What a device checks, in integers and before it reads data, for the guarantee of a vector
 * release: the sensitivity of the set that quantize.h enforces, and the inequalities of
 * client/doc/exact-privacy.md, B5. All data are public.
 *
 * Neighbours are ANY two inputs, so the sensitivity is the diameter of the set: 2 R for a ball, not
 * R. It is computed from the set's integers, never stated by a server. Products have 128 bits; none
 * wraps. */
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

/* The sensitivity of a set, which need not have been checked: DPOT_ERR_RANGE for a dim, side or
 * radius outside the ranges of model/vector.h, within which no sum wraps.
 *
 *   box      D1 = sum (hi - lo) < 2^61        D2^2 = sum (hi - lo)^2 <= 2^102
 *   l1 ball  D1 = 2 R                         D2^2 = 4 R^2 (of two opposite corners)
 *   l2 ball  D1 = ceil(2 R sqrt(dim))         D2^2 = 4 R^2 */
DPOT_WARN_UNUSED dpot_status dpot_sensitivity_compute(const struct dpot_vector_domain *vector,
                                                      struct dpot_sensitivity *sensitivity,
                                                      struct dpot_error *error);

/* The largest hi - lo of a coordinate with Laplace noise: M - 2, M = 2^(k+5). */
uint64_t dpot_laplace_widest(unsigned k);

/* Theorem B1: Laplace noise of scale 2^k is (E / 2^32)-LDP when
 *   1 <= E <= 512 2^32,  widest <= M - 2  and  D1 2^32 <= (E - 1) 2^k.
 * False if k is not in 1..40. The caller checks the device's ceiling. */
bool dpot_laplace_accepts(const struct dpot_sensitivity *sensitivity, uint64_t epsilon_q32,
                          unsigned k);

/* Theorem B2: Gaussian noise of scale 2^k has the epsilon and delta of `row` when
 *   D2^2 < 2^54,  D2^2 2^40 <= mu2_q40 2^(2k),  2^(2k) >= 2^c (dim + 128),  1 <= dim <= d_max.
 * False if k is not in 2..24. The caller checks the device's ceiling. */
bool dpot_gaussian_accepts(const struct dpot_sensitivity *sensitivity,
                           const struct dpot_gauss_row *row, unsigned k, uint32_t dim);

/* The charge of one release in a zCDP account, rho in Q32 rounded up: ceil(D2^2 2^32 / 2^(2k+1)) +
 * 1. False, with *rho_q32 = UINT64_MAX, unless D2^2 < 2^54, 1 <= dim <= 2^20 and k is in 2..24. */
bool dpot_gaussian_rho(const struct dpot_sensitivity *sensitivity, unsigned k, uint32_t dim,
                       uint64_t *rho_q32);

/* Whether Theorem B3 holds for a charge in Q32: rho <= 8, plus the one unit that dpot_gaussian_rho
 * adds. Above, noise ends so near that some outputs distinguish two inputs with certainty. */
#define DPOT_GAUSSIAN_RHO_MAX 8
bool dpot_gaussian_rho_accepts(uint64_t rho_q32);

#endif
