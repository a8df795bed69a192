/* Walks over golden/faults: inputs on which transport libraries have failed, and the right results.
 * Each case has a check here, of the library and the program, or names the test that has it. */
#include "arrays.h"
#include "process.h"
#include "unit/files/folder.h"

#include "ot/cost.h"
#include "ot/few_projection.h"
#include "ot/network_simplex.h"
#include "ot/projection.h"
#include "ot/sinkhorn.h"
#include "solve/projection/batch.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define N_MOST 30

/* Reads the numbers of a list or of a list of lists, in order; returns their number. */
static size_t numbers_of(const json_t *list, double *out)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        if (json_is_array(entry)) {
            n += numbers_of(entry, out + n);
        } else {
            out[n++] = json_number_value(entry);
        }
    }
    return n;
}

/* a, b and C of a case, also as files. */
struct transport {
    size_t n, m;
    double a[N_MOST], b[N_MOST], cost[N_MOST * N_MOST], reg;
};

static void load_transport(const json_t *test, struct transport *t)
{
    const json_t *cost = json_object_get(test, "C");
    t->n = numbers_of(json_object_get(test, "a"), t->a);
    t->m = numbers_of(json_object_get(test, "b"), t->b);
    cr_assert_eq(numbers_of(cost ? cost : json_object_get(test, "C_int"), t->cost), t->n * t->m);
    t->reg = json_number_value(json_object_get(test, "reg"));
    write_array("a.npy", t->n, 1, t->a);
    write_array("b.npy", t->m, 1, t->b);
    write_array("c.npy", t->n, t->m, t->cost);
}

static const json_t *expected(const json_t *test)
{
    return json_object_get(test, "expect");
}

static void expect_plan(const char *name, const json_t *plan, double tol)
{
    double values[N_MOST * N_MOST], right[N_MOST * N_MOST];
    const size_t n = numbers_of(plan, right);
    read_array(name, n, values);
    for (size_t e = 0; e < n; e++) {
        cr_assert_float_eq(values[e], right[e], tol, "entry %zu is %g", e, values[e]);
    }
}

/* Every row of the kernel exp(-C / reg) is 0 in doubles: sweeps go on in logarithms. */
static void check_underflow(const json_t *test)
{
    struct transport t;
    struct dpot_sinkhorn_result result;
    double plan[4], q[2];
    char arguments[256];
    const double tol = number_of(expected(test), "tol");
    load_transport(test, &t);
    (void)snprintf(arguments, sizeof arguments,
                   "ot --cost c.npy --a a.npy --b b.npy --lambda %g --plan-out p.npy", t.reg);
    json_t *printed = expect_json(arguments, 0);
    cr_assert_float_eq(number_of(printed, "transport_cost"),
                       number_of(expected(test), "linear_cost"), tol);
    cr_assert_leq(number_of(printed, "residual"), 1e-9);
    json_decref(printed);
    expect_plan("p.npy", json_object_get(expected(test), "plan"), tol);
    cr_assert_eq(dpot_sinkhorn(t.cost, t.a, t.b, 2, 2, t.reg, 1e-9, 500000, NULL, NULL, NULL, plan,
                               &result, NULL),
                 DPOT_OK);
    cr_assert(result.converged);
    cr_assert_float_eq(plan[0], 0.5, tol);
    (void)snprintf(arguments, sizeof arguments,
                   "project --mu a.npy --cost c.npy --base-measure uniform --epsilon 1 --lambda %g "
                   "--out q.npy",
                   t.reg);
    json_decref(expect_json(arguments, 0));
    read_array("q.npy", 2, q);
    cr_assert_float_eq(q[0] + q[1], 1, 1e-12);
}

static void check_zero_mass(const json_t *test)
{
    struct transport t;
    double f[8], plan[16];
    char arguments[256];
    load_transport(test, &t);
    (void)snprintf(
        arguments, sizeof arguments,
        "ot --cost c.npy --a a.npy --b b.npy --lambda %g --plan-out p.npy --potentials-out "
        "f.npy",
        t.reg);
    json_t *printed = expect_json(arguments, 0);
    cr_assert_float_eq(number_of(printed, "transport_cost"),
                       number_of(expected(test), "linear_cost"), number_of(expected(test), "tol"));
    cr_assert(isfinite(number_of(printed, "value")) && isfinite(number_of(printed, "dual")));
    json_decref(printed);
    read_array("p.npy", 16, plan);
    for (size_t e = 0; e < 16; e++) {
        cr_assert_float_eq(plan[e], e == 4 ? 1 : 0, 1e-9);
    }
    read_array("f.npy", 8, f);
    for (size_t i = 0; i < 8; i++) {
        cr_assert(isfinite(f[i]));
    }
}

/* The same masses, one side rounded to float32: for the exact paths, and for the projections. */
static void check_mixed_precision(const json_t *test)
{
    double a[5], b[5], cost[25], q[5];
    const double tol = number_of(expected(test), "tol");
    for (size_t i = 0; i < 5; i++) {
        a[i] = (double)(float)0.2;
        b[i] = 0.2;
        for (size_t j = 0; j < 5; j++) {
            cost[5 * i + j] = fabs((double)i - (double)j);
        }
    }
    cr_assert_neq(a[0], b[0]);
    write_array("a.npy", 5, 1, a);
    write_array("b.npy", 5, 1, b);
    write_array("c.npy", 5, 5, cost);
    json_t *printed =
        expect_json("ot --cost c.npy --a a.npy --b b.npy --exact --plan-out p.npy", 0);
    cr_assert_float_eq(number_of(printed, "transport_cost"), 0, tol);
    json_decref(printed);
    double plan[25], sum = 0;
    read_array("p.npy", 25, plan);
    for (size_t e = 0; e < 25; e++) {
        sum += plan[e];
    }
    cr_assert_float_eq(sum, number_of(expected(test), "plan_sum"), tol);
    const char *const methods[] = {"--exact", "--lambda 0.1"};
    for (size_t k = 0; k < 2; k++) {
        char arguments[256];
        (void)snprintf(arguments, sizeof arguments,
                       "project --mu a.npy --cost c.npy --base-measure a.npy --epsilon 1 %s --out "
                       "q.npy",
                       methods[k]);
        printed = expect_json(arguments, 0);
        cr_assert_float_eq(number_of(printed, "transport_cost"), 0, k == 0 ? tol : 0.01);
        json_decref(printed);
        read_array("q.npy", 5, q);
        cr_assert_float_eq(q[0] + q[1] + q[2] + q[3] + q[4], 1, 1e-12);
    }
}

static void check_integers(const json_t *test)
{
    struct transport t;
    char header[81];
    unsigned char file[80 + 4 * 8] = {0};
    load_transport(test, &t);
    (void)snprintf(header, sizeof header, "..........%-69s\n",
                   "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }");
    memcpy(file, header, 80);
    memcpy(file, "\x93NUMPY\x01\x00\x46\x00", 10);
    for (size_t e = 0; e < 4; e++) {
        file[80 + 8 * e] = (unsigned char)t.cost[e];
    }
    (void)folder_write("i.npy", file, sizeof file);
    json_t *printed =
        expect_json("ot --cost i.npy --a a.npy --b b.npy --exact --plan-out p.npy", 0);
    const double tol = number_of(expected(test), "tol");
    cr_assert_float_eq(number_of(printed, "transport_cost"),
                       number_of(expected(test), "linear_cost"), tol);
    json_decref(printed);
    expect_plan("p.npy", json_object_get(expected(test), "plan"), tol);
}

/* The plan is the gradient in the costs, the potentials those in the masses: costs of s C have s
 * times the value and the potentials. */
static void check_factor(const json_t *test)
{
    const double a[3] = {0.25, 0.375, 0.375}, cost[9] = {0, 2, 7, 1, 0, 3, 4, 5, 0.5};
    const double b[3] = {0.3125, 0.1875, 0.5}, tol = number_of(expected(test), "rel_err");
    const double s = 2.5;
    double more[9];
    struct dpot_exact_result once, scaled;
    for (size_t e = 0; e < 9; e++) {
        more[e] = s * cost[e];
    }
    cr_assert_eq(dpot_exact_ot(cost, a, b, 3, 3, NULL, &once, NULL), DPOT_OK);
    cr_assert_eq(dpot_exact_ot(more, a, b, 3, 3, NULL, &scaled, NULL), DPOT_OK);
    cr_assert_float_eq(scaled.transport_cost, s * once.transport_cost, tol);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_float_eq(scaled.f[i] - scaled.f[0], s * (once.f[i] - once.f[0]), 10 * tol);
        cr_assert_float_eq(scaled.g[i] - scaled.g[0], s * (once.g[i] - once.g[0]), 10 * tol);
    }
    dpot_exact_result_release(&once);
    dpot_exact_result_release(&scaled);
}

/* Potentials are unique up to a constant. Centred, they are a direction that keeps sum a = 1, and
 * those of the sweeps come to those of the simplex method as lambda goes to 0. */
static void check_centre(const json_t *test)
{
    const double a[3] = {0.25, 0.375, 0.375}, cost[9] = {0, 2, 7, 1, 0, 3, 4, 5, 0.5};
    const double b[3] = {0.3125, 0.1875, 0.5};
    double f[3], g[3], centre = 0, exact_centre = 0, sum = 0;
    struct dpot_exact_result exact;
    struct dpot_sinkhorn_result result;
    cr_assert_eq(dpot_exact_ot(cost, a, b, 3, 3, NULL, &exact, NULL), DPOT_OK);
    cr_assert_eq(
        dpot_sinkhorn(cost, a, b, 3, 3, 0.004, 1e-12, 1000000, NULL, f, g, NULL, &result, NULL),
        DPOT_OK);
    for (size_t i = 0; i < 3; i++) {
        centre += f[i] / 3;
        exact_centre += exact.f[i] / 3;
    }
    for (size_t i = 0; i < 3; i++) {
        sum += f[i] - centre;
        cr_assert_float_eq(f[i] - centre, exact.f[i] - exact_centre, 0.02, "%zu: %g, not %g", i,
                           f[i] - centre, exact.f[i] - exact_centre);
    }
    cr_assert_float_eq(sum, 0, number_of(expected(test), "sum_tol"));
    dpot_exact_result_release(&exact);
}

static void check_values(const json_t *test)
{
    struct transport t;
    char arguments[256];
    const json_t *right = expected(test);
    const double tol = number_of(right, "tol");
    double plan[4];
    load_transport(test, &t);
    (void)snprintf(arguments, sizeof arguments,
                   "ot --cost c.npy --a a.npy --b b.npy --lambda %g --tol 1e-12 --plan-out p.npy",
                   t.reg);
    json_t *printed = expect_json(arguments, 0);
    const double linear = number_of(right, "linear"), kl = number_of(right, "kl_vs_ab");
    cr_assert_float_eq(number_of(printed, "transport_cost"), linear, tol);
    cr_assert_float_eq(number_of(printed, "kl"), kl, tol);
    cr_assert_float_eq(number_of(printed, "entropy"), -number_of(right, "sum_P_log_P"), tol);
    cr_assert_float_eq(number_of(printed, "value"), linear + t.reg * kl, tol);
    cr_assert_float_eq(number_of(printed, "dual"), linear + t.reg * kl, tol);
    json_decref(printed);
    read_array("p.npy", 4, plan);
    cr_assert_float_eq(plan[0], number_of(right, "p"), tol);
}

static void project_with(const struct transport *t, const struct dpot_polytope *polytope,
                         double cost_range, double *q)
{
    struct dpot_projection *projection = NULL;
    const struct dpot_projection_config config = {t->n, t->m, t->reg, cost_range, polytope, NULL};
    cr_assert_eq(dpot_projection_new(&config, &projection), DPOT_OK);
    memcpy(dpot_projection_cost(projection), t->cost, t->n * t->m * sizeof(double));
    dpot_projection_run(projection, t->a, 400, 0, q, NULL);
    dpot_projection_free(projection);
}

/* v = q / s with q clipped: a stored kernel whose rows are absorbed, logarithms, and float32 sweeps
 * agree. */
static void check_absorption(const json_t *test)
{
    struct transport t;
    const double tol = number_of(expected(test), "same_plan_as_unabsorbed");
    double lower[2], upper[2], kernel[2], potentials[2], single[2];
    struct projection_batch *batch = NULL;
    struct projection_batch_result result;
    load_transport(test, &t);
    for (size_t j = 0; j < 2; j++) {
        lower[j] = t.b[j] * exp(-0.25);
        upper[j] = t.b[j] * exp(0.25);
    }
    const struct dpot_polytope polytope = {2, lower, upper};
    project_with(&t, &polytope, 1, kernel);
    project_with(&t, &polytope, INFINITY, potentials);
    const struct projection_batch_config config = {.n_axes = 1,
                                                   .axes = {{2, 2, t.cost}},
                                                   .lambda = t.reg,
                                                   .iterations = 400,
                                                   .is_float32 = true,
                                                   .polytope = &polytope};
    cr_assert_eq(projection_batch_new(&config, &batch, NULL), DPOT_OK);
    projection_batch_run(batch, t.a, 1, false, single, &result);
    projection_batch_free(batch);
    for (size_t j = 0; j < 2; j++) {
        cr_assert_float_eq(kernel[j], potentials[j], tol);
        cr_assert(result.is_lost || fabs(single[j] - kernel[j]) < 1e-6);
    }
}

/* Sizes are multiplied in 64 bits, or refused before anything is allocated. */
static void check_overflow(const json_t *test)
{
    const size_t n = (size_t)number_of(test, "n"), m = (size_t)number_of(test, "m");
    const double arcs = number_of(expected(test), "arc_count");
    char line[64];
    cr_assert_eq((double)n * (double)m, arcs);
    cr_assert_geq((double)dpot_projection_bytes(n, m), 8 * arcs);
    cr_assert_eq(dpot_projection_bytes(SIZE_MAX / 4, 8), SIZE_MAX);
    cr_assert_eq(dpot_few_projection_bytes(n, m), SIZE_MAX, "more rows than it takes");
    cr_assert_eq(dpot_few_projection_bytes(64, SIZE_MAX / 8), SIZE_MAX);
    FILE *file = fopen(folder_path("long.csv"), "w");
    cr_assert_not_null(file);
    for (size_t i = 0; i < n; i++) {
        (void)fprintf(file, "%zu\n", i);
    }
    cr_assert_eq(fclose(file), 0);
    (void)snprintf(line, sizeof line, "%zu x %zu, %.0f bytes", n, m, 8 * arcs);
    expect_exit("ot --x long.csv --y long.csv --metric euclidean --exact", 3, line);
}

static void check_coincidence(const json_t *test)
{
    const struct dpot_metric metric = {DPOT_METRIC_EUCLIDEAN, 0};
    double x[4], cost[4];
    cr_assert_eq(numbers_of(json_object_get(test, "x"), x), 4);
    for (size_t i = 0; i < 4; i++) {
        x[i] = (double)(float)x[i];
    }
    for (int power = 1; power <= 2; power++) {
        dpot_cost_matrix(&metric, power, 2, x, 2, x, 2, cost);
        for (size_t e = 0; e < 4; e++) {
            cr_assert(isfinite(cost[e]) && cost[e] >= 0);
        }
        cr_assert(cost[0] == 0 && cost[3] == 0);
    }
}

/* Refusals before any work name the argument, the limit and another way. */
static void check_capabilities(const json_t *test)
{
    const double cost[4] = {0, 1, 1, 0}, mu[2] = {0.5, 0.5};
    (void)test;
    write_array("c.npy", 2, 2, cost);
    write_array("a.npy", 2, 1, mu);
    expect_exit("project --mu a.npy --cost c.npy --base-measure uniform --epsilon 1 --lambda 1 "
                "--float32 --out q.npy",
                2, "--float32 is for --method wpm with --iterations");
    expect_exit("project --mu a.npy --cost c.npy --base-measure uniform --epsilon 101 --exact "
                "--out q.npy",
                2, "--epsilon is 101");
    write_text("s.json", "{\"name\":\"a\",\"domain\":{\"type\":\"ring\",\"size\":6},\"metric\":"
                         "\"ring\",\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,\"solver\":"
                         "\"exact\",\"n_max\":65},\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":"
                         "\"2026-02-01T00:00:00Z\",\"min_pool\":1}");
    expect_exit("campaign show s.json", 3, "n_max is 65: the exact solver is for 1 to 64 rows");
}

/* One kernel for many users: each gets the same result as alone, although others need more
 * sweeps. */
static void check_batch(const json_t *test)
{
    enum { USERS = 3, K = 30 };
    double mu[USERS * K] = {0}, cost[K * K], together[USERS * K], alone[K];
    const char *const rules[] = {"--iterations 200", "--tol 1e-11"};
    const double tol = number_of(expected(test), "equals_one_by_one");
    for (size_t i = 0; i < K; i++) {
        for (size_t j = 0; j < K; j++) {
            const double d = fmin(fabs((double)i - (double)j), K - fabs((double)i - (double)j));
            cost[K * i + j] = d * d / 225;
        }
        mu[i] = 1.0 / K;
        mu[K + i] = i == 4;
        mu[2 * K + i] = (double)(i * i % 7) / 88;
    }
    write_array("c.npy", K, K, cost);
    write_array("a.npy", USERS, K, mu);
    for (size_t r = 0; r < 2; r++) {
        char arguments[256];
        (void)snprintf(arguments, sizeof arguments,
                       "project --mu a.npy --cost c.npy --base-measure uniform --epsilon 2 "
                       "--lambda %g %s --normalize --out q.npy",
                       number_of(test, "reg"), rules[r]);
        json_decref(expect_json(arguments, 0));
        read_array("q.npy", USERS * K, together);
        for (size_t u = 0; u < USERS; u++) {
            write_array("one.npy", K, 1, mu + K * u);
            (void)snprintf(arguments, sizeof arguments,
                           "project --mu one.npy --cost c.npy --base-measure uniform --epsilon 2 "
                           "--lambda %g %s --normalize --out q1.npy",
                           number_of(test, "reg"), rules[r]);
            json_decref(expect_json(arguments, 0));
            read_array("q1.npy", K, alone);
            for (size_t j = 0; j < K; j++) {
                cr_assert_float_eq(together[K * u + j], alone[j], r == 0 ? tol : 1e-9);
            }
        }
    }
}

static const struct {
    const char *id;
    void (*check)(const json_t *test);
    const char *elsewhere; /* the test with the rest of the case, or all of it */
} checks[] = {
    {"underflow_kernel", check_underflow, NULL},
    {"zero_mass_entries", check_zero_mass, NULL},
    {"mixed_precision_marginals", check_mixed_precision, NULL},
    {"integer_costs", check_integers, NULL},
    {"gradient_chain_factor", check_factor,
     "cloud: a_gradient_carries_its_factor_and_the_team_changes_no_bit"},
    {"uncentred_dual", check_centre, NULL},
    {"which_value", check_values, NULL},
    {"stabilised_differs", check_absorption, "lanes_fused, entropic: absorbed float32 sweeps"},
    {"index_overflow", check_overflow, NULL},
    {"coincident_points_p1", check_coincidence,
     "cloud: points_that_coincide_have_a_finite_gradient; lanes: the l1 gradient"},
    {"capability_checks", check_capabilities, NULL},
    {"shared_cost_batch", check_batch, NULL},
    {"gradient_memory", NULL,
     "solve/cloud.h: memory is that of the points, the gradient is the envelope's"},
};

TestSuite(fault_cases, .init = folder_make, .fini = folder_remove);

Test(fault_cases, each_has_the_right_result)
{
    json_t *root = json_load_file(DPOT_TEST_DATA "/golden/faults/fault_cases.json", 0, NULL);
    const json_t *cases = json_object_get(root, "cases");
    const size_t n_checks = sizeof checks / sizeof checks[0];
    cr_assert_eq(json_array_size(cases), n_checks);
    for (size_t i = 0; i < n_checks; i++) {
        const json_t *test = json_array_get(cases, i);
        cr_assert_str_eq(json_string_value(json_object_get(test, "id")), checks[i].id);
        cr_assert(checks[i].check || checks[i].elsewhere);
        if (checks[i].check) {
            checks[i].check(test);
        }
    }
    json_decref(root);
}
