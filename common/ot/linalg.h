/* Dense float64 linear algebra, as a small interface with two backends.
 *
 * `dpot_linalg_portable` is plain C and the only one in the device library: independent lanes added
 * in a fixed order, the same bits on every machine. OpenBLAS (library dpot_ot_host) is for the
 * aggregator; it agrees within the rounding of sums of absolute values. Backends are immutable and
 * thread-safe.
 *
 * Matrices are row-major with a leading dimension (doubles from one row to the next). Outputs must
 * not overlap inputs. Sizes may be 0: an empty sum is 0. beta = 0 overwrites the output without
 * reading it. */
#ifndef DPOT_OT_LINALG_H
#define DPOT_OT_LINALG_H

#include <stddef.h>

enum dpot_transpose {
    DPOT_NO_TRANSPOSE = 0,
    DPOT_TRANSPOSE = 1,
};

struct dpot_linalg {
    const char *name;

    /* sum_i x_i y_i */
    double (*dot)(size_t n, const double *x, const double *y);

    /* y += alpha x */
    void (*axpy)(size_t n, double alpha, const double *x, double *y);

    /* y = alpha op(A) x + beta y; A is (n_rows, n_cols), x and y have the sizes op(A) asks for. */
    void (*gemv)(enum dpot_transpose transpose, size_t n_rows, size_t n_cols, double alpha,
                 const double *a, size_t lda, const double *x, double beta, double *y);

    /* C = alpha op(A) op(B) + beta C; op(A) is (m, k), op(B) is (k, n), C is (m, n). */
    void (*gemm)(enum dpot_transpose transpose_a, enum dpot_transpose transpose_b, size_t m,
                 size_t n, size_t k, double alpha, const double *a, size_t lda, const double *b,
                 size_t ldb, double beta, double *c, size_t ldc);

    /* One fused Sinkhorn sweep over a stored kernel (n_rows, n_cols): u = mu / (K v), s = K' u. A
     * row with K v = 0 is empty and gets u = 0. */
    void (*sweep)(size_t n_rows, size_t n_cols, const double *kernel, const double *mu,
                  const double *v, double *u /* (n_rows) */, double *s /* (n_cols) */);
};

extern const struct dpot_linalg dpot_linalg_portable;

/* OpenBLAS, one thread per call (set by the first call of this function). Library dpot_ot_host. */
const struct dpot_linalg *dpot_linalg_openblas(void);

#endif
