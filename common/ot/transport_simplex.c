#include "ot/transport_simplex.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define NONE (-1)
#define LANES 8
#define BARRED DPOT_TRANSPORT_BARRED

/* Pivots after which the tolerance grows, in multiples of the number of nodes. Far more than any
 * problem has been seen to need: it is there so that rounding in the potentials, which the argument
 * against cycling does not cover, cannot keep the method busy for ever. */
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
    t->depth = dpot_alloc_array(allocator, n_nodes, sizeof *t->depth);
    t->rows = dpot_alloc_array(allocator, n_rows, sizeof *t->rows);
    if (!t->supply || !t->demand || !t->f || !t->parent || !t->flow || !t->next || !t->previous ||
        !t->last || !t->depth || !t->rows) {
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
    dpot_free_array(allocator, t->depth, n_nodes, sizeof *t->depth);
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

static int is_row(const struct dpot_transport_simplex *t, int32_t node)
{
    return (size_t)node < t->n_rows;
}

static int32_t node_of_col(const struct dpot_transport_simplex *t, size_t col)
{
    return (int32_t)(t->n_rows + col);
}

/* The smallest cost_j - g_j; independent lanes, so that the compiler may vectorise them. */
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

/* The first place where cost_j - g_j takes a value that smallest_reduced found. */
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

/* In the order of the tree, `node` and its subtree come right after `parent`. Where this was a leaf, it
 * was the end of some subtrees: now `end` is. */
static void extend(struct dpot_transport_simplex *t, int32_t parent, int32_t end)
{
    for (int32_t node = parent; node != NONE && t->last[node] == parent; node = t->parent[node]) {
        t->last[node] = end;
    }
}

static void link_nodes(struct dpot_transport_simplex *t, int32_t before, int32_t after)
{
    t->next[before] = after;
    if (after != NONE) {
        t->previous[after] = before;
    }
}

/* A node whose subtree is a list of its own. */
static void hang(struct dpot_transport_simplex *t, int32_t node, int32_t parent, int64_t flow)
{
    const int32_t end = t->last[node];
    t->parent[node] = parent;
    t->flow[node] = flow;
    link_nodes(t, end, t->next[parent]);
    link_nodes(t, parent, node);
    extend(t, parent, end);
}

/* Serves one row from its cheapest open columns until it is exhausted. A column that runs out hangs
 * below the row with the flow it took, which is positive; a row that runs out hangs below a column.
 * Of a tie the column goes first, so that only a row can be left with nothing: that is what makes
 * the tree strongly feasible. Returns the number of columns still open. */
static size_t serve_row(struct dpot_transport_simplex *t, int32_t row, const double *key,
                        size_t n_open)
{
    while (n_open > 1) {
        const size_t col = cheapest_open_col(t, (size_t)row, key);
        const int32_t node = node_of_col(t, col);
        if (t->demand[col] > t->supply[row]) {
            hang(t, row, node, t->supply[row]);
            t->demand[col] -= t->supply[row];
            return n_open;
        }
        hang(t, node, row, t->demand[col]);
        t->supply[row] -= t->demand[col];
        t->minus_g[col] = BARRED;
        n_open--;
    }
    return n_open;
}

/* The starting tree: rows in their order, the slack row first, each to its cheapest open columns.
 * It ends when one row or one column is left, which takes all the others and is the root. */
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
            break; /* this row is not exhausted, or has nothing left but is not hung yet */
        }
    }
    if (n_open == 1) {
        size_t col = 0;
        while (t->minus_g[col] == BARRED) {
            col++;
        }
        t->root = node_of_col(t, col);
        for (; r < t->n_active_rows; r++) {
            hang(t, t->rows[r], t->root, t->supply[t->rows[r]]);
        }
        return;
    }
    t->root = t->rows[r];
    for (size_t j = 0; j < t->n_cols; j++) {
        if (t->minus_g[j] != BARRED) {
            hang(t, node_of_col(t, j), t->root, t->demand[j]);
        }
    }
}

/* Looks for an arc of negative reduced cost, block by block from where the last search ended, and
 * takes the most negative of the first block that has one. Returns 0 when no arc is left. */
static int find_entering(struct dpot_transport_simplex *t, size_t block, size_t *row_out,
                         size_t *col_out, double *reduced_out)
{
    double best = -t->tol;
    size_t in_block = 0, left = t->n_active_rows * t->n_cols;
    int is_found = 0;
    while (left > 0) {
        const size_t row = (size_t)t->rows[t->cursor_row], col = t->cursor_col;
        const size_t to_edge = t->width - col % t->width, to_block = block - in_block;
        size_t n = to_edge < to_block ? to_edge : to_block;
        n = n < left ? n : left;
        const double *cost = dpot_transport_simplex_cost_at(t, row, col);
        const double smallest = smallest_reduced(cost, t->minus_g + col, n);
        if (smallest - t->f[row] < best) {
            best = smallest - t->f[row];
            *row_out = row;
            *col_out = col + locate_reduced(cost, t->minus_g + col, n, smallest);
            is_found = 1;
        }
        left -= n;
        in_block += n;
        t->cursor_col += n;
        if (t->cursor_col == t->n_cols) {
            t->cursor_col = 0;
            t->cursor_row = t->cursor_row + 1 == t->n_active_rows ? 0 : t->cursor_row + 1;
        }
        if (in_block == block) {
            in_block = 0;
            if (is_found) {
                break;
            }
        }
    }
    *reduced_out = best;
    return is_found;
}

static int32_t find_apex(const struct dpot_transport_simplex *t, int32_t a, int32_t b)
{
    while (a != b) {
        if (t->depth[a] >= t->depth[b]) {
            a = t->parent[a];
        } else {
            b = t->parent[b];
        }
    }
    return a;
}

/* The arc that leaves: flow falls on the arcs against the cycle's sense, which is that of the
 * entering arc. Of several that reach zero together it is the last one met when the cycle is run
 * through from the apex; this keeps the tree strongly feasible. Returns the lower end of the arc. */
static int32_t find_leaving(const struct dpot_transport_simplex *t, int32_t row, int32_t col,
                            int32_t apex, int64_t *amount, int *is_on_row_side)
{
    int32_t leaving = NONE;
    int64_t smallest = INT64_MAX;
    for (int32_t node = row; node != apex; node = t->parent[node]) {
        if (is_row(t, node) && t->flow[node] < smallest) {
            smallest = t->flow[node];
            leaving = node;
            *is_on_row_side = 1;
        }
    }
    for (int32_t node = col; node != apex; node = t->parent[node]) {
        if (!is_row(t, node) && t->flow[node] <= smallest) {
            smallest = t->flow[node];
            leaving = node;
            *is_on_row_side = 0;
        }
    }
    *amount = smallest;
    return leaving;
}

static void push_flow(struct dpot_transport_simplex *t, int32_t row, int32_t col, int32_t apex,
                      int64_t amount)
{
    for (int32_t node = row; node != apex; node = t->parent[node]) {
        t->flow[node] += is_row(t, node) ? -amount : amount;
    }
    for (int32_t node = col; node != apex; node = t->parent[node]) {
        t->flow[node] += is_row(t, node) ? amount : -amount;
    }
}

/* Takes the subtree of `top` out of the order. */
static void cut(struct dpot_transport_simplex *t, int32_t top)
{
    const int32_t end = t->last[top], before = t->previous[top];
    link_nodes(t, before, t->next[end]);
    t->next[end] = NONE;
    for (int32_t node = t->parent[top]; node != NONE && t->last[node] == end;
         node = t->parent[node]) {
        t->last[node] = before;
    }
}

static void shift(struct dpot_transport_simplex *t, int32_t from, int32_t to, double potential,
                  int32_t depth)
{
    for (int32_t node = from;; node = t->next[node]) {
        t->f[node] += potential;
        t->depth[node] += depth;
        if (node == to) {
            return;
        }
    }
}

/* Cuts the subtree of `leaving` off and hangs it by its node `top` below `parent`: the arcs between
 * top and leaving turn round, and potentials shift so that the entering arc has reduced cost zero.
 *
 * Let top = v_0, v_1, ..., v_k = leaving be the way up, S_i the subtree of v_i so far. The new order is S_0,
 * S_1 without S_0, S_2 without S_1, ...: each block begins with its v_i, which becomes a child of v_(i-1), and
 * all subtrees end where the last block does. */
static void rehang(struct dpot_transport_simplex *t, int32_t leaving, int32_t top, int32_t parent,
                   int64_t flow, double potential)
{
    cut(t, leaving);
    const int32_t resume = t->next[parent];
    int32_t node = top, above = parent, tail = parent, lower_end = NONE, lower_before = NONE;
    int64_t carried = flow;
    for (;;) {
        const int32_t old_parent = t->parent[node], old_end = t->last[node];
        const int32_t before = t->previous[node];
        const int64_t old_flow = t->flow[node];
        /* S_i may have ended with S_(i-1), which is gone. */
        const int32_t end = old_end == lower_end ? lower_before : old_end;
        if (node != leaving) {
            link_nodes(t, before, t->next[end]);
        }
        link_nodes(t, tail, node);
        shift(t, node, end, potential, t->depth[above] + 1 - t->depth[node]);
        t->parent[node] = above;
        t->flow[node] = carried;
        tail = end;
        if (node == leaving) {
            break;
        }
        lower_end = old_end;
        lower_before = before;
        carried = old_flow;
        above = node;
        node = old_parent;
    }
    link_nodes(t, tail, resume);
    for (node = leaving; node != parent; node = t->parent[node]) {
        t->last[node] = tail;
    }
    extend(t, parent, tail);
}

static void pivot(struct dpot_transport_simplex *t, size_t row, size_t col, double reduced)
{
    const int32_t a = (int32_t)row, b = node_of_col(t, col), apex = find_apex(t, a, b);
    int is_on_row_side = 0;
    int64_t amount = 0;
    const int32_t leaving = find_leaving(t, a, b, apex, &amount, &is_on_row_side);
    if (amount > 0) {
        push_flow(t, a, b, apex, amount);
    }
    const int32_t top = is_on_row_side ? a : b, parent = is_on_row_side ? b : a;
    rehang(t, leaving, top, parent, amount, is_on_row_side ? reduced : -reduced);
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

/* Depths and potentials of the whole tree, afresh: the small additions of the pivots leave
 * rounding. A reduced cost is then right to a few units in the last place of the potentials, and
 * that is the tolerance: the largest cost does not count, since it may be a price that nobody pays.
 */
static void settle_tree(struct dpot_transport_simplex *t)
{
    t->depth[t->root] = 0;
    t->f[t->root] = 0.0;
    for (int32_t node = t->next[t->root]; node != NONE; node = t->next[node]) {
        const int32_t parent = t->parent[node];
        const size_t row = (size_t)(is_row(t, node) ? node : parent);
        const size_t col = (size_t)(is_row(t, node) ? parent : node) - t->n_rows;
        const double cost = *dpot_transport_simplex_cost_at(t, row, col);
        t->depth[node] = t->depth[parent] + 1;
        t->f[node] = t->f[parent] + (is_row(t, node) ? cost : -cost);
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

/* Empty tree, the list of rows with mass (the slack row first). */
static void prepare(struct dpot_transport_simplex *t)
{
    const size_t n_nodes = t->n_rows + t->n_cols;
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
    t->pivots = 0;
}

/* Pivots from the present tree until no arc is left that pays. */
static void improve(struct dpot_transport_simplex *t)
{
    settle_tree(t);
    const size_t n_nodes = t->n_rows + t->n_cols;
    const double n_arcs = (double)t->n_active_rows * (double)t->n_cols;
    const size_t block = (size_t)fmax(sqrt(n_arcs), 64.0);
    int is_settled = 1;
    for (;;) {
        size_t row = 0, col = 0;
        double reduced = 0.0;
        if (!find_entering(t, block, &row, &col, &reduced)) {
            if (is_settled) {
                return;
            }
            settle_tree(t);
            is_settled = 1;
            continue;
        }
        pivot(t, row, col, reduced);
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
    improve(t);
}

void dpot_transport_simplex_resume(struct dpot_transport_simplex *t)
{
    t->extra_tol = 0.0;
    t->cursor_row = t->cursor_col = 0;
    t->pivots = 0;
    improve(t);
}
