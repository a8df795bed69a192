/* Campaigns on a sphere: the error of the estimated mean of n unit vectors (dpot estimate).
 *
 * A report y of a vector x has E y = c x and |y| = 1, so y/c is unbiased with E |y/c - x|^2 = 1/c^2
 * - 1, exactly and for every x (c over codebook and draw, account/sphere.h). The error of the mean
 * is that of n independent reports. It is drawn as normal with this variance, spread evenly over
 * the coordinates. */
#include "forecast/outlook.h"

#include "base/alloc.h"
#include "campaign/spec_sphere.h"
#include "forecast/variates.h"

#include <math.h>

#define DRAWS_DEFAULT 3999

struct sphere_outlook {
    struct outlook base;
    double *lengths, *coordinates; /* (n_draws) */
};

static void close_sphere(struct outlook *outlook)
{
    struct sphere_outlook *o = (struct sphere_outlook *)outlook;
    dpot_free_array(NULL, o->lengths, o->base.n_draws, sizeof *o->lengths);
    dpot_free_array(NULL, o->coordinates, o->base.n_draws, sizeof *o->coordinates);
}

static dpot_status open_sphere(struct outlook *outlook, const struct reference *reference)
{
    struct sphere_outlook *o = (struct sphere_outlook *)outlook;
    struct spec_sphere measured;
    (void)reference;
    spec_measure_sphere(outlook->campaign, &measured);
    outlook->figures = 1u << FIGURE_MEAN | 1u << FIGURE_COORDINATE;
    outlook->n_draws = outlook->config.n_draws > 0 ? outlook->config.n_draws : DRAWS_DEFAULT;
    outlook->noise =
        sqrt(sphere_report_variance(measured.channel.contraction) / outlook->campaign->domain.dim);
    o->lengths = dpot_alloc_array(NULL, outlook->n_draws, sizeof *o->lengths);
    o->coordinates = dpot_alloc_array(NULL, outlook->n_draws, sizeof *o->coordinates);
    return o->lengths && o->coordinates ? DPOT_OK : DPOT_ERR_MEMORY;
}

/* The squared length of d normal numbers is twice a Gamma(d / 2) variate. */
static dpot_status forecast_sphere(struct outlook *outlook, double n, struct forecast *forecast)
{
    struct sphere_outlook *o = (struct sphere_outlook *)outlook;
    const double deviation = outlook->noise / sqrt(n), dim = outlook->campaign->domain.dim;
    for (size_t i = 0; i < outlook->n_draws; i++) {
        struct variates variates;
        variates_init(&variates, outlook->config.seed, i);
        o->lengths[i] = deviation * sqrt(2 * variates_gamma(&variates, dim / 2));
        o->coordinates[i] = deviation * fabs(variates_normal(&variates));
        variates_release(&variates);
    }
    figure_from_draws(&forecast->figures[FIGURE_MEAN], o->lengths, outlook->n_draws);
    figure_from_draws(&forecast->figures[FIGURE_COORDINATE], o->coordinates, outlook->n_draws);
    return DPOT_OK;
}

const struct outlook_class outlook_sphere = {.size = sizeof(struct sphere_outlook),
                                             .open = open_sphere,
                                             .close = close_sphere,
                                             .forecast = forecast_sphere};
