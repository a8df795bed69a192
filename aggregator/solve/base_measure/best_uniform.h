/* The best uniform base measure: equal mass on every output point, best total mass.
 *
 * Along m = (s/n_cols, ..., s/n_cols) the objective is convex and piecewise linear in the total
 * mass s, so two tangents with slopes of opposite sign intersect at a lower bound of it. The search
 * evaluates that point next (or bisects, if the bracket shrinks slowly) and ends when the best
 * value is within BEST_UNIFORM_TOL of the bound: exact up to rounding, after about ten evaluations.
 *
 * On a homogeneous domain (a ring, a sphere) the best uniform measure is optimal among all
 * measures, and the lower bound proves it. */
#ifndef DPOT_SOLVE_BASE_MEASURE_BEST_UNIFORM_H
#define DPOT_SOLVE_BASE_MEASURE_BEST_UNIFORM_H

#include "solve/base_measure/phi.h"
#include "solve/run/control.h"

#define BEST_UNIFORM_TOL 1e-12 /* relative, of the objective along the line */

struct best_uniform_result {
    double total_mass;
    double objective;
    double lower_bound; /* for any base measure, by (D) of solve/base_measure/phi.h; at least 0 */
    size_t iterations;  /* evaluations of the objective */
    enum solve_outcome outcome;
};

/* Writes the measure, and leaves `phi` evaluated there. If `control` (may be NULL) stops the
 * search: the best measure so far. DPOT_ERR_MEMORY: nothing was written. */
DPOT_WARN_UNUSED dpot_status best_uniform(struct phi *phi, const struct solve_control *control,
                                          double *base_measure /* (n_cols) */,
                                          struct best_uniform_result *result);

#endif
