/* Exact optimal transport between two finite measures, by the network simplex method on the
 * complete bipartite graph (as Bonneel et al. 2011), and the exact projection of any measure. Not
 * part of the device library. */
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
    double dual;           /* sum a f + sum b g of the potentials below: a lower bound */
    size_t pivots;
    size_t n_entries; /* positive entries of the plan, <= n_rows + n_cols - 1 */
    struct dpot_exact_plan_entry *entries; /* owned */
    double *f;                             /* (n_rows) potentials with f_i + g_j <= C_ij; owned */
    double *g;                             /* (n_cols) owned */
    size_t n_rows, n_cols;
    const struct dpot_allocator *allocator;
};

/* Solves min <C, P>, P 1 = a, P' 1 = b, P >= 0. a and b are nonnegative and finite with equal mass
 * (up to 1e-6 relative, so that float32 marginals are accepted; b is scaled to a). Zero masses are
 * allowed and get feasible potentials too. On failure `result` is zeroed:
 *   DPOT_ERR_RANGE      a bad entry
 *   DPOT_ERR_SHAPE      an empty measure, or unequal masses
 *   DPOT_ERR_TOO_LARGE  more than 2^31 - 2 rows and columns together
 *   DPOT_ERR_MEMORY
 *
 * Masses are integers in units of 2^-61 of the total (below half a unit: zero), so flows and ties
 * are exact and the pivot rule cannot cycle (strongly feasible trees, Cunningham 1976). `dual`
 * proves optimality: transport_cost - dual is a few units in the last place of the potentials times
 * the mass. Memory besides the cost: about 80 bytes per row and per column. */
DPOT_WARN_UNUSED dpot_status dpot_exact_ot(const double *cost /* (n_rows, n_cols) */,
                                           const double *a /* (n_rows) */,
                                           const double *b /* (n_cols) */, size_t n_rows,
                                           size_t n_cols, const struct dpot_allocator *allocator,
                                           struct dpot_exact_result *result,
                                           struct dpot_error *error);
void dpot_exact_result_release(struct dpot_exact_result *result);

/* A sequence of problems with the same masses and changing costs. Each solve starts from the last
 * plan, which is feasible, so that small changes take few pivots. Which of several optimal plans is
 * found depends on this history.
 *
 *     dpot_exact_sequence_new(a, b, n_rows, n_cols, NULL, &sequence, &error);
 *     dpot_exact_sequence_solve(sequence, cost, &error);      any number of times
 *     dpot_exact_sequence_result(sequence)->entries           until the next solve
 *     dpot_exact_sequence_free(sequence); */
struct dpot_exact_sequence;

/* Masses and failures as for dpot_exact_ot. On failure *sequence is NULL. */
DPOT_WARN_UNUSED dpot_status dpot_exact_sequence_new(const double *a /* (n_rows) */,
                                                     const double *b /* (n_cols) */, size_t n_rows,
                                                     size_t n_cols,
                                                     const struct dpot_allocator *allocator,
                                                     struct dpot_exact_sequence **sequence,
                                                     struct dpot_error *error);

/* NULL is allowed. */
void dpot_exact_sequence_free(struct dpot_exact_sequence *sequence);

/* DPOT_ERR_RANGE: a bad cost; the result is still that of the last solve. */
DPOT_WARN_UNUSED dpot_status dpot_exact_sequence_solve(struct dpot_exact_sequence *sequence,
                                                       const double *cost /* (n_rows, n_cols) */,
                                                       struct dpot_error *error);

/* The result of the last solve; borrowed. */
const struct dpot_exact_result *
dpot_exact_sequence_result(const struct dpot_exact_sequence *sequence);

/* The exact Wasserstein projection of mu onto the polytope (002, section 4 and Appendix I):
 * minimises the transport cost from mu over q in [lower, upper], sum q = 1, as one minimum cost
 * flow, by ot/few_projection.h if few rows have mass, else by the network simplex method. mu has
 * mass one (up to 1e-6; it is scaled). q is inside the bounds, and one of the optima.
 * DPOT_ERR_INFEASIBLE: sum lower > 1 or sum upper < 1 (beyond 1e-9). DPOT_ERR_RANGE: also for
 * bounds without finite 0 <= lower <= upper. Otherwise as dpot_exact_ot. */
DPOT_WARN_UNUSED dpot_status
dpot_exact_projection(const double *cost /* (n_rows, n_cols) */, const double *mu /* (n_rows) */,
                      const double *lower /* (n_cols) */, const double *upper /* (n_cols) */,
                      size_t n_rows, size_t n_cols, const struct dpot_allocator *allocator,
                      double *q /* (n_cols) */, double *transport_cost, struct dpot_error *error);

/* The same with the value of a dual solution, a lower bound for every q in the polytope: it proves
 * optimality up to transport_cost - dual, a few units in the last place of the potentials. */
DPOT_WARN_UNUSED dpot_status dpot_exact_projection_proved(
    const double *cost /* (n_rows, n_cols) */, const double *mu /* (n_rows) */,
    const double *lower /* (n_cols) */, const double *upper /* (n_cols) */, size_t n_rows,
    size_t n_cols, const struct dpot_allocator *allocator, double *q /* (n_cols) */,
    double *transport_cost, double *dual, struct dpot_error *error);

#endif
