/* The law of the noise as this program releases it, as a cost: minus its logarithm.
 *
 * What the aggregator fits with (deconvolution, generators): cost(y, x) = -ln P[released y | data x],
 * one coordinate at a time; coordinates are independent, so costs of a vector are sums. With a
 * transform, x and y are coefficients (pool/decode.h). Only utility rests on it.
 *
 * On a grid (exact-privacy, B7), in units of its step g, with t = 2^k and z the integer that x has
 * become on the device (quantize.h):
 *
 *   Laplace    |y - z| / t - ln tanh(1 / 2t)         inside
 *              |y - z| / t + ln(1 + e^(-1/t))        at an end of the output clamp: all that is beyond
 *   Gaussian   (y - z)^2 / 2 t^2 + ln(t sqrt(2 pi))
 *
 * These are the weights of the integer tables: for Laplace, edges included, up to the rounding of doubles,
 * and within 2^-39 for Gaussian up to 45/4 standard deviations, beyond which there is a mass below 2^-93 (within
 * 0.1 there, up to the end at 12 standard deviations).
 *
 * z or x. A device rounds x to the grid and clips it to its set, so P is a step function of x:
 * dpot_noise_density_exact has it. Gradients need something smooth: dpot_noise_density_cost puts x
 * / g in the place of z, which is exact at grid points of the set and between them wrong by at most 1 /
 * 2t (Laplace) or (|y - x| / g + 1/4) / 2t^2 (Gaussian) per coordinate.
 *
 * So, up to a term of y alone (even at the ends of the clamp), the cost is |y - x| / b resp.
 * (y - x)^2 / 2 sigma^2 with b, sigma = g t: a pool that was clipped at the ends is as good as one that was
 * not, and noise that came without a campaign is the same with other constants:
 *
 *   Laplace    |y - x| / b + ln 2b                    density of continuous noise, data units
 *   Gaussian   (y - x)^2 / 2 sigma^2 + ln(sigma sqrt(2 pi)) */
#ifndef DPOT_MECHANISM_NOISE_DENSITY_H
#define DPOT_MECHANISM_NOISE_DENSITY_H

#include "mechanism/noise.h"
#include "model/campaign.h"

#define DPOT_NOISE_SCALE_MAX 1e100 /* data units; the least is its inverse */

struct dpot_noise_density {
    enum dpot_noise noise;
    double scale;                            /* data units: Laplace b, Gaussian sigma */
    double grid_step;                        /* g; 0: continuous noise */
    double inside;                           /* the cost where y = x */
    double edge;                             /* the same at an end of the clamp */
    unsigned scale_log2;                     /* with a campaign */
    const struct dpot_vector_domain *vector; /* borrowed; NULL without a campaign: no ends known */
};

/* From the integers of a campaign, which is borrowed and must have been checked. DPOT_ERR_SHAPE: its
 * reports are no vectors. */
DPOT_WARN_UNUSED dpot_status dpot_noise_density_init_campaign(struct dpot_noise_density *density,
                                                              const struct dpot_campaign *campaign,
                                                              struct dpot_error *error);

/* From numbers. grid_step 0: continuous noise; else noise on a grid whose ends are not known.
 * DPOT_ERR_RANGE: a scale that is not in [1e-100, 1e100], a step that is negative, not finite or above the
 * scale. */
DPOT_WARN_UNUSED dpot_status dpot_noise_density_init(struct dpot_noise_density *density,
                                                     enum dpot_noise noise, double scale,
                                                     double grid_step, struct dpot_error *error);

/* Exact, with a campaign: -ln P[y | z] of coordinate j, grid units; INFINITY for what cannot come
 * out. z is within the sides of the set. */
double dpot_noise_density_integer(const struct dpot_noise_density *density, uint32_t j, int64_t y,
                                  int64_t z);

/* Exact, with a campaign, for a whole report y (dim) and real coefficients x (dim): x goes through the
 * device's own rounding and clipping. `z` (dim) is scratch. */
double dpot_noise_density_exact(const struct dpot_noise_density *density, const int64_t *y,
                                const double *x, int64_t *z);

/* Smooth in x: one coordinate, data units. j matters only where there are ends. */
double dpot_noise_density_cost(const struct dpot_noise_density *density, uint32_t j, double y,
                               double x);

/* d cost / dx; 0 at the kink of Laplace. */
double dpot_noise_density_slope(const struct dpot_noise_density *density, double y, double x);

/* The sum of the costs of y and x (dim). */
double dpot_noise_density_cost_vector(const struct dpot_noise_density *density, const double *y,
                                      const double *x, uint32_t dim);

/* P[a < y < b | x] of one coordinate, data units, a < b, either may be infinite; *slope, unless NULL, is
 * d ln P / dx (0 where P underflows). Ends within (a, b) make no difference. On a grid a and b lie
 * halfway between outputs, and noise is taken as continuous: a relative error of P of at most 1 / 6t^2
 * (Laplace; 1 / 4tN more in an interval of N outputs that holds x) resp. 1 / 24t^2 times max(1, (y - x)^2 /
 * sigma^2) (Gaussian). */
double dpot_noise_density_interval(const struct dpot_noise_density *density, double a, double b,
                                   double x, double *slope);

#endif
