#include "ot/linalg.h"

#include <string.h>

#define LANES 8

static double dot(size_t n, const double *x, const double *y)
{
    const size_t n_blocks = n - n % LANES;
    double lanes[LANES] = {0};
    for (size_t i = 0; i < n_blocks; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            lanes[k] += x[i + k] * y[i + k];
        }
    }
    for (size_t i = n_blocks; i < n; i++) {
        lanes[i - n_blocks] += x[i] * y[i];
    }
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

static void axpy(size_t n, double alpha, const double *x, double *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] += alpha * x[i];
    }
}

/* y = beta y; beta = 0 overwrites y. */
static void scale(size_t n, double beta, double *y)
{
    if (beta == 0.0) {
        if (n > 0) {
            memset(y, 0, n * sizeof *y);
        }
    } else if (beta != 1.0) {
        for (size_t i = 0; i < n; i++) {
            y[i] *= beta;
        }
    }
}

static void gemv(enum dpot_transpose transpose, size_t n_rows, size_t n_cols, double alpha,
                 const double *a, size_t lda, const double *x, double beta, double *y)
{
    if (transpose == DPOT_TRANSPOSE) {
        scale(n_cols, beta, y);
        for (size_t i = 0; i < n_rows; i++) {
            axpy(n_cols, alpha * x[i], a + i * lda, y);
        }
        return;
    }
    scale(n_rows, beta, y);
    for (size_t i = 0; i < n_rows; i++) {
        y[i] += alpha * dot(n_cols, a + i * lda, x);
    }
}

/* Row i of C from the rows of op(B), or entry by entry if B is transposed: both read B along its
 * rows. */
static void gemm(enum dpot_transpose transpose_a, enum dpot_transpose transpose_b, size_t m,
                 size_t n, size_t k, double alpha, const double *a, size_t lda, const double *b,
                 size_t ldb, double beta, double *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++) {
        double *row = c + i * ldc;
        scale(n, beta, row);
        if (transpose_b == DPOT_TRANSPOSE && transpose_a == DPOT_NO_TRANSPOSE) {
            for (size_t j = 0; j < n; j++) {
                row[j] += alpha * dot(k, a + i * lda, b + j * ldb);
            }
            continue;
        }
        for (size_t l = 0; l < k; l++) {
            const double factor =
                alpha * (transpose_a == DPOT_TRANSPOSE ? a[l * lda + i] : a[i * lda + l]);
            if (transpose_b == DPOT_NO_TRANSPOSE) {
                axpy(n, factor, b + l * ldb, row);
            } else {
                for (size_t j = 0; j < n; j++) {
                    row[j] += factor * b[j * ldb + l];
                }
            }
        }
    }
}

static void sweep(size_t n_rows, size_t n_cols, const double *kernel, const double *mu,
                  const double *v, double *u, double *s)
{
    scale(n_cols, 0.0, s);
    for (size_t i = 0; i < n_rows; i++) {
        const double *row = kernel + i * n_cols;
        const double row_sum = dot(n_cols, row, v);
        u[i] = row_sum > 0.0 ? mu[i] / row_sum : 0.0;
        axpy(n_cols, u[i], row, s);
    }
}

const struct dpot_linalg dpot_linalg_portable = {"portable", dot, axpy, gemv, gemm, sweep};
