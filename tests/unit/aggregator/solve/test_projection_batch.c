#include "vector.h"

#include "ot/projection.h"
#include "solve/projection/batch.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Users over grids: one matrix, and its axes where it is separable. */
struct crowd {
    size_t n_users, n_rows, n_cols;
    double *mu;   /* (n_users, n_rows) */
    double *cost; /* (n_rows, n_cols) */
    double *lower, *upper;
    struct dpot_polytope polytope;
    struct projection_batch_config config; /* one axis */
    double *axis_costs[PROJECTION_BATCH_AXES];
};

static double *numbers(size_t n)
{
    double *x = calloc(n, sizeof *x);
    cr_assert(x);
    return x;
}

/* Random masses; a share of about `sparsity` is 0, never all. */
static void draw_users(struct crowd *crowd, double sparsity, uint64_t *state)
{
    for (size_t u = 0; u < crowd->n_users; u++) {
        double *mu = crowd->mu + u * crowd->n_rows;
        for (size_t i = 0; i < crowd->n_rows; i++) {
            const double x = random_next(state);
            mu[i] = random_next(state) < sparsity ? 0.0 : x * x * x;
        }
        mu[u % crowd->n_rows] += 0.5;
    }
}

static void crowd_open(struct crowd *crowd, size_t n_users, size_t n_rows, size_t n_cols,
                       double epsilon, uint64_t *state)
{
    memset(crowd, 0, sizeof *crowd);
    crowd->n_users = n_users;
    crowd->n_rows = n_rows;
    crowd->n_cols = n_cols;
    crowd->mu = numbers(n_users * n_rows);
    crowd->cost = numbers(n_rows * n_cols);
    crowd->lower = numbers(n_cols);
    crowd->upper = numbers(n_cols);
    double total = 0;
    for (size_t j = 0; j < n_cols; j++) {
        crowd->upper[j] = 0.1 + random_next(state);
        total += crowd->upper[j];
    }
    for (size_t j = 0; j < n_cols; j++) {
        const double m = crowd->upper[j] / total;
        crowd->lower[j] = exp(-epsilon / 2) * m;
        crowd->upper[j] = exp(epsilon / 2) * m;
    }
    crowd->polytope = (struct dpot_polytope){n_cols, crowd->lower, crowd->upper};
    crowd->config = (struct projection_batch_config){
        .n_axes = 1, .axes = {{n_rows, n_cols, crowd->cost}}, .polytope = &crowd->polytope};
    draw_users(crowd, 0.3, state);
}

static void crowd_close(struct crowd *crowd)
{
    free(crowd->mu);
    free(crowd->cost);
    free(crowd->lower);
    free(crowd->upper);
    for (size_t d = 0; d < PROJECTION_BATCH_AXES; d++) {
        free(crowd->axis_costs[d]);
    }
}

static void random_costs(struct crowd *crowd, uint64_t *state)
{
    for (size_t k = 0; k < crowd->n_rows * crowd->n_cols; k++) {
        crowd->cost[k] = random_next(state);
    }
}

/* C = sum over axes; returns the configuration by axes. */
static struct projection_batch_config separable(struct crowd *crowd, size_t n_axes,
                                                const size_t rows[], const size_t cols[],
                                                uint64_t *state)
{
    struct projection_batch_config config = crowd->config;
    config.n_axes = n_axes;
    memset(crowd->cost, 0, crowd->n_rows * crowd->n_cols * sizeof(double));
    for (size_t d = 0, row_inner = crowd->n_rows, col_inner = crowd->n_cols; d < n_axes; d++) {
        crowd->axis_costs[d] = numbers(rows[d] * cols[d]);
        for (size_t k = 0; k < rows[d] * cols[d]; k++) {
            crowd->axis_costs[d][k] = random_next(state) / (double)n_axes - 0.2;
        }
        row_inner /= rows[d];
        col_inner /= cols[d];
        for (size_t k = 0; k < crowd->n_rows * crowd->n_cols; k++) {
            const size_t i = k / crowd->n_cols / row_inner % rows[d];
            const size_t j = k % crowd->n_cols / col_inner % cols[d];
            crowd->cost[k] += crowd->axis_costs[d][i * cols[d] + j];
        }
        config.axes[d] = (struct projection_batch_axis){rows[d], cols[d], crowd->axis_costs[d]};
    }
    return config;
}

static void run_batch(const struct crowd *crowd, const struct projection_batch_config *config,
                      double *q, struct projection_batch_result *results)
{
    struct projection_batch *batch = NULL;
    struct dpot_error error = {0};
    cr_assert_eq(projection_batch_new(config, &batch, &error), DPOT_OK, "%s", error.text);
    projection_batch_run(batch, crowd->mu, crowd->n_users, true, q, results);
    projection_batch_free(batch);
}

struct alone {
    double transport_cost, residual;
    struct dpot_projection_result result;
};

static void run_alone(const struct crowd *crowd, const struct projection_batch_config *config,
                      size_t user, double *q, struct alone *alone)
{
    struct dpot_projection *projection = NULL;
    const struct dpot_projection_config one = {.n_rows = crowd->n_rows,
                                               .n_cols = crowd->n_cols,
                                               .lambda = config->lambda,
                                               .cost_range = 2,
                                               .polytope = &crowd->polytope};
    const double *mu = crowd->mu + user * crowd->n_rows;
    cr_assert_eq(dpot_projection_new(&one, &projection), DPOT_OK);
    memcpy(dpot_projection_cost(projection), crowd->cost,
           crowd->n_rows * crowd->n_cols * sizeof(double));
    if (config->tol > 0) {
        dpot_projection_run_scaled(projection, mu, config->iterations, config->tol, q,
                                   &alone->result);
    } else {
        dpot_projection_run(projection, mu, config->iterations, 0, q, &alone->result);
    }
    alone->transport_cost = dpot_projection_transport_cost(projection, &alone->residual);
    dpot_projection_free(projection);
}

static double l1_distance(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += fabs(x[i] - y[i]);
    }
    return sum;
}

/* Each user of the batch has the same result as alone. */
static void expect_as_alone(const struct crowd *crowd, const struct projection_batch_config *config,
                            double tol)
{
    double *q = numbers(crowd->n_users * crowd->n_cols), *expected = numbers(crowd->n_cols);
    struct projection_batch_result *results = calloc(crowd->n_users, sizeof *results);
    cr_assert(results);
    run_batch(crowd, config, q, results);
    for (size_t u = 0; u < crowd->n_users; u++) {
        struct alone alone;
        run_alone(crowd, config, u, expected, &alone);
        cr_assert(!results[u].is_lost, "user %zu", u);
        const double off = l1_distance(q + u * crowd->n_cols, expected, crowd->n_cols);
        cr_assert_leq(off, tol, "user %zu: %g", u, off);
        cr_assert_float_eq(results[u].transport_cost, alone.transport_cost, tol,
                           "user %zu: %.17g, %.17g", u, results[u].transport_cost,
                           alone.transport_cost);
        cr_assert_float_eq(results[u].residual, alone.residual, 2 * tol, "user %zu: %g, %g", u,
                           results[u].residual, alone.residual);
        cr_assert_eq(results[u].is_converged, alone.result.converged);
    }
    free(q);
    free(expected);
    free(results);
}

Test(projection_batch, gives_each_user_the_same_result_as_alone)
{
    static const size_t sizes[][2] = {{1, 1}, {1, 9}, {7, 5}, {30, 30}, {40, 17}, {61, 100}};
    static const double lambdas[] = {1.0, 0.05, 0.01, 0.0025};
    uint64_t state = 5;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (size_t l = 0; l < 4; l++) {
            struct crowd crowd;
            crowd_open(&crowd, 300, sizes[s][0], sizes[s][1], 2, &state);
            random_costs(&crowd, &state);
            crowd.config.lambda = lambdas[l];
            crowd.config.iterations = 1 + 13 * l;
            expect_as_alone(&crowd, &crowd.config, 1e-10);
            crowd_close(&crowd);
        }
    }
}

Test(projection_batch, sweeps_separable_costs_axis_by_axis)
{
    static const size_t rows[][3] = {{5, 7, 0}, {6, 4, 0}, {3, 4, 5}, {4, 1, 2}};
    static const size_t cols[][3] = {{5, 7, 0}, {3, 9, 0}, {2, 6, 3}, {1, 5, 2}};
    uint64_t state = 6;
    for (size_t s = 0; s < 4; s++) {
        const size_t n_axes = rows[s][2] > 0 ? 3 : 2;
        struct crowd crowd;
        const size_t n = rows[s][0] * rows[s][1] * (n_axes == 3 ? rows[s][2] : 1);
        const size_t m = cols[s][0] * cols[s][1] * (n_axes == 3 ? cols[s][2] : 1);
        crowd_open(&crowd, 50, n, m, 3, &state);
        struct projection_batch_config config = separable(&crowd, n_axes, rows[s], cols[s], &state);
        config.lambda = 0.02;
        config.iterations = 25;
        expect_as_alone(&crowd, &config, 1e-10);
        crowd_close(&crowd);
    }
}

Test(projection_batch, reaches_a_tolerance_from_coarse_to_fine)
{
    uint64_t state = 7;
    struct crowd crowd;
    crowd_open(&crowd, 60, 25, 30, 2, &state);
    random_costs(&crowd, &state);
    crowd.config.lambda = 0.01;
    crowd.config.iterations = 100000;
    crowd.config.tol = 1e-11;
    expect_as_alone(&crowd, &crowd.config, 1e-9);
    crowd_close(&crowd);
}

Test(projection_batch, stops_at_the_limit_and_reports_it)
{
    uint64_t state = 8;
    struct crowd crowd;
    crowd_open(&crowd, 20, 25, 25, 2, &state);
    random_costs(&crowd, &state);
    crowd.config.lambda = 0.004;
    crowd.config.iterations = 9;
    crowd.config.tol = 1e-12;
    double *q = numbers(20 * 25);
    struct projection_batch_result results[20];
    run_batch(&crowd, &crowd.config, q, results);
    for (size_t u = 0; u < 20; u++) {
        cr_assert(!results[u].is_converged && !results[u].is_lost);
        cr_assert_eq(results[u].iterations, 9, "%zu", results[u].iterations);
        cr_assert_float_eq(total_of(q + u * 25, 25), 1, 1e-14);
    }
    free(q);
    crowd_close(&crowd);
}

Test(projection_batch, in_float32_is_right_to_a_millionth_or_reports_a_failed_user)
{
    uint64_t state = 9;
    size_t n_lost = 0, n_users = 0;
    static const double lambdas[] = {0.1, 0.02, 0.01, 0.004};
    for (size_t l = 0; l < 4; l++) {
        struct crowd crowd;
        crowd_open(&crowd, 100, 40, 40, 4, &state);
        random_costs(&crowd, &state);
        draw_users(&crowd, l % 2 ? 0.95 : 0.0, &state);
        crowd.config.lambda = lambdas[l];
        crowd.config.iterations = 40;
        crowd.config.is_float32 = true;
        double *q = numbers(100 * 40), *expected = numbers(40);
        struct projection_batch_result results[100];
        run_batch(&crowd, &crowd.config, q, results);
        for (size_t u = 0; u < 100; u++) {
            struct alone alone;
            run_alone(&crowd, &crowd.config, u, expected, &alone);
            n_lost += results[u].is_lost;
            if (results[u].is_lost) {
                cr_assert_eq(total_of(q + u * 40, 40), 0);
                continue;
            }
            const double off = l1_distance(q + u * 40, expected, 40);
            cr_assert_leq(off, 1e-6, "lambda %g, user %zu: %g", lambdas[l], u, off);
            cr_assert_float_eq(total_of(q + u * 40, 40), 1, 1e-14);
            cr_assert_float_eq(results[u].transport_cost, alone.transport_cost, 1e-6);
        }
        n_users += 100;
        free(q);
        free(expected);
        crowd_close(&crowd);
    }
    cr_assert(n_lost > 0 && n_lost < n_users / 2, "%zu of %zu", n_lost, n_users);
}

Test(projection_batch, does_not_depend_on_the_number_of_threads)
{
    uint64_t state = 10;
    struct crowd crowd;
    struct team *team = NULL;
    crowd_open(&crowd, 700, 30, 30, 2, &state);
    random_costs(&crowd, &state);
    crowd.config.lambda = 0.02;
    crowd.config.iterations = 20;
    double *q = numbers(700 * 30), *other = numbers(700 * 30);
    struct projection_batch_result *results = calloc(700, sizeof *results);
    cr_assert(results);
    run_batch(&crowd, &crowd.config, q, results);
    cr_assert_eq(team_new(3, &team), DPOT_OK);
    crowd.config.team = team;
    run_batch(&crowd, &crowd.config, other, results);
    cr_assert_eq(memcmp(q, other, 700 * 30 * sizeof(double)), 0);
    team_free(team);
    free(q);
    free(other);
    free(results);
    crowd_close(&crowd);
}

Test(projection_batch, knows_outputs_that_may_have_no_mass)
{
    uint64_t state = 11;
    struct crowd crowd;
    crowd_open(&crowd, 30, 12, 20, 3, &state);
    random_costs(&crowd, &state);
    for (size_t j = 0; j < 20; j += 5) {
        crowd.lower[j] = crowd.upper[j] = 0;
    }
    crowd.config.lambda = 0.03;
    crowd.config.iterations = 30;
    expect_as_alone(&crowd, &crowd.config, 1e-10);
    crowd.config.tol = 1e-10;
    crowd.config.iterations = 10000;
    expect_as_alone(&crowd, &crowd.config, 1e-8);
    crowd_close(&crowd);
}

Test(projection_batch, finds_the_axes_of_a_separable_cost_and_of_no_other)
{
    static const size_t rows[] = {6, 4}, cols[] = {3, 8};
    uint64_t state = 13;
    struct crowd crowd;
    struct projection_batch_split split;
    crowd_open(&crowd, 20, 24, 24, 3, &state);
    (void)separable(&crowd, 2, rows, cols, &state);
    cr_assert_eq(projection_batch_split(crowd.cost, 24, 24, &split), DPOT_OK);
    cr_assert_eq(split.n_axes, 2);
    cr_assert_eq(split.axes[0].n_rows, 6);
    cr_assert_eq(split.axes[0].n_cols, 3);
    crowd.config.lambda = 0.05;
    crowd.config.iterations = 15;
    crowd.config.n_axes = split.n_axes;
    memcpy(crowd.config.axes, split.axes, sizeof split.axes);
    expect_as_alone(&crowd, &crowd.config, 1e-10);
    projection_batch_split_release(&split);
    crowd.cost[24 * 24 - 1] += 1e-9;
    cr_assert_eq(projection_batch_split(crowd.cost, 24, 24, &split), DPOT_OK);
    cr_assert_eq(split.n_axes, 1);
    cr_assert_eq(split.axes[0].cost, crowd.cost);
    projection_batch_split_release(&split);
    random_costs(&crowd, &state);
    cr_assert_eq(projection_batch_split(crowd.cost, 24, 24, &split), DPOT_OK);
    cr_assert_eq(split.n_axes, 1);
    cr_assert_eq(projection_batch_split(crowd.cost, 1, 1, &split), DPOT_OK);
    cr_assert_eq(split.n_axes, 1);
    crowd_close(&crowd);
}

Test(projection_batch, refuses_invalid_problems)
{
    uint64_t state = 12;
    struct crowd crowd;
    struct projection_batch *batch = NULL;
    struct dpot_error error = {0};
    crowd_open(&crowd, 2, 4, 4, 1, &state);
    random_costs(&crowd, &state);
    crowd.config.lambda = 1e-6;
    crowd.config.iterations = 5;
    cr_assert_eq(projection_batch_new(&crowd.config, &batch, &error), DPOT_ERR_RANGE);
    crowd.config.lambda = 0.1;
    crowd.cost[3] = NAN;
    cr_assert_eq(projection_batch_new(&crowd.config, &batch, &error), DPOT_ERR_RANGE);
    crowd.cost[3] = 0.5;
    crowd.config.is_float32 = true;
    crowd.config.tol = 1e-9;
    cr_assert_eq(projection_batch_new(&crowd.config, &batch, &error), DPOT_ERR_ARGUMENT);
    crowd.config.tol = 0;
    crowd.config.iterations = 0;
    cr_assert_eq(projection_batch_new(&crowd.config, &batch, &error), DPOT_ERR_ARGUMENT);
    crowd.config.iterations = 1;
    crowd.config.axes[0].n_cols = 3;
    cr_assert_eq(projection_batch_new(&crowd.config, &batch, &error), DPOT_ERR_ARGUMENT);
    cr_assert_null(batch);
    crowd_close(&crowd);
}
