/* The exact discrete Gaussian distribution: noise of a trusted curator.
 *
 * Claim. P[Y = y] is proportional to e^(-y^2 / (2 sigma^2)) for every integer y, exactly, given
 * ideal random bits (Canonne, Kamath and Steinke 2020, algorithm 3). For an integer vector f of l2
 * sensitivity D, f(x) + Y with an independent draw for each coordinate is (D^2 / (2 sigma^2))-zCDP
 * (theorem 14 there), and so is any post-processing of it. */
#ifndef DPOT_CENTRAL_DISCRETE_GAUSSIAN_H
#define DPOT_CENTRAL_DISCRETE_GAUSSIAN_H

#include "central/exact_draw.h"

#define DISCRETE_GAUSSIAN_SIGMA_MAX ((uint64_t)1 << 30)

/* One draw; sigma 1 .. DISCRETE_GAUSSIAN_SIGMA_MAX. */
int64_t discrete_gaussian_draw(struct exact_draw *draw, uint64_t sigma);

#endif
