#include "central/integer_plan.h"

#include "base/alloc.h"
#include "central/integer_flow.h"

/* ---- costs ---- */

/* A bijection that spreads (Stafford 2011, mix 13). */
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

int64_t integer_plan_cost(const int32_t *x, const int32_t *atom, size_t dim, size_t j,
                          unsigned bits, uint64_t salt)
{
    return cost_of(x, atom, dim, j, bits, hash_value(x, dim, salt));
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

/* ---- the certificate ---- */

/* Components of a growing graph. */
static size_t find_root(uint32_t *parent, size_t node)
{
    while (parent[node] != node) {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    return node;
}

/* False: they were connected already. */
static bool join(uint32_t *parent, size_t a, size_t b)
{
    const size_t x = find_root(parent, a), y = find_root(parent, b);
    parent[x] = (uint32_t)y;
    return x != y;
}

/* (i) and (ii): the tight pairs of f_i = min_j C_ij - g_j have all the flow and make a forest. */
static bool is_only_optimum(const struct integer_plan *plan, uint32_t *parent)
{
    const int64_t *g = plan->g;
    for (size_t v = 0; v < plan->n + plan->m; v++) {
        parent[v] = (uint32_t)v;
    }
    for (size_t i = 0; i < plan->n; i++) {
        const int64_t *costs = plan->costs + i * plan->m, *flow = plan->flow + i * plan->m;
        int64_t f = INT64_MAX;
        for (size_t j = 0; j < plan->m; j++) {
            f = costs[j] - g[j] < f ? costs[j] - g[j] : f;
        }
        for (size_t j = 0; j < plan->m; j++) {
            const bool is_tight = costs[j] - g[j] == f;
            if (is_tight ? !join(parent, i, plan->n + j) : flow[j] > 0) {
                return false;
            }
        }
    }
    return true;
}

/* `left` (m) is what is still to come. */
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

static dpot_status certify(const struct integer_group *group, struct integer_plan *plan)
{
    const size_t n_nodes = plan->n + plan->m;
    int64_t *left = dpot_alloc_array(NULL, plan->m, sizeof *left);
    uint32_t *parent = dpot_alloc_array(NULL, n_nodes, sizeof *parent);
    const dpot_status status = left && parent ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        plan->is_feasible = is_feasible(plan, group, left);
        plan->is_certified = plan->is_feasible && is_only_optimum(plan, parent);
    }
    dpot_free_secret(NULL, left, plan->m, sizeof *left);
    dpot_free_secret(NULL, parent, n_nodes, sizeof *parent);
    return status;
}

/* ---- the plan ---- */

static dpot_status alloc_plan(const struct integer_group *group, size_t m,
                              struct integer_plan *plan, struct dpot_error *error)
{
    *plan = (struct integer_plan){.n = group->n, .m = m};
    if (group->n > INTEGER_PLAN_PAIRS_MAX / m) {
        plan->n = 0;
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "%zu different records and %zu atoms are more than %zu pairs: cut "
                              "the domain into fewer cells",
                              group->n, m, INTEGER_PLAN_PAIRS_MAX);
    }
    plan->costs = dpot_alloc_array(NULL, group->n * m, sizeof *plan->costs);
    plan->flow = dpot_alloc_array(NULL, group->n * m, sizeof *plan->flow);
    plan->g = dpot_alloc_array(NULL, m, sizeof *plan->g);
    return plan->costs && plan->flow && plan->g ? DPOT_OK : DPOT_ERR_MEMORY;
}

dpot_status integer_plan_solve(const struct integer_group *group, const int32_t *atoms, size_t m,
                               unsigned bits, uint64_t salt, struct integer_plan *plan,
                               struct dpot_error *error)
{
    int64_t *supply = dpot_alloc_array(NULL, group->n, sizeof *supply);
    dpot_status status = alloc_plan(group, m, plan, error);
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
        status = certify(group, plan);
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
