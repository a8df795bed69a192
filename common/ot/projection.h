/* Entropic Wasserstein projection onto the LDP polytope: Algorithm 1 of 002.
 *
 *     argmin over q in Q of  min over plans P from mu to q of  <C, P> + lambda sum P log P
 *
 * Each iteration is one sweep: u = mu / (K v), s = K' u, q = Proj_Q^KL(s), v = q / s, from v = 1.
 *
 * Set up, run, free: _new allocates everything for a fixed number of rows; _run allocates nothing,
 * locks nothing, calls nothing that can fail and ALWAYS leaves q inside the bounds. Safe at any
 * lambda: up to a stated ratio (largest cost range)/lambda it sweeps a stored kernel whose row
 * minima have been taken out; above it works on potentials (log domain). Which of the two depends
 * on the public cost range and lambda only, never on mu. With `iterations` fixed there is no
 * data-dependent exit: the search for theta has a fixed number of steps in each sweep (ot/polytope.h),
 * more in the first and after the last, and no step of a sweep branches on the data.
 *
 * Total over its data: a cost that is NaN or beyond the row's smallest cost + cost_range counts as
 * that; a mu that is negative, infinite or NaN counts as 0; mu is scaled to mass one, and a mu
 * without mass counts as uniform. */
#ifndef DPOT_OT_PROJECTION_H
#define DPOT_OT_PROJECTION_H

#include "base/alloc.h"
#include "dpot/status.h"
#include "ot/polytope.h"

/* Kernel up to this (cost range)/lambda, potentials above. With v scaled to maximum 1 and held above
 * 2^-500, and K in [exp(-ratio), 1], all values and products of a sweep are 0 or within 2^+-1000 whatever
 * the data, as long as the masses of rows are 0 or above 2^-60: none is subnormal. */
#define DPOT_PROJECTION_KERNEL_RATIO 300.0

struct dpot_projection;

struct dpot_projection_config {
    size_t n_rows;     /* rows processed in every run (n_max on a device) */
    size_t n_cols;     /* output points */
    double lambda;     /* > 0, cost units */
    double cost_range; /* public bound on max C - min C, decides the domain of the sweeps; cost
                          units; >= 0, infinity for unknown (log domain) */
    const struct dpot_polytope *polytope; /* borrowed, size n_cols */
    const struct dpot_allocator *allocator;
};

struct dpot_projection_result {
    size_t iterations;
    double change; /* Hilbert-metric change of log v in the last iteration; 0 if not measured */
    int converged; /* change <= tol was reached (always 0 with tol = 0) */
};

/* Bytes that _new will allocate, for validation before anything is read; SIZE_MAX on overflow. */
size_t dpot_projection_bytes(size_t n_rows, size_t n_cols);

/* DPOT_ERR_ARGUMENT (zero sizes, lambda not positive and finite, cost_range negative or NaN, size
 * mismatch), DPOT_ERR_MEMORY.
 */
DPOT_WARN_UNUSED dpot_status dpot_projection_new(const struct dpot_projection_config *config,
                                                 struct dpot_projection **projection);
void dpot_projection_free(struct dpot_projection *projection); /* wipes: it has held device data */

/* The cost matrix to fill before a run, (n_rows, n_cols) row-major, owned by the projection. The
 * run leaves it alone. Entries that are NaN count as the largest cost. */
double *dpot_projection_cost(struct dpot_projection *projection);

/* Runs up to `iterations` sweeps. tol = 0: exactly that many (the device). tol > 0: stops once the
 * change of log v in the Hilbert seminorm over one sweep is at most tol (tools only). Rows with mu
 * = 0 cost the same and change nothing. `result` may be NULL. No iteration at all leaves the
 * projection of the uniform measure in q. */
void dpot_projection_run(struct dpot_projection *projection, const double *mu /* (n_rows) */,
                         size_t iterations, double tol, double *q /* (n_cols) */,
                         struct dpot_projection_result *result);

/* For the tools: the same fixed point from coarse to fine. The first stage has the largest cost
 * range as eight times its lambda; every stage halves lambda and starts from the potentials of the
 * one before, and only the last has to meet `tol` (> 0). A small lambda from a cold start may need
 * ten times the sweeps. `iterations` bounds the sweeps of all stages together and
 * result->iterations counts them. */
void dpot_projection_run_scaled(struct dpot_projection *projection, const double *mu /* (n_rows) */,
                                size_t iterations, double tol, double *q /* (n_cols) */,
                                struct dpot_projection_result *result);

/* For the tools: <C, P> of a plan P from mu (mass one) to the q of the last run, so never below the
 * exact transport cost of the two, however few sweeps there were. The plan of the last sweep has
 * column sums q but meets the rows only in the limit; it is rounded to both (Altschuler, Weed and
 * Rigollet 2017, Algorithm 2). `residual`, which may be NULL, gets the L1 distance of its row sums
 * from mu before that: in [0, 2], 1 without a sweep. Where the polytope is empty there is no such plan: an estimate.
 * Takes two passes over the matrix, no memory, and may be called again. */
double dpot_projection_transport_cost(struct dpot_projection *projection, double *residual);

#endif
