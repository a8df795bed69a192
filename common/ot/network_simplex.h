/* Exact optimal transport between two finite measures: the network simplex method on the complete
 * bipartite graph (Bonneel et al. 2011 use the same method). Not part of the device library. */
#ifndef DPOT_OT_NETWORK_SIMPLEX_H
#define DPOT_OT_NETWORK_SIMPLEX_H

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct dpot_exact_plan_entry {
    uint32_t row;
    uint32_t col;
    double mass;
};

struct dpot_exact_result {
    double transport_cost; /* <C, P> of an optimal plan */
    double dual;           /* sum a f + sum b g of the feasible potentials below: a lower bound */
    size_t pivots;
    size_t n_entries; /* positive entries of the plan, <= n_rows + n_cols - 1 */
    struct dpot_exact_plan_entry *entries; /* owned */
    double *f;                             /* (n_rows) potentials with f_i + g_j <= C_ij; owned */
    double *g;                             /* (n_cols) owned */
    size_t n_rows, n_cols;
    const struct dpot_allocator *allocator;
};

/* Solves min <C, P>, P 1 = a, P' 1 = b, P >= 0. a and b are nonnegative, finite and of equal mass
 * (up to 1e-9 relative; b is scaled to a's). Zero masses are allowed and get feasible potentials
 * too. DPOT_ERR_RANGE names a bad entry, DPOT_ERR_SHAPE empty measures or unequal mass,
 * DPOT_ERR_MEMORY. It terminates: pivots follow a rule that cannot cycle. */
DPOT_WARN_UNUSED dpot_status dpot_exact_ot(const double *cost /* (n_rows, n_cols) */,
                                           const double *a /* (n_rows) */,
                                           const double *b /* (n_cols) */, size_t n_rows,
                                           size_t n_cols, const struct dpot_allocator *allocator,
                                           struct dpot_exact_result *result,
                                           struct dpot_error *error);
void dpot_exact_result_release(struct dpot_exact_result *result);

/* The exact Wasserstein projection of mu onto the polytope (002, section 4 and Appendix I):
 * minimises the transport cost from mu over q in [lower, upper], sum q = 1, as one minimum cost
 * flow. q is always inside the bounds. DPOT_ERR_INFEASIBLE when sum lower > 1 or sum upper < 1
 * (beyond 1e-9). */
DPOT_WARN_UNUSED dpot_status
dpot_exact_projection(const double *cost /* (n_rows, n_cols) */, const double *mu /* (n_rows) */,
                      const double *lower /* (n_cols) */, const double *upper /* (n_cols) */,
                      size_t n_rows, size_t n_cols, const struct dpot_allocator *allocator,
                      double *q /* (n_cols) */, double *transport_cost, struct dpot_error *error);

#endif
