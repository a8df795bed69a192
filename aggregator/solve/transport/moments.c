#include "solve/transport/moments.h"

#include "ot/linalg.h"
#include "solve/run/draw.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK 256 /* points per block */
#define NORMALS_STREAM UINT64_C(0x6d6f6d656e7473)
#define TWO_PI 6.283185307179586

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- moments of points ---- */

static void find_mean(struct moments *m, const double *points, const double *weights, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double weight = weights ? weights[i] : 1 / (double)n;
        for (size_t c = 0; c < m->dim; c++) {
            m->mean[c] += weight * points[i * m->dim + c];
        }
    }
}

/* S = sum_i w_i (x_i - m)(x_i - m)', a block of points at a time. */
static void find_covariance(struct moments *m, const double *points, const double *weights,
                            size_t n, double *block /* (BLOCK, dim) */)
{
    const struct dpot_linalg *linalg = dpot_linalg_openblas();
    const size_t dim = m->dim;
    const double equal = 1 / (double)(n - 1);
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t n_rows = smaller(BLOCK, n - first);
        for (size_t r = 0; r < n_rows; r++) {
            const double *x = points + (first + r) * dim;
            const double factor = sqrt(weights ? weights[first + r] : equal);
            for (size_t c = 0; c < dim; c++) {
                block[r * dim + c] = factor * (x[c] - m->mean[c]);
            }
        }
        linalg->gemm(DPOT_TRANSPOSE, DPOT_NO_TRANSPOSE, dim, dim, n_rows, 1, block, dim, block, dim,
                     first > 0, m->covariance, dim);
    }
}

dpot_status moments_init(const double *points, const double *weights, size_t n, size_t dim,
                         const struct dpot_allocator *allocator, struct moments *moments,
                         struct dpot_error *error)
{
    *moments = (struct moments){0};
    if (n == 0 || dim == 0 || dim > MOMENTS_DIM_MAX) {
        return dpot_error_set(
            error, DPOT_ERR_TOO_LARGE,
            "moments of %zu points of %zu coordinates: give at least one point of "
            "1 to %zu",
            n, dim, MOMENTS_DIM_MAX);
    }
    struct moments made = {.dim = dim, .allocator = allocator};
    made.mean = dpot_alloc_array(allocator, dim, sizeof *made.mean);
    made.covariance = dpot_alloc_array(allocator, dim * dim, sizeof *made.covariance);
    double *block = dpot_alloc_array(allocator, BLOCK * dim, sizeof *block);
    const bool is_complete = made.mean && made.covariance && block;
    if (is_complete) {
        find_mean(&made, points, weights, n);
        if (n > 1) {
            find_covariance(&made, points, weights, n, block);
        }
        *moments = made;
    } else {
        moments_release(&made);
    }
    dpot_free_array(allocator, block, BLOCK * dim, sizeof *block);
    return is_complete ? DPOT_OK
                       : dpot_error_set(error, DPOT_ERR_MEMORY,
                                        "out of memory for a covariance of %zu x %zu", dim, dim);
}

void moments_release(struct moments *moments)
{
    const size_t dim = moments->dim;
    dpot_free_array(moments->allocator, moments->mean, dim, sizeof(double));
    dpot_free_array(moments->allocator, moments->covariance, dim * dim, sizeof(double));
    *moments = (struct moments){0};
}

/* ---- square roots ---- */

/* Rows sqrt(value_k) v_k of a covariance: root' root = S. Negative eigenvalues are rounding
 * errors. */
static dpot_status find_root(const struct moments *m, double **root, struct dpot_error *error)
{
    const size_t dim = m->dim;
    double *rows = dpot_alloc_array(m->allocator, dim * dim, sizeof *rows);
    double *values = dpot_alloc_array(m->allocator, dim, sizeof *values);
    dpot_status status = DPOT_ERR_MEMORY;
    if (rows && values) {
        memcpy(rows, m->covariance, dim * dim * sizeof *rows);
        status = dpot_symmetric_eigen(dim, rows, values, m->allocator, error);
    }
    for (size_t k = 0; status == DPOT_OK && k < dim; k++) {
        const double factor = sqrt(fmax(values[k], 0));
        for (size_t c = 0; c < dim; c++) {
            rows[k * dim + c] *= factor;
        }
    }
    dpot_free_array(m->allocator, values, dim, sizeof *values);
    if (status != DPOT_OK) {
        dpot_free_array(m->allocator, rows, dim * dim, sizeof *rows);
        rows = NULL;
    }
    *root = rows;
    return status;
}

/* tr (S^(1/2) S' S^(1/2))^(1/2): with S = R'R, the matrix R S' R' has the same eigenvalues. */
static dpot_status trace_of_root(const struct moments *a, const struct moments *b, double *trace,
                                 struct dpot_error *error)
{
    const struct dpot_linalg *linalg = dpot_linalg_openblas();
    const size_t dim = a->dim;
    double *root = NULL;
    double *half = dpot_alloc_array(a->allocator, dim * dim, sizeof *half);
    double *values = dpot_alloc_array(a->allocator, dim, sizeof *values);
    dpot_status status = half && values ? find_root(a, &root, error) : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, dim, dim, dim, 1, root, dim,
                     b->covariance, dim, 0, half, dim);
        double *product = dpot_alloc_array(a->allocator, dim * dim, sizeof *product);
        status = product ? DPOT_OK : DPOT_ERR_MEMORY;
        if (product) {
            linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_TRANSPOSE, dim, dim, dim, 1, half, dim, root, dim,
                         0, product, dim);
            status = dpot_symmetric_values(dim, product, values, a->allocator, error);
        }
        dpot_free_array(a->allocator, product, dim * dim, sizeof *product);
    }
    *trace = 0;
    for (size_t k = 0; status == DPOT_OK && k < dim; k++) {
        *trace += sqrt(fmax(values[k], 0));
    }
    dpot_free_array(a->allocator, root, dim * dim, sizeof *root);
    dpot_free_array(a->allocator, half, dim * dim, sizeof *half);
    dpot_free_array(a->allocator, values, dim, sizeof *values);
    return status;
}

dpot_status moments_frechet(const struct moments *a, const struct moments *b, double *distance,
                            struct dpot_error *error)
{
    double trace = 0, sum = 0;
    if (a->dim != b->dim) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "moments of %zu and %zu coordinates", a->dim,
                              b->dim);
    }
    const dpot_status status = trace_of_root(a, b, &trace, error);
    for (size_t c = 0; status == DPOT_OK && c < a->dim; c++) {
        const double diff = a->mean[c] - b->mean[c];
        sum += diff * diff + a->covariance[c * a->dim + c] + b->covariance[c * a->dim + c];
    }
    *distance = fmax(sum - 2 * trace, 0);
    return status;
}

/* ---- draws ---- */

static double uniform(uint64_t seed, uint64_t index)
{
    return (double)((draw_bits(seed, NORMALS_STREAM, index) >> 11) + 1) * 0x1p-53;
}

/* Box and Muller. */
static double normal(uint64_t seed, uint64_t index)
{
    return sqrt(-2 * log(uniform(seed, 2 * index))) * cos(TWO_PI * uniform(seed, 2 * index + 1));
}

/* x = m + R' z */
dpot_status moments_draw(const struct moments *moments, size_t n, uint64_t seed, double *points,
                         struct dpot_error *error)
{
    const struct dpot_linalg *linalg = dpot_linalg_openblas();
    const size_t dim = moments->dim;
    double *root = NULL;
    double *z = dpot_alloc_array(moments->allocator, BLOCK * dim, sizeof *z);
    const dpot_status status = z ? find_root(moments, &root, error) : DPOT_ERR_MEMORY;
    for (size_t first = 0; status == DPOT_OK && first < n; first += BLOCK) {
        const size_t n_rows = smaller(BLOCK, n - first);
        for (size_t i = 0; i < n_rows * dim; i++) {
            z[i] = normal(seed, first * (uint64_t)dim + i);
            points[first * dim + i] = moments->mean[i % dim];
        }
        linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, n_rows, dim, dim, 1, z, dim, root, dim,
                     1, points + first * dim, dim);
    }
    dpot_free_array(moments->allocator, root, dim * dim, sizeof *root);
    dpot_free_array(moments->allocator, z, BLOCK * dim, sizeof *z);
    return status;
}
