/* Constant tables of the integer noise (noise.h), made by make_noise_tables.py.
 *
 * The proof of the noise holds for these bits: tests compare the SHA-256 of their little-endian
 * bytes with the published ones. */
#ifndef DPOT_MECHANISM_NOISE_TABLES_H
#define DPOT_MECHANISM_NOISE_TABLES_H

#include "mechanism/u128.h"

#define DPOT_LAPLACE_CDF_LEN 64
#define DPOT_GAUSSIAN_CDF_LEN 47
#define DPOT_EXP_POWERS_LEN 64

/* CL[y] = round(2^128 P[Y <= y]), P[Y > y] = e^(-(y+1)/2). */
extern const struct dpot_u128 dpot_laplace_cdf[DPOT_LAPLACE_CDF_LEN];

/* CG[y] = round(2^128 P[Y <= y]), P[Y = y] ~ e^(-y^2/32), y >= 0. */
extern const struct dpot_u128 dpot_gaussian_cdf[DPOT_GAUSSIAN_CDF_LEN];

/* X[i] = floor(2^64 exp(-2^(1-i))). */
extern const uint64_t dpot_exp_powers[DPOT_EXP_POWERS_LEN];

#endif
