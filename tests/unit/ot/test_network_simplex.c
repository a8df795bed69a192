#include "ot/network_simplex.h"

#include "problem.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Solves and checks everything that a solution guarantees: marginals, signs, support, feasible
 * potentials, and that the dual proves the cost (gap in units of the larger of cost and 1e-3 of the
 * largest cost). Returns the cost. */
static double solve(const double *cost, const double *a, const double *b, size_t n, size_t m)
{
    struct dpot_exact_result result;
    struct dpot_error error = {""};
    cr_assert_eq(dpot_exact_ot(cost, a, b, n, m, NULL, &result, &error), DPOT_OK, "%s", error.text);
    double *rows = calloc(n, sizeof *rows), *cols = calloc(m, sizeof *cols);
    double recomputed = 0.0, largest = 0.0;
    cr_assert_leq(result.n_entries, n + m - 1);
    for (size_t k = 0; k < result.n_entries; k++) {
        const struct dpot_exact_plan_entry *entry = &result.entries[k];
        cr_assert(entry->mass > 0.0 && entry->row < n && entry->col < m);
        rows[entry->row] += entry->mass;
        cols[entry->col] += entry->mass;
        recomputed += entry->mass * cost[entry->row * m + entry->col];
    }
    const double mass = sum_of(a, n);
    cr_assert_lt(l1_distance(rows, a, n), 1e-14 * mass * sqrt((double)n));
    cr_assert_lt(l1_distance(cols, b, m), (1e-14 * sqrt((double)m)) * mass);
    for (size_t i = 0; i < n * m; i++) {
        largest = fmax(largest, fabs(cost[i]));
        cr_assert_leq(result.f[i / m] + result.g[i % m] - cost[i],
                      1e-14 * fabs(cost[i]) + 1e-300 +
                          1e-15 * (fabs(result.f[i / m]) + fabs(result.g[i % m])));
    }
    const double unit = fmax(fabs(result.transport_cost), 1e-3 * largest * mass);
    cr_assert_float_eq(recomputed, result.transport_cost, 1e-12 * unit + 1e-300);
    cr_assert_float_eq(result.dual, result.transport_cost, 1e-12 * unit + 1e-300, "gap %g of %g",
                       result.transport_cost - result.dual, result.transport_cost);
    const double transport_cost = result.transport_cost;
    dpot_exact_result_release(&result);
    free(rows);
    free(cols);
    return transport_cost;
}

static void fill_uniform(double *weights, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        weights[i] = 1.0 / (double)n;
    }
}

static double best_permutation(const double *cost, size_t n, size_t row, unsigned used)
{
    if (row == n) {
        return 0.0;
    }
    double best = INFINITY;
    for (size_t j = 0; j < n; j++) {
        if (!(used >> j & 1u)) {
            best =
                fmin(best, cost[row * n + j] + best_permutation(cost, n, row + 1, used | 1u << j));
        }
    }
    return best;
}

Test(exact_transport, of_equal_weights_is_the_best_permutation_with_and_without_ties)
{
    uint64_t state = 21;
    double cost[36], weights[6];
    for (int trial = 0; trial < 1500; trial++) {
        const size_t n = 1 + (size_t)trial % 6;
        for (size_t i = 0; i < n * n; i++) {
            const double x = uniform_next(&state);
            cost[i] = trial % 3 == 0 ? floor(3.0 * x) : trial % 3 == 1 ? x : floor(5.0 * x) - 2.0;
        }
        fill_uniform(weights, n);
        cr_assert_float_eq(solve(cost, weights, weights, n, n),
                           best_permutation(cost, n, 0, 0) / (double)n, 1e-13);
    }
}

/* W_p^p on a line for a convex cost: the quantile coupling. */
static double line_cost(const double *x, const double *a, size_t n, const double *y,
                        const double *b, size_t m, double power)
{
    double total = 0.0, left = a[0], right = b[0];
    for (size_t i = 0, j = 0; i < n && j < m;) {
        const double mass = fmin(left, right);
        total += mass * pow(fabs(x[i] - y[j]), power);
        left -= mass;
        right -= mass;
        if (left <= right) {
            i++;
            left = i < n ? a[i] : 0.0;
        } else {
            j++;
            right = j < m ? b[j] : 0.0;
        }
    }
    return total;
}

Test(exact_transport, on_a_line_is_the_quantile_coupling)
{
    uint64_t state = 22;
    enum { N = 60, M = 45 };
    double x[N], y[M], a[N], b[M], cost[N * M];
    for (int trial = 0; trial < 40; trial++) {
        const double power = trial % 2 ? 2.0 : 1.0;
        for (size_t i = 0; i < N; i++) { /* ascending */
            x[i] = (i ? x[i - 1] : 0.0) + uniform_next(&state);
        }
        for (size_t j = 0; j < M; j++) {
            y[j] = (j ? y[j - 1] : 5.0) + floor(2.0 * uniform_next(&state));
        }
        random_measure(&state, a, N, trial % 3 == 0);
        random_measure(&state, b, M, trial % 4 == 0);
        for (size_t i = 0; i < N * M; i++) {
            cost[i] = pow(fabs(x[i / M] - y[i % M]), power);
        }
        const double expected = line_cost(x, a, N, y, b, M, power);
        cr_assert_float_eq(solve(cost, a, b, N, M), expected, 1e-10 * expected + 1e-13);
    }
}

Test(exact_transport, handles_one_row_one_column_and_one_pair)
{
    uint64_t state = 23;
    double cost[50], weights[50];
    const double one[] = {1.0};
    for (size_t i = 0; i < 50; i++) {
        cost[i] = uniform_next(&state);
    }
    random_measure(&state, weights, 50, 1);
    double expected = 0.0;
    for (size_t i = 0; i < 50; i++) {
        expected += cost[i] * weights[i];
    }
    cr_assert_float_eq(solve(cost, one, weights, 1, 50), expected, 1e-15);
    cr_assert_float_eq(solve(cost, weights, one, 50, 1), expected, 1e-15);
    cr_assert_float_eq(solve(cost, one, one, 1, 1), cost[0], 1e-16);
}

Test(exact_transport, gives_points_without_mass_feasible_potentials)
{
    const double a[] = {0, 1, 0, 0}, b[] = {1, 0, 0, 0};
    const double cost[] = {0, 1, 1, 1.414, 1, 0, 1.414, 1, 1, 1.414, 0, 1, 1.414, 1, 1, 0};
    cr_assert_float_eq(solve(cost, a, b, 4, 4), 1.0, 1e-15);
}

Test(exact_transport, is_scaled_over_masses_from_tiny_to_huge)
{
    const double cost[] = {2, 1, 1, 1};
    static const double masses[] = {1e-300, 1e-9, 1.0, 7.0, 1e12, 1e300};
    for (size_t i = 0; i < sizeof masses / sizeof masses[0]; i++) {
        const double a[] = {0.5 * masses[i], 0.5 * masses[i]};
        cr_assert_float_eq(solve(cost, a, a, 2, 2) / masses[i], 1.0, 1e-14);
    }
}

Test(exact_transport, meets_a_float32_marginal_with_a_float64_one)
{
    double a[5], b[5], cost[25];
    for (size_t i = 0; i < 5; i++) {
        a[i] = (double)(float)0.2f;
        b[i] = 0.2;
    }
    for (size_t i = 0; i < 25; i++) {
        cost[i] = fabs((double)(i / 5) - (double)(i % 5));
    }
    struct dpot_exact_result result;
    cr_assert_eq(dpot_exact_ot(cost, a, b, 5, 5, NULL, &result, NULL), DPOT_OK);
    cr_assert_float_eq(result.transport_cost, 0.0, 1e-14);
    cr_assert_eq(result.n_entries, 5);
    dpot_exact_result_release(&result);
}

Test(exact_transport, is_not_blunted_by_forbidden_pairs_of_enormous_cost)
{
    const double third[] = {1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0};
    const double cost[] = {3e-9, 2e-9, 1e15, 2e-9, 5e-9, 1e-9, 1e15, 1e-9, 7e-9};
    struct dpot_exact_result result;
    cr_assert_eq(dpot_exact_ot(cost, third, third, 3, 3, NULL, &result, NULL), DPOT_OK);
    cr_assert_float_eq(result.transport_cost, 5e-9 / 3.0, 1e-22, "3 + 1 + 1 beats 7 + 2 + 2");
    cr_assert_float_eq(result.dual, 5e-9 / 3.0, 1e-22);
    dpot_exact_result_release(&result);
}

Test(exact_transport, of_a_lattice_full_of_ties_ends_and_is_exact)
{
    enum { SIDE = 12, N = SIDE * SIDE };
    uint64_t state = 24;
    double *cost = calloc(N * N, sizeof *cost), a[N], b[N];
    for (size_t i = 0; i < N * N; i++) {
        const double dx = (double)(i / N / SIDE) - (double)(i % N / SIDE);
        const double dy = (double)(i / N % SIDE) - (double)(i % N % SIDE);
        cost[i] = fabs(dx) + fabs(dy);
    }
    for (int trial = 0; trial < 10; trial++) {
        double sum_a = 0.0, sum_b = 0.0;
        for (size_t i = 0; i < N; i++) {
            a[i] = floor(3.0 * uniform_next(&state));
            b[i] = floor(3.0 * uniform_next(&state));
            sum_a += a[i];
            sum_b += b[i];
        }
        const size_t last = N - 1;
        a[last] += fmax(0.0, sum_b - sum_a);
        b[last] += fmax(0.0, sum_a - sum_b);
        const double distance = solve(cost, a, b, N, N);
        cr_assert_float_eq(distance, floor(distance + 0.5), 1e-9, "whole masses, whole costs");
    }
    free(cost);
}

Test(exact_transport, of_a_thousand_points_is_proved_by_its_dual)
{
    enum { N = 1000 };
    uint64_t state = 25;
    double *cost = calloc((size_t)N * N, sizeof *cost), *x = calloc(4 * N, sizeof *x);
    double *a = calloc(N, sizeof *a), *b = calloc(N, sizeof *b);
    for (size_t i = 0; i < 4 * N; i++) {
        x[i] = uniform_next(&state);
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            const double dx = x[2 * i] - x[2 * N + 2 * j], dy = x[2 * i + 1] - x[2 * N + 2 * j + 1];
            cost[i * N + j] = dx * dx + dy * dy;
        }
    }
    fill_uniform(a, N);
    random_measure(&state, b, N, 1);
    (void)solve(cost, a, a, N, N);
    (void)solve(cost, a, b, N, N);
    free(cost);
    free(x);
    free(a);
    free(b);
}

Test(exact_transport, refuses_bad_data_and_names_them)
{
    const double cost[] = {0, 1, 1, 0}, bad_cost[] = {0, 1, NAN, 0}, half[] = {0.5, 0.5};
    const double negative[] = {1.5, -0.5}, broken[] = {0.5, NAN}, unequal[] = {0.5, 0.4};
    const double none[] = {0, 0}, endless[] = {1e308, 1e308};
    struct dpot_exact_result result;
    struct dpot_error error;
    cr_assert_eq(dpot_exact_ot(bad_cost, half, half, 2, 2, NULL, &result, &error), DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "row 2, column 1"), "%s", error.text);
    cr_assert_eq(dpot_exact_ot(cost, negative, half, 2, 2, NULL, &result, &error), DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "mass 2 of a is -0.5"), "%s", error.text);
    cr_assert_eq(dpot_exact_ot(cost, half, broken, 2, 2, NULL, &result, &error), DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "mass 2 of b"), "%s", error.text);
    cr_assert_eq(dpot_exact_ot(cost, endless, half, 2, 2, NULL, &result, &error), DPOT_ERR_RANGE);
    cr_assert_eq(dpot_exact_ot(cost, half, unequal, 2, 2, NULL, &result, &error), DPOT_ERR_SHAPE);
    cr_assert(strstr(error.text, "0.9"), "%s", error.text);
    cr_assert_eq(dpot_exact_ot(cost, none, none, 2, 2, NULL, &result, &error), DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_exact_ot(cost, half, half, 0, 2, NULL, &result, &error), DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_exact_ot(cost, half, half, (size_t)1 << 31, 2, NULL, &result, &error),
                 DPOT_ERR_TOO_LARGE);
    cr_assert_null(result.entries);
    dpot_exact_result_release(&result);
}

Test(exact_transport, survives_every_failing_allocation)
{
    const double cost[] = {0, 1, 1, 0}, half[] = {0.5, 0.5}, lower[] = {0.2, 0.3};
    const double upper[] = {0.6, 0.6};
    struct test_allocator allocator;
    struct dpot_exact_result result;
    test_allocator_init(&allocator);
    size_t n = 1;
    for (; n < 100; n++) {
        test_allocator_fail_at(&allocator, n);
        const dpot_status status =
            dpot_exact_ot(cost, half, half, 2, 2, &allocator.allocator, &result, NULL);
        if (status == DPOT_OK) {
            break;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
        cr_assert_eq(allocator.bytes, 0);
    }
    cr_assert(n > 5 && n < 100);
    dpot_exact_result_release(&result);
    cr_assert_eq(allocator.bytes, 0);
    for (n = 1; n < 100; n++) {
        double q[2], transport_cost = 0.0;
        test_allocator_fail_at(&allocator, n);
        const dpot_status status = dpot_exact_projection(
            cost, half, lower, upper, 2, 2, &allocator.allocator, q, &transport_cost, NULL);
        cr_assert_eq(allocator.bytes, 0);
        if (status == DPOT_OK) {
            break;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
    }
    cr_assert(n > 5 && n < 100);
}

static void check_reference(const char *name)
{
    struct problem problem;
    problem_load(&problem, name);
    const size_t n = problem.n_rows, m = problem.n_cols;
    const double expected =
        json_number_value(json_object_get(json_object_get(problem.root, "reference"), "lp_cost"));
    double *q = calloc(m, sizeof *q), transport_cost = 0.0;
    struct dpot_error error = {""};
    cr_assert_eq(dpot_exact_projection(problem.cost, problem.mu, problem.lower, problem.upper, n, m,
                                       NULL, q, &transport_cost, &error),
                 DPOT_OK, "%s: %s", name, error.text);
    cr_assert_float_eq(transport_cost, expected, 1e-9 * expected, "%s: %.17g, not %.17g", name,
                       transport_cost, expected);
    cr_assert_float_eq(sum_of(q, m), 1.0, 1e-12);
    for (size_t j = 0; j < m; j++) {
        cr_assert(q[j] >= problem.lower[j] && q[j] <= problem.upper[j]);
    }
    cr_assert_float_eq(solve(problem.cost, problem.mu, q, n, m), transport_cost,
                       1e-11 * transport_cost);
    free(q);
    problem_release(&problem);
}

Test(exact_projection, has_the_cost_of_the_linear_program)
{
    static const char *const names[] = {
        "p01_ring30_s0", "p02_grid20_sparse_eps2", "p04_mismatch_40x12", "p06_dirac_0",
        "p07_mu_zeros",  "p09_beta_sum1",          "p11_tinylam_ring",   "p13_eps0.01",
        "p15_k1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        check_reference(names[i]);
    }
}

/* The smallest cost over all plans of whole units with between `lower` and `upper` units in each
 * column, by brute force. */
static double best_assignment(const double *cost, const int *unit_row, size_t n_units, size_t m,
                              const int *lower, const int *upper, int *filled, size_t unit)
{
    double best = INFINITY;
    if (unit == n_units) {
        for (size_t j = 0; j < m; j++) {
            if (filled[j] < lower[j]) {
                return INFINITY;
            }
        }
        return 0.0;
    }
    for (size_t j = 0; j < m; j++) {
        if (filled[j] < upper[j]) {
            filled[j]++;
            const double rest =
                best_assignment(cost, unit_row, n_units, m, lower, upper, filled, unit + 1);
            best = fmin(best, cost[(size_t)unit_row[unit] * m + j] + rest);
            filled[j]--;
        }
    }
    return best;
}

Test(exact_projection, equals_brute_force_on_whole_units_with_ties)
{
    enum { UNITS = 6, ROWS = 3, COLS = 3 };
    uint64_t state = 26;
    for (int trial = 0; trial < 400; trial++) {
        double cost[ROWS * COLS], mu[ROWS] = {0}, lower[COLS], upper[COLS], q[COLS];
        int unit_row[UNITS], low[COLS], high[COLS], filled[COLS] = {0};
        for (size_t i = 0; i < ROWS * COLS; i++) {
            cost[i] = floor(4.0 * uniform_next(&state));
        }
        for (size_t k = 0; k < UNITS; k++) {
            unit_row[k] = (int)(uniform_next(&state) * ROWS);
            mu[unit_row[k]] += 1.0 / UNITS;
        }
        int sum_low = 0, sum_high = 0;
        for (size_t j = 0; j < COLS; j++) {
            low[j] = (int)(3.0 * uniform_next(&state));
            high[j] = low[j] + (int)(4.0 * uniform_next(&state));
            lower[j] = (double)low[j] / UNITS;
            upper[j] = (double)high[j] / UNITS;
            sum_low += low[j];
            sum_high += high[j];
        }
        double transport_cost = 0.0;
        const dpot_status status = dpot_exact_projection(cost, mu, lower, upper, ROWS, COLS, NULL,
                                                         q, &transport_cost, NULL);
        if (sum_low > UNITS || sum_high < UNITS) {
            cr_assert_eq(status, DPOT_ERR_INFEASIBLE);
            continue;
        }
        cr_assert_eq(status, DPOT_OK);
        const double best =
            best_assignment(cost, unit_row, UNITS, COLS, low, high, filled, 0) / UNITS;
        cr_assert_float_eq(transport_cost, best, 1e-13, "%g, not %g", transport_cost, best);
        cr_assert_float_eq(sum_of(q, COLS), 1.0, 1e-14);
    }
}

Test(exact_projection, of_few_and_many_points_is_proved_by_its_dual)
{
    enum { M = 50, N_MOST = 80 };
    static const size_t rows[] = {1, 9, 64, 65, N_MOST};
    uint64_t state = 31;
    double cost[N_MOST * M], mu[N_MOST], lower[M], upper[M], q[M];
    for (int trial = 0; trial < 100; trial++) {
        const size_t n = rows[trial % 5];
        const double widest = trial % 3 ? 2.0 : 30.0;
        double transport_cost = 0.0, dual = 0.0;
        for (size_t e = 0; e < n * M; e++) {
            cost[e] = trial % 2 ? uniform_next(&state) : floor(5.0 * uniform_next(&state));
        }
        random_measure(&state, mu, n, trial % 4 == 0);
        random_measure(&state, upper, M, trial % 7 == 0);
        for (size_t j = 0; j < M; j++) {
            lower[j] = upper[j] / widest;
            upper[j] *= trial % 10 == 9 ? 1.0 : widest; /* or a single q is left */
        }
        cr_assert_eq(dpot_exact_projection_proved(cost, mu, lower, upper, n, M, NULL, q,
                                                  &transport_cost, &dual, NULL),
                     DPOT_OK);
        cr_assert_float_eq(dual, transport_cost, 1e-13, "%zu points: %g below %g", n,
                           transport_cost - dual, transport_cost);
        /* q has this cost. */
        cr_assert_float_eq(solve(cost, mu, q, n, M), transport_cost, 1e-13);
    }
}

/* Rounding the costs for few points would erase all but the largest: the general method takes over.
 */
Test(exact_projection, of_few_points_sees_small_costs_beside_a_huge_one)
{
    const double cost[] = {1, 2, 1e32, 2, 1, 1e32}, mu[] = {0.9, 0.1};
    const double lower[] = {0.1, 0.1, 0}, upper[] = {0.8, 0.8, 0.5};
    double q[3], transport_cost = 0.0, dual = 0.0;
    cr_assert_eq(dpot_exact_projection_proved(cost, mu, lower, upper, 2, 3, NULL, q,
                                              &transport_cost, &dual, NULL),
                 DPOT_OK);
    cr_assert_float_eq(transport_cost, 1.1, 1e-14);
    cr_assert_float_eq(dual, 1.1, 1e-14);
}

Test(exact_projection, survives_every_failing_allocation)
{
    static const size_t rows[] = {3, 70};
    enum { M = 5 };
    uint64_t state = 32;
    double cost[70 * M], mu[70], lower[M], upper[M], q[M], transport_cost;
    for (size_t k = 0; k < 2; k++) {
        struct test_allocator allocator;
        struct dpot_error error;
        dpot_status status = DPOT_ERR_MEMORY;
        for (size_t e = 0; e < rows[k] * M; e++) {
            cost[e] = uniform_next(&state);
        }
        random_measure(&state, mu, rows[k], 0);
        for (size_t j = 0; j < M; j++) {
            lower[j] = 0.1;
            upper[j] = 0.4;
        }
        test_allocator_init(&allocator);
        for (size_t n = 1; status == DPOT_ERR_MEMORY; n++) {
            test_allocator_fail_at(&allocator, n);
            status = dpot_exact_projection(cost, mu, lower, upper, rows[k], M, &allocator.allocator,
                                           q, &transport_cost, &error);
            cr_assert_eq(allocator.bytes, 0);
            cr_assert(status == DPOT_OK || strstr(error.text, "memory"), "%s", error.text);
        }
        cr_assert_eq(status, DPOT_OK);
    }
}

Test(exact_projection, of_a_measure_inside_the_polytope_costs_nothing)
{
    const double cost[] = {0, 1, 2, 1, 0, 1, 2, 1, 0}, mu[] = {0.2, 0.3, 0.5};
    const double lower[] = {0.1, 0.1, 0.1}, upper[] = {0.6, 0.6, 50.0};
    double q[3], transport_cost = 1.0;
    cr_assert_eq(
        dpot_exact_projection(cost, mu, lower, upper, 3, 3, NULL, q, &transport_cost, NULL),
        DPOT_OK);
    cr_assert_eq(transport_cost, 0.0);
    cr_assert_lt(l1_distance(q, mu, 3), 1e-15);
}

Test(exact_projection, refuses_bad_bounds_and_masses)
{
    const double cost[] = {0, 1, 1, 0}, mu[] = {0.5, 0.5}, double_mu[] = {1, 1};
    const double low[] = {0.1, 0.1}, high[] = {0.9, 0.9}, crossed[] = {0.95, 0.1};
    const double negative[] = {-0.1, 0.1}, heavy[] = {0.6, 0.6}, broken[] = {0.9, NAN};
    double q[2], transport_cost;
    struct dpot_error error;
    cr_assert_eq(
        dpot_exact_projection(cost, mu, crossed, high, 2, 2, NULL, q, &transport_cost, &error),
        DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "column 1"), "%s", error.text);
    cr_assert_eq(
        dpot_exact_projection(cost, mu, negative, high, 2, 2, NULL, q, &transport_cost, &error),
        DPOT_ERR_RANGE);
    cr_assert_eq(
        dpot_exact_projection(cost, mu, low, broken, 2, 2, NULL, q, &transport_cost, &error),
        DPOT_ERR_RANGE);
    cr_assert_eq(
        dpot_exact_projection(cost, mu, heavy, high, 2, 2, NULL, q, &transport_cost, &error),
        DPOT_ERR_INFEASIBLE);
    cr_assert(strstr(error.text, "1.2"), "%s", error.text);
    cr_assert_eq(dpot_exact_projection(cost, mu, low, low, 2, 2, NULL, q, &transport_cost, &error),
                 DPOT_ERR_INFEASIBLE);
    cr_assert_eq(
        dpot_exact_projection(cost, double_mu, low, high, 2, 2, NULL, q, &transport_cost, &error),
        DPOT_ERR_SHAPE);
}

Test(exact_transport, a_sequence_of_costs_has_the_values_of_solves_from_nothing)
{
    enum { N = 12, M = 40 };
    uint64_t state = 5;
    double cost[N * M], a[N], b[M];
    struct dpot_exact_sequence *sequence = NULL;
    struct dpot_error error = {""};
    double sum = 0;
    for (size_t j = 0; j < M; j++) {
        b[j] = j % 5 == 0 ? 0.0 : uniform_next(&state);
        sum += b[j];
    }
    for (size_t j = 0; j < M; j++) {
        b[j] /= sum;
    }
    fill_uniform(a, N);
    cr_assert_eq(dpot_exact_sequence_new(a, b, N, M, NULL, &sequence, &error), DPOT_OK);
    for (size_t k = 0; k < N * M; k++) {
        cost[k] = uniform_next(&state);
    }
    size_t first_pivots = 0, later_pivots = 0;
    for (int trial = 0; trial < 50; trial++) {
        cr_assert_eq(dpot_exact_sequence_solve(sequence, cost, &error), DPOT_OK);
        const struct dpot_exact_result *result = dpot_exact_sequence_result(sequence);
        const double expected = solve(cost, a, b, N, M);
        cr_assert_float_eq(result->transport_cost, expected, 1e-14);
        cr_assert_float_eq(result->dual, expected, 1e-14);
        *(trial == 0 ? &first_pivots : &later_pivots) += result->pivots;
        for (size_t k = 0; k < N * M; k++) {
            cost[k] += 1e-3 * uniform_next(&state);
        }
    }
    cr_assert_lt(later_pivots, 20 * first_pivots, "%zu pivots at first, %zu in 49 more solves",
                 first_pivots, later_pivots);
    cost[7] = NAN;
    cr_assert_eq(dpot_exact_sequence_solve(sequence, cost, &error), DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "row 1, column 8"), "%s", error.text);
    dpot_exact_sequence_free(sequence);
    dpot_exact_sequence_free(NULL);
    b[0] = 0.5;
    cr_assert_eq(dpot_exact_sequence_new(a, b, N, M, NULL, &sequence, &error), DPOT_ERR_SHAPE);
    cr_assert_null(sequence);
}
