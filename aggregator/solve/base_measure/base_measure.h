/* Finding a base measure: the worst case certified, or the best for the users one has. What `dpot base-measure` and the
 * aggregator's job have in common.
 *
 *     F(m) = (1 - worst_share) sum_u omega_u P(mu_u, m) + worst_share max_i phi_i(m)
 *
 * Worst case alone: symmetries of the costs are found, the cutting planes run over their orbits, and the result is
 * evaluated and proved on all costs as they are (solve/base_measure/certificate.h), so that nothing rests on the
 * symmetry. Where even the orbits are too many for the linear program, mirror descent (002, Appendix G) does what it can,
 * with the bound it has.
 *
 * A deadline of the control is that of the whole: symmetries are looked for until then, and the search ends early by
 * the time that the proof of its answer will take, which is measured first. What cannot be cut short is sorting the
 * costs once, and the proof. With users, that is what each of them pays, exactly and once at least, and once more for
 * the answer where there was time to search; the time of it is measured by the first.
 *
 * With users: the best uniform measure, stochastic mirror descent from there, then cutting planes. Costs in the answer are
 * exact projections, and its bound is proved in the same way. */
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
#define BASE_MEASURE_COST_RANGE 1e12 /* the largest cost by symmetry_typical_cost */

struct base_measure_problem {
    size_t n_rows, n_cols;
    const double *cost; /* (n_rows, n_cols) borrowed */
    double epsilon;
    const struct base_measure_users
        *users;         /* of the same cost and epsilon; NULL: worst case alone */
    double worst_share; /* 0 to 1; 1 without users */
    double
        uniform_share; /* of the best uniform measure for the users, mixed into the answer; 0 to 1 */
    bool has_planes;   /* otherwise descent alone, or with 0 steps the best uniform measure */
    double gap;
    size_t max_rounds; /* of the planes; of mirror descent where it takes their place */
    size_t n_steps;    /* of the descent; SIZE_MAX: the usual number */
    size_t
        n_reported; /* users for whom a report (solve/base_measure/report.h) will follow: a deadline leaves
                          the time for it */
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
    double lower_bound;  /* of F; 0 says only that costs are not negative */
    double *w, *y;       /* (n_rows) dual point of the worst case; w sums to worst_share */
    double *potentials;  /* (n_points) of the users */
    bool has_proof;      /* of a bound above 0 */
    size_t rounds, n_steps, n_cuts;
    size_t n_row_orbits, n_col_orbits; /* as many as rows and columns: no symmetry was used */
    double deviation;                  /* of costs that symmetry takes as equal */
    bool is_descent_only;              /* too large for the planes */
    enum solve_outcome
        outcome; /* converged: with planes, that objective and lower_bound have the gap */
};

/* Refuses before any work (DPOT_ERR_RANGE) costs whose largest is more than BASE_MEASURE_COST_RANGE times what is
 * typical: barriers. Other statuses as of the parts. On failure the answer is zeroed. */
DPOT_WARN_UNUSED dpot_status base_measure_find(const struct base_measure_problem *problem,
                                               const struct solve_control *control,
                                               struct base_measure_answer *answer,
                                               struct dpot_error *error);
void base_measure_answer_release(struct base_measure_answer *answer);

#endif
