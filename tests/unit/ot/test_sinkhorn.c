#include "ot/sinkhorn.h"

#include "ot/network_simplex.h"
#include "problem.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(sinkhorn, two_points_have_the_closed_form_in_every_value)
{
    const double half[] = {0.5, 0.5}, cost[] = {0, 1, 1, 0}, lambda = 0.5;
    double plan[4];
    struct dpot_sinkhorn_result result;
    cr_assert_eq(dpot_sinkhorn(cost, half, half, 2, 2, lambda, 1e-14, 1000, NULL, NULL, NULL, plan,
                               &result, NULL),
                 DPOT_OK);
    const double p = 0.5 / (1.0 + exp(-1.0 / lambda));
    cr_assert_float_eq(plan[0], p, 1e-14);
    cr_assert_float_eq(plan[0], 0.44039853898894116, 1e-12);
    cr_assert_float_eq(result.transport_cost, 0.11920292202211755, 1e-12);
    cr_assert_float_eq(result.value, 0.11920292202211755 + lambda * 0.3278133254727375, 1e-12);
    cr_assert_float_eq(result.dual, result.value, 1e-12);
    cr_assert(result.converged);
}

Test(sinkhorn, kernel_that_underflows_still_gives_its_plan)
{
    const double half[] = {0.5, 0.5}, cost[] = {100, 121, 81, 100};
    double plan[4];
    struct dpot_sinkhorn_result result;
    cr_assert_eq(
        dpot_sinkhorn(cost, half, half, 2, 2, 0.1, 1e-9, 10, NULL, NULL, NULL, plan, &result, NULL),
        DPOT_OK);
    cr_assert(!result.converged && result.residual > 1e-9, "ten sweeps are honest about it");
    cr_assert_eq(dpot_sinkhorn(cost, half, half, 2, 2, 0.1, 1e-9, 500000, NULL, NULL, NULL, plan,
                               &result, NULL),
                 DPOT_OK);
    cr_assert(result.converged);
    cr_assert_float_eq(plan[0], 0.5, 1e-4);
    cr_assert_float_eq(plan[1], 2.27e-5, 1e-6);
    cr_assert_float_eq(result.transport_cost, 100.0, 1e-4);
}

Test(sinkhorn, points_without_mass_have_finite_potentials_and_no_part_in_the_plan)
{
    const double a[] = {0, 1, 0, 0}, b[] = {1, 0, 0, 0};
    const double cost[] = {0, 1, 1, 1.414, 1, 0, 1.414, 1, 1, 1.414, 0, 1, 1.414, 1, 1, 0};
    double f[4], g[4], plan[16];
    struct dpot_sinkhorn_result result;
    cr_assert_eq(dpot_sinkhorn(cost, a, b, 4, 4, 0.1, 1e-12, 1000, NULL, f, g, plan, &result, NULL),
                 DPOT_OK);
    cr_assert_float_eq(result.transport_cost, 1.0, 1e-9);
    cr_assert(result.converged && isfinite(result.value) && isfinite(result.dual));
    for (size_t i = 0; i < 16; i++) {
        cr_assert(isfinite(f[i / 4]) && isfinite(g[i % 4]));
        cr_assert_float_eq(plan[i], i == 4 ? 1.0 : 0.0, 1e-12);
    }
}

Test(sinkhorn, brackets_the_exact_cost_and_its_own_value)
{
    enum { N = 20, M = 13 };
    uint64_t state = 31;
    double a[N], b[M], cost[N * M], f[N], g[M], plan[N * M];
    for (int trial = 0; trial < 20; trial++) {
        const double lambda = trial % 2 ? 0.05 : 0.5;
        random_measure(&state, a, N, trial % 3 == 0);
        random_measure(&state, b, M, trial % 4 == 0);
        for (size_t i = 0; i < N * M; i++) {
            cost[i] = uniform_next(&state);
        }
        struct dpot_sinkhorn_result result;
        struct dpot_exact_result exact;
        cr_assert_eq(
            dpot_sinkhorn(cost, a, b, N, M, lambda, 1e-12, 100000, NULL, f, g, plan, &result, NULL),
            DPOT_OK);
        cr_assert_eq(dpot_exact_ot(cost, a, b, N, M, NULL, &exact, NULL), DPOT_OK);
        cr_assert(result.converged);
        cr_assert_float_eq(result.value, result.dual, 1e-11);
        cr_assert_geq(result.transport_cost, exact.transport_cost - 1e-11);
        cr_assert_leq(result.transport_cost,
                      exact.transport_cost + lambda * log((double)N * (double)M));
        double violation = 0.0;
        for (size_t i = 0; i < N; i++) {
            violation += fabs(sum_of(plan + i * M, M) - a[i]);
        }
        cr_assert_float_eq(violation, result.residual, 1e-13);
        for (size_t i = 0; i < N * M; i++) {
            const double mass = a[i / M] * b[i % M] * exp((f[i / M] + g[i % M] - cost[i]) / lambda);
            cr_assert_float_eq(plan[i], mass, 1e-12);
        }
        dpot_exact_result_release(&exact);
    }
}

/* Two points each; by symmetry value = -lambda log((1 + exp(-1/lambda)) / 2). */
Test(sinkhorn, keeps_its_digits_up_to_the_largest_lambda)
{
    const double half[] = {0.5, 0.5}, double_half[] = {1, 1}, cost[] = {0, 1, 1, 0};
    for (double lambda = 0.05; lambda <= DPOT_SINKHORN_LAMBDA_RATIO; lambda *= 1.7) {
        const double value = -lambda * log1p(0.5 * expm1(-1.0 / lambda));
        double f[2], g[2];
        struct dpot_sinkhorn_result result;
        cr_assert_eq(dpot_sinkhorn(cost, half, half, 2, 2, lambda, 1e-13, 9, NULL, f, g, NULL,
                                   &result, NULL),
                     DPOT_OK);
        cr_assert_float_eq(result.value, value, 1e-14, "lambda %g: %.17g", lambda, result.value);
        cr_assert_float_eq(result.dual, value, 1e-14, "lambda %g: %.17g", lambda, result.dual);
        cr_assert_float_eq(0.5 * (f[0] + f[1] + g[0] + g[1]), value, 1e-9);
        cr_assert_eq(dpot_sinkhorn(cost, double_half, double_half, 2, 2, lambda, 1e-13, 9, NULL,
                                   NULL, NULL, NULL, &result, NULL),
                     DPOT_OK);
        cr_assert_float_eq(result.value, 2 * value, 1e-14, "the value scales with the mass");
        cr_assert_float_eq(result.dual, 2 * value, 1e-14);
    }
}

Test(sinkhorn, of_equal_costs_is_the_cost_at_every_lambda)
{
    enum { N = 9, M = 7 };
    uint64_t state = 5;
    double a[N], b[M], cost[N * M];
    random_measure(&state, a, N, 1);
    random_measure(&state, b, M, 0);
    for (double lambda = 1e-4; lambda <= 1e20; lambda *= 10.0) {
        for (int is_free = 0; is_free < 2; is_free++) {
            const double each = is_free ? 0.0 : 1.0;
            struct dpot_sinkhorn_result result;
            for (size_t i = 0; i < N * M; i++) {
                cost[i] = each;
            }
            if (!is_free && lambda > DPOT_SINKHORN_LAMBDA_RATIO) {
                continue;
            }
            cr_assert_eq(dpot_sinkhorn(cost, a, b, N, M, lambda, 1e-12, 100, NULL, NULL, NULL, NULL,
                                       &result, NULL),
                         DPOT_OK);
            cr_assert_float_eq(result.value, each, 1e-13, "lambda %g: %.17g", lambda, result.value);
            cr_assert_float_eq(result.dual, each, 1e-13, "lambda %g: %.17g", lambda, result.dual);
        }
    }
}

/* The value is below <C, a x b>, by at most range^2 / (8 lambda) (Hoeffding). */
Test(sinkhorn, of_a_large_lambda_is_bracketed_by_the_product_plan)
{
    enum { N = 12, M = 15 };
    uint64_t state = 77;
    double a[N], b[M], cost[N * M];
    for (double lambda = 1.0; lambda < 0.9 * DPOT_SINKHORN_LAMBDA_RATIO; lambda *= 3.0) {
        double mean = 0.0;
        random_measure(&state, a, N, 0);
        random_measure(&state, b, M, 1);
        for (size_t i = 0; i < N * M; i++) {
            cost[i] = i == 0 ? 1.0 : uniform_next(&state);
            mean += a[i / M] * b[i % M] * cost[i];
        }
        struct dpot_sinkhorn_result result;
        cr_assert_eq(dpot_sinkhorn(cost, a, b, N, M, lambda, 1e-13, 1000, NULL, NULL, NULL, NULL,
                                   &result, NULL),
                     DPOT_OK);
        cr_assert(result.converged);
        cr_assert_leq(result.value, mean + 1e-14);
        cr_assert_geq(result.value, mean - 1.0 / (8.0 * lambda) - 1e-14);
        cr_assert_leq(result.dual, result.value + 1e-14, "lambda %g: the dual is a bound", lambda);
        cr_assert_float_eq(result.dual, result.value, 1e-12);
    }
}

Test(sinkhorn, refuses_a_lambda_that_leaves_nothing_but_the_product_plan)
{
    const double half[] = {0.5, 0.5}, cost[] = {0, -2, 1, 0};
    struct dpot_sinkhorn_result result;
    struct dpot_error error;
    cr_assert_eq(dpot_sinkhorn(cost, half, half, 2, 2, 2e6, 1e-9, 10, NULL, NULL, NULL, NULL,
                               &result, &error),
                 DPOT_OK);
    cr_assert_eq(dpot_sinkhorn(cost, half, half, 2, 2, 2.1e6, 1e-9, 10, NULL, NULL, NULL, NULL,
                               &result, &error),
                 DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "a x b") && strstr(error.text, "2.1e+06"), "%s", error.text);
}

Test(sinkhorn, refuses_bad_data_and_names_them)
{
    const double half[] = {0.5, 0.5}, cost[] = {0, 1, 1, 0}, bad_cost[] = {0, INFINITY, 1, 0};
    const double negative[] = {1.5, -0.5}, unequal[] = {0.5, 0.4}, none[] = {0, 0};
    struct dpot_sinkhorn_result result;
    struct dpot_error error;
    cr_assert_eq(dpot_sinkhorn(bad_cost, half, half, 2, 2, 0.1, 1e-9, 10, NULL, NULL, NULL, NULL,
                               &result, &error),
                 DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "row 1, column 2"), "%s", error.text);
    cr_assert_eq(dpot_sinkhorn(cost, negative, half, 2, 2, 0.1, 1e-9, 10, NULL, NULL, NULL, NULL,
                               &result, &error),
                 DPOT_ERR_RANGE);
    cr_assert_eq(dpot_sinkhorn(cost, half, unequal, 2, 2, 0.1, 1e-9, 10, NULL, NULL, NULL, NULL,
                               &result, &error),
                 DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_sinkhorn(cost, none, none, 2, 2, 0.1, 1e-9, 10, NULL, NULL, NULL, NULL,
                               &result, &error),
                 DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_sinkhorn(cost, half, half, 0, 2, 0.1, 1e-9, 10, NULL, NULL, NULL, NULL,
                               &result, &error),
                 DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_sinkhorn(cost, half, half, 2, 2, 0.0, 1e-9, 10, NULL, NULL, NULL, NULL,
                               &result, &error),
                 DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "lambda"), "%s", error.text);
}

Test(sinkhorn, survives_every_failing_allocation)
{
    const double half[] = {0.5, 0.5}, cost[] = {0, 1, 1, 0};
    struct test_allocator allocator;
    struct dpot_sinkhorn_result result;
    test_allocator_init(&allocator);
    size_t n = 1;
    for (; n < 100; n++) {
        test_allocator_fail_at(&allocator, n);
        const dpot_status status =
            dpot_sinkhorn(cost, half, half, 2, 2, 0.5, 1e-9, 100, &allocator.allocator, NULL, NULL,
                          NULL, &result, NULL);
        cr_assert_eq(allocator.bytes, 0);
        if (status == DPOT_OK) {
            break;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
    }
    cr_assert(n > 5 && n < 100);
}
