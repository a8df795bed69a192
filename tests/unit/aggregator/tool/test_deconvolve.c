/* dpot deconvolve: from files, from a simulated campaign, and what it refuses. */
#include "process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOX "{\"type\":\"box\",\"lo\":[-2,-2],\"hi\":[2,2]}"
#define NOISE "--mechanism laplace --scale 0.25 "

/* 400 reports around (1, -1), noise of quantiles of a Laplace law of scale 0.25. */
static void write_pool(void)
{
    FILE *file = NULL;
    folder_make();
    file = fopen(folder_path("pool.csv"), "w");
    cr_assert_not_null(file);
    for (int i = 0; i < 400; i++) {
        const double u = (i + 0.5) / 400, v = (i * 149 % 400 + 0.5) / 400;
        const double a = u < 0.5 ? log(2 * u) : -log(2 - 2 * u);
        const double b = v < 0.5 ? log(2 * v) : -log(2 - 2 * v);
        (void)fprintf(file, "%.12f,%.12f\n", 1 + 0.25 * a, -1 + 0.25 * b);
    }
    cr_assert_eq(fclose(file), 0);
    write_text("box.json", BOX);
}

TestSuite(deconvolve_tool, .init = write_pool, .fini = folder_remove);

static void read_array(const char *name, struct array *array)
{
    struct dpot_error error = {""};
    cr_assert_eq(array_read(folder_path(name), array, &error), DPOT_OK, "%s", error.text);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

Test(deconvolve_tool, finds_the_spike_under_the_noise)
{
    struct array points, weights;
    json_t *r = expect_json("deconvolve --pool pool.csv " NOISE "--domain box.json --support 6 "
                            "--out x.npy --weights-out w.csv --trajectory-out t.csv",
                            0);
    cr_assert_eq(number_of(r, "n"), 400);
    cr_assert_eq(number_of(r, "dim"), 2);
    cr_assert_eq(number_of(r, "support"), 6);
    cr_assert_eq(number_of(r, "beyond"), 0);
    cr_assert(json_is_true(json_object_get(r, "free")));
    cr_assert_str_eq(text_of(r, "outcome"), "converged");
    cr_assert_str_eq(text_of(r, "domain"), "option");
    cr_assert_geq(number_of(r, "iterations"), 50);
    read_array("x.npy", &points);
    read_array("w.csv", &weights);
    cr_assert(points.n_rows == 6 && points.n_cols == 2 && weights.n_rows == 6);
    double mean[2] = {0, 0}, spread = 0;
    for (size_t l = 0; l < 6; l++) {
        const double *x = points.values + 2 * l;
        mean[0] += weights.values[l] * x[0];
        mean[1] += weights.values[l] * x[1];
        spread += weights.values[l] * (pow(x[0] - 1, 2) + pow(x[1] + 1, 2));
    }
    /* Noise alone has a spread of 4 b^2 = 0.25. */
    cr_assert_float_eq(mean[0], 1, 0.02);
    cr_assert_float_eq(mean[1], -1, 0.02);
    cr_assert_lt(spread, 0.05);
    array_release(&points);
    array_release(&weights);
    read_array("t.csv", &points);
    cr_assert_eq(points.n_rows, (size_t)number_of(r, "iterations") + 1);
    cr_assert_float_eq(points.values[2 * points.n_rows - 1], number_of(r, "log_likelihood"), 1e-6);
    array_release(&points);
    json_t *side = json_load_file(folder_path("x.npy.json"), 0, NULL);
    cr_assert_eq(number_of(side, "log_likelihood"), number_of(r, "log_likelihood"));
    json_decref(side);
    json_decref(r);
}

Test(deconvolve_tool, weighs_the_cells_of_a_grid_inside_the_domain)
{
    struct array points, samples;
    write_text("disc.json", "{\"type\":\"l2_ball\",\"radius\":2,\"dim\":2}");
    json_t *r =
        expect_json("deconvolve --pool pool.csv " NOISE "--domain disc.json --grid 8x8 "
                    "--iterations 60 --seed 3 --n-samples 50 --samples-out s.csv --out x.csv "
                    "--weights-out w.csv",
                    0);
    read_array("x.csv", &points);
    cr_assert_eq(points.n_rows, (size_t)number_of(r, "support"));
    cr_assert(points.n_rows > 45 && points.n_rows < 56);
    cr_assert_eq(number_of(r, "iterations"), 60);
    for (size_t l = 0; l < points.n_rows; l++) {
        cr_assert_leq(hypot(points.values[2 * l], points.values[2 * l + 1]), 2);
        cr_assert_eq(fmod(points.values[2 * l] + 10.25, 0.5), 0);
    }
    read_array("s.csv", &samples);
    cr_assert(samples.n_rows == 50 && samples.n_cols == 2);
    array_release(&points);
    array_release(&samples);
    json_decref(r);
}

Test(deconvolve_tool, the_side_file_replaces_options)
{
    write_text("pool.csv.json",
               "{\"campaign_hash\":\"ab12\",\"mechanism\":\"laplace\",\"scale\":0.25,\"n\":400,"
               "\"is_ready\":true,\"domain\":{\"type\":\"box\",\"lo\":-2,\"hi\":2,\"dim\":2}}");
    json_t *r = expect_json(
        "deconvolve --pool pool.csv --support 3 --out x.csv --weights-out w.csv --threads 2", 0);
    cr_assert_str_eq(text_of(r, "noise"), "laplace");
    cr_assert_eq(number_of(r, "noise_scale"), 0.25);
    cr_assert_str_eq(text_of(r, "domain"), "campaign");
    cr_assert_str_eq(text_of(r, "campaign_hash"), "ab12");
    json_decref(r);
    const char *const same =
        "deconvolve --pool pool.csv --mechanism laplace --scale 0.25 --support "
        "3 --out x.csv --weights-out w.csv";
    expect_exit(same, 0, "");
    expect_exit("deconvolve --pool pool.csv --mechanism gaussian --support 3 --out x.csv", 3,
                "says laplace");
    expect_exit("deconvolve --pool pool.csv --scale 0.26 --support 3 --out x.csv", 3, "says 0.25");
    write_text("line.json", "{\"type\":\"box\",\"lo\":[0],\"hi\":[1]}");
    expect_exit("deconvolve --pool pool.csv --domain line.json --support 3 --out x.csv", 3,
                "the domain has 1 coordinate");
}

static void expect_side_refused(const char *side, int exit_code, const char *sentence)
{
    write_text("pool.csv.json", side);
    expect_exit("deconvolve --pool pool.csv --domain box.json --support 3 --out x.csv", exit_code,
                sentence);
}

Test(deconvolve_tool, side_files_of_other_pools_are_refused)
{
    expect_side_refused("{\"mechanism\":\"wpm\",\"scale\":null,\"n\":400}", 3, "dpot estimate");
    expect_side_refused("{\"mechanism\":\"laplace\",\"scale\":0.25,\"n\":399}", 3, "says 399");
    expect_side_refused("{\"mechanism\":\"laplace\",\"scale\":-1,\"n\":400}", 3, "scale");
    expect_side_refused("{\"mechanism\":\"laplace\",\"n\":400}", 2, "--scale is missing");
    expect_side_refused("{\"mechanism\":\"laplace\",\"scale\":0.25,\"grid_step\":1}", 3,
                        "grid_step");
    expect_side_refused("{\"mechanism\":\"laplace\",\"scale\":0.25,\"n\":400,\"is_ready\":false}",
                        7, "min_pool");
    expect_side_refused("{\"mechanism\":\"laplace\",\"scale\":0.25,\"space\":\"data\","
                        "\"transform\":{\"type\":\"dct\"}}",
                        3, "--coefficients");
    expect_side_refused("[1]", 3, "no JSON object");
    expect_side_refused("{", 3, "pool.csv.json");
}

Test(deconvolve_tool, side_files_that_are_damaged_are_refused_by_key)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"{\"mechanism\":3,\"scale\":0.25}", "pool.csv.json: mechanism is 3: give a text"},
        {"{\"mechanism\":\"soup\",\"scale\":0.25}", "soup, which is not known"},
        {"{\"mechanism\":\"wpm\",\"scale\":null}", "use dpot estimate"},
        {"{\"mechanism\":\"laplace\",\"scale\":\"b\"}", "pool.csv.json: scale is \"b\""},
        {"{\"mechanism\":\"laplace\",\"scale\":-1}", "pool.csv.json: scale is -1"},
        {"{\"mechanism\":\"laplace\",\"scale\":0.25,\"n\":\"x\"}", "pool.csv.json: n is \"x\""},
        {"{\"mechanism\":\"laplace\",\"scale\":0.25,\"dim\":3}",
         "has 2 columns, and pool.csv.json says 3"},
        {"{\"mechanism\":\"laplace\",\"scale\":0.25,\"domain\":{\"type\":\"torus\"}}",
         "pool.csv.json: domain.type is \"torus\""},
        {"{\"mechanism\":\"laplace\",\"scale\":0.25,\"domain\":3}", "domain must be an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text("pool.csv.json", cases[i].text);
        expect_exit("deconvolve --pool pool.csv --support 2 --out x.csv", 3, cases[i].sentence);
    }
    write_text("pool.csv.json", "{}");
    expect_exit("deconvolve --pool pool.csv --support 2 --out x.csv", 2,
                "--mechanism is missing and pool.csv.json does not state it");
    write_text("pool.csv.json", "{\"mechanism\":\"laplace\"}");
    expect_exit("deconvolve --pool pool.csv --support 2 --out x.csv", 2,
                "--scale is missing and pool.csv.json does not state it");
    expect_exit("deconvolve --pool none.csv --support 2 --out x.csv", 6, "reading none.csv failed");
}

Test(deconvolve_tool, without_a_domain_the_pool_bounds_it_and_a_warning_says_so)
{
    struct process p;
    process_run(&p, "deconvolve --pool pool.csv " NOISE "--support 3 --out x.csv --json");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "no domain is known"));
    cr_assert_not_null(strstr(p.err, "--weights-out F keeps them"));
    cr_assert_not_null(strstr(p.out, "\"domain\":\"pool\""));
}

Test(deconvolve_tool, pools_out_of_reach_warn_and_those_of_one_report_or_one_place_do_not_fail)
{
    struct process p;
    write_text("far.json", "{\"type\":\"box\",\"lo\":[50,50],\"hi\":[51,51]}");
    process_run(&p, "deconvolve --pool pool.csv " NOISE "--domain far.json --support 3 --out x.csv "
                    "--weights-out w.csv");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "100 % of the reports are farther outside"));
    write_text("one.csv", "0.5,0.5\n");
    expect_exit("deconvolve --pool one.csv " NOISE "--support 3 --out x.csv", 0, "");
    expect_exit("deconvolve --pool one.csv " NOISE "--domain box.json --grid 3x3 --out x.csv", 0,
                "");
    write_text("same.csv", "1,2\n1,2\n1,2\n");
    expect_exit("deconvolve --pool same.csv " NOISE "--support 2 --out x.csv", 0, "");
}

Test(deconvolve_tool, pools_too_wide_for_their_noise_are_refused_and_give_no_nan)
{
    write_text("wide.csv", "1e300,-1e300\n-2e300,1\n3,2e300\n");
    expect_exit("deconvolve --pool wide.csv --mechanism gaussian --scale 1 --support 4 --out x.csv "
                "--weights-out w.csv",
                3, "are domain and scale those of this pool?");
    cr_assert_neq(access(folder_path("w.csv"), F_OK), 0);
}

Test(deconvolve_tool, a_stopped_run_writes_its_result_and_reports_the_stop)
{
    json_t *r = expect_json("deconvolve --pool pool.csv " NOISE "--domain box.json --grid 30x30 "
                            "--max-iterations 2 --out x.csv --weights-out w.csv",
                            5);
    cr_assert_str_eq(text_of(r, "outcome"), "iteration_limit");
    cr_assert_eq(number_of(r, "iterations"), 2);
    json_decref(r);
}

Test(deconvolve_tool, wrong_calls_are_refused)
{
    static const struct {
        const char *arguments;
        int exit_code;
        const char *sentence;
    } calls[] = {
        {"--out x.csv --support 3 --mechanism laplace --scale 1", 2, "--pool is missing"},
        {"--pool pool.csv --support 3 --mechanism laplace --scale 1", 2, "--out is missing"},
        {"--pool pool.csv --out x.csv --mechanism laplace --scale 1", 2, "--support"},
        {"--pool pool.csv --out x.csv --support 3 --grid 3x3 " NOISE, 2, "--grid"},
        {"--pool pool.csv --out x.csv --support 0 " NOISE, 2, "--support is 0"},
        {"--pool pool.csv --out x.csv --support 1000000 " NOISE, 2, "--support is 1000000"},
        {"--pool pool.csv --out x.csv --support 3 --free " NOISE, 2, "--free"},
        {"--pool pool.csv --out x.csv --grid 3 " NOISE, 2, "has 1 sizes"},
        {"--pool pool.csv --out x.csv --grid 3x " NOISE, 2, "--grid is 3x"},
        {"--pool pool.csv --out x.csv --grid 0x3 " NOISE, 2, "--grid is 0x3"},
        {"--pool pool.csv --out x.csv --grid -3x3 " NOISE, 2, "--grid"},
        {"--pool pool.csv --out x.csv --grid 1000x1000 " NOISE, 2, "--grid is 1000x1000"},
        {"--pool pool.csv --out x.csv --grid 99999999999999999999x1 " NOISE, 2, "--grid is 999"},
        {"--pool pool.csv --out x.csv --support 3", 2, "--mechanism is missing"},
        {"--pool pool.csv --out x.csv --support 3 --mechanism wpm --scale 1", 2, "choose laplace"},
        {"--pool pool.csv --out x.csv --support 3 --mechanism laplace", 2, "--scale is missing"},
        {"--pool pool.csv --out x.csv --support 3 --mechanism laplace --scale 0", 2,
         "--scale is 0"},
        {"--pool pool.csv --out x.csv --support 3 --mechanism laplace --scale -1", 2, "--scale is"},
        {"--pool pool.csv --out x.csv --support 3 --mechanism laplace --scale nan", 2,
         "--scale is"},
        {"--pool pool.csv --out x.csv --support 3 --iterations 5 --tol 1 " NOISE, 2, "--tol"},
        {"--pool pool.csv --out x.csv --support 3 --samples 5 " NOISE, 2, "--samples-out"},
        {"--pool none.csv --out x.csv --support 3 " NOISE, 6, "none.csv"},
        {"--pool nan.csv --out x.csv --support 3 " NOISE, 3, "is nan"},
    };
    char text[300];
    write_text("nan.csv", "1,2\nnan,3\n");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        (void)snprintf(text, sizeof text, "deconvolve %s", calls[i].arguments);
        expect_exit(text, calls[i].exit_code, calls[i].sentence);
    }
}

/* The whole way: devices quantise, add integer noise, report; the pool is exported with its side
 * file. */
Test(deconvolve_tool, deconvolves_the_pool_of_a_simulated_campaign)
{
    FILE *rows = fopen(folder_path("rows.csv"), "w");
    struct array points, weights;
    cr_assert_not_null(rows);
    for (int i = 0; i < 2000; i++) {
        (void)fprintf(rows, "%d,%s\n", i, i % 4 == 0 ? "-0.5,0.5" : "0.5,-0.5");
    }
    cr_assert_eq(fclose(rows), 0);
    write_text("spec.json",
               "{\"name\":\"points\",\"domain\":{\"type\":\"box\",\"lo\":[-1,-1],\"hi\":[1,1]},"
               "\"metric\":\"euclidean\",\"power\":1,\"mechanism\":{\"type\":\"laplace\","
               "\"epsilon\":10},\"rounds\":1,\"opens\":\"2020-12-01T00:00:00Z\","
               "\"closes\":\"2099-12-08T00:00:00Z\",\"min_pool\":100,\"simulation\":true}");
    expect_exit(
        "simulate --campaign spec.json --data rows.csv --devices 2000 --in-process --seed 1 "
        "--out run --quiet",
        0, "");
    json_t *side = json_load_file(folder_path("run/pool.npy.json"), 0, NULL);
    cr_assert_gt(number_of(side, "grid_step"), 0);
    cr_assert_str_eq(text_of(json_object_get(side, "domain"), "type"), "box");
    json_decref(side);
    json_t *r = expect_json("deconvolve --pool run/pool.npy --support 12 --out x.csv "
                            "--weights-out w.csv",
                            0);
    cr_assert_eq(number_of(r, "n"), 2000);
    cr_assert_str_eq(text_of(r, "domain"), "campaign");
    cr_assert_gt(number_of(r, "cells"), 0);
    json_decref(r);
    read_array("x.csv", &points);
    read_array("w.csv", &weights);
    double left = 0, distance = 0;
    for (size_t l = 0; l < points.n_rows; l++) {
        const double *x = points.values + 2 * l, side_of = x[0] < x[1] ? -1 : 1;
        left += x[0] < x[1] ? weights.values[l] : 0;
        distance += weights.values[l] * hypot(x[0] - 0.5 * side_of, x[1] + 0.5 * side_of);
    }
    /* Noise of scale 0.4 moves a report by 0.7 on average. */
    cr_assert_float_eq(left, 0.25, 0.04);
    cr_assert_lt(distance, 0.2);
    array_release(&points);
    array_release(&weights);
}

Test(deconvolve_tool, a_scale_out_of_range_is_a_wrong_option)
{
    expect_exit(
        "deconvolve --pool pool.csv --mechanism laplace --scale 1e-300 --support 3 --out x.csv", 2,
        "--scale is 1e-300: give a number from 1e-100 to 1e100");
}
