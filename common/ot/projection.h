/* Entropic Wasserstein projection onto the LDP polytope: Algorithm 1 of 002.
 *
 *     argmin over q in Q of  min over plans P from mu to q of  <C, P> + lambda sum P log P
 *
 * Each iteration is one sweep: u = mu / (K v), s = K' u, q = Proj_Q^KL(s), v = q / s, from v = 1.
 *
 * _new allocates everything for a fixed number of rows. _run allocates nothing, locks nothing,
 * calls nothing that can fail and ALWAYS leaves q inside the bounds. Any lambda is safe: up to
 * cost_range / lambda = DPOT_PROJECTION_KERNEL_RATIO it sweeps a stored kernel without its row
 * minima, above it works on potentials (log domain). The choice depends on the public cost_range
 * and lambda only. With `iterations` fixed there is no data-dependent exit: the search for theta
 * takes a fixed number of steps in each sweep (ot/polytope.h), more in the first and after the
 * last, and no step of a sweep branches on the data.
 *
 * Total over its data: a cost that is NaN, or above the row's smallest cost + cost_range, counts as
 * that sum; a mu that is negative, infinite or NaN counts as 0; mu is scaled to mass one; a mu
 * without mass counts as uniform. */
#ifndef DPOT_OT_PROJECTION_H
#define DPOT_OT_PROJECTION_H

#include "base/alloc.h"
#include "dpot/status.h"
#include "ot/polytope.h"

/* The largest cost_range / lambda for a stored kernel. With v scaled to maximum 1 and kept above
 * 2^-500, and K in [exp(-ratio), 1], all values and products of a sweep are 0 or within 2^+-1000
 * for all data, if row masses are 0 or above 2^-60: none is subnormal. */
#define DPOT_PROJECTION_KERNEL_RATIO 300.0

struct dpot_projection;

struct dpot_projection_config {
    size_t n_rows;     /* rows that every run processes (n_max on a device) */
    size_t n_cols;     /* output points */
    double lambda;     /* > 0, cost units */
    double cost_range; /* public bound on max C - min C, >= 0; infinity: unknown (log domain) */
    const struct dpot_polytope *polytope; /* borrowed, size n_cols */
    const struct dpot_allocator *allocator;
};

struct dpot_projection_result {
    size_t iterations;
    double change; /* of log v in the last iteration, Hilbert metric; 0 if not measured */
    int converged; /* change <= tol (always 0 with tol = 0) */
};

/* Bytes that _new allocates, for validation; SIZE_MAX on overflow. */
size_t dpot_projection_bytes(size_t n_rows, size_t n_cols);

/* DPOT_ERR_ARGUMENT: a size of 0, lambda not positive and finite, cost_range negative or NaN, a
 * polytope of another size. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_projection_new(const struct dpot_projection_config *config,
                                                 struct dpot_projection **projection);
void dpot_projection_free(struct dpot_projection *projection); /* wipes: it has held device data */

/* The costs (n_rows, n_cols), row-major, to fill before a run, which does not change them. Owned by
 * the projection. */
double *dpot_projection_cost(struct dpot_projection *projection);

/* Runs `iterations` sweeps (0: q is the projection of the uniform measure); with tol > 0 (tools
 * only) it stops once the change of log v over one sweep is at most tol. Rows with mu = 0 take the
 * same time and change nothing. `result` may be NULL. */
void dpot_projection_run(struct dpot_projection *projection, const double *mu /* (n_rows) */,
                         size_t iterations, double tol, double *q /* (n_cols) */,
                         struct dpot_projection_result *result);

/* For tools: the same fixed point from coarse to fine, in up to ten times fewer sweeps for small
 * lambda. The first stage has cost range / lambda = 8; every stage halves lambda and starts from
 * the last potentials, and only the final one has to meet `tol` (> 0). `iterations` bounds the
 * sweeps of all stages together; result->iterations counts them. */
void dpot_projection_run_scaled(struct dpot_projection *projection, const double *mu /* (n_rows) */,
                                size_t iterations, double tol, double *q /* (n_cols) */,
                                struct dpot_projection_result *result);

/* For tools: <C, P> of a plan P from mu (mass one) to the q of the last run, an upper bound on
 * their exact transport cost. The plan of the last sweep has column sums q, but its row sums
 * converge only in the limit; it is rounded to both (Altschuler, Weed and Rigollet 2017, Algorithm
 * 2). *residual, unless NULL, is the L1 distance of the row sums from mu before rounding: in [0,
 * 2], 1 without a sweep. If the polytope is empty, there is no such plan, and the result is an
 * estimate. Two passes over the matrix, no memory. */
double dpot_projection_transport_cost(struct dpot_projection *projection, double *residual);

#endif
