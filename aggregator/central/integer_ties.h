/* Of all optimal transport plans the first one: a rule for ties that always decides.
 *
 * Pairs (row, column) have an order, row by row. Of the plans of least cost, integer_ties_settle
 * takes the one with the least flow in the first pair, of these the one with the least flow in the
 * second, and so on. That is the plan of least cost under C_ij + e^rank(i, j) for every small
 * enough e > 0, and there is only one: costs without ties, and a cost still depends on its pair
 * alone.
 *
 * Every optimal plan lives on the pairs that are tight under optimal potentials. Those of a tree
 * have their flow from the marginals, so that leaves are taken off first; what is left has a cycle,
 * hardly ever is there, and is small: each of its pairs in turn sends what it can on other ways, by
 * shortest augmenting paths (Edmonds and Karp 1972). All of it is 64-bit integers. */
#ifndef DPOT_CENTRAL_INTEGER_TIES_H
#define DPOT_CENTRAL_INTEGER_TIES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cost (n, m), potentials g (m), a feasible flow (n, m) of which becomes the first. *is_optimal:
 * flow is where C_ij - g_j is least in its row; if not, the flow is left alone. n + m below 2^32.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status integer_ties_settle(const int64_t *cost, const int64_t *g, size_t n,
                                                 size_t m, int64_t *flow, bool *is_optimal);

#endif
