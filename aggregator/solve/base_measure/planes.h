/* The best base measure by cutting planes, with the dual point that proves how near it is.
 *
 *     F(m) = (1 - worst_share) sum_u omega_u P(mu_u, m) + worst_share max_i phi_i(m)
 *
 * Every part is a maximum of tangents: one part for each group of users (solve/base_measure/crowd.h), one for the worst
 * case, which gets a tangent for every row that is above the model. A round solves the linear program over all tangents so
 * far (solve/base_measure/lp.h), proves what its weights prove, and evaluates F at its solution, or with users at
 * .7 best + .3 solution, which is steadier. phi_i is a maximum of n_cols pieces, so the worst case alone ends
 * after a handful of rounds at the optimum.
 *
 * With orbits (solve/base_measure/symmetry.h), masses are tied over them and `phi` holds one row of each orbit. Bounds found here
 * then rest on the symmetry: prove the result with solve/base_measure/certificate.h.
 *
 * The users' values are low by the temperature of their crowd. When they say that the gap is reached, it is evaluated
 * exactly; while that is larger, the crowd is cooled and the rounds go on.
 *
 * Deterministic for any number of threads; time is looked at only through the control, which should be that of the
 * crowd too (base_measure_crowd_watch). */
#ifndef DPOT_SOLVE_BASE_MEASURE_PLANES_H
#define DPOT_SOLVE_BASE_MEASURE_PLANES_H

#include "base/error.h"
#include "solve/base_measure/crowd.h"
#include "solve/base_measure/phi.h"
#include "solve/run/control.h"

#define BASE_MEASURE_ROUNDS_MAX 10000
#define BASE_MEASURE_GROUPS 70 /* of users */

struct base_measure_planes_config {
    size_t n_cols;
    double epsilon;
    double worst_share;               /* 0 to 1 */
    struct phi *phi;                  /* without weights; NULL when worst_share is 0 */
    struct base_measure_crowd *crowd; /* NULL when worst_share is 1 */
    const struct base_measure_users *users;
    const uint32_t *orbit;       /* (n_cols) numbers below n_orbits; NULL: every point for itself */
    size_t n_orbits;             /* n_cols without orbits */
    const double *const *starts; /* (n_starts) measures in M, the best guess last; at least one */
    size_t n_starts;
    double gap; /* ends when (objective - lower_bound) / objective is at most this */
    size_t max_rounds;
    const struct dpot_linalg *linalg;
    const struct dpot_allocator *allocator;
};

struct base_measure_planes_result {
    double *base_measure; /* (n_cols) */
    double
        objective; /* as evaluated: with a crowd low by its temperature, but exact when converged;
                      infinite when the run was stopped before the last start was evaluated */
    double lower_bound; /* proved by the next three, up to rounding */
    double *w, *y;      /* (phi rows) of the worst case, sum worst_share; NULL without */
    double *potentials; /* (points of all users); NULL without */
    double relative_gap;
    size_t rounds, n_cuts, n_lp_steps;
    enum solve_outcome outcome;
    size_t n_cols, n_rows, n_points; /* of the arrays */
    const struct dpot_allocator *allocator;
};

/* DPOT_ERR_TOO_LARGE, with a sentence: too many orbits for the linear program (BASE_MEASURE_LP_ROWS_MAX).
 * DPOT_ERR_MEMORY. On failure the result is zeroed. A run that is stopped has what it reached. */
DPOT_WARN_UNUSED dpot_status base_measure_planes(const struct base_measure_planes_config *config,
                                                 const struct solve_control *control,
                                                 struct base_measure_planes_result *result,
                                                 struct dpot_error *error);
void base_measure_planes_release(struct base_measure_planes_result *result);

#endif
