#include "../files/folder.h"
#include "campaign_case.h"
#include "process.h"

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

Test(estimate, uncorrected_frequencies_say_so)
{
    char text[1024];
    struct process p;
    const char *spec = CAMPAIGN_SPEC("false");
    const char *end = strstr(spec, "\"n_max\"");
    (void)snprintf(text, sizeof text, "%.*s\"sample_first\":true,%s", (int)(end - spec), spec, end);
    write_text("sampled.json", text);
    process_run(&p, "estimate --campaign sampled.json --pool pool.csv --out e.csv --json");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "not corrected for the mechanism's known channel yet"));
    cr_assert_not_null(strstr(p.out, "\"is_corrected\":false"));
    json_t *side = json_load_file(folder_path("e.csv.json"), 0, NULL);
    cr_assert(json_is_false(json_object_get(side, "is_corrected")));
    json_decref(side);
    process_run(&p, "estimate --campaign spec.json --pool pool.csv --out e.csv");
    cr_assert_eq(p.exit_code, 0);
    cr_assert_null(strstr(p.err, "channel"), "the channel is not known: nothing to correct");
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
    expect_exit("estimate --campaign spec.json --pool none.csv --out e.csv", 6, "none.csv");
    expect_exit("estimate --campaign 00000000000000000000000000000000 --pool pool.csv --out e.csv",
                6, "give --server URL");
}
