/* The transport cost of private samples: its value, its change by one record, and its noise. */
#include "base/rng_seeded.h"
#include "central/ot_cost.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 64

static const double lo[3] = {0, 0, 0}, hi[3] = {1, 1, 1};

static struct ot_cost_config configure(size_t dim, size_t n_x, size_t n_y, double lambda)
{
    return (struct ot_cost_config){
        .metric = {.id = DPOT_METRIC_EUCLIDEAN},
        .power = 2,
        .dim = dim,
        .lo = lo,
        .hi = hi,
        .lambda = lambda,
        .n_x = n_x,
        .n_y = n_y,
        .adjacency = ADJACENCY_REPLACE_ONE,
        .epsilon = 1,
    };
}

static double value_of(const struct ot_cost_config *config, const double *x, const double *y)
{
    double value = NAN;
    struct dpot_error error = {""};
    cr_assert_eq(ot_cost_check(config, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(ot_cost_value(config, x, y, &value, &error), DPOT_OK, "%s", error.text);
    cr_assert(value >= 0 && value <= ot_cost_max(config));
    return value;
}

static size_t read_points(const json_t *list, double *points, size_t *dim)
{
    const size_t n = json_array_size(list);
    *dim = json_array_size(json_array_get(list, 0));
    cr_assert(n * *dim <= POINTS_MAX);
    for (size_t i = 0; i < n * *dim; i++) {
        points[i] = json_number_value(json_array_get(json_array_get(list, i / *dim), i % *dim));
        cr_assert(points[i] >= 0 && points[i] <= 1);
    }
    return n;
}

/* Lower bounds of the golden values, within the claimed tolerance. */
Test(ot_cost, values_are_within_tol_below_the_golden_ones)
{
    json_t *root = json_load_file(DPOT_TEST_DATA "/golden/central/ot_eta.json", 0, NULL);
    size_t n_checked = 0;
    for (size_t i = 0; i < json_array_size(root); i++) {
        const json_t *c = json_array_get(root, i);
        const char *cost = json_string_value(json_object_get(c, "cost"));
        double x[POINTS_MAX], y[POINTS_MAX];
        size_t dim = 0;
        if (!json_object_get(c, "X")) {
            continue; /* golden cases with counts on a grid */
        }
        const size_t n_x = read_points(json_object_get(c, "X"), x, &dim);
        const size_t n_y = read_points(json_object_get(c, "Y"), y, &dim);
        struct ot_cost_config config =
            configure(dim, n_x, n_y, json_number_value(json_object_get(c, "eta")));
        config.power = strcmp(cost, "sq") == 0 ? 2 : 1;
        const double wanted = json_number_value(json_object_get(c, "ot_eta_KL"));
        const double value = value_of(&config, x, y);
        cr_assert_leq(value, wanted + 1e-8, "case %zu", i);
        cr_assert_geq(value, wanted - ot_cost_tol(&config) - 1e-8, "case %zu", i);
        n_checked++;
    }
    cr_assert_geq(n_checked, 5);
    json_decref(root);
}

/* All records in one corner, and one of x in the other: the largest possible change of the
 * value. */
Test(ot_cost, the_sensitivity_is_reached)
{
    const double lambdas[] = {0, 0.3};
    for (size_t l = 0; l < 2; l++) {
        double x[2 * 10] = {0}, y[2 * 20] = {0};
        struct ot_cost_config config = configure(2, 10, 20, lambdas[l]);
        const double most = ot_cost_max(&config);
        cr_assert_float_eq(most, 2, 1e-12);
        const double before = value_of(&config, x, y);
        x[0] = x[1] = 1;
        const double moved = value_of(&config, x, y) - before;
        cr_assert_float_eq(moved, most / 10, ot_cost_tol(&config) + 1e-12);
        cr_assert_leq(moved, ot_cost_sensitivity(&config));
        const int64_t steps =
            ot_cost_steps(&config, moved + before) - ot_cost_steps(&config, before);
        cr_assert(steps <= 1025 && steps > 900, "%d steps", (int)steps);
        /* Both changes together exceed the bound of replace-one and reach that of replace-pair. */
        y[2] = 1;
        config.adjacency = ADJACENCY_REPLACE_PAIR;
        cr_assert_float_eq(ot_cost_sensitivity(&config), 2.0 / 10 + 2.0 / 20 + ot_cost_tol(&config),
                           1e-9);
    }
}

Test(ot_cost, no_record_moves_the_value_more_than_the_sensitivity)
{
    struct dpot_rng_seeded seeded;
    struct exact_draw draw;
    dpot_rng_seeded_init(&seeded, 5, 0);
    exact_draw_init(&draw, &seeded.source);
    for (int trial = 0; trial < 60; trial++) {
        double x[2 * 4], y[2 * 6];
        struct ot_cost_config config = configure(2, 4, 6, trial % 3 == 0 ? 0 : 0.1 * (trial % 3));
        config.metric.id = trial % 2 ? DPOT_METRIC_L1 : DPOT_METRIC_LINF;
        for (size_t i = 0; i < 12; i++) {
            y[i] = (double)exact_draw_below(&draw, 3) / 2;
            x[i % 8] = (double)exact_draw_below(&draw, 3) / 2;
        }
        const double before = value_of(&config, x, y);
        double *const moved = trial % 4 < 2 ? x : y;
        moved[0] = (double)exact_draw_below(&draw, 2);
        moved[1] = (double)exact_draw_below(&draw, 2);
        cr_assert_leq(fabs(value_of(&config, x, y) - before), ot_cost_sensitivity(&config));
    }
    exact_draw_release(&draw);
}

Test(ot_cost, records_outside_of_the_box_count_at_its_boundary)
{
    const struct ot_cost_config config = configure(1, 2, 2, 0);
    const double x[2] = {0, 0}, inside[2] = {1, 1}, beyond[2] = {1e300, 7}, nothing[2] = {NAN, -5};
    cr_assert_float_eq(value_of(&config, x, inside), 1, 1e-9);
    cr_assert_float_eq(value_of(&config, x, beyond), 1, 1e-9);
    cr_assert_float_eq(value_of(&config, x, nothing), 0, 1e-9);
}

Test(ot_cost, a_cap_bounds_costs_and_the_noise)
{
    struct ot_cost_config config = configure(1, 2, 2, 0);
    const double x[2] = {0, 0}, y[2] = {1, 0.2};
    const double scale = ot_cost_noise_scale(&config);
    config.cap = 0.1;
    cr_assert_float_eq(value_of(&config, x, y), (0.1 + 0.04) / 2, 1e-9);
    cr_assert_float_eq(ot_cost_noise_scale(&config), scale / 10, 1e-9);
}

/* The claim in integers: neighbours are at most 1025 steps apart, and scale 1025 / epsilon. */
Test(ot_cost, the_noise_is_that_of_the_grid)
{
    const double epsilons[] = {0.001, 1, 3.3, 20};
    for (size_t e = 0; e < 4; e++) {
        struct ot_cost_config config = configure(2, 50, 70, 0.1);
        config.epsilon = epsilons[e];
        const struct discrete_laplace noise = ot_cost_noise(&config);
        cr_assert_leq(1025 * (double)noise.s / (double)noise.t, epsilons[e]);
        cr_assert_eq(1025 * (double)noise.s / (double)noise.t, ot_cost_spent(&config));
        cr_assert_geq(1025 * (double)noise.s / (double)noise.t, epsilons[e] * 0.999999);
        cr_assert_float_eq(ot_cost_noise_scale(&config) * epsilons[e] /
                               ot_cost_sensitivity(&config),
                           1025.0 / 1024, 1e-5);
        for (double v = 0; v < 2; v += 0.137) {
            const int64_t a = ot_cost_steps(&config, v);
            const int64_t b = ot_cost_steps(&config, v + ot_cost_sensitivity(&config));
            cr_assert_leq(llabs(b - a), 1025);
        }
    }
}

Test(ot_cost, releases_spread_around_the_value_by_the_scale)
{
    struct dpot_rng_seeded seeded;
    struct exact_draw draw;
    struct ot_cost_config config = configure(2, 100, 100, 0);
    const size_t n = 20000;
    double sum = 0, size = 0;
    dpot_rng_seeded_init(&seeded, 9, 0);
    exact_draw_init(&draw, &seeded.source);
    for (size_t i = 0; i < n; i++) {
        const double off = ot_cost_release(&config, 0.4, &draw) - 0.4;
        sum += off;
        size += fabs(off);
    }
    /* Six deviations of means of n Laplace draws of scale s: 1.41 s / sqrt(n) and s / sqrt(n). */
    const double scale = ot_cost_noise_scale(&config);
    cr_assert_float_eq(sum / (double)n, 0, 0.06 * scale);
    cr_assert_float_eq(size / (double)n, scale, 0.043 * scale);
    exact_draw_release(&draw);
}

/* Difficult records: all equal, two clusters, a line, a grid, far outside. */
static void make_odd(size_t kind, double x[40], double y[40])
{
    for (size_t i = 0; i < 40; i++) {
        const double at = (double)i / 39;
        x[i] = kind == 0 ? 0.5 : kind == 1 ? (double)(i % 2) : kind == 4 ? 1e300 : at;
        y[i] = kind == 0 ? 0.5 : kind == 1 ? (double)(i % 20 == 0) : kind == 3 ? at * at : 1 - at;
    }
}

/* For any lambda and records the value differs from that of lambda 0 by at most lambda log n and
 * tol. */
Test(ot_cost, every_lambda_and_all_records_have_a_value_within_tol)
{
    const double lambdas[] = {1e-300, 1e-9, 1e-5, 1e-4, 4e-4, 1e-3, 0.01, 0.1, 1, 1e9, 1e300};
    for (size_t l = 0; l < sizeof lambdas / sizeof lambdas[0]; l++) {
        for (size_t kind = 0; kind < 5; kind++) {
            double x[40], y[40];
            make_odd(kind, x, y);
            const struct ot_cost_config plain = configure(1, 40, 40, 0);
            const struct ot_cost_config config = configure(1, 40, 40, lambdas[l]);
            const double least = value_of(&plain, x, y), value = value_of(&config, x, y);
            cr_assert_geq(value, least - ot_cost_tol(&config) - 1e-9, "%g, %zu", lambdas[l], kind);
            cr_assert_leq(value, least + lambdas[l] * log(40) + 1e-9, "%g, %zu", lambdas[l], kind);
        }
    }
}

/* The fallback of the engine on its own: within tol of the engine's value. */
Test(ot_cost, plain_sweeps_end_within_tol)
{
    const double lambdas[] = {0.02, 0.1, 1, 100};
    for (size_t l = 0; l < 4; l++) {
        for (size_t kind = 0; kind < 4; kind++) {
            double x[40], y[40], cost[1600], f[40] = {0}, g[40], next[40];
            make_odd(kind, x, y);
            const struct ot_cost_config config = configure(1, 40, 40, lambdas[l]);
            cr_assert_not(ot_cost_is_plain(&config));
            for (size_t k = 0; k < 1600; k++) {
                cost[k] = pow(x[k / 40] - y[k % 40], 2);
            }
            cr_assert_float_eq(ot_cost_sweep(&config, cost, f, g, next), value_of(&config, x, y),
                               ot_cost_tol(&config), "%g, %zu", lambdas[l], kind);
        }
    }
}

Test(ot_cost, tol_is_one_hundredth_of_a_record_except_for_a_tiny_lambda)
{
    struct ot_cost_config config = configure(1, 40, 40, 0.1);
    cr_assert_eq(ot_cost_tol(&config), 0.01 / 40);
    config.lambda = 1e-6; /* log n times this is smaller than tol */
    cr_assert(ot_cost_is_plain(&config));
    cr_assert_eq(ot_cost_tol(&config), 0.01 / 40);
    /* The maximum is at 40, between the two limits. */
    for (double lambda = 1e-7; lambda < 1; lambda *= 1.1) {
        config.lambda = lambda;
        cr_assert_leq(ot_cost_tol(&config), 5e-4, "%g", lambda);
        cr_assert(ot_cost_is_plain(&config) || ot_cost_tol(&config) >= 5.9e-8 / lambda);
    }
}

Test(ot_cost, refuses_unbounded_costs)
{
    struct dpot_error error = {""};
    struct ot_cost_config config = configure(2, 3, 3, 0);
    config.metric.id = DPOT_METRIC_COSINE;
    cr_assert_eq(ot_cost_check(&config, &error), DPOT_ERR_RANGE);
    config = configure(2, 0, 3, 0);
    cr_assert_eq(ot_cost_check(&config, &error), DPOT_ERR_TOO_LARGE);
    config = configure(2, (size_t)1 << 14, (size_t)1 << 13, 0);
    cr_assert_eq(ot_cost_check(&config, &error), DPOT_ERR_TOO_LARGE);
    config = configure(2, 3, 3, 0);
    config.epsilon = 1e-10;
    cr_assert_eq(ot_cost_check(&config, &error), DPOT_ERR_RANGE);
}
