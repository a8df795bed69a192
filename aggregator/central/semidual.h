/* Selects, from several public potentials, the one that transports one private sample to another:
 * the semi-dual objective of optimal transport for the squared distance, in integers (Lalanne et
 * al. 2025, section 6.1).
 *
 *     S(f) = mean of f(X) + mean of f*(Y),    f*(y) = max over the grid of <x, y> - f(x)
 *
 * is least at the potential whose gradient carries X to Y. X and Y are snapped to the cells of a
 * public grid; f and f* are tables on it. The same public baseline, the potential |x|^2 / 2 of the
 * identity map, is subtracted from every candidate. This changes no comparison and makes the
 * tables, and so the sensitivity, small; no clipping is needed.
 *
 * Claim. Tables are integers, T_x = round(unit f / n_x) and T_y = round(unit f* / n_y), and scores
 * are their exact sums over the records. `sensitivity` is the largest range of any table
 * (replace-one), or the largest sum of both ranges of a candidate (replace-pair): no score changes
 * by more between neighbours. Candidates, grid, box, n_x and n_y must be public. */
#ifndef DPOT_CENTRAL_SEMIDUAL_H
#define DPOT_CENTRAL_SEMIDUAL_H

#include "base/error.h"
#include "central/budget.h"

#define SEMIDUAL_DIM_MAX 3
#define SEMIDUAL_CELLS_MAX 65536
#define SEMIDUAL_ENTRIES_MAX ((size_t)1 << 26) /* of one table: 512 MiB */

/* The cells of a box, row-major, first coordinate slowest; points are their centres. */
struct semidual_grid {
    size_t dim;
    size_t shape[SEMIDUAL_DIM_MAX];
    const double *lo, *hi; /* (dim) borrowed */
};

size_t semidual_grid_size(const struct semidual_grid *grid);
void semidual_grid_point(const struct semidual_grid *grid, size_t cell, double *point /* (dim) */);

/* The cell that contains a point: clamped into the box, NaN counts as lo. */
size_t semidual_grid_cell(const struct semidual_grid *grid, const double *point);

/* f* on the grid, in one pass along each axis. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status semidual_conjugate(const struct semidual_grid *grid, const double *f,
                                                double *conjugate /* (size) */);

/* The gradient of a potential on the grid by finite differences, central ones in the interior. */
void semidual_gradient(const struct semidual_grid *grid, const double *f,
                       double *gradient /* (size, dim) */);

struct semidual {
    size_t n_candidates, n_cells;
    int64_t *x_table, *y_table; /* (n_candidates, n_cells) owned */
    int64_t sensitivity;        /* 1 .. CHOICE_SENSITIVITY_MAX */
    double unit;                /* score / unit is S minus the baseline's */
};

/* Builds the tables from potentials (n_candidates, size). n_x, n_y: at least 1.
 * DPOT_ERR_RANGE: an entry is not finite. DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status semidual_init(struct semidual *semidual,
                                           const struct semidual_grid *grid,
                                           const double *potentials, size_t n_candidates,
                                           size_t n_x, size_t n_y, enum adjacency adjacency,
                                           struct dpot_error *error);
void semidual_release(struct semidual *semidual);

/* PRIVATE: the scores, for records given as the number in each cell. */
void semidual_scores(const struct semidual *semidual, const int64_t *x_counts /* (n_cells) */,
                     const int64_t *y_counts, int64_t *scores /* (n_candidates) */);

#endif
