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
 * locks nothing, calls nothing that can fail and ALWAYS leaves q inside the bounds.
 *
 * Steps. A run may take passes n_rows (n_rows + n_cols) steps; where they are spent before the best q
 * is found, it leaves the q that it has, which is in the polytope too, and says so. _burn takes what
 * is left, by the same scans of the same arrays, so that _run and _burn together take exactly as many
 * steps, whatever the costs and masses. A step is a look at a cost. In them count, with h = points
 * with mass + 1: ranking, a look for each point and column; Newton's method, 6 n_cols + h^3 / 12 a
 * step beside its ranking; an edge of the search that is scanned, its columns + 4; a hub that the
 * search takes, 3 / 2 of the hubs that are left; a path, 3 h, 5 for each of its legs, and h for each
 * column that a hub begins to hold, h / 2 for each that it no longer does. Nothing else depends on the
 * data: rounding, filling the pool and reading q are the same passes over all rows or columns.
 *
 * Total over its data: a mu that is negative, infinite or NaN counts as 0; mu is scaled to mass one,
 * and a mu without mass counts as uniform. Where the polytope is empty q is the bound that comes
 * nearest, and mu is scaled to that. */
#ifndef DPOT_OT_FEW_PROJECTION_H
#define DPOT_OT_FEW_PROJECTION_H

#include "base/alloc.h"
#include "dpot/status.h"
#include "ot/polytope.h"

#include <stddef.h>
#include <stdint.h>

#define DPOT_FEW_ROWS_MAX 64
#define DPOT_FEW_PASSES_MAX 4096
#define DPOT_FEW_COST_BITS 48 /* the largest cost, in steps of rounding */

struct dpot_few_projection;

struct dpot_few_projection_config {
    size_t n_rows; /* points of a measure, 1 to DPOT_FEW_ROWS_MAX (n_max on a device) */
    size_t n_cols; /* output points, below 2^31 */
    const struct dpot_polytope *polytope; /* borrowed, size n_cols */
    const struct dpot_allocator *allocator;
    uint32_t passes; /* over the costs, 1 to DPOT_FEW_PASSES_MAX */
};

struct dpot_few_projection_result {
    size_t paths;   /* that were augmented */
    uint64_t steps; /* that were taken */
    int is_exact;   /* 0: the steps were spent first; q is feasible, not the best */
};

/* Bytes that _new will allocate, for validation before anything is read; SIZE_MAX on overflow. */
size_t dpot_few_projection_bytes(size_t n_rows, size_t n_cols);

/* DPOT_ERR_ARGUMENT (sizes, passes, polytope of another size or with bounds that are not finite with
 * 0 <= lower <= upper), DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_few_projection_new(
    const struct dpot_few_projection_config *config, struct dpot_few_projection **projection);
void dpot_few_projection_free(struct dpot_few_projection *projection); /* wipes */

/* Costs are integers, so that ties stay ties and every processor ends at the same q: `scale` is the
 * power of two that takes `largest` to at most 2^bits, and costs are cost 2^scale, rounded. Negative
 * and subnormal count as 0; NaN and what is beyond 2^DPOT_FEW_COST_BITS as that. */
int dpot_few_projection_scale(double largest, int bits);
int64_t dpot_few_projection_round(double cost, int scale);

/* The matrix of rounded costs to fill before a run, (n_rows, n_cols) row-major, owned by the
 * projection. A run leaves it alone. */
int64_t *dpot_few_projection_cost(struct dpot_few_projection *projection);

/* `result` may be NULL. */
void dpot_few_projection_run(struct dpot_few_projection *projection,
                             const double *mu /* (n_rows) */, double *q /* (n_cols) */,
                             struct dpot_few_projection_result *result);

/* Takes the steps that the run before left over, and forgets its plan; returns all that were taken,
 * always passes n_rows (n_rows + n_cols). */
uint64_t dpot_few_projection_burn(struct dpot_few_projection *projection);

/* After an exact run, in the n_rows rows of costs that round(cost - lowest, scale) came from:
 * what its plan from mu to q pays, and a lower bound on what any q in the polytope does, from
 * potentials. They differ by at most what rounding changed. */
double dpot_few_projection_plan_cost(const struct dpot_few_projection *projection,
                                     const double *const *rows);
double dpot_few_projection_dual(const struct dpot_few_projection *projection,
                                const double *const *rows, double lowest, int scale);

#endif
