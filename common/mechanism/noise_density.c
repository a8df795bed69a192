#include "mechanism/noise_density.h"

#include <math.h>

#define SQRT_2PI 2.50662827463100050242
#define SQRT_1_2 0.70710678118654752440

static const char *noise_name(enum dpot_noise noise)
{
    return noise == DPOT_NOISE_LAPLACE ? "laplace" : "gaussian";
}

/* The cost where y = x: on a grid for scale t in grid units, else for continuous noise. */
static double cost_inside(const struct dpot_noise_density *density)
{
    const bool is_grid = density->grid_step > 0;
    const double t = is_grid ? density->scale / density->grid_step : density->scale;
    if (density->noise == DPOT_NOISE_GAUSSIAN) {
        return log(t) + log(SQRT_2PI);
    }
    return is_grid ? -log(tanh(0.5 / t)) : log(t) + log(2);
}

dpot_status dpot_noise_density_init(struct dpot_noise_density *density, enum dpot_noise noise,
                                    double scale, double grid_step, struct dpot_error *error)
{
    *density = (struct dpot_noise_density){.noise = noise, .scale = scale, .grid_step = grid_step};
    if (!(scale >= 1 / DPOT_NOISE_SCALE_MAX && scale <= DPOT_NOISE_SCALE_MAX)) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE, "the scale of the %s noise is %g: give a number from %g to %g",
            noise_name(noise), scale, 1 / DPOT_NOISE_SCALE_MAX, DPOT_NOISE_SCALE_MAX);
    }
    if (!(grid_step >= 0 && grid_step <= scale)) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "the grid step is %g and the scale of the noise %g: give a step from 0 "
            "to the scale",
            grid_step, scale);
    }
    density->inside = cost_inside(density);
    return DPOT_OK;
}

dpot_status dpot_noise_density_init_campaign(struct dpot_noise_density *density,
                                             const struct dpot_campaign *campaign,
                                             struct dpot_error *error)
{
    *density = (struct dpot_noise_density){0};
    if (!dpot_mechanism_is_vector(campaign->mechanism)) {
        return dpot_error_set(
            error, DPOT_ERR_SHAPE,
            "the campaign's mechanism is %s, which adds no noise to numbers: only "
            "laplace and gaussian do",
            dpot_mechanism_name(campaign->mechanism));
    }
    const bool is_laplace = campaign->mechanism == DPOT_MECHANISM_LAPLACE;
    const double step = campaign->vector.grid_step;
    return dpot_noise_density_init(density, is_laplace ? DPOT_NOISE_LAPLACE : DPOT_NOISE_GAUSSIAN,
                                   ldexp(step, (int)campaign->noise.scale_log2), step, error);
}

/* P[u < Y < v] of noise Y with scale 1; the slope in units of 1 / scale. */
static double laplace_interval(double u, double v, double *slope)
{
    if (u >= 0) {
        *slope = 1;
        return -0.5 * exp(-u) * expm1(u - v);
    }
    if (v <= 0) {
        *slope = -1;
        return -0.5 * exp(v) * expm1(u - v);
    }
    const double p = -0.5 * (expm1(u) + expm1(-v));
    *slope = p > 0 ? 0.5 * (exp(u) - exp(-v)) / p : 0;
    return p;
}

static double gaussian_interval(double u, double v, double *slope)
{
    double p = 0;
    if (u > 0) {
        p = 0.5 * (erfc(u * SQRT_1_2) - erfc(v * SQRT_1_2));
    } else if (v < 0) {
        p = 0.5 * (erfc(-v * SQRT_1_2) - erfc(-u * SQRT_1_2));
    } else {
        p = 0.5 * (erf(v * SQRT_1_2) - erf(u * SQRT_1_2));
    }
    *slope = p > 0 ? (exp(-u * u / 2) - exp(-v * v / 2)) / (SQRT_2PI * p) : 0;
    return p;
}

double dpot_noise_density_interval(const struct dpot_noise_density *density, double a, double b,
                                   double x, double *slope)
{
    double unit_slope = 0;
    const double u = (a - x) / density->scale, v = (b - x) / density->scale;
    const double p = density->noise == DPOT_NOISE_LAPLACE ? laplace_interval(u, v, &unit_slope)
                                                          : gaussian_interval(u, v, &unit_slope);
    if (slope) {
        *slope = unit_slope / density->scale;
    }
    return p;
}
