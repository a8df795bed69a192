#include "ot/linalg_f32.h"

#include <string.h>

#define LANES 8

static float dot(size_t n, const float *x, const float *y)
{
    const size_t n_blocks = n - n % LANES;
    float lanes[LANES] = {0};
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

/* y = beta y; beta = 0 overwrites y. */
static void scale(size_t n, float beta, float *y)
{
    if (beta == 0.0F && n > 0) {
        memset(y, 0, n * sizeof *y);
    } else if (beta != 1.0F) {
        for (size_t i = 0; i < n; i++) {
            y[i] *= beta;
        }
    }
}

static void add_row(size_t n, float factor, enum dpot_transpose transpose_b, const float *b,
                    size_t ldb, size_t l, float *restrict row)
{
    if (transpose_b == DPOT_NO_TRANSPOSE) {
        for (size_t j = 0; j < n; j++) {
            row[j] += factor * b[l * ldb + j];
        }
    } else {
        for (size_t j = 0; j < n; j++) {
            row[j] += factor * b[j * ldb + l];
        }
    }
}

static void gemm(enum dpot_transpose transpose_a, enum dpot_transpose transpose_b, size_t m,
                 size_t n, size_t k, float alpha, const float *a, size_t lda, const float *b,
                 size_t ldb, float beta, float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++) {
        float *row = c + i * ldc;
        scale(n, beta, row);
        if (transpose_b == DPOT_TRANSPOSE && transpose_a == DPOT_NO_TRANSPOSE) {
            for (size_t j = 0; j < n; j++) {
                row[j] += alpha * dot(k, a + i * lda, b + j * ldb);
            }
            continue;
        }
        for (size_t l = 0; l < k; l++) {
            const float entry = transpose_a == DPOT_TRANSPOSE ? a[l * lda + i] : a[i * lda + l];
            add_row(n, alpha * entry, transpose_b, b, ldb, l, row);
        }
    }
}

const struct dpot_linalg_f32 dpot_linalg_f32_portable = {"portable", gemm};
