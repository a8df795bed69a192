/* dpot barycenter: the command line, its files and keys, and what it refuses. */
#include "process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void write_files(void)
{
    folder_make();
    /* Two shifted copies of four points: the barycenter of four is the copy between them. */
    write_text("a.csv", "0,0\n1,0\n0,1\n1,1\n");
    write_text("b.csv", "10,0\n11,0\n10,1\n11,1\n");
    write_text("w.csv", "0.25\n0.75\n");
    write_text("points.csv", "0,0,0.5\n8,0,0.25\n8,4,0.25\n");
    write_text("one.csv", "2,6\n");
    write_text("two.csv", "4,8\n");
    /* A line of five cells, two histograms. */
    write_text("left.csv", "1\n0\n0\n0\n0\n");
    write_text("right.csv", "0\n0\n0\n0\n1\n");
    write_text("both.csv", "1,0,0,0,0\n0,0,0,0,1\n");
    write_text("line.csv", "0,1,4,9,16\n1,0,1,4,9\n4,1,0,1,4\n9,4,1,0,1\n16,9,4,1,0\n");
    write_text("places.csv", "0\n1\n2\n3\n4\n");
    write_text("at0.csv", "0\n");
    write_text("at4.csv", "4\n");
}

TestSuite(barycenter_tool, .init = write_files, .fini = folder_remove);

static void read_array(const char *name, struct array *array)
{
    struct dpot_error error = {""};
    cr_assert_eq(array_read(folder_path(name), array, &error), DPOT_OK, "%s", error.text);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

Test(barycenter_tool, of_shifted_copies_is_the_copy_between_by_the_weights)
{
    struct array x;
    json_t *r =
        expect_json("barycenter --group-files a.csv b.csv --group-weights w.csv --support 4 "
                    "--exact --starts 20 --seed 3 --out x.npy --trajectory-out c.csv",
                    0);
    const double expected = 0.25 * 0.75 * 100;
    cr_assert_float_eq(number_of(r, "cost"), expected, 1e-12);
    cr_assert_float_eq(number_of(r, "lower_bound"), expected, 1e-12);
    cr_assert_str_eq(text_of(r, "lower_bound_from"), "pairs");
    cr_assert_str_eq(text_of(r, "cost_is"), "exact");
    cr_assert_str_eq(text_of(r, "outcome"), "converged");
    cr_assert_eq(number_of(r, "groups"), 2);
    cr_assert_eq(number_of(r, "starts"), 20);
    cr_assert_eq(json_array_size(json_object_get(r, "start_costs")), 20);
    cr_assert_float_eq(number_of(r, "one_point_cost"), expected + 0.5, 1e-12);
    read_array("x.npy", &x);
    cr_assert(x.n_rows == 4 && x.n_cols == 2);
    double corners = 0;
    for (size_t j = 0; j < 4; j++) {
        const double u = x.values[2 * j] - 7.5, v = x.values[2 * j + 1];
        cr_assert(fabs(u * (1 - u)) < 1e-12 && fabs(v * (1 - v)) < 1e-12);
        corners += u + 2 * v;
    }
    cr_assert_float_eq(corners, 6, 1e-12, "all four corners");
    array_release(&x);
    read_array("c.csv", &x);
    cr_assert_eq(x.n_cols, 3);
    array_release(&x);
    json_decref(r);
}

Test(barycenter_tool, files_may_follow_one_option_or_each_have_its_own)
{
    const char *const lines[3] = {
        "--group-files a.csv b.csv points2.csv",
        "--group-files a.csv --group-files b.csv --group-files points2.csv",
        "--group-files=a.csv --group-files b.csv points2.csv"};
    double costs[3];
    write_text("points2.csv", "5,5\n6,7\n");
    for (int i = 0; i < 3; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "barycenter %s --support 2 --exact --out x.csv",
                       lines[i]);
        json_t *r = expect_json(line, 0);
        cr_assert_eq(number_of(r, "groups"), 3);
        costs[i] = number_of(r, "cost");
        json_decref(r);
    }
    cr_assert(costs[0] == costs[1] && costs[1] == costs[2]);
    expect_exit("barycenter a.csv --group-files b.csv --support 2 --exact --out x.csv", 2,
                "stands before --group-files");
    expect_exit(
        "barycenter --group-files a.csv --group-files x.csv --support 2 --exact --out x.csv", 2,
        "destroy");
}

Test(barycenter_tool, of_single_points_is_their_mean_with_either_plans)
{
    const char *const plans[2] = {"--exact", "--lambda 0.5"};
    for (int i = 0; i < 2; i++) {
        struct array x;
        char line[256];
        (void)snprintf(
            line, sizeof line,
            "barycenter --group-files one.csv two.csv --group-weights w.csv --support 3 %s "
            "--out x.csv --weights-out v.csv",
            plans[i]);
        json_t *r = expect_json(line, 0);
        cr_assert_float_eq(number_of(r, "cost"), 0.25 * 0.75 * 8, 1e-12);
        read_array("x.csv", &x);
        for (size_t j = 0; j < 3; j++) {
            cr_assert_float_eq(x.values[2 * j], 3.5, 1e-12);
            cr_assert_float_eq(x.values[2 * j + 1], 7.5, 1e-12);
        }
        array_release(&x);
        read_array("v.csv", &x);
        cr_assert(x.n_rows == 3 && x.values[0] == 1.0 / 3);
        array_release(&x);
        json_decref(r);
    }
}

Test(barycenter_tool, weights_in_the_last_column_are_those_of_the_points)
{
    json_t *r = expect_json("barycenter --group-files points.csv --weighted --support 2 --exact "
                            "--starts 9 --lower-bound none --out x.csv",
                            0);
    cr_assert_eq(number_of(r, "dim"), 2);
    cr_assert_float_eq(number_of(r, "cost"), 2, 1e-12);
    cr_assert_null(json_object_get(r, "lower_bound"));
    json_decref(r);
    r = expect_json(
        "barycenter --group-files points.csv --weighted --support 1 --exact --out x.csv", 0);
    cr_assert_float_eq(number_of(r, "cost"), number_of(r, "one_point_cost"), 1e-12);
    json_decref(r);
    write_text("half.csv", "0,0,1\n1,1,1\n");
    expect_exit("barycenter --group-files half.csv --weighted --support 1 --exact --out x.csv", 3,
                "sum to 2");
    expect_exit(
        "barycenter --group-files half.csv --weighted --normalize --support 1 --exact --out x.csv",
        0, "");
}

Test(barycenter_tool, three_methods_of_fixed_points_agree_and_the_weights_act)
{
    const char *const methods[5] = {
        "--group-files both.csv --grid 5 --cell 1",
        "--group-files left.csv right.csv --grid 5 --cell 1 --log-domain",
        "--group-files both.csv --cost line.csv",
        "--group-files both.csv --cost line.csv --log-domain",
        "--group-files at0.csv at4.csv --fixed places.csv"};
    double first[5] = {0};
    for (int i = 0; i < 5; i++) {
        struct array b;
        char line[256];
        double mean = 0, mass = 0;
        (void)snprintf(line, sizeof line,
                       "barycenter %s --group-weights w.csv --lambda 0.7 --out b.npy", methods[i]);
        json_t *r = expect_json(line, 0);
        cr_assert_eq(number_of(r, "support"), 5);
        cr_assert_leq(number_of(r, "lower_bound"), number_of(r, "cost") + 1e-9);
        cr_assert_leq(number_of(r, "cost"), number_of(r, "upper_bound") + 1e-9);
        cr_assert_float_eq(number_of(r, "value"), number_of(r, "dual"), 1e-6);
        read_array("b.npy", &b);
        cr_assert_eq(b.n_rows, 5);
        for (size_t j = 0; j < 5; j++) {
            first[j] = i == 0 ? b.values[j] : first[j];
            cr_assert_float_eq(b.values[j], first[j], 1e-10, "method %d", i);
            mass += b.values[j];
            mean += (double)j * b.values[j];
        }
        cr_assert_float_eq(mass, 1, 1e-15);
        cr_assert_float_eq(mean, 3, 0.3, "three quarters of the way: %g", mean);
        array_release(&b);
        json_decref(r);
    }
}

Test(barycenter_tool, fixed_points_are_those_that_the_metric_takes)
{
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        {"--group-files at0.csv --fixed places.csv --metric haversine",
         "--metric haversine does not take 1 coordinate"},
        {"--group-files a.csv --fixed b.csv --metric ring --ring-size 9",
         "--metric ring does not take 2 coordinates"},
        {"--group-files pole.csv --fixed a.csv --metric haversine",
         "--group-files pole.csv: row 1"},
        {"--group-files a.csv --fixed pole.csv --metric haversine", "--fixed pole.csv: row 1"},
        {"--group-files half.csv --fixed places.csv --metric ring --ring-size 9",
         "--group-files half.csv: row 1 is 0.5: ring positions are the integers 0 to 8"},
        {"--group-files at0.csv --fixed places.csv --metric ring --ring-size 4",
         "--fixed places.csv: row 5 is 4"},
    };
    write_text("pole.csv", "91,0\n");
    write_text("half.csv", "0.5\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "barycenter %s --lambda 1 --out x.csv", cases[i].line);
        expect_exit(line, 3, cases[i].sentence);
    }
    expect_exit(
        "barycenter --group-files at0.csv --fixed places.csv --metric ring --lambda 1 --out "
        "x.csv",
        2, "--ring-size K");
    struct process process;
    process_run(&process, "barycenter --group-files a.csv --fixed b.csv --metric cosine --lambda 1 "
                          "--out x.csv");
    cr_assert_eq(process.exit_code, 0, "%s", process.err);
    cr_assert(strstr(process.err, "--group-files a.csv: row 1 is a zero vector"), "%s",
              process.err);
    /* Positions 0 and 7 of a ring of 8 are neighbours. */
    write_text("at7.csv", "7\n");
    json_t *r =
        expect_json("barycenter --group-files at0.csv --fixed at7.csv --metric ring --ring-size 8 "
                    "--lambda 1 --out x.csv",
                    0);
    cr_assert_float_eq(number_of(r, "cost"), 1, 1e-12);
    json_decref(r);
}

Test(barycenter_tool, a_grid_of_two_axes_keeps_its_shape)
{
    struct array b;
    write_text("image.csv", "1,0,0\n0,0,0\n");
    json_t *r =
        expect_json("barycenter --group-files image.csv --grid 2x3 --lambda 0.01 --debiased "
                    "--out b.csv --trajectory-out c.csv",
                    0);
    read_array("b.csv", &b);
    cr_assert(b.n_rows == 2 && b.n_cols == 3);
    cr_assert_float_eq(b.values[0], 1, 1e-3);
    cr_assert(json_is_null(json_object_get(r, "dual")));
    array_release(&b);
    json_decref(r);
}

/* Four shapes in 32 x 32 cells: a disc, a ring, a cross and a rectangle. */
static void write_shapes(void)
{
    static char text[4 * 32 * 72];
    for (int shape = 0; shape < 4; shape++) {
        char name[32];
        size_t at = 0;
        for (int i = 0; i < 32; i++) {
            for (int j = 0; j < 32; j++) {
                const double y = i - 15.5, x = j - 15.5, square = x * x + y * y;
                const int is_in[] = {square <= 100, square >= 60 && square <= 160,
                                     fabs(x) < 3 || fabs(y) < 3,
                                     i >= 4 && i <= 12 && j >= 18 && j <= 28};
                at += (size_t)snprintf(text + at, sizeof text - at, "%d%c", is_in[shape],
                                       j < 31 ? ',' : '\n');
            }
        }
        (void)snprintf(name, sizeof name, "shape%d.csv", shape);
        write_text(name, text);
    }
}

Test(barycenter_tool, debiased_grids_converge_by_default_and_their_curve_ends_at_the_residual)
{
    const char *const given[] = {"--debiased --lambda 0.01", "--debiased --lambda 0.002",
                                 "--lambda 0.01", "--debiased --lambda 0.01 --outer 37"};
    write_shapes();
    for (size_t i = 0; i < 4; i++) {
        char arguments[256];
        struct array curve;
        (void)snprintf(arguments, sizeof arguments,
                       "barycenter --grid 32x32 --group shape0.csv shape1.csv shape2.csv "
                       "shape3.csv --normalize %s --curve c.csv --out b.csv",
                       given[i]);
        json_t *r = expect_json(arguments, 0);
        cr_assert_str_eq(text_of(r, "outcome"), i < 3 ? "converged" : "iteration_limit");
        read_array("c.csv", &curve);
        const double *last = curve.values + 2 * (curve.n_rows - 1);
        cr_assert_eq(last[0], number_of(r, "iterations"));
        cr_assert_eq(last[1], number_of(r, "residual"));
        array_release(&curve);
        json_decref(r);
    }
}

Test(barycenter_tool, iterations_that_end_first_are_exit_5_unless_they_were_asked_for)
{
    json_t *r = expect_json(
        "barycenter --group-files a.csv b.csv --support 2 --lambda 0.5 --max-iterations 1 "
        "--max-sweeps 10 --out x.csv",
        0);
    cr_assert_str_eq(text_of(r, "outcome"), "iteration_limit");
    cr_assert_eq(number_of(r, "iterations"), 1);
    json_decref(r);
    r = expect_json("barycenter --group-files a.csv b.csv --support 2 --lambda 0.5 "
                    "--max-iterations 1 --tol 1e-9 "
                    "--out x.csv",
                    5);
    json_decref(r);
    r = expect_json(
        "barycenter --group-files a.csv b.csv --support 3 --lambda 1e-9 --max-sweeps 3 --out x.csv",
        5);
    cr_assert_str_eq(text_of(r, "outcome"), "iteration_limit");
    json_decref(r);
}

Test(barycenter_tool, a_projection_reports_its_costs)
{
    json_t *r = expect_json("barycenter --group-files a.csv b.csv --support 2 --exact --project 1 "
                            "--seed 4 --out x.npy",
                            0);
    struct array x;
    cr_assert_eq(number_of(r, "projected_dim"), 1);
    cr_assert_leq(number_of(r, "cost"), number_of(r, "solution_cost") + 1e-12);
    cr_assert_float_eq(number_of(r, "one_point_cost"), 25.5, 1e-9);
    read_array("x.npy", &x);
    cr_assert_eq(x.n_cols, 2);
    array_release(&x);
    json_decref(r);
}

Test(barycenter_tool, optimised_weights_are_written_or_warned_about)
{
    struct array w;
    write_text("heaps.csv", "0\n0.1\n0.2\n9\n");
    json_t *r =
        expect_json("barycenter --group-files heaps.csv --support 2 --exact --optimize-weights "
                    "--starts 5 --out x.csv --weights-out v.csv",
                    0);
    read_array("v.csv", &w);
    cr_assert_float_eq(fmax(w.values[0], w.values[1]), 0.75, 1e-4);
    array_release(&w);
    json_decref(r);
    struct process process;
    process_run(
        &process,
        "barycenter --group-files heaps.csv --support 2 --exact --optimize-weights --out x.csv");
    cr_assert(strstr(process.err, "--weights-out F keeps them"), "%s", process.err);
}

Test(barycenter_tool, refuses_and_names_wrong_options_and_data)
{
    static const struct {
        const char *line;
        int exit_code;
        const char *sentence;
    } cases[] = {
        {"--support 2 --exact --out x.csv", 2, "--group-files is missing"},
        {"--group-files a.csv --exact --out x.csv", 2, "exactly one of"},
        {"--group-files a.csv --support 2 --grid 2x2 --exact --out x.csv", 2, "exactly one of"},
        {"--group-files a.csv --support 2 --out x.csv", 2, "neither --exact nor --lambda"},
        {"--group-files a.csv --support 2 --exact --lambda 1 --out x.csv", 2, "exclude each other"},
        {"--group-files a.csv --support 0 --exact --out x.csv", 2, "--support is 0"},
        {"--group-files a.csv --support 2 --lambda 0 --out x.csv", 2, "--lambda is 0"},
        {"--group-files a.csv --support 2 --exact", 2, "--out is missing"},
        {"--group-files a.csv --support 2 --exact --debiased --out x.csv", 2,
         "--debiased does not go"},
        {"--group-files a.csv --support 2 --exact --max-sweeps 3 --out x.csv", 2,
         "--max-sweeps does not go"},
        {"--group-files a.csv --support 2 --exact --lower-bound best --out x.csv", 2,
         "--lower-bound is best"},
        {"--group-files a.csv --support 2 --exact --project 3 --out x.csv", 3, "3 of 2"},
        {"--group-files both.csv --grid 5 --exact --out x.csv", 2, "linear program"},
        {"--group-files both.csv --grid 5x --lambda 1 --out x.csv", 2, "--grid is 5x"},
        {"--group-files both.csv --grid 2x3 --lambda 1 --out x.csv", 3, "histogram of 6 cells"},
        {"--group-files b.csv --grid 2x1 --lambda 1 --out x.csv", 3, "--normalize"},
        {"--group-files a.csv left.csv --support 2 --exact --out x.csv", 3, "they must agree"},
        {"--group-files a.csv --group-weights w.csv --support 2 --exact --out x.csv", 3,
         "2 weights for 1 group"},
        {"--group-files a.csv --support 2 --exact --init b.csv --out x.csv", 3,
         "--init b.csv is 4 x 2"},
        {"--group-files a.csv --support 2 --lambda 1e-200 --out x.csv", 3, "larger lambda"},
        {"--group-files both.csv --cost line.csv --lambda 1e-200 --out x.csv", 3, "larger lambda"},
        {"--group-files empty.csv --support 2 --exact --out x.csv", 3, "empty"},
        {"--group-files missing.csv --support 2 --exact --out x.csv", 6, "missing.csv"},
        {"--group-files heavy.csv left.csv --cost line.csv --group-weights heavy.csv --lambda 1 "
         "--out "
         "x.csv",
         3, "--group-files heavy.csv is 2 x 1"},
        {"--group-files a.csv b.csv --group-weights heavy.csv --support 2 --exact --out x.csv", 3,
         "--group-weights heavy.csv: the weights of row 1 sum to 4, not to 1: correct them or add "
         "--normalize"},
        {"--group-files at0.csv far.csv --fixed places.csv --lambda 1 --out x.csv", 3,
         "--group-files far.csv: the cost in row 1, column 1 is inf"},
    };
    write_text("empty.csv", "");
    write_text("heavy.csv", "1\n3\n");
    write_text("far.csv", "1e300\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "barycenter %s", cases[i].line);
        expect_exit(line, cases[i].exit_code, cases[i].sentence);
    }
    write_text("zero.csv", "0\n1\n");
    json_t *r =
        expect_json("barycenter --group-files a.csv b.csv --group-weights zero.csv --support 4 "
                    "--exact --starts 9 --out x.csv",
                    0);
    cr_assert_float_eq(number_of(r, "cost"), 0, 1e-12);
    json_decref(r);
}
