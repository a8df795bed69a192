/* dpot central barycenter: results, output and refusals. */
#include "../tool/process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BOX "--domain {\"type\":\"box\",\"lo\":[0,0],\"hi\":[10,10]} "
#define RUN "central barycenter --data data.csv --columns x,y --count-column people "
#define FOUR RUN BOX "--epsilon 4 --support 4 "

/* Two counties, each with people around four places; those of the second are further right. */
static void write_data(void)
{
    folder_make();
    FILE *file = fopen(folder_path("data.csv"), "w");
    cr_assert(file);
    (void)fputs("people,x,y,county\n", file);
    for (int i = 0; i < 400; i++) {
        const int county = i % 2, place = i / 2 % 4;
        const double x = 2 + 4 * (place % 2) + 2 * county + 0.3 * sin(i * 0.7);
        const double y = 3 + 4 * (place / 2) + 0.3 * cos(i * 1.3);
        (void)fprintf(file, "%d,%.9g,%.9g,%d\n", 10 + i % 3, x, y, county);
    }
    cr_assert(fclose(file) == 0);
}

TestSuite(central_barycenter, .init = write_data, .fini = folder_remove);

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void read_points(const char *name, struct array *array)
{
    struct dpot_error error = {""};
    cr_assert_eq(array_read(folder_path(name), array, &error), DPOT_OK, "%s", error.text);
}

/* Largest distance from a point of a barycenter of both counties to its nearest place. */
static double farthest(const struct array *points)
{
    double worst = 0;
    for (int place = 0; place < 4; place++) {
        double best = INFINITY;
        for (size_t j = 0; j < points->n_rows; j++) {
            const double *p = points->values + 2 * j;
            best = fmin(best, hypot(p[0] - 3 - 4 * (place % 2), p[1] - 3 - 4 * (place >= 2)));
        }
        worst = fmax(worst, best);
    }
    return worst;
}

Test(central_barycenter, of_groups_lies_between_them_at_one_epsilon)
{
    struct array points;
    json_t *r = expect_json(FOUR "--group-column county --starts 20 --out b.csv", 0);
    read_points("b.csv", &points);
    cr_assert(points.n_rows == 4 && points.n_cols == 2);
    cr_assert_str_eq(text_of(r, "mechanism"), "private-measure");
    cr_assert_str_eq(text_of(r, "method"), "coreset");
    cr_assert_str_eq(text_of(r, "adjacency"), "replace-one");
    cr_assert(strstr(text_of(r, "guarantee"), "epsilon-DP"));
    cr_assert(strstr(text_of(r, "composition"), "parallel"));
    cr_assert(number_of(r, "epsilon") == 4 && number_of(r, "delta") == 0);
    cr_assert(number_of(r, "epsilon_spent") <= 4 && number_of(r, "epsilon_spent") > 4 - 1e-9);
    cr_assert_eq(json_array_size(json_object_get(r, "groups")), 2);
    cr_assert_null(json_object_get(r, "data_cost"), "it is not private");
    cr_assert_null(json_object_get(r, "seconds"), "time depends on the data");
    json_t *side = json_load_file(folder_path("b.csv.json"), 0, NULL);
    cr_assert(json_equal(side, r));
    json_decref(side);
    json_decref(r);
    array_release(&points);
}

#define NOISY FOUR "--group-column county --delta 1e-6 --method noisy-exact "

/* Seeded: with real randomness no bound holds every time. */
Test(central_barycenter, of_groups_is_near_the_places_between_them)
{
    static const char *const lines[] = {
        FOUR "--group-column county --starts 20 --simulation --seed 1 --out b.csv",
        NOISY "--init start.csv --simulation --seed 1 --out b.csv"};
    struct array points;
    write_text("start.csv", "2,2\n2,8\n8,2\n8,8\n");
    for (size_t i = 0; i < 2; i++) {
        json_decref(expect_json(lines[i], 0));
        read_points("b.csv", &points);
        cr_assert_lt(farthest(&points), 1, "%zu: %g", i, farthest(&points));
        array_release(&points);
    }
}

Test(central_barycenter, of_one_group_is_a_summary_of_it)
{
    char header[32] = "";
    json_t *r = expect_json(FOUR "--max-points 50 --out b.csv", 0);
    const json_t *group = json_array_get(json_object_get(r, "groups"), 0);
    cr_assert_leq(number_of(group, "points"), 50);
    FILE *file = fopen(folder_path("b.csv"), "r");
    cr_assert(file && fgets(header, sizeof header, file));
    cr_assert_str_eq(header, "x,y\n");
    (void)fclose(file);
    json_decref(r);
    r = expect_json(FOUR "--max-points 50 --simulation --seed 1 --out b.csv", 0);
    cr_assert_gt(number_of(json_array_get(json_object_get(r, "groups"), 0), "cells"), 50);
    cr_assert_lt(number_of(r, "cost"), number_of(r, "one_point_cost"));
    json_decref(r);
}

Test(central_barycenter, an_experiment_may_run_without_noise)
{
    json_t *plain = expect_json(FOUR "--simulation --seed 1 --method non-private --starts 20 "
                                     "--group-column county --out b.csv",
                                0);
    json_t *noisy = expect_json(FOUR "--simulation --seed 1 --starts 20 --group-column county "
                                     "--out c.csv",
                                0);
    cr_assert(strstr(text_of(plain, "guarantee"), "none"));
    cr_assert_str_eq(text_of(plain, "mechanism"), "none");
    /* Places are 1 from the middle; people are .3 around their places. */
    cr_assert_float_eq(number_of(plain, "data_cost"), 1, 0.1);
    cr_assert_float_eq(number_of(plain, "data_cost"), number_of(plain, "cost"), 1e-9,
                       "nothing was merged");
    cr_assert_gt(number_of(noisy, "data_cost"), number_of(plain, "data_cost"));
    cr_assert_lt(number_of(noisy, "data_cost"), 1.6);
    json_decref(plain);
    json_decref(noisy);
    /* Merging records makes the plan slightly more expensive. */
    plain =
        expect_json(FOUR "--simulation --seed 1 --method non-private --starts 20 --max-points 60 "
                         "--group-column county --out b.csv",
                    0);
    cr_assert_geq(number_of(plain, "data_cost"), 1 - 0.1);
    cr_assert_lt(number_of(plain, "data_cost"), 1.1);
    cr_assert_lt(number_of(plain, "cost"), number_of(plain, "data_cost"));
    json_decref(plain);
    expect_exit(FOUR "--method non-private --out b.csv", 4, "--simulation");
}

Test(central_barycenter, a_seed_repeats_simulations_only)
{
    struct array a, b;
    json_decref(expect_json(FOUR "--simulation --seed 3 --out a.npy", 0));
    json_decref(expect_json(FOUR "--simulation --seed 3 --out b.npy", 0));
    read_points("a.npy", &a);
    read_points("b.npy", &b);
    cr_assert_arr_eq(a.values, b.values, 8 * sizeof *a.values);
    array_release(&a);
    array_release(&b);
    json_decref(expect_json(FOUR "--out a.npy", 0));
    json_decref(expect_json(FOUR "--out b.npy", 0));
    read_points("a.npy", &a);
    read_points("b.npy", &b);
    cr_assert(memcmp(a.values, b.values, 8 * sizeof *a.values) != 0);
    array_release(&a);
    array_release(&b);
    expect_exit(FOUR "--seed 3 --out a.npy", 4, "--simulation");
}

Test(central_barycenter, group_weights_projection_and_entropic_plans_are_post_processing)
{
    struct array points;
    write_text("w.csv", "1\n0\n");
    json_t *r =
        expect_json(FOUR "--group-column county --group-weights w.csv --simulation --seed 1 "
                         "--starts 9 --out b.csv",
                    0);
    read_points("b.csv", &points);
    double mean = 0;
    for (size_t j = 0; j < 4; j++) {
        mean += points.values[2 * j] / 4;
    }
    cr_assert_float_eq(mean, 4, 0.6, "the first county's own: %g", mean);
    array_release(&points);
    json_decref(r);
    r = expect_json(FOUR "--project 1 --simulation --seed 1 --out b.csv", 0);
    cr_assert_eq(number_of(r, "projected_dim"), 1);
    json_decref(r);
    r = expect_json(FOUR "--lambda 0.1 --simulation --seed 1 --out b.csv", 0);
    cr_assert_eq(number_of(r, "lambda"), 0.1);
    json_decref(r);
}

Test(central_barycenter, noisy_iterations_report_their_charges)
{
    struct array points;
    write_text("start.csv", "2,2\n2,8\n8,2\n8,8\n");
    json_t *r = expect_json(NOISY "--init start.csv --out b.csv", 0);
    read_points("b.csv", &points);
    cr_assert(points.n_rows == 4 && points.n_cols == 2);
    array_release(&points);
    cr_assert_str_eq(text_of(r, "mechanism"), "noisy-barycenter-exact");
    cr_assert(strstr(text_of(r, "guarantee"), "(epsilon, delta)-DP"));
    cr_assert(number_of(r, "epsilon") == 4 && number_of(r, "delta") == 1e-6);
    cr_assert(number_of(r, "epsilon_spent") <= 4 && number_of(r, "epsilon_spent") > 3.99);
    const double n = number_of(json_array_get(json_object_get(r, "groups"), 0), "n");
    const double diameter = 10 * sqrt(2);
    cr_assert_float_eq(number_of(r, "diameter"), diameter, 1e-4);
    cr_assert_float_eq(number_of(r, "sensitivity"), sqrt(4) * 4 / n * diameter / 2, 1e-4);
    cr_assert_float_eq(number_of(r, "noise_scale"),
                       number_of(r, "sensitivity") * sqrt(4 / (2 * number_of(r, "rho"))), 1e-4);
    cr_assert_null(json_object_get(r, "cost"), "it is not private");
    cr_assert_null(json_object_get(r, "data_cost"));
    json_decref(r);
    r = expect_json(FOUR "--group-column county --delta 1e-6 --method noisy-agnostic --out b.csv",
                    0);
    cr_assert_float_eq(number_of(r, "sensitivity"), sqrt(4) * diameter / 2, 1e-4);
    cr_assert_str_eq(text_of(r, "mechanism"), "noisy-barycenter-agnostic");
    json_decref(r);
}

Test(central_barycenter, clamped_records_are_reported_in_simulations_only_and_starts_always)
{
    static const char *const methods[2] = {"", "--delta 1e-6 --method noisy-exact "};
    struct process process;
    char line[512];
    write_text("start.csv", "2,2\n2,8\n8,2\n8,80\n");
    for (int i = 0; i < 2; i++) {
        (void)snprintf(line, sizeof line,
                       RUN "--domain {\"type\":\"box\",\"lo\":[0,0],\"hi\":[10,6]} --epsilon 4 "
                           "--support 4 %s%s--out b.csv",
                       methods[i], i ? "--init start.csv " : "");
        process_run(&process, line);
        cr_assert_null(strstr(process.err, "2199"), "%s", process.err);
        (void)strncat(line, " --simulation", sizeof line - strlen(line) - 1);
        process_run(&process, line);
        cr_assert_eq(process.exit_code, 0, "%s", process.err);
        cr_assert(strstr(process.err, "2199 records outside of the public box"), "%s", process.err);
        cr_assert_null(strstr(process.out, "2199"));
    }
    cr_assert(
        strstr(process.err, "2 points of --init start.csv outside of the public box start at"),
        "%s", process.err);
}

Test(central_barycenter, noisy_iterations_accept_balls)
{
    json_t *r = expect_json(RUN "--domain {\"type\":\"l2_ball\",\"radius\":12,\"dim\":2} "
                                "--epsilon 4 --support 4 --delta 1e-6 --method noisy-exact "
                                "--simulation --seed 1 --out b.csv",
                            0);
    cr_assert_float_eq(number_of(r, "diameter"), 24, 1e-3);
    cr_assert_lt(number_of(r, "data_cost"), 30);
    json_decref(r);
}

Test(central_barycenter, options_of_the_other_methods_are_refused)
{
    expect_exit(FOUR "--method noisy-exact --out b.csv", 2, "--delta");
    expect_exit(FOUR "--delta 1e-6 --out b.csv", 2, "does nothing");
    expect_exit(NOISY "--depth 9 --out b.csv", 2, "does nothing");
    expect_exit(NOISY "--seed 1 --out b.csv", 4, "--simulation");
    expect_exit(RUN BOX "--epsilon 4 --support 2000 --method noisy-exact --delta 1e-6 --out b.csv",
                2, "1024");
    write_text("start.csv", "2,2\n2,8\n");
    expect_exit(NOISY "--init start.csv --out b.csv", 3, "--init");
    expect_exit(RUN BOX
                "--epsilon 1e-12 --support 2 --method noisy-exact --delta 1e-300 --out b.csv",
                2, "");
    write_text("start.csv", "2,2\n2,8\n8,2\n8,8\n");
    expect_exit(NOISY "--init start.csv --init-seed 2 --out b.csv", 2, "--init-seed");
    expect_exit(FOUR "--max-sweeps 9 --out b.csv", 2, "--max-sweeps does nothing without --lambda");
}

Test(central_barycenter, wrong_calls_and_data_are_refused)
{
    expect_exit(RUN BOX "--epsilon 4 --out b.csv", 2, "--support");
    expect_exit(RUN "--epsilon 4 --support 4 --out b.csv", 2, "must not come from the data");
    expect_exit(RUN BOX "--support 4 --out b.csv", 2, "--epsilon");
    expect_exit(RUN BOX "--epsilon 21 --support 4 --out b.csv", 4, "--epsilon");
    expect_exit(FOUR "--adjacency add-remove --out b.csv", 2, "replace-one only");
    expect_exit(FOUR "--method magic --out b.csv", 2, "choose coreset");
    expect_exit(FOUR "--project 3 --out b.csv", 3, "");
    expect_exit(FOUR "--max-points 0 --out b.csv", 2, "--max-points");
    expect_exit(FOUR, 2, "--out");
    expect_exit(RUN BOX "--epsilon 1e-300 --support 4 --out b.csv", 2, "larger epsilon");
    write_text("w.csv", "1\n0\n");
    expect_exit(FOUR "--group-weights w.csv --out b.csv", 3, "2 weights for 1 group");
    write_text("w.csv", "2\n");
    expect_exit(FOUR "--group-weights w.csv --out b.csv", 3, "not to 1: correct them\n");
}
