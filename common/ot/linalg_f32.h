/* Dense float32 products, for generators and costs between clouds of points: linalg.h's seam with the
 * one call they need. Sums are float32: certificates are never computed with them.
 *
 * `dpot_linalg_f32_portable` is plain C with a fixed order of additions; OpenBLAS (library
 * dpot_ot_host, one thread a call, callable from several threads at once) agrees within rounding of
 * the sums of absolute values. Matrices are row-major with a leading dimension (floats from one row
 * to the next). Outputs do not overlap inputs. A size of zero is allowed: an empty sum is 0. beta =
 * 0 overwrites the output without reading it. */
#ifndef DPOT_OT_LINALG_F32_H
#define DPOT_OT_LINALG_F32_H

#include "ot/linalg.h"

struct dpot_linalg_f32 {
    const char *name;

    /* C = alpha op(A) op(B) + beta C; op(A) is (m, k), op(B) is (k, n), C is (m, n). */
    void (*gemm)(enum dpot_transpose transpose_a, enum dpot_transpose transpose_b, size_t m,
                 size_t n, size_t k, float alpha, const float *a, size_t lda, const float *b,
                 size_t ldb, float beta, float *c, size_t ldc);
};

extern const struct dpot_linalg_f32 dpot_linalg_f32_portable;

const struct dpot_linalg_f32 *dpot_linalg_f32_openblas(void);

#endif
