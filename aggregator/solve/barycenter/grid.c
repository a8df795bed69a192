/* A kernel of squared distances on a grid: one small kernel per axis, applied along it. */
#include "solve/barycenter/kernel.h"

#include "base/alloc.h"
#include "ot/linalg.h"
#include "solve/transport/lanes.h"

#include <math.h>
#include <string.h>

struct axis {
    size_t n, stride; /* cells; padded */
    size_t inner;     /* stride of the axis in cells */
    double *cost;     /* (n, stride) squared distances */
    double *values;   /* (n, n) their kernel; NULL in the log domain */
};

struct grid {
    struct barycenter_kernel kernel; /* must be first: callers hold a pointer to it */
    const struct lanes *lanes;
    const struct dpot_linalg *linalg;
    size_t n_dims, n_batch_max, stride_axis;
    struct axis axes[BARYCENTER_GRID_DIM_MAX];
    double *x, *y; /* (n_batch_max, stride) */
    double *lines; /* (n_batch_max, 3, stride_axis) */
};

static size_t padded(size_t n)
{
    return (n + LANES_PAD - 1) / LANES_PAD * LANES_PAD;
}

static void release(struct barycenter_kernel *kernel)
{
    struct grid *g = (struct grid *)kernel;
    const size_t n = g->n_batch_max * kernel->stride_in;
    for (size_t d = 0; d < g->n_dims; d++) {
        struct axis *axis = &g->axes[d];
        dpot_free_array(NULL, axis->cost, axis->n * axis->stride, sizeof(double));
        dpot_free_array(NULL, axis->values, axis->n * axis->n, sizeof(double));
    }
    dpot_free_array(NULL, g->x, n, sizeof(double));
    dpot_free_array(NULL, g->y, n, sizeof(double));
    dpot_free_array(NULL, g->lines, g->n_batch_max * 3 * g->stride_axis, sizeof(double));
    dpot_free_array(NULL, g, 1, sizeof *g);
}

/* ---- along one axis ---- */

/* out = K_axis in, both (outer, n, inner). */
static void multiply(const struct grid *g, const struct axis *axis, const double *in, double *out)
{
    const size_t n_outer = g->kernel.n_in / axis->n / axis->inner, n = axis->n;
    if (axis->inner == 1) {
        g->linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, n_outer, n, n, 1.0, in, n,
                        axis->values, n, 0.0, out, n);
        return;
    }
    for (size_t o = 0; o < n_outer; o++) {
        const size_t at = o * n * axis->inner;
        g->linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, n, axis->inner, n, 1.0, axis->values,
                        n, in + at, axis->inner, 0.0, out + at, axis->inner);
    }
}

/* Offset of line number `line` along the axis. */
static size_t line_begin(const struct axis *axis, size_t line)
{
    return line / axis->inner * axis->n * axis->inner + line % axis->inner;
}

static void take_line(const struct axis *axis, const double *in, size_t line, double rest,
                      double *out)
{
    const double *from = in + line_begin(axis, line);
    for (size_t i = 0; i < axis->stride; i++) {
        out[i] = i < axis->n ? from[i * axis->inner] : rest;
    }
}

/* out = log K_axis e^in by log-sums; `lines` is scratch for three lines. */
static void sum_logs(const struct grid *g, const struct axis *axis, const double *in, double *out,
                     double *lines)
{
    double *h = lines, *terms = h + g->stride_axis, *sums = terms + g->stride_axis;
    for (size_t line = 0; line < g->kernel.n_in / axis->n; line++) {
        double *to = out + line_begin(axis, line);
        take_line(axis, in, line, LANES_NOTHING, h);
        for (size_t i = 0; i < axis->n; i++) {
            to[i * axis->inner] = g->lanes->log_row(axis->stride, axis->cost + i * axis->stride,
                                                    1.0 / g->kernel.lambda, h, 0.0, terms, sums);
        }
    }
}

/* ---- all axes but one ---- */

/* Applies the kernels of all axes but `left_out` (n_dims: none) to `in`, as logarithms; returns the
 * result, in x or y. */
static double *apply_axes(const struct grid *g, size_t left_out, const double *in, double *x,
                          double *y, double *lines)
{
    const size_t stride = g->kernel.stride_in, n = g->kernel.n_in;
    double shift = 0.0;
    if (g->kernel.is_log) {
        memcpy(x, in, stride * sizeof *x);
    } else {
        shift = barycenter_kernel_exponentials(in, stride, x);
    }
    for (size_t d = 0; d < g->n_dims; d++) {
        if (d != left_out) {
            double *swap = x;
            if (g->kernel.is_log) {
                sum_logs(g, &g->axes[d], x, y, lines);
            } else {
                multiply(g, &g->axes[d], x, y);
            }
            x = y;
            y = swap;
        }
    }
    if (!g->kernel.is_log) {
        memset(x + n, 0, (stride - n) * sizeof *x);
        g->lanes->logarithms(stride, x, shift, x);
    }
    for (size_t i = n; i < stride; i++) {
        x[i] = LANES_NOTHING;
    }
    return x;
}

struct batch {
    struct grid *g;
    const double *in, *v;
    double *out;
};

static double *lines_of(const struct grid *g, size_t b)
{
    return g->lines + b * 3 * g->stride_axis;
}

static void apply_one(void *ctx, size_t b)
{
    const struct batch *batch = ctx;
    const struct grid *g = batch->g;
    const size_t stride = g->kernel.stride_in, at = b * stride;
    const double *x =
        apply_axes(g, g->n_dims, batch->in + at, g->x + at, g->y + at, lines_of(g, b));
    memcpy(batch->out + at, x, stride * sizeof *x);
}

/* The kernel is its own transpose. */
static void apply(struct barycenter_kernel *kernel, bool transposed, size_t n_batch,
                  const double *in, double *out, struct team *team)
{
    struct batch batch = {.g = (struct grid *)kernel, .in = in, .out = out};
    (void)transposed;
    team_run(team, n_batch, apply_one, &batch);
}

/* sum over pairs along the axis of e^(w_i + v_j - C_ij / lambda) C_ij. */
static double cost_along(const struct grid *g, const struct axis *axis, const double *w,
                         const double *v, double *lines)
{
    double *from = lines, *to = lines + g->stride_axis, *terms = to + g->stride_axis, sum = 0.0;
    for (size_t line = 0; line < g->kernel.n_in / axis->n; line++) {
        take_line(axis, w, line, LANES_NOTHING, from);
        take_line(axis, v, line, LANES_NOTHING, to);
        for (size_t i = 0; i < axis->n; i++) {
            const double *cost = axis->cost + i * axis->stride;
            for (size_t j = 0; j < axis->stride; j++) {
                terms[j] = to[j] - cost[j] / g->kernel.lambda;
            }
            g->lanes->exponentials(axis->stride, terms, from[i], terms);
            for (size_t j = 0; j < axis->n; j++) {
                sum += terms[j] * cost[j];
            }
        }
    }
    return sum;
}

/* C is a sum over the axes; for each axis, the other axes are summed out first. */
static double cost(struct barycenter_kernel *kernel, const double *u, const double *v,
                   struct team *team)
{
    const struct grid *g = (const struct grid *)kernel;
    double sum = 0.0;
    (void)team;
    for (size_t d = 0; d < g->n_dims; d++) {
        const double *w = apply_axes(g, d, u, g->x, g->y, g->lines);
        sum += cost_along(g, &g->axes[d], w, v, g->lines);
    }
    return sum;
}

/* min over the grid = min over one axis after the other. */
static void conjugate(struct barycenter_kernel *kernel, const double *potential, double *f,
                      struct team *team)
{
    const struct grid *g = (const struct grid *)kernel;
    (void)team;
    for (size_t i = 0; i < kernel->n_in; i++) {
        f[i] = -potential[i];
    }
    for (size_t d = 0; d < g->n_dims; d++) {
        const struct axis *axis = &g->axes[d];
        for (size_t line = 0; line < kernel->n_in / axis->n; line++) {
            double *to = f + line_begin(axis, line);
            take_line(axis, f, line, HUGE_VAL, g->lines);
            for (size_t i = 0; i < axis->n; i++) {
                double least = HUGE_VAL;
                for (size_t j = 0; j < axis->n; j++) {
                    least = fmin(least, axis->cost[i * axis->stride + j] + g->lines[j]);
                }
                to[i * axis->inner] = least;
            }
        }
    }
}

/* ---- set-up ---- */

static dpot_status axis_init(struct axis *axis, double spacing, double lambda, bool is_log)
{
    const size_t n = axis->n;
    axis->stride = padded(n);
    axis->cost = dpot_alloc_array(NULL, n * axis->stride, sizeof(double));
    axis->values = is_log ? NULL : dpot_alloc_array(NULL, n * n, sizeof(double));
    if (!axis->cost || !(axis->values || is_log)) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t k = 0; k < n * n; k++) {
        const double steps = (double)(k / n) - (double)(k % n), x = spacing * steps;
        axis->cost[k / n * axis->stride + k % n] = x * x;
        if (!is_log) {
            axis->values[k] = exp(-x * x / lambda);
        }
    }
    return DPOT_OK;
}

static dpot_status check_grid(size_t n_dims, const size_t *shape, const double *spacing,
                              double lambda, double *range, struct dpot_error *error)
{
    size_t n = 1;
    *range = 0.0;
    if (n_dims == 0 || n_dims > BARYCENTER_GRID_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "a grid of %zu axes: give 1 to %d", n_dims,
                              BARYCENTER_GRID_DIM_MAX);
    }
    for (size_t d = 0; d < n_dims; d++) {
        if (shape[d] == 0 || shape[d] > BARYCENTER_CELLS_MAX / n || !(spacing[d] > 0.0)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "axis %zu of the grid has %zu cells %g apart: give cells at a "
                                  "positive distance, at most %zu in all",
                                  d + 1, shape[d], spacing[d], BARYCENTER_CELLS_MAX);
        }
        n *= shape[d];
        *range += pow(spacing[d] * (double)(shape[d] - 1), 2.0);
    }
    return barycenter_kernel_check(lambda, *range, error);
}

static dpot_status grid_init(struct grid *g, const size_t *shape, const double *spacing)
{
    struct barycenter_kernel *k = &g->kernel;
    dpot_status status = DPOT_OK;
    k->n_in = 1;
    for (size_t d = g->n_dims; d-- > 0;) {
        g->axes[d].n = shape[d];
        g->axes[d].inner = k->n_in;
        k->n_in *= shape[d];
        g->stride_axis = padded(shape[d]) > g->stride_axis ? padded(shape[d]) : g->stride_axis;
    }
    k->n_out = k->n_in;
    k->stride_in = k->stride_out = padded(k->n_in);
    for (size_t d = 0; status == DPOT_OK && d < g->n_dims; d++) {
        status = axis_init(&g->axes[d], spacing[d], k->lambda, k->is_log);
    }
    g->x = dpot_alloc_array(NULL, g->n_batch_max * k->stride_in, sizeof(double));
    g->y = dpot_alloc_array(NULL, g->n_batch_max * k->stride_in, sizeof(double));
    g->lines = dpot_alloc_array(NULL, g->n_batch_max * 3 * g->stride_axis, sizeof(double));
    return g->x && g->y && g->lines ? status : DPOT_ERR_MEMORY;
}

dpot_status barycenter_kernel_grid(size_t n_dims, const size_t *shape, const double *spacing,
                                   double lambda, size_t n_batch, bool wants_log,
                                   struct barycenter_kernel **kernel, struct dpot_error *error)
{
    double range = 0.0;
    *kernel = NULL;
    dpot_status status = check_grid(n_dims, shape, spacing, lambda, &range, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct grid *g = dpot_alloc_array(NULL, 1, sizeof *g);
    if (!g) {
        return DPOT_ERR_MEMORY;
    }
    *g = (struct grid){.kernel = {.lambda = lambda,
                                  .range = range,
                                  .is_symmetric = true,
                                  .is_log = wants_log || range / lambda > BARYCENTER_KERNEL_RATIO,
                                  .apply = apply,
                                  .cost = cost,
                                  .conjugate = conjugate,
                                  .release = release},
                       .lanes = lanes_get(),
                       .linalg = dpot_linalg_openblas(),
                       .n_dims = n_dims,
                       .n_batch_max = n_batch > 0 ? n_batch : 1};
    status = grid_init(g, shape, spacing);
    if (status != DPOT_OK) {
        release(&g->kernel);
        return dpot_error_set(error, status, "no memory for a grid of %zu axes", n_dims);
    }
    *kernel = &g->kernel;
    return DPOT_OK;
}
