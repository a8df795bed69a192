/* Minimum-cost flow from many rows to few columns of equal capacity, in integers: successive
 * shortest paths over the columns alone (Ahuja, Magnanti and Orlin 1993, section 9.7). Moving a row
 * from column j to k costs C_ik - C_ij; heaps hold the cheapest move of each pair of columns, so a
 * path costs at most m^2 steps for any n. No floating point. */
#ifndef DPOT_CENTRAL_INTEGER_FLOW_H
#define DPOT_CENTRAL_INTEGER_FLOW_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define INTEGER_FLOW_COST_MAX ((int64_t)1 << 58)

/* Fills flow (n, m) and the potentials g (m): where there is flow, C_ij - g_j is the least of its
 * row.
 * cost (n, m): 0 .. INTEGER_FLOW_COST_MAX. supply (n): at least 1, sum m capacity, below 2^62.
 * capacity: at least 1, of each column. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status integer_flow_solve(const int64_t *cost, const int64_t *supply,
                                                size_t n, size_t m, int64_t capacity, int64_t *flow,
                                                int64_t *g);

#endif
