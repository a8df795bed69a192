/* Wasserstein distances between two finite measures on points of R^dim, for the Euclidean distance:
 * how near a generator's samples are to the data.
 *
 *     W_p(x, y) = (min <C, P>)^(1/p),  C_ij = |x_i - y_j|^p,  p = 1, 2
 *     SW_2(x, y) = (mean over directions u of W_2(<u, x>, <u, y>)^2)^(1/2)
 *
 * The exact distances cost a matrix and a network simplex: up to a few thousand points. The sliced one
 * costs a sort for each direction: up to millions of points. A shift by s has W_p = |s| and
 * SW_2 = |s| / sqrt(dim): compare a distance with distances of the same kind only.
 *
 * Finite samples of one law are not at distance 0: W_p between two samples of n falls like
 * n^(-1/dim) (from dim = 3 on), which is why a floor is measured beside every distance. */
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
    const double *weights; /* (n) not negative, sum 1; NULL: 1 / n each */
};

struct wasserstein {
    double w1, w2;
};

/* Both exact distances. DPOT_ERR_TOO_LARGE: more than WASSERSTEIN_COSTS_MAX pairs. DPOT_ERR_RANGE
 * (entries that are not finite, or weights), DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status wasserstein_exact(const struct point_set *x, const struct point_set *y,
                                               size_t dim, const struct dpot_allocator *allocator,
                                               struct wasserstein *distance,
                                               struct dpot_error *error);

/* On a line: W_2^2 between (x, a) and (y, b), both with x ascending. */
struct line_point {
    double x, mass;
};
double wasserstein_line(const struct line_point *x, size_t n, const struct line_point *y, size_t m);

/* SW_2 over n_directions drawn uniformly from the sphere with this seed; in one dimension there is
 * one direction and it is W_2. The result does not depend on the threads of `team`. Memory: four
 * numbers a point and thread. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status wasserstein_sliced(const struct point_set *x,
                                                const struct point_set *y, size_t dim,
                                                size_t n_directions, uint64_t seed,
                                                struct team *team,
                                                const struct dpot_allocator *allocator,
                                                double *distance, struct dpot_error *error);

#endif
