/* The certificate of Gaussian noise: the largest sensitivity, in units of sigma, for an epsilon and
 * a delta. A constant of the device program, which therefore needs no erfc and trusts no server.
 *
 * Claim (client/doc/exact-privacy.md, Theorem B2). The integer Gaussian of noise.h with sigma =
 * 2^k, added to integers of a set with l2 diameter D2 in `dim` coordinates, is (epsilon, delta)-LDP
 * with the epsilon = E / 2^32 and delta = delta_q64 / 2^64 of a row where dpot_gaussian_accepts
 * (acceptance.h): D2^2 / sigma^2 <= mu2_q40 / 2^40, sigma^2 >= 2^c (dim + 128), dim <= d_max.
 *
 * Rows are nodes of epsilon (0.1 to 40: common decimals, and between them steps of at most 1 % in
 * mu) times seven columns of delta: 2^-20, 2^-24, 2^-30, 2^-40, 1e-4, 1e-5, 1e-6 (decimals rounded
 * down to units of 2^-64). make_gauss_certificate.py computes them.
 *
 * ROW NUMBERS ARE PART OF THE WIRE FORMAT: a signed campaign names its row. Row 1 + 7 i + j is node
 * i, column j, epsilon increasing with i. Rows are appended, never changed, moved or removed; 0 is
 * no row. Rows with epsilon above 20 are for simulation only; rows with d_max = 0 cannot be
 * used. */
#ifndef DPOT_MECHANISM_GAUSS_CERTIFICATE_H
#define DPOT_MECHANISM_GAUSS_CERTIFICATE_H

#include "base/error.h"

#include <stdint.h>

struct dpot_gauss_row {
    uint64_t epsilon_q32; /* E */
    uint64_t delta_q64;
    uint64_t mu2_q40; /* floor(2^40 mu^2), mu = the largest D2 / sigma */
    uint32_t c;       /* sigma^2 >= 2^c (dim + 128): 11 for mu < 4, 12 for mu < 8 */
    uint32_t d_max;   /* largest dim, at most 2^20; 0: unusable */
};

/* Rows have the numbers 1..count. */
uint32_t dpot_gauss_row_count(void);

/* DPOT_ERR_NOT_FOUND: not 1 <= index <= count; *row is zeroed. */
DPOT_WARN_UNUSED dpot_status dpot_gauss_row(uint32_t index, struct dpot_gauss_row *row);

/* For the aggregator: the row with the largest mu among those with E <= epsilon_q32, delta <=
 * delta_q64 and dim <= d_max (the request rounded to the safe side). DPOT_ERR_RANGE: there is none;
 * *index is 0. */
DPOT_WARN_UNUSED dpot_status dpot_gauss_row_find(uint64_t epsilon_q32, uint64_t delta_q64,
                                                 uint32_t dim, uint32_t *index,
                                                 struct dpot_error *error);

#endif
