/* The E step of deconvolve.h in its two forms, and what it leaves for the M step. */
#ifndef DPOT_SOLVE_ESTIMATE_DECONVOLVE_PARTS_H
#define DPOT_SOLVE_ESTIMATE_DECONVOLVE_PARTS_H

#include "solve/estimate/deconvolve.h"

/* Shares of the work, whatever the number of threads: results are added in their order. */
#define DECONVOLVE_TASKS ((size_t)16)

/* Task `task` has the items first .. end - 1 of n. */
struct deconvolve_span {
    size_t first, end;
};
struct deconvolve_span deconvolve_share(size_t n, size_t task);

struct deconvolve_sums {
    double log_likelihood;
    double *mass;   /* (m) sum_i q_il */
    double *target; /* (m, dim) the argmax of the M step, not clamped; NULL when points stay */
};

/* How many scales noise reaches, but once in 10^5 or less: the range of the cells. */
double deconvolve_reach(const struct dpot_noise_density *density, size_t dim);

/* ---- binned pools ---- */

struct deconvolve_cells;

/* *cells is NULL with DPOT_OK when the pool cannot be binned: too many dimensions or cells, or a domain so
 * wide that products of laws would underflow. */
DPOT_WARN_UNUSED dpot_status cells_new(const struct deconvolve_config *config,
                                       struct deconvolve_cells **cells);
void cells_free(struct deconvolve_cells *cells);
void cells_count(const struct deconvolve_cells *cells, size_t *n_cells, size_t *n_occupied);

/* Laws of the cells for support points x (m, dim): before the first `cells_expect` and after a move. */
void cells_place(struct deconvolve_cells *cells, const double *x);
void cells_expect(struct deconvolve_cells *cells, const double *x, const double *w,
                  struct deconvolve_sums *sums);

/* ---- reports by themselves ---- */

struct deconvolve_points;

DPOT_WARN_UNUSED dpot_status points_new(const struct deconvolve_config *config,
                                        struct deconvolve_points **points);
void points_free(struct deconvolve_points *points);
void points_expect(struct deconvolve_points *points, const double *x, const double *w,
                   struct deconvolve_sums *sums);

#endif
