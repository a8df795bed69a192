#include "mechanism/noise_density.h"

#include "mechanism/quantize.h"

#include <math.h>

#define SQRT_2PI 2.50662827463100050242
#define SQRT_1_2 0.70710678118654752440

static const char *noise_name(enum dpot_noise noise)
{
    return noise == DPOT_NOISE_LAPLACE ? "laplace" : "gaussian";
}

/* The constants for noise of scale t grid units (B7), or for continuous noise. */
static void find_constants(struct dpot_noise_density *density)
{
    const bool is_grid = density->grid_step > 0;
    const double t = is_grid ? density->scale / density->grid_step : density->scale;
    if (density->noise == DPOT_NOISE_GAUSSIAN) {
        density->inside = log(t) + log(SQRT_2PI);
    } else {
        density->inside = is_grid ? -log(tanh(0.5 / t)) : log(t) + log(2);
    }
    density->edge =
        is_grid && density->noise == DPOT_NOISE_LAPLACE ? log1p(exp(-1 / t)) : density->inside;
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
    find_constants(density);
    return DPOT_OK;
}

dpot_status dpot_noise_density_init_campaign(struct dpot_noise_density *density,
                                             const struct dpot_campaign *campaign,
                                             struct dpot_error *error)
{
    *density = (struct dpot_noise_density){.vector = NULL};
    if (!dpot_mechanism_is_vector(campaign->mechanism)) {
        return dpot_error_set(
            error, DPOT_ERR_SHAPE,
            "the campaign's mechanism is %s, which adds no noise to numbers: only "
            "laplace and gaussian do",
            dpot_mechanism_name(campaign->mechanism));
    }
    const bool is_laplace = campaign->mechanism == DPOT_MECHANISM_LAPLACE;
    const double step = campaign->vector.grid_step;
    const unsigned k = campaign->noise.scale_log2;
    const dpot_status status =
        dpot_noise_density_init(density, is_laplace ? DPOT_NOISE_LAPLACE : DPOT_NOISE_GAUSSIAN,
                                ldexp(step, (int)k), step, error);
    density->vector = &campaign->vector;
    density->scale_log2 = k;
    return status;
}

/* Where coordinate j of a report may lie. */
static void find_ends(const struct dpot_noise_density *density, uint32_t j, int64_t *least,
                      int64_t *most)
{
    dpot_noise_range(density->noise, density->scale_log2, dpot_vector_lo(density->vector, j),
                     dpot_vector_hi(density->vector, j), least, most);
}

/* The part that is the same everywhere; `distance` in scales. */
static double shape_of(const struct dpot_noise_density *density, double distance)
{
    return density->noise == DPOT_NOISE_LAPLACE ? fabs(distance) : distance * distance / 2;
}

double dpot_noise_density_integer(const struct dpot_noise_density *density, uint32_t j, int64_t y,
                                  int64_t z)
{
    int64_t least, most;
    const double distance = ldexp((double)(y - z), -(int)density->scale_log2);
    find_ends(density, j, &least, &most);
    if (density->noise == DPOT_NOISE_GAUSSIAN) {
        dpot_noise_range(density->noise, density->scale_log2, z, z, &least, &most);
    }
    if (y < least || y > most) {
        return INFINITY;
    }
    const bool is_edge = density->noise == DPOT_NOISE_LAPLACE && (y == least || y == most);
    return shape_of(density, distance) + (is_edge ? density->edge : density->inside);
}

double dpot_noise_density_exact(const struct dpot_noise_density *density, const int64_t *y,
                                const double *x, int64_t *z)
{
    double sum = 0;
    dpot_quantize(density->vector, x, z);
    for (uint32_t j = 0; j < density->vector->dim; j++) {
        sum += dpot_noise_density_integer(density, j, y[j], z[j]);
    }
    return sum;
}

/* Whether y, data units, is an end of the output clamp. */
static bool is_at_edge(const struct dpot_noise_density *density, uint32_t j, double y)
{
    int64_t least, most;
    if (density->noise != DPOT_NOISE_LAPLACE || !density->vector) {
        return false;
    }
    find_ends(density, j, &least, &most);
    const double cell = floor(y / density->grid_step + 0.5);
    return cell <= (double)least || cell >= (double)most;
}

double dpot_noise_density_cost(const struct dpot_noise_density *density, uint32_t j, double y,
                               double x)
{
    return shape_of(density, (y - x) / density->scale) +
           (is_at_edge(density, j, y) ? density->edge : density->inside);
}

double dpot_noise_density_slope(const struct dpot_noise_density *density, double y, double x)
{
    if (density->noise == DPOT_NOISE_GAUSSIAN) {
        return (x - y) / density->scale / density->scale;
    }
    return (double)((x > y) - (x < y)) / density->scale;
}

double dpot_noise_density_cost_vector(const struct dpot_noise_density *density, const double *y,
                                      const double *x, uint32_t dim)
{
    double sum = 0;
    for (uint32_t j = 0; j < dim; j++) {
        sum += dpot_noise_density_cost(density, j, y[j], x[j]);
    }
    return sum;
}

/* u < v in scales, x = 0; the slope in units of 1 / scale. */
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
