/* The LDP polytope Q = { q : lower_j <= q_j <= upper_j, sum q = 1 } and its KL projection (002,
 * Lemma 4.2): q_j = min(max(e^theta s_j, lower_j), upper_j) with theta such that sum q = 1.
 *
 * Bounds are finite with 0 <= lower_j <= upper_j. The polytope may be empty (sum lower > 1 or sum
 * upper < 1, possibly by rounding): then q is the nearest bound. Nothing here fails. */
#ifndef DPOT_OT_POLYTOPE_H
#define DPOT_OT_POLYTOPE_H

#include <stddef.h>

struct dpot_polytope {
    size_t size;
    const double *lower; /* (size) borrowed */
    const double *upper; /* (size) borrowed */
};

/* Steps of the search for theta: a fixed number for all data, except with DPOT_STEPS_NEEDED. */
enum dpot_polytope_steps {
    /* 64: enough from any start. */
    DPOT_STEPS_ALL = 1,

    /* 8, or 12 with log_s, for the sweeps after the first, whose start is near. 2 to 4 are usually
     * enough; if not, theta is not final, and q, inside its bounds, need not have mass 1. */
    DPOT_STEPS_NEAR = 2,

    /* Until theta is found, at most 64. Tools only. */
    DPOT_STEPS_NEEDED = 3,
};

/* Projects the measure exp(log_s) and returns theta, by a safeguarded Newton method from
 * `theta_start` on the sum, which is piecewise linear in e^theta. Total: for any log_s (NaN counts
 * as minus infinity), q is finite with lower <= q <= upper, and sums to 1 up to rounding if sum
 * lower <= 1 <= sum upper. */
double dpot_polytope_project_kl(const struct dpot_polytope *polytope,
                                const double *log_s /* (size) */, double theta_start,
                                enum dpot_polytope_steps steps, double *q /* (size) */);

/* The same for weights s >= 0 (NaN counts as 0) and scale = e^theta, without exponentials: for
 * sweeps of a stored kernel. Returns the scale, positive and finite. q may be s itself. */
double dpot_polytope_project_kl_linear(const struct dpot_polytope *polytope,
                                       const double *s /* (size) */, double scale_start,
                                       enum dpot_polytope_steps steps, double *q /* (size) */);

#endif
