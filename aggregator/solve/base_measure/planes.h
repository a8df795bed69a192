/* The best base measure by cutting planes, with a dual point that certifies its gap.
 *
 *     F(m) = (1 - worst_share) sum_u omega_u P(mu_u, m) + worst_share max_i phi_i(m)
 *
 * F is a sum of parts, each a maximum of tangents: one part for each group of users
 * (solve/base_measure/crowd.h), and one for the worst case, which gets a tangent for every row
 * above the model. A round solves the linear program over all tangents so far
 * (solve/base_measure/lp.h), computes the bound of its weights, and evaluates F at its solution;
 * with users at .7 best + .3 solution, which converges more steadily. phi_i is a maximum of n_cols
 * pieces, so the worst case alone reaches its optimum in a few rounds.
 *
 * With orbits (solve/base_measure/symmetry.h), masses are equal within an orbit and `phi` holds one
 * row of each orbit. The bounds then depend on the symmetry: certify the result with
 * solve/base_measure/certificate.h.
 *
 * The users' values are too low by the temperature of their crowd. Once they indicate that the gap
 * is reached, the exact objective is computed; if its gap is larger, the temperature is lowered and
 * the rounds continue.
 *
 * Results do not depend on the number of threads. Time enters only through the control; give the
 * crowd the same one (base_measure_crowd_set_control). */
#ifndef DPOT_SOLVE_BASE_MEASURE_PLANES_H
#define DPOT_SOLVE_BASE_MEASURE_PLANES_H

#include "base/error.h"
#include "solve/base_measure/crowd.h"
#include "solve/base_measure/phi.h"
#include "solve/run/control.h"

#define BASE_MEASURE_GROUPS 70 /* of users */

struct base_measure_planes_config {
    size_t n_cols;
    double epsilon;
    double worst_share;               /* 0 to 1 */
    struct phi *phi;                  /* without weights; NULL if worst_share is 0 */
    struct base_measure_crowd *crowd; /* NULL if worst_share is 1 */
    const struct base_measure_users *users;
    const uint32_t *orbit;       /* (n_cols) below n_orbits; NULL: every point is its own orbit */
    size_t n_orbits;             /* n_cols if `orbit` is NULL */
    const double *const *starts; /* (n_starts) measures in M, at least one, the best guess last */
    size_t n_starts;
    double gap; /* ends when (objective - lower_bound) / objective is at most this */
    size_t max_rounds;
    const struct dpot_linalg *linalg;
    const struct dpot_allocator *allocator;
};

struct base_measure_planes_result {
    double *base_measure; /* (n_cols) */
    /* As evaluated: exact if converged; otherwise, with a crowd, too low by its temperature.
     * INFINITY: the run was stopped before it had evaluated the last start. */
    double objective;
    double lower_bound; /* proved by w, y and potentials, up to rounding */
    double *w, *y;      /* (phi rows) of the worst case, sum worst_share; NULL without */
    double *potentials; /* (points of all users); NULL without */
    double relative_gap;
    size_t rounds, n_cuts, n_lp_steps;
    enum solve_outcome outcome;
    size_t n_cols, n_rows, n_points; /* of the arrays */
    const struct dpot_allocator *allocator;
};

/* DPOT_ERR_TOO_LARGE, with a message: more orbits than the linear program takes
 * (BASE_MEASURE_LP_ROWS_MAX). DPOT_ERR_MEMORY. On failure the result is zeroed. A stopped run
 * returns the best measure and bound so far. */
DPOT_WARN_UNUSED dpot_status base_measure_planes(const struct base_measure_planes_config *config,
                                                 const struct solve_control *control,
                                                 struct base_measure_planes_result *result,
                                                 struct dpot_error *error);
void base_measure_planes_release(struct base_measure_planes_result *result);

#endif
