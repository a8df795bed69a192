/* Internal to deconvolve*.c: the two forms of the E step, and what it gives to the M step. */
#ifndef DPOT_SOLVE_ESTIMATE_DECONVOLVE_PARTS_H
#define DPOT_SOLVE_ESTIMATE_DECONVOLVE_PARTS_H

#include "solve/estimate/deconvolve.h"

/* The work is split in this many tasks for any number of threads; results are added in order. */
#define DECONVOLVE_TASKS ((size_t)16)

/* Items first .. end - 1 of n belong to a task. */
struct deconvolve_span {
    size_t first, end;
};
struct deconvolve_span deconvolve_share(size_t n, size_t task);

struct deconvolve_sums {
    double log_likelihood;
    double *mass;   /* (m) sum_i q_il */
    double *target; /* (m, dim) argmax of the M step, not clamped; NULL if points stay */
};

/* Range of the cells outside the domain, in scales: noise is larger at most once in 10^5. */
double deconvolve_reach(const struct dpot_noise_density *density, size_t dim);

/* ---- binned pools ---- */

struct deconvolve_cells;

/* DPOT_OK with *cells NULL: the pool cannot be binned (too many dimensions or cells, or a domain so
 * wide that products of laws would underflow). */
DPOT_WARN_UNUSED dpot_status cells_new(const struct deconvolve_config *config,
                                       struct deconvolve_cells **cells);
void cells_free(struct deconvolve_cells *cells);
void cells_count(const struct deconvolve_cells *cells, size_t *n_cells, size_t *n_occupied);

/* Computes the laws of the cells for support points x (m, dim). Call before the first
 * `cells_expect` and after points move. */
void cells_place(struct deconvolve_cells *cells, const double *x);
void cells_expect(struct deconvolve_cells *cells, const double *x, const double *w,
                  struct deconvolve_sums *sums);

/* ---- unbinned pools ---- */

struct deconvolve_points;

DPOT_WARN_UNUSED dpot_status points_new(const struct deconvolve_config *config,
                                        struct deconvolve_points **points);
void points_free(struct deconvolve_points *points);
void points_expect(struct deconvolve_points *points, const double *x, const double *w,
                   struct deconvolve_sums *sums);

#endif
