/* Deconvolution: where the data of a pool were before noise was added, without a network.
 *
 * The reports y_1 .. y_n are x + noise, and the law of the noise is known (mechanism/noise_density.h).
 * The answer is a mixing measure, weights w on support points x_1 .. x_m of the domain, that maximises
 *
 *   L(x, w) = sum_i ln f(y_i),      f(y) = sum_l w_l P[y | x_l].
 *
 * That is entropic projection with lambda 1 and cost -ln P (Rigollet, Weed 2018; 004, Corollaries 1 and
 * 2), and one of its sweeps is one step of EM:
 *
 *   q_il  = w_l P[y_i | x_l] / f(y_i)                who may have sent y_i
 *   w_l   = (1/n) sum_i q_il
 *   x_l   = argmax_x sum_i q_il ln P[y_i | x]        only when points move: the mean of y (Gaussian) or its
 *                                                    median by coordinate (Laplace), weighted with q_il,
 *                                                    then the nearest point of the domain
 *
 * L never falls. A step of weights alone cannot lower it; moved points that do (possible where a median
 * was put back into a ball) are taken back by halves, and by the sixth half entirely.
 *
 * Stopping is part of the method. The maximum itself is a few spikes that fit the noise of the sample;
 * steps taken early find what is really there. So steps are the plain ones, not accelerated, and they
 * end when L gains less than `tol` nats a step (DECONVOLVE_TOL), but not before `min_iterations`.
 *
 * Pools are binned where that loses next to nothing, in up to three dimensions when the domain is not too
 * wide for the noise: cells of a quarter to half of the scale, whole outputs of the grid, and all beyond
 * 6.5 (Gaussian) or 12 to 14 (Laplace) scales outside the domain in the outermost ones. The law of a cell is
 * the integral, so the likelihood is that of the binned pool, and the size of the pool does not matter.
 * Otherwise every report counts by itself, in O(n m dim) a step.
 *
 * Only post-processing of private reports: it costs no privacy. Float64; the result does not depend on
 * the number of threads. */
#ifndef DPOT_SOLVE_ESTIMATE_DECONVOLVE_H
#define DPOT_SOLVE_ESTIMATE_DECONVOLVE_H

#include "base/error.h"
#include "mechanism/noise_density.h"
#include "ot/linalg.h"
#include "solve/run/control.h"
#include "solve/run/team.h"

#define DECONVOLVE_SUPPORT_MAX 65536
#define DECONVOLVE_GRID_DIM_MAX 8
#define DECONVOLVE_ITERATIONS_MAX 1000000
#define DECONVOLVE_TOL 0.01 /* nats a step, of the whole pool */
#define DECONVOLVE_MIN_ITERATIONS 50
#define DECONVOLVE_MAX_ITERATIONS 5000

/* Where data can be: a box, and within it a ball around 0 when a radius is above 0. */
struct deconvolve_domain {
    const double *lo, *hi; /* (dim) borrowed, lo <= hi */
    double l1_radius, l2_radius;
};

/* Puts x (dim) at the nearest point of the box, and of the ball when the box holds it. */
void deconvolve_clamp(const struct deconvolve_domain *domain, size_t dim, double *x);

/* m points spread evenly over the domain: where a free support starts. No data are looked at. The
 * same for the same seed; the sequence of Roberts in up to 8 dimensions, independent points beyond. */
void deconvolve_spread(const struct deconvolve_domain *domain, size_t dim, size_t m, uint64_t seed,
                       double *points /* (m, dim) */);

/* The cell centres of the box cut into shape[0] x .. x shape[dim-1] cells, first coordinate slowest,
 * that are inside the ball; how many. `points` NULL: only counts. dim <= DECONVOLVE_GRID_DIM_MAX, and the
 * product of the shape must fit a size_t. */
size_t deconvolve_grid(const struct deconvolve_domain *domain, size_t dim, const uint32_t *shape,
                       double *points);

struct deconvolve_config {
    const struct dpot_noise_density *density; /* borrowed */
    size_t n, dim;
    const double *pool; /* (n, dim) borrowed until _free */
    struct deconvolve_domain domain;
    size_t support_size;   /* m */
    const double *support; /* (m, dim) where it starts; borrowed until _free, put into the domain */
    bool moves;            /* points move; else only weights */
    size_t min_iterations, max_iterations;
    double tol;                       /* nats; 0: all iterations */
    const struct dpot_linalg *linalg; /* borrowed */
    struct team *team;                /* borrowed; NULL: one thread */
    const struct dpot_allocator *allocator;
};

struct deconvolve_result {
    const double *support; /* (m, dim) */
    const double *weights; /* (m) sum 1 */
    double log_likelihood; /* L, nats; of the binned pool where n_cells > 0 */
    double gain;           /* of the last step */
    const double *curve;   /* (iterations + 1) L before the first step and after each */
    size_t iterations;
    enum solve_outcome outcome;
    size_t n_cells;    /* 0: reports count by themselves */
    size_t n_occupied; /* cells with reports */
    size_t n_beyond;   /* reports farther outside the domain than noise reaches but once in 10^5 */
};

struct deconvolve;

/* DPOT_ERR_RANGE, DPOT_ERR_SHAPE with a sentence: numbers that are not finite, an empty pool, a domain
 * without points, sizes out of range. DPOT_ERR_MEMORY. *solver is NULL on failure. */
DPOT_WARN_UNUSED dpot_status deconvolve_new(const struct deconvolve_config *config,
                                            struct deconvolve **solver, struct dpot_error *error);
void deconvolve_free(struct deconvolve *solver); /* NULL is allowed */

/* Runs from the start; again gives the same. A run that is stopped has the result of its last step.
 * Pointers of the result belong to the solver. `control` may be NULL. Nothing is allocated. */
void deconvolve_run(struct deconvolve *solver, const struct solve_control *control,
                    struct deconvolve_result *result);

#endif
