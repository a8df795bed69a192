#include "mechanism/transform.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

struct dpot_transformer {
    const struct dpot_vector_domain *vector;
    const struct dpot_allocator *allocator;
    size_t rows, cols; /* 0 without a transform */
    double *row_basis; /* (rows, rows): [u, i] = a_u cos(pi (2i+1) u / (2 rows)) */
    double *col_basis; /* (cols, cols) */
    double *half;      /* (rows, cols) after one side */
    double *whole;     /* (rows, cols) */
};

static bool has_dct(const struct dpot_vector_domain *vector)
{
    return vector->transform.id == DPOT_TRANSFORM_DCT;
}

size_t dpot_transformer_bytes(const struct dpot_vector_domain *vector)
{
    const size_t rows = vector->transform.rows, cols = vector->transform.cols;
    return sizeof(struct dpot_transformer) +
           (has_dct(vector) ? sizeof(double) * (rows * rows + cols * cols + 2 * rows * cols) : 0);
}

static void fill_basis(double *basis, size_t n)
{
    for (size_t u = 0; u < n; u++) {
        const double scale = sqrt((u == 0 ? 1.0 : 2.0) / (double)n);
        for (size_t i = 0; i < n; i++) {
            /* Reduced in integers: (2i+1) u mod 4n is exact. */
            const size_t step = (2 * i + 1) * u % (4 * n);
            basis[u * n + i] = scale * cos(PI * (double)step / (2.0 * (double)n));
        }
    }
}

void dpot_transformer_free(struct dpot_transformer *transformer)
{
    if (!transformer) {
        return;
    }
    const struct dpot_allocator *allocator = transformer->allocator;
    const size_t rows = transformer->rows, cols = transformer->cols;
    dpot_free_array(allocator, transformer->row_basis, rows * rows, sizeof(double));
    dpot_free_array(allocator, transformer->col_basis, cols * cols, sizeof(double));
    dpot_free_secret(allocator, transformer->half, rows * cols, sizeof(double));
    dpot_free_secret(allocator, transformer->whole, rows * cols, sizeof(double));
    dpot_free_array(allocator, transformer, 1, sizeof *transformer);
}

static dpot_status make_tables(struct dpot_transformer *t)
{
    const struct dpot_allocator *allocator = t->allocator;
    t->rows = t->vector->transform.rows;
    t->cols = t->vector->transform.cols;
    t->row_basis = dpot_alloc_array(allocator, t->rows * t->rows, sizeof(double));
    t->col_basis = dpot_alloc_array(allocator, t->cols * t->cols, sizeof(double));
    t->half = dpot_alloc_array(allocator, t->rows * t->cols, sizeof(double));
    t->whole = dpot_alloc_array(allocator, t->rows * t->cols, sizeof(double));
    if (!t->row_basis || !t->col_basis || !t->half || !t->whole) {
        return DPOT_ERR_MEMORY;
    }
    fill_basis(t->row_basis, t->rows);
    fill_basis(t->col_basis, t->cols);
    return DPOT_OK;
}

dpot_status dpot_transformer_new(const struct dpot_vector_domain *vector,
                                 const struct dpot_allocator *allocator,
                                 struct dpot_transformer **transformer)
{
    *transformer = NULL;
    struct dpot_transformer *t = dpot_alloc_array(allocator, 1, sizeof *t);
    if (!t) {
        return DPOT_ERR_MEMORY;
    }
    t->vector = vector;
    t->allocator = allocator;
    if (has_dct(vector) && make_tables(t) != DPOT_OK) {
        dpot_transformer_free(t);
        return DPOT_ERR_MEMORY;
    }
    *transformer = t;
    return DPOT_OK;
}

/* out (rows, cols) = R in, or R^T in for the inverse; R is (rows, rows). */
static void apply_rows(const double *basis, bool is_inverse, const double *in, double *out,
                       size_t rows, size_t cols)
{
    memset(out, 0, rows * cols * sizeof *out);
    for (size_t u = 0; u < rows; u++) {
        for (size_t i = 0; i < rows; i++) {
            const double weight = is_inverse ? basis[i * rows + u] : basis[u * rows + i];
            for (size_t j = 0; j < cols; j++) {
                out[u * cols + j] += weight * in[i * cols + j];
            }
        }
    }
}

/* out (rows, cols) = in C^T, or in C for the inverse; C is (cols, cols). */
static void apply_cols(const double *basis, bool is_inverse, const double *in, double *out,
                       size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t v = 0; v < cols; v++) {
            double sum = 0;
            for (size_t j = 0; j < cols; j++) {
                sum += in[i * cols + j] * (is_inverse ? basis[j * cols + v] : basis[v * cols + j]);
            }
            out[i * cols + v] = sum;
        }
    }
}

void dpot_transformer_forward(struct dpot_transformer *t, const double *data, double *coefficients)
{
    if (!has_dct(t->vector)) {
        memcpy(coefficients, data, t->vector->dim * sizeof *coefficients);
        return;
    }
    apply_cols(t->col_basis, false, data, t->half, t->rows, t->cols);
    apply_rows(t->row_basis, false, t->half, t->whole, t->rows, t->cols);
    for (uint32_t i = 0; i < t->vector->dim; i++) {
        coefficients[i] = t->whole[t->vector->transform.keep[i]];
    }
}

void dpot_transformer_inverse(struct dpot_transformer *t, const double *coefficients, double *data)
{
    if (!has_dct(t->vector)) {
        memcpy(data, coefficients, t->vector->dim * sizeof *data);
        return;
    }
    memset(t->whole, 0, t->rows * t->cols * sizeof *t->whole);
    for (uint32_t i = 0; i < t->vector->dim; i++) {
        t->whole[t->vector->transform.keep[i]] = coefficients[i];
    }
    apply_rows(t->row_basis, true, t->whole, t->half, t->rows, t->cols);
    apply_cols(t->col_basis, true, t->half, data, t->rows, t->cols);
}
