/* The LDP polytope Q = { q : lower_j <= q_j <= upper_j, sum q = 1 } and its KL projection (002,
 * Lemma 4.2): q_j = min(max(e^theta s_j, lower_j), upper_j) with theta such that sum q = 1. */
#ifndef DPOT_OT_POLYTOPE_H
#define DPOT_OT_POLYTOPE_H

#include <stddef.h>

struct dpot_polytope {
    size_t size;
    const double *lower; /* (size) borrowed */
    const double *upper; /* (size) borrowed */
};

/* Projects the measure exp(log_s) and returns theta. `theta_start` warm-starts the safeguarded
 * Newton method on the piecewise linear (in e^theta) sum: 2-4 steps near the solution, never more
 * than a fixed bound. Total: whatever log_s holds (NaN counts as minus infinity), q is finite with
 * lower <= q <= upper, and sums to 1 up to rounding whenever sum lower <= 1 <= sum upper. */
double dpot_polytope_project_kl(const struct dpot_polytope *polytope,
                                const double *log_s /* (size) */, double theta_start,
                                double *q /* (size) */);

#endif
