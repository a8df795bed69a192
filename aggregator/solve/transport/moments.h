/* Mean and covariance of points, and the Frechet distance of two laws by their moments.
 *
 *     Frechet distance  |m - m'|^2 + tr(S + S' - 2 (S^(1/2) S' S^(1/2))^(1/2))
 *
 * is W_2^2 between the Gaussians of these moments (Dowson, Landau 1982; Heusel et al. 2017 on
 * features of a classifier of images). Float64. Covariances may be singular (fewer points than
 * dimensions): no inverse is taken and no ridge is added. Few points bias the distance upwards by
 * O(1 / n): compare distances of equal n. */
#ifndef DPOT_SOLVE_TRANSPORT_MOMENTS_H
#define DPOT_SOLVE_TRANSPORT_MOMENTS_H

#include "base/alloc.h"
#include "base/error.h"
#include "ot/symmetric.h"

#include <stddef.h>
#include <stdint.h>

#define MOMENTS_DIM_MAX DPOT_SYMMETRIC_MAX

struct moments {
    size_t dim;
    double *mean;       /* (dim) */
    double *covariance; /* (dim, dim) divided by n - 1, or n for weighted points; 0 for one point */
    const struct dpot_allocator *allocator;
};

/* DPOT_ERR_TOO_LARGE: dim above MOMENTS_DIM_MAX. DPOT_ERR_MEMORY; *moments is then zeroed. */
DPOT_WARN_UNUSED dpot_status moments_init(const double *points /* (n, dim) */,
                                          const double *weights /* (n) sum 1; NULL: equal */,
                                          size_t n, size_t dim,
                                          const struct dpot_allocator *allocator,
                                          struct moments *moments, struct dpot_error *error);
void moments_release(struct moments *moments);

/* The Frechet distance (in squared units of the points), >= 0. DPOT_ERR_SHAPE: different
 * dimensions. DPOT_ERR_RANGE: points that were not finite. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status moments_frechet(const struct moments *a, const struct moments *b,
                                             double *distance, struct dpot_error *error);

/* Draws n points of the Gaussian with these moments, as a baseline. Depends only on the seed; NOT
 * for privacy. Statuses of moments_frechet. */
DPOT_WARN_UNUSED dpot_status moments_draw(const struct moments *moments, size_t n, uint64_t seed,
                                          double *points /* (n, dim) */, struct dpot_error *error);

#endif
