#include "ot/few_parts.h"

/* Steps besides reading costs: per scanned edge, per path and hub, per leg. */
#define EDGE_STEPS 4
#define PATH_STEPS 3
#define LEG_STEPS 5

#define BLOCK 32 /* columns scanned between two checks of the bound */
#define PIECE 16 /* columns that _burn scans at a time */

/* ---- edges ---- */

struct offer {
    int64_t price;
    int32_t col;
};

static size_t edge_of(const struct dpot_few_projection *p, size_t from, size_t to)
{
    return from * (p->n_rows + 1) + to;
}

/* The price at which `to` takes column j from `from`. */
static int64_t price_of(const struct dpot_few_projection *p, size_t from, size_t to, size_t j)
{
    const int64_t given = from == p->n_points ? 0 : p->costs[from][j];
    return to == p->n_points ? -given : p->costs[to][j] - given;
}

/* Hub `from` now holds units of column j. */
static void offer(struct dpot_few_projection *p, size_t from, size_t to, size_t j)
{
    const size_t edge = edge_of(p, from, to);
    const int64_t price = price_of(p, from, to, j);
    if (price < p->price[edge]) {
        p->price[edge] = price;
        p->col[edge] = (int32_t)j;
    }
}

static void offer_to_all(struct dpot_few_projection *p, size_t from, size_t j)
{
    p->steps += p->n_points + 1;
    for (size_t to = 0; to <= p->n_points; to++) {
        if (to != from && (to < p->n_points || p->pool[j] < p->room[j])) {
            offer(p, from, to, j);
        }
    }
}

static void offer_all_to_pool(struct dpot_few_projection *p, size_t j)
{
    p->steps += p->n_points;
    for (size_t i = 0; i < p->n_points; i++) {
        if (p->units[i * p->n_cols + j] > 0) {
            offer(p, i, p->n_points, j);
        }
    }
}

static void withdraw(struct dpot_few_projection *p, size_t from, size_t to, size_t j)
{
    const size_t edge = edge_of(p, from, to);
    p->price[edge] |= p->col[edge] == (int32_t)j;
}

static void withdraw_from_all(struct dpot_few_projection *p, size_t from, size_t j)
{
    p->steps += (p->n_points + 1) / 2;
    for (size_t to = 0; to <= p->n_points; to++) {
        withdraw(p, from, to, j);
    }
}

static void withdraw_all_to_pool(struct dpot_few_projection *p, size_t j)
{
    p->steps += p->n_points / 2;
    for (size_t i = 0; i < p->n_points; i++) {
        withdraw(p, i, p->n_points, j);
    }
}

/* The cheapest of columns begin..end-1 of a list (for the pool: of all columns) for `to` to take
 * over. All are read, without branches. */
static void scan_point(const struct dpot_few_projection *p, size_t from, size_t to, size_t begin,
                       size_t end, struct offer *best)
{
    const int32_t *cols = p->served + from * p->n_cols;
    const int64_t *given = p->costs[from], *taken = p->costs[to];
    for (size_t k = begin; k < end; k++) {
        const int64_t price = taken[cols[k]] - given[cols[k]];
        best->col = price < best->price ? cols[k] : best->col;
        best->price = price < best->price ? price : best->price;
    }
}

static void scan_point_to_pool(const struct dpot_few_projection *p, size_t from, size_t begin,
                               size_t end, struct offer *best)
{
    const int32_t *cols = p->served + from * p->n_cols;
    const int64_t *given = p->costs[from];
    for (size_t k = begin; k < end; k++) {
        const int32_t j = cols[k];
        const int64_t price = p->pool[j] < p->room[j] ? -given[j] : DPOT_FEW_FAR;
        best->col = price < best->price ? j : best->col;
        best->price = price < best->price ? price : best->price;
    }
}

static void scan_pool(const struct dpot_few_projection *p, size_t to, size_t begin, size_t end,
                      struct offer *best)
{
    const int64_t *taken = p->costs[to];
    for (size_t j = begin; j < end; j++) {
        const int64_t price = p->pool[j] > 0 ? taken[j] : DPOT_FEW_FAR;
        best->col = price < best->price ? (int32_t)j : best->col;
        best->price = price < best->price ? price : best->price;
    }
}

/* Makes a stale edge fresh if the budget allows a scan of all its columns. A column at the lower
 * bound ends the scan, which saves most of it where many costs tie. */
static void refresh(struct dpot_few_projection *p, size_t from, size_t to)
{
    const size_t edge = edge_of(p, from, to);
    const size_t n = from == p->n_points ? p->n_cols : p->n_served[from];
    struct offer best = {DPOT_FEW_FAR, -1};
    size_t k = 0;
    if (!dpot_few_has(p, EDGE_STEPS + n)) {
        return;
    }
    while (k < n && best.price > p->price[edge]) {
        const size_t end = k + BLOCK < n ? k + BLOCK : n;
        if (from == p->n_points) {
            scan_pool(p, to, k, end, &best);
        } else if (to == p->n_points) {
            scan_point_to_pool(p, from, k, end, &best);
        } else {
            scan_point(p, from, to, k, end, &best);
        }
        k = end;
    }
    p->steps += EDGE_STEPS + k;
    p->price[edge] = best.price;
    p->col[edge] = best.col;
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
    if (p->pool[j] == p->room[j]) {
        withdraw_all_to_pool(p, j);
    }
    if (is_new) {
        offer_to_all(p, p->n_points, j);
    }
}

static void take_pool(struct dpot_few_projection *p, size_t j, int64_t amount)
{
    const int was_full = p->pool[j] == p->room[j];
    p->pool[j] -= amount;
    if (was_full) {
        offer_all_to_pool(p, j);
    }
    if (p->pool[j] == 0) {
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

/* Units of column j that `to` can take over. */
static int64_t capacity(const struct dpot_few_projection *p, size_t from, size_t to, size_t j)
{
    const int64_t held = from == p->n_points ? p->pool[j] : p->units[from * p->n_cols + j];
    return to == p->n_points ? least(held, p->room[j] - p->pool[j]) : held;
}

/* ---- shortest paths ---- */

struct tree {
    int64_t distance[DPOT_FEW_HUBS_MAX];
    size_t before[DPOT_FEW_HUBS_MAX];
    size_t open[DPOT_FEW_HUBS_MAX]; /* hubs whose distance may still fall */
    size_t n_open;
};

static int is_stale(int64_t price)
{
    return (int)(price & 1);
}

/* Reaches hub `to` over a fresh edge. Returns whether it has a deficit and none can be nearer. */
static int reach(const struct dpot_few_projection *p, struct tree *tree, size_t from, size_t to,
                 int64_t distance)
{
    tree->distance[to] = distance;
    tree->before[to] = from;
    return distance == tree->distance[from] && p->excess[to] < 0;
}

/* Follows the edges of a hub until one ends the search: first those that need no scan, then those
 * to deficits. Returns the hub where it ends, or the number of hubs. */
static size_t reach_from(struct dpot_few_projection *p, struct tree *tree, size_t from)
{
    const int64_t *price = p->price + edge_of(p, from, 0);
    const int64_t start = tree->distance[from] + p->f[from];
    size_t stale[2][DPOT_FEW_HUBS_MAX], n_stale[2] = {0, 0};
    for (size_t k = 0; k < tree->n_open; k++) {
        const size_t to = tree->open[k];
        const int64_t distance = start + price[to] - p->f[to];
        if (distance < tree->distance[to]) {
            const int kind = p->excess[to] >= 0;
            if (is_stale(distance)) {
                stale[kind][n_stale[kind]++] = to;
            } else if (reach(p, tree, from, to, distance)) {
                return to;
            }
        }
    }
    for (int kind = 0; kind < 2; kind++) {
        for (size_t k = 0; k < n_stale[kind] && !p->is_spent; k++) {
            const size_t to = stale[kind][k];
            refresh(p, from, to);
            const int64_t distance = start + price[to] - p->f[to];
            if (distance < tree->distance[to] && !is_stale(distance) &&
                reach(p, tree, from, to, distance)) {
                return to;
            }
        }
    }
    return p->n_points + 1;
}

/* Dijkstra's algorithm, without a heap (there are few hubs), from all hubs with excess to the
 * nearest with a deficit, in reduced prices. Returns that hub, or the number of hubs if the budget
 * runs out. */
static size_t search(struct dpot_few_projection *p, struct tree *tree)
{
    const size_t n = p->n_points + 1;
    size_t end = n;
    for (size_t h = 0; h < n; h++) {
        tree->distance[h] = p->excess[h] > 0 ? 0 : DPOT_FEW_FAR;
        tree->before[h] = n;
        tree->open[h] = h;
    }
    for (tree->n_open = n; end == n && dpot_few_spend(p, tree->n_open + tree->n_open / 2);) {
        size_t at = 0;
        int64_t smallest = DPOT_FEW_FAR;
        for (size_t k = 0; k < tree->n_open; k++) {
            const int64_t distance = tree->distance[tree->open[k]];
            at = distance < smallest ? k : at;
            smallest = distance < smallest ? distance : smallest;
        }
        const size_t nearest = tree->open[at];
        tree->open[at] = tree->open[--tree->n_open];
        end = p->excess[nearest] < 0 ? nearest : reach_from(p, tree, nearest);
    }
    return p->is_spent ? n : end;
}

/* Invariant 2 for the potentials in which the path costs 0. */
static void shift_potentials(struct dpot_few_projection *p, const struct tree *tree, size_t end)
{
    for (size_t h = 0; h <= p->n_points; h++) {
        p->f[h] += least(tree->distance[h], tree->distance[end]);
    }
}

/* One step of a path. */
struct leg {
    size_t from, to, col;
};

/* The legs of the path to `end`, last first; returns how many. A hub that would pass on the same
 * column that it takes over is skipped: what it can hold of it must not limit the path. */
static size_t take_legs(const struct dpot_few_projection *p, const struct tree *tree, size_t end,
                        struct leg *legs)
{
    const size_t none = p->n_points + 1;
    size_t n = 0;
    for (size_t to = end; tree->before[to] != none; n++) {
        size_t from = tree->before[to];
        const int32_t col = p->col[edge_of(p, from, to)];
        while (tree->before[from] != none && p->col[edge_of(p, tree->before[from], from)] == col) {
            from = tree->before[from];
        }
        legs[n] = (struct leg){from, to, (size_t)col};
        to = from;
    }
    return n;
}

/* Returns 0 if the budget does not allow it. */
static int augment(struct dpot_few_projection *p, const struct tree *tree, size_t end)
{
    struct leg legs[DPOT_FEW_HUBS_MAX];
    const size_t n = take_legs(p, tree, end, legs);
    const size_t start = legs[n - 1].from;
    const uint64_t hubs = p->n_points + 1;
    if (!dpot_few_has(p, PATH_STEPS * hubs + (LEG_STEPS + 2 * hubs) * n)) {
        return 0;
    }
    p->steps += PATH_STEPS * hubs + LEG_STEPS * n;
    int64_t amount = least(-p->excess[end], p->excess[start]);
    for (size_t k = 0; k < n; k++) {
        amount = least(amount, capacity(p, legs[k].from, legs[k].to, legs[k].col));
    }
    shift_potentials(p, tree, end);
    for (size_t k = 0; k < n; k++) {
        move(p, legs[k].from, legs[k].to, legs[k].col, amount);
    }
    p->excess[start] -= amount;
    p->excess[end] += amount;
    p->left -= amount;
    p->paths++;
    return 1;
}

int dpot_few_augment(struct dpot_few_projection *p)
{
    for (size_t e = 0; e < (p->n_rows + 1) * (p->n_rows + 1); e++) {
        p->price[e] = -DPOT_FEW_FAR | 1;
        p->col[e] = -1;
    }
    p->paths = 0;
    p->left = 0;
    for (size_t h = 0; h <= p->n_points; h++) {
        p->left += p->excess[h] > 0 ? p->excess[h] : 0;
    }
    while (p->left > 0) {
        struct tree tree;
        const size_t end = search(p, &tree);
        if (end > p->n_points || !augment(p, &tree, end)) {
            return 0;
        }
    }
    return 1;
}

/* ---- the rest of the budget ---- */

/* Gives every point an equal share of the columns. */
static void share_columns(struct dpot_few_projection *p, size_t share)
{
    for (size_t i = 0; i < p->n_rows; i++) {
        p->costs[i] = p->cost + i * p->n_cols;
        for (size_t k = 0; k < share; k++) {
            p->served[i * p->n_cols + k] = (int32_t)((i * share + k) % p->n_cols);
        }
    }
}

/* Scans edge after edge, a piece of a list at a time; the pieces are so short that a step costs as
 * much as in a search. */
uint64_t dpot_few_projection_burn(struct dpot_few_projection *p)
{
    const size_t n = p->n_rows, share = (p->n_cols + n - 1) / n;
    size_t from = 0, to = 0, begin = 0;
    share_columns(p, share);
    while (p->budget - p->steps > EDGE_STEPS) {
        struct offer best = {DPOT_FEW_FAR, -1};
        const uint64_t left = p->budget - p->steps - EDGE_STEPS;
        const size_t piece = share - begin < PIECE ? share - begin : PIECE;
        const size_t looks = left < piece ? (size_t)left : piece;
        scan_point(p, from, to, begin, begin + looks, &best);
        p->burnt = best.price;
        p->steps += EDGE_STEPS + looks;
        to = to + 1 < n ? to + 1 : 0;
        from = to > 0 ? from : from + 1 < n ? from + 1 : 0;
        begin = to > 0 || from > 0 ? begin : begin + piece < share ? begin + piece : 0;
    }
    p->steps = p->budget;
    return p->steps;
}
