#include "central/integer_flow.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <string.h>

#define NONE SIZE_MAX

/* The move of one unit of a row to another column, and its price. */
struct move {
    int64_t price;
    size_t row;
};

/* The moves from one column to another, cheapest first. Moves of rows that have left the column are
 * removed only when they reach the top. */
struct heap {
    size_t n, cap;
    struct move *moves; /* owned */
};

struct flow {
    size_t n, m;
    const int64_t *cost; /* (n, m) */
    int64_t *units;      /* (n, m) */
    int64_t *g;          /* (m) <= 0; 0 for columns with free capacity */
    int64_t *spare;      /* (m) free capacity of each column */
    struct heap *heaps;  /* (m, m) */

    /* State of the path search, (m) each. */
    int64_t *distance; /* reduced: price of the path to the column, less g */
    size_t *before;    /* previous column; NONE: the path starts at the row */
    size_t *carrier;   /* the row that moves from there */
    bool *is_settled;
};

static bool heap_push(struct heap *heap, struct move move)
{
    if (heap->n == heap->cap) {
        const size_t cap = heap->cap > 0 ? 2 * heap->cap : 16;
        struct move *moves = dpot_alloc_array(NULL, cap, sizeof *moves);
        if (!moves) {
            return false;
        }
        if (heap->n > 0) {
            memcpy(moves, heap->moves, heap->n * sizeof *moves);
        }
        dpot_free_secret(NULL, heap->moves, heap->cap, sizeof *heap->moves);
        heap->moves = moves;
        heap->cap = cap;
    }
    size_t at = heap->n++;
    while (at > 0 && heap->moves[(at - 1) / 2].price > move.price) {
        heap->moves[at] = heap->moves[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->moves[at] = move;
    return true;
}

static void heap_pop(struct heap *heap)
{
    const struct move move = heap->moves[--heap->n];
    size_t at = 0;
    for (size_t child = 1; child < heap->n; child = 2 * at + 1) {
        child += child + 1 < heap->n && heap->moves[child + 1].price < heap->moves[child].price;
        if (heap->moves[child].price >= move.price) {
            break;
        }
        heap->moves[at] = heap->moves[child];
        at = child;
    }
    heap->moves[at] = move;
}

/* The cheapest valid move; NULL: the column has no row to move. */
static const struct move *cheapest_move(struct flow *f, size_t from, size_t to)
{
    struct heap *heap = &f->heaps[from * f->m + to];
    while (heap->n > 0 && f->units[heap->moves[0].row * f->m + from] == 0) {
        heap_pop(heap);
    }
    return heap->n > 0 ? &heap->moves[0] : NULL;
}

/* Adds the moves of a row that has just arrived in the column. */
static bool push_moves(struct flow *f, size_t row, size_t from)
{
    const int64_t *cost = f->cost + row * f->m;
    bool is_done = true;
    for (size_t to = 0; is_done && to < f->m; to++) {
        is_done = to == from ||
                  heap_push(&f->heaps[from * f->m + to], (struct move){cost[to] - cost[from], row});
    }
    return is_done;
}

static size_t settle_nearest(struct flow *f)
{
    size_t nearest = NONE;
    for (size_t j = 0; j < f->m; j++) {
        if (!f->is_settled[j] && (nearest == NONE || f->distance[j] < f->distance[nearest])) {
            nearest = j;
        }
    }
    f->is_settled[nearest] = true;
    return nearest;
}

static void relax_from(struct flow *f, size_t j)
{
    for (size_t k = 0; k < f->m; k++) {
        const struct move *move = f->is_settled[k] ? NULL : cheapest_move(f, j, k);
        if (!move) {
            continue;
        }
        const int64_t distance = f->distance[j] + move->price + f->g[j] - f->g[k];
        if (distance < f->distance[k]) {
            f->distance[k] = distance;
            f->before[k] = j;
            f->carrier[k] = move->row;
        }
    }
}

/* Dijkstra from the row to the first column with free capacity; updates g so that the path has
 * reduced cost 0. */
static size_t find_path(struct flow *f, size_t row)
{
    size_t end;
    for (size_t j = 0; j < f->m; j++) {
        f->distance[j] = f->cost[row * f->m + j] - f->g[j];
        f->before[j] = NONE;
        f->is_settled[j] = false;
    }
    for (end = settle_nearest(f); f->spare[end] == 0; end = settle_nearest(f)) {
        relax_from(f, end);
    }
    for (size_t j = 0; j < f->m; j++) {
        f->g[j] += f->is_settled[j] ? f->distance[j] - f->distance[end] : 0;
    }
    return end;
}

static int64_t units_of_path(const struct flow *f, size_t end, int64_t wanted)
{
    int64_t units = wanted < f->spare[end] ? wanted : f->spare[end];
    for (size_t k = end; f->before[k] != NONE; k = f->before[k]) {
        const int64_t there = f->units[f->carrier[k] * f->m + f->before[k]];
        units = there < units ? there : units;
    }
    return units;
}

static bool add_flow(struct flow *f, size_t row, size_t column, int64_t units)
{
    int64_t *there = &f->units[row * f->m + column];
    const bool is_new = *there == 0;
    *there += units;
    return !is_new || push_moves(f, row, column);
}

/* Goes backwards from the end, so that no row leaves a column it has just entered. */
static bool augment(struct flow *f, size_t row, size_t end, int64_t units)
{
    bool is_done = true;
    f->spare[end] -= units;
    for (size_t k = end; is_done; k = f->before[k]) {
        const size_t j = f->before[k];
        if (j == NONE) {
            return add_flow(f, row, k, units);
        }
        f->units[f->carrier[k] * f->m + j] -= units;
        is_done = add_flow(f, f->carrier[k], k, units);
    }
    return false;
}

static bool allocate(struct flow *f)
{
    f->spare = dpot_alloc_array(NULL, f->m, sizeof *f->spare);
    f->heaps = dpot_alloc_array(NULL, f->m * f->m, sizeof *f->heaps);
    f->distance = dpot_alloc_array(NULL, f->m, sizeof *f->distance);
    f->before = dpot_alloc_array(NULL, f->m, sizeof *f->before);
    f->carrier = dpot_alloc_array(NULL, f->m, sizeof *f->carrier);
    f->is_settled = dpot_alloc_array(NULL, f->m, sizeof *f->is_settled);
    return f->spare && f->heaps && f->distance && f->before && f->carrier && f->is_settled;
}

static void release(struct flow *f)
{
    for (size_t h = 0; f->heaps && h < f->m * f->m; h++) {
        dpot_free_secret(NULL, f->heaps[h].moves, f->heaps[h].cap, sizeof *f->heaps[h].moves);
    }
    dpot_free_secret(NULL, f->spare, f->m, sizeof *f->spare);
    dpot_free_array(NULL, f->heaps, f->m * f->m, sizeof *f->heaps);
    dpot_free_secret(NULL, f->distance, f->m, sizeof *f->distance);
    dpot_free_secret(NULL, f->before, f->m, sizeof *f->before);
    dpot_free_secret(NULL, f->carrier, f->m, sizeof *f->carrier);
    dpot_free_secret(NULL, f->is_settled, f->m, sizeof *f->is_settled);
}

static size_t gcd(size_t a, size_t b)
{
    while (b > 0) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Rows are visited in strides coprime to n: consecutive rows would fill one column first, and later
 * rows would need long paths. */
static size_t stride_of(size_t n)
{
    size_t stride = (size_t)(0.6180339887 * (double)n) | 1;
    while (gcd(stride, n) != 1) {
        stride++;
    }
    return stride;
}

dpot_status integer_flow_solve(const int64_t *cost, const int64_t *supply, size_t n, size_t m,
                               int64_t capacity, int64_t *flow, int64_t *g)
{
    struct flow f = {.n = n, .m = m, .cost = cost, .units = flow, .g = g};
    bool is_done = allocate(&f);
    memset(flow, 0, n * m * sizeof *flow);
    memset(g, 0, m * sizeof *g);
    for (size_t j = 0; is_done && j < m; j++) {
        f.spare[j] = capacity;
    }
    const size_t stride = stride_of(n);
    for (size_t i = 0, row = 0; is_done && i < n; i++, row = (row + stride) % n) {
        for (int64_t left = supply[row]; is_done && left > 0;) {
            const size_t end = find_path(&f, row);
            const int64_t units = units_of_path(&f, end, left);
            is_done = augment(&f, row, end, units);
            left -= units;
        }
    }
    release(&f);
    return is_done ? DPOT_OK : DPOT_ERR_MEMORY;
}
