#include "ot/few_parts.h"

#include <math.h>
#include <stdlib.h>

#define LANES 8

/* ---- edges ---- */

/* The price at which `to` takes column j from `from`. */
static double price_of(const struct dpot_few_projection *p, size_t from, size_t to, size_t j)
{
    const double given = from == p->n_points ? 0.0 : p->costs[from][j];
    return to == p->n_points ? -given : p->costs[to][j] - given;
}

/* Hub `from` now has units of column j to give. */
static void offer(struct dpot_few_projection *p, size_t from, size_t to, size_t j)
{
    struct dpot_few_edge *edge = dpot_few_edge(p, from, to);
    const double price = price_of(p, from, to, j);
    if (price < edge->price) {
        *edge = (struct dpot_few_edge){price, (int32_t)j, 0};
    }
}

static void offer_to_all(struct dpot_few_projection *p, size_t from, size_t j)
{
    for (size_t to = 0; to <= p->n_points; to++) {
        if (to != from && (to < p->n_points || p->pool[j] < p->room[j])) {
            offer(p, from, to, j);
        }
    }
}

static void withdraw(struct dpot_few_projection *p, size_t from, size_t to, size_t j)
{
    struct dpot_few_edge *edge = dpot_few_edge(p, from, to);
    edge->is_stale |= edge->col == (int32_t)j;
}

static void withdraw_from_all(struct dpot_few_projection *p, size_t from, size_t j)
{
    for (size_t to = 0; to <= p->n_points; to++) {
        withdraw(p, from, to, j);
    }
}

static struct dpot_few_edge scan_point(const struct dpot_few_projection *p, size_t from, size_t to)
{
    const int32_t *cols = p->served + from * p->n_cols;
    struct dpot_few_edge edge = {INFINITY, -1, 0};
    for (size_t k = 0; k < p->n_served[from]; k++) {
        const size_t j = (size_t)cols[k];
        const double price = p->costs[to][j] - p->costs[from][j];
        if (price < edge.price) {
            edge.price = price;
            edge.col = cols[k];
        }
    }
    return edge;
}

static struct dpot_few_edge scan_point_to_pool(const struct dpot_few_projection *p, size_t from)
{
    const int32_t *cols = p->served + from * p->n_cols;
    struct dpot_few_edge edge = {INFINITY, -1, 0};
    for (size_t k = 0; k < p->n_served[from]; k++) {
        const size_t j = (size_t)cols[k];
        if (-p->costs[from][j] < edge.price && p->pool[j] < p->room[j]) {
            edge.price = -p->costs[from][j];
            edge.col = cols[k];
        }
    }
    return edge;
}

/* Independent lanes, so that the compiler may vectorise them. */
static struct dpot_few_edge scan_pool(const struct dpot_few_projection *p, size_t to)
{
    const double *cost = p->costs[to], *closed = p->closed;
    const size_t n = p->n_cols, n_blocks = n - n % LANES;
    double lanes[LANES], smallest = INFINITY;
    for (size_t k = 0; k < LANES; k++) {
        lanes[k] = INFINITY;
    }
    for (size_t j = 0; j < n_blocks; j += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            const double x = cost[j + k] + closed[j + k];
            lanes[k] = x < lanes[k] ? x : lanes[k];
        }
    }
    for (size_t j = n_blocks; j < n; j++) {
        const double x = cost[j] + closed[j];
        smallest = x < smallest ? x : smallest;
    }
    for (size_t k = 0; k < LANES; k++) {
        smallest = lanes[k] < smallest ? lanes[k] : smallest;
    }
    size_t j = 0;
    while (j + 1 < n && cost[j] + closed[j] != smallest) {
        j++;
    }
    return (struct dpot_few_edge){smallest, smallest < INFINITY ? (int32_t)j : -1, 0};
}

static void refresh(struct dpot_few_projection *p, size_t from, size_t to)
{
    p->looks += from == p->n_points ? p->n_cols : p->n_served[from];
    *dpot_few_edge(p, from, to) = from == p->n_points ? scan_pool(p, to)
                                  : to == p->n_points ? scan_point_to_pool(p, from)
                                                      : scan_point(p, from, to);
}

/* ---- flow ---- */

static void give_point(struct dpot_few_projection *p, size_t i, size_t j, int64_t amount)
{
    const size_t at = i * p->n_cols;
    const int is_new = p->units[at + j] == 0;
    p->units[at + j] += amount;
    if (is_new) {
        p->place[at + j] = (int32_t)p->n_served[i];
        p->served[at + p->n_served[i]++] = (int32_t)j;
        offer_to_all(p, i, j);
    }
}

static void take_point(struct dpot_few_projection *p, size_t i, size_t j, int64_t amount)
{
    const size_t at = i * p->n_cols;
    p->units[at + j] -= amount;
    if (p->units[at + j] == 0) {
        const int32_t last = p->served[at + --p->n_served[i]];
        p->served[at + (size_t)p->place[at + j]] = last;
        p->place[at + (size_t)last] = p->place[at + j];
        withdraw_from_all(p, i, j);
    }
}

static void give_pool(struct dpot_few_projection *p, size_t j, int64_t amount)
{
    const int is_new = p->pool[j] == 0;
    p->pool[j] += amount;
    for (size_t i = 0; p->pool[j] == p->room[j] && i < p->n_points; i++) {
        withdraw(p, i, p->n_points, j);
    }
    if (is_new) {
        p->closed[j] = 0.0;
        offer_to_all(p, p->n_points, j);
    }
}

static void take_pool(struct dpot_few_projection *p, size_t j, int64_t amount)
{
    const int was_full = p->pool[j] == p->room[j];
    p->pool[j] -= amount;
    for (size_t i = 0; was_full && i < p->n_points; i++) {
        if (p->units[i * p->n_cols + j] > 0) {
            offer(p, i, p->n_points, j);
        }
    }
    if (p->pool[j] == 0) {
        p->closed[j] = INFINITY;
        withdraw_from_all(p, p->n_points, j);
    }
}

/* Hub `to` takes over `amount` units of column j. */
static void move(struct dpot_few_projection *p, size_t from, size_t to, size_t j, int64_t amount)
{
    if (from == p->n_points) {
        take_pool(p, j, amount);
        give_point(p, to, j, amount);
    } else if (to == p->n_points) {
        give_pool(p, j, amount);
        take_point(p, from, j, amount);
    } else {
        give_point(p, to, j, amount);
        take_point(p, from, j, amount);
    }
}

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* What column j lets `to` take over. */
static int64_t capacity(const struct dpot_few_projection *p, size_t from, size_t to, size_t j)
{
    const int64_t held = from == p->n_points ? p->pool[j] : p->units[from * p->n_cols + j];
    return to == p->n_points ? least(held, p->room[j] - p->pool[j]) : held;
}

/* ---- shortest paths ---- */

struct tree {
    double distance[DPOT_FEW_HUBS_MAX];
    size_t before[DPOT_FEW_HUBS_MAX];
    size_t open[DPOT_FEW_HUBS_MAX]; /* hubs whose distance may still fall */
    size_t n_open;
};

static double above_zero(double x)
{
    return x > 0.0 ? x : 0.0;
}

static void reach_from(struct dpot_few_projection *p, struct tree *tree, size_t from)
{
    const double here = tree->distance[from];
    for (size_t k = 0; k < tree->n_open; k++) {
        const size_t to = tree->open[k];
        struct dpot_few_edge *edge = dpot_few_edge(p, from, to);
        /* Rounding may put a reduced price a little below zero. */
        const double offset = p->f[from] - p->f[to];
        if (edge->is_stale && here + above_zero(edge->price + offset) < tree->distance[to]) {
            refresh(p, from, to);
        }
        const double distance = here + above_zero(edge->price + offset);
        if (!edge->is_stale && distance < tree->distance[to]) {
            tree->distance[to] = distance;
            tree->before[to] = from;
        }
    }
}

/* Dijkstra's search from all hubs with excess to the nearest with a deficit, in reduced prices;
 * there are few hubs, so no heap. Returns that hub, or the number of hubs when none can be reached.
 */
static size_t search(struct dpot_few_projection *p, struct tree *tree)
{
    const size_t n = p->n_points + 1;
    for (size_t h = 0; h < n; h++) {
        tree->distance[h] = p->excess[h] > 0 ? 0.0 : INFINITY;
        tree->before[h] = n;
        tree->open[h] = h;
    }
    for (tree->n_open = n; tree->n_open > 0;) {
        size_t at = 0;
        for (size_t k = 1; k < tree->n_open; k++) {
            at = tree->distance[tree->open[k]] < tree->distance[tree->open[at]] ? k : at;
        }
        const size_t nearest = tree->open[at];
        if (!(tree->distance[nearest] < INFINITY)) {
            return n;
        }
        if (p->excess[nearest] < 0) {
            return nearest;
        }
        tree->open[at] = tree->open[--tree->n_open];
        reach_from(p, tree, nearest);
    }
    return n;
}

/* Invariant 2 for the potentials in which the path is free. */
static void shift_potentials(struct dpot_few_projection *p, const struct tree *tree, size_t end)
{
    for (size_t h = 0; h <= p->n_points; h++) {
        p->f[h] += fmin(tree->distance[h], tree->distance[end]);
    }
}

/* One step of a path. */
struct leg {
    size_t from, to, col;
};

/* The legs of the path to `end`, last first; how many. A hub that would hand on the very column it
 * takes over is left out: what little it can hold of it must not limit the path. */
static size_t take_legs(const struct dpot_few_projection *p, const struct tree *tree, size_t end,
                        struct leg *legs)
{
    const size_t none = p->n_points + 1;
    size_t n = 0;
    for (size_t to = end; tree->before[to] != none; n++) {
        size_t from = tree->before[to];
        const int32_t col = dpot_few_edge(p, from, to)->col;
        while (tree->before[from] != none &&
               dpot_few_edge(p, tree->before[from], from)->col == col) {
            from = tree->before[from];
        }
        legs[n] = (struct leg){from, to, (size_t)col};
        to = from;
    }
    return n;
}

static void augment(struct dpot_few_projection *p, const struct tree *tree, size_t end)
{
    struct leg legs[DPOT_FEW_HUBS_MAX];
    const size_t n = take_legs(p, tree, end, legs);
    const size_t start = legs[n - 1].from;
    int64_t amount = least(-p->excess[end], p->excess[start]);
    for (size_t k = 0; k < n; k++) {
        amount = least(amount, capacity(p, legs[k].from, legs[k].to, legs[k].col));
    }
    for (size_t k = 0; k < n; k++) {
        move(p, legs[k].from, legs[k].to, legs[k].col, amount);
    }
    p->excess[start] -= amount;
    p->excess[end] += amount;
}

/* ---- what is left when the paths run out ---- */

/* Up to `wanted` units of column j; the prices do not matter. */
static void hand_over(struct dpot_few_projection *p, size_t from, size_t to, size_t j,
                      int64_t wanted)
{
    const int64_t amount = least(wanted, capacity(p, from, to, j));
    if (amount > 0) {
        move(p, from, to, j, amount);
        p->excess[from] -= amount;
        p->excess[to] += amount;
    }
}

/* The pool first, from or to any point, so that q has its mass; points can then trade any column.
 */
static void settle(struct dpot_few_projection *p)
{
    const size_t pool = p->n_points;
    for (size_t j = 0; p->excess[pool] != 0 && j < p->n_cols; j++) {
        for (size_t i = 0; i < pool; i++) {
            const size_t from = p->excess[pool] > 0 ? pool : i, to = from == pool ? i : pool;
            hand_over(p, from, to, j, llabs(p->excess[pool]));
        }
    }
    for (size_t from = 0; from < pool; from++) {
        for (size_t to = 0; to < pool; to++) {
            for (size_t j = 0; p->excess[from] > 0 && p->excess[to] < 0 && j < p->n_cols; j++) {
                hand_over(p, from, to, j, least(p->excess[from], -p->excess[to]));
            }
        }
    }
}

static int has_excess(const struct dpot_few_projection *p)
{
    int64_t any = 0;
    for (size_t h = 0; h <= p->n_points; h++) {
        any |= p->excess[h];
    }
    return any != 0;
}

int dpot_few_augment(struct dpot_few_projection *p)
{
    for (size_t from = 0; from <= p->n_points; from++) {
        for (size_t to = 0; to <= p->n_points; to++) {
            *dpot_few_edge(p, from, to) = (struct dpot_few_edge){-INFINITY, -1, 1};
        }
    }
    p->paths = 0;
    p->looks = 0;
    while (has_excess(p)) {
        struct tree tree;
        const int may_search = p->paths < p->paths_max && p->looks < p->looks_max;
        const size_t end = may_search ? search(p, &tree) : p->n_points + 1;
        if (end > p->n_points) {
            settle(p);
            return 0;
        }
        shift_potentials(p, &tree, end);
        augment(p, &tree, end);
        p->paths++;
    }
    return 1;
}
