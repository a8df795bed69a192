#include "process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RING "--x ring.csv --v ring.csv --metric ring --ring-size 30 --power 2"

static json_t *golden;

/* mu.csv, m.csv, ring.csv of golden vector p01; matrix.csv is the same cost written out. */
static void load_golden(void)
{
    struct array column;
    struct dpot_error error;
    folder_make();
    golden = json_load_file(DPOT_TEST_DATA "/golden/wpm/p01_ring30_s0.json", 0, NULL);
    cr_assert_not_null(golden);
    const json_t *input = json_object_get(golden, "input");
    const char *const keys[] = {"mu", "m"}, *const files[] = {"mu.csv", "m.csv"};
    cr_assert_eq(array_init(&column, 30, 1, true), DPOT_OK);
    for (size_t f = 0; f < 2; f++) {
        const json_t *list = json_object_get(input, keys[f]);
        cr_assert_eq(json_array_size(list), 30);
        for (size_t i = 0; i < 30; i++) {
            column.values[i] = json_number_value(json_array_get(list, i));
        }
        cr_assert_eq(array_write(folder_path(files[f]), &column, ARRAY_F8, &error), DPOT_OK);
    }
    for (size_t i = 0; i < 30; i++) {
        column.values[i] = (double)i;
    }
    cr_assert_eq(array_write(folder_path("ring.csv"), &column, ARRAY_F8, &error), DPOT_OK);
    array_release(&column);
}

static void drop_golden(void)
{
    json_decref(golden);
    folder_remove();
}

TestSuite(project, .init = load_golden, .fini = drop_golden);

static double golden_epsilon(void)
{
    return number_of(json_object_get(golden, "input"), "eps");
}

static void read_result(const char *name, struct array *q)
{
    struct dpot_error error = {""};
    cr_assert_eq(array_read(folder_path(name), q, &error), DPOT_OK, "%s", error.text);
}

/* Every row of q is inside exp(+-epsilon/2) m and sums to 1. */
static void expect_inside(const struct array *q, size_t n_users, double epsilon)
{
    struct array m;
    read_result("m.csv", &m);
    for (size_t u = 0; u < n_users; u++) {
        double sum = 0;
        for (size_t j = 0; j < 30; j++) {
            const double x = q->values[u * 30 + j];
            cr_assert(x >= m.values[j] * exp(-epsilon / 2) * (1 - 1e-12));
            cr_assert(x <= m.values[j] * exp(epsilon / 2) * (1 + 1e-12));
            sum += x;
        }
        cr_assert_float_eq(sum, 1, 1e-12);
    }
    array_release(&m);
}

Test(project, exact_cost_is_that_of_the_reference)
{
    char arguments[512];
    struct array q;
    (void)snprintf(arguments, sizeof arguments,
                   "project --mu mu.csv " RING
                   " --base-measure m.csv --epsilon %.17g --exact --out "
                   "q.npy",
                   golden_epsilon());
    json_t *result = expect_json(arguments, 0);
    const double reference = number_of(json_object_get(golden, "reference"), "lp_cost");
    cr_assert_float_eq(number_of(result, "transport_cost"), reference, 1e-9 * reference);
    cr_assert_float_eq(number_of(result, "dual"), reference, 1e-9 * reference);
    cr_assert_float_eq(number_of(result, "gap"), 0, 1e-13);
    cr_assert_str_eq(json_string_value(json_object_get(result, "outcome")), "converged");
    cr_assert_leq(number_of(result, "max_ratio"), exp(golden_epsilon() / 2) * (1 + 1e-12));
    cr_assert_not_null(json_object_get(result, "iterations"));
    read_result("q.npy", &q);
    cr_assert(q.is_vector && q.n_rows == 30);
    expect_inside(&q, 1, golden_epsilon());
    array_release(&q);
    json_decref(result);
}

Test(project, entropic_projection_is_that_of_the_reference)
{
    const json_t *list = json_object_get(json_object_get(golden, "reference"), "entropic");
    cr_assert_gt(json_array_size(list), 0);
    for (size_t e = 0; e < json_array_size(list); e++) {
        const json_t *reference = json_array_get(list, e);
        char arguments[512];
        struct array q;
        double l1 = 0;
        (void)snprintf(arguments, sizeof arguments,
                       "project --mu mu.csv " RING " --base-measure m.csv --epsilon %.17g --lambda "
                       "%.17g --tol 1e-12 --out q.npy",
                       golden_epsilon(), number_of(reference, "lam"));
        json_t *result = expect_json(arguments, 0);
        cr_assert_str_eq(json_string_value(json_object_get(result, "outcome")), "converged");
        read_result("q.npy", &q);
        for (size_t j = 0; j < 30; j++) {
            const json_t *value = json_array_get(json_object_get(reference, "q"), j);
            l1 += fabs(q.values[j] - json_number_value(value));
        }
        cr_assert_leq(l1, 1e-9, "lambda %g: %g", number_of(reference, "lam"), l1);
        array_release(&q);
        json_decref(result);
    }
}

Test(project, batch_gives_each_user_the_same_result_as_alone)
{
    struct array batch, one, row;
    struct dpot_error error;
    const char *tail = "--base-measure uniform --epsilon 1 --lambda 5";
    char arguments[512];
    cr_assert_eq(array_init(&batch, 5, 30, false), DPOT_OK);
    cr_assert_eq(array_init(&row, 30, 1, true), DPOT_OK);
    double mean_cost = 0;
    for (size_t u = 0; u < 5; u++) {
        memset(row.values, 0, 30 * sizeof(double));
        for (size_t i = 0; i <= u; i++) {
            row.values[(7 * u + 11 * i) % 30] += 1.0 / (double)(u + 1);
        }
        memcpy(batch.values + 30 * u, row.values, 30 * sizeof(double));
        cr_assert_eq(array_write(folder_path("one.csv"), &row, ARRAY_F8, &error), DPOT_OK);
        (void)snprintf(arguments, sizeof arguments,
                       "project --mu one.csv " RING " %s --out q%zu.npy", tail, u);
        json_t *result = expect_json(arguments, 0);
        mean_cost += number_of(result, "transport_cost") / 5;
        json_decref(result);
    }
    cr_assert_eq(array_write(folder_path("batch.npy"), &batch, ARRAY_F8, &error), DPOT_OK);
    (void)snprintf(arguments, sizeof arguments,
                   "project --mu batch.npy " RING " %s --threads 3 --out q.npy", tail);
    json_t *result = expect_json(arguments, 0);
    cr_assert_eq(number_of(result, "users"), 5);
    cr_assert_float_eq(number_of(result, "transport_cost"), mean_cost, 1e-12);
    json_decref(result);
    array_release(&batch);
    read_result("q.npy", &batch);
    cr_assert(batch.n_rows == 5 && batch.n_cols == 30);
    for (size_t u = 0; u < 5; u++) {
        char name[16];
        (void)snprintf(name, sizeof name, "q%zu.npy", u);
        read_result(name, &one);
        cr_assert_eq(memcmp(one.values, batch.values + 30 * u, 30 * sizeof(double)), 0);
        array_release(&one);
    }
    array_release(&batch);
    array_release(&row);
}

/* 20 users who are everywhere on a grid of 5 x 4, so that one kernel is shared and swept by its
 * axes. */
static void write_crowd(struct array *users)
{
    struct array grid;
    struct dpot_error error;
    cr_assert_eq(array_init(&grid, 20, 2, false), DPOT_OK);
    cr_assert_eq(array_init(users, 20, 20, false), DPOT_OK);
    for (size_t k = 0; k < 20; k++) {
        grid.values[2 * k] = (double)(k / 4);
        grid.values[2 * k + 1] = (double)(k % 4);
    }
    for (size_t k = 0; k < 400; k++) {
        users->values[k] = 1.0 + (double)((k * 37 + k / 20 * 11) % 17);
    }
    cr_assert_eq(array_write(folder_path("grid.csv"), &grid, ARRAY_F8, &error), DPOT_OK);
    cr_assert_eq(array_write(folder_path("crowd.npy"), users, ARRAY_F8, &error), DPOT_OK);
    array_release(&grid);
}

Test(project, large_batches_share_a_kernel_with_the_same_results)
{
    static const struct {
        const char *options;
        double tol;
    } cases[] = {
        {"--iterations 40", 1e-10}, {"--iterations 40 --float32", 1e-6}, {"--tol 1e-11", 1e-9}};
    struct array users, batch, one, row;
    struct dpot_error error;
    char arguments[512];
    write_crowd(&users);
    cr_assert_eq(array_init(&row, 20, 1, true), DPOT_OK);
    for (size_t c = 0; c < 3; c++) {
        double mean_cost = 0;
        const char *common = "--x grid.csv --v grid.csv --metric euclidean --power 2 --normalize "
                             "--base-measure uniform --epsilon 2 --lambda 0.3";
        (void)snprintf(arguments, sizeof arguments, "project --mu crowd.npy %s %s --out q.npy",
                       common, cases[c].options);
        json_t *result = expect_json(arguments, 0);
        read_result("q.npy", &batch);
        for (size_t u = 0; u < 20; u++) {
            memcpy(row.values, users.values + 20 * u, 20 * sizeof(double));
            cr_assert_eq(array_write(folder_path("one.csv"), &row, ARRAY_F8, &error), DPOT_OK);
            (void)snprintf(arguments, sizeof arguments, "project --mu one.csv %s %s --out one.npy",
                           common, cases[c].options);
            json_t *alone = expect_json(arguments, 0);
            mean_cost += number_of(alone, "transport_cost") / 20;
            json_decref(alone);
            read_result("one.npy", &one);
            for (size_t j = 0; j < 20; j++) {
                cr_assert_float_eq(one.values[j], batch.values[20 * u + j], cases[c].tol,
                                   "%s: user %zu", cases[c].options, u);
            }
            array_release(&one);
        }
        cr_assert_float_eq(number_of(result, "transport_cost"), mean_cost, 10 * cases[c].tol);
        cr_assert_eq(number_of(result, "users"), 20);
        json_decref(result);
        array_release(&batch);
    }
    array_release(&users);
    array_release(&row);
}

Test(project, fixed_iterations_run_as_on_a_device_and_are_no_failure)
{
    struct array q;
    json_t *result =
        expect_json("project --mu mu.csv " RING
                    " --base-measure m.csv --epsilon 5 --lambda 0.2 --iterations 7 --out "
                    "q.csv",
                    0);
    cr_assert_eq(number_of(result, "iterations"), 7);
    cr_assert_str_eq(json_string_value(json_object_get(result, "outcome")), "iteration_limit");
    json_decref(result);
    read_result("q.csv", &q);
    expect_inside(&q, 1, 5);
    array_release(&q);
}

Test(project, stopping_before_the_tolerance_is_exit_code_5_with_the_output_written)
{
    struct array q;
    json_t *result =
        expect_json("project --mu mu.csv " RING
                    " --base-measure m.csv --epsilon 5 --lambda 0.2 --max-iterations 3 "
                    "--out q.csv",
                    5);
    cr_assert_str_eq(json_string_value(json_object_get(result, "outcome")), "iteration_limit");
    json_decref(result);
    read_result("q.csv", &q);
    expect_inside(&q, 1, 5);
    array_release(&q);
}

Test(project, cost_matrix_and_stdin_are_accepted)
{
    write_text("cost.csv", "0,1,4\n1,0,1\n");
    write_text("stdin", "0.5\n0.5\n");
    struct process p;
    process_run(&p, "project --mu - --cost cost.csv --base-measure uniform --epsilon 1 --exact "
                    "--out -");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    double sum = 0, a = 0, b = 0, c = 0;
    cr_assert_eq(sscanf(p.out, "%lf %lf %lf", &a, &b, &c), 3);
    sum = a + b + c;
    cr_assert_float_eq(sum, 1, 1e-12);
    expect_exit("project --mu - --cost - --base-measure uniform --epsilon 1 --exact --out q.npy", 2,
                "second input from stdin");
}

Test(project, points_without_base_mass_have_no_probability)
{
    struct array q;
    write_text("cost.csv", "0,1,2\n1,0,1\n2,1,0\n");
    write_text("two.csv", "0.5\n0\n0.5\n");
    write_text("dirac.csv", "0\n1\n0\n");
    json_t *result = expect_json("project --mu dirac.csv --cost cost.csv --base-measure two.csv "
                                 "--epsilon 1 --lambda 0.1 --out q.csv",
                                 0);
    json_decref(result);
    read_result("q.csv", &q);
    cr_assert_eq(q.values[1], 0);
    cr_assert_float_eq(q.values[0] + q.values[2], 1, 1e-12);
    array_release(&q);
}

Test(project, wrong_options_are_refused_before_files_are_read)
{
    const struct {
        const char *arguments, *sentence;
    } cases[] = {
        {"", "--mu is missing"},
        {"--mu none.csv", "there is no cost"},
        {"--mu none.csv --cost none.csv --x none.csv", "--x does not go with --cost"},
        {"--mu none.csv --x none.csv", "--metric is missing"},
        {"--mu none.csv --x a --v b", "--metric is missing"},
        {"--mu none.csv --x a --v b --metric taxi", "--metric is taxi"},
        {"--mu none.csv --x a --v b --metric ring", "needs --ring-size"},
        {"--mu none.csv --x a --v b --metric l1 --ring-size 5", "goes with --metric ring only"},
        {"--mu none.csv --x a --v b --metric l1 --power 0", "--power is 0"},
        {"--mu none.csv --x a --v b --metric l1 --power nan", "--power is nan"},
        {"--mu none.csv --cost c", "--base-measure is missing"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1 --lambda 1 --float32",
         "--float32 is for --method wpm with --iterations"},
        {"--mu none.csv --cost c --base-measure uniform:0", "uniform:0"},
        {"--mu none.csv --cost c --base-measure uniform:x", "uniform:x"},
        {"--mu none.csv --cost c --base-measure uniform:-2", "uniform:-2"},
        {"--mu none.csv --cost c --base-measure uniform", "--epsilon is missing"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 0", "--epsilon is 0"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon -1", "--epsilon is -1"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon nan", "--epsilon is nan"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1e9", "--epsilon is 1e9"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1x", "--epsilon is 1x"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1",
         "neither --exact nor --lambda"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1 --exact --lambda 1",
         "--exact and --lambda exclude each other"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1 --lambda 0", "--lambda is 0"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1 --lambda -3", "--lambda is -3"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1 --lambda inf",
         "--lambda is inf"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1 --exact --iterations 5",
         "--iterations does not go with --exact"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1 --lambda 1 --iterations 5 "
         "--tol 1",
         "--tol does not go with --iterations"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1 --lambda 1 --iterations 0",
         "--iterations is 0"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1 --lambda 1 --tol 0",
         "--tol is 0"},
        {"--mu none.csv --cost c --base-measure uniform --epsilon 1 --lambda 1",
         "--out is missing"},
        {"--mu none.csv --cost c --method gaussian", "--method is gaussian"},
        {"--mu none.csv --cost c --method magic", "--method is magic"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char arguments[512];
        (void)snprintf(arguments, sizeof arguments, "project %s", cases[i].arguments);
        expect_exit(arguments, 2, cases[i].sentence);
    }
}

Test(project, wrong_data_are_refused_with_value_and_remedy)
{
    write_text("ok.csv", "0,1,2\n1,0,1\n2,1,0\n");
    write_text("mu.csv", "0.2\n0.3\n0.5\n");
    write_text("nearly.csv", "0.2\n0.3\n0.5000005\n");
    write_text("unnormalised.csv", "1\n1\n1\n");
    write_text("nan.csv", "0.5\nnan\n0.5\n");
    write_text("negative.csv", "0.5\n-0.5\n1\n");
    write_text("short.csv", "0.5\n0.5\n");
    write_text("zero.csv", "0\n0\n0\n");
    write_text("text.csv", "0.5\nx\n0.5\n");
    write_text("ragged.csv", "0,1,2\n1,0\n");
    write_text("inf.csv", "0,1,2\n1,inf,1\n2,1,0\n");
    const struct {
        const char *mu, *cost, *base, *sentence;
        int exit_code;
    } cases[] = {
        {"none.csv", "ok.csv", "uniform", "none.csv", 6},
        {"mu.csv", "none.csv", "uniform", "none.csv", 6},
        {"mu.csv", "ok.csv", "none.csv", "none.csv", 6},
        {"unnormalised.csv", "ok.csv", "uniform",
         "sum to 3, not to 1: correct them or add --normal", 3},
        {"nan.csv", "ok.csv", "uniform", "is nan", 3},
        {"negative.csv", "ok.csv", "uniform", "is -0.5", 3},
        {"short.csv", "ok.csv", "uniform", "2 weights for 3 points", 3},
        {"zero.csv", "ok.csv", "uniform", "sum to 0", 3},
        {"text.csv", "ok.csv", "uniform", "line 2, column 1 is \"x\"", 3},
        {"mu.csv", "ragged.csv", "uniform", "line 2 has 2 columns", 3},
        {"mu.csv", "inf.csv", "uniform", "row 2, column 2 is inf", 3},
        {"mu.csv", "ok.csv", "short.csv", "give (3,)", 3},
        {"mu.csv", "ok.csv", "negative.csv", "mass 2 is -0.5", 3},
        {"mu.csv", "ok.csv", "nan.csv", "is nan", 3},
        {"mu.csv", "ok.csv", "zero.csv", "total mass of --base-measure is 0", 3},
        {"mu.csv", "ok.csv", "uniform:9", "must lie in [0.606530", 3},
        {"mu.csv", "ok.csv", "unnormalised.csv", "is 3: for epsilon 1", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char arguments[512];
        (void)snprintf(
            arguments, sizeof arguments,
            "project --mu %s --cost %s --base-measure %s --epsilon 1 --exact --out q.npy",
            cases[i].mu, cases[i].cost, cases[i].base);
        expect_exit(arguments, cases[i].exit_code, cases[i].sentence);
    }
    json_t *result = expect_json("project --mu unnormalised.csv --normalize --cost ok.csv "
                                 "--base-measure uniform --epsilon 1 --exact --out q.npy",
                                 0);
    json_decref(result);
    result = expect_json("project --mu nearly.csv --cost ok.csv --base-measure uniform --epsilon 1 "
                         "--exact --out q.npy",
                         0);
    json_decref(result);
}

Test(project, points_of_wrong_dimension_are_refused)
{
    write_text("one.csv", "0\n1\n");
    write_text("two.csv", "0,0\n1,1\n");
    write_text("half.csv", "0.5\n1\n");
    write_text("mu.csv", "0.5\n0.5\n");
#define TAIL " --base-measure uniform --epsilon 1 --exact --out q.npy"
    expect_exit("project --mu mu.csv --x one.csv --v two.csv --metric l1" TAIL, 3,
                "--x has 1 coordinate and --v has 2");
    expect_exit("project --mu mu.csv --x one.csv --v one.csv --metric haversine" TAIL, 3,
                "(latitude, longitude)");
    expect_exit("project --mu mu.csv --x two.csv --v two.csv --metric ring --ring-size 5" TAIL, 3,
                "give one column");
    expect_exit("project --mu mu.csv --x half.csv --v one.csv --metric ring --ring-size 5" TAIL, 3,
                "row 1 is 0.5: ring positions");
#undef TAIL
}

Test(project, a_lambda_that_is_too_small_for_the_costs_is_refused_before_sweeping)
{
    write_text("cost.csv", "0,4\n3,1\n");
    write_text("mu.csv", "0.5\n0.5\n");
#define HEAD "project --mu mu.csv --cost cost.csv --base-measure uniform --epsilon 1 --out q.npy "
    expect_exit(HEAD "--lambda 1e-300", 3, "the largest |cost| is 4 and lambda 1e-300");
    expect_exit(HEAD "--lambda 1e-300 --iterations 3", 3, "give a larger lambda");
    expect_exit(HEAD "--lambda 1e-320", 2, "give at least 2.2e-308");
    json_decref(expect_json(HEAD "--lambda 1e-10", 0));
#undef HEAD
}

Test(project, without_v_the_output_points_are_those_of_x)
{
    write_text("line.csv", "0\n1\n3\n");
    write_text("law.csv", "0.5\n0.25\n0.25\n");
#define TWICE "project --mu law.csv --metric euclidean --base-measure uniform --epsilon 1 --exact "
    json_t *one = expect_json(TWICE "--x line.csv --out one.csv", 0);
    json_t *two = expect_json(TWICE "--x line.csv --v line.csv --out two.csv", 0);
    cr_assert(json_equal(one, two));
    json_decref(one);
    json_decref(two);
}
