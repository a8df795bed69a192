/* The loops of every instruction set against the definition in plain float64. */
#include "solve/transport/lanes.h"

#include "transport.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { N_TOP = 4 * LANES_PAD, ROWS_TOP = 11, DIM_TOP = 131 };

static uint64_t state = 7;

static double between(double low, double high)
{
    return low + (high - low) * transport_uniform(&state);
}

Test(lanes, exponentials_are_right_to_a_few_units_from_underflow_to_the_clamp)
{
    double cost[LANES_PAD] = {0}, g[LANES_PAD], kernel[LANES_PAD];
    float single[LANES_PAD];
    for (const struct lanes *const *l = lanes_list(); *l; l++) {
        for (size_t trial = 0; trial < 2000; trial++) {
            for (size_t j = 0; j < LANES_PAD; j++) {
                cost[j] = between(0, trial % 2 ? 1 : 700);
                g[j] = trial % 3 ? between(-1, 1) : between(-60, 60);
            }
            const double f = trial % 5 ? 0.0 : between(-10, 10);
            (*l)->kernel_row_f64(LANES_PAD, cost, 0.9, f, g, kernel);
            (*l)->kernel_row_f32(LANES_PAD, cost, 0.9, f, g, single);
            for (size_t j = 0; j < LANES_PAD; j++) {
                const double t = g[j] + f - cost[j] * 0.9, expected = exp(t);
                cr_assert_float_eq(kernel[j], expected,
                                   4e-16 * expected * (4 + fabs(g[j]) + fabs(f) + cost[j]),
                                   "%s: %g", (*l)->name, t);
                if (expected < (double)FLT_MIN * 0.999) {
                    cr_assert_eq(single[j], 0.0F);
                } else if (expected > (double)FLT_MIN * 1.001 && t < 68) {
                    cr_assert_float_eq((double)single[j], expected, 2e-7 * expected);
                }
            }
        }
    }
}

Test(lanes, extreme_potentials_give_zero_or_the_clamp_and_never_nan)
{
    const double g[LANES_PAD] = {LANES_NOTHING, -1e15, -800, -709, 1e15, 1e300, 800, 0};
    const double cost[LANES_PAD] = {0};
    double kernel[LANES_PAD];
    float single[LANES_PAD];
    for (const struct lanes *const *l = lanes_list(); *l; l++) {
        (*l)->kernel_row_f64(LANES_PAD, cost, 1, 0, g, kernel);
        (*l)->kernel_row_f32(LANES_PAD, cost, 1, 0, g, single);
        for (size_t j = 0; j < 4; j++) {
            cr_assert_eq(kernel[j], 0.0);
            cr_assert_eq(single[j], 0.0F);
        }
        for (size_t j = 4; j < 7; j++) {
            cr_assert(kernel[j] > 1e299 && kernel[j] < DBL_MAX);
            cr_assert(single[j] > 9e29F && single[j] < FLT_MAX);
        }
        cr_assert_eq(kernel[7], 1.0);
    }
}

Test(lanes, log_sums_are_safe_along_rows_and_columns)
{
    double cost[N_TOP], h[N_TOP], largest[N_TOP], sum[N_TOP], terms[N_TOP], s[N_TOP];
    for (const struct lanes *const *l = lanes_list(); *l; l++) {
        for (size_t trial = 0; trial < 100; trial++) {
            const double size = trial % 2 ? 10 : 5000;
            double expected = 0.0, top = -HUGE_VAL;
            for (size_t j = 0; j < N_TOP; j++) {
                cost[j] = between(0, size);
                h[j] = between(-size, size);
                top = fmax(top, h[j] - 2 * cost[j]);
            }
            for (size_t j = 0; j < N_TOP; j++) {
                expected += exp(h[j] - 2 * cost[j] - top);
                largest[j] = -HUGE_VAL;
                sum[j] = 0.0;
                s[j] = 1.0;
            }
            const double log_sum = (*l)->log_row(N_TOP, cost, 2, h, 0.5, terms, s);
            cr_assert_float_eq(log_sum, top + log(expected), 1e-15 * size);
            for (size_t j = 0; j < N_TOP; j++) {
                cr_assert_float_eq(s[j], 1 + 0.5 * exp(h[j] - 2 * cost[j] - top) / expected,
                                   1e-14 * size, "%s", (*l)->name);
            }
            for (size_t i = 0; i < 5; i++) {
                (*l)->largest_col(N_TOP, cost, 2, h[i], largest);
            }
            for (size_t i = 0; i < 5; i++) {
                (*l)->log_sum_col(N_TOP, cost, 2, h[i], largest, sum);
            }
            const double top_h = fmax(fmax(fmax(h[0], h[1]), fmax(h[2], h[3])), h[4]);
            double sum_h = 0.0;
            for (size_t i = 0; i < 5; i++) {
                sum_h += exp(h[i] - top_h);
            }
            for (size_t j = 0; j < N_TOP; j++) {
                cr_assert_float_eq(largest[j] + log(sum[j]), top_h + log(sum_h) - 2 * cost[j],
                                   1e-14 * size);
            }
        }
    }
}

struct pass_case {
    double kernel[ROWS_TOP * N_TOP], w[N_TOP], a[ROWS_TOP], u[ROWS_TOP], r[ROWS_TOP], s[N_TOP];
    double scratch[N_TOP];
    float kernel_f32[ROWS_TOP * N_TOP], w_f32[N_TOP];
};

static void check_pass(const struct lanes *l, size_t n_rows, double omega, bool is_single)
{
    static struct pass_case c;
    double last_u[ROWS_TOP], s[N_TOP];
    for (size_t k = 0; k < ROWS_TOP * N_TOP; k++) {
        c.kernel[k] = k / N_TOP == 2 ? 0.0 : between(0.1, 1);
        c.kernel_f32[k] = (float)c.kernel[k];
    }
    for (size_t j = 0; j < N_TOP; j++) {
        c.w[j] = between(0.1, 1);
        c.w_f32[j] = (float)c.w[j];
        s[j] = c.s[j] = between(0, 1);
    }
    for (size_t i = 0; i < ROWS_TOP; i++) {
        c.a[i] = between(0.1, 1);
        last_u[i] = c.u[i] = between(0.5, 2);
    }
    const struct lanes_pass pass = {n_rows,
                                    N_TOP,
                                    N_TOP,
                                    is_single ? (void *)c.kernel_f32 : c.kernel,
                                    is_single ? (void *)c.w_f32 : c.w,
                                    c.a,
                                    omega,
                                    c.u,
                                    c.r,
                                    c.s,
                                    c.scratch};
    (is_single ? l->pass_f32 : l->pass_f64)(&pass);
    const double rounding = is_single ? 1e-5 : 1e-12;
    for (size_t i = 0; i < n_rows; i++) {
        double r = 0.0;
        for (size_t j = 0; j < N_TOP; j++) {
            r += c.kernel[i * N_TOP + j] * c.w[j];
        }
        const double u = r > 0 ? pow(last_u[i], 1 - omega) * pow(r, -omega) : 0.0;
        cr_assert_float_eq(c.r[i], r, rounding * (1 + r), "%s", l->name);
        cr_assert_float_eq(c.u[i], u, rounding * (1 + u), "%s", l->name);
        for (size_t j = 0; j < N_TOP; j++) {
            s[j] += c.a[i] * u * c.kernel[i * N_TOP + j];
        }
    }
    for (size_t j = 0; j < N_TOP; j++) {
        cr_assert_float_eq(c.s[j], s[j], rounding * (1 + s[j]), "%s", l->name);
    }
}

Test(lanes, a_pass_is_both_halves_of_a_sweep_for_every_number_of_rows)
{
    for (const struct lanes *const *l = lanes_list(); *l; l++) {
        for (size_t n_rows = 0; n_rows <= ROWS_TOP; n_rows++) {
            check_pass(*l, n_rows, 1.0, false);
            check_pass(*l, n_rows, 1.6, false);
            check_pass(*l, n_rows, 1.0, true);
            check_pass(*l, n_rows, 1.3, true);
        }
    }
}

Test(lanes, values_of_a_row_keep_their_digits_when_the_plan_is_nearly_a_product)
{
    double cost[N_TOP], g[N_TOP], b[N_TOP], terms[N_TOP];
    for (const struct lanes *const *l = lanes_list(); *l; l++) {
        for (size_t trial = 0; trial < 60; trial++) {
            const double lambda = pow(10, (double)(trial % 8) - 2);
            struct lanes_values values, masses;
            long double kl = 0, dual = 0, linear = 0, logs = 0, total = 0, size = 0;
            for (size_t j = 0; j < N_TOP; j++) {
                cost[j] = between(0, 1);
                b[j] = j % 9 == 0 ? 0.0 : between(0.1, 1);
                g[j] = j % 18 == 0 ? 1e5 : between(0, 1 / lambda);
                const long double t = (long double)(g[j] - 0.25 / lambda) -
                                      (long double)cost[j] / (long double)lambda;
                const long double w = (long double)b[j], p = w > 0 ? w * expl(t) : 0;
                total += p;
                linear += p * (long double)cost[j];
                logs += w > 0 ? p * t : 0;
                kl += w > 0 ? w * (t * expl(t) - expm1l(t)) : 0;
                dual +=
                    w > 0 ? w * ((long double)cost[j] - (long double)lambda * (expm1l(t) - t)) : 0;
                size += w > 0 ? w * (1 + expl(t)) * (1 + fabsl(t)) : 0;
            }
            (*l)->values_row(N_TOP, cost, lambda, -0.25 / lambda, g, b, terms, &values);
            (*l)->masses_row(N_TOP, cost, lambda, -0.25 / lambda, g, b, terms, &masses);
            const double rounding = 4e-15 * (double)size * (1 + 1 / lambda);
            cr_assert_float_eq(values.mass, (double)total, rounding);
            cr_assert_float_eq(values.linear, (double)linear, rounding);
            cr_assert_float_eq(values.log, (double)logs, rounding);
            cr_assert_float_eq(values.kl, (double)kl,
                               lambda > 10 ? 1e-15 * (double)size / lambda : rounding);
            cr_assert_float_eq(values.dual, (double)dual,
                               rounding * fmax(lambda > 10 ? 1 : lambda, 1));
            cr_assert_float_eq(masses.mass, (double)total, rounding);
            cr_assert_float_eq(masses.linear, (double)linear, rounding);
            cr_assert_float_eq(masses.log, (double)logs, rounding);
            cr_assert_float_eq(terms[1], exp(g[1] - 0.25 / lambda - cost[1] / lambda),
                               4e-15 * terms[1] * (1 + 1 / lambda));
        }
    }
}

static void check_distances(const struct lanes *l, enum lanes_distance distance, size_t n_rows,
                            size_t dim)
{
    static float x[ROWS_TOP * DIM_TOP], y_t[DIM_TOP * N_TOP];
    static double out[ROWS_TOP * N_TOP];
    for (size_t k = 0; k < n_rows * dim; k++) {
        x[k] = (float)between(-1, 1);
    }
    for (size_t k = 0; k < dim * N_TOP; k++) {
        y_t[k] = (float)between(-3, 3);
    }
    l->distances(distance, n_rows, N_TOP, dim, 0.7, x, y_t, out);
    for (size_t r = 0; r < n_rows; r++) {
        for (size_t j = 0; j < N_TOP; j++) {
            double sum = 0.0;
            for (size_t c = 0; c < dim; c++) {
                const double difference = (double)x[r * dim + c] - (double)y_t[c * N_TOP + j];
                sum += distance == LANES_L1 ? fabs(difference) : difference * difference;
            }
            cr_assert_float_eq(out[r * N_TOP + j], 0.7 * sum, 1e-6 * (0.1 + sum), "%s", l->name);
        }
    }
}

Test(lanes, distances_agree_with_their_definition_in_every_dimension)
{
    for (const struct lanes *const *l = lanes_list(); *l; l++) {
        for (size_t dim = 1; dim <= DIM_TOP; dim += 10) {
            for (size_t n_rows = 1; n_rows <= ROWS_TOP; n_rows++) {
                check_distances(*l, LANES_L1, n_rows, dim);
                check_distances(*l, LANES_SQUARED, n_rows, dim);
            }
        }
    }
}

Test(lanes, the_l1_gradient_counts_masses_left_and_right_and_none_that_coincide)
{
    static float p[ROWS_TOP * N_TOP], x[ROWS_TOP * 3], y_t[3 * N_TOP];
    for (const struct lanes *const *l = lanes_list(); *l; l++) {
        for (size_t n_rows = 1; n_rows <= ROWS_TOP; n_rows++) {
            float grad[ROWS_TOP * 3] = {0};
            for (size_t k = 0; k < n_rows * N_TOP; k++) {
                p[k] = (float)between(0, 1);
            }
            for (size_t k = 0; k < n_rows * 3; k++) {
                x[k] = (float)(int)between(-4, 4);
            }
            for (size_t k = 0; k < 3 * N_TOP; k++) {
                y_t[k] = (float)(int)between(-4, 4);
            }
            (*l)->l1_gradient(n_rows, N_TOP, 3, p, x, y_t, grad);
            for (size_t k = 0; k < n_rows * 3; k++) {
                double sum = 0.0;
                for (size_t j = 0; j < N_TOP; j++) {
                    const float y = y_t[k % 3 * N_TOP + j], mass = p[k / 3 * N_TOP + j];
                    sum += x[k] > y ? (double)mass : x[k] < y ? -(double)mass : 0.0;
                }
                cr_assert_float_eq((double)grad[k], sum, 1e-4, "%s", (*l)->name);
            }
        }
    }
}
