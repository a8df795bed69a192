/* The unique optimal transport plan of a group of records to m equal atoms, in integers.
 *
 * A cost is an integer that depends only on (value of the record, atom): the squared distance, cut
 * to INTEGER_PLAN_BASE_BITS, above the bits of a salted hash. Rows are distinct values in ascending
 * order. A row of count c supplies c m units, an atom takes `total`.
 *
 * Claim. For every group exactly one plan has least cost under these costs and, for ties, the rule
 * of integer_ties.h, whose order of pairs also depends only on (value, atom). integer_plan_solve
 * returns that plan. So ties are broken by a rule that does not depend on other records and that
 * always decides. (The hash only makes ties rare, so that the rule costs no time.) All arithmetic
 * is in 64-bit integers. */
#ifndef DPOT_CENTRAL_INTEGER_PLAN_H
#define DPOT_CENTRAL_INTEGER_PLAN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTEGER_PLAN_BASE_BITS 30
#define INTEGER_PLAN_HASH_BITS 26
#define INTEGER_PLAN_PAIRS_MAX ((size_t)1 << 27)

/* A group: at most INTEGER_PLAN_PAIRS_MAX / m distinct values, in ascending order of their
 * coordinates. */
struct integer_group {
    size_t n, dim;
    const int32_t *points; /* (n, dim) coordinates 0 .. 2^20 */
    const int64_t *counts; /* (n) >= 1 */
    int64_t total;         /* sum of counts, below 2^62 / m */
};

struct integer_plan {
    size_t n, m;
    int64_t *costs;  /* (n, m) owned */
    int64_t *flow;   /* (n, m) owned */
    int64_t *g;      /* (m) owned */
    bool is_optimal; /* checked after the solve; false: the solver is faulty */
};

/* Solves for atoms (m, dim) in the same units. Release the plan in every case.
 * bits: squared distances are below 2^bits. salt: any value, the same for all groups.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status integer_plan_solve(const struct integer_group *group,
                                                const int32_t *atoms, size_t m, unsigned bits,
                                                uint64_t salt, struct integer_plan *plan);
void integer_plan_release(struct integer_plan *plan);

#endif
