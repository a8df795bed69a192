#include "mechanism/ground.h"

#include "ot/cost.h"

#include <float.h>
#include <math.h>

#define SQUARES_LEAST 0x1p-900        /* smaller sums of squares may have lost to underflow */
#define EARTH_HALF_TURN_KM 20015.1145 /* the longest great-circle distance, rounded up */

static size_t computed_coordinates(const struct dpot_campaign *campaign)
{
    const struct dpot_domain *output = &campaign->output;
    return output->type == DPOT_DOMAIN_POINTS ? 0 : (size_t)output->size * output->dim;
}

size_t dpot_ground_bytes(const struct dpot_campaign *campaign)
{
    return dpot_array_bytes(computed_coordinates(campaign), sizeof(double)) +
           sizeof(double) * campaign->domain.dim;
}

dpot_status dpot_ground_init(struct dpot_ground *ground, const struct dpot_campaign *campaign,
                             const struct dpot_allocator *allocator, struct dpot_error *error)
{
    *ground = (struct dpot_ground){
        .campaign = campaign, .allocator = allocator, .output = campaign->output.points};
    ground->computed = dpot_alloc_array(allocator, computed_coordinates(campaign), sizeof(double));
    ground->point = dpot_alloc_array(allocator, campaign->domain.dim, sizeof(double));
    if (!ground->computed || !ground->point) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %u output points",
                              campaign->output.size);
    }
    if (campaign->output.type != DPOT_DOMAIN_POINTS) {
        dpot_domain_points(&campaign->output, ground->computed);
        ground->output = ground->computed;
    }
    return DPOT_OK;
}

void dpot_ground_release(struct dpot_ground *ground)
{
    if (ground->campaign) {
        dpot_free_array(ground->allocator, ground->computed, computed_coordinates(ground->campaign),
                        sizeof(double));
        dpot_free_secret(ground->allocator, ground->point, ground->campaign->domain.dim,
                         sizeof(double));
    }
    *ground = (struct dpot_ground){0};
}

void dpot_ground_row(struct dpot_ground *ground, uint32_t point, double *row)
{
    const struct dpot_campaign *campaign = ground->campaign;
    dpot_domain_point(&campaign->domain, point < campaign->domain.size ? point : 0, ground->point);
    dpot_cost_row(&campaign->metric, campaign->cost_power, campaign->domain.dim, ground->point,
                  ground->output, campaign->output.size, row);
}

/* Extends [lo, hi] to coordinate `i` of all points of a domain. */
static void extend_range(const struct dpot_domain *domain, uint32_t i, double *lo, double *hi)
{
    if (domain->type == DPOT_DOMAIN_GRID) {
        *lo = fmin(*lo, domain->lo[i]);
        *hi = fmax(*hi, domain->hi[i]);
    } else if (domain->type == DPOT_DOMAIN_RING) {
        *lo = fmin(*lo, 0);
        *hi = fmax(*hi, (double)domain->size - 1);
    }
    for (size_t r = 0; domain->type == DPOT_DOMAIN_POINTS && r < domain->size; r++) {
        *lo = fmin(*lo, domain->points[r * domain->dim + i]);
        *hi = fmax(*hi, domain->points[r * domain->dim + i]);
    }
}

/* A bound on the distance of any domain point to any output point, from their bounding box. */
static double largest_distance(const struct dpot_campaign *campaign)
{
    const double radians = EARTH_HALF_TURN_KM / 180;
    double sum = 0, sum_squares = 0, norm = 0, largest = 0;
    for (uint32_t i = 0; i < campaign->domain.dim; i++) {
        double lo = DBL_MAX, hi = -DBL_MAX;
        extend_range(&campaign->domain, i, &lo, &hi);
        extend_range(&campaign->output, i, &lo, &hi);
        sum += hi - lo;
        sum_squares += (hi - lo) * (hi - lo);
        norm = hypot(norm, hi - lo);
        largest = fmax(largest, hi - lo);
    }
    switch (campaign->metric.id) {
    case DPOT_METRIC_EUCLIDEAN:
        return sum_squares >= SQUARES_LEAST && sum_squares <= DBL_MAX ? sqrt(sum_squares) : norm;
    case DPOT_METRIC_L1:
        return sum;
    case DPOT_METRIC_LINF:
        return largest;
    case DPOT_METRIC_COSINE:
        return 2;
    case DPOT_METRIC_HAVERSINE: /* along a meridian, then along a parallel: not shorter */
        return fmin(sum * radians, EARTH_HALF_TURN_KM);
    case DPOT_METRIC_RING:
        return (double)campaign->metric.ring_size / 2;
    }
    return DBL_MAX;
}

double dpot_ground_cost_bound(const struct dpot_campaign *campaign)
{
    return fmin(pow(largest_distance(campaign), campaign->cost_power), DBL_MAX);
}
