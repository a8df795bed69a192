/* Noise of a trusted curator: the exact discrete Gaussian law.
 *
 * Claim. P[Y = y] is proportional to e^(-y^2 / (2 sigma^2)) for every integer y, exactly (given ideal
 * random bits; Canonne, Kamath and Steinke 2020, algorithm 3). Hence f(x) + Y, every coordinate with a
 * draw of its own, is (D^2 / (2 sigma^2))-zCDP for an integer vector f of l2 sensitivity D (there,
 * theorem 14), whatever is done with it afterwards. */
#ifndef DPOT_CENTRAL_DISCRETE_GAUSSIAN_H
#define DPOT_CENTRAL_DISCRETE_GAUSSIAN_H

#include "central/exact_draw.h"

#define DISCRETE_GAUSSIAN_SIGMA_MAX ((uint64_t)1 << 30)

/* sigma 1 .. DISCRETE_GAUSSIAN_SIGMA_MAX. */
int64_t discrete_gaussian_draw(struct exact_draw *draw, uint64_t sigma);

#endif
