/* One suite for all backends; a new backend is a row of the table. */
#include "ot/linalg.h"

#include "problem.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define SIZE_TOP 37
#define ROUNDING 1e-13

static size_t n_backends(void)
{
    return 2;
}

static const struct dpot_linalg *backend_at(size_t i)
{
    return i == 0 ? &dpot_linalg_portable : dpot_linalg_openblas();
}

static void fill(uint64_t *state, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = 2.0 * uniform_next(state) - 1.0;
    }
}

static void check_close(const struct dpot_linalg *backend, const double *x, const double *y,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cr_assert_float_eq(x[i], y[i], ROUNDING, "%s: %g, not %g", backend->name, x[i], y[i]);
    }
}

Test(linalg, backends_have_names_of_their_own)
{
    for (size_t i = 0; i < n_backends(); i++) {
        cr_assert_not_null(backend_at(i)->name);
        for (size_t j = 0; j < i; j++) {
            cr_assert_str_neq(backend_at(i)->name, backend_at(j)->name);
        }
    }
}

Test(linalg, dot_and_axpy_agree_with_their_definition_at_every_length)
{
    uint64_t state = 41;
    double x[SIZE_TOP], y[SIZE_TOP], out[SIZE_TOP], expected[SIZE_TOP];
    for (size_t b = 0; b < n_backends(); b++) {
        const struct dpot_linalg *backend = backend_at(b);
        for (size_t n = 0; n <= SIZE_TOP; n++) {
            double sum = 0.0;
            fill(&state, x, n);
            fill(&state, y, n);
            memcpy(out, y, sizeof out);
            for (size_t i = 0; i < n; i++) {
                sum += x[i] * y[i];
                expected[i] = y[i] - 0.7 * x[i];
            }
            cr_assert_float_eq(backend->dot(n, x, y), sum, ROUNDING, "%s", backend->name);
            backend->axpy(n, -0.7, x, out);
            check_close(backend, out, expected, n);
        }
    }
}

static double entry(const double *a, size_t lda, enum dpot_transpose transpose, size_t i, size_t j)
{
    return transpose == DPOT_TRANSPOSE ? a[j * lda + i] : a[i * lda + j];
}

Test(linalg, gemv_agrees_with_its_definition_transposed_or_not)
{
    uint64_t state = 42;
    double a[SIZE_TOP * SIZE_TOP], x[SIZE_TOP], y[SIZE_TOP], expected[SIZE_TOP];
    for (size_t trial = 0; trial < 400; trial++) {
        const struct dpot_linalg *backend = backend_at(trial % n_backends());
        const enum dpot_transpose transpose = trial / 2 % 2 ? DPOT_TRANSPOSE : DPOT_NO_TRANSPOSE;
        const size_t n_rows = trial * 7 % 30, n_cols = 1 + trial * 11 % 30,
                     lda = n_cols + trial % 3;
        const size_t n_out = transpose == DPOT_TRANSPOSE ? n_cols : n_rows;
        const size_t n_in = transpose == DPOT_TRANSPOSE ? n_rows : n_cols;
        const double alpha = 1.3, beta = trial % 3 == 0 ? 0.0 : trial % 3 == 1 ? 1.0 : -0.4;
        fill(&state, a, n_rows * lda);
        fill(&state, x, n_in);
        fill(&state, y, n_out);
        for (size_t i = 0; i < n_out; i++) {
            expected[i] = beta * y[i];
            for (size_t j = 0; j < n_in; j++) {
                expected[i] += alpha * entry(a, lda, transpose, i, j) * x[j];
            }
            y[i] = beta == 0.0 ? NAN : y[i]; /* must not be read */
        }
        backend->gemv(transpose, n_rows, n_cols, alpha, a, lda, x, beta, y);
        check_close(backend, y, expected, n_out);
    }
}

Test(linalg, gemm_agrees_with_its_definition_in_all_four_orientations)
{
    enum { TOP = 24 };
    uint64_t state = 43;
    double a[TOP * TOP], b[TOP * TOP], c[TOP * TOP], expected[TOP * TOP];
    for (size_t trial = 0; trial < 800; trial++) {
        const struct dpot_linalg *backend = backend_at(trial % n_backends());
        const enum dpot_transpose of_a = trial / 2 % 2 ? DPOT_TRANSPOSE : DPOT_NO_TRANSPOSE;
        const enum dpot_transpose of_b = trial / 4 % 2 ? DPOT_TRANSPOSE : DPOT_NO_TRANSPOSE;
        const size_t m = 1 + trial * 5 % 19, n = 1 + trial * 7 % 17, k = trial * 3 % 20;
        const double beta = trial % 3 == 0 ? 0.0 : trial % 3 == 1 ? 1.0 : 0.6;
        fill(&state, a, TOP * TOP);
        fill(&state, b, TOP * TOP);
        fill(&state, c, TOP * TOP);
        memcpy(expected, c, sizeof c);
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < n; j++) {
                double sum = 0.0;
                for (size_t l = 0; l < k; l++) {
                    sum += entry(a, TOP, of_a, i, l) * entry(b, TOP, of_b, l, j);
                }
                expected[i * TOP + j] = beta * c[i * TOP + j] - 0.5 * sum;
                c[i * TOP + j] = beta == 0.0 ? NAN : c[i * TOP + j];
            }
        }
        backend->gemm(of_a, of_b, m, n, k, -0.5, a, TOP, b, TOP, beta, c, TOP);
        check_close(backend, c, expected, TOP * TOP);
    }
}

Test(linalg, sweep_is_both_halves_of_a_sinkhorn_iteration_and_spares_empty_rows)
{
    uint64_t state = 44;
    double kernel[SIZE_TOP * SIZE_TOP], mu[SIZE_TOP], v[SIZE_TOP], u[SIZE_TOP], s[SIZE_TOP];
    for (size_t trial = 0; trial < 200; trial++) {
        const struct dpot_linalg *backend = backend_at(trial % n_backends());
        const size_t n = 1 + trial * 5 % SIZE_TOP, m = 1 + trial * 3 % SIZE_TOP, empty = trial % n;
        random_measure(&state, mu, n, 1);
        for (size_t j = 0; j < m; j++) {
            v[j] = uniform_next(&state) + 0.1;
        }
        for (size_t i = 0; i < n * m; i++) {
            kernel[i] = i / m == empty ? 0.0 : uniform_next(&state) + 0.1;
        }
        backend->sweep(n, m, kernel, mu, v, u, s);
        double moved = 0.0, expected = 0.0;
        for (size_t i = 0; i < n; i++) {
            const double row_sum = dpot_linalg_portable.dot(m, kernel + i * m, v);
            cr_assert_float_eq(u[i], i == empty ? 0.0 : mu[i] / row_sum, ROUNDING);
            expected += i == empty ? 0.0 : mu[i];
        }
        for (size_t j = 0; j < m; j++) {
            moved += s[j] * v[j];
        }
        cr_assert_float_eq(moved, expected, ROUNDING, "%s: s v has the mass of mu", backend->name);
    }
}
