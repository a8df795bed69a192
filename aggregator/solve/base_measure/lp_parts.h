/* What the two files of solve/base_measure/lp.h share: the program's state, and its basis.
 *
 * Columns are numbered: a slack for every point, u, v, then the cuts. */
#ifndef DPOT_SOLVE_BASE_MEASURE_LP_PARTS_H
#define DPOT_SOLVE_BASE_MEASURE_LP_PARTS_H

#include "solve/base_measure/lp.h"

#define BASE_MEASURE_LP_CANDIDATES 48 /* cuts priced between two looks at all of them */

struct base_measure_lp {
    size_t n_points, n_groups, n; /* n = n_points + n_groups rows */
    double mass_min, mass_max, perturbation;
    double *rhs;         /* (n) */
    double *inverse;     /* (n, n) of the basis, row-major */
    double *basic;       /* (n) values of the basic columns */
    double *multipliers; /* (n) x, then t */
    double *column;      /* (n) of the entering column, as it is */
    double *direction;   /* (n) inverse times column */
    size_t *basis;       /* (n) column of each row */
    bool *is_pivoted;    /* (n) scratch of the refactoring */

    size_t n_cuts, cap_cuts;
    double *gradients; /* (cap_cuts, n_points) */
    double *offsets;   /* (cap_cuts) */
    double *norms;     /* (cap_cuts) sqrt(1 + |gradient|^2) */
    size_t *groups;    /* (cap_cuts) */
    double *reduced;   /* (cap_cuts) scratch of the pricing */
    size_t n_candidates;
    size_t candidates[BASE_MEASURE_LP_CANDIDATES];

    bool has_basis;
    size_t n_steps, n_since_refactor;
    uint64_t random;
    const struct dpot_linalg *linalg;
    const struct dpot_allocator *allocator;
};

/* What a column is worth. */
double lp_basis_objective(const struct base_measure_lp *lp, size_t column);

/* A feasible basis to start from: false when it is singular. */
bool lp_basis_start(struct base_measure_lp *lp);

/* The inverse times a column, into lp->direction. */
void lp_basis_direction(struct base_measure_lp *lp, size_t column);

/* The column of lp->direction takes the place of a row's. */
void lp_basis_pivot(struct base_measure_lp *lp, size_t row);

/* The inverse anew from the columns: false when the basis has become singular. */
bool lp_basis_refactor(struct base_measure_lp *lp);

#endif
