/* dpot central coreset: results, output and refusals. */
#include "../tool/process.h"
#include "unit/files/folder.h"

#include "central/polygon.h"
#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BOX "--domain {\"type\":\"box\",\"lo\":[0,0],\"hi\":[10,10]} "
#define RUN "central coreset --data data.csv --epsilon 2 "
#define NAMED RUN "--columns x,y --count-column people "

/* 300 rows around (2, 7), with people and a county. */
static void write_data(void)
{
    folder_make();
    FILE *file = fopen(folder_path("data.csv"), "w");
    FILE *plain = fopen(folder_path("plain.csv"), "w");
    cr_assert(file && plain);
    (void)fputs("id,people,y,x,county\n", file);
    for (int i = 0; i < 300; i++) {
        const double x = 2 + 1.5 * sin(i * 0.7), y = 7 + 1.5 * cos(i * 1.3);
        (void)fprintf(file, "%d,%d,%.9g,%.9g,%d\n", i, 1 + i % 3, y, x, 5 * (i % 2));
        (void)fprintf(plain, "%.9g,%.9g\n", x, y);
    }
    cr_assert(fclose(file) == 0 && fclose(plain) == 0);
    write_text("border.csv", "ring,vertex,x,y\n0,0,0,0\n0,1,10,0\n0,2,0,10\n1,0,1,1\n1,1,2,1\n"
                             "1,2,1,2\n");
}

TestSuite(coreset_tool, .init = write_data, .fini = folder_remove);

static void read_array(const char *name, struct array *array)
{
    struct dpot_error error = {""};
    cr_assert_eq(array_read(folder_path(name), array, &error), DPOT_OK, "%s", error.text);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

Test(coreset_tool, writes_as_many_points_as_there_are_records)
{
    struct array points;
    json_t *r = expect_json("central coreset --data plain.csv " BOX "--epsilon 2 --out p.csv", 0);
    read_array("p.csv", &points);
    cr_assert(points.n_rows == 300 && points.n_cols == 2);
    for (size_t i = 0; i < 300; i++) {
        const double *p = points.values + 2 * i;
        cr_assert(p[0] >= 0 && p[0] <= 10 && p[1] >= 0 && p[1] <= 10);
    }
    cr_assert_str_eq(text_of(r, "mechanism"), "private-measure");
    cr_assert_str_eq(text_of(r, "adjacency"), "replace-one");
    cr_assert(strstr(text_of(r, "guarantee"), "epsilon-DP"));
    cr_assert_eq(number_of(r, "epsilon"), 2);
    cr_assert_eq(number_of(r, "delta"), 0);
    cr_assert_leq(number_of(r, "epsilon_spent"), 2);
    cr_assert_gt(number_of(r, "epsilon_spent"), 2 - 1e-9);
    cr_assert_eq(number_of(r, "n"), 300);
    cr_assert_eq(number_of(r, "depth"), 10, "log2(600) rounded up");
    cr_assert_eq(json_array_size(json_object_get(r, "levels")), 10);
    cr_assert(json_is_false(json_object_get(r, "is_simulation")));
    json_t *side = json_load_file(folder_path("p.csv.json"), 0, NULL);
    cr_assert(json_equal(side, r), "the side file says what --json says");
    json_decref(side);
    json_decref(r);
    array_release(&points);
}

/* Seeded: with real randomness no bound holds every time. */
Test(coreset_tool, the_points_are_where_the_records_are)
{
    struct array points;
    size_t n_near = 0;
    json_decref(expect_json("central coreset --data plain.csv " BOX
                            "--epsilon 2 --simulation --seed 1 --out p.csv",
                            0));
    read_array("p.csv", &points);
    for (size_t i = 0; i < points.n_rows; i++) {
        const double *p = points.values + 2 * i;
        n_near += fabs(p[0] - 2) < 2.5 && fabs(p[1] - 7) < 2.5;
    }
    /* A uniform measure would have 67 of 300 there. */
    cr_assert_gt(n_near, 200, "%zu", n_near);
    array_release(&points);
}

Test(coreset_tool, columns_have_names_and_rows_have_counts)
{
    struct array points, weights;
    char header[32] = "";
    json_t *r = expect_json(NAMED BOX "--weights-out w.csv --out p.csv", 0);
    cr_assert_eq(number_of(r, "n"), 600);
    read_array("p.csv", &points);
    read_array("w.csv", &weights);
    cr_assert_eq(points.n_rows, weights.n_rows);
    cr_assert_eq((double)points.n_rows, number_of(r, "cells"));
    double sum = 0;
    for (size_t l = 0; l < weights.n_rows; l++) {
        sum += weights.values[l];
    }
    cr_assert_float_eq(sum, 1, 1e-12);
    FILE *file = fopen(folder_path("p.csv"), "r");
    cr_assert(file && fgets(header, sizeof header, file));
    cr_assert_str_eq(header, "x,y\n");
    (void)fclose(file);
    array_release(&points);
    array_release(&weights);
    json_decref(r);
}

Test(coreset_tool, standard_input_has_columns_by_number_and_by_name)
{
    write_text("stdin", "people,x,y\n2,1,1\n3,2,5\n");
    json_t *r = expect_json("central coreset --data - --epsilon 1 " BOX
                            "--columns 1,2 --count-column 0 --header --out p.csv",
                            0);
    cr_assert_eq(number_of(r, "n"), 5);
    json_decref(r);
    r = expect_json("central coreset --data - --epsilon 1 " BOX
                    "--columns x,y --count-column people --out p.csv",
                    0);
    cr_assert_eq(number_of(r, "n"), 5);
    json_decref(r);
}

Test(coreset_tool, each_group_has_a_measure_for_one_epsilon)
{
    struct array points;
    json_t *r = expect_json(NAMED BOX "--group-column county --out p.npy", 0);
    const json_t *groups = json_object_get(r, "groups");
    cr_assert_eq(json_array_size(groups), 2);
    read_array("p.npy", &points);
    cr_assert(points.n_rows == 600 && points.n_cols == 3);
    double n[2] = {0, 0};
    for (size_t i = 0; i < 600; i++) {
        const double *row = points.values + 3 * i;
        cr_assert(row[0] == 0 || row[0] == 5);
        cr_assert(row[1] >= 0 && row[1] <= 10 && row[2] >= 0 && row[2] <= 10);
        n[row[0] == 5]++;
    }
    for (size_t g = 0; g < 2; g++) {
        cr_assert_eq(n[g], number_of(json_array_get(groups, g), "n"));
    }
    cr_assert_leq(number_of(r, "epsilon_spent"), 2, "not twice");
    cr_assert(strstr(text_of(r, "composition"), "parallel"));
    array_release(&points);
    json_decref(r);
}

Test(coreset_tool, points_lie_within_the_border_whose_box_is_the_domain)
{
    /* A triangle with a hole; its columns are identified by the names of the coordinates. */
    static const double vertices[] = {0, 0, 10, 0, 0, 10, 1, 1, 2, 1, 1, 2};
    static const double rings[] = {0, 0, 0, 1, 1, 1};
    struct polygon border;
    struct array points;
    cr_assert_eq(polygon_init(&border, vertices, rings, 6, NULL), DPOT_OK);
    json_t *r = expect_json(NAMED "--border border.csv --n-samples 1000 --out p.npy", 0);
    cr_assert(json_is_true(json_object_get(r, "has_border")));
    cr_assert_eq(json_number_value(json_array_get(json_object_get(r, "hi"), 0)), 10);
    read_array("p.npy", &points);
    cr_assert_eq(points.n_rows, 1000);
    for (size_t i = 0; i < 1000; i++) {
        cr_assert(polygon_holds(&border, points.values + 2 * i));
    }
    array_release(&points);
    json_decref(r);
    r = expect_json("central coreset --data plain.csv --epsilon 1 --border border.csv "
                    "--border-columns 2,y --shrink 0.5 --out p.npy",
                    0);
    json_decref(r);
    polygon_release(&border);
}

Test(coreset_tool, add_remove_keeps_the_number_of_records_private)
{
    struct array points;
    json_t *r = expect_json(NAMED BOX "--adjacency add-remove --depth 6 --out p.csv", 0);
    cr_assert_null(json_object_get(r, "n"));
    cr_assert_str_eq(text_of(r, "adjacency"), "add-remove");
    cr_assert_eq(json_array_size(json_object_get(r, "levels")), 7, "the root is counted too");
    read_array("p.csv", &points);
    cr_assert_eq((double)points.n_rows, number_of(r, "private_n"));
    cr_assert_leq(number_of(r, "epsilon_spent"), 2);
    array_release(&points);
    json_decref(r);
    expect_exit(NAMED BOX "--adjacency add-remove --out p.csv", 2, "--depth");
    expect_exit(NAMED BOX "--adjacency add-remove --depth 4 --group-column county --out p.csv", 2,
                "--group-column");
}

Test(coreset_tool, the_number_of_clamped_records_is_reported_in_simulations_only)
{
    struct process process;
    write_text("data.csv", "x,y\n1,1\n2,2\n11,5\n-1,99\n");
    process_run(&process, RUN BOX "--header --json --out p.csv");
    cr_assert_eq(process.exit_code, 0, "%s", process.err);
    cr_assert_str_empty(process.err);
    cr_assert_null(strstr(process.out, "outside"));
    cr_assert_null(strstr(process.out, "seconds"), "time depends on the data");
    process_run(&process, RUN BOX "--header --json --simulation --out p.csv");
    cr_assert(strstr(process.err, "2 records outside"), "%s", process.err);
    cr_assert(strstr(process.err, "private"), "%s", process.err);
    cr_assert_null(strstr(process.out, "outside"));
}

Test(coreset_tool, a_seed_is_for_simulations_only_and_they_have_no_guarantee)
{
    struct array a, b;
    expect_exit(NAMED BOX "--seed 1 --out p.csv", 4, "--simulation");
    json_t *r = expect_json(NAMED BOX "--seed 1 --simulation --out a.npy", 0);
    cr_assert(strstr(text_of(r, "guarantee"), "none"));
    cr_assert(json_is_true(json_object_get(r, "is_simulation")));
    json_decref(r);
    r = expect_json(NAMED BOX "--seed 1 --simulation --out b.npy", 0);
    json_decref(r);
    read_array("a.npy", &a);
    read_array("b.npy", &b);
    cr_assert_eq(a.n_rows, b.n_rows);
    cr_assert_eq(memcmp(a.values, b.values, 2 * a.n_rows * sizeof *a.values), 0);
    array_release(&a);
    array_release(&b);
    expect_exit(NAMED BOX "--out p.csv --epsilon 2 --epsilon 3", 2, "");
}

Test(coreset_tool, two_runs_on_real_data_are_never_the_same)
{
    struct array a, b;
    json_t *r = expect_json(NAMED BOX "--out a.npy", 0);
    json_decref(r);
    r = expect_json(NAMED BOX "--out b.npy", 0);
    json_decref(r);
    read_array("a.npy", &a);
    read_array("b.npy", &b);
    cr_assert(memcmp(a.values, b.values, 2 * a.n_rows * sizeof *a.values) != 0);
    array_release(&a);
    array_release(&b);
}

Test(coreset_tool, an_epsilon_that_protects_nobody_is_refused)
{
    expect_exit("central coreset --data plain.csv " BOX "--epsilon 20.5 --out p.csv", 4,
                "--epsilon");
    expect_exit("central coreset --data plain.csv " BOX "--epsilon 0 --out p.csv", 2, "--epsilon");
    expect_exit("central coreset --data plain.csv " BOX "--epsilon 1e-11 --depth 9 --out p.csv", 2,
                "epsilon");
    json_t *r = expect_json(
        "central coreset --data plain.csv " BOX "--epsilon 50 --simulation --out p.csv", 0);
    json_decref(r);
    /* Hardly any information is left, but the measure has its full mass. */
    r = expect_json("central coreset --data plain.csv " BOX "--epsilon 0.0001 --out p.csv", 0);
    cr_assert_eq(number_of(r, "n"), 300);
    cr_assert_eq(number_of(r, "depth"), 1);
    json_decref(r);
}

Test(coreset_tool, amplification_comes_with_its_assumptions_and_on_request)
{
    json_t *r = expect_json(NAMED BOX "--population 6000 --out p.csv", 0);
    const json_t *amplified = json_object_get(r, "amplified");
    cr_assert_eq(number_of(r, "epsilon"), 2, "the sample's own epsilon stays");
    cr_assert_float_eq(number_of(amplified, "epsilon"), log1p(0.1 * expm1(2)), 1e-9);
    cr_assert_eq(json_array_size(json_object_get(amplified, "assumptions")), 3);
    json_decref(r);
    r = expect_json(NAMED BOX "--out p.csv", 0);
    cr_assert_null(json_object_get(r, "amplified"));
    json_decref(r);
    r = expect_json(NAMED BOX "--adjacency add-remove --depth 5 --sampling-rate 0.25 --out p.csv",
                    0);
    cr_assert_float_eq(number_of(json_object_get(r, "amplified"), "epsilon"),
                       log1p(0.25 * expm1(2)), 1e-9);
    json_decref(r);
    expect_exit(NAMED BOX "--population 599 --out p.csv", 3, "--population");
    expect_exit(NAMED BOX "--sampling-rate 0.5 --out p.csv", 2, "--sampling-rate");
    expect_exit(NAMED BOX "--population 9999 --group-column county --out p.csv", 2, "--population");
    expect_exit(NAMED BOX "--adjacency add-remove --depth 3 --population 900 --out p.csv", 2,
                "--sampling-rate");
}

Test(coreset_tool, one_record_and_duplicates_are_valid_data)
{
    struct array points;
    write_text("data.csv", "3,3\n");
    json_t *r = expect_json(RUN BOX "--out p.csv", 0);
    read_array("p.csv", &points);
    cr_assert_eq(points.n_rows, 1);
    array_release(&points);
    json_decref(r);
    write_text("data.csv", "3\n3\n3\n3\n");
    r = expect_json(RUN "--domain {\"type\":\"box\",\"lo\":[0],\"hi\":[8]} --out p.csv", 0);
    read_array("p.csv", &points);
    cr_assert(points.n_rows == 4 && points.is_vector);
    array_release(&points);
    json_decref(r);
}

Test(coreset_tool, only_what_is_public_of_the_data_is_refused)
{
    write_text("data.csv", "");
    expect_exit(RUN BOX "--out p.csv", 3, "--data");
    write_text("data.csv", "1,2,0\n3,4,0\n");
    expect_exit(RUN BOX "--count-column 2 --out p.csv", 3, "no records");
    write_text("data.csv", "1,2,north\n3,4,1\n");
    expect_exit(RUN BOX "--group-column 2 --out p.csv", 3, "group of row 1");
    write_text("data.csv", "1,2,100000000\n3,4,100000000\n");
    expect_exit(RUN BOX "--count-column 2 --out p.csv", 3, "--n-samples");
}

/* The number of records: what is no count is 0, a fraction is cut. */
Test(coreset_tool, counts_are_read_as_weights_on_the_device)
{
    write_text("data.csv", "1,2,3\n3,4,-1\n5,6,2.75\n7,8,many\n9,9,nan\n1,1,inf\n");
    json_t *r = expect_json(RUN BOX "--count-column 2 --samples 3 --out p.csv", 0);
    cr_assert_eq(number_of(r, "n"), 5 + 4294967296.0);
    json_decref(r);
}

Test(coreset_tool, the_first_line_is_written_only_where_it_is_declared_to_hold_names)
{
    static const char *const declared[] = {"--columns ada,lovelace", "--header"};
    char text[64] = {0};
    write_text("data.csv", "ada,lovelace\n1,2\n3,4\n");
    json_decref(expect_json(RUN BOX "--out p.csv", 0));
    (void)folder_read("p.csv", text, sizeof text - 1);
    cr_assert_null(strstr(text, "ada"), "%s", text);
    for (size_t i = 0; i < 2; i++) {
        char line[512];
        (void)snprintf(line, sizeof line, RUN BOX "%s --out p.csv", declared[i]);
        json_decref(expect_json(line, 0));
        (void)folder_read("p.csv", text, sizeof text - 1);
        cr_assert_eq(strncmp(text, "ada,lovelace\n", 13), 0, "%s", text);
    }
}

Test(coreset_tool, bad_columns_are_refused_by_name)
{
    expect_exit(RUN BOX "--columns x,z --out p.csv", 2, "no column z");
    expect_exit(RUN BOX "--columns x,9 --out p.csv", 2, "no column 9");
    expect_exit(RUN BOX "--columns x,3 --out p.csv", 2, "twice");
    expect_exit(RUN BOX "--columns x,, --out p.csv", 2, "no column");
    expect_exit(RUN BOX "--columns x,people --count-column people --out p.csv", 2, "--columns");
    expect_exit(RUN BOX "--columns x,y --count-column id --group-column id --out p.csv", 2, "same");
    expect_exit(RUN BOX "--out p.csv", 3, "they must agree");
}

Test(coreset_tool, bad_regions_are_refused)
{
    expect_exit(NAMED "--out p.csv", 2, "must not come from the data");
    expect_exit(NAMED "--domain {\"type\":\"l2_ball\",\"radius\":1,\"dim\":2} --out p.csv", 3,
                "box");
    expect_exit(NAMED "--domain {\"type\":\"box\",\"lo\":[0,9],\"hi\":[1,8]} --out p.csv", 3, "");
    expect_exit(RUN "--columns x --border border.csv --out p.csv", 2, "plane");
    expect_exit(NAMED BOX "--border-columns x,y --out p.csv", 2, "without --border");
    expect_exit(NAMED "--border border.csv --border-columns x --out p.csv", 2,
                "two different columns");
    expect_exit(NAMED "--border border.csv --border-columns x,x --out p.csv", 2,
                "two different columns");
    write_text("twice.csv", "x,y,x\n0,0,0\n9,0,0\n0,9,0\n");
    expect_exit(NAMED "--border twice.csv --border-columns x,y --out p.csv", 2,
                "--border-columns: columns 0 and 2 of --border are both named x: choose by number");
    write_text("rings.csv", "x,y,ring,ring\n0,0,0,0\n9,0,0,0\n0,9,0,0\n");
    expect_exit(NAMED "--border rings.csv --out p.csv", 2, "2 columns named ring");
    expect_exit("central coreset --data plain.csv --epsilon 1 --border border.csv --out p.csv", 2,
                "--border-columns");
    expect_exit(NAMED
                "--border border.csv --domain {\"type\":\"box\",\"lo\":[20,20],\"hi\":[30,30]} "
                "--out p.csv",
                3, "outside");
    write_text("border.csv", "x,y\n0,0\n1,0\n1,1\n0,0\n1,0\n1,1\n");
    expect_exit(NAMED "--border border.csv --out p.csv", 3, "no inside");
    write_text("border.csv", "x,y\n0,0\n1,1\n2,2\n");
    expect_exit(NAMED "--border border.csv --out p.csv", 3, "area");
}

Test(coreset_tool, bad_options_are_refused)
{
    expect_exit(NAMED BOX "--depth 49 --out p.csv", 2, "--depth");
    expect_exit(NAMED BOX "--depth 0 --out p.csv", 2, "--depth");
    expect_exit("central coreset --data plain.csv --epsilon 1e-300 " BOX "--out p.csv", 2,
                "larger epsilon");
    expect_exit(NAMED BOX "--shrink 1.5 --out p.csv", 2, "--shrink");
    expect_exit(NAMED BOX "--adjacency both --out p.csv", 2, "--adjacency");
    expect_exit(NAMED BOX "--n-samples 5 --weights-out w.csv --out p.csv", 2, "--n-samples");
    expect_exit(NAMED BOX, 2, "--out");
    expect_exit(NAMED BOX "--out data.csv", 2, "data.csv");
}
