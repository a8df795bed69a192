/* The one optimal transport plan of a group of records to m equal atoms, in integers, with a proof that it
 * is the only one.
 *
 * Costs are integers that depend on (value of the record, atom) alone: the squared distance, cut to
 * INTEGER_PLAN_BASE_BITS, and below it a salted hash, so that ties are broken by a rule that knows no
 * other record. Rows are different values; a row of count c supplies c m units, an atom takes `total`.
 *
 * Claim. If integer_plan_solve returns DPOT_OK and says is_certified, then the flow is the only optimal
 * plan for these costs, whatever the solver did: (i) potentials f, g with f_i + g_j <= C_ij everywhere and
 * equality where there is flow prove it optimal; (ii) the pairs with equality are a forest, so that no
 * other plan lives on them, and (complementary slackness) every optimal plan does. Both are checked on the
 * result of integer_flow.h; all of it is 64-bit integers.
 */
#ifndef DPOT_CENTRAL_INTEGER_PLAN_H
#define DPOT_CENTRAL_INTEGER_PLAN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTEGER_PLAN_BASE_BITS 30
#define INTEGER_PLAN_HASH_BITS 26
#define INTEGER_PLAN_PAIRS_MAX ((size_t)1 << 25)

/* A group: values ascending in the order of their coordinates, each once. */
struct integer_group {
    size_t n, dim;
    const int32_t *points; /* (n, dim) 0 .. 2^20 */
    const int64_t *counts; /* (n) >= 1 */
    int64_t total;         /* their sum, below 2^62 / m */
};

struct integer_plan {
    size_t n, m;
    int64_t *costs;    /* (n, m) owned */
    int64_t *flow;     /* (n, m) owned */
    int64_t *g;        /* (m) owned */
    bool is_feasible;  /* rows and atoms have exactly what they should */
    bool is_certified; /* it is, and is the only optimal plan */
};

/* atoms (m, dim) in the same units. bits: squared distances are below 2^bits. salt: any, the same for all
 * groups. DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. Release it in every case. */
DPOT_WARN_UNUSED dpot_status integer_plan_solve(const struct integer_group *group,
                                                const int32_t *atoms, size_t m, unsigned bits,
                                                uint64_t salt, struct integer_plan *plan,
                                                struct dpot_error *error);
void integer_plan_release(struct integer_plan *plan);

/* Cost of the pair, as the plan has it. */
int64_t integer_plan_cost(const int32_t *x, const int32_t *atom, size_t dim, size_t j,
                          unsigned bits, uint64_t salt);

#endif
