/* Least-cost flow from many rows to few equal columns, in integers: successive shortest paths over the
 * columns alone (Ahuja, Magnanti and Orlin 1993, section 9.7). A row moves from column j to k for
 * C_ik - C_ij; heaps hold the cheapest move of every pair, so that a path costs m^2 steps at most, whatever
 * n is. No floating point. */
#ifndef DPOT_CENTRAL_INTEGER_FLOW_H
#define DPOT_CENTRAL_INTEGER_FLOW_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define INTEGER_FLOW_COST_MAX ((int64_t)1 << 58)

/* cost (n, m) 0 .. INTEGER_FLOW_COST_MAX, supply (n) >= 1 of sum m capacity, capacity >= 1 of each column.
 * flow (n, m) is filled, and potentials g (m): C_ij - g_j is least in i where there is flow. The sum of
 * supplies is below 2^62. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status integer_flow_solve(const int64_t *cost, const int64_t *supply,
                                                size_t n, size_t m, int64_t capacity, int64_t *flow,
                                                int64_t *g);

#endif
