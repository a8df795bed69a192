#include "solve/barycenter/fixed.h"

#include "ot/network_simplex.h"
#include "transport.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, COLS = 7, N = ROWS * COLS, K = 3 };

static uint64_t state = 9;
static const size_t shape[2] = {ROWS, COLS};
static const double spacing[2] = {0.2, 0.15}, weights[K] = {0.2, 0.5, 0.3};

static double uniform(void)
{
    return transport_uniform(&state);
}

static void random_mass(size_t n, size_t zero_every, double *mass)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        sum += mass[k] = zero_every && k % zero_every == 0 ? 0 : 0.05 + pow(uniform(), 4);
    }
    for (size_t k = 0; k < n; k++) {
        mass[k] /= sum;
    }
}

static void grid_cost(double *cost)
{
    for (size_t k = 0; k < N * N; k++) {
        const double i = (double)(k / N / COLS) - (double)(k % N / COLS);
        const double j = (double)(k / N % COLS) - (double)(k % N % COLS);
        cost[k] = pow(spacing[0] * i, 2) + pow(spacing[1] * j, 2);
    }
}

static struct barycenter_kernel *matrix_kernel(const double *cost, size_t n_in, size_t n_out,
                                               double lambda, bool wants_log)
{
    struct barycenter_kernel *kernel = NULL;
    struct dpot_error error = {""};
    cr_assert_eq(barycenter_kernel_matrix(cost, n_in, n_out, lambda, K, wants_log, &kernel, &error),
                 DPOT_OK, "%s", error.text);
    return kernel;
}

static struct barycenter_kernel *grid_kernel(double lambda, bool wants_log)
{
    struct barycenter_kernel *kernel = NULL;
    struct dpot_error error = {""};
    cr_assert_eq(barycenter_kernel_grid(2, shape, spacing, lambda, K, wants_log, &kernel, &error),
                 DPOT_OK, "%s", error.text);
    return kernel;
}

static void solve(struct barycenter_kernel *kernel, const double *masses, const double *w,
                  const struct barycenter_fixed_options *options,
                  struct barycenter_fixed_result *result)
{
    struct barycenter_histogram groups[K];
    struct dpot_error error = {""};
    for (size_t i = 0; i < K; i++) {
        groups[i] = (struct barycenter_histogram){kernel, masses + i * kernel->n_in};
    }
    const struct barycenter_fixed_problem problem = {K, groups, w};
    cr_assert_eq(barycenter_fixed_solve(&problem, options, NULL, result, &error), DPOT_OK, "%s",
                 error.text);
}

/* Iterative Bregman projections by their definition, in plain float64. */
static void plain_loop(const double *cost, size_t n_in, size_t n_out, double lambda,
                       const double *masses, const double *w, size_t n_iterations, bool is_debiased,
                       double *b)
{
    double *k = calloc(n_in * n_out, sizeof *k), *v = calloc(K * n_out, sizeof *v),
           *phi = calloc(K * n_out, sizeof *phi), *d = calloc(n_out, sizeof *d);
    for (size_t e = 0; e < n_in * n_out; e++) {
        k[e] = exp(-cost[e] / lambda);
    }
    for (size_t j = 0; j < n_out; j++) {
        v[j] = v[n_out + j] = v[2 * n_out + j] = d[j] = 1;
    }
    for (size_t t = 0; t < n_iterations; t++) {
        for (size_t j = 0; j < n_out; j++) {
            b[j] = d[j];
        }
        memset(phi, 0, K * n_out * sizeof *phi);
        for (size_t i = 0; i < K; i++) {
            for (size_t r = 0; r < n_in; r++) {
                double kv = 0;
                for (size_t j = 0; j < n_out; j++) {
                    kv += k[r * n_out + j] * v[i * n_out + j];
                }
                for (size_t j = 0; j < n_out; j++) {
                    phi[i * n_out + j] += k[r * n_out + j] * masses[i * n_in + r] / kv;
                }
            }
            for (size_t j = 0; j < n_out; j++) {
                b[j] *= pow(phi[i * n_out + j], w[i]);
            }
        }
        for (size_t e = 0; e < K * n_out; e++) {
            v[e] = b[e % n_out] / phi[e];
        }
        double *next = calloc(n_out, sizeof *next);
        for (size_t j = 0; is_debiased && j < n_out; j++) {
            double kd = 0;
            for (size_t l = 0; l < n_out; l++) {
                kd += k[j * n_out + l] * d[l];
            }
            next[j] = sqrt(d[j] * b[j] / kd);
        }
        for (size_t j = 0; is_debiased && j < n_out; j++) {
            d[j] = next[j];
        }
        free(next);
    }
    free(k);
    free(v);
    free(phi);
    free(d);
}

Test(barycenter_fixed, separable_dense_and_log_domain_agree_with_weights_that_act)
{
    static double cost[N * N], masses[K * N], b[N], b_equal[N];
    const double equal[K] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    grid_cost(cost);
    for (size_t i = 0; i < K; i++) {
        random_mass(N, 4 + i, masses + i * N);
    }
    for (int debiased = 0; debiased < 2; debiased++) {
        const struct barycenter_fixed_options options = {.is_debiased = debiased,
                                                         .max_iterations = 300};
        const double lambda = 0.03;
        double moved = 0;
        plain_loop(cost, N, N, lambda, masses, weights, 300, debiased, b);
        plain_loop(cost, N, N, lambda, masses, equal, 300, debiased, b_equal);
        for (int method = 0; method < 4; method++) {
            struct barycenter_kernel *kernel = method < 2
                                                   ? grid_kernel(lambda, method)
                                                   : matrix_kernel(cost, N, N, lambda, method == 3);
            struct barycenter_fixed_result result;
            cr_assert_eq(kernel->is_log, method % 2 == 1);
            solve(kernel, masses, weights, &options, &result);
            for (size_t j = 0; j < N; j++) {
                cr_assert_float_eq(result.weights[j], b[j], debiased ? 1e-8 : 1e-12,
                                   "debiased %d, method %d, cell %zu: %.17g, not %.17g", debiased,
                                   method, j, result.weights[j], b[j]);
                moved = fmax(moved, fabs(b[j] - b_equal[j]));
            }
            barycenter_fixed_release(&result);
            barycenter_kernel_free(kernel);
        }
        cr_assert_gt(moved, 1e-3, "group weights act");
    }
}

Test(barycenter_fixed, of_any_cost_between_other_points_is_the_plain_loop)
{
    enum { IN = 9, OUT = 21 };
    double cost[IN * OUT], masses[K * IN], b[OUT];
    for (size_t k = 0; k < IN * OUT; k++) {
        cost[k] = 2 * uniform() - 0.5;
    }
    for (size_t i = 0; i < K; i++) {
        random_mass(IN, 0, masses + i * IN);
    }
    const struct barycenter_fixed_options options = {.max_iterations = 400};
    plain_loop(cost, IN, OUT, 0.1, masses, weights, 400, false, b);
    for (int method = 0; method < 2; method++) {
        struct barycenter_kernel *kernel = matrix_kernel(cost, IN, OUT, 0.1, method);
        struct barycenter_fixed_result result;
        solve(kernel, masses, weights, &options, &result);
        for (size_t j = 0; j < OUT; j++) {
            cr_assert_float_eq(result.weights[j], b[j], 1e-10);
        }
        cr_assert_float_eq(result.value, result.dual, 1e-8);
        cr_assert_leq(result.unregularised_lower, result.unregularised_upper);
        barycenter_fixed_release(&result);
        barycenter_kernel_free(kernel);
    }
}

Test(barycenter_fixed, groups_with_costs_of_their_own_are_those_with_one_cost)
{
    static double cost[N * N], masses[K * N];
    grid_cost(cost);
    for (size_t i = 0; i < K; i++) {
        random_mass(N, 0, masses + i * N);
    }
    struct barycenter_kernel *kernels[3] = {grid_kernel(0.05, false),
                                            matrix_kernel(cost, N, N, 0.05, false),
                                            matrix_kernel(cost, N, N, 0.05, true)};
    struct barycenter_histogram groups[K];
    struct barycenter_fixed_result mixed, one;
    struct dpot_error error = {""};
    struct barycenter_fixed_options options = {
        .is_debiased = true, .max_iterations = 1000, .tol = 1e-12};
    for (size_t i = 0; i < K; i++) {
        groups[i] = (struct barycenter_histogram){kernels[i], masses + i * N};
    }
    const struct barycenter_fixed_problem problem = {K, groups, weights};
    cr_assert_eq(barycenter_fixed_solve(&problem, &options, NULL, &mixed, &error), DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(error.text, "group 2 has a kernel of its own"), "%s", error.text);
    options.is_debiased = false;
    cr_assert_eq(barycenter_fixed_solve(&problem, &options, NULL, &mixed, &error), DPOT_OK);
    solve(kernels[0], masses, weights, &options, &one);
    cr_assert_eq(mixed.outcome, SOLVE_CONVERGED);
    cr_assert_float_eq(mixed.value, one.value, 1e-12);
    cr_assert_float_eq(mixed.cost, one.cost, 1e-12);
    cr_assert_float_eq(mixed.unregularised_lower, one.unregularised_lower, 1e-10);
    for (size_t j = 0; j < N; j++) {
        cr_assert_float_eq(mixed.weights[j], one.weights[j], 1e-12);
    }
    barycenter_fixed_release(&mixed);
    barycenter_fixed_release(&one);
    for (size_t i = 0; i < 3; i++) {
        barycenter_kernel_free(kernels[i]);
    }
}

Test(barycenter_fixed, mass_is_one_at_any_lambda)
{
    static double cost[N * N], masses[K * N];
    grid_cost(cost);
    memset(masses, 0, sizeof masses);
    masses[0] = 1;                 /* a single cell */
    random_mass(N, 2, masses + N); /* half of the cells empty */
    random_mass(N, 0, masses + 2 * N);
    for (double lambda = 1e-9; lambda < 1e10; lambda *= 10) {
        for (int method = 0; method < 4; method++) {
            const struct barycenter_fixed_options options = {.is_debiased = method / 2,
                                                             .max_iterations = 40};
            struct barycenter_kernel *kernel =
                method % 2 ? matrix_kernel(cost, N, N, lambda, false) : grid_kernel(lambda, false);
            struct barycenter_fixed_result result;
            double sum = 0;
            solve(kernel, masses, weights, &options, &result);
            for (size_t j = 0; j < N; j++) {
                cr_assert(result.weights[j] >= 0, "lambda %g", lambda);
                sum += result.weights[j];
            }
            cr_assert_float_eq(sum, 1, 1e-14, "lambda %g: %.17g", lambda, sum);
            cr_assert(isfinite(result.cost) && isfinite(result.residual), "lambda %g", lambda);
            cr_assert_leq(result.unregularised_lower, result.unregularised_upper + 1e-9,
                          "lambda %g", lambda);
            barycenter_fixed_release(&result);
            barycenter_kernel_free(kernel);
        }
    }
}

Test(barycenter_fixed, of_two_cells_lies_between_them_by_their_weights)
{
    enum { LINE = 41 };
    const size_t line[1] = {LINE};
    const double step[1] = {0.025};
    double masses[K * LINE] = {0};
    const double w[K] = {0.25, 0.75, 0};
    struct barycenter_kernel *kernel = NULL;
    struct dpot_error error = {""};
    masses[8] = masses[LINE + 28] = masses[2 * LINE] = 1;
    for (int debiased = 0; debiased < 2; debiased++) {
        const struct barycenter_fixed_options options = {
            .is_debiased = debiased, .max_iterations = 3000, .tol = 1e-13};
        struct barycenter_fixed_result result;
        double mean = 0, spread = 0;
        cr_assert_eq(barycenter_kernel_grid(1, line, step, 2e-3, K, false, &kernel, &error),
                     DPOT_OK);
        solve(kernel, masses, w, &options, &result);
        for (size_t j = 0; j < LINE; j++) {
            mean += result.weights[j] * (double)j;
        }
        for (size_t j = 0; j < LINE; j++) {
            spread += result.weights[j] * pow((double)j - mean, 2);
        }
        cr_assert_float_eq(mean, 0.25 * 8 + 0.75 * 28, 1e-6);
        /* The blur is that of the kernel, lambda / 2 = 1e-3 = (1.26 cells)^2; debiased there is
         * none. */
        if (debiased) {
            cr_assert_lt(spread, 0.1, "%g", spread);
        } else {
            cr_assert_float_eq(spread, 1.6, 0.01, "%g", spread);
        }
        cr_assert_float_eq(result.unregularised_lower, 0.25 * 0.75 * pow(20 * 0.025, 2), 1e-3);
        barycenter_fixed_release(&result);
        barycenter_kernel_free(kernel);
    }
}

Test(barycenter_fixed, debiasing_gives_a_measure_back_that_plain_iterations_blur)
{
    static double masses[K * N];
    random_mass(N, 0, masses);
    memcpy(masses + N, masses, N * sizeof *masses);
    memcpy(masses + 2 * N, masses, N * sizeof *masses);
    double moved[2] = {0, 0};
    for (int debiased = 0; debiased < 2; debiased++) {
        const struct barycenter_fixed_options options = {
            .is_debiased = debiased, .max_iterations = 20000, .tol = 1e-12};
        struct barycenter_kernel *kernel = grid_kernel(0.02, false);
        struct barycenter_fixed_result result;
        solve(kernel, masses, weights, &options, &result);
        for (size_t j = 0; j < N; j++) {
            moved[debiased] += fabs(result.weights[j] - masses[j]);
        }
        barycenter_fixed_release(&result);
        barycenter_kernel_free(kernel);
    }
    cr_assert_gt(moved[0], 0.1);
    cr_assert_lt(moved[1], 1e-4, "%g", moved[1]);
}

Test(barycenter_fixed, bounds_hold_the_exact_cost_between_them)
{
    static double cost[N * N], masses[K * N];
    grid_cost(cost);
    for (size_t i = 0; i < K; i++) {
        random_mass(N, 3, masses + i * N);
    }
    const double lambdas[3] = {1e-3, 1e-2, 1e-1};
    double last_gap = INFINITY;
    for (size_t l = 3; l-- > 0;) {
        const struct barycenter_fixed_options options = {.max_iterations = 5000, .tol = 1e-9};
        struct barycenter_kernel *kernel = grid_kernel(lambdas[l], false);
        struct barycenter_fixed_result result;
        double exact = 0;
        solve(kernel, masses, weights, &options, &result);
        for (size_t i = 0; i < K; i++) {
            struct dpot_exact_result plan;
            struct dpot_error error = {""};
            cr_assert_eq(
                dpot_exact_ot(cost, masses + i * N, result.weights, N, N, NULL, &plan, &error),
                DPOT_OK, "%s", error.text);
            exact += weights[i] * plan.transport_cost;
            dpot_exact_result_release(&plan);
        }
        cr_assert_leq(result.unregularised_lower, exact + 1e-12);
        cr_assert_geq(result.unregularised_upper, exact - 1e-12);
        cr_assert_leq(result.dual, result.value + 1e-9);
        const double gap = result.unregularised_upper - result.unregularised_lower;
        cr_assert_lt(gap, last_gap);
        last_gap = gap;
        barycenter_fixed_release(&result);
        barycenter_kernel_free(kernel);
    }
    cr_assert_lt(last_gap, 2e-3);
}

Test(barycenter_fixed, a_grid_of_three_axes_is_its_matrix)
{
    enum { CELLS = 3 * 4 * 5 };
    const size_t cube[3] = {3, 4, 5};
    const double steps[3] = {0.3, 0.2, 0.1};
    static double cost[CELLS * CELLS], masses[K * CELLS];
    for (size_t k = 0; k < CELLS * CELLS; k++) {
        const size_t a = k / CELLS, b = k % CELLS;
        const double x = 0.3 * ((double)(a / 20) - (double)(b / 20)),
                     y = 0.2 * ((double)(a / 5 % 4) - (double)(b / 5 % 4)),
                     z = 0.1 * ((double)(a % 5) - (double)(b % 5));
        cost[k] = x * x + y * y + z * z;
    }
    for (size_t i = 0; i < K; i++) {
        random_mass(CELLS, 0, masses + i * CELLS);
    }
    const struct barycenter_fixed_options options = {.max_iterations = 100};
    struct barycenter_fixed_result expected;
    struct barycenter_kernel *matrix = matrix_kernel(cost, CELLS, CELLS, 0.05, false);
    solve(matrix, masses, weights, &options, &expected);
    for (int method = 0; method < 2; method++) {
        struct barycenter_kernel *kernel = NULL;
        struct barycenter_fixed_result result;
        struct dpot_error error = {""};
        cr_assert_eq(barycenter_kernel_grid(3, cube, steps, 0.05, K, method, &kernel, &error),
                     DPOT_OK);
        solve(kernel, masses, weights, &options, &result);
        cr_assert_float_eq(result.cost, expected.cost, 1e-12);
        cr_assert_float_eq(result.unregularised_lower, expected.unregularised_lower, 1e-12);
        for (size_t j = 0; j < CELLS; j++) {
            cr_assert_float_eq(result.weights[j], expected.weights[j], 1e-12);
        }
        barycenter_fixed_release(&result);
        barycenter_kernel_free(kernel);
    }
    barycenter_fixed_release(&expected);
    barycenter_kernel_free(matrix);
}

Test(barycenter_fixed, the_number_of_threads_changes_no_bit)
{
    static double cost[N * N], masses[K * N];
    struct team *team = NULL;
    cr_assert_eq(team_new(3, &team), DPOT_OK);
    grid_cost(cost);
    for (size_t i = 0; i < K; i++) {
        random_mass(N, 0, masses + i * N);
    }
    for (int method = 0; method < 4; method++) {
        struct barycenter_fixed_options options = {.max_iterations = 50};
        struct barycenter_kernel *kernel =
            method < 2 ? grid_kernel(0.05, method) : matrix_kernel(cost, N, N, 0.05, method % 2);
        struct barycenter_fixed_result alone, together;
        solve(kernel, masses, weights, &options, &alone);
        options.team = team;
        solve(kernel, masses, weights, &options, &together);
        cr_assert_arr_eq(alone.weights, together.weights, N * sizeof(double));
        cr_assert_eq(alone.cost, together.cost);
        barycenter_fixed_release(&alone);
        barycenter_fixed_release(&together);
        barycenter_kernel_free(kernel);
    }
    team_free(team);
}

Test(barycenter_fixed, wrong_problems_are_refused_with_what_is_wrong)
{
    double cost[12] = {0}, mass[4] = {0.5, 0.5, 0.5, -0.5};
    struct barycenter_kernel *kernel = NULL;
    struct dpot_error error = {""};
    struct barycenter_fixed_result result;
    struct barycenter_fixed_options options = {.max_iterations = 10};
    const double bad_spacing[2] = {0.1, 0}, negative[1] = {-1}, two[1] = {2}, none[1] = {0};
    cr_assert_eq(barycenter_kernel_grid(2, shape, bad_spacing, 1, 1, false, &kernel, &error),
                 DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "axis 2"), "%s", error.text);
    cr_assert_eq(barycenter_kernel_grid(2, shape, spacing, 0, 1, false, &kernel, &error),
                 DPOT_ERR_RANGE);
    cr_assert_eq(barycenter_kernel_grid(2, shape, spacing, 1e-20, 1, false, &kernel, &error),
                 DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "larger lambda"), "%s", error.text);
    cost[5] = INFINITY;
    cr_assert_eq(barycenter_kernel_matrix(cost, 4, 3, 1, 1, false, &kernel, &error),
                 DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "row 2, column 3"), "%s", error.text);
    cr_assert_null(kernel);
    cost[5] = 1;
    cr_assert_eq(barycenter_kernel_matrix(cost, 4, 3, 1, 1, false, &kernel, &error), DPOT_OK);
    struct barycenter_histogram group = {kernel, mass};
    struct barycenter_fixed_problem problem = {1, &group, NULL};
    cr_assert_eq(barycenter_fixed_solve(&problem, &options, NULL, &result, &error), DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "cell 4 has mass -0.5"), "%s", error.text);
    mass[3] = 0.5;
    cr_assert_eq(barycenter_fixed_solve(&problem, &options, NULL, &result, &error), DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "sum to 2"), "%s", error.text);
    mass[2] = mass[3] = 0;
    problem.group_weights = negative;
    cr_assert_eq(barycenter_fixed_solve(&problem, &options, NULL, &result, &error), DPOT_ERR_RANGE);
    problem.group_weights = two;
    cr_assert_eq(barycenter_fixed_solve(&problem, &options, NULL, &result, &error), DPOT_ERR_RANGE);
    problem.group_weights = none;
    cr_assert_eq(barycenter_fixed_solve(&problem, &options, NULL, &result, &error), DPOT_ERR_RANGE);
    problem.group_weights = NULL;
    options.is_debiased = true;
    cr_assert_eq(barycenter_fixed_solve(&problem, &options, NULL, &result, &error), DPOT_ERR_SHAPE);
    cr_assert(strstr(error.text, "not symmetric"), "%s", error.text);
    options = (struct barycenter_fixed_options){.max_iterations = 0};
    cr_assert_eq(barycenter_fixed_solve(&problem, &options, NULL, &result, &error), DPOT_ERR_RANGE);
    problem.n_groups = 0;
    cr_assert_eq(barycenter_fixed_solve(&problem, &options, NULL, &result, &error), DPOT_ERR_SHAPE);
    barycenter_kernel_free(kernel);
    barycenter_kernel_free(NULL);
}
