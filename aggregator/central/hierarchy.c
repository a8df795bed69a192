#include "central/hierarchy.h"

#include "base/alloc.h"

#define DIGIT_BITS 11
#define N_BUCKETS ((size_t)1 << DIGIT_BITS)
#define FIRST_NODES 64

static void sort_digit(const struct hierarchy_cell *from, size_t n, size_t shift,
                       struct hierarchy_cell *to)
{
    size_t starts[N_BUCKETS + 1] = {0};
    for (size_t i = 0; i < n; i++) {
        starts[(from[i].code >> shift & (N_BUCKETS - 1)) + 1]++;
    }
    for (size_t b = 1; b < N_BUCKETS; b++) {
        starts[b] += starts[b - 1];
    }
    for (size_t i = 0; i < n; i++) {
        to[starts[from[i].code >> shift & (N_BUCKETS - 1)]++] = from[i];
    }
}

/* Radix sort, least significant digit first; the sorted array ends up in records->cells. */
static void sort_cells(struct hierarchy_records *records, struct hierarchy_cell **spare, size_t n,
                       size_t depth)
{
    for (size_t shift = 0; shift < depth; shift += DIGIT_BITS) {
        sort_digit(records->cells, n, shift, *spare);
        struct hierarchy_cell *sorted = *spare;
        *spare = records->cells;
        records->cells = sorted;
    }
}

/* Sets each n to the number of records at the code itself, not yet cumulative. */
static dpot_status fill_cells(struct hierarchy_cell *cells, const uint64_t *codes,
                              const int64_t *counts, size_t n, struct dpot_error *error)
{
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t count = counts ? counts[i] : 1;
        if (count < 0 || count > HIERARCHY_RECORDS_MAX - total) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "a count is negative, or there are more than 2^60 records: give "
                                  "how many records each row stands for");
        }
        total += count;
        cells[i] = (struct hierarchy_cell){codes[i], count};
    }
    return DPOT_OK;
}

/* Merges equal codes, drops codes without records and makes the counts cumulative, in place. */
static void merge_equal(struct hierarchy_records *records, size_t n)
{
    struct hierarchy_cell *cells = records->cells;
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hierarchy_cell cell = cells[i];
        if (cell.n > 0 && (records->n == 0 || cells[records->n - 1].code != cell.code)) {
            cells[records->n++] = (struct hierarchy_cell){cell.code, total};
        }
        total += cell.n;
    }
    cells[records->n] = (struct hierarchy_cell){0, total};
}

dpot_status hierarchy_records_init(struct hierarchy_records *records, const uint64_t *codes,
                                   const int64_t *counts, size_t n, size_t depth,
                                   struct dpot_error *error)
{
    *records = (struct hierarchy_records){0};
    if (n >= UINT32_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "%zu rows are too many: give fewer", n);
    }
    struct hierarchy_cell *spare = dpot_alloc_array(NULL, n + 1, sizeof *spare);
    records->cap = n + 1;
    records->cells = dpot_alloc_array(NULL, n + 1, sizeof *records->cells);
    dpot_status status =
        spare && records->cells
            ? fill_cells(records->cells, codes, counts, n, error)
            : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu rows", n);
    if (status == DPOT_OK) {
        sort_cells(records, &spare, n, depth);
        merge_equal(records, n);
    } else {
        hierarchy_records_release(records);
    }
    dpot_free_secret(NULL, spare, n + 1, sizeof *spare);
    return status;
}

void hierarchy_records_release(struct hierarchy_records *records)
{
    dpot_free_secret(NULL, records->cells, records->cap, sizeof *records->cells);
    *records = (struct hierarchy_records){0};
}

int64_t hierarchy_records_total(const struct hierarchy_records *records)
{
    return records->cells[records->n].n;
}

/* A cell with mass m > 0; its records are the sorted cells [begin, end). */
struct node {
    uint64_t code;
    int64_t m;
    uint32_t begin, end;
};

struct level {
    struct node *nodes;
    size_t n, cap;
};

static void release_level(struct level *level)
{
    dpot_free_secret(NULL, level->nodes, level->cap, sizeof *level->nodes);
    *level = (struct level){0};
}

/* Ensures space for two more nodes. */
static dpot_status reserve_two(struct level *level, struct dpot_error *error)
{
    if (level->n + 2 <= level->cap) {
        return DPOT_OK;
    }
    const size_t cap = level->cap > 0 ? 2 * level->cap : FIRST_NODES;
    struct node *nodes = cap <= HIERARCHY_CELLS_MAX
                             ? dpot_resize_array(NULL, level->nodes, level->cap, cap, sizeof *nodes)
                             : NULL;
    if (!nodes) {
        return dpot_error_set(
            error, cap <= HIERARCHY_CELLS_MAX ? DPOT_ERR_MEMORY : DPOT_ERR_TOO_LARGE,
            "%zu cells of one level hold mass and there is no memory for more: choose a smaller "
            "depth",
            level->n);
    }
    level->nodes = nodes;
    level->cap = cap;
    return DPOT_OK;
}

int64_t hierarchy_split(int64_t m, int64_t a, int64_t b)
{
    const int64_t diff = m - (a + b); /* |a + b| <= 2^62 */
    const int64_t half = diff < 0 ? -((1 - diff) / 2) : (diff + 1) / 2;
    const int64_t part = a + half;
    return part < 0 ? 0 : part > m ? m : part;
}

/* The first of the cells [begin, end) in the right half of their parent, where bit `bit` is 1. */
static uint32_t find_middle(const struct hierarchy_cell *cells, uint32_t begin, uint32_t end,
                            size_t bit)
{
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (cells[middle].code >> bit & 1) {
            end = middle;
        } else {
            begin = middle + 1;
        }
    }
    return begin;
}

/* max(0, n + Y), at most HIERARCHY_COUNT_MAX. No overflow: |Y| <= 2^62 and n <= 2^60. */
static int64_t noisy_count(int64_t n, const struct hierarchy_rules *rules, size_t level)
{
    const int64_t value = n + rules->noise(rules->ctx, level);
    return value < 0 ? 0 : value > HIERARCHY_COUNT_MAX ? HIERARCHY_COUNT_MAX : value;
}

static bool is_closed(const struct hierarchy_rules *rules, size_t level, uint64_t code)
{
    return rules->is_closed && rules->is_closed(rules->ctx, level, code);
}

/* The mass of the left child. */
static int64_t divide(const struct node *node, const struct hierarchy_cell *cells, uint32_t middle,
                      size_t level, const struct hierarchy_rules *rules)
{
    const bool is_left_closed = is_closed(rules, level, 2 * node->code);
    const bool is_right_closed = is_closed(rules, level, 2 * node->code + 1);
    if (is_left_closed != is_right_closed) {
        return is_left_closed ? 0 : node->m;
    }
    const int64_t left = noisy_count(cells[middle].n - cells[node->begin].n, rules, level);
    const int64_t right = noisy_count(cells[node->end].n - cells[middle].n, rules, level);
    return hierarchy_split(node->m, left, right);
}

static dpot_status divide_level(const struct level *parents, const struct hierarchy_cell *cells,
                                size_t level, size_t depth, const struct hierarchy_rules *rules,
                                struct level *children, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < parents->n; i++) {
        const struct node *node = &parents->nodes[i];
        const uint32_t middle = find_middle(cells, node->begin, node->end, depth - level);
        const int64_t m = divide(node, cells, middle, level, rules);
        status = reserve_two(children, error);
        if (status == DPOT_OK && m > 0) {
            children->nodes[children->n++] = (struct node){2 * node->code, m, node->begin, middle};
        }
        if (status == DPOT_OK && m < node->m) {
            children->nodes[children->n++] =
                (struct node){2 * node->code + 1, node->m - m, middle, node->end};
        }
    }
    return status;
}

static dpot_status store_leaves(const struct level *last, struct hierarchy_leaves *leaves,
                                struct dpot_error *error)
{
    leaves->leaves = dpot_alloc_array(NULL, last->n, sizeof *leaves->leaves);
    if (!leaves->leaves) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu cells", last->n);
    }
    leaves->n = last->n;
    for (size_t i = 0; i < last->n; i++) {
        leaves->leaves[i] = (struct hierarchy_leaf){last->nodes[i].code, last->nodes[i].m};
    }
    return DPOT_OK;
}

dpot_status hierarchy_count(const struct hierarchy_records *records, size_t depth, int64_t root,
                            const struct hierarchy_rules *rules, struct hierarchy_leaves *leaves,
                            struct dpot_error *error)
{
    struct level nodes = {0}, children = {0};
    *leaves = (struct hierarchy_leaves){0};
    dpot_status status = reserve_two(&nodes, error);
    if (status == DPOT_OK) {
        nodes.nodes[nodes.n++] = (struct node){0, root, 0, (uint32_t)records->n};
    }
    for (size_t level = 1; status == DPOT_OK && level <= depth; level++) {
        status = divide_level(&nodes, records->cells, level, depth, rules, &children, error);
        const struct level parents = nodes;
        nodes = children;
        children = parents;
        children.n = 0;
    }
    if (status == DPOT_OK) {
        status = store_leaves(&nodes, leaves, error);
    }
    release_level(&nodes);
    release_level(&children);
    return status;
}

void hierarchy_leaves_release(struct hierarchy_leaves *leaves)
{
    dpot_free_array(NULL, leaves->leaves, leaves->n, sizeof *leaves->leaves);
    *leaves = (struct hierarchy_leaves){0};
}
