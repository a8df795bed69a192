/* Dense float32 products, for generators and costs between point clouds, with the conventions and
 * the two backends of linalg.h. Sums are float32: certificates are never computed with them. */
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
