#include "ot/transport_tree.h"

#define NONE (-1)

static int is_row(const struct dpot_transport_simplex *t, int32_t node)
{
    return (size_t)node < t->n_rows;
}

/* In the order of the tree a subtree comes right after its parent. If `parent` was a leaf, it was
 * the end of some subtrees, which now end at `end`. */
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

void dpot_transport_tree_hang(struct dpot_transport_simplex *t, int32_t node, int32_t parent,
                              int64_t flow)
{
    const int32_t end = t->last[node];
    t->parent[node] = parent;
    t->flow[node] = flow;
    link_nodes(t, end, t->next[parent]);
    link_nodes(t, parent, node);
    extend(t, parent, end);
}

void dpot_transport_tree_count(struct dpot_transport_simplex *t)
{
    for (int32_t node = t->root; node != NONE; node = t->next[node]) {
        t->size[node] = 1;
    }
    for (int32_t node = t->last[t->root]; node != t->root; node = t->previous[node]) {
        t->size[t->parent[node]] += t->size[node];
    }
}

/* A subtree is larger than the subtrees below it. */
static int32_t find_apex(const struct dpot_transport_simplex *t, int32_t a, int32_t b)
{
    while (a != b) {
        if (t->size[a] < t->size[b]) {
            a = t->parent[a];
        } else {
            b = t->parent[b];
        }
    }
    return a;
}

/* The leaving arc: flow decreases on the arcs against the direction of the cycle, which is that of
 * the entering arc. Of several that reach zero together it is the last one in the cycle from the
 * apex, which keeps the tree strongly feasible. Returns the lower end of the arc. */
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

/* Removes the subtree of `top` from the order. */
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

/* Moves the size of a subtree from the nodes above `from` to those above `to`, both below the
 * apex. */
static void move_size(struct dpot_transport_simplex *t, int32_t from, int32_t to, int32_t apex,
                      int32_t size)
{
    for (int32_t node = from; node != apex; node = t->parent[node]) {
        t->size[node] -= size;
    }
    for (int32_t node = to; node != apex; node = t->parent[node]) {
        t->size[node] += size;
    }
}

/* Attaches the subtree of `leaving`, which has been cut, by its node `top` to `parent`: the arcs
 * between top and leaving are reversed. Let top = v_0, v_1, ..., v_k = leaving be the path up and
 * S_i the old subtree of v_i. The new order is S_0, S_1 without S_0, S_2 without S_1, ...: each
 * block begins with its v_i, which becomes a child of v_(i-1), and all subtrees end where the last
 * block does. Returns that end. */
static int32_t rehang(struct dpot_transport_simplex *t, int32_t leaving, int32_t top,
                      int32_t parent, int64_t flow)
{
    const int32_t resume = t->next[parent], size = t->size[leaving];
    int32_t node = top, above = parent, tail = parent, lower_end = NONE, lower_before = NONE;
    int32_t lower_size = 0;
    int64_t carried = flow;
    for (;;) {
        const int32_t old_parent = t->parent[node], old_end = t->last[node];
        const int32_t before = t->previous[node], old_size = t->size[node];
        const int64_t old_flow = t->flow[node];
        /* S_i may have ended with S_(i-1), which was moved. */
        const int32_t end = old_end == lower_end ? lower_before : old_end;
        if (node != leaving) {
            link_nodes(t, before, t->next[end]);
        }
        link_nodes(t, tail, node);
        t->parent[node] = above;
        t->flow[node] = carried;
        t->size[node] = size - lower_size;
        tail = end;
        if (node == leaving) {
            break;
        }
        lower_end = old_end;
        lower_before = before;
        lower_size = old_size;
        carried = old_flow;
        above = node;
        node = old_parent;
    }
    link_nodes(t, tail, resume);
    for (node = leaving; node != parent; node = t->parent[node]) {
        t->last[node] = tail;
    }
    extend(t, parent, tail);
    return tail;
}

/* Only the difference between the potentials of the subtree from `top` to `end` and the others
 * matters: the smaller side is shifted. */
static void shift_potentials(struct dpot_transport_simplex *t, int32_t top, int32_t end,
                             double shift)
{
    const int32_t after = t->next[end];
    if (t->size[top] <= t->size[t->root] / 2) {
        for (int32_t node = top; node != after; node = t->next[node]) {
            t->f[node] += shift;
        }
        return;
    }
    for (int32_t node = t->root; node != top; node = t->next[node]) {
        t->f[node] -= shift;
    }
    for (int32_t node = after; node != NONE; node = t->next[node]) {
        t->f[node] -= shift;
    }
}

void dpot_transport_tree_pivot(struct dpot_transport_simplex *t, struct dpot_transport_arc arc,
                               double reduced)
{
    const int32_t a = arc.row, b = arc.col + (int32_t)t->n_rows, apex = find_apex(t, a, b);
    int is_on_row_side = 0;
    int64_t amount = 0;
    const int32_t leaving = find_leaving(t, a, b, apex, &amount, &is_on_row_side);
    if (amount > 0) {
        push_flow(t, a, b, apex, amount);
    }
    const int32_t top = is_on_row_side ? a : b, parent = is_on_row_side ? b : a;
    move_size(t, t->parent[leaving], parent, apex, t->size[leaving]);
    cut(t, leaving);
    const int32_t end = rehang(t, leaving, top, parent, amount);
    shift_potentials(t, top, end, is_on_row_side ? reduced : -reduced);
}
