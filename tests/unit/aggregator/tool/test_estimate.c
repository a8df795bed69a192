#include "campaign_case.h"
#include "process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* 24 reports, two of each position. */
static void write_case(void)
{
    char text[256] = "";
    folder_make();
    write_text("spec.json", CAMPAIGN_SPEC("false"));
    for (int i = 0; i < 24; i++) {
        const size_t len = strlen(text);
        (void)snprintf(text + len, sizeof text - len, "%d\n", i % 12);
    }
    write_text("pool.csv", text);
}

TestSuite(estimate, .init = write_case, .fini = folder_remove);

Test(estimate, frequencies_are_shares_with_their_standard_errors)
{
    struct array frequency;
    struct dpot_error error;
    json_t *r =
        expect_json("estimate --campaign spec.json --pool pool.csv --seed 1 --bootstrap 2000 "
                    "--out est.npy",
                    0);
    cr_assert_eq(number_of(r, "n"), 24);
    cr_assert_eq(number_of(r, "kv"), 12);
    cr_assert_str_eq(json_string_value(json_object_get(r, "method")), "frequency");
    json_decref(r);
    cr_assert_eq(array_read(folder_path("est.npy"), &frequency, &error), DPOT_OK);
    cr_assert(frequency.is_vector && frequency.n_rows == 12);
    json_t *side = json_load_file(folder_path("est.npy.json"), 0, NULL);
    const double p = 1.0 / 12, expected = sqrt(p * (1 - p) / 24);
    for (size_t j = 0; j < 12; j++) {
        cr_assert_float_eq(frequency.values[j], p, 1e-15);
        const double deviation =
            json_number_value(json_array_get(json_object_get(side, "standard_error"), j));
        const double low = json_number_value(json_array_get(json_object_get(side, "lower"), j));
        const double high = json_number_value(json_array_get(json_object_get(side, "upper"), j));
        /* 2000 resamples: the standard error of a standard error is 1.6% of it; 6 of them. */
        cr_assert_float_eq(deviation, expected, 0.1 * expected);
        cr_assert(low <= p && p <= high && high > low);
    }
    cr_assert_eq(number_of(side, "n"), 24);
    json_decref(side);
    array_release(&frequency);
}

Test(estimate, seeded_bootstrap_repeats_itself)
{
    char a[8192] = {0}, b[8192] = {0};
    json_decref(
        expect_json("estimate --campaign spec.json --pool pool.csv --seed 4 --out a.csv", 0));
    json_decref(
        expect_json("estimate --campaign spec.json --pool pool.csv --seed 4 --out b.csv", 0));
    (void)folder_read("a.csv.json", a, sizeof a - 1);
    (void)folder_read("b.csv.json", b, sizeof b - 1);
    cr_assert_str_eq(a, b);
}

/* The campaign whose devices sample one place first. */
static void write_sampled(void)
{
    char text[1024];
    const char *spec = CAMPAIGN_SPEC("false");
    const char *end = strstr(spec, "\"n_max\"");
    (void)snprintf(text, sizeof text, "%.*s\"sample_first\":true,%s", (int)(end - spec), spec, end);
    write_text("sampled.json", text);
}

Test(estimate, uncorrected_frequencies_are_marked)
{
    struct process p;
    write_sampled();
    process_run(
        &p,
        "estimate --campaign sampled.json --method frequency --pool pool.csv --out e.csv --json");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "--method likelihood corrects"));
    cr_assert_not_null(strstr(p.out, "\"is_corrected\":false"));
    json_t *side = json_load_file(folder_path("e.csv.json"), 0, NULL);
    cr_assert(json_is_false(json_object_get(side, "is_corrected")));
    cr_assert_str_eq(json_string_value(json_object_get(side, "prior_is")), "base measure");
    cr_assert_float_eq(number_of(side, "prior_distance"), 0, 1e-12, "two reports of each of 12");
    json_decref(side);
    process_run(&p, "estimate --campaign spec.json --pool pool.csv --out e.csv");
    cr_assert_eq(p.exit_code, 0);
    cr_assert_null(strstr(p.err, "channel"), "the channel is not known: nothing to correct");
}

static double number_at(const json_t *object, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(object, key), i));
}

/* All reports are from 3 and its neighbours: the estimate puts more mass on 3 than the reports. */
Test(estimate, likelihood_inverts_the_channel_and_reports_its_start)
{
    struct array weights;
    struct dpot_error error;
    char text[2000] = "";
    write_sampled();
    for (size_t i = 0; i < 480; i++) {
        const size_t len = strlen(text);
        const int place = i % 12 < 6 ? 3 : i % 12 < 8 ? 2 : i % 12 < 10 ? 4 : (int)(i / 12 % 12);
        (void)snprintf(text + len, sizeof text - len, "%d\n", place);
    }
    write_text("near.csv", text);
    json_t *r =
        expect_json("estimate --campaign sampled.json --pool near.csv --seed 1 --confidence 0.9 "
                    "--bootstrap 400 --out w.csv",
                    0);
    cr_assert_str_eq(json_string_value(json_object_get(r, "method")), "likelihood");
    cr_assert(json_is_true(json_object_get(r, "is_corrected")));
    cr_assert_str_eq(json_string_value(json_object_get(r, "prior_is")), "uniform");
    cr_assert_str_eq(json_string_value(json_object_get(r, "outcome")), "converged");
    cr_assert_eq(number_of(r, "determined"), 12);
    cr_assert_geq(number_of(r, "headroom"), 0);
    json_decref(r);
    cr_assert_eq(array_read(folder_path("w.csv"), &weights, &error), DPOT_OK);
    cr_assert(weights.is_vector && weights.n_rows == 12);
    double sum = 0;
    for (size_t l = 0; l < 12; l++) {
        sum += weights.values[l];
    }
    cr_assert_float_eq(sum, 1, 1e-12);
    cr_assert_gt(weights.values[3], 0.6, "%g, beyond the share .5 of the reports",
                 weights.values[3]);
    json_t *side = json_load_file(folder_path("w.csv.json"), 0, NULL);
    cr_assert_eq(number_of(side, "level"), 0.9);
    for (size_t l = 0; l < 12; l++) {
        const double low = number_at(side, "lower", l), high = number_at(side, "upper", l);
        cr_assert(0 <= low && low <= high && high <= 1);
        cr_assert_float_eq(number_at(side, "prior", l), 1.0 / 12, 1e-15);
        cr_assert_gt(number_at(side, "standard_error", l), 0);
    }
    json_decref(side);
    array_release(&weights);
}

#define SQUARE_SPEC(base_measure)                                                                  \
    "{\"name\":\"square\",\"domain\":{\"type\":\"grid\",\"shape\":[8,8],\"lo\":[0,0],"             \
    "\"hi\":[7,7]},\"output\":\"same\",\"metric\":\"euclidean\",\"mechanism\":{\"type\":\"wpm\","  \
    "\"epsilon\":2,\"solver\":\"exact\",\"base_measure\":\"" base_measure                          \
    "\",\"sample_first\":true},\"opens\":\"2026-12-01T00:00:00Z\",\"closes\":\"2026-12-08T00:00:"  \
    "00Z\"}"

Test(estimate, points_that_a_channel_does_not_determine_are_reported)
{
    struct process p;
    write_text("ball.json", SQUARE_SPEC("ball"));
    write_text("uniform.json", SQUARE_SPEC("uniform"));
    process_run(&p, "estimate --campaign ball.json --pool pool.csv --out e.csv");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "64 of 64 single points"), "%s", p.err);
    cr_assert_not_null(strstr(p.err, "base_measure \"uniform\""), "%s", p.err);
    process_run(&p, "estimate --campaign uniform.json --pool pool.csv --out e.csv");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_null(strstr(p.err, "single points"), "%s", p.err);
}

/* Directions of four users each near a corner of the square in a plane, many times over: at epsilon
 * 20 the noise is small, and the spread between users large. */
Test(estimate, the_error_of_the_users_mean_leaves_out_the_spread_between_them)
{
    static const char spec[] =
        "{\"name\":\"s\",\"domain\":{\"type\":\"sphere\",\"dim\":2},\"metric\":\"euclidean\","
        "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":20},\"opens\":\"2026-12-01T00:00:00Z\","
        "\"closes\":\"2026-12-08T00:00:00Z\"}";
    char text[1024] = "";
    for (int i = 0; i < 100; i++) {
        const size_t len = strlen(text);
        (void)snprintf(text + len, sizeof text - len, "%s\n",
                       i % 4 == 0   ? "1,0"
                       : i % 4 == 1 ? "-1,0"
                       : i % 4 == 2 ? "0,1"
                                    : "0,-1");
    }
    write_text("sphere.json", spec);
    write_text("directions.csv", text);
    json_t *r = expect_json("estimate --campaign sphere.json --pool directions.csv --out m.csv", 0);
    json_t *plan = expect_json("plan --campaign sphere.json --n 100", 0);
    json_t *side = json_load_file(folder_path("m.csv.json"), 0, NULL);
    const double c = number_of(r, "contraction"), users = number_of(r, "users_total_error");
    cr_assert_float_eq(users, sqrt((1 / (c * c) - 1) / 100), 1e-9);
    cr_assert_float_eq(number_of(plan, "coordinate_standard_error") * sqrt(2), users, 1e-9);
    cr_assert_float_eq(number_of(r, "total_error"), sqrt(1.0 / 99) / c, 1e-9);
    cr_assert_lt(users, .02 * number_of(r, "total_error"));
    /* By symmetry both coordinates have the same noise. */
    const json_t *errors = json_object_get(side, "users_standard_error");
    for (size_t j = 0; j < 2; j++) {
        const double error = json_number_value(json_array_get(errors, j));
        cr_assert_float_eq(error * sqrt(2), users, 1e-6 * users);
        cr_assert_lt(json_number_value(json_array_get(json_object_get(side, "users_lower"), j)), 0);
        cr_assert_gt(json_number_value(json_array_get(json_object_get(side, "users_upper"), j)), 0);
    }
    json_decref(side);
    json_decref(plan);
    json_decref(r);
}

Test(estimate, likelihood_depends_on_the_given_start)
{
    struct array from_uniform, from_start;
    struct dpot_error error;
    write_sampled();
    write_text("start.csv", "6\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n0\n");
    json_decref(expect_json(
        "estimate --campaign sampled.json --pool pool.csv --bootstrap 0 --out u.csv", 0));
    json_t *r = expect_json(
        "estimate --campaign sampled.json --pool pool.csv --bootstrap 0 --init start.csv "
        "--normalize --out s.csv",
        0);
    cr_assert_str_eq(json_string_value(json_object_get(r, "prior_is")), "start");
    json_decref(r);
    cr_assert_eq(array_read(folder_path("u.csv"), &from_uniform, &error), DPOT_OK);
    cr_assert_eq(array_read(folder_path("s.csv"), &from_start, &error), DPOT_OK);
    cr_assert_gt(from_start.values[0], from_uniform.values[0] + 0.01);
    cr_assert_eq(from_start.values[11], 0, "a weight of 0 stays 0");
    array_release(&from_uniform);
    array_release(&from_start);
    expect_exit("estimate --campaign sampled.json --pool pool.csv --init start.csv --out s.csv", 3,
                "sum");
    expect_exit("estimate --campaign spec.json --pool pool.csv --init start.csv --out s.csv", 2,
                "--init is for --method likelihood");
    expect_exit("estimate --campaign sampled.json --method frequency --init start.csv --pool "
                "pool.csv --out "
                "s.csv",
                2, "--init is for --method likelihood");
}

Test(estimate, likelihood_needs_a_channel)
{
    expect_exit("estimate --campaign spec.json --method likelihood --pool pool.csv --out e.csv", 3,
                "\"sample_first\": true");
    expect_exit("estimate --campaign spec.json --method guess --pool pool.csv --out e.csv", 2,
                "--method is guess");
    expect_exit("estimate --campaign spec.json --confidence 1 --pool pool.csv --out e.csv", 2,
                "--confidence is 1");
}

Test(estimate, pool_below_the_minimum_is_not_ready)
{
    write_text("small.csv", "0\n1\n2\n");
    expect_exit("estimate --campaign spec.json --pool small.csv --out e.csv", 7, "3 of 20 reports");
}

Test(estimate, indices_that_are_no_output_points_are_refused)
{
    const char *const texts[] = {"0\n12\n", "0\n-1\n", "0\n0.5\n", "0\nnan\n",
                                 "0\n9007199254740993\n"};
    for (size_t i = 0; i < 5; i++) {
        write_text("bad.csv", texts[i]);
        expect_exit("estimate --campaign spec.json --pool bad.csv --out e.csv", 3,
                    "the output points are 0 to 11");
    }
    write_text("wide.csv", "0,1\n");
    expect_exit("estimate --campaign spec.json --pool wide.csv --out e.csv", 3, "2 columns");
}

Test(estimate, wrong_calls_are_refused)
{
    expect_exit("estimate --pool pool.csv --out e.csv", 2, "--campaign is missing");
    expect_exit("estimate --campaign spec.json --out e.csv", 2, "--pool is missing");
    expect_exit("estimate --campaign spec.json --pool pool.csv", 2, "--out is missing");
    expect_exit("estimate --campaign spec.json --pool pool.csv --out e.csv --bootstrap x", 2,
                "--bootstrap is x");
    expect_exit("estimate --campaign spec.json --pool pool.csv --out e.csv --bootstrap 1", 2,
                "--bootstrap is 1: give at least 20");
    expect_exit("estimate --campaign spec.json --pool pool.csv --out e.csv --bootstrap 19", 2,
                "or 0 for none");
    json_decref(expect_json("estimate --campaign spec.json --pool pool.csv --out e.csv "
                            "--bootstrap 20",
                            0));
    expect_exit("estimate --campaign spec.json --pool none.csv --out e.csv", 6, "none.csv");
    expect_exit("estimate --campaign 00000000000000000000000000000000 --pool pool.csv --out e.csv",
                6, "give --server URL");
}
