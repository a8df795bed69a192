/* Finds a base measure: certified for the worst case, or the best one for given users. Shared by
 * `dpot base-measure` and the aggregator's job.
 *
 *     F(m) = (1 - worst_share) sum_u omega_u P(mu_u, m) + worst_share max_i phi_i(m)
 *
 * Worst case alone: finds the symmetries of the costs, runs the cutting planes over their orbits,
 * then evaluates and certifies the result on the original costs (solve/base_measure/certificate.h),
 * so that correctness does not depend on the symmetry. If even the orbits are too many for the
 * linear program, mirror descent (002, Appendix G) runs instead, with the bound that it finds.
 *
 * With users: starts at the best uniform measure, runs stochastic mirror descent, then cutting
 * planes. Costs in the answer are exact projections; the bound is certified in the same way.
 *
 * By the exact objective the answer is never worse than the best uniform measure, where every
 * search starts (with uniform_share 0).
 *
 * A deadline of the control covers the whole call. The time of the certificate is measured first
 * and reserved, and the search stops early by that much. Two steps cannot be interrupted: sorting
 * the costs, and the certificate. With users, the certificate evaluates every user exactly, at
 * least once (for the start; its time is the measure for the rest), and twice more after a search:
 * for the best uniform measure and for the answer. */
#ifndef DPOT_SOLVE_BASE_MEASURE_BASE_MEASURE_H
#define DPOT_SOLVE_BASE_MEASURE_BASE_MEASURE_H

#include "base/error.h"
#include "solve/base_measure/users.h"
#include "solve/run/control.h"
#include "solve/run/team.h"

#include "ot/linalg.h"

#include <stdbool.h>

#define BASE_MEASURE_GAP_WORST 1e-6
#define BASE_MEASURE_GAP_USERS 2e-3
#define BASE_MEASURE_COST_RANGE 1e12 /* largest cost divided by symmetry_typical_cost */

/* Output points up to which the planes take at most about 10 seconds; those that a symmetry ties
 * count once. */
#define BASE_MEASURE_QUICK_MAX ((size_t)600)

struct base_measure_problem {
    size_t n_rows, n_cols;
    const double *cost; /* (n_rows, n_cols) borrowed */
    double epsilon;
    const struct base_measure_users *users; /* same cost and epsilon; NULL: worst case alone */
    double worst_share;                     /* 0 to 1; 1 without users */
    double uniform_share; /* 0 to 1: weight of the users' best uniform measure in the answer */
    bool has_planes;      /* false: descent alone; with n_steps 0 the best uniform measure */
    double gap;           /* relative; the search ends there */
    size_t max_rounds;    /* of the planes, or of mirror descent in their place */
    size_t n_steps;       /* of the descent; SIZE_MAX: default */
    size_t n_reported; /* users of a later base_measure_report; a deadline reserves time for it */
    uint64_t seed;
    struct team *team; /* may be NULL */
    const struct dpot_linalg *linalg;
};

struct base_measure_answer {
    size_t n_rows, n_cols, n_points;
    double *base_measure; /* (n_cols) */
    double total_mass;
    double uniform_mass; /* total mass of the best uniform measure for the users; 0 without */
    double objective;    /* F, exactly */
    double worst_case;   /* max_i phi_i */
    double lower_bound;  /* of F; 0 is trivial: costs are not negative */
    double *w, *y;       /* (n_rows) dual point of the worst case; w sums to worst_share */
    double *potentials;  /* (n_points) of the users */
    bool has_proof;      /* w, y and potentials prove a bound above 0 */
    size_t rounds, n_steps, n_cuts;
    size_t n_row_orbits, n_col_orbits; /* n_rows and n_cols: no symmetry was used */
    double deviation;                  /* largest difference of two costs taken as equal */
    bool is_descent_only;              /* the problem was too large for the planes */
    enum solve_outcome outcome; /* converged: with planes, objective and lower_bound meet the gap */
};

/* DPOT_ERR_RANGE, before any work: the largest cost exceeds BASE_MEASURE_COST_RANGE times the
 * typical one (costs used as barriers). Other statuses are those of the parts. On failure the
 * answer is zeroed. */
DPOT_WARN_UNUSED dpot_status base_measure_find(const struct base_measure_problem *problem,
                                               const struct solve_control *control,
                                               struct base_measure_answer *answer,
                                               struct dpot_error *error);
void base_measure_answer_release(struct base_measure_answer *answer);

/* Whether the planes suit a problem that names no method: its costs are in range, and it has at
 * most BASE_MEASURE_QUICK_MAX output points. has_planes and later members are not read.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status base_measure_is_quick(const struct base_measure_problem *problem,
                                                   const struct solve_control *control,
                                                   bool *is_quick);

#endif
