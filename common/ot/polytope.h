/* The LDP polytope Q = { q : lower_j <= q_j <= upper_j, sum q = 1 } and its KL projection (002,
 * Lemma 4.2): q_j = min(max(e^theta s_j, lower_j), upper_j) with theta such that sum q = 1.
 *
 * Bounds are finite with 0 <= lower_j <= upper_j. The polytope may be empty (sum lower > 1 or sum
 * upper < 1, possibly by rounding only): q is then the bound that comes nearest, never a failure.
 */
#ifndef DPOT_OT_POLYTOPE_H
#define DPOT_OT_POLYTOPE_H

#include <stddef.h>

struct dpot_polytope {
    size_t size;
    const double *lower; /* (size) borrowed */
    const double *upper; /* (size) borrowed */
};

/* How many steps the search for theta takes: a fixed number, whatever the data, but for the last. */
enum dpot_polytope_steps {
    DPOT_STEPS_ALL = 1, /* 64: enough from anywhere */
    DPOT_STEPS_NEAR =
        2, /* 8, of log_s 12, from a start that is near: for the sweeps after the first.
                              Where 2 to 4 are not enough, as they mostly are, theta is on its way, and
                              q, inside its bounds, need not have mass 1 */
    DPOT_STEPS_NEEDED = 3, /* until it is found, at most 64: tools only */
};

/* Projects the measure exp(log_s) and returns theta. `theta_start` starts a safeguarded Newton method on
 * the piecewise linear (in e^theta) sum. Total: whatever log_s holds (NaN counts as minus infinity), q
 * is finite with lower <= q <= upper, and sums to 1 up to rounding whenever sum lower <= 1 <= sum
 * upper. */
double dpot_polytope_project_kl(const struct dpot_polytope *polytope,
                                const double *log_s /* (size) */, double theta_start,
                                enum dpot_polytope_steps steps, double *q /* (size) */);

/* The same for a measure given by its weights s >= 0 (NaN counts as 0) and scale = e^theta, without
 * an exponential: for sweeps of a stored kernel. Returns the scale, positive and finite. q may be s
 * itself. */
double dpot_polytope_project_kl_linear(const struct dpot_polytope *polytope,
                                       const double *s /* (size) */, double scale_start,
                                       enum dpot_polytope_steps steps, double *q /* (size) */);

#endif
