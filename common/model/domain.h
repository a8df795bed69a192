/* Domains: the points that device data are clamped to, and the points that a report can name.
 *
 *   points   an explicit list, (size, dim)
 *   grid     cell centres of a box cut into shape[0] x .. x shape[dim-1] cells, row-major, first
 *            coordinate slowest: lo + (i + 1/2) (hi - lo) / shape. Not sent point by point.
 *   ring     positions 0..size-1 of one coordinate
 *
 * and a pair without a list of points:
 *
 *   sphere      all unit vectors of `dim` >= 2 coordinates, size 0: device data
 *   directions  `size` unit vectors of `dim` coordinates, different ones for each report, derived
 *               from its id (mechanism/codebook.h): what a report can name
 *
 * Boxes and balls of vector mechanisms are in model/vector.h. */
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
#define DPOT_DIRECTIONS_NUMBERS_MAX (1u << 26) /* size * dim: a device computes them all */

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
    uint32_t size;                     /* points; a grid: the product of shape; a sphere: 0 */
    double lo[DPOT_GRID_DIM_MAX];      /* grid */
    double hi[DPOT_GRID_DIM_MAX];      /* grid */
    uint32_t shape[DPOT_GRID_DIM_MAX]; /* grid */
    double *points;                    /* points only, (size, dim); owned */
    const struct dpot_allocator *allocator;
};

/* Initialise a domain with copies of the arguments; release it with _release. Fail with
 * DPOT_ERR_RANGE, DPOT_ERR_SHAPE, DPOT_ERR_TOO_LARGE or DPOT_ERR_MEMORY; *domain is then zeroed. */
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

/* Checks what the init functions enforce: type, dimension, size, finite coordinates, a grid whose
 * box is not empty and whose size is the product of its shape. */
DPOT_WARN_UNUSED dpot_status dpot_domain_check(const struct dpot_domain *domain,
                                               struct dpot_error *error);

/* Whether both have the same type and the same numbers. */
bool dpot_domain_equal(const struct dpot_domain *a, const struct dpot_domain *b);

/* Coordinates of point `index` < size; zeros for a sphere and for directions. */
void dpot_domain_point(const struct dpot_domain *domain, uint32_t index, double *out /* (dim) */);

/* All points, row-major. */
void dpot_domain_points(const struct dpot_domain *domain, double *out /* (size, dim) */);

/* Coordinate `axis` of the points with index `index` on that axis. Grids and rings. */
double dpot_domain_on_axis(const struct dpot_domain *domain, uint32_t axis, uint32_t index);

/* The point nearest to x, by the rules of model/nearest.h, which is faster for many x. Total. */
uint32_t dpot_domain_nearest(const struct dpot_domain *domain, const struct dpot_metric *metric,
                             const double *x /* (dim) */);

#endif
