/* Vectors on a public integer grid, clipped to a public set: what Laplace and Gaussian release.
 *
 * Device data are `data_dim` real numbers. A public linear transform (none, or the coefficients
 * `keep` of an orthonormal two-dimensional DCT) gives `dim` coordinates, which are rounded to
 * multiples of grid_step and then, in integers, clipped to the set, in grid units:
 *
 *   box      lo[j] <= z[j] <= hi[j]
 *   l1 ball  sum |z[j]| <= radius
 *   l2 ball  sum z[j]^2 <= radius^2
 *
 * The sensitivity is the diameter of this set, always computed from these integers
 * (mechanism/acceptance.h), never stated by a server. */
#ifndef DPOT_MODEL_VECTOR_H
#define DPOT_MODEL_VECTOR_H

#include "base/alloc.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPOT_VECTOR_DIM_MAX (1u << 20)
#define DPOT_VECTOR_SIDE_MAX ((int64_t)1 << 40)       /* |lo|, |hi|, grid units */
#define DPOT_VECTOR_L1_RADIUS_MAX ((uint64_t)1 << 40) /* grid units */
#define DPOT_VECTOR_L2_RADIUS_MAX ((1u << 26) - 1)    /* grid units */
#define DPOT_TRANSFORM_SIDE_MAX 1024                  /* rows, columns of a DCT */

/* Published numbers (campaign.proto, by their field). */
enum dpot_vector_set {
    DPOT_VECTOR_BOX = 1,
    DPOT_VECTOR_L1_BALL = 2,
    DPOT_VECTOR_L2_BALL = 3,
};

enum dpot_transform_id {
    DPOT_TRANSFORM_NONE = 0,
    DPOT_TRANSFORM_DCT = 1,
};

/* Coefficient (u, v) of a rows x cols image has the number u cols + v. */
struct dpot_transform {
    enum dpot_transform_id id;
    uint32_t rows, cols; /* dct; else 0 */
    uint32_t n_keep;     /* dct: coefficients that are kept; else 0 */
    uint32_t *keep;      /* (n_keep) their numbers, increasing; owned */
};

struct dpot_vector_domain {
    enum dpot_vector_set set;
    uint32_t dim;        /* coordinates of a report */
    uint64_t radius;     /* balls, else 0 */
    uint32_t n_sides;    /* box: 1 (the same for every coordinate) or dim; else 0 */
    int64_t *lo, *hi;    /* (n_sides) box; owned */
    double grid_step;    /* g: a grid unit in data units (after the transform) */
    double inverse_step; /* 1/g up to rounding: the factor that the device uses */
    struct dpot_transform transform;
    const struct dpot_allocator *allocator;
};

/* Frees the content; a zeroed struct is allowed. */
void dpot_vector_domain_release(struct dpot_vector_domain *vector);

/* data_dim: rows * cols with a transform, else dim. */
uint32_t dpot_vector_data_dim(const struct dpot_vector_domain *vector);

/* Bounds of coordinate j < dim over the set, grid units. */
int64_t dpot_vector_lo(const struct dpot_vector_domain *vector, uint32_t j);
int64_t dpot_vector_hi(const struct dpot_vector_domain *vector, uint32_t j);

/* Checks sizes, sides, radius (>= 1), steps (in [2^-60, 2^60], product within 2^-20 of 1) and
 * transform. Widths and sensitivity are checked by the mechanism. The error names the field and its
 * value. */
DPOT_WARN_UNUSED dpot_status dpot_vector_domain_check(const struct dpot_vector_domain *vector,
                                                      struct dpot_error *error);

/* Device data of a vector mechanism: leave the device through it only, and are wiped on release.
 * Values need not be finite. */
struct dpot_private_vector {
    size_t dim;
    double *values; /* (dim) */
    const struct dpot_allocator *allocator;
};

/* Allocates zeros, the public default of a device without data. DPOT_ERR_MEMORY: zeroed. */
DPOT_WARN_UNUSED dpot_status dpot_private_vector_init(struct dpot_private_vector *vector,
                                                      size_t dim,
                                                      const struct dpot_allocator *allocator);
void dpot_private_vector_release(struct dpot_private_vector *vector);

#endif
