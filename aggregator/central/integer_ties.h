/* Selects the first of all optimal transport plans: a tie-breaking rule that always decides.
 *
 * Pairs (row, column) are ordered row by row. Among the plans of least cost, integer_ties_settle
 * selects the one with the least flow on the first pair, among these the one with the least flow on
 * the second, and so on. This is the unique plan of least cost under C_ij + e^rank(i, j) for every
 * small enough e > 0: costs without ties, where each cost still depends on its pair alone.
 *
 * Every optimal plan uses only pairs that are tight under optimal potentials. The flow on pairs of
 * a tree follows from the marginals, so leaves are removed first. The pairs left are on cycles;
 * there are usually none, and few otherwise. For each of them in turn, as much flow as possible is
 * moved to other paths, by shortest augmenting paths (Edmonds and Karp 1972). All arithmetic is in
 * 64-bit integers. */
#ifndef DPOT_CENTRAL_INTEGER_TIES_H
#define DPOT_CENTRAL_INTEGER_TIES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replaces a feasible flow (n, m) by the first optimal one, for cost (n, m) and potentials g (m).
 * *is_optimal: all flow is where C_ij - g_j is the least of its row; if false, flow is unchanged.
 * n + m must be below 2^32. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status integer_ties_settle(const int64_t *cost, const int64_t *g, size_t n,
                                                 size_t m, int64_t *flow, bool *is_optimal);

#endif
