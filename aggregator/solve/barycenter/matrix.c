/* A kernel of any cost matrix: matrix products, or log-sums over rows of the costs and of their
 * transposed copy. */
#include "solve/barycenter/kernel.h"

#include "base/alloc.h"
#include "ot/linalg.h"
#include "solve/transport/lanes.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define TASKS_MAX ((size_t)64)

struct matrix {
    struct barycenter_kernel kernel; /* must be first: callers hold a pointer to it */
    const struct lanes *lanes;
    const struct dpot_linalg *linalg;
    size_t n_batch_max;
    const double *cost; /* (n_in, n_out) borrowed */
    double *least;      /* (stride_in) smallest cost of each row, 0 in the log domain */
    double *values;     /* (n_in, stride_out): the kernel over its row's largest; or costs */
    double *transposed; /* (n_out, stride_in) costs; the log domain only */
    double *x;          /* (n_batch_max, stride) e^(in - largest) */
    double *shifts;     /* (n_batch_max) */
    double *scratch;    /* (TASKS_MAX, 2, stride) */
    double sums[TASKS_MAX];
};

static size_t padded(size_t n)
{
    return (n + LANES_PAD - 1) / LANES_PAD * LANES_PAD;
}

static size_t stride_max(const struct matrix *m)
{
    return m->kernel.stride_in > m->kernel.stride_out ? m->kernel.stride_in : m->kernel.stride_out;
}

static void release(struct barycenter_kernel *kernel)
{
    struct matrix *m = (struct matrix *)kernel;
    dpot_free_array(NULL, m->least, kernel->stride_in, sizeof(double));
    dpot_free_array(NULL, m->values, kernel->n_in * kernel->stride_out, sizeof(double));
    dpot_free_array(NULL, m->transposed, kernel->n_out * kernel->stride_in, sizeof(double));
    dpot_free_array(NULL, m->x, m->n_batch_max * stride_max(m), sizeof(double));
    dpot_free_array(NULL, m->shifts, m->n_batch_max, sizeof(double));
    dpot_free_array(NULL, m->scratch, TASKS_MAX * 2 * stride_max(m), sizeof(double));
    dpot_free_array(NULL, m, 1, sizeof *m);
}

/* ---- K and K' ---- */

/* A loop over the outputs of one application. The tasks depend only on the number of outputs. */
struct application {
    struct matrix *m;
    bool transposed;
    size_t n_batch, n, per_task; /* n outputs */
    const double *in;
    double *out;
};

static void set_tasks(struct application *a, size_t *n_tasks)
{
    a->per_task = (a->n + TASKS_MAX - 1) / TASKS_MAX;
    a->per_task = (a->per_task + LANES_PAD - 1) / LANES_PAD * LANES_PAD;
    *n_tasks = (a->n + a->per_task - 1) / a->per_task;
}

static void multiply(void *ctx, size_t task)
{
    const struct application *a = ctx;
    const struct matrix *m = a->m;
    const struct barycenter_kernel *k = &m->kernel;
    const size_t first = task * a->per_task;
    const size_t n = a->n - first < a->per_task ? a->n - first : a->per_task;
    if (a->transposed) {
        m->linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, a->n_batch, n, k->n_in, 1.0, m->x,
                        k->stride_in, m->values + first, k->stride_out, 0.0, a->out + first,
                        k->stride_out);
    } else {
        m->linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_TRANSPOSE, a->n_batch, n, k->n_out, 1.0, m->x,
                        k->stride_out, m->values + first * k->stride_out, k->stride_out, 0.0,
                        a->out + first, k->stride_in);
    }
}

static void apply_kernel(struct application *a, struct team *team)
{
    struct matrix *m = a->m;
    struct barycenter_kernel *k = &m->kernel;
    const size_t stride_from = a->transposed ? k->stride_in : k->stride_out;
    const size_t stride_to = a->transposed ? k->stride_out : k->stride_in;
    size_t n_tasks;
    for (size_t b = 0; b < a->n_batch; b++) {
        double *x = m->x + b * stride_from;
        for (size_t i = 0; i < stride_from; i++) {
            x[i] = a->in[b * stride_from + i] - (a->transposed ? m->least[i] / k->lambda : 0.0);
        }
        m->shifts[b] = barycenter_kernel_exponentials(x, stride_from, x);
    }
    set_tasks(a, &n_tasks);
    team_run(team, n_tasks, multiply, a);
    for (size_t b = 0; b < a->n_batch; b++) {
        double *out = a->out + b * stride_to;
        memset(out + a->n, 0, (stride_to - a->n) * sizeof *out);
        m->lanes->logarithms(stride_to, out, m->shifts[b], out);
        for (size_t i = 0; !a->transposed && i < a->n; i++) {
            out[i] -= m->least[i] / k->lambda;
        }
    }
}

static void sum_logs(void *ctx, size_t task)
{
    const struct application *a = ctx;
    struct matrix *m = a->m;
    const struct barycenter_kernel *k = &m->kernel;
    const size_t stride_from = a->transposed ? k->stride_in : k->stride_out;
    const size_t stride_to = a->transposed ? k->stride_out : k->stride_in;
    const double *costs = a->transposed ? m->transposed : m->values;
    double *scratch = m->scratch + task * 2 * stride_max(m);
    const size_t first = task * a->per_task;
    const size_t end = a->n - first < a->per_task ? a->n : first + a->per_task;
    for (size_t i = first; i < end; i++) {
        for (size_t b = 0; b < a->n_batch; b++) {
            a->out[b * stride_to + i] =
                m->lanes->log_row(stride_from, costs + i * stride_from, 1.0 / k->lambda,
                                  a->in + b * stride_from, 0.0, scratch, scratch + stride_max(m));
        }
    }
}

static void apply_logs(struct application *a, struct team *team)
{
    const size_t stride_to = a->transposed ? a->m->kernel.stride_out : a->m->kernel.stride_in;
    size_t n_tasks;
    set_tasks(a, &n_tasks);
    team_run(team, n_tasks, sum_logs, a);
    for (size_t b = 0; b < a->n_batch; b++) {
        for (size_t i = a->n; i < stride_to; i++) {
            a->out[b * stride_to + i] = LANES_NOTHING;
        }
    }
}

static void apply(struct barycenter_kernel *kernel, bool transposed, size_t n_batch,
                  const double *in, double *out, struct team *team)
{
    struct application a = {.m = (struct matrix *)kernel,
                            .transposed = transposed,
                            .n_batch = n_batch,
                            .n = transposed ? kernel->n_out : kernel->n_in,
                            .in = in,
                            .out = out};
    if (kernel->is_log) {
        apply_logs(&a, team);
    } else {
        apply_kernel(&a, team);
    }
}

/* ---- values ---- */

/* A loop over rows of the costs. */
struct rows {
    struct matrix *m;
    size_t per_task;
    const double *u, *v;
    double *f;
};

static size_t rows_end(const struct rows *rows, size_t task)
{
    const size_t n = rows->m->kernel.n_in, end = (task + 1) * rows->per_task;
    return end < n ? end : n;
}

static void sum_costs(void *ctx, size_t task)
{
    const struct rows *rows = ctx;
    struct matrix *m = rows->m;
    const struct barycenter_kernel *k = &m->kernel;
    double *t = m->scratch + task * 2 * stride_max(m), *p = t + stride_max(m), sum = 0.0;
    for (size_t i = task * rows->per_task, end = rows_end(rows, task); i < end; i++) {
        const double *cost = m->cost + i * k->n_out;
        for (size_t j = 0; j < k->stride_out; j++) {
            t[j] = j < k->n_out ? rows->v[j] - cost[j] / k->lambda : LANES_NOTHING;
        }
        m->lanes->exponentials(k->stride_out, t, rows->u[i], p);
        for (size_t j = 0; j < k->n_out; j++) {
            sum += p[j] * cost[j];
        }
    }
    m->sums[task] = sum;
}

static void find_least(void *ctx, size_t task)
{
    const struct rows *rows = ctx;
    const struct barycenter_kernel *k = &rows->m->kernel;
    for (size_t i = task * rows->per_task, end = rows_end(rows, task); i < end; i++) {
        const double *cost = rows->m->cost + i * k->n_out;
        double least = HUGE_VAL;
        for (size_t j = 0; j < k->n_out; j++) {
            least = cost[j] - rows->v[j] < least ? cost[j] - rows->v[j] : least;
        }
        rows->f[i] = least;
    }
}

static size_t run_rows(struct rows *rows, struct team *team, void (*work)(void *ctx, size_t task))
{
    rows->per_task = (rows->m->kernel.n_in + TASKS_MAX - 1) / TASKS_MAX;
    const size_t n_tasks = (rows->m->kernel.n_in + rows->per_task - 1) / rows->per_task;
    team_run(team, n_tasks, work, rows);
    return n_tasks;
}

static double cost(struct barycenter_kernel *kernel, const double *u, const double *v,
                   struct team *team)
{
    struct rows rows = {.m = (struct matrix *)kernel, .u = u, .v = v};
    const size_t n_tasks = run_rows(&rows, team, sum_costs);
    double sum = 0.0;
    for (size_t t = 0; t < n_tasks; t++) {
        sum += rows.m->sums[t];
    }
    return sum;
}

static void conjugate(struct barycenter_kernel *kernel, const double *g, double *f,
                      struct team *team)
{
    struct rows rows = {.m = (struct matrix *)kernel, .v = g, .f = f};
    (void)run_rows(&rows, team, find_least);
}

/* ---- set-up ---- */

/* The range of all costs, the largest range of a row, and whether the matrix is symmetric. */
static dpot_status read_costs(struct matrix *m, double *row_range, struct dpot_error *error)
{
    struct barycenter_kernel *k = &m->kernel;
    double least_of_all = HUGE_VAL, most_of_all = -HUGE_VAL;
    *row_range = 0.0;
    k->is_symmetric = k->n_in == k->n_out;
    for (size_t i = 0; i < k->n_in; i++) {
        double least = HUGE_VAL, most = -HUGE_VAL;
        for (size_t j = 0; j < k->n_out; j++) {
            const double c = m->cost[i * k->n_out + j];
            if (!isfinite(c)) {
                return dpot_error_set(error, DPOT_ERR_RANGE,
                                      "the cost in row %zu, column %zu is %g: give a finite number",
                                      i + 1, j + 1, c);
            }
            k->is_symmetric = k->is_symmetric && c == m->cost[j * k->n_in + i];
            least = fmin(least, c);
            most = fmax(most, c);
        }
        m->least[i] = least;
        *row_range = fmax(*row_range, most - least);
        least_of_all = fmin(least_of_all, least);
        most_of_all = fmax(most_of_all, most);
    }
    k->range = most_of_all - least_of_all;
    return barycenter_kernel_check(k->lambda, fmax(k->range, fabs(most_of_all)), error);
}

static void fill_kernel(struct matrix *m)
{
    const struct barycenter_kernel *k = &m->kernel;
    double *t = m->scratch;
    for (size_t i = 0; i < k->n_in; i++) {
        for (size_t j = 0; j < k->stride_out; j++) {
            t[j] = j < k->n_out ? (m->least[i] - m->cost[i * k->n_out + j]) / k->lambda
                                : LANES_NOTHING;
        }
        m->lanes->exponentials(k->stride_out, t, 0.0, m->values + i * k->stride_out);
    }
}

static void fill_logs(struct matrix *m)
{
    const struct barycenter_kernel *k = &m->kernel;
    memset(m->least, 0, k->stride_in * sizeof *m->least);
    for (size_t i = 0; i < k->n_in; i++) {
        for (size_t j = 0; j < k->n_out; j++) {
            m->values[i * k->stride_out + j] = m->transposed[j * k->stride_in + i] =
                m->cost[i * k->n_out + j];
        }
    }
}

static bool alloc_arrays(struct matrix *m)
{
    const struct barycenter_kernel *k = &m->kernel;
    m->values = dpot_alloc_array(NULL, k->n_in * k->stride_out, sizeof(double));
    m->transposed =
        k->is_log ? dpot_alloc_array(NULL, k->n_out * k->stride_in, sizeof(double)) : NULL;
    m->x = dpot_alloc_array(NULL, m->n_batch_max * stride_max(m), sizeof(double));
    m->shifts = dpot_alloc_array(NULL, m->n_batch_max, sizeof(double));
    m->scratch = dpot_alloc_array(NULL, TASKS_MAX * 2 * stride_max(m), sizeof(double));
    return m->values && (m->transposed || !k->is_log) && m->x && m->shifts && m->scratch;
}

dpot_status barycenter_kernel_matrix(const double *costs, size_t n_in, size_t n_out, double lambda,
                                     size_t n_batch, bool wants_log,
                                     struct barycenter_kernel **kernel, struct dpot_error *error)
{
    double row_range = 0.0;
    *kernel = NULL;
    if (n_in == 0 || n_out == 0 || n_batch == 0 ||
        n_in > SIZE_MAX / 16 / (n_out + LANES_PAD) / sizeof(double)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "a cost matrix of %zu x %zu: both sides need a point, and few enough "
                              "for the memory",
                              n_in, n_out);
    }
    struct matrix *m = dpot_alloc_array(NULL, 1, sizeof *m);
    if (!m) {
        return DPOT_ERR_MEMORY;
    }
    *m = (struct matrix){.kernel = {.n_in = n_in,
                                    .n_out = n_out,
                                    .stride_in = padded(n_in),
                                    .stride_out = padded(n_out),
                                    .lambda = lambda,
                                    .apply = apply,
                                    .cost = cost,
                                    .conjugate = conjugate,
                                    .release = release},
                         .lanes = lanes_get(),
                         .linalg = dpot_linalg_openblas(),
                         .n_batch_max = n_batch,
                         .cost = costs};
    m->least = dpot_alloc_array(NULL, padded(n_in), sizeof(double));
    dpot_status status = m->least ? read_costs(m, &row_range, error) : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        m->kernel.is_log = wants_log || row_range / lambda > BARYCENTER_KERNEL_RATIO;
        status = alloc_arrays(m)
                     ? DPOT_OK
                     : dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for a kernel of %zu x %zu",
                                      n_in, n_out);
    }
    if (status != DPOT_OK) {
        release(&m->kernel);
        return status;
    }
    (m->kernel.is_log ? fill_logs : fill_kernel)(m);
    *kernel = &m->kernel;
    return DPOT_OK;
}
