/* A pool as training sees it: float32 points, in few dimensions gathered into weighted atoms.
 *
 * Training on the whole pool in every step has no minibatch bias (solve/learn/generator_train.h), and in up
 * to ATOMS_DIM_MAX dimensions the whole pool fits in a step: the points are put into cubic cells, the
 * points of a cell become one atom at their mean with their share of the pool as weight, and the cells
 * are as small as the wanted number of atoms allows. Means keep the first moment of every cell, so
 * that costs are right to second order in the width of a cell over the scale of the noise.
 * Post-processing of private reports only. */
#ifndef DPOT_GENERATOR_ATOMS_H
#define DPOT_GENERATOR_ATOMS_H

#include "base/error.h"
#include "solve/learn/generator_train.h"

#define ATOMS_DIM_MAX 3
#define ATOMS_MOST 65536

struct atoms {
    size_t n, dim;
    float *points;   /* (n, dim) */
    double *weights; /* (n), sum one; NULL: all alike */
    double width;    /* of a cell; 0: every point is an atom of its own */
    size_t n_cap;
};

/* From points (n, dim) of finite numbers below 1e30 in size. `n_most` atoms at most; 0: one for each
 * point. `scale` (of the noise) decides the first width tried, scale / 8. `range` (lo, hi) or NULL: numbers
 * outside it are moved to its ends first, which is exact for the l1 cost when no generated point lies
 * outside (|y - x| = |y - end| + |end - x|, and the first is the report's alone) and makes cells smaller. DPOT_ERR_SHAPE (no point, more
 * than ATOMS_DIM_MAX dimensions with n_most > 0), DPOT_ERR_RANGE, DPOT_ERR_MEMORY; zeroed then. */
DPOT_WARN_UNUSED dpot_status atoms_init(struct atoms *atoms, const double *points, size_t n,
                                        size_t dim, size_t n_most, double scale,
                                        const double range[2], struct dpot_error *error);
void atoms_release(struct atoms *atoms);

/* The view that training takes; borrowed. */
struct generator_pool atoms_pool(const struct atoms *atoms);

#endif
