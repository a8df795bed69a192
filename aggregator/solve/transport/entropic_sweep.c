#include "solve/transport/entropic_state.h"

#include <math.h>
#include <string.h>

/* A larger column sum has lost nothing to underflow that affects a double. */
#define COLUMN_LEAST 1e-200

/* ---- rows of a task ---- */

struct loop {
    struct entropic *e;
    const double *h; /* log weights of the other side */
};

static size_t task_begin(const struct entropic *e, size_t task)
{
    return task * e->rows_per_task;
}

static size_t task_end(const struct entropic *e, size_t task)
{
    const size_t end = (task + 1) * e->rows_per_task;
    return end < e->n_rows ? end : e->n_rows;
}

static size_t tile_rows(size_t i, size_t end)
{
    return end - i < TILE_ROWS ? end - i : TILE_ROWS;
}

static void fill_tile(const struct entropic *e, size_t first, size_t n_rows, double *out)
{
    const double *matrix = e->cost->matrix;
    if (!matrix) {
        e->cost->fill(e->cost->ctx, first, n_rows, e->stride, out);
    }
    for (size_t r = 0; r < n_rows; r++) {
        if (matrix) {
            memcpy(out + r * e->stride, matrix + (first + r) * e->n_cols, e->n_cols * sizeof *out);
        }
        for (size_t j = e->n_cols; j < e->stride; j++) {
            out[r * e->stride + j] = 0.0;
        }
    }
}

/* Costs of `n_rows` rows, from the matrix or filled into the scratch. */
static const double *ask_tile(const struct entropic *e, struct entropic_scratch *scratch,
                              size_t first, size_t n_rows)
{
    if (e->cost->matrix && e->n_cols == e->stride) {
        return e->cost->matrix + first * e->stride;
    }
    fill_tile(e, first, n_rows, scratch->cost);
    return scratch->cost;
}

const double *entropic_cost_tile(const struct entropic *e, struct entropic_scratch *scratch,
                                 size_t first, size_t n_rows)
{
    const size_t n = n_rows * e->stride, at = first * e->stride;
    if (e->kept && e->options.precision == ENTROPIC_F64) {
        return (const double *)e->kept + at;
    }
    if (!e->kept) {
        return ask_tile(e, scratch, first, n_rows);
    }
    const float *kept = (const float *)e->kept + at;
    for (size_t k = 0; k < n; k++) {
        scratch->cost[k] = (double)kept[k];
    }
    return scratch->cost;
}

static void read_rows(void *ctx, size_t task)
{
    struct entropic *e = ((struct loop *)ctx)->e;
    struct entropic_scratch *scratch = &e->scratch[task];
    scratch->largest = 0.0;
    for (size_t i = task_begin(e, task), end = task_end(e, task); i < end; i += TILE_ROWS) {
        const size_t n_rows = tile_rows(i, end), n = n_rows * e->stride, at = i * e->stride;
        const double *cost = ask_tile(e, scratch, i, n_rows);
        scratch->largest = fmax(scratch->largest, e->lanes->largest_size(n, cost));
        for (size_t k = 0; e->kept && k < n; k++) {
            if (e->options.precision == ENTROPIC_F64) {
                ((double *)e->kept)[at + k] = cost[k];
            } else {
                ((float *)e->kept)[at + k] = (float)cost[k];
            }
        }
    }
}

double entropic_read_cost(struct entropic *e)
{
    struct loop loop = {e, NULL};
    double largest = 0.0;
    team_run(e->options.team, e->n_tasks, read_rows, &loop);
    for (size_t t = 0; t < e->n_tasks; t++) {
        largest = e->scratch[t].largest > largest ? e->scratch[t].largest : largest;
    }
    return largest;
}

/* ---- the log domain ---- */

/* h = log mass + potential, LANES_NOTHING where there is no mass; all of them padded. */
static void log_weights(const struct entropic *e, const double *mass, const double *potential,
                        size_t n_padded, double *h)
{
    e->lanes->logarithms(n_padded, mass, 0.0, h);
    for (size_t i = 0; i < n_padded; i++) {
        h[i] = mass[i] > 0.0 ? h[i] + potential[i] : LANES_NOTHING;
    }
}

/* f_i = -log sum_j e^(h_j - C_ij / lambda), and s_j = sum_i a_i e^(f_i + h_j - C_ij / lambda). */
static void log_rows(void *ctx, size_t task)
{
    const struct loop *loop = ctx;
    struct entropic *e = loop->e;
    struct entropic_scratch *scratch = &e->scratch[task];
    memset(scratch->s, 0, e->stride * sizeof *scratch->s);
    for (size_t i = task_begin(e, task), end = task_end(e, task); i < end; i += TILE_ROWS) {
        const size_t n_rows = tile_rows(i, end);
        const double *cost = entropic_cost_tile(e, scratch, i, n_rows);
        for (size_t r = 0; r < n_rows; r++) {
            e->f[i + r] = -e->lanes->log_row(e->stride, cost + r * e->stride, 1.0 / e->lambda,
                                             loop->h, e->a[i + r], scratch->tile, scratch->s);
        }
    }
}

static void largest_cols(void *ctx, size_t task)
{
    const struct loop *loop = ctx;
    struct entropic *e = loop->e;
    struct entropic_scratch *scratch = &e->scratch[task];
    for (size_t j = 0; j < e->stride; j++) {
        scratch->s[j] = -HUGE_VAL;
    }
    for (size_t i = task_begin(e, task), end = task_end(e, task); i < end; i += TILE_ROWS) {
        const size_t n_rows = tile_rows(i, end);
        const double *cost = entropic_cost_tile(e, scratch, i, n_rows);
        for (size_t r = 0; r < n_rows; r++) {
            e->lanes->largest_col(e->stride, cost + r * e->stride, 1.0 / e->lambda, loop->h[i + r],
                                  scratch->s);
        }
    }
}

static void log_cols(void *ctx, size_t task)
{
    const struct loop *loop = ctx;
    struct entropic *e = loop->e;
    struct entropic_scratch *scratch = &e->scratch[task];
    memset(scratch->s, 0, e->stride * sizeof *scratch->s);
    for (size_t i = task_begin(e, task), end = task_end(e, task); i < end; i += TILE_ROWS) {
        const size_t n_rows = tile_rows(i, end);
        const double *cost = entropic_cost_tile(e, scratch, i, n_rows);
        for (size_t r = 0; r < n_rows; r++) {
            e->lanes->log_sum_col(e->stride, cost + r * e->stride, 1.0 / e->lambda, loop->h[i + r],
                                  e->g2, scratch->s);
        }
    }
}

static void forget_scalings(struct entropic *e)
{
    e->has_row_sums = e->has_few_v = false;
    for (size_t i = 0; i < entropic_padded(e->n_rows); i++) {
        e->u[i] = e->last_u[i] = i < e->n_rows ? 1.0 : 0.0;
    }
    for (size_t j = 0; j < e->stride; j++) {
        e->v[j] = e->last_s[j] = 1.0;
    }
}

/* Adds the sums of all tasks, in the order of the tasks. */
static void add_tasks(struct entropic *e, double *s)
{
    memset(s, 0, e->stride * sizeof *s);
    for (size_t t = 0; t < e->n_tasks; t++) {
        e->lanes->add_row(e->stride, 1.0, e->scratch[t].s, s);
    }
}

void entropic_log_cols(struct entropic *e)
{
    struct loop loop = {e, e->r};
    log_weights(e, e->a, e->f, entropic_padded(e->n_rows), e->r);
    team_run(e->options.team, e->n_tasks, largest_cols, &loop);
    for (size_t j = 0; j < e->stride; j++) {
        double largest = -HUGE_VAL;
        for (size_t t = 0; t < e->n_tasks; t++) {
            largest = fmax(largest, e->scratch[t].s[j]);
        }
        e->g2[j] = largest;
    }
    team_run(e->options.team, e->n_tasks, log_cols, &loop);
    add_tasks(e, e->s);
    for (size_t j = 0; j < e->n_cols; j++) {
        e->g[j] = -(e->g2[j] + log(e->s[j]));
    }
    forget_scalings(e);
}

void entropic_log_sweep(struct entropic *e)
{
    struct loop loop = {e, e->h};
    bool is_safe = true;
    log_weights(e, e->b, e->g, e->stride, e->h);
    team_run(e->options.team, e->n_tasks, log_rows, &loop);
    add_tasks(e, e->s);
    for (size_t j = 0; j < e->n_cols; j++) {
        is_safe = is_safe && e->s[j] > COLUMN_LEAST;
    }
    if (!is_safe) {
        entropic_log_cols(e);
        return;
    }
    e->lanes->logarithms(e->stride, e->s, 0.0, e->g2);
    for (size_t j = 0; j < e->n_cols; j++) {
        e->g[j] = e->h[j] - e->g2[j];
    }
    forget_scalings(e);
}

/* ---- the stored kernel ---- */

static void build_rows(const struct entropic *e, const double *cost, size_t first, size_t n_rows,
                       void *kernel)
{
    for (size_t r = 0; r < n_rows; r++) {
        const double *row = cost + r * e->stride;
        const double f = e->f[first + r];
        if (e->options.precision == ENTROPIC_F32) {
            e->lanes->kernel_row_f32(e->stride, row, 1.0 / e->lambda, f, e->g,
                                     (float *)kernel + r * e->stride);
        } else {
            e->lanes->kernel_row_f64(e->stride, row, 1.0 / e->lambda, f, e->g,
                                     (double *)kernel + r * e->stride);
        }
    }
}

static void take_rows(void *ctx, size_t task)
{
    struct entropic *e = ((struct loop *)ctx)->e;
    for (size_t i = task_begin(e, task), end = task_end(e, task); i < end; i += TILE_ROWS) {
        const size_t n_rows = tile_rows(i, end);
        const double *cost = entropic_cost_tile(e, &e->scratch[task], i, n_rows);
        build_rows(e, cost, i, n_rows, (char *)e->kernel + i * e->stride * entropic_real_size(e));
    }
}

void entropic_take_kernel(struct entropic *e)
{
    struct loop loop = {e, NULL};
    if (e->kernel) {
        team_run(e->options.team, e->n_tasks, take_rows, &loop);
    }
}

void entropic_absorb(struct entropic *e)
{
    entropic_few_leave(e);
    for (size_t i = 0; i < e->n_rows; i++) {
        e->f[i] += e->u[i] > 0.0 && e->u[i] < HUGE_VAL ? log(e->u[i]) : 0.0;
        e->u[i] = e->last_u[i] = 1.0;
    }
    e->lanes->logarithms(e->stride, e->v, 0.0, e->g2);
    for (size_t j = 0; j < e->n_cols; j++) {
        e->g[j] += e->v[j] > 0.0 && e->v[j] < HUGE_VAL ? e->g2[j] : 0.0;
        e->last_s[j] *= e->v[j];
        e->v[j] = 1.0;
    }
}

static void pass_rows(const struct entropic *e, struct entropic_scratch *scratch, size_t first,
                      size_t n_rows, const void *kernel)
{
    const struct lanes_pass pass = {
        .n_rows = n_rows,
        .n = e->stride,
        .stride = e->stride,
        .kernel = kernel,
        .w = e->w,
        .a = e->a + first,
        .omega = e->omega,
        .u = e->u + first,
        .r = e->r + first,
        .s = scratch->s,
        .scratch = scratch->sums,
    };
    if (e->options.precision == ENTROPIC_F32) {
        e->lanes->pass_f32(&pass);
    } else {
        e->lanes->pass_f64(&pass);
    }
}

static void sweep_rows(void *ctx, size_t task)
{
    struct entropic *e = ((struct loop *)ctx)->e;
    struct entropic_scratch *scratch = &e->scratch[task];
    const size_t begin = task_begin(e, task), end = task_end(e, task);
    memset(scratch->s, 0, e->stride * sizeof *scratch->s);
    if (e->kernel) {
        pass_rows(e, scratch, begin, end - begin,
                  (const char *)e->kernel + begin * e->stride * entropic_real_size(e));
        return;
    }
    for (size_t i = begin; i < end; i += TILE_ROWS) {
        const size_t n_rows = tile_rows(i, end);
        build_rows(e, entropic_cost_tile(e, scratch, i, n_rows), i, n_rows, scratch->tile);
        pass_rows(e, scratch, i, n_rows, scratch->tile);
    }
}

/* w = b v in the kernel's type. */
static void weigh_columns(struct entropic *e)
{
    for (size_t j = 0; j < e->stride; j++) {
        const double w = e->b[j] * e->v[j];
        if (e->options.precision == ENTROPIC_F32) {
            ((float *)e->w)[j] = (float)w;
        } else {
            ((double *)e->w)[j] = w;
        }
    }
}

/* v_j = v_j^(1-omega) s_j^(-omega). */
static void relax_columns(struct entropic *e)
{
    for (size_t j = 0; j < e->n_cols; j++) {
        const double s = e->s[j], v = e->v[j];
        e->v[j] = s > 0.0 ? v * exp(-e->omega * log(v * s)) : 0.0;
    }
}

double entropic_sweep(struct entropic *e)
{
    struct loop loop = {e, NULL};
    if (e->is_few && e->omega == 1.0) {
        return entropic_few_sweep(e);
    }
    entropic_few_leave(e);
    weigh_columns(e);
    memcpy(e->last_u, e->u, e->n_rows * sizeof *e->u);
    team_run(e->options.team, e->n_tasks, sweep_rows, &loop);
    add_tasks(e, e->s);
    double residual = e->lanes->violation(entropic_padded(e->n_rows), e->a, e->last_u, e->r);
    if (e->omega == 1.0) {
        e->lanes->invert(e->stride, e->s, e->v);
    } else {
        residual += e->lanes->violation(e->stride, e->b, e->v, e->last_s);
        relax_columns(e);
    }
    memcpy(e->last_s, e->s, e->stride * sizeof *e->s);
    return residual;
}

bool entropic_is_far(const struct entropic *e, bool *is_lost)
{
    double least = 1.0, most = 1.0;
    const bool has_lost_row =
        e->lanes->widen(entropic_padded(e->n_rows), e->a, e->u, &least, &most);
    const bool has_lost_col =
        e->has_few_v ? e->is_few_lost : e->lanes->widen(e->stride, e->b, e->v, &least, &most);
    if (e->has_few_v) {
        least = fmin(least, e->few_least);
        most = fmax(most, e->few_most);
    }
    *is_lost = has_lost_row || has_lost_col;
    return *is_lost || !e->kernel || most > exp(e->bound) || least < exp(-e->bound);
}
