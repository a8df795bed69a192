/* Wasserstein distances between two finite measures on points of R^dim, with Euclidean ground
 * distance.
 *
 *     W_p(x, y) = (min <C, P>)^(1/p),  C_ij = |x_i - y_j|^p,  p = 1, 2
 *     SW_2(x, y) = (mean over directions u of W_2(<u, x>, <u, y>)^2)^(1/2)
 *
 * The exact distances need a cost matrix and a network simplex: up to a few thousand points. The
 * sliced one needs a sort for each direction: up to millions of points. A shift by s has W_p = |s|
 * but SW_2 = |s| / sqrt(dim): compare only distances of the same kind.
 *
 * Two finite samples of one law are not at distance 0: W_p falls like n^(-1/dim) (dim >= 3).
 * Callers therefore also report this floor. */
#ifndef DPOT_SOLVE_TRANSPORT_WASSERSTEIN_H
#define DPOT_SOLVE_TRANSPORT_WASSERSTEIN_H

#include "base/alloc.h"
#include "base/error.h"
#include "solve/run/team.h"

#include <stddef.h>
#include <stdint.h>

#define WASSERSTEIN_COSTS_MAX ((size_t)1 << 26) /* entries of a cost matrix: 512 MiB */

/* Points with their weights, borrowed. */
struct point_set {
    size_t n;
    const double *points;  /* (n, dim) */
    const double *weights; /* (n) >= 0, sum 1; NULL: 1 / n each */
};

struct wasserstein {
    double w1, w2;
};

/* Both exact distances, W_1 and W_2. DPOT_ERR_TOO_LARGE: more than WASSERSTEIN_COSTS_MAX pairs.
 * DPOT_ERR_RANGE (entries that are not finite, or weights), DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status wasserstein_exact(const struct point_set *x, const struct point_set *y,
                                               size_t dim, const struct dpot_allocator *allocator,
                                               struct wasserstein *distance,
                                               struct dpot_error *error);

/* W_2^2 in one dimension, between (x, a) and (y, b), both in ascending x. */
struct line_point {
    double x, mass;
};
double wasserstein_line(const struct line_point *x, size_t n, const struct line_point *y, size_t m);

/* SW_2 over n_directions drawn uniformly from the sphere by `seed`; in one dimension it is W_2. The
 * result does not depend on the number of threads. Memory: four numbers per point and thread.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status wasserstein_sliced(const struct point_set *x,
                                                const struct point_set *y, size_t dim,
                                                size_t n_directions, uint64_t seed,
                                                struct team *team,
                                                const struct dpot_allocator *allocator,
                                                double *distance, struct dpot_error *error);

#endif
