#include "vector.h"

#include "ot/network_simplex.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Set-up and tear-down of one phi over a vector. */
struct bench {
    struct vector vector;
    struct phi phi;
    double *m, *gradient; /* (n_cols) */
    double *w, *y;        /* (n_rows) */
};

static void bench_open(struct bench *bench, const double *weights)
{
    vector_phi(&bench->vector, weights, &bench->phi);
    bench->m = calloc(bench->phi.n_cols, sizeof(double));
    bench->gradient = calloc(bench->phi.n_cols, sizeof(double));
    bench->w = calloc(bench->phi.n_rows, sizeof(double));
    bench->y = calloc(bench->phi.n_rows, sizeof(double));
    cr_assert(bench->m && bench->gradient && bench->w && bench->y);
}

static void bench_close(struct bench *bench)
{
    phi_release(&bench->phi);
    vector_release(&bench->vector);
    free(bench->m);
    free(bench->gradient);
    free(bench->w);
    free(bench->y);
}

static double dot(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

Test(phi, has_the_reference_values_at_every_total_mass)
{
    struct vector file;
    vector_load(&file, "f01_phi");
    const json_t *tests = json_object_get(file.reference, "tests");
    cr_assert_eq(json_array_size(tests), 24);
    for (size_t t = 0; t < json_array_size(tests); t++) {
        const json_t *test = json_array_get(tests, t);
        struct vector vector = {.epsilon = vector_number(test, "eps")};
        struct phi phi;
        double *m = vector_numbers(test, "m"), *expected = vector_numbers(test, "phi");
        vector_load_cost(&vector, json_object_get(test, "cost"));
        vector_phi(&vector, NULL, &phi);
        const double f = phi_evaluate(&phi, m);
        cr_assert_float_eq(f, vector_number(test, "f"), 1e-11 * phi.cost_max, "test %zu", t);
        for (size_t i = 0; i < phi.n_rows; i++) {
            cr_assert_float_eq(phi.values[i], expected[i], 1e-11 * phi.cost_max, "test %zu", t);
        }
        cr_assert_eq(phi.values[phi.worst], f);
        phi_release(&phi);
        vector_release(&vector);
        free(m);
        free(expected);
    }
    vector_release(&file);
}

Test(phi, is_the_exact_projection_cost_of_the_user_at_that_point)
{
    uint64_t state = 1;
    for (size_t trial = 0; trial < 60; trial++) {
        struct bench b;
        double mu[7], lower[23], upper[23], q[23];
        const size_t k = 1 + trial % 7, n = 1 + trial * 5 % 23;
        vector_random(&b.vector, k, n, 0.02 + 5 * random_next(&state), &state);
        bench_open(&b, NULL);
        random_base_measure(&state, &b.phi, b.m);
        (void)phi_evaluate(&b.phi, b.m);
        for (size_t i = 0; i < k; i++) {
            double cost = 0;
            struct dpot_error error = {""};
            for (size_t r = 0; r < k; r++) {
                mu[r] = r == i;
            }
            for (size_t j = 0; j < n; j++) {
                lower[j] = b.phi.alpha * b.m[j];
                upper[j] = b.phi.beta * b.m[j];
            }
            cr_assert_eq(dpot_exact_projection(b.vector.cost, mu, lower, upper, k, n, NULL, q,
                                               &cost, &error),
                         DPOT_OK, "%s", error.text);
            cr_assert_float_eq(b.phi.values[i], cost, 1e-12);
        }
        bench_close(&b);
    }
}

Test(phi, takes_the_nearest_cost_as_threshold_where_nothing_is_left_to_fill)
{
    struct bench b;
    uint64_t state = 2;
    vector_random(&b.vector, 5, 9, 1.0, &state);
    bench_open(&b, NULL);
    for (size_t j = 0; j < 9; j++) {
        b.m[j] = b.phi.beta / 9;
    }
    const double f = phi_evaluate(&b.phi, b.m);
    for (size_t i = 0; i < 5; i++) {
        double least = 1, mean = 0;
        for (size_t j = 0; j < 9; j++) {
            least = fmin(least, b.vector.cost[i * 9 + j]);
            mean += b.vector.cost[i * 9 + j] / 9;
        }
        cr_assert_eq(b.phi.thresholds[i], least);
        cr_assert_float_eq(b.phi.values[i], mean, 1e-14, "q is forced to be uniform");
    }
    const double offset = phi_tangent(&b.phi, b.gradient);
    cr_assert_float_eq(offset + dot(b.gradient, b.m, 9), f, 1e-14);
    bench_close(&b);
}

Test(phi, forces_the_same_measure_at_the_least_total_mass)
{
    struct bench b;
    uint64_t state = 3;
    vector_random(&b.vector, 4, 16, 2.0, &state);
    bench_open(&b, NULL);
    for (size_t j = 0; j < 16; j++) {
        b.m[j] = b.phi.alpha / 16;
    }
    (void)phi_evaluate(&b.phi, b.m);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_float_eq(b.phi.values[i], total_of(b.vector.cost + i * 16, 16) / 16, 1e-14);
    }
    bench_close(&b);
}

/* f(m') >= offset + <g, m'> for random pairs, equality at m; worst case or mean. */
static void check_tangents(const double *weights, uint64_t seed)
{
    uint64_t state = seed;
    for (size_t trial = 0; trial < 40; trial++) {
        struct bench b;
        const double epsilon = trial % 4 == 0 ? 8 : 0.01 + 3 * random_next(&state);
        vector_random(&b.vector, 6, 1 + trial, epsilon, &state);
        bench_open(&b, weights);
        random_base_measure(&state, &b.phi, b.m);
        const double f = phi_evaluate(&b.phi, b.m);
        const double offset = phi_tangent(&b.phi, b.gradient);
        const double tol = 1e-13 * b.phi.beta;
        cr_assert_float_eq(offset + dot(b.gradient, b.m, b.phi.n_cols), f, tol);
        for (size_t pair = 0; pair < 20; pair++) {
            random_base_measure(&state, &b.phi, b.m);
            const double other = phi_evaluate(&b.phi, b.m);
            cr_assert_geq(other, offset + dot(b.gradient, b.m, b.phi.n_cols) - tol);
        }
        cr_assert_leq(phi_minorant_least(&b.phi, offset, b.gradient), f + tol);
        bench_close(&b);
    }
}

Test(phi, has_a_subgradient_of_the_worst_case)
{
    check_tangents(NULL, 4);
}

Test(phi, has_a_subgradient_of_the_weighted_mean)
{
    const double weights[6] = {1, 0, 3, 0.5, 2, 0};
    check_tangents(weights, 5);
}

Test(phi, is_the_mean_of_its_rows_when_they_have_weights)
{
    struct bench b;
    const double weights[3] = {2, 0, 6};
    uint64_t state = 6;
    vector_random(&b.vector, 3, 10, 1, &state);
    bench_open(&b, weights);
    random_base_measure(&state, &b.phi, b.m);
    const double f = phi_evaluate(&b.phi, b.m);
    cr_assert_float_eq(f, 0.25 * b.phi.values[0] + 0.75 * b.phi.values[2], 1e-15);
    bench_close(&b);
}

Test(phi, is_convex)
{
    struct bench b;
    double other[12], between[12];
    uint64_t state = 7;
    vector_random(&b.vector, 5, 12, 1.5, &state);
    bench_open(&b, NULL);
    for (size_t trial = 0; trial < 200; trial++) {
        const double t = random_next(&state);
        random_base_measure(&state, &b.phi, b.m);
        random_base_measure(&state, &b.phi, other);
        for (size_t j = 0; j < 12; j++) {
            between[j] = t * b.m[j] + (1 - t) * other[j];
        }
        const double f = t * phi_evaluate(&b.phi, b.m) + (1 - t) * phi_evaluate(&b.phi, other);
        cr_assert_leq(phi_evaluate(&b.phi, between), f + 1e-13);
    }
    bench_close(&b);
}

static const char *const optima[] = {"b01_ring30_p1_eps1", "b01_ring30_p2_eps5",
                                     "b02_line40_p1_eps2", "b05_mismatch_p1_eps1", "b08_eps12"};
#define N_OPTIMA (sizeof optima / sizeof optima[0])

Test(phi, of_the_reference_optimum_is_the_reference_value)
{
    for (size_t v = 0; v < N_OPTIMA; v++) {
        struct bench b;
        vector_load(&b.vector, optima[v]);
        bench_open(&b, NULL);
        double *m = vector_numbers(b.vector.reference, "m");
        const double upper = vector_number(b.vector.reference, "f_star_upper");
        expect_feasible(&b.phi, m);
        cr_assert_float_eq(phi_evaluate(&b.phi, m), upper, 1e-11 * upper, "%s", optima[v]);
        const json_t *cost = json_object_get(json_object_get(b.vector.root, "input"), "cost");
        const double p = vector_number(cost, "p");
        cr_assert_float_eq(pow(upper, 1 / p), vector_number(b.vector.reference, "worst_case_Wp"),
                           1e-12, "%s", optima[v]);
        free(m);
        bench_close(&b);
    }
}

Test(phi, proves_the_reference_bound_with_the_reference_dual_point)
{
    for (size_t v = 0; v < N_OPTIMA; v++) {
        struct bench b;
        vector_load(&b.vector, optima[v]);
        bench_open(&b, NULL);
        double *w = vector_numbers(b.vector.reference, "w");
        double *y = vector_numbers(b.vector.reference, "y");
        const double offset = phi_minorant(&b.phi, w, y, b.gradient);
        const double lower = phi_minorant_least(&b.phi, offset, b.gradient);
        const double expected = vector_number(b.vector.reference, "f_star_lower");
        cr_assert_float_eq(lower, expected, 1e-10 * expected, "%s: %.17g", optima[v], lower);
        free(w);
        free(y);
        bench_close(&b);
    }
}

Test(phi, is_never_below_the_bound_of_any_dual_point)
{
    uint64_t state = 8;
    for (size_t trial = 0; trial < 100; trial++) {
        struct bench b;
        double sum = 0;
        vector_random(&b.vector, 5, 8, 0.1 + 4 * random_next(&state), &state);
        bench_open(&b, NULL);
        for (size_t i = 0; i < 5; i++) {
            sum += b.w[i] = random_next(&state);
        }
        for (size_t i = 0; i < 5; i++) {
            b.w[i] /= sum;
            b.y[i] = b.w[i] * (2 * random_next(&state) - 0.5);
        }
        const double offset = phi_minorant(&b.phi, b.w, b.y, b.gradient);
        const double lower = phi_minorant_least(&b.phi, offset, b.gradient);
        for (size_t pair = 0; pair < 20; pair++) {
            random_base_measure(&state, &b.phi, b.m);
            const double f = phi_evaluate(&b.phi, b.m);
            cr_assert_geq(f, offset + dot(b.gradient, b.m, 8) - 1e-12);
            cr_assert_geq(f, lower - 1e-12);
        }
        bench_close(&b);
    }
}

Test(phi, adds_dual_points_that_prove_at_least_the_mean_of_the_tangents)
{
    const double weights[6] = {1, 2, 0, 1, 1, 1};
    for (size_t variant = 0; variant < 2; variant++) {
        struct bench b;
        double mean[11] = {0};
        double mean_offset = 0;
        uint64_t state = 9;
        vector_random(&b.vector, 6, 11, 1, &state);
        bench_open(&b, variant ? weights : NULL);
        for (size_t t = 0; t < 50; t++) {
            random_base_measure(&state, &b.phi, b.m);
            (void)phi_evaluate(&b.phi, b.m);
            mean_offset += phi_tangent(&b.phi, b.gradient) / 50;
            for (size_t j = 0; j < 11; j++) {
                mean[j] += b.gradient[j] / 50;
            }
            phi_add_dual(&b.phi, b.w, b.y);
        }
        const double of_mean = phi_minorant_least(&b.phi, mean_offset, mean);
        const double offset = phi_minorant(&b.phi, b.w, b.y, b.gradient);
        cr_assert_float_eq(total_of(b.w, 6), 50, 1e-12);
        cr_assert_geq(phi_minorant_least(&b.phi, offset, b.gradient) / 50, of_mean - 1e-12);
        bench_close(&b);
    }
}

Test(phi, agrees_over_the_linear_algebra_backends)
{
    struct bench b;
    struct phi other;
    uint64_t state = 10;
    vector_random(&b.vector, 31, 57, 1, &state);
    bench_open(&b, NULL);
    const struct phi_config config = {.n_rows = 31,
                                      .n_cols = 57,
                                      .cost = b.vector.cost,
                                      .epsilon = 1,
                                      .linalg = dpot_linalg_openblas()};
    cr_assert_eq(phi_init(&other, &config, NULL), DPOT_OK);
    random_base_measure(&state, &b.phi, b.m);
    cr_assert_float_eq(phi_evaluate(&other, b.m), phi_evaluate(&b.phi, b.m), 1e-14);
    phi_release(&other);
    bench_close(&b);
}

Test(phi, works_on_one_point_on_equal_costs_and_on_none)
{
    const double costs[3][4] = {{7}, {2, 2, 2, 2}, {0, 0, 0, 0}};
    const size_t rows[3] = {1, 2, 2}, cols[3] = {1, 2, 2};
    for (size_t c = 0; c < 3; c++) {
        struct phi phi;
        const struct phi_config config = {
            .n_rows = rows[c], .n_cols = cols[c], .cost = costs[c], .epsilon = 1};
        const double m[2] = {0.9, 0};
        double gradient[2];
        cr_assert_eq(phi_init(&phi, &config, NULL), DPOT_OK);
        cr_assert_float_eq(phi_evaluate(&phi, m), costs[c][0], 1e-15);
        const double offset = phi_tangent(&phi, gradient);
        cr_assert_float_eq(phi_minorant_least(&phi, offset, gradient), costs[c][0], 1e-15);
        phi_release(&phi);
    }
}

static void count_rows(void *ctx, size_t n_done, size_t n_total)
{
    cr_assert(n_done < n_total);
    (*(size_t *)ctx)++;
}

Test(phi, sorting_polls_its_control_at_every_row)
{
    struct vector vector;
    struct phi phi;
    size_t n_rows = 0;
    atomic_bool cancel = false;
    const struct solve_control control = {
        .cancel = &cancel, .progress = count_rows, .ctx = &n_rows};
    vector_grid(&vector, 8, 1, 2);
    const struct phi_config config = {.n_rows = vector.n_rows,
                                      .n_cols = vector.n_cols,
                                      .cost = vector.cost,
                                      .epsilon = 1,
                                      .control = &control};
    cr_assert_eq(phi_init(&phi, &config, NULL), DPOT_OK);
    cr_assert(!phi.is_cut && n_rows == vector.n_rows);
    phi_release(&phi);
    n_rows = 0;
    cancel = true;
    cr_assert_eq(phi_init(&phi, &config, NULL), DPOT_OK);
    cr_assert(phi.is_cut && n_rows == 1);
    phi_release(&phi);
    vector_release(&vector);
}

/* Expects a refusal with `words` in its sentence, and no object. */
static void expect_refused(const struct phi_config *config, dpot_status status, const char *words)
{
    struct phi phi;
    struct dpot_error error = {""};
    const struct phi zero = {0};
    cr_assert_eq(phi_init(&phi, config, &error), status, "%s", error.text);
    cr_assert_not_null(strstr(error.text, words), "%s", error.text);
    cr_assert_eq(phi.values, zero.values);
    phi_release(&phi);
}

Test(phi, refuses_bad_data_by_value)
{
    double cost[6] = {0, 1, 2, 3, 4, 5};
    double weights[2] = {1, 1};
    struct phi_config config = {
        .n_rows = 2, .n_cols = 3, .cost = cost, .epsilon = 1, .weights = weights};
    const double bad_costs[] = {NAN, -1, INFINITY, -INFINITY, 1e201};
    const double bad_epsilons[] = {NAN, 0, -1, 101, INFINITY};
    const double bad_weights[] = {NAN, -0.5, INFINITY};
    for (size_t i = 0; i < 5; i++) {
        cost[4] = bad_costs[i];
        expect_refused(&config, DPOT_ERR_RANGE, "row 2, column 2");
        cost[4] = 4;
        config.epsilon = bad_epsilons[i];
        expect_refused(&config, DPOT_ERR_RANGE, "epsilon is");
        config.epsilon = 1;
    }
    for (size_t i = 0; i < 3; i++) {
        weights[1] = bad_weights[i];
        expect_refused(&config, DPOT_ERR_RANGE, "weight 2");
    }
    weights[0] = weights[1] = 0;
    expect_refused(&config, DPOT_ERR_RANGE, "weights sum to 0");
    config.weights = NULL;
    config.n_rows = 0;
    expect_refused(&config, DPOT_ERR_ARGUMENT, "0 x 3");
    config.n_rows = SIZE_MAX / 2;
    expect_refused(&config, DPOT_ERR_TOO_LARGE, "fewer points");
}

Test(phi, survives_every_failed_allocation)
{
    const double cost[6] = {0, 1, 2, 3, 4, 5}, weights[2] = {1, 1};
    struct test_allocator t;
    test_allocator_init(&t);
    const struct phi_config config = {.n_rows = 2,
                                      .n_cols = 3,
                                      .cost = cost,
                                      .epsilon = 1,
                                      .weights = weights,
                                      .allocator = &t.allocator};
    dpot_status status = DPOT_ERR_MEMORY;
    for (size_t n = 1; status != DPOT_OK; n++) {
        struct phi phi;
        cr_assert_lt(n, 20);
        test_allocator_fail_at(&t, n);
        status = phi_init(&phi, &config, NULL);
        cr_assert(status == DPOT_OK || status == DPOT_ERR_MEMORY);
        phi_release(&phi);
        cr_assert_eq(t.bytes, 0);
    }
}
