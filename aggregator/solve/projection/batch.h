/* Entropic projections onto the LDP polytope for many users at once: the sweeps of ot/projection.h
 * (002, Algorithm 1), u = mu / (K v), s = K' u, q = Proj_Q^KL(s), v = q / s from v = 1, with one
 * kernel for all users and matrix-matrix products.
 *
 *     struct projection_batch *batch;
 *     projection_batch_new(&config, &batch, &error);
 *     projection_batch_run(batch, mu, n_users, false, q, results);    any number of times
 *     projection_batch_free(batch);
 *
 * A cost that is a sum over the axes of two grids, C(i, j) = sum_d C_d(i_d, j_d) (squared Euclidean
 * or l1 distance on grids), is given by axis: K is then a Kronecker product, and a sweep takes k
 * (k_1 + k_2 + ...) operations instead of k^2.
 *
 * q equals that of a single projection up to 1e-10 (float64, a fixed number of sweeps). The last
 * sweep of every run is float64 and ends with dpot_polytope_project_kl_linear, so q is always
 * inside its bounds. A user whose sums leave the floating-point range (float32: below 1e-30; rare,
 * sparse measures) is skipped and flagged is_lost: project that user alone. Results do not depend
 * on the number of threads. Not thread-safe. */
#ifndef DPOT_SOLVE_PROJECTION_BATCH_H
#define DPOT_SOLVE_PROJECTION_BATCH_H

#include "base/error.h"
#include "ot/polytope.h"
#include "solve/run/team.h"

#include <stdbool.h>

/* Largest (sum over axes of the widest row) / lambda; ot/projection.h uses logarithms above it. */
#define PROJECTION_BATCH_RATIO 500.0
#define PROJECTION_BATCH_AXES 3

/* Input and output points of a separable cost are grids, row-major, first axis slowest; any cost is
 * one axis with all points. */
struct projection_batch_axis {
    size_t n_rows, n_cols;
    const double *cost; /* (n_rows, n_cols) finite; borrowed by _new only */
};

/* A cost matrix split into axes: two if it is a sum over two factors of the points (checked on
 * every entry, to 1e-13 of the largest cost), otherwise the matrix itself. */
struct projection_batch_split {
    size_t n_axes;
    struct projection_batch_axis axes[PROJECTION_BATCH_AXES];
    double *owned;
    size_t n_owned;
};

/* cost (n_rows, n_cols) is finite and borrowed. Chooses the cheapest of all splits.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status projection_batch_split(const double *cost, size_t n_rows,
                                                    size_t n_cols,
                                                    struct projection_batch_split *split);
void projection_batch_split_release(struct projection_batch_split *split);

struct projection_batch_config {
    size_t n_axes; /* 1 to PROJECTION_BATCH_AXES */
    struct projection_batch_axis axes[PROJECTION_BATCH_AXES];
    double lambda;     /* > 0, cost units */
    size_t iterations; /* with tol = 0 exactly that many, otherwise the limit over all stages */
    double tol;        /* change of log v over one sweep (Hilbert seminorm); coarse to fine, as
                          dpot_projection_run_scaled; 0: a fixed number of sweeps, from v = 1 */
    bool is_float32;   /* sweep in float32; with tol = 0 only */
    const struct dpot_polytope *polytope; /* borrowed, size: the product of n_cols */
    struct team *team;                    /* borrowed; NULL: one thread */
};

struct projection_batch_result {
    size_t iterations;
    double change; /* of the last measured sweep; 0 with tol = 0 */
    bool is_converged, is_lost;
    double transport_cost; /* <C, P> of a plan from mu to q, as dpot_projection_transport_cost */
    double residual;       /* L1 distance of the last sweep's row sums from mu, before rounding */
};

struct projection_batch;

/* DPOT_ERR_ARGUMENT (sizes, lambda, tol, float32 with tol), DPOT_ERR_RANGE (a cost is not finite,
 * or the ratio is above its limit), DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status projection_batch_new(const struct projection_batch_config *config,
                                                  struct projection_batch **batch,
                                                  struct dpot_error *error);
void projection_batch_free(struct projection_batch *batch);

/* mu (n_users, n_rows) has finite rows >= 0 of positive mass, which are scaled to mass one; q is
 * (n_users, n_cols); results has n_users entries. Rows of q of lost users are 0. With costs =
 * false, transport_cost and residual are 0 and their five products are skipped. */
void projection_batch_run(struct projection_batch *batch, const double *mu, size_t n_users,
                          bool costs, double *q, struct projection_batch_result *results);

#endif
