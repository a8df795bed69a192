/* Symmetries of a cost matrix that come from the order of its points: a ring, a line, a grid.
 *
 * A pair of permutations (pi, sigma) with C[pi i, sigma j] = C[i, j] leaves the worst case of a
 * base measure problem unchanged, and averaging a measure over a group of such pairs does not raise
 * its cost (the objective is convex). So masses can be equal within the orbits of columns, and one
 * row of each orbit of rows is enough: a square grid of 100 x 100 points has 1275 orbits instead of
 * 10,000.
 *
 * Nothing is assumed about the origin of the costs. Candidates are reversals and cyclic shifts of
 * an axis and exchanges of two axes, for every way to read the numbers 0 .. n-1 as a grid of any
 * dimension; each one is checked on every cost. SYMMETRY_TOL allows for the rounding of costs
 * computed from coordinates. The largest difference found is returned, and results that use the
 * orbits must be certified on the original costs (solve/base_measure/certificate.h). */
#ifndef DPOT_SOLVE_BASE_MEASURE_SYMMETRY_H
#define DPOT_SOLVE_BASE_MEASURE_SYMMETRY_H

#include "base/alloc.h"
#include "base/error.h"
#include "solve/run/control.h"

#include <stddef.h>
#include <stdint.h>

#define SYMMETRY_TOL 1e-12 /* of a typical cost, and of the two compared */

struct symmetry {
    size_t n_rows, n_cols;
    size_t n_row_orbits, n_col_orbits; /* n_rows and n_cols: no symmetry */
    uint32_t *row_orbit;               /* (n_rows) numbered by their first member, ascending */
    uint32_t *col_orbit;               /* (n_cols) */
    uint32_t *row_first;               /* (n_row_orbits) the first member */
    uint32_t *row_size, *col_size;     /* (n_row_orbits), (n_col_orbits) members */
    size_t n_generators;               /* permutations that were found and checked */
    double deviation;                  /* largest difference of two costs taken as equal */
    const struct dpot_allocator *allocator;
};

/* Time: a pass over the costs for each symmetry that holds; candidates that fail are rejected
 * early. If `control` (may be NULL) stops the search, the symmetries found so far are used.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status symmetry_find(const double *cost /* (n_rows, n_cols) */, size_t n_rows,
                                           size_t n_cols, const struct solve_control *control,
                                           const struct dpot_allocator *allocator,
                                           struct symmetry *symmetry);
void symmetry_release(struct symmetry *symmetry);

/* A cost that a quarter of the positive costs (of a sample) do not exceed: the scale for "large"
 * and "small" costs. 0: none is positive. */
double symmetry_typical_cost(const double *cost, size_t n_costs);

#endif
