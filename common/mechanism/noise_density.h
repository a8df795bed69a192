/* The law of the noise, for the aggregator: what deconvolution and generators fit with. Utility
 * only: no guarantee depends on it.
 *
 * cost(y, x) = -ln P[released y | data x] of one coordinate; coordinates are independent, so costs
 * add up. With a transform, x and y are coefficients (pool/decode.h). On a grid, in units of its
 * step g, with t = 2^k and z the integer that the device makes of x (quantize.h;
 * client/doc/exact-privacy.md, B7):
 *
 *   Laplace    |y - z| / t - ln tanh(1 / 2t)         inside
 *              |y - z| / t + ln(1 + e^(-1/t))        at an end of the output clamp
 *   Gaussian   (y - z)^2 / 2 t^2 + ln(t sqrt(2 pi))
 *
 * So, up to a term of y alone (also at the ends of the clamp), the cost is |y - x| / b or
 * (y - x)^2 / 2 sigma^2 with b, sigma = g t, and a clamped pool fits like one that was not clamped.
 * Using x / g in place of z is exact at grid points of the set; between them it is wrong by at most
 * 1 / 2t (Laplace) or (|y - x| / g + 1/4) / 2t^2 (Gaussian). Noise without a campaign is the same
 * with other constants:
 *
 *   Laplace    |y - x| / b + ln 2b                    density of continuous noise, data units
 *   Gaussian   (y - x)^2 / 2 sigma^2 + ln(sigma sqrt(2 pi)) */
#ifndef DPOT_MECHANISM_NOISE_DENSITY_H
#define DPOT_MECHANISM_NOISE_DENSITY_H

#include "mechanism/noise.h"
#include "model/campaign.h"

#define DPOT_NOISE_SCALE_MAX 1e100 /* data units; the smallest scale is its inverse */

struct dpot_noise_density {
    enum dpot_noise noise;
    double scale;     /* data units: Laplace b, Gaussian sigma */
    double grid_step; /* g; 0: continuous noise */
    double inside;    /* the cost where y = x */
};

/* From the integers of a checked campaign. DPOT_ERR_SHAPE: its reports are not vectors. */
DPOT_WARN_UNUSED dpot_status dpot_noise_density_init_campaign(struct dpot_noise_density *density,
                                                              const struct dpot_campaign *campaign,
                                                              struct dpot_error *error);

/* From numbers; grid_step 0: continuous noise. DPOT_ERR_RANGE: a scale outside [1e-100, 1e100], or
 * a step that is negative, not finite or above the scale. */
DPOT_WARN_UNUSED dpot_status dpot_noise_density_init(struct dpot_noise_density *density,
                                                     enum dpot_noise noise, double scale,
                                                     double grid_step, struct dpot_error *error);

/* P[a < y < b | x] of one coordinate, data units; a < b, either may be infinite. *slope, unless
 * NULL, is d ln P / dx (0 where P underflows). On a grid a and b lie halfway between outputs and
 * the noise is taken as continuous: relative error of P at most 1 / 6t^2 (Laplace; 1 / 4tN more for
 * an interval of N outputs that holds x) or 1 / 24t^2 times max(1, (y - x)^2 / sigma^2)
 * (Gaussian). */
double dpot_noise_density_interval(const struct dpot_noise_density *density, double a, double b,
                                   double x, double *slope);

#endif
