#include "central/coreset.h"

#include "base/alloc.h"

#include <string.h>

#define TRIES 1000 /* draws in a cell that the border cuts, before its anchor is used */

struct noise_state {
    struct exact_draw *draw;
    struct discrete_laplace scales[BUDGET_DEPTH_MAX + 1];
    const struct coreset_config *config;
};

static int64_t draw_noise(void *ctx, size_t level)
{
    struct noise_state *state = ctx;
    return discrete_laplace_draw(state->draw, state->scales[level]);
}

static bool is_outside_border(void *ctx, size_t level, uint64_t code)
{
    const struct noise_state *state = ctx;
    double lo[2], hi[2];
    partition_cell(&state->config->partition, level, code, lo, hi);
    return !polygon_meets(state->config->border, lo, hi);
}

static void init_noise(struct noise_state *state, const struct coreset_config *config,
                       struct exact_draw *draw)
{
    *state = (struct noise_state){.draw = draw, .config = config};
    const size_t first = config->budget.adjacency == ADJACENCY_REPLACE_ONE ? 1 : 0;
    for (size_t j = first; j <= config->budget.depth; j++) {
        state->scales[j] = budget_scale(&config->budget, j);
    }
}

/* The root count: public under replace-one, else noisy. At least 1, so that the measure exists. */
static int64_t count_root(const struct hierarchy_records *records, struct noise_state *state)
{
    const int64_t n = hierarchy_records_total(records);
    if (state->config->budget.adjacency == ADJACENCY_REPLACE_ONE) {
        return n;
    }
    const int64_t value = n + draw_noise(state, 0);
    return value < 1 ? 1 : value > HIERARCHY_COUNT_MAX ? HIERARCHY_COUNT_MAX : value;
}

static dpot_status find_records(const struct partition *partition, const double *points,
                                const int64_t *counts, size_t n, struct hierarchy_records *records,
                                struct dpot_error *error)
{
    uint64_t *codes = dpot_alloc_array(NULL, n, sizeof *codes);
    if (!codes) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu points", n);
    }
    for (size_t i = 0; i < n; i++) {
        codes[i] = partition_code(partition, points + i * partition->dim);
    }
    const dpot_status status =
        hierarchy_records_init(records, codes, counts, n, partition->depth, error);
    dpot_free_secret(NULL, codes, n, sizeof *codes);
    return status;
}

static dpot_status count_cells(const struct coreset_config *config,
                               const struct hierarchy_records *records, struct exact_draw *draw,
                               struct coreset *coreset, struct dpot_error *error)
{
    struct noise_state state;
    const struct hierarchy_rules rules = {
        .noise = draw_noise,
        .is_closed = config->border ? is_outside_border : NULL,
        .ctx = &state,
    };
    init_noise(&state, config, draw);
    coreset->size = count_root(records, &state);
    if (coreset->size < 1) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "there are no records: give at least one");
    }
    return hierarchy_count(records, config->budget.depth, coreset->size, &rules, &coreset->leaves,
                           error);
}

dpot_status coreset_count(const struct coreset_config *config, const double *points,
                          const int64_t *counts, size_t n, struct exact_draw *draw,
                          struct coreset *coreset, struct dpot_error *error)
{
    const size_t dim = config->partition.dim;
    struct hierarchy_records records = {0};
    *coreset = (struct coreset){.config = config};
    coreset->lo = dpot_alloc_array(NULL, dim, sizeof *coreset->lo);
    coreset->hi = dpot_alloc_array(NULL, dim, sizeof *coreset->hi);
    dpot_status status = coreset->lo && coreset->hi
                             ? find_records(&config->partition, points, counts, n, &records, error)
                             : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status = count_cells(config, &records, draw, coreset, error);
    }
    hierarchy_records_release(&records);
    if (status != DPOT_OK) {
        coreset_release(coreset);
    }
    return status;
}

void coreset_release(struct coreset *coreset)
{
    const size_t dim = coreset->config ? coreset->config->partition.dim : 0;
    hierarchy_leaves_release(&coreset->leaves);
    dpot_free_array(NULL, coreset->lo, dim, sizeof *coreset->lo);
    dpot_free_array(NULL, coreset->hi, dim, sizeof *coreset->hi);
    *coreset = (struct coreset){0};
}

int64_t coreset_n_outside(const struct partition *partition, const double *points,
                          const int64_t *counts, size_t n)
{
    int64_t n_outside = 0;
    for (size_t i = 0; i < n; i++) {
        if (!partition_holds(partition, points + i * partition->dim)) {
            n_outside += counts ? counts[i] : 1;
        }
    }
    return n_outside;
}

/* Sets lo and hi to the shrunken cell of the leaf. */
static void load_leaf_box(struct coreset *coreset, size_t leaf)
{
    const struct partition *partition = &coreset->config->partition;
    const double half = coreset->config->shrink / 2;
    partition_cell(partition, partition->depth, coreset->leaves.leaves[leaf].code, coreset->lo,
                   coreset->hi);
    for (size_t a = 0; a < partition->dim && half < 0.5; a++) {
        const double side = coreset->hi[a] - coreset->lo[a];
        const double centre = coreset->lo[a] + side / 2;
        coreset->lo[a] = centre - half * side;
        coreset->hi[a] = centre + half * side;
    }
}

static void draw_in_box(const struct coreset *coreset, struct exact_draw *draw, double *point)
{
    for (size_t a = 0; a < coreset->config->partition.dim; a++) {
        point[a] = coreset->lo[a] + exact_draw_unit(draw) * (coreset->hi[a] - coreset->lo[a]);
    }
}

/* Fallback when the shrunken cell lies outside of the border or is hardly ever hit. */
static void use_anchor(struct coreset *coreset, size_t leaf, double *point)
{
    const struct partition *partition = &coreset->config->partition;
    double lo[2], hi[2];
    partition_cell(partition, partition->depth, coreset->leaves.leaves[leaf].code, lo, hi);
    polygon_anchor(coreset->config->border, lo, hi, point);
}

/* Draws a point of the leaf; its box was set by load_leaf_box. */
static void draw_in_leaf(struct coreset *coreset, size_t leaf, struct exact_draw *draw,
                         double *point)
{
    const struct polygon *border = coreset->config->border;
    draw_in_box(coreset, draw, point);
    if (!border || polygon_holds(border, point)) {
        return;
    }
    const bool may_hit =
        coreset->config->shrink > 0 && polygon_meets(border, coreset->lo, coreset->hi);
    for (size_t i = 0; may_hit && i < TRIES; i++) {
        draw_in_box(coreset, draw, point);
        if (polygon_holds(border, point)) {
            return;
        }
    }
    use_anchor(coreset, leaf, point);
}

void coreset_spread(struct coreset *coreset, struct exact_draw *draw, double *points)
{
    const size_t dim = coreset->config->partition.dim;
    for (size_t l = 0; l < coreset->leaves.n; l++) {
        load_leaf_box(coreset, l);
        for (int64_t k = 0; k < coreset->leaves.leaves[l].count; k++) {
            draw_in_leaf(coreset, l, draw, points);
            points += dim;
        }
    }
}

void coreset_weigh(struct coreset *coreset, struct exact_draw *draw, double *points,
                   double *weights)
{
    const size_t dim = coreset->config->partition.dim;
    for (size_t l = 0; l < coreset->leaves.n; l++) {
        load_leaf_box(coreset, l);
        draw_in_leaf(coreset, l, draw, points + l * dim);
        weights[l] = (double)coreset->leaves.leaves[l].count / (double)coreset->size;
    }
}

/* The leaf that contains mass unit number `unit`; ends (n) are the cumulative counts. */
static size_t leaf_of(const int64_t *ends, size_t n, int64_t unit)
{
    size_t begin = 0, end = n - 1;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (unit < ends[middle]) {
            end = middle;
        } else {
            begin = middle + 1;
        }
    }
    return begin;
}

dpot_status coreset_sample(struct coreset *coreset, size_t n, struct exact_draw *draw,
                           double *points)
{
    const size_t n_leaves = coreset->leaves.n;
    int64_t *ends = dpot_alloc_array(NULL, n_leaves, sizeof *ends);
    if (!ends) {
        return DPOT_ERR_MEMORY;
    }
    int64_t sum = 0;
    for (size_t l = 0; l < n_leaves; l++) {
        sum += coreset->leaves.leaves[l].count;
        ends[l] = sum;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t l =
            leaf_of(ends, n_leaves, (int64_t)exact_draw_below(draw, (uint64_t)coreset->size));
        load_leaf_box(coreset, l);
        draw_in_leaf(coreset, l, draw, points + i * coreset->config->partition.dim);
    }
    dpot_free_array(NULL, ends, n_leaves, sizeof *ends);
    return DPOT_OK;
}
