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
 * (up to 1e-6 relative, so that a float32 marginal meets a float64 one; b is scaled to a's). Zero
 * masses are allowed and get feasible potentials too. DPOT_ERR_RANGE names a bad entry,
 * DPOT_ERR_SHAPE empty measures or unequal mass, DPOT_ERR_TOO_LARGE more than 2^31 - 2 rows and
 * columns together, DPOT_ERR_MEMORY. On failure `result` is zeroed.
 *
 * Masses are carried in integer units of 2^-61 of the total (what is below half a unit is zero), so
 * flows and their ties are exact, and it terminates: pivots follow a rule that cannot cycle
 * (strongly feasible trees, Cunningham 1976). Exactness is proved by `dual`: transport_cost - dual
 * is a few units in the last place of the potentials times the mass. Memory beside the cost: about
 * 80 bytes a row and column. */
DPOT_WARN_UNUSED dpot_status dpot_exact_ot(const double *cost /* (n_rows, n_cols) */,
                                           const double *a /* (n_rows) */,
                                           const double *b /* (n_cols) */, size_t n_rows,
                                           size_t n_cols, const struct dpot_allocator *allocator,
                                           struct dpot_exact_result *result,
                                           struct dpot_error *error);
void dpot_exact_result_release(struct dpot_exact_result *result);

/* A sequence of problems with the same masses and changing costs: each solve starts from the plan
 * of the one before, which is feasible, so that small changes cost little. Which of several optimal
 * plans comes out depends on that history.
 *
 *     dpot_exact_sequence_new(a, b, n_rows, n_cols, NULL, &sequence, &error);
 *     dpot_exact_sequence_solve(sequence, cost, &error);      as often as wanted
 *     dpot_exact_sequence_result(sequence)->entries           until the next solve
 *     dpot_exact_sequence_free(sequence); */
struct dpot_exact_sequence;

/* Masses and failures as for dpot_exact_ot; *sequence is NULL then. */
DPOT_WARN_UNUSED dpot_status dpot_exact_sequence_new(const double *a /* (n_rows) */,
                                                     const double *b /* (n_cols) */, size_t n_rows,
                                                     size_t n_cols,
                                                     const struct dpot_allocator *allocator,
                                                     struct dpot_exact_sequence **sequence,
                                                     struct dpot_error *error);

/* NULL is allowed. */
void dpot_exact_sequence_free(struct dpot_exact_sequence *sequence);

/* DPOT_ERR_RANGE names a bad cost: the result is that of the solve before. */
DPOT_WARN_UNUSED dpot_status dpot_exact_sequence_solve(struct dpot_exact_sequence *sequence,
                                                       const double *cost /* (n_rows, n_cols) */,
                                                       struct dpot_error *error);

/* Borrowed; of the last solve. */
const struct dpot_exact_result *
dpot_exact_sequence_result(const struct dpot_exact_sequence *sequence);

/* The exact Wasserstein projection of mu onto the polytope (002, section 4 and Appendix I):
 * minimises the transport cost from mu over q in [lower, upper], sum q = 1, as one minimum cost
 * flow: by ot/few_projection.h where few rows have mass, else by the network simplex method. mu has
 * mass one (up to 1e-6; it is scaled). q is always inside the bounds; where the optimum is not
 * unique it is one of them. DPOT_ERR_INFEASIBLE when sum lower > 1 or sum upper < 1 (beyond 1e-9);
 * otherwise as dpot_exact_ot, and a bound that is not finite, negative or above its partner is
 * DPOT_ERR_RANGE. */
DPOT_WARN_UNUSED dpot_status
dpot_exact_projection(const double *cost /* (n_rows, n_cols) */, const double *mu /* (n_rows) */,
                      const double *lower /* (n_cols) */, const double *upper /* (n_cols) */,
                      size_t n_rows, size_t n_cols, const struct dpot_allocator *allocator,
                      double *q /* (n_cols) */, double *transport_cost, struct dpot_error *error);

/* The same with the value of a dual solution, which no q in the polytope can be below:
 * transport_cost - dual is the proof, a few units in the last place of the potentials. */
DPOT_WARN_UNUSED dpot_status dpot_exact_projection_proved(
    const double *cost /* (n_rows, n_cols) */, const double *mu /* (n_rows) */,
    const double *lower /* (n_cols) */, const double *upper /* (n_cols) */, size_t n_rows,
    size_t n_cols, const struct dpot_allocator *allocator, double *q /* (n_cols) */,
    double *transport_cost, double *dual, struct dpot_error *error);

#endif
