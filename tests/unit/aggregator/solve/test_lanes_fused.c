/* The fused sweep over few rows, exponentials, logarithms and squared distances, for every
 * instruction set against the definition in plain float64. */
#include "solve/transport/lanes.h"

#include "transport.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { COLS_TOP = 47 * LANES_PAD, ROWS_TOP = 41 };

static uint64_t state = 11;

static double between(double low, double high)
{
    return low + (high - low) * transport_uniform(&state);
}

struct fused_case {
    double kernel[ROWS_TOP * COLS_TOP], x[ROWS_TOP], b[COLS_TOP], v[COLS_TOP], r[ROWS_TOP];
    float kernel_f32[ROWS_TOP * COLS_TOP], x_f32[ROWS_TOP], b_f32[COLS_TOP], v_f32[COLS_TOP];
};
static struct fused_case c;

/* Every seventh column has no mass; the last LANES_PAD have no kernel either. */
static void draw_case(size_t n)
{
    for (size_t k = 0; k < ROWS_TOP * COLS_TOP; k++) {
        c.kernel[k] = k % COLS_TOP >= n - LANES_PAD ? 0.0 : between(0.1, 1);
        c.kernel_f32[k] = (float)c.kernel[k];
    }
    for (size_t j = 0; j < COLS_TOP; j++) {
        c.b[j] = j % 7 == 0 || j >= n - LANES_PAD ? 0.0 : between(0.1, 1);
        c.b_f32[j] = (float)c.b[j];
    }
    for (size_t i = 0; i < ROWS_TOP; i++) {
        c.x[i] = between(0.1, 1);
        c.x_f32[i] = (float)c.x[i];
    }
}

static void check_fused(const struct lanes *l, size_t n_rows, size_t n, bool is_single)
{
    double r[ROWS_TOP] = {0}, least = 1, most = 1;
    draw_case(n);
    struct lanes_fused sweep = {.n_rows = n_rows,
                                .n = n,
                                .stride = COLS_TOP,
                                .kernel = is_single ? (void *)c.kernel_f32 : c.kernel,
                                .x = is_single ? (void *)c.x_f32 : c.x,
                                .b = is_single ? (void *)c.b_f32 : c.b,
                                .v = is_single ? (void *)c.v_f32 : c.v,
                                .r = c.r};
    (is_single ? l->fused_f32 : l->fused_f64)(&sweep);
    const double rounding = is_single ? 1e-5 : 1e-12;
    for (size_t j = 0; j < n; j++) {
        double s = 0;
        for (size_t i = 0; i < n_rows; i++) {
            s += c.x[i] * c.kernel[i * COLS_TOP + j];
        }
        const double expected = s > 0 ? 1 / s : 0, v = is_single ? (double)c.v_f32[j] : c.v[j];
        cr_assert_float_eq(v, expected, rounding * (1 + expected), "%s, column %zu", l->name, j);
        for (size_t i = 0; i < n_rows; i++) {
            r[i] += c.kernel[i * COLS_TOP + j] * c.b[j] * expected;
        }
        least = c.b[j] > 0 ? fmin(least, expected) : least;
        most = c.b[j] > 0 ? fmax(most, expected) : most;
    }
    for (size_t i = 0; i < n_rows; i++) {
        cr_assert_float_eq(c.r[i], r[i], rounding * (1 + r[i]), "%s, row %zu of %zu", l->name, i,
                           n_rows);
    }
    cr_assert_float_eq(sweep.least, least, rounding);
    cr_assert_float_eq(sweep.most, most, rounding * most);
    cr_assert_not(sweep.is_lost);
}

Test(lanes_fused, a_fused_sweep_is_both_halves_for_every_number_of_rows_and_columns)
{
    for (const struct lanes *const *l = lanes_list(); *l; l++) {
        for (size_t n_rows = 1; n_rows <= ROWS_TOP; n_rows++) {
            check_fused(*l, n_rows, (2 + n_rows % 46) * LANES_PAD, false);
            check_fused(*l, n_rows, (2 + n_rows % 45) * LANES_PAD, true);
        }
    }
}

Test(lanes_fused, a_column_with_mass_whose_sum_is_zero_is_reported)
{
    for (const struct lanes *const *l = lanes_list(); *l; l++) {
        draw_case(COLS_TOP);
        for (size_t i = 0; i < 3; i++) {
            c.kernel[i * COLS_TOP + 100] = 0.0;
        }
        c.b[100] = 0.5;
        struct lanes_fused sweep = {3, COLS_TOP, COLS_TOP, c.kernel, c.x, c.b, c.v, c.r, 0, 0, 0};
        (*l)->fused_f64(&sweep);
        cr_assert(sweep.is_lost, "%s", (*l)->name);
        cr_assert_eq(c.v[100], 0.0);
        cr_assert(isfinite(c.r[0]));
        c.b[100] = 0.0;
        (*l)->fused_f64(&sweep);
        cr_assert_not(sweep.is_lost, "%s: without mass it does not count", (*l)->name);
    }
}

Test(lanes_fused, logarithms_undo_exponentials_to_a_few_units_in_the_last_place)
{
    double x[LANES_PAD], y[LANES_PAD], back[LANES_PAD];
    for (const struct lanes *const *l = lanes_list(); *l; l++) {
        for (size_t trial = 0; trial < 4000; trial++) {
            for (size_t j = 0; j < LANES_PAD; j++) {
                x[j] = trial % 3 ? between(-700, 689) : between(-1e-3, 1e-3);
            }
            (*l)->exponentials(LANES_PAD, x, 0.5, y);
            (*l)->logarithms(LANES_PAD, y, -0.5, back);
            for (size_t j = 0; j < LANES_PAD; j++) {
                cr_assert_float_eq(y[j], exp(x[j] + 0.5), 3e-16 * y[j] * (2 + fabs(x[j])));
                cr_assert_float_eq(back[j] + 0.5, log(y[j]), 4e-16 * (1 + fabs(x[j])), "%s: %g",
                                   (*l)->name, x[j]);
            }
        }
        for (size_t j = 0; j < LANES_PAD; j++) {
            x[j] = j == 0 ? 0.0 : j == 1 ? -1.0 : j == 2 ? DBL_MIN / 1024 : j == 3 ? 1.0 : DBL_MAX;
        }
        (*l)->logarithms(LANES_PAD, x, 0, y);
        cr_assert(y[0] == LANES_NOTHING && y[1] == LANES_NOTHING && y[3] == 0.0);
        cr_assert_float_eq(y[2], log(DBL_MIN / 1024), 1e-12);
        cr_assert_float_eq(y[4], log(DBL_MAX), 1e-12);
        x[0] = LANES_NOTHING;
        (*l)->exponentials(LANES_PAD, x, 0, y);
        cr_assert_eq(y[0], 0.0);
    }
}

Test(lanes_fused, squared_distances_are_exactly_zero_for_equal_points_far_from_the_origin)
{
    enum { N = 2 * LANES_PAD, ROWS = 9, DIM = 7 };
    double x[ROWS * DIM], y_t[DIM * N], out[ROWS * N];
    for (const struct lanes *const *l = lanes_list(); *l; l++) {
        for (size_t k = 0; k < DIM * N; k++) {
            y_t[k] = 1e6 + between(-1, 1);
        }
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t k = 0; k < DIM; k++) {
                x[r * DIM + k] = y_t[k * N + 2 * r];
            }
        }
        (*l)->squares(ROWS, N, DIM, x, y_t, out);
        for (size_t r = 0; r < ROWS; r++) {
            cr_assert_eq(out[r * N + 2 * r], 0.0);
            for (size_t j = 0; j < N; j++) {
                double sum = 0;
                for (size_t k = 0; k < DIM; k++) {
                    sum += pow(x[r * DIM + k] - y_t[k * N + j], 2);
                }
                cr_assert_float_eq(out[r * N + j], sum, 1e-14 * (1 + sum), "%s", (*l)->name);
            }
        }
    }
}
