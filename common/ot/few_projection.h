/* The exact Wasserstein projection of a measure with few points, the usual case on a device:
 *
 *     argmin over q in [lower, upper], sum q = 1, of the transport cost from mu to q
 *
 * unregularized (002, section 4), for up to DPOT_FEW_ROWS_MAX points and any number of outputs. One
 * point has a closed form, a fractional knapsack: the cheapest outputs get their upper bound until
 * the mass is used up. More points start from potentials that nearly fit and finish by shortest
 * augmenting paths between the points (ot/few_parts.h). Needs neither BLAS nor any library but the
 * C library.
 *
 * _new allocates everything for a fixed number of rows, in one block. _run allocates nothing, locks
 * nothing, calls nothing that can fail and ALWAYS leaves q inside the bounds.
 *
 * Steps. A run may take passes n_rows (n_rows + n_cols) steps. If they run out before the optimum,
 * q is the current one, which is in the polytope too, and is_exact is 0. _burn takes the remaining
 * steps by the same scans of the same arrays, so that _run and _burn together take the same number
 * of steps for all costs and masses. A step is the work of reading one cost. With h = points with
 * mass + 1:
 *   ranking             1 per point and column
 *   Newton's method     6 n_cols + h^3 / 12 per step, and a ranking
 *   search              per scanned edge its columns + 4; per hub taken 3 / 2 of the remaining hubs
 *   augmenting          3 h per path, 5 per leg, h per column that a hub begins to hold, h / 2 per
 *                       column that it no longer holds
 * Nothing else depends on the data: rounding, filling the pool and reading q are fixed passes.
 *
 * Total over its data: a mu that is negative, infinite or NaN counts as 0; mu is scaled to mass
 * one; a mu without mass counts as uniform. If the polytope is empty, q is the nearest bound and mu
 * is scaled to its mass. */
#ifndef DPOT_OT_FEW_PROJECTION_H
#define DPOT_OT_FEW_PROJECTION_H

#include "base/alloc.h"
#include "dpot/status.h"
#include "ot/polytope.h"

#include <stddef.h>
#include <stdint.h>

#define DPOT_FEW_ROWS_MAX 64
#define DPOT_FEW_PASSES_MAX 4096
#define DPOT_FEW_COST_BITS 31
#define DPOT_FEW_COST_MAX UINT32_C(0x7ffffffe) /* differences are below 2^31 - 1 */

struct dpot_few_projection;

struct dpot_few_projection_config {
    size_t n_rows;                        /* points, 1 to DPOT_FEW_ROWS_MAX (n_max on a device) */
    size_t n_cols;                        /* output points, below 2^31 */
    const struct dpot_polytope *polytope; /* borrowed, size n_cols */
    const struct dpot_allocator *allocator;
    uint32_t passes; /* 1 to DPOT_FEW_PASSES_MAX */
};

struct dpot_few_projection_result {
    size_t paths;   /* augmented */
    uint64_t steps; /* taken */
    int is_exact;   /* 0: out of steps; q is feasible but not optimal */
};

/* Bytes that _new allocates, for validation; SIZE_MAX on overflow. */
size_t dpot_few_projection_bytes(size_t n_rows, size_t n_cols);

/* DPOT_ERR_ARGUMENT: sizes, passes, or a polytope of another size or without finite 0 <= lower <=
 * upper. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_few_projection_new(
    const struct dpot_few_projection_config *config, struct dpot_few_projection **projection);
void dpot_few_projection_free(struct dpot_few_projection *projection); /* wipes */

/* Costs are integers, so that ties stay ties and every processor finds the same q: round(cost
 * 2^scale), where `scale` takes `largest` to at most 2^DPOT_FEW_COST_BITS. Negative and subnormal
 * costs count as 0; NaN and larger costs as DPOT_FEW_COST_MAX. The loss by rounding is at most one
 * step, about 2^-31 of the largest cost, for each unit of mass. */
int dpot_few_projection_scale(double largest);
uint32_t dpot_few_projection_round(double cost, int scale);

/* The rounded costs (n_rows, n_cols), row-major and at most DPOT_FEW_COST_MAX, to fill before a
 * run, which does not change them. Owned by the projection. */
uint32_t *dpot_few_projection_cost(struct dpot_few_projection *projection);

/* `result` may be NULL. */
void dpot_few_projection_run(struct dpot_few_projection *projection,
                             const double *mu /* (n_rows) */, double *q /* (n_cols) */,
                             struct dpot_few_projection_result *result);

/* Takes the remaining steps of the last run, whose plan is lost. Returns the steps of both, always
 * passes n_rows (n_rows + n_cols). */
uint64_t dpot_few_projection_burn(struct dpot_few_projection *projection);

/* After an exact run, for the unrounded cost rows (rounded was cost - lowest): the cost of the plan
 * from mu to q, and by potentials that fit it a lower bound for any q in the polytope. They are
 * equal, but for the last places, unless rounding of the costs changed the plan. */
double dpot_few_projection_plan_cost(const struct dpot_few_projection *projection,
                                     const double *const *rows);
double dpot_few_projection_dual(const struct dpot_few_projection *projection,
                                const double *const *rows, double lowest, int scale);

#endif
