/* The float32 products: every backend against the definition, in float64. */
#include "ot/linalg_f32.h"

#include "problem.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define TOP 40
#define ROUNDING 2e-5 /* 40 products of magnitude 1, each rounded to 6e-8, and their sums */

static float entry(const float *a, enum dpot_transpose transpose, size_t i, size_t j)
{
    return transpose == DPOT_TRANSPOSE ? a[j * TOP + i] : a[i * TOP + j];
}

static void fill(uint64_t *state, float *x)
{
    for (size_t i = 0; i < TOP * TOP; i++) {
        x[i] = (float)(2.0 * uniform_next(state) - 1.0);
    }
}

Test(linalg_f32, gemm_agrees_with_its_definition_in_all_four_orientations)
{
    const struct dpot_linalg_f32 *const backends[] = {&dpot_linalg_f32_portable,
                                                      dpot_linalg_f32_openblas()};
    static float a[TOP * TOP], b[TOP * TOP], c[TOP * TOP];
    static double expected[TOP * TOP];
    uint64_t state = 51;
    for (size_t trial = 0; trial < 800; trial++) {
        const struct dpot_linalg_f32 *backend = backends[trial % 2];
        const enum dpot_transpose of_a = trial / 2 % 2 ? DPOT_TRANSPOSE : DPOT_NO_TRANSPOSE;
        const enum dpot_transpose of_b = trial / 4 % 2 ? DPOT_TRANSPOSE : DPOT_NO_TRANSPOSE;
        const size_t m = trial * 5 % 31, n = trial * 7 % 37, k = trial * 3 % 40;
        const float beta = trial % 3 == 0 ? 0.0F : trial % 3 == 1 ? 1.0F : 0.5F;
        fill(&state, a);
        fill(&state, b);
        fill(&state, c);
        for (size_t i = 0; i < TOP * TOP; i++) {
            const size_t row = i / TOP, col = i % TOP;
            double sum = 0.0;
            for (size_t l = 0; l < k && row < m && col < n; l++) {
                sum += (double)entry(a, of_a, row, l) * (double)entry(b, of_b, l, col);
            }
            expected[i] = row < m && col < n ? (double)(beta * c[i]) - 0.5 * sum : (double)c[i];
            c[i] = row < m && col < n && beta == 0.0F ? NAN : c[i]; /* must not be read */
        }
        backend->gemm(of_a, of_b, m, n, k, -0.5F, a, TOP, b, TOP, beta, c, TOP);
        for (size_t i = 0; i < TOP * TOP; i++) {
            cr_assert_float_eq((double)c[i], expected[i], ROUNDING, "%s, trial %zu, entry %zu",
                               backend->name, trial, i);
        }
    }
}
