#include "central/integer_plan.h"

#include "base/alloc.h"
#include "central/integer_flow.h"
#include "central/integer_ties.h"

/* A mixing bijection (Stafford 2011, mix 13). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t hash_value(const int32_t *x, size_t dim, uint64_t salt)
{
    uint64_t hash = mix(salt);
    for (size_t a = 0; a < dim; a++) {
        hash = mix(hash ^ ((uint64_t)(uint32_t)x[a] + 0x9e3779b97f4a7c15u * (a + 1)));
    }
    return hash;
}

static int64_t cost_of(const int32_t *x, const int32_t *atom, size_t dim, size_t j, unsigned bits,
                       uint64_t hash)
{
    int64_t square = 0;
    for (size_t a = 0; a < dim; a++) {
        const int64_t difference = (int64_t)x[a] - atom[a];
        square += difference * difference;
    }
    const unsigned shift = bits > INTEGER_PLAN_BASE_BITS ? bits - INTEGER_PLAN_BASE_BITS : 0;
    const uint64_t tie = mix(hash + 0x9e3779b97f4a7c15u * (j + 1)) >> (64 - INTEGER_PLAN_HASH_BITS);
    return ((square >> shift) << INTEGER_PLAN_HASH_BITS) | (int64_t)tie;
}

static void fill_costs(const struct integer_group *group, const int32_t *atoms, size_t m,
                       unsigned bits, uint64_t salt, int64_t *costs)
{
    const size_t dim = group->dim;
    for (size_t i = 0; i < group->n; i++) {
        const int32_t *x = group->points + i * dim;
        const uint64_t hash = hash_value(x, dim, salt);
        for (size_t j = 0; j < m; j++) {
            costs[i * m + j] = cost_of(x, atoms + j * dim, dim, j, bits, hash);
        }
    }
}

/* left (m) is scratch: capacity not yet used. */
static bool is_feasible(const struct integer_plan *plan, const struct integer_group *group,
                        int64_t *left)
{
    bool is_sound = true;
    for (size_t j = 0; j < plan->m; j++) {
        left[j] = group->total;
    }
    for (size_t i = 0; i < plan->n; i++) {
        int64_t row = group->counts[i] * (int64_t)plan->m;
        for (size_t j = 0; j < plan->m; j++) {
            const int64_t units = plan->flow[i * plan->m + j];
            is_sound = is_sound && units >= 0 && units <= row && units <= left[j];
            row -= units;
            left[j] -= units;
        }
        is_sound = is_sound && row == 0;
    }
    for (size_t j = 0; j < plan->m; j++) {
        is_sound = is_sound && left[j] == 0;
    }
    return is_sound;
}

/* Both checks hold unless the solver is faulty. */
static dpot_status settle_ties(const struct integer_group *group, struct integer_plan *plan)
{
    bool is_optimal = false;
    int64_t *left = dpot_alloc_array(NULL, plan->m, sizeof *left);
    dpot_status status = left ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK && is_feasible(plan, group, left)) {
        status =
            integer_ties_settle(plan->costs, plan->g, plan->n, plan->m, plan->flow, &is_optimal);
    }
    plan->is_optimal = is_optimal;
    dpot_free_secret(NULL, left, plan->m, sizeof *left);
    return status;
}

static dpot_status alloc_plan(const struct integer_group *group, size_t m,
                              struct integer_plan *plan)
{
    *plan = (struct integer_plan){.n = group->n, .m = m};
    plan->costs = dpot_alloc_array(NULL, group->n * m, sizeof *plan->costs);
    plan->flow = dpot_alloc_array(NULL, group->n * m, sizeof *plan->flow);
    plan->g = dpot_alloc_array(NULL, m, sizeof *plan->g);
    return plan->costs && plan->flow && plan->g ? DPOT_OK : DPOT_ERR_MEMORY;
}

dpot_status integer_plan_solve(const struct integer_group *group, const int32_t *atoms, size_t m,
                               unsigned bits, uint64_t salt, struct integer_plan *plan)
{
    int64_t *supply = dpot_alloc_array(NULL, group->n, sizeof *supply);
    dpot_status status = alloc_plan(group, m, plan);
    if (status == DPOT_OK && !supply) {
        status = DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; status == DPOT_OK && i < group->n; i++) {
        supply[i] = group->counts[i] * (int64_t)m;
    }
    if (status == DPOT_OK) {
        fill_costs(group, atoms, m, bits, salt, plan->costs);
        status =
            integer_flow_solve(plan->costs, supply, group->n, m, group->total, plan->flow, plan->g);
    }
    if (status == DPOT_OK) {
        status = settle_ties(group, plan);
    }
    dpot_free_secret(NULL, supply, group->n, sizeof *supply);
    return status;
}

void integer_plan_release(struct integer_plan *plan)
{
    dpot_free_secret(NULL, plan->costs, plan->n * plan->m, sizeof *plan->costs);
    dpot_free_secret(NULL, plan->flow, plan->n * plan->m, sizeof *plan->flow);
    dpot_free_secret(NULL, plan->g, plan->m, sizeof *plan->g);
    *plan = (struct integer_plan){0};
}
