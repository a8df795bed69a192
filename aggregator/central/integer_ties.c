#include "central/integer_ties.h"

#include "base/alloc.h"

#define NONE SIZE_MAX
#define FAR SIZE_MAX

/* A tight pair. Graph nodes are the rows, then the columns. */
struct tie {
    uint32_t row, column;
};

struct ties {
    size_t n, m;
    int64_t *flow; /* (n, m) */

    struct tie *pairs; /* (cap) in their order; keep_cycles removes those on no cycle */
    size_t n_pairs, cap;

    size_t *degree; /* (n + m) number of tight pairs of a node */
    size_t *link;   /* (n + m) xor of their indices; the index itself if there is one pair */

    /* State of the path search, (n + m) each. */
    size_t *level;  /* distance from the start in pairs; FAR: not reached */
    size_t *parent; /* the pair that reached the node */
};

static int64_t *flow_of(const struct ties *t, size_t pair)
{
    return &t->flow[t->pairs[pair].row * t->m + t->pairs[pair].column];
}

static int64_t least_reduced_cost(const int64_t *cost, const int64_t *g, size_t m)
{
    int64_t least = INT64_MAX;
    for (size_t j = 0; j < m; j++) {
        least = cost[j] - g[j] < least ? cost[j] - g[j] : least;
    }
    return least;
}

/* Number of tight pairs; NONE: some flow is on a pair that is not tight. */
static size_t count_tight(const struct ties *t, const int64_t *cost, const int64_t *g)
{
    size_t n_tight = 0;
    for (size_t i = 0; i < t->n; i++) {
        const int64_t *row = cost + i * t->m, least = least_reduced_cost(row, g, t->m);
        for (size_t j = 0; j < t->m; j++) {
            if (row[j] - g[j] == least) {
                n_tight++;
            } else if (t->flow[i * t->m + j] > 0) {
                return NONE;
            }
        }
    }
    return n_tight;
}

static void fill_tight(struct ties *t, const int64_t *cost, const int64_t *g)
{
    for (size_t i = 0; i < t->n; i++) {
        const int64_t *row = cost + i * t->m, least = least_reduced_cost(row, g, t->m);
        for (size_t j = 0; j < t->m; j++) {
            if (row[j] - g[j] == least) {
                t->degree[i]++;
                t->degree[t->n + j]++;
                t->link[i] ^= t->n_pairs;
                t->link[t->n + j] ^= t->n_pairs;
                t->pairs[t->n_pairs++] = (struct tie){(uint32_t)i, (uint32_t)j};
            }
        }
    }
}

/* Removes a leaf and its pair, then the neighbour if that became a leaf, and so on. */
static void peel_leaf(struct ties *t, size_t node)
{
    while (t->degree[node] == 1) {
        const size_t pair = t->link[node];
        struct tie *tie = &t->pairs[pair];
        const size_t other = node < t->n ? t->n + tie->column : tie->row;
        t->degree[node] = 0;
        t->degree[other]--;
        t->link[other] ^= pair;
        tie->row = UINT32_MAX;
        node = other;
    }
}

static void keep_cycles(struct ties *t)
{
    size_t n_kept = 0;
    for (size_t node = 0; node < t->n + t->m; node++) {
        peel_leaf(t, node);
    }
    for (size_t k = 0; k < t->n_pairs; k++) {
        if (t->pairs[k].row != UINT32_MAX) {
            t->pairs[n_kept++] = t->pairs[k];
        }
    }
    t->n_pairs = n_kept;
}

/* Reaches the next level through pairs after `first`: forwards, or backwards where there is
 * flow. */
static bool reach_level(struct ties *t, size_t first, size_t level)
{
    bool is_extended = false;
    for (size_t k = first + 1; k < t->n_pairs; k++) {
        const size_t row = t->pairs[k].row, column = t->n + t->pairs[k].column;
        if (t->level[row] == level && t->level[column] == FAR) {
            t->level[column] = level + 1;
            t->parent[column] = k;
            is_extended = true;
        } else if (t->level[column] == level && t->level[row] == FAR && *flow_of(t, k) > 0) {
            t->level[row] = level + 1;
            t->parent[row] = k;
            is_extended = true;
        }
    }
    return is_extended;
}

/* Finds a shortest path from the row to the column of a pair through later pairs. */
static bool find_path(struct ties *t, size_t pair)
{
    const size_t end = t->n + t->pairs[pair].column;
    for (size_t node = 0; node < t->n + t->m; node++) {
        t->level[node] = FAR;
    }
    t->level[t->pairs[pair].row] = 0;
    for (size_t level = 0; t->level[end] == FAR; level++) {
        if (!reach_level(t, pair, level)) {
            return false;
        }
    }
    return true;
}

/* Adds units along the path to the column of the pair. Returns how many units the path can take, at
 * most `most`; it is limited by flow on the pairs that the path uses backwards. units 0: no
 * change. */
static int64_t push_along_path(const struct ties *t, size_t pair, int64_t most, int64_t units)
{
    const size_t start = t->pairs[pair].row;
    for (size_t node = t->n + t->pairs[pair].column; node != start;) {
        const size_t k = t->parent[node];
        int64_t *flow = flow_of(t, k);
        if (node >= t->n) {
            *flow += units;
            node = t->pairs[k].row;
        } else {
            most = *flow < most ? *flow : most;
            *flow -= units;
            node = t->n + t->pairs[k].column;
        }
    }
    return most;
}

static void reduce_flow(struct ties *t, size_t pair)
{
    int64_t *flow = flow_of(t, pair);
    while (*flow > 0 && find_path(t, pair)) {
        const int64_t units = push_along_path(t, pair, *flow, 0);
        (void)push_along_path(t, pair, *flow, units);
        *flow -= units;
    }
}

static dpot_status settle_tight(struct ties *t, const int64_t *cost, const int64_t *g)
{
    const size_t n_nodes = t->n + t->m;
    t->pairs = dpot_alloc_array(NULL, t->cap, sizeof *t->pairs);
    t->degree = dpot_alloc_array(NULL, n_nodes, sizeof *t->degree);
    t->link = dpot_alloc_array(NULL, n_nodes, sizeof *t->link);
    t->level = dpot_alloc_array(NULL, n_nodes, sizeof *t->level);
    t->parent = dpot_alloc_array(NULL, n_nodes, sizeof *t->parent);
    const bool is_ready = t->pairs && t->degree && t->link && t->level && t->parent;
    if (is_ready) {
        fill_tight(t, cost, g);
        keep_cycles(t);
        for (size_t k = 0; k < t->n_pairs; k++) {
            reduce_flow(t, k);
        }
    }
    dpot_free_secret(NULL, t->pairs, t->cap, sizeof *t->pairs);
    dpot_free_secret(NULL, t->degree, n_nodes, sizeof *t->degree);
    dpot_free_secret(NULL, t->link, n_nodes, sizeof *t->link);
    dpot_free_secret(NULL, t->level, n_nodes, sizeof *t->level);
    dpot_free_secret(NULL, t->parent, n_nodes, sizeof *t->parent);
    return is_ready ? DPOT_OK : DPOT_ERR_MEMORY;
}

dpot_status integer_ties_settle(const int64_t *cost, const int64_t *g, size_t n, size_t m,
                                int64_t *flow, bool *is_optimal)
{
    struct ties t = {.n = n, .m = m, .flow = flow};
    t.cap = count_tight(&t, cost, g);
    *is_optimal = t.cap != NONE;
    return *is_optimal ? settle_tight(&t, cost, g) : DPOT_OK;
}
