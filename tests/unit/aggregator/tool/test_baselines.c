/* dpot project --method kpm and exponential, and campaigns of the two in simulate. */
#include "process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

TestSuite(baselines, .init = folder_make, .fini = folder_remove);

static json_t *load_golden(const char *path)
{
    json_t *golden = json_load_file(path, 0, NULL);
    cr_assert_not_null(golden);
    return golden;
}

/* A list of numbers, or of rows of numbers, as a file. */
static void write_list(const char *name, const json_t *list)
{
    struct array array;
    struct dpot_error error;
    const size_t n = json_array_size(list), dim = json_array_size(json_array_get(list, 0));
    cr_assert_eq(array_init(&array, n, dim ? dim : 1, dim == 0), DPOT_OK);
    for (size_t i = 0; i < n; i++) {
        const json_t *entry = json_array_get(list, i);
        for (size_t c = 0; c < dim; c++) {
            array.values[i * dim + c] = json_number_value(json_array_get(entry, c));
        }
        if (dim == 0) {
            array.values[i] = json_number_value(entry);
        }
    }
    cr_assert_eq(array_write(folder_path(name), &array, ARRAY_F8, &error), DPOT_OK);
    array_release(&array);
}

static double l1_of_result(const char *name, const json_t *reference)
{
    struct array q;
    struct dpot_error error = {""};
    double l1 = 0;
    cr_assert_eq(array_read(folder_path(name), &q, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(q.n_rows * q.n_cols, json_array_size(reference));
    for (size_t j = 0; j < json_array_size(reference); j++) {
        l1 += fabs(q.values[j] - json_number_value(json_array_get(reference, j)));
    }
    array_release(&q);
    return l1;
}

/* Points or ring positions of a golden file as x.csv and v.csv; the options that name them. */
static const char *write_places(const json_t *cost)
{
    static char options[128];
    const int power = (int)json_number_value(json_object_get(cost, "p"));
    if (strcmp(json_string_value(json_object_get(cost, "type")), "euclid") == 0) {
        write_list("x.csv", json_object_get(cost, "X"));
        write_list("v.csv", json_object_get(cost, "V"));
        (void)snprintf(options, sizeof options, "--x x.csv --v v.csv --metric euclidean --power %d",
                       power);
        return options;
    }
    const int size = (int)json_integer_value(json_object_get(cost, "k"));
    json_t *positions = json_array();
    for (int i = 0; i < size; i++) {
        (void)json_array_append_new(positions, json_integer(i));
    }
    write_list("x.csv", positions);
    json_decref(positions);
    (void)snprintf(options, sizeof options,
                   "--x x.csv --v x.csv --metric ring --ring-size %d --power %d", size, power);
    return options;
}

static void expect_kpm_of_reference(const char *path)
{
    char arguments[512];
    json_t *golden = load_golden(path);
    const json_t *input = json_object_get(golden, "input");
    const json_t *reference = json_object_get(golden, "reference");
    const char *places = write_places(json_object_get(input, "cost"));
    write_list("mu.csv", json_object_get(input, "mu"));
    (void)snprintf(arguments, sizeof arguments,
                   "project --method kpm --mu mu.csv %s --epsilon %.17g --exact --out q.npy",
                   places, number_of(input, "eps"));
    json_t *result = expect_json(arguments, 0);
    const double cost = number_of(reference, "kpm_cost");
    cr_assert_float_eq(number_of(result, "transport_cost"), cost, 1e-8 * cost);
    cr_assert_leq(number_of(result, "max_ratio"), exp(number_of(input, "eps") / 2) * (1 + 1e-12));
    cr_assert_leq(l1_of_result("q.npy", json_object_get(reference, "kpm_q")), 1e-12);
    json_decref(result);
    json_decref(golden);
}

Test(baselines, kpm_law_and_its_cost_are_those_of_the_reference)
{
    expect_kpm_of_reference(DPOT_TEST_DATA "/golden/wpm/p01_ring30_s0.json");
    expect_kpm_of_reference(DPOT_TEST_DATA "/golden/wpm/p02_grid20_sparse_eps2.json");
}

Test(baselines, exponential_laws_are_those_of_the_reference)
{
    json_t *golden = load_golden(DPOT_TEST_DATA "/golden/wpm/e01_expmech.json");
    const json_t *tests = json_object_get(json_object_get(golden, "reference"), "tests");
    for (size_t t = 0; t < json_array_size(tests); t++) {
        const json_t *test = json_array_get(tests, t);
        char arguments[512];
        const char *places = write_places(json_object_get(test, "cost"));
        write_list("mu.csv", json_object_get(test, "mu"));
        (void)snprintf(arguments, sizeof arguments,
                       "project --method exponential --mu mu.csv %s --epsilon %.17g --out q.npy",
                       places, number_of(test, "eps"));
        json_t *result = expect_json(arguments, 0);
        cr_assert_str_eq(json_string_value(json_object_get(result, "outcome")), "converged");
        cr_assert_null(json_object_get(result, "transport_cost"), "no solver was chosen");
        const double l1 = l1_of_result("q.npy", json_object_get(test, "q"));
        cr_assert_leq(l1, 1e-12, "test %zu: %g", t, l1);
        json_decref(result);
    }
    json_decref(golden);
}

static void write_small(void)
{
    write_text("mu.csv", "0.5\n0.5\n0\n");
    write_text("batch.csv", "0.5,0.5,0\n0,0,1\n");
    write_text("cost.csv", "0,1,2\n1,0,1\n2,1,0\n");
    write_text("wide.csv", "0,1,2,3\n1,0,1,2\n2,1,0,1\n");
}

Test(baselines, kpm_needs_no_cost)
{
    struct array q;
    struct dpot_error error;
    const double e = exp(1), rest = 1 / (e + 2);
    write_small();
    json_t *result = expect_json("project --method kpm --mu batch.csv --epsilon 1 --out q.csv", 0);
    cr_assert_eq(number_of(result, "users"), 2);
    json_decref(result);
    cr_assert_eq(array_read(folder_path("q.csv"), &q, &error), DPOT_OK);
    const double expected[] = {(1 - rest) / 2, (1 - rest) / 2, rest, rest, rest, e * rest};
    for (size_t i = 0; i < 6; i++) {
        cr_assert_float_eq(q.values[i], expected[i], 1e-14);
    }
    array_release(&q);
    json_decref(expect_json("project --method kpm --mu mu.csv --epsilon 1 --out q.csv", 0));
    cr_assert_eq(array_read(folder_path("q.csv"), &q, &error), DPOT_OK);
    cr_assert(q.is_vector && q.n_rows == 3);
    array_release(&q);
}

Test(baselines, with_lambda_the_cost_is_that_of_an_entropic_plan)
{
    write_small();
    static const char *const methods[] = {"kpm", "exponential"};
    for (size_t i = 0; i < 2; i++) {
        char arguments[256];
        (void)snprintf(arguments, sizeof arguments,
                       "project --method %s --mu mu.csv --cost cost.csv --epsilon 2 --exact "
                       "--out q.csv",
                       methods[i]);
        json_t *exact = expect_json(arguments, 0);
        (void)snprintf(arguments, sizeof arguments,
                       "project --method %s --mu mu.csv --cost cost.csv --epsilon 2 --lambda 0.02 "
                       "--out q.csv",
                       methods[i]);
        json_t *entropic = expect_json(arguments, 0);
        cr_assert_str_eq(json_string_value(json_object_get(entropic, "outcome")), "converged");
        cr_assert_gt(number_of(entropic, "iterations"), 0);
        cr_assert_float_eq(number_of(entropic, "transport_cost"),
                           number_of(exact, "transport_cost"), 0.02);
        json_decref(entropic);
        json_decref(exact);
    }
}

/* The projection is nearest in transport cost among all laws of its polytope, the baselines'
 * too. */
Test(baselines, the_projection_costs_no_more_over_the_same_base_measure)
{
    write_small();
#define CASE                                                                                       \
    " --mu batch.csv --cost cost.csv --base-measure uniform:1.1 --epsilon 1 --exact --out q.csv"
    json_t *wpm = expect_json("project" CASE, 0);
    json_t *kpm = expect_json("project --method kpm" CASE, 0);
    json_t *exponential = expect_json("project --method exponential" CASE, 0);
#undef CASE
    const double least = number_of(wpm, "transport_cost") - 1e-12;
    cr_assert_geq(number_of(kpm, "transport_cost"), least);
    cr_assert_geq(number_of(exponential, "transport_cost"), least);
    cr_assert_leq(number_of(exponential, "max_ratio"), exp(.5) * (1 + 1e-12));
    json_decref(wpm);
    json_decref(kpm);
    json_decref(exponential);
}

Test(baselines, incompatible_options_are_refused_with_the_reason)
{
    write_small();
    write_text("same.csv", "1,2\n1,2\n1,2\n");
#define TAIL " --mu mu.csv --epsilon 1 --out q.csv"
    expect_exit("project --method kpm --cost wide.csv" TAIL, 3, "3 inputs and 4 outputs");
    expect_exit("project --method exponential --cost same.csv" TAIL, 3,
                "differ between inputs by 0");
    expect_exit("project --method exponential" TAIL, 2, "there is no cost");
    expect_exit("project --method kpm --exact" TAIL, 2, "there is no cost");
    expect_exit("project --method kpm --tol 1e-3" TAIL, 2, "--tol belongs to --lambda");
    expect_exit("project --method kpm --cost cost.csv --exact --lambda 1" TAIL, 2,
                "exclude each other");
    expect_exit("project --method kpm --base-measure uniform:9" TAIL, 3, "must lie in");
    expect_exit("project --method laplace --cost cost.csv" TAIL, 2, "--method is laplace");
#undef TAIL
}

/* ---- campaigns ---- */

#define SPEC(mechanism)                                                                            \
    "{\"name\":\"ring\",\"domain\":{\"type\":\"ring\",\"size\":12},\"metric\":\"ring\","           \
    "\"mechanism\":{" mechanism ",\"n_max\":8},\"opens\":\"2026-12-01T00:00:00Z\","                \
    "\"closes\":\"2026-12-08T00:00:00Z\",\"min_pool\":20,\"simulation\":true}"

/* All devices of one place, so that the truth is the likeliest report. */
static void write_devices(int n_devices)
{
    char text[8192] = "device,position,count\n";
    for (int device = 0; device < n_devices; device++) {
        const size_t len = strlen(text);
        (void)snprintf(text + len, sizeof text - len, "%d,7,1\n", device);
    }
    write_text("data.csv", text);
}

static void expect_simulated(const char *spec, double truth, double tolerance)
{
    struct array pool;
    struct dpot_error error;
    double n_true = 0;
    write_text("spec.json", spec);
    json_t *r = expect_json("simulate --campaign spec.json --data data.csv --devices 400 "
                            "--in-process --seed 5 --out run",
                            0);
    cr_assert_eq(number_of(r, "accepted"), 400);
    cr_assert_eq(number_of(r, "epsilon_per_device"), 3);
    cr_assert(json_is_true(json_object_get(r, "is_conserved")));
    json_decref(r);
    cr_assert_eq(array_read(folder_path("run/pool.npy"), &pool, &error), DPOT_OK);
    cr_assert_eq(pool.n_rows, 400);
    for (size_t i = 0; i < pool.n_rows; i++) {
        n_true += pool.values[i] == 7;
    }
    cr_assert_float_eq(n_true / 400, truth, tolerance, "%g", n_true / 400);
    array_release(&pool);
    json_t *side = load_golden(folder_path("run/pool.npy.json"));
    cr_assert_not_null(json_object_get(side, "mechanism"));
    json_decref(side);
    r = expect_json("estimate --campaign spec.json --pool run/pool.npy --out share.csv", 0);
    json_decref(r);
}

/* The share of true answers within four standard deviations. */
Test(baselines, campaigns_of_both_run_from_spec_to_estimate)
{
    double z = 0;
    write_devices(400);
    const double kpm = exp(3) / (exp(3) + 11);
    expect_simulated(SPEC("\"type\":\"kpm\",\"epsilon\":3"), kpm, 4 * sqrt(kpm * (1 - kpm) / 400));
    for (int d = 0; d < 12; d++) {
        z += exp(-3.0 * (d < 6 ? d : 12 - d) / 12);
    }
    expect_simulated(SPEC("\"type\":\"exponential\",\"epsilon\":3,\"sample_first\":true"), 1 / z,
                     4 * sqrt((1 - 1 / z) / z / 400));
}
