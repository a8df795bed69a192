/* Internal to binned pools: state shared by deconvolve_cells.c and deconvolve_cells_step.c.
 *
 * The cells are a box of B1 x B2 x B3 (missing axes have one cell and law 1). The law of cell (a,
 * b, c) under point l is a product A1[a,l] A2[b,l] A3[c,l], so all steps are matrix products, one
 * slab a at a time:
 *
 *   F = (A2 diag(w A1[a,.])) A3'         laws of the cells of the slab
 *   R = counts / F                       (0 where a cell is empty)
 *   mass of (axis cell, l):  axis 2: A2 w A1[a,.] o (R A3),  axis 1: its column sums,
 *                            axis 3: A3 o (R' A2 w A1[a,.])
 *
 * Each row of a table A is divided by its largest entry, which cancels in R F and is added back to
 * the log-likelihood. cells_new rejects domains for which products could still underflow. */
#ifndef DPOT_SOLVE_ESTIMATE_DECONVOLVE_CELLS_H
#define DPOT_SOLVE_ESTIMATE_DECONVOLVE_CELLS_H

#include "solve/estimate/deconvolve_parts.h"

#define CELLS_AXES 3
#define CELLS_BLOCK ((size_t)64) /* rows or columns of a product */

struct cells_axis {
    size_t n_cells;
    double *edges;   /* (n_cells + 1) the outermost are infinite; NULL: missing axis */
    double *counts;  /* (n_cells) reports */
    double *law;     /* A (n_cells, m) */
    double *slope;   /* (n_cells, m) d ln P / dx; NULL unless points move */
    double *mass;    /* (n_cells, m) sum of q over the reports of the axis cell */
    double *largest; /* (n_cells) log of the largest law of the row */
};

struct deconvolve_cells {
    struct deconvolve_config config;
    size_t n_axes; /* with edges: the last n_axes of the three */
    struct cells_axis axes[CELLS_AXES];
    size_t n_cells;
    double *counts;   /* (B1, B2, B3) */
    double *ratio;    /* (B1, B2, B3) R */
    double *scratch;  /* (tasks, n_scratch) */
    size_t n_scratch; /* doubles per task */
    double log_likelihood[DECONVOLVE_TASKS];
    const double *x, *w;
    struct deconvolve_sums *sums;
};

#endif
