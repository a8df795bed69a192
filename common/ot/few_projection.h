/* The exact Wasserstein projection of a measure with few points, the device's usual case:
 *
 *     argmin over q in [lower, upper], sum q = 1, of the transport cost from mu to q
 *
 * without regularisation (002, section 4), for up to DPOT_FEW_ROWS_MAX points and any number of
 * outputs. One point has a closed form, a fractional knapsack: the cheapest outputs take their
 * upper bound until the mass is used up. More points start from potentials that nearly fit and end
 * by shortest augmenting paths between the points (ot/few_parts.h tells how). Needs no BLAS, and no
 * library but the C library's.
 *
 * Set up, run, free: _new allocates everything for a fixed number of rows; _run allocates nothing,
 * locks nothing, calls nothing that can fail and ALWAYS leaves q inside the bounds. Work is
 * bounded: a fixed number of passes over the costs, then at most paths_max paths (half a path a
 * node is usual, 25 where most costs tie), whose searches look at no more than looks_max costs;
 * should they not suffice, what is left is settled at any cost, in n_rows passes, and the result
 * says so. Within these bounds time depends on the data: a device sends at public slots, decoupled
 * from the run.
 *
 * Total over its data, as ot/projection.h: a cost that is NaN counts as the largest of its row, one
 * beyond +-1e200 as that; a mu that is negative, infinite or NaN counts as 0; mu is scaled to mass
 * one, and a mu without mass counts as uniform. Where the polytope is empty q is the bound that
 * comes nearest, and mu is scaled to that. */
#ifndef DPOT_OT_FEW_PROJECTION_H
#define DPOT_OT_FEW_PROJECTION_H

#include "base/alloc.h"
#include "dpot/status.h"
#include "ot/polytope.h"

#include <stddef.h>
#include <stdint.h>

#define DPOT_FEW_ROWS_MAX 64
#define DPOT_FEW_PATHS_PER_NODE 64

struct dpot_few_projection;

struct dpot_few_projection_config {
    size_t n_rows; /* points of a measure, 1 to DPOT_FEW_ROWS_MAX (n_max on a device) */
    size_t n_cols; /* output points, below 2^31 */
    const struct dpot_polytope *polytope; /* borrowed, size n_cols */
    const struct dpot_allocator *allocator;
    size_t paths_max;   /* 0: DPOT_FEW_PATHS_PER_NODE (n_rows + n_cols) */
    uint64_t looks_max; /* 0: no bound; kept up to one path, n_rows^2 n_cols looks */
};

struct dpot_few_projection_result {
    double transport_cost; /* <C, P> of a plan P from mu to q */
    double dual;           /* a lower bound on that of every q in the polytope, from potentials */
    size_t paths;          /* that were augmented */
    uint64_t looks;        /* at costs, in the search for them */
    int is_exact;          /* 0: the bound on work was met first; q is feasible, not the best */
};

/* Bytes that _new will allocate, for validation before anything is read; SIZE_MAX on overflow. */
size_t dpot_few_projection_bytes(size_t n_rows, size_t n_cols);

/* DPOT_ERR_ARGUMENT (sizes, polytope of another size or with bounds that are not finite with 0 <=
 * lower <= upper), DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_few_projection_new(
    const struct dpot_few_projection_config *config, struct dpot_few_projection **projection);
void dpot_few_projection_free(struct dpot_few_projection *projection); /* wipes */

/* The cost matrix to fill before a run, (n_rows, n_cols) row-major, owned by the projection. A run
 * replaces entries that are not finite by what they count as and leaves the others alone. */
double *dpot_few_projection_cost(struct dpot_few_projection *projection);

/* `result` may be NULL. transport_cost - dual proves how good q is: a few units in the last place
 * of the potentials when is_exact. */
void dpot_few_projection_run(struct dpot_few_projection *projection,
                             const double *mu /* (n_rows) */, double *q /* (n_cols) */,
                             struct dpot_few_projection_result *result);

#endif
