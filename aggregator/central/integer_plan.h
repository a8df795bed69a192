/* The one optimal transport plan of a group of records to m equal atoms, in integers.
 *
 * Costs are integers that depend on (value of the record, atom) alone: the squared distance, cut to
 * INTEGER_PLAN_BASE_BITS, and below it a salted hash. Rows are different values in ascending order;
 * a row of count c supplies c m units, an atom takes `total`.
 *
 * Claim. For every group there is exactly one plan of least cost under the costs above and, below
 * them, the rule of integer_ties.h, whose order of pairs is that of (value, atom) too;
 * integer_plan_solve gives that one. So ties are broken by a rule that knows no other record, and
 * it never fails to decide. (The hash makes ties rare, so that the rule costs nothing; nothing
 * rests on it.) All of it is 64-bit integers. */
#ifndef DPOT_CENTRAL_INTEGER_PLAN_H
#define DPOT_CENTRAL_INTEGER_PLAN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTEGER_PLAN_BASE_BITS 30
#define INTEGER_PLAN_HASH_BITS 26
#define INTEGER_PLAN_PAIRS_MAX ((size_t)1 << 27)

/* A group: at most INTEGER_PLAN_PAIRS_MAX / m values, ascending in the order of their coordinates,
 * each once. */
struct integer_group {
    size_t n, dim;
    const int32_t *points; /* (n, dim) 0 .. 2^20 */
    const int64_t *counts; /* (n) >= 1 */
    int64_t total;         /* their sum, below 2^62 / m */
};

struct integer_plan {
    size_t n, m;
    int64_t *costs;  /* (n, m) owned */
    int64_t *flow;   /* (n, m) owned */
    int64_t *g;      /* (m) owned */
    bool is_optimal; /* checked; false: a fault of the solver */
};

/* atoms (m, dim) in the same units. bits: squared distances are below 2^bits. salt: any, the same for all
 * groups. DPOT_ERR_MEMORY. Release it in every case. */
DPOT_WARN_UNUSED dpot_status integer_plan_solve(const struct integer_group *group,
                                                const int32_t *atoms, size_t m, unsigned bits,
                                                uint64_t salt, struct integer_plan *plan);
void integer_plan_release(struct integer_plan *plan);

/* Cost of the pair, as the plan has it. */
int64_t integer_plan_cost(const int32_t *x, const int32_t *atom, size_t dim, size_t j,
                          unsigned bits, uint64_t salt);

#endif
