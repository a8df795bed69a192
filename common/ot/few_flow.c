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
    const int64_t given = from == p->n_points ? 0 : dpot_few_cost(p->costs[from][j]);
    return to == p->n_points ? -given : dpot_few_cost(p->costs[to][j]) - given;
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
        if (dpot_few_find(p, i, j) != DPOT_FEW_NO_PAIR) {
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

/* Keeps the cheaper of two offers. */
static void improve(struct offer *best, int64_t price, int32_t col)
{
    if (price < best->price) {
        *best = (struct offer){price, col};
    }
}

/* The cheapest of `n` columns for a point to take over from another one. All are read, without
 * branches, in 32 bits. */
static void scan_point(const uint32_t *given, const uint32_t *taken, const int32_t *cols, size_t n,
                       struct offer *best)
{
    int32_t least = INT32_MAX, col = -1;
    for (size_t k = 0; k < n; k++) {
        const int32_t j = cols[k], price = (int32_t)(taken[j] - given[j]);
        col = price < least ? j : col;
        least = price < least ? price : least;
    }
    improve(best, (int64_t)least * DPOT_FEW_POINTS, col);
}

static void scan_point_to_pool(const struct dpot_few_projection *p, const uint32_t *given,
                               const int32_t *cols, size_t n, struct offer *best)
{
    int32_t most = -1, col = -1;
    for (size_t k = 0; k < n; k++) {
        const int32_t j = cols[k], cost = p->pool[j] < p->room[j] ? (int32_t)given[j] : -1;
        col = cost > most ? j : col;
        most = cost > most ? cost : most;
    }
    improve(best, most < 0 ? DPOT_FEW_FAR : -dpot_few_cost((uint32_t)most), col);
}

static void scan_pool(const struct dpot_few_projection *p, const uint32_t *taken, size_t begin,
                      size_t end, struct offer *best)
{
    uint32_t least = UINT32_MAX;
    int32_t col = -1;
    for (size_t j = begin; j < end; j++) {
        const uint32_t cost = p->pool[j] > 0 ? taken[j] : UINT32_MAX;
        col = cost < least ? (int32_t)j : col;
        least = cost < least ? cost : least;
    }
    improve(best, col < 0 ? DPOT_FEW_FAR : dpot_few_cost(least), col);
}

/* Makes a stale edge fresh if the budget allows a scan of all its columns. A column at the lower
 * bound ends the scan, which saves most of it where many costs tie. */
static void refresh(struct dpot_few_projection *p, size_t from, size_t to)
{
    const size_t edge = edge_of(p, from, to);
    const size_t n =
        from == p->n_points ? p->n_cols : (size_t)(p->begin[from + 1] - p->begin[from]);
    const int32_t *cols = from == p->n_points ? NULL : p->cols + p->begin[from];
    struct offer best = {DPOT_FEW_FAR, -1};
    size_t k = 0;
    if (!dpot_few_has(p, EDGE_STEPS + n)) {
        return;
    }
    while (k < n && best.price > p->price[edge]) {
        const size_t end = k + BLOCK < n ? k + BLOCK : n;
        if (from == p->n_points) {
            scan_pool(p, p->costs[to], k, end, &best);
        } else if (to == p->n_points) {
            scan_point_to_pool(p, p->costs[from], cols + k, end - k, &best);
        } else {
            scan_point(p->costs[from], p->costs[to], cols + k, end - k, &best);
        }
        k = end;
    }
    p->steps += EDGE_STEPS + k;
    p->price[edge] = best.price;
    p->col[edge] = best.col;
}

/* ---- pairs ---- */

int32_t dpot_few_find(const struct dpot_few_projection *p, size_t i, size_t j)
{
    int32_t pair = p->head[j];
    while (pair != DPOT_FEW_NO_PAIR && (pair < p->begin[i] || pair >= p->begin[i + 1])) {
        pair = p->next[pair];
    }
    return pair;
}

/* Where the list of a column refers to this pair. */
static int32_t *link_to(struct dpot_few_projection *p, int32_t pair)
{
    int32_t *link = &p->head[p->cols[pair]];
    while (*link != pair) {
        link = &p->next[*link];
    }
    return link;
}

static void relocate(struct dpot_few_projection *p, int32_t pair, int32_t place)
{
    if (pair != place) {
        *link_to(p, pair) = place;
        p->cols[place] = p->cols[pair];
        p->units[place] = p->units[pair];
        p->next[place] = p->next[pair];
    }
}

/* Of every later point, the first pair goes behind its last one: that leaves a place after the
 * pairs of point i. */
static void add_pair(struct dpot_few_projection *p, size_t i, size_t j, int64_t units)
{
    for (size_t k = p->n_points; k > i + 1; k--) {
        relocate(p, p->begin[k - 1], p->begin[k]);
        p->begin[k]++;
    }
    const int32_t pair = p->begin[i + 1]++;
    p->cols[pair] = (int32_t)j;
    p->units[pair] = units;
    p->next[pair] = p->head[j];
    p->head[j] = pair;
}

/* The last pair of the point takes its place, and so on for every later point. */
static void remove_pair(struct dpot_few_projection *p, size_t i, int32_t pair)
{
    *link_to(p, pair) = p->next[pair];
    for (size_t k = i + 1; k <= p->n_points; k++) {
        const int32_t last = --p->begin[k];
        relocate(p, last, pair);
        pair = last;
    }
}

/* ---- flow ---- */

static void give_point(struct dpot_few_projection *p, size_t i, size_t j, int64_t amount)
{
    const int32_t pair = dpot_few_find(p, i, j);
    if (pair != DPOT_FEW_NO_PAIR) {
        p->units[pair] += amount;
    } else {
        add_pair(p, i, j, amount);
        offer_to_all(p, i, j);
    }
}

static void take_point(struct dpot_few_projection *p, size_t i, size_t j, int64_t amount)
{
    const int32_t pair = dpot_few_find(p, i, j);
    p->units[pair] -= amount;
    if (p->units[pair] == 0) {
        remove_pair(p, i, pair);
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
    const int64_t held = from == p->n_points ? p->pool[j] : p->units[dpot_few_find(p, from, j)];
    return to == p->n_points ? least(held, p->room[j] - p->pool[j]) : held;
}

/* ---- shortest paths ---- */

static int is_stale(int64_t price)
{
    return (int)(price & 1);
}

/* Reaches hub `to` over a fresh edge. Returns whether it has a deficit and none can be nearer. */
static int reach(struct dpot_few_projection *p, size_t from, size_t to, int64_t distance)
{
    p->distance[to] = distance;
    p->before[to] = (uint8_t)from;
    return distance == p->distance[from] && p->excess[to] < 0;
}

/* Follows the edges of a hub until one ends the search: first those that need no scan, then those
 * to deficits. Returns the hub where it ends, or the number of hubs. */
static size_t reach_from(struct dpot_few_projection *p, size_t from)
{
    const int64_t *price = p->price + edge_of(p, from, 0);
    const int64_t start = p->distance[from] + p->f[from];
    uint8_t stale[2][DPOT_FEW_HUBS_MAX];
    size_t n_stale[2] = {0, 0};
    for (size_t k = 0; k < p->n_open; k++) {
        const size_t to = p->open[k];
        const int64_t distance = start + price[to] - p->f[to];
        if (distance < p->distance[to]) {
            const int kind = p->excess[to] >= 0;
            if (is_stale(distance)) {
                stale[kind][n_stale[kind]++] = (uint8_t)to;
            } else if (reach(p, from, to, distance)) {
                return to;
            }
        }
    }
    for (int kind = 0; kind < 2; kind++) {
        for (size_t k = 0; k < n_stale[kind] && !p->is_spent; k++) {
            const size_t to = stale[kind][k];
            refresh(p, from, to);
            const int64_t distance = start + price[to] - p->f[to];
            if (distance < p->distance[to] && !is_stale(distance) && reach(p, from, to, distance)) {
                return to;
            }
        }
    }
    return p->n_points + 1;
}

/* Dijkstra's algorithm, without a heap (there are few hubs), from all hubs with excess to the
 * nearest with a deficit, in reduced prices. Returns that hub, or the number of hubs if the budget
 * runs out. */
static size_t search(struct dpot_few_projection *p)
{
    const size_t n = p->n_points + 1;
    size_t end = n;
    for (size_t h = 0; h < n; h++) {
        p->distance[h] = p->excess[h] > 0 ? 0 : DPOT_FEW_FAR;
        p->before[h] = (uint8_t)n;
        p->open[h] = (uint8_t)h;
    }
    for (p->n_open = n; end == n && dpot_few_spend(p, p->n_open + p->n_open / 2);) {
        size_t at = 0;
        int64_t smallest = DPOT_FEW_FAR;
        for (size_t k = 0; k < p->n_open; k++) {
            const int64_t distance = p->distance[p->open[k]];
            at = distance < smallest ? k : at;
            smallest = distance < smallest ? distance : smallest;
        }
        const size_t nearest = p->open[at];
        p->open[at] = p->open[--p->n_open];
        end = p->excess[nearest] < 0 ? nearest : reach_from(p, nearest);
    }
    return p->is_spent ? n : end;
}

/* Invariant 2 for the potentials in which the path costs 0. */
static void shift_potentials(struct dpot_few_projection *p, size_t end)
{
    for (size_t h = 0; h <= p->n_points; h++) {
        p->f[h] += least(p->distance[h], p->distance[end]);
    }
}

/* The legs of the path to `end`, last first; returns how many. A hub that would pass on the same
 * column that it takes over is skipped: what it can hold of it must not limit the path. */
static size_t take_legs(struct dpot_few_projection *p, size_t end)
{
    const size_t none = p->n_points + 1;
    size_t n = 0;
    for (size_t to = end; p->before[to] != none; n++) {
        size_t from = p->before[to];
        const int32_t col = p->col[edge_of(p, from, to)];
        while (p->before[from] != none && p->col[edge_of(p, p->before[from], from)] == col) {
            from = p->before[from];
        }
        p->legs[n] = (struct dpot_few_leg){(uint8_t)from, (uint8_t)to, col};
        to = from;
    }
    return n;
}

/* Returns 0 if the budget does not allow it. */
static int augment(struct dpot_few_projection *p, size_t end)
{
    const struct dpot_few_leg *legs = p->legs;
    const size_t n = take_legs(p, end), start = legs[n - 1].from;
    const uint64_t hubs = p->n_points + 1;
    if ((size_t)p->begin[p->n_points] + n > p->n_pairs_max ||
        !dpot_few_has(p, PATH_STEPS * hubs + (LEG_STEPS + 2 * hubs) * n)) {
        return 0;
    }
    p->steps += PATH_STEPS * hubs + LEG_STEPS * n;
    int64_t amount = least(-p->excess[end], p->excess[start]);
    for (size_t k = 0; k < n; k++) {
        amount = least(amount, capacity(p, legs[k].from, legs[k].to, (size_t)legs[k].col));
    }
    shift_potentials(p, end);
    for (size_t k = 0; k < n; k++) {
        move(p, legs[k].from, legs[k].to, (size_t)legs[k].col, amount);
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
        const size_t end = search(p);
        if (end > p->n_points || !augment(p, end)) {
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
    }
    for (size_t k = 0; k < share * p->n_rows; k++) {
        p->cols[k] = (int32_t)(k % p->n_cols);
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
        scan_point(p->costs[from], p->costs[to], p->cols + from * share + begin, looks, &best);
        p->burnt = best.price;
        p->steps += EDGE_STEPS + looks;
        to = to + 1 < n ? to + 1 : 0;
        from = to > 0 ? from : from + 1 < n ? from + 1 : 0;
        begin = to > 0 || from > 0 ? begin : begin + piece < share ? begin + piece : 0;
    }
    p->steps = p->budget;
    return p->steps;
}
