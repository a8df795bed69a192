#include "ot/transport_simplex.h"

#include "ot/transport_tree.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define NONE (-1)
#define LANES 8
#define BARRED DPOT_TRANSPORT_BARRED

/* Candidates are the best arcs of strips of a cost row; the length of a strip is the square root of
 * the number of arcs divided by STRIP_SHARE. Half of them are used before new ones are gathered.
 * Tuned on clouds of 1000 to 4000 points. */
#define STRIP_SHARE 4
#define STRIP_LEAST 64
#define STRIP_MOST 500
#define PICKS_MAX (DPOT_TRANSPORT_CANDIDATES / 2)

/* Pivots per node after which the tolerance grows: far more than any problem needs. The proof
 * against cycling does not cover rounding in the potentials; this ensures termination. */
#define PATIENCE 4000

dpot_status dpot_transport_simplex_init(struct dpot_transport_simplex *t, size_t n_rows,
                                        size_t n_cols, const struct dpot_allocator *allocator)
{
    const size_t n_nodes = n_rows + n_cols;
    memset(t, 0, sizeof *t);
    t->n_rows = n_rows;
    t->n_cols = n_cols;
    t->allocator = allocator;
    t->supply = dpot_alloc_array(allocator, n_rows, sizeof *t->supply);
    t->demand = dpot_alloc_array(allocator, n_cols, sizeof *t->demand);
    t->f = dpot_alloc_array(allocator, n_nodes, sizeof *t->f);
    t->minus_g = t->f ? t->f + n_rows : NULL;
    t->parent = dpot_alloc_array(allocator, n_nodes, sizeof *t->parent);
    t->flow = dpot_alloc_array(allocator, n_nodes, sizeof *t->flow);
    t->next = dpot_alloc_array(allocator, n_nodes, sizeof *t->next);
    t->previous = dpot_alloc_array(allocator, n_nodes, sizeof *t->previous);
    t->last = dpot_alloc_array(allocator, n_nodes, sizeof *t->last);
    t->size = dpot_alloc_array(allocator, n_nodes, sizeof *t->size);
    t->rows = dpot_alloc_array(allocator, n_rows, sizeof *t->rows);
    if (!t->supply || !t->demand || !t->f || !t->parent || !t->flow || !t->next || !t->previous ||
        !t->last || !t->size || !t->rows) {
        dpot_transport_simplex_release(t);
        return DPOT_ERR_MEMORY;
    }
    return DPOT_OK;
}

void dpot_transport_simplex_release(struct dpot_transport_simplex *t)
{
    const struct dpot_allocator *allocator = t->allocator;
    const size_t n_nodes = t->n_rows + t->n_cols;
    dpot_free_array(allocator, t->supply, t->n_rows, sizeof *t->supply);
    dpot_free_array(allocator, t->demand, t->n_cols, sizeof *t->demand);
    dpot_free_array(allocator, t->f, n_nodes, sizeof *t->f);
    dpot_free_array(allocator, t->parent, n_nodes, sizeof *t->parent);
    dpot_free_array(allocator, t->flow, n_nodes, sizeof *t->flow);
    dpot_free_array(allocator, t->next, n_nodes, sizeof *t->next);
    dpot_free_array(allocator, t->previous, n_nodes, sizeof *t->previous);
    dpot_free_array(allocator, t->last, n_nodes, sizeof *t->last);
    dpot_free_array(allocator, t->size, n_nodes, sizeof *t->size);
    dpot_free_array(allocator, t->rows, t->n_rows, sizeof *t->rows);
    memset(t, 0, sizeof *t);
}

const double *dpot_transport_simplex_cost_at(const struct dpot_transport_simplex *t, size_t row,
                                             size_t col)
{
    if (t->slack && row == t->n_rows - 1) {
        return t->slack + col;
    }
    return t->cost + row * t->width + col % t->width;
}

static int32_t node_of_col(const struct dpot_transport_simplex *t, size_t col)
{
    return (int32_t)(t->n_rows + col);
}

/* The smallest cost_j - g_j; independent lanes, for the vectoriser. */
static double smallest_reduced(const double *cost, const double *minus_g, size_t n)
{
    const size_t n_blocks = n - n % LANES;
    double lanes[LANES];
    for (size_t k = 0; k < LANES; k++) {
        lanes[k] = INFINITY;
    }
    for (size_t j = 0; j < n_blocks; j += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            const double x = cost[j + k] + minus_g[j + k];
            lanes[k] = x < lanes[k] ? x : lanes[k];
        }
    }
    double smallest = INFINITY;
    for (size_t j = n_blocks; j < n; j++) {
        const double x = cost[j] + minus_g[j];
        smallest = x < smallest ? x : smallest;
    }
    for (size_t k = 0; k < LANES; k++) {
        smallest = lanes[k] < smallest ? lanes[k] : smallest;
    }
    return smallest;
}

/* The first j with this value of cost_j - g_j, which smallest_reduced found. */
static size_t locate_reduced(const double *cost, const double *minus_g, size_t n, double value)
{
    size_t j = 0;
    for (int is_here = 0; j + LANES <= n; j += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            is_here |= cost[j + k] + minus_g[j + k] == value;
        }
        if (is_here) {
            break;
        }
    }
    while (j + 1 < n && cost[j] + minus_g[j] != value) {
        j++;
    }
    return j;
}

/* The open column with the smallest `key`; a closed one has g = -BARRED. */
static size_t cheapest_open_col(const struct dpot_transport_simplex *t, size_t row,
                                const double *key)
{
    double best = INFINITY;
    size_t col = 0;
    for (size_t start = 0; start < t->n_cols; start += t->width) {
        const double *values = key ? key + start : dpot_transport_simplex_cost_at(t, row, start);
        const double smallest = smallest_reduced(values, t->minus_g + start, t->width);
        if (smallest < best) {
            best = smallest;
            col = start + locate_reduced(values, t->minus_g + start, t->width, smallest);
        }
    }
    return col;
}

/* Serves one row from its cheapest open columns until it is exhausted. A column that is filled
 * becomes a child of the row with its flow, which is positive; an exhausted row becomes a child of
 * a column. In a tie the column goes first, so that only a row can have zero flow: this makes the
 * tree strongly feasible. Returns the number of columns still open. */
static size_t serve_row(struct dpot_transport_simplex *t, int32_t row, const double *key,
                        size_t n_open)
{
    while (n_open > 1) {
        const size_t col = cheapest_open_col(t, (size_t)row, key);
        const int32_t node = node_of_col(t, col);
        if (t->demand[col] > t->supply[row]) {
            dpot_transport_tree_hang(t, row, node, t->supply[row]);
            t->demand[col] -= t->supply[row];
            return n_open;
        }
        dpot_transport_tree_hang(t, node, row, t->demand[col]);
        t->supply[row] -= t->demand[col];
        t->minus_g[col] = BARRED;
        n_open--;
    }
    return n_open;
}

/* The initial tree: rows in order, the slack row first, each to its cheapest open columns. The last
 * row or column takes all the others and is the root. */
static void build_tree(struct dpot_transport_simplex *t, const double *preference)
{
    size_t n_open = 0, r = 0;
    for (size_t j = 0; j < t->n_cols; j++) {
        t->minus_g[j] = t->demand[j] > 0 ? 0.0 : BARRED;
        n_open += t->demand[j] > 0;
    }
    for (; r + 1 < t->n_active_rows && n_open > 1; r++) {
        const int is_slack = t->slack && (size_t)t->rows[r] == t->n_rows - 1;
        n_open = serve_row(t, t->rows[r], is_slack ? preference : NULL, n_open);
        if (n_open == 1) {
            break; /* this row is not in the tree yet */
        }
    }
    if (n_open == 1) {
        size_t col = 0;
        while (t->minus_g[col] == BARRED) {
            col++;
        }
        t->root = node_of_col(t, col);
        for (; r < t->n_active_rows; r++) {
            dpot_transport_tree_hang(t, t->rows[r], t->root, t->supply[t->rows[r]]);
        }
        return;
    }
    t->root = t->rows[r];
    for (size_t j = 0; j < t->n_cols; j++) {
        if (t->minus_g[j] != BARRED) {
            dpot_transport_tree_hang(t, node_of_col(t, j), t->root, t->demand[j]);
        }
    }
}

static double reduced_cost(const struct dpot_transport_simplex *t, struct dpot_transport_arc arc)
{
    const size_t row = (size_t)arc.row, col = (size_t)arc.col;
    return *dpot_transport_simplex_cost_at(t, row, col) + t->minus_g[col] - t->f[row];
}

/* Adds the best arc of the next strip to the candidates if its reduced cost is negative. Returns
 * the number of arcs scanned, at most `most`. */
static size_t scan_strip(struct dpot_transport_simplex *t, size_t most)
{
    const size_t row = (size_t)t->rows[t->cursor_row], col = t->cursor_col;
    const size_t to_edge = t->width - col % t->width, n = to_edge < most ? to_edge : most;
    const double *cost = dpot_transport_simplex_cost_at(t, row, col);
    const double smallest = smallest_reduced(cost, t->minus_g + col, n);
    if (smallest - t->f[row] < -t->tol) {
        const size_t at = locate_reduced(cost, t->minus_g + col, n, smallest);
        t->candidates[t->n_candidates++] =
            (struct dpot_transport_arc){(int32_t)row, (int32_t)(col + at)};
    }
    t->cursor_col += n;
    if (t->cursor_col == t->n_cols) {
        t->cursor_col = 0;
        t->cursor_row = t->cursor_row + 1 == t->n_active_rows ? 0 : t->cursor_row + 1;
    }
    return n;
}

/* New candidates, from where the last search ended; fewer than the maximum only if all arcs were
 * scanned. */
static void gather(struct dpot_transport_simplex *t, size_t strip)
{
    size_t left = t->n_active_rows * t->n_cols;
    t->n_candidates = t->n_picks = 0;
    while (left > 0 && t->n_candidates < DPOT_TRANSPORT_CANDIDATES) {
        left -= scan_strip(t, strip < left ? strip : left);
    }
}

/* Drops the candidates whose reduced cost is no longer negative and removes the best of the others.
 * Returns 0 if there is none. */
static int pick(struct dpot_transport_simplex *t, struct dpot_transport_arc *arc, double *reduced)
{
    double best = -t->tol;
    size_t n = 0, at = 0;
    for (size_t k = 0; k < t->n_candidates; k++) {
        const double cost = reduced_cost(t, t->candidates[k]);
        if (cost < -t->tol) {
            at = cost < best ? n : at;
            best = cost < best ? cost : best;
            t->candidates[n++] = t->candidates[k];
        }
    }
    t->n_candidates = n;
    if (n == 0) {
        return 0;
    }
    *arc = t->candidates[at];
    *reduced = best;
    t->candidates[at] = t->candidates[--t->n_candidates];
    t->n_picks++;
    return 1;
}

/* An arc of negative reduced cost. Returns 0 when none is left. */
static int find_entering(struct dpot_transport_simplex *t, size_t strip,
                         struct dpot_transport_arc *arc, double *reduced)
{
    if (t->n_picks < PICKS_MAX && pick(t, arc, reduced)) {
        return 1;
    }
    gather(t, strip);
    return pick(t, arc, reduced);
}

static double largest_potential(const struct dpot_transport_simplex *t)
{
    double largest = 0.0;
    for (size_t r = 0; r < t->n_active_rows; r++) {
        largest = fmax(largest, fabs(t->f[t->rows[r]]));
    }
    for (size_t j = 0; j < t->n_cols; j++) {
        largest = fmax(largest, t->minus_g[j] == BARRED ? 0.0 : fabs(t->minus_g[j]));
    }
    return largest;
}

/* Recomputes the potentials of the tree, which accumulate rounding in the pivots. Reduced costs are
 * then right to a few units in the last place of the potentials, which sets the tolerance; the
 * largest cost does not matter, since no plan need use it. */
static void settle_tree(struct dpot_transport_simplex *t)
{
    t->f[t->root] = 0.0;
    for (int32_t node = t->next[t->root]; node != NONE; node = t->next[node]) {
        const int32_t parent = t->parent[node];
        const size_t row = (size_t)((size_t)node < t->n_rows ? node : parent);
        const size_t col = (size_t)((size_t)node < t->n_rows ? parent : node) - t->n_rows;
        const double cost = *dpot_transport_simplex_cost_at(t, row, col);
        t->f[node] = t->f[parent] + ((size_t)node < t->n_rows ? cost : -cost);
    }
    t->tol = 8.0 * DBL_EPSILON * largest_potential(t) + t->extra_tol;
}

static double largest_cost(const struct dpot_transport_simplex *t)
{
    const size_t n_rows = t->slack ? t->n_rows - 1 : t->n_rows;
    double largest = 0.0;
    for (size_t i = 0; i < n_rows * t->width; i++) {
        largest = fabs(t->cost[i]) > largest ? fabs(t->cost[i]) : largest;
    }
    return largest;
}

/* An empty tree, and the list of rows with mass (the slack row first). */
static void prepare(struct dpot_transport_simplex *t)
{
    const size_t n_nodes = t->n_rows + t->n_cols;
    t->minus_g = t->f + t->n_rows;
    for (size_t i = 0; i < n_nodes; i++) {
        t->parent[i] = t->next[i] = t->previous[i] = NONE;
        t->last[i] = (int32_t)i;
        t->flow[i] = 0;
    }
    t->n_active_rows = 0;
    for (size_t k = 0; k < t->n_rows; k++) {
        const size_t i = t->slack ? (k + t->n_rows - 1) % t->n_rows : k;
        if (t->supply[i] > 0) {
            t->rows[t->n_active_rows++] = (int32_t)i;
        }
    }
    t->extra_tol = 0.0;
    t->cursor_row = t->cursor_col = 0;
    t->n_candidates = t->n_picks = 0;
    t->pivots = 0;
}

/* Pivots from the current tree until no arc has a negative reduced cost. */
static void improve(struct dpot_transport_simplex *t)
{
    settle_tree(t);
    const size_t n_nodes = t->n_rows + t->n_cols;
    const double n_arcs = (double)t->n_active_rows * (double)t->n_cols;
    const size_t strip = (size_t)fmin(fmax(sqrt(n_arcs) / STRIP_SHARE, STRIP_LEAST), STRIP_MOST);
    int is_settled = 1;
    for (;;) {
        struct dpot_transport_arc arc = {0, 0};
        double reduced = 0.0;
        if (!find_entering(t, strip, &arc, &reduced)) {
            if (is_settled) {
                return;
            }
            settle_tree(t);
            is_settled = 1;
            continue;
        }
        dpot_transport_tree_pivot(t, arc, reduced);
        is_settled = 0;
        t->pivots++;
        if (t->pivots % n_nodes == 0) {
            settle_tree(t);
            is_settled = 1;
        }
        if (t->pivots % (n_nodes * PATIENCE) == 0) {
            t->extra_tol = fmax(10.0 * t->extra_tol, DBL_EPSILON * largest_cost(t));
            t->tol += t->extra_tol;
        }
    }
}

void dpot_transport_simplex_solve(struct dpot_transport_simplex *t, const double *preference)
{
    prepare(t);
    build_tree(t, preference);
    dpot_transport_tree_count(t);
    improve(t);
}

void dpot_transport_simplex_resume(struct dpot_transport_simplex *t)
{
    t->extra_tol = 0.0;
    t->cursor_row = t->cursor_col = 0;
    t->n_candidates = t->n_picks = 0;
    t->pivots = 0;
    improve(t);
}
