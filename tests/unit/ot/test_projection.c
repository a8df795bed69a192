#include "ot/projection.h"

#include "ot/network_simplex.h"
#include "problem.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct dpot_projection *make(const double *cost, size_t n_rows, size_t n_cols, double lambda,
                                    double cost_range, const struct dpot_polytope *polytope)
{
    struct dpot_projection *projection = NULL;
    const struct dpot_projection_config config = {n_rows,     n_cols,   lambda,
                                                  cost_range, polytope, NULL};
    cr_assert_eq(dpot_projection_new(&config, &projection), DPOT_OK);
    memcpy(dpot_projection_cost(projection), cost, n_rows * n_cols * sizeof *cost);
    return projection;
}

static struct dpot_projection *make_from(const struct problem *problem, double lambda,
                                         double cost_range)
{
    return make(problem->cost, problem->n_rows, problem->n_cols, lambda, cost_range,
                &problem->polytope);
}

static void check_bounds(const struct dpot_polytope *polytope, const double *q)
{
    for (size_t j = 0; j < polytope->size; j++) {
        cr_assert(q[j] >= polytope->lower[j] && q[j] <= polytope->upper[j],
                  "q[%zu] = %.17g outside [%.17g, %.17g]", j, q[j], polytope->lower[j],
                  polytope->upper[j]);
    }
}

Test(projection, iterates_of_algorithm_1_match_the_reference_in_both_domains)
{
    struct problem problem;
    problem_load(&problem, "i01_alg1_iterates");
    const double range = cost_range_of(problem.cost, problem.n_rows * problem.n_cols);
    json_t *lambdas = json_object_get(json_object_get(problem.root, "reference"), "iterates");
    const char *lambda_text, *count_text;
    json_t *counts, *iterate;
    double *q = calloc(problem.n_cols, sizeof *q);
    json_object_foreach(lambdas, lambda_text, counts)
    {
        json_object_foreach(counts, count_text, iterate)
        {
            size_t n = 0;
            double *expected = numbers_load(iterate, &n);
            const size_t iterations = (size_t)strtoul(count_text, NULL, 10);
            for (int in_log = 0; in_log < 2; in_log++) {
                struct dpot_projection *projection =
                    make_from(&problem, strtod(lambda_text, NULL), in_log ? INFINITY : range);
                struct dpot_projection_result result;
                dpot_projection_run(projection, problem.mu, iterations, 0.0, q, &result);
                cr_assert_lt(l1_distance(q, expected, n), 1e-10, "lambda %s, %s iterations: %g",
                             lambda_text, count_text, l1_distance(q, expected, n));
                cr_assert(result.iterations == iterations && !result.converged);
                check_bounds(&problem.polytope, q);
                dpot_projection_free(projection);
            }
            free(expected);
        }
    }
    free(q);
    problem_release(&problem);
}

/* The entropic projection costs at most 2 lambda log(k kv) more than the exact one (paper 002,
 * Proposition 4.1, whose log(k) fails when kv > k). */
static void check_one_lambda(const struct problem *problem, const json_t *reference, double lp_cost,
                             int is_scaled)
{
    const double lambda = json_number_value(json_object_get(reference, "lam"));
    const double range = cost_range_of(problem->cost, problem->n_rows * problem->n_cols);
    struct dpot_projection *projection = make_from(problem, lambda, range);
    struct dpot_projection_result result;
    struct dpot_exact_result exact;
    size_t n = 0;
    double *expected = numbers_load(json_object_get(reference, "q"), &n);
    double *q = calloc(n, sizeof *q);
    if (is_scaled) {
        dpot_projection_run_scaled(projection, problem->mu, 100000, 1e-12, q, &result);
    } else {
        dpot_projection_run(projection, problem->mu, 100000, 1e-12, q, &result);
    }
    cr_assert(result.converged, "lambda %g: %g after %zu", lambda, result.change,
              result.iterations);
    cr_assert_lt(l1_distance(q, expected, n), 1e-9, "lambda %g: l1 %g", lambda,
                 l1_distance(q, expected, n));
    check_bounds(&problem->polytope, q);
    cr_assert_eq(
        dpot_exact_ot(problem->cost, problem->mu, q, problem->n_rows, n, NULL, &exact, NULL),
        DPOT_OK);
    const double cost_of_q = json_number_value(json_object_get(reference, "cost_of_q"));
    cr_assert_float_eq(exact.transport_cost, cost_of_q, 1e-8 * cost_of_q);
    cr_assert_leq(exact.transport_cost - exact.dual, 1e-12 * exact.transport_cost);
    const double excess = exact.transport_cost - lp_cost;
    const double size = (double)problem->n_rows * (double)problem->n_cols;
    cr_assert(excess >= -1e-12 && excess <= 2.0 * lambda * log(size), "excess %g", excess);
    const double plan_cost = dpot_projection_transport_cost(projection, NULL);
    cr_assert(plan_cost >= exact.transport_cost - 1e-9 &&
                  plan_cost <= lp_cost + 2.0 * lambda * log(size),
              "the plan costs %g, exact %g", plan_cost, exact.transport_cost);
    dpot_exact_result_release(&exact);
    dpot_projection_free(projection);
    free(expected);
    free(q);
}

static void check_problem(const char *name)
{
    struct problem problem;
    problem_load(&problem, name);
    const json_t *reference = json_object_get(problem.root, "reference");
    const json_t *entropic = json_object_get(reference, "entropic");
    const double lp_cost = json_number_value(json_object_get(reference, "lp_cost"));
    cr_assert_gt(json_array_size(entropic), 0);
    for (size_t i = 0; i < json_array_size(entropic); i++) {
        check_one_lambda(&problem, json_array_get(entropic, i), lp_cost, 0);
        check_one_lambda(&problem, json_array_get(entropic, i), lp_cost, 1);
    }
    problem_release(&problem);
}

Test(projection, converges_to_the_reference_on_a_ring)
{
    check_problem("p01_ring30_s0");
}

Test(projection, converges_to_the_reference_on_a_grid_with_sparse_data)
{
    check_problem("p02_grid20_sparse_eps2");
}

Test(projection, converges_to_the_reference_when_inputs_and_outputs_differ)
{
    check_problem("p04_mismatch_40x12");
}

Test(projection, converges_to_the_reference_for_a_single_point)
{
    check_problem("p06_dirac_0");
    check_problem("p15_k1");
}

Test(projection, converges_to_the_reference_with_rows_without_mass)
{
    check_problem("p07_mu_zeros");
}

Test(projection, of_a_polytope_that_rounding_has_emptied_is_its_forced_point)
{
    check_problem("p09_beta_sum1");
}

Test(projection, converges_to_the_reference_at_a_tiny_lambda)
{
    check_problem("p11_tinylam_ring");
}

Test(projection, converges_to_the_reference_at_a_tiny_epsilon)
{
    check_problem("p13_eps0.01");
}

Test(projection, stays_finite_and_inside_at_a_lambda_of_a_hundred_thousandth)
{
    struct problem problem;
    problem_load(&problem, "p02_grid20_sparse_eps2");
    const double range = cost_range_of(problem.cost, problem.n_rows * problem.n_cols);
    double *q = calloc(problem.n_cols, sizeof *q);
    struct dpot_projection *projection = make_from(&problem, range / 1e5, range);
    dpot_projection_run(projection, problem.mu, 5, 0.0, q, NULL);
    check_bounds(&problem.polytope, q);
    cr_assert_float_eq(sum_of(q, problem.n_cols), 1.0, 1e-13);
    cr_assert(isfinite(dpot_projection_transport_cost(projection, NULL)));
    dpot_projection_free(projection);
    free(q);
    problem_release(&problem);
}

Test(projection, agrees_in_both_domains_where_the_kernel_ends)
{
    struct problem problem;
    problem_load(&problem, "p02_grid20_sparse_eps2");
    const double range = cost_range_of(problem.cost, problem.n_rows * problem.n_cols);
    const double lambda = range / (0.999 * DPOT_PROJECTION_KERNEL_RATIO);
    double *q = calloc(problem.n_cols, sizeof *q), *q_log = calloc(problem.n_cols, sizeof *q_log);
    struct dpot_projection *kernel = make_from(&problem, lambda, range);
    struct dpot_projection *potentials = make_from(&problem, lambda, INFINITY);
    dpot_projection_run(kernel, problem.mu, 50, 0.0, q, NULL);
    dpot_projection_run(potentials, problem.mu, 50, 0.0, q_log, NULL);
    cr_assert_lt(l1_distance(q, q_log, problem.n_cols), 1e-11);
    cr_assert_float_eq(dpot_projection_transport_cost(kernel, NULL),
                       dpot_projection_transport_cost(potentials, NULL), 1e-11);
    dpot_projection_free(kernel);
    dpot_projection_free(potentials);
    free(q);
    free(q_log);
    problem_release(&problem);
}

Test(projection, rows_without_mass_and_the_scale_of_mu_change_nothing)
{
    struct problem problem;
    problem_load(&problem, "p04_mismatch_40x12");
    const size_t n = problem.n_rows, m = problem.n_cols;
    const double range = cost_range_of(problem.cost, n * m);
    double *padded_cost = calloc(2 * n * m, sizeof *padded_cost);
    double *padded_mu = calloc(2 * n, sizeof *padded_mu);
    double *q = calloc(m, sizeof *q), *padded_q = calloc(m, sizeof *padded_q);
    for (size_t i = 0; i < n; i++) {
        padded_mu[2 * i] = 7.5 * problem.mu[i];
        memcpy(padded_cost + 2 * i * m, problem.cost + i * m, m * sizeof *padded_cost);
    }
    for (int in_log = 0; in_log < 2; in_log++) {
        const double lambda = range / (in_log ? 2000.0 : 50.0);
        struct dpot_projection *plain = make_from(&problem, lambda, range);
        struct dpot_projection *padded =
            make(padded_cost, 2 * n, m, lambda, range, &problem.polytope);
        dpot_projection_run(plain, problem.mu, 30, 0.0, q, NULL);
        dpot_projection_run(padded, padded_mu, 30, 0.0, padded_q, NULL);
        cr_assert_lt(l1_distance(q, padded_q, m), 1e-12);
        dpot_projection_free(plain);
        dpot_projection_free(padded);
    }
    free(padded_cost);
    free(padded_mu);
    free(q);
    free(padded_q);
    problem_release(&problem);
}

Test(projection, garbage_in_costs_and_mu_never_leaves_the_bounds)
{
    static const double odd[] = {0, 1, NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e-310};
    static const double ranges[] = {0, 1, 1e5, 1e300, INFINITY};
    static const double lambdas[] = {5e-324, 1e-5, 0.1, 1e300};
    uint64_t state = 11;
    double cost[20 * 20], mu[20], lower[20], upper[20], q[20];
    for (size_t trial = 0; trial < 2000; trial++) {
        const size_t n = 1 + trial % 20, m = 2 + trial / 3 % 18;
        const double epsilon = trial % 4 == 0 ? 0.0 : 3.0 * uniform_next(&state);
        const double scale = trial % 5 == 0 ? 2.0 : 1.0; /* sometimes infeasible */
        random_measure(&state, lower, m, trial % 7 == 0);
        for (size_t j = 0; j < m; j++) {
            upper[j] = scale * lower[j] * exp(epsilon / 2.0);
            lower[j] *= scale * exp(-epsilon / 2.0);
        }
        for (size_t i = 0; i < n * m; i++) {
            cost[i] = uniform_next(&state) < 0.5 ? uniform_next(&state)
                                                 : odd[(size_t)(8.0 * uniform_next(&state))];
        }
        for (size_t i = 0; i < n; i++) {
            mu[i] = trial % 11 == 0 ? -1.0 : odd[(size_t)(8.0 * uniform_next(&state))];
        }
        const struct dpot_polytope polytope = {m, lower, upper};
        struct dpot_projection *projection =
            make(cost, n, m, lambdas[trial % 4], ranges[trial % 5], &polytope);
        if (trial % 2 == 0) {
            dpot_projection_run(projection, mu, 4, 0.0, q, NULL);
        } else {
            dpot_projection_run_scaled(projection, mu, 20, 1e-9, q, NULL);
        }
        check_bounds(&polytope, q);
        if (scale == 1.0) {
            cr_assert_float_eq(sum_of(q, m), 1.0, 1e-13, "mass %.17g", sum_of(q, m));
        }
        dpot_projection_free(projection);
    }
}

Test(projection, without_an_iteration_still_gives_a_point_of_the_polytope)
{
    struct problem problem;
    problem_load(&problem, "p06_dirac_0");
    double q[10];
    struct dpot_projection *projection = make_from(&problem, 0.1, 1.0);
    dpot_projection_run(projection, problem.mu, 0, 0.0, q, NULL);
    check_bounds(&problem.polytope, q);
    cr_assert_float_eq(sum_of(q, 10), 1.0, 1e-14);
    dpot_projection_free(projection);
    problem_release(&problem);
}

Test(projection, of_a_single_point_becomes_the_fractional_knapsack_as_lambda_vanishes)
{
    /* Fill the cheapest column to its upper bound, then the next; the rest stays at the lower. */
    const double cost[] = {0.0, 1.0, 2.0, 3.0}, mu[] = {1.0};
    const double lower[] = {0.1, 0.1, 0.1, 0.1}, upper[] = {0.4, 0.4, 0.4, 0.4};
    const double expected[] = {0.4, 0.4, 0.1, 0.1};
    const struct dpot_polytope polytope = {4, lower, upper};
    double q[4];
    struct dpot_projection *projection = make(cost, 1, 4, 1e-3, 3.0, &polytope);
    dpot_projection_run(projection, mu, 50, 0.0, q, NULL);
    cr_assert_lt(l1_distance(q, expected, 4), 1e-12);
    cr_assert_float_eq(dpot_projection_transport_cost(projection, NULL), 0.9, 1e-12);
    dpot_projection_free(projection);
}

/* For any number of sweeps the reported cost is that of a plan from mu to the returned q. */
static void check_cost_of_stopped_run(const double *cost, const double *mu, size_t n, size_t m,
                                      const struct dpot_polytope *polytope, double lambda,
                                      size_t iterations, int is_scaled)
{
    double q[16], residual = -1.0;
    struct dpot_exact_result exact;
    struct dpot_projection *projection =
        make(cost, n, m, lambda, cost_range_of(cost, n * m), polytope);
    if (is_scaled) {
        dpot_projection_run_scaled(projection, mu, iterations, 1e-12, q, NULL);
    } else {
        dpot_projection_run(projection, mu, iterations, 0.0, q, NULL);
    }
    const double plan_cost = dpot_projection_transport_cost(projection, &residual);
    cr_assert_eq(plan_cost, dpot_projection_transport_cost(projection, NULL), "it can be repeated");
    cr_assert_eq(dpot_exact_ot(cost, mu, q, n, m, NULL, &exact, NULL), DPOT_OK);
    double largest = 0.0, product_cost = 0.0;
    for (size_t i = 0; i < n * m; i++) {
        largest = fmax(largest, fabs(cost[i]));
        product_cost += mu[i / m] * q[i % m] * cost[i];
    }
    cr_assert(plan_cost >= exact.transport_cost - 1e-14 * largest && plan_cost <= largest,
              "lambda %g, %zu sweeps, scaled %d: %.17g, exact %.17g", lambda, iterations, is_scaled,
              plan_cost, exact.transport_cost);
    cr_assert(residual >= 0.0 && residual <= 2.0 + 1e-12, "%g", residual);
    if (iterations == 0) {
        cr_assert_float_eq(residual, 1.0, 1e-14, "no sweep, no plan");
        cr_assert_float_eq(plan_cost, product_cost, 1e-14 * largest);
    }
    if (iterations == 20000 && lambda >= 0.1 * largest) {
        cr_assert_lt(residual, 1e-10);
        cr_assert_leq(plan_cost, exact.transport_cost + lambda * log((double)(n * m)));
    }
    dpot_exact_result_release(&exact);
    dpot_projection_free(projection);
}

Test(projection, reports_the_cost_of_a_plan_between_mu_and_q_even_when_it_is_stopped)
{
    static const double lambdas[] = {5e-324, 1e-12, 1e-5, 0.002, 0.1, 10.0, 1e20};
    static const size_t counts[] = {0, 1, 2, 5, 40, 20000};
    double cost[256], mu[16], lower[16], upper[16];
    uint64_t state = 612;
    for (size_t trial = 0; trial < 60; trial++) {
        const size_t n = trial % 2 ? 6 : 1 + trial % 16, m = trial % 2 ? 6 : 2 + trial % 14;
        const double scale = trial % 5 == 0 ? 1000.0 : 1.0, shift = trial % 3 == 0 ? -0.3 : 0.0;
        random_measure(&state, mu, n, trial % 4 == 0);
        random_measure(&state, lower, m, trial % 7 == 0);
        for (size_t j = 0; j < m; j++) {
            upper[j] = lower[j] * exp(1.0);
            lower[j] *= exp(-1.0);
        }
        for (size_t i = 0; i < n * m; i++) {
            cost[i] = scale * (uniform_next(&state) + shift);
        }
        const struct dpot_polytope polytope = {m, lower, upper};
        for (size_t i = 0; i < 7 * 6; i++) {
            if (counts[i % 6] < 20000 || trial < 3) {
                check_cost_of_stopped_run(cost, mu, n, m, &polytope, scale * lambdas[i / 6],
                                          counts[i % 6], 0);
                check_cost_of_stopped_run(cost, mu, n, m, &polytope, scale * lambdas[i / 6],
                                          counts[i % 6], 1);
            }
        }
    }
}

Test(projection, new_refuses_what_it_cannot_run)
{
    const double lower[] = {0.1, 0.1}, upper[] = {0.9, 0.9};
    const struct dpot_polytope polytope = {2, lower, upper};
    const struct dpot_projection_config good = {3, 2, 0.1, 1.0, &polytope, NULL};
    struct dpot_projection *projection = NULL;
    for (int i = 0; i < 9; i++) {
        struct dpot_projection_config bad = good;
        bad.n_rows = i == 0 ? 0 : bad.n_rows;
        bad.n_cols = i == 1 ? 0 : i == 2 ? 3 : bad.n_cols;
        bad.lambda = i == 3 ? 0.0 : i == 4 ? NAN : i == 5 ? INFINITY : bad.lambda;
        bad.cost_range = i == 6 ? -1.0 : i == 7 ? NAN : bad.cost_range;
        bad.n_rows = i == 8 ? SIZE_MAX / 8 : bad.n_rows;
        projection = (struct dpot_projection *)&bad;
        cr_assert_eq(dpot_projection_new(&bad, &projection), DPOT_ERR_ARGUMENT, "case %d", i);
        cr_assert_null(projection);
    }
    cr_assert_eq(dpot_projection_new(&good, &projection), DPOT_OK);
    dpot_projection_free(projection);
    dpot_projection_free(NULL);
}

Test(projection, set_up_survives_every_failing_allocation_and_says_what_it_takes)
{
    const double lower[] = {0.1, 0.1}, upper[] = {0.9, 0.9};
    const struct dpot_polytope polytope = {2, lower, upper};
    struct test_allocator allocator;
    test_allocator_init(&allocator);
    const struct dpot_projection_config config = {3, 2, 0.1, 1.0, &polytope, &allocator.allocator};
    struct dpot_projection *projection = NULL;
    for (size_t n = 1;; n++) {
        test_allocator_fail_at(&allocator, n);
        const dpot_status status = dpot_projection_new(&config, &projection);
        if (status == DPOT_OK) {
            cr_assert_gt(n, 5);
            break;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
        cr_assert_null(projection);
        cr_assert_eq(allocator.bytes, 0, "nothing leaks");
    }
    cr_assert_eq(allocator.bytes, dpot_projection_bytes(3, 2));
    dpot_projection_free(projection);
    cr_assert_eq(allocator.bytes, 0);
    cr_assert_eq(dpot_projection_bytes(SIZE_MAX / 2, 3), SIZE_MAX);
    cr_assert_eq(dpot_projection_bytes(3, SIZE_MAX / 2), SIZE_MAX);
    cr_assert_eq(dpot_projection_bytes((size_t)1 << 31, (size_t)1 << 31), SIZE_MAX);
}

Test(projection, run_allocates_nothing)
{
    const double lower[] = {0.1, 0.1, 0.1}, upper[] = {0.8, 0.8, 0.8}, mu[] = {0.3, 0.7};
    const double cost[] = {0, 1, 2, 2, 1, 0};
    const struct dpot_polytope polytope = {3, lower, upper};
    struct test_allocator allocator;
    test_allocator_init(&allocator);
    for (int in_log = 0; in_log < 2; in_log++) {
        const struct dpot_projection_config config = {2,   3,         in_log ? 1e-4 : 0.1,
                                                      2.0, &polytope, &allocator.allocator};
        struct dpot_projection *projection = NULL;
        double q[3];
        test_allocator_fail_at(&allocator, 0);
        cr_assert_eq(dpot_projection_new(&config, &projection), DPOT_OK);
        memcpy(dpot_projection_cost(projection), cost, sizeof cost);
        test_allocator_fail_at(&allocator, 1);
        const size_t n_calls = allocator.n_calls;
        dpot_projection_run(projection, mu, 100, 0.0, q, NULL);
        dpot_projection_run_scaled(projection, mu, 100, 1e-6, q, NULL);
        (void)dpot_projection_transport_cost(projection, NULL);
        cr_assert_eq(allocator.n_calls, n_calls);
        cr_assert_eq(memcmp(dpot_projection_cost(projection), cost, sizeof cost), 0,
                     "the run leaves the cost alone");
        check_bounds(&polytope, q);
        dpot_projection_free(projection);
    }
    cr_assert_eq(allocator.bytes, 0);
}
