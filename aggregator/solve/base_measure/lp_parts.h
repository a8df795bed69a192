/* Internal to solve/base_measure/lp.h: its state, and the operations on its basis.
 *
 * Columns are numbered: the slacks of the points, u, v, then the cuts. */
#ifndef DPOT_SOLVE_BASE_MEASURE_LP_PARTS_H
#define DPOT_SOLVE_BASE_MEASURE_LP_PARTS_H

#include "solve/base_measure/lp.h"

#define BASE_MEASURE_LP_CANDIDATES 48 /* cuts of one full pricing that partial pricing uses */

struct base_measure_lp {
    size_t n_points, n_groups, n; /* n = n_points + n_groups rows */
    double mass_min, mass_max, perturbation;
    double *rhs;         /* (n) */
    double *inverse;     /* (n, n) of the basis, row-major */
    double *basic;       /* (n) values of the basic columns */
    double *multipliers; /* (n) x, then t */
    double *column;      /* (n) entering column */
    double *direction;   /* (n) inverse times column */
    size_t *basis;       /* (n) column of each row */
    bool *is_pivoted;    /* (n) scratch of lp_basis_refactor */

    size_t n_cuts, cap_cuts;
    double *gradients; /* (cap_cuts, n_points) */
    double *offsets;   /* (cap_cuts) */
    double *norms;     /* (cap_cuts) sqrt(1 + |gradient|^2) */
    size_t *groups;    /* (cap_cuts) */
    double *reduced;   /* (cap_cuts) scratch of pricing */
    size_t n_candidates;
    size_t candidates[BASE_MEASURE_LP_CANDIDATES];

    bool has_basis;
    size_t n_steps, n_since_refactor;
    uint64_t random;
    const struct dpot_linalg *linalg;
    const struct dpot_allocator *allocator;
};

/* Objective coefficient of a column. */
double lp_basis_objective(const struct base_measure_lp *lp, size_t column);

/* Sets up a feasible basis; false: it is singular. */
bool lp_basis_start(struct base_measure_lp *lp);

/* lp->direction = inverse times a column. */
void lp_basis_direction(struct base_measure_lp *lp, size_t column);

/* Replaces the column of a row by that of lp->direction, in the inverse. */
void lp_basis_pivot(struct base_measure_lp *lp, size_t row);

/* Recomputes the inverse from its columns; false: the basis has become singular. */
bool lp_basis_refactor(struct base_measure_lp *lp);

#endif
