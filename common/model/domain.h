/* Finite domains: the points a device's data are clamped to, and the points a report can name.
 *
 *   points   an explicit list, (size, dim)
 *   grid     cell centres of a box cut into shape[0] x .. x shape[dim-1] cells, row-major, first
 *            coordinate slowest: lo + (i + 1/2) (hi - lo) / shape. Not sent point by point.
 *   ring     positions 0..size-1 of one coordinate
 *
 * and two that go together and have no list of points:
 *
 *   sphere      all unit vectors of `dim` >= 2 coordinates; size 0. Where device data live.
 *   directions  `size` unit vectors of `dim` coordinates that every report has its own of, named by
 *               its id (mechanism/codebook.h). What a report can name.
 *
 * Boxes and balls (vector mechanisms) are in model/vector.h. */
#ifndef DPOT_MODEL_DOMAIN_H
#define DPOT_MODEL_DOMAIN_H

#include "base/alloc.h"
#include "base/error.h"
#include "model/metric.h"

#include <stdbool.h>

#define DPOT_DOMAIN_DIM_MAX 4096        /* coordinates of a listed point */
#define DPOT_GRID_DIM_MAX 8             /* coordinates of a grid */
#define DPOT_DOMAIN_SIZE_MAX (1u << 20) /* points */
#define DPOT_SPHERE_DIM_MIN 2           /* coordinates of a sphere */
#define DPOT_DIRECTIONS_MIN 2
#define DPOT_DIRECTIONS_NUMBERS_MAX (1u << 26) /* size times dim: a device makes them all */

enum dpot_domain_type {
    DPOT_DOMAIN_POINTS = 1,
    DPOT_DOMAIN_GRID = 2,
    DPOT_DOMAIN_RING = 3,
    DPOT_DOMAIN_SPHERE = 4,
    DPOT_DOMAIN_DIRECTIONS = 5,
};

struct dpot_domain {
    enum dpot_domain_type type;
    uint32_t dim;
    uint32_t size;                     /* number of points; derived for a grid; 0 of a sphere */
    double lo[DPOT_GRID_DIM_MAX];      /* grid */
    double hi[DPOT_GRID_DIM_MAX];      /* grid */
    uint32_t shape[DPOT_GRID_DIM_MAX]; /* grid */
    double *points;                    /* points only, (size, dim); owned */
    const struct dpot_allocator *allocator;
};

/* Makes a domain; it owns copies of what it is given. `domain` need not be initialised and is
 * zeroed on failure. DPOT_ERR_RANGE / DPOT_ERR_SHAPE / DPOT_ERR_TOO_LARGE with a sentence,
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_domain_init_points(struct dpot_domain *domain, uint32_t size,
                                                     uint32_t dim, const double *points,
                                                     const struct dpot_allocator *allocator,
                                                     struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status dpot_domain_init_grid(struct dpot_domain *domain, uint32_t dim,
                                                   const double *lo, const double *hi,
                                                   const uint32_t *shape, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status dpot_domain_init_ring(struct dpot_domain *domain, uint32_t size,
                                                   struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status dpot_domain_init_sphere(struct dpot_domain *domain, uint32_t dim,
                                                     struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status dpot_domain_init_directions(struct dpot_domain *domain, uint32_t size,
                                                         uint32_t dim, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status dpot_domain_init_copy(struct dpot_domain *domain,
                                                   const struct dpot_domain *other);
void dpot_domain_release(struct dpot_domain *domain);

/* What the init calls enforce, for a domain that came from elsewhere: type, dimension, size, finite
 * coordinates, a grid whose box is not empty and whose size is the product of its shape. */
DPOT_WARN_UNUSED dpot_status dpot_domain_check(const struct dpot_domain *domain,
                                               struct dpot_error *error);

/* True when both describe the same points by the same numbers. */
bool dpot_domain_equal(const struct dpot_domain *a, const struct dpot_domain *b);

/* Coordinates of point `index` < size; zeros of a sphere and of directions, which have no list. */
void dpot_domain_point(const struct dpot_domain *domain, uint32_t index, double *out /* (dim) */);

/* All points, row-major; as above. */
void dpot_domain_points(const struct dpot_domain *domain, double *out /* (size, dim) */);

/* Coordinate `axis` of every point whose index on that axis is `index`. Grids and rings. */
double dpot_domain_on_axis(const struct dpot_domain *domain, uint32_t axis, uint32_t index);

/* The point nearest to x in the metric, by the rule of model/nearest.h, which is faster for many x and
 * tells what far, infinite and NaN coordinates count as. Total. */
uint32_t dpot_domain_nearest(const struct dpot_domain *domain, const struct dpot_metric *metric,
                             const double *x /* (dim) */);

#endif
