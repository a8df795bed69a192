/* Deconvolution: estimates the distribution of a pool's data before noise was added, without a
 * network.
 *
 * The reports y_1 .. y_n are x + noise, and the law of the noise is known
 * (mechanism/noise_density.h). The answer is a mixing measure, weights w on support points x_1 ..
 * x_m of the domain, that maximises
 *
 *   L(x, w) = sum_i ln f(y_i),      f(y) = sum_l w_l P[y | x_l].
 *
 * This is entropic projection with lambda 1 and cost -ln P (Rigollet, Weed 2018; 004, Corollaries 1
 * and 2), and one of its sweeps is one step of EM:
 *
 *   q_il  = w_l P[y_i | x_l] / f(y_i)                posterior of x_l given y_i
 *   w_l   = (1/n) sum_i q_il
 *   x_l   = argmax_x sum_i q_il ln P[y_i | x]        if points move: the mean of y (Gaussian) or
 *                                                    its median by coordinate (Laplace),
 *                                                    weighted by q_il, then clamped to the domain
 *
 * L never decreases. A step of the weights alone cannot lower it. If moved points do (possible when
 * a median is clamped to a ball), the move is halved, and undone completely at the sixth halving.
 *
 * Early stopping is part of the method. The maximum overfits the noise of the sample (a few
 * spikes), while early steps recover the actual structure. So steps are not accelerated, and they
 * end when L gains less than `tol` nats per step (DECONVOLVE_TOL), but not before `min_iterations`.
 *
 * Pools are binned if that loses almost nothing: in up to three dimensions, if the domain is not
 * too wide for the noise. Cells are a quarter to half of the scale wide and contain whole grid
 * outputs; the outermost cells hold everything beyond 6.5 (Gaussian) or 12 to 14 (Laplace) scales
 * outside the domain. The law of a cell is an integral, so L is the exact likelihood of the binned
 * pool, and time does not depend on the size of the pool. Otherwise reports are processed one by
 * one, in O(n m dim) per step.
 *
 * Post-processing of private reports only: no privacy cost. Float64; results do not depend on the
 * number of threads. */
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
#define DECONVOLVE_TOL 0.01 /* nats per step, for the whole pool */
#define DECONVOLVE_MIN_ITERATIONS 50
#define DECONVOLVE_MAX_ITERATIONS 5000

/* The domain of the data: a box, intersected with a ball around 0 if a radius is > 0. */
struct deconvolve_domain {
    const double *lo, *hi; /* (dim) borrowed, lo <= hi */
    double l1_radius, l2_radius;
};

/* Moves x (dim) to the nearest point of the box, and of the ball if the box contains the ball. */
void deconvolve_clamp(const struct deconvolve_domain *domain, size_t dim, double *x);

/* m points spread evenly over the domain, as the start of a free support. Depends only on the seed,
 * not on data. Roberts' sequence in up to 8 dimensions, independent points beyond. */
void deconvolve_spread(const struct deconvolve_domain *domain, size_t dim, size_t m, uint64_t seed,
                       double *points /* (m, dim) */);

/* The cell centres of the box divided into shape[0] x .. x shape[dim-1] cells, first coordinate
 * slowest, that are inside the ball. Returns their number; `points` NULL: only counts. dim <=
 * DECONVOLVE_GRID_DIM_MAX, and the product of the shape must fit in a size_t. */
size_t deconvolve_grid(const struct deconvolve_domain *domain, size_t dim, const uint32_t *shape,
                       double *points);

struct deconvolve_config {
    const struct dpot_noise_density *density; /* borrowed */
    size_t n, dim;
    const double *pool; /* (n, dim) borrowed until _free */
    struct deconvolve_domain domain;
    size_t support_size;   /* m */
    const double *support; /* (m, dim) start, clamped to the domain; borrowed until _free */
    bool moves;            /* false: only weights change */
    size_t min_iterations, max_iterations;
    double tol;                       /* nats; 0: all iterations */
    const struct dpot_linalg *linalg; /* borrowed */
    struct team *team;                /* borrowed; NULL: one thread */
    const struct dpot_allocator *allocator;
};

struct deconvolve_result {
    const double *support; /* (m, dim) */
    const double *weights; /* (m) sum 1 */
    double log_likelihood; /* L, nats; of the binned pool if n_cells > 0 */
    double gain;           /* of the last step */
    const double *curve;   /* (iterations + 1) L before the first step and after each */
    size_t iterations;
    enum solve_outcome outcome;
    size_t n_cells;    /* 0: not binned */
    size_t n_occupied; /* cells with reports */
    size_t n_beyond;   /* reports farther outside the domain than 1 in 10^5 should be */
};

struct deconvolve;

/* DPOT_ERR_RANGE or DPOT_ERR_SHAPE with a message: numbers that are not finite, an empty pool, an
 * empty domain, sizes out of range. DPOT_ERR_MEMORY. *solver is NULL on failure. */
DPOT_WARN_UNUSED dpot_status deconvolve_new(const struct deconvolve_config *config,
                                            struct deconvolve **solver, struct dpot_error *error);
void deconvolve_free(struct deconvolve *solver); /* may be NULL */

/* Runs from the start; repeated runs give the same result. If `control` (may be NULL) stops it: the
 * result of the last step. The result's pointers are owned by the solver. Allocates nothing. */
void deconvolve_run(struct deconvolve *solver, const struct solve_control *control,
                    struct deconvolve_result *result);

#endif
