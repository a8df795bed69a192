/* A pool in the form that training uses: float32 points, in few dimensions merged into weighted
 * atoms.
 *
 * Training on the whole pool in every step has no minibatch bias (solve/learn/generator_train.h).
 * In up to ATOMS_DIM_MAX dimensions the whole pool fits into a step: points are sorted into cubic
 * cells, the points of a cell become one atom at their mean, weighted by their share of the pool,
 * and the cells are as small as the wanted number of atoms allows. Means preserve the first moment
 * of every cell, so costs are correct to second order in cell width / noise scale. Post-processing
 * of private reports only. */
#ifndef DPOT_GENERATOR_ATOMS_H
#define DPOT_GENERATOR_ATOMS_H

#include "base/error.h"
#include "solve/learn/generator_train.h"

#define ATOMS_DIM_MAX 3
#define ATOMS_MOST 65536

struct atoms {
    size_t n, dim;
    float *points;   /* (n, dim) */
    double *weights; /* (n), sum one; NULL: equal */
    double width;    /* of a cell; 0: every point is an atom */
    size_t n_cap;
};

/* Builds the atoms of points (n, dim), which are finite and below 1e30 in size.
 * n_most: maximum number of atoms; 0: one for each point.
 * scale: of the noise; the first cell width tried is scale / 8.
 * range: (lo, hi) or NULL. Coordinates outside are moved to its ends first, which makes cells
 * smaller. This is exact for the l1 cost if no generated point lies outside: |y - x| = |y - end| +
 * |end - x|, and the first term depends on the report alone.
 * DPOT_ERR_SHAPE: no point, or more than ATOMS_DIM_MAX dimensions with n_most > 0. DPOT_ERR_RANGE,
 * DPOT_ERR_MEMORY. On failure *atoms is zeroed. */
DPOT_WARN_UNUSED dpot_status atoms_init(struct atoms *atoms, const double *points, size_t n,
                                        size_t dim, size_t n_most, double scale,
                                        const double range[2], struct dpot_error *error);
void atoms_release(struct atoms *atoms);

/* The atoms as an argument for training; borrowed. */
struct generator_pool atoms_pool(const struct atoms *atoms);

#endif
