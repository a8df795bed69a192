/* What the vector mechanisms (Laplace, Gaussian) release: a vector on a public integer grid, clipped
 * to a public set.
 *
 * Device data are a vector of `data_dim` real numbers. A public linear transform (none, or an
 * orthonormal two-dimensional DCT of which only the coefficients `keep` stay) gives `dim`
 * coordinates, which are rounded to multiples of grid_step and then, in integers, clipped to the set:
 *
 *   box      lo[j] <= z[j] <= hi[j]
 *   l1 ball  sum |z[j]| <= radius
 *   l2 ball  sum z[j]^2 <= radius^2
 *
 * all in grid units. Sensitivity is the diameter of this set, always computed from these integers
 * (mechanism/acceptance.h) and never stated by anybody. */
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

/* The coefficient (u, v) of an image of rows x cols, 0 <= u < rows, 0 <= v < cols, has the number
 * u cols + v. */
struct dpot_transform {
    enum dpot_transform_id id;
    uint32_t rows, cols; /* dct; else 0 */
    uint32_t n_keep;     /* dct: coefficients that stay; else 0 */
    uint32_t *keep;      /* (n_keep) numbers of coefficients, increasing; owned */
};

struct dpot_vector_domain {
    enum dpot_vector_set set;
    uint32_t dim;        /* coordinates of a report */
    uint64_t radius;     /* balls, else 0 */
    uint32_t n_sides;    /* box: 1 (every coordinate alike) or dim; else 0 */
    int64_t *lo, *hi;    /* (n_sides) box; owned */
    double grid_step;    /* g: one grid unit in data units (after the transform) */
    double inverse_step; /* what the device multiplies with; 1/g up to rounding */
    struct dpot_transform transform;
    const struct dpot_allocator *allocator;
};

/* Frees what is inside; a zeroed struct is allowed. */
void dpot_vector_domain_release(struct dpot_vector_domain *vector);

/* A deep copy; zeroed on failure. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_vector_domain_init_copy(struct dpot_vector_domain *vector,
                                                          const struct dpot_vector_domain *other);

/* Coordinates of device data: rows x cols with a transform, else dim. */
uint32_t dpot_vector_data_dim(const struct dpot_vector_domain *vector);

/* Sides of coordinate j < dim of the smallest box that holds the set, grid units. */
int64_t dpot_vector_lo(const struct dpot_vector_domain *vector, uint32_t j);
int64_t dpot_vector_hi(const struct dpot_vector_domain *vector, uint32_t j);

/* Every public condition on these numbers by themselves: sizes, sides, radius (at least 1), steps
 * (finite, in [2^-60, 2^60], their product within 2^-20 of 1), transform. What a mechanism asks
 * beyond (widths, sensitivity) is its own check's. Each refusal names the field and its value. */
DPOT_WARN_UNUSED dpot_status dpot_vector_domain_check(const struct dpot_vector_domain *vector,
                                                      struct dpot_error *error);

/* Device data of a vector mechanism: leaves the device in no form but through a mechanism. Wiped on
 * release. `values` need not be finite. */
struct dpot_private_vector {
    size_t dim;
    double *values; /* (dim) */
    const struct dpot_allocator *allocator;
};

/* Zeros: the public default of a device without data. */
DPOT_WARN_UNUSED dpot_status dpot_private_vector_init(struct dpot_private_vector *vector,
                                                      size_t dim,
                                                      const struct dpot_allocator *allocator);
void dpot_private_vector_release(struct dpot_private_vector *vector);

#endif
