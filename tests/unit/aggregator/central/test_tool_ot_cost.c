/* dpot central ot-cost: output and refusals. */
#include "../tool/process.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BOX "--domain {\"type\":\"box\",\"lo\":[0,0],\"hi\":[1,1]} "
#define RUN "central ot-cost --x x.csv --y y.csv --metric l1 --epsilon 1 "

/* 400 records each, y shifted by (0.25, 0.125): W1 = 0.375 for l1. */
static void write_data(void)
{
    folder_make();
    FILE *x = fopen(folder_path("x.csv"), "w"), *y = fopen(folder_path("y.csv"), "w");
    cr_assert(x && y);
    for (int i = 0; i < 400; i++) {
        const double a = (i * 37 % 400) / 800.0, b = i / 800.0;
        (void)fprintf(x, "%.9g,%.9g\n", a, b);
        (void)fprintf(y, "%.9g,%.9g\n", a + 0.25, b + 0.125);
    }
    cr_assert(fclose(x) == 0 && fclose(y) == 0);
}

TestSuite(ot_cost_tool, .init = write_data, .fini = folder_remove);

Test(ot_cost_tool, releases_the_cost_with_noise_of_its_sensitivity)
{
    json_t *r = expect_json(RUN BOX "--exact", 0);
    /* Real randomness: the noise exceeds 30 scales of 0.005 once in e^30 runs. */
    cr_assert_float_eq(number_of(r, "value"), 0.375, 30 * 0.00501);
    cr_assert(number_of(r, "value") != 0.375);
    cr_assert_float_eq(number_of(r, "sensitivity"), 2.0 / 400, 1e-7);
    cr_assert_float_eq(number_of(r, "noise_scale"), 2.0 / 400 * 1025 / 1024, 1e-7);
    cr_assert_float_eq(number_of(r, "error_95"), log(20) * number_of(r, "noise_scale"), 1e-12);
    cr_assert_str_eq(json_string_value(json_object_get(r, "mechanism")), "transport-cost");
    cr_assert_str_eq(json_string_value(json_object_get(r, "adjacency")), "replace-one");
    cr_assert_eq(number_of(r, "delta"), 0);
    cr_assert_leq(number_of(r, "epsilon_spent"), 1);
    cr_assert_eq(number_of(r, "n_x"), 400);
    cr_assert_null(json_object_get(r, "seconds"));
    json_decref(r);
}

Test(ot_cost_tool, entropic_costs_pairs_and_caps)
{
    json_t *r = expect_json(RUN BOX "--lambda 0.1 --adjacency replace-pair", 0);
    cr_assert_float_eq(number_of(r, "sensitivity"), 4.0 / 400 + 0.01 * 2 / 400, 1e-9);
    cr_assert(strstr(json_string_value(json_object_get(r, "guarantee")), "each file"));
    cr_assert_gt(number_of(r, "value"), 0);
    json_decref(r);
    r = expect_json(RUN BOX "--exact --cost-cap 0.5", 0);
    cr_assert_eq(number_of(r, "largest_cost"), 0.5);
    json_decref(r);
}

Test(ot_cost_tool, a_seed_is_for_simulations_only)
{
    expect_exit(RUN BOX "--exact --seed 4", 4, "--simulation");
    json_t *a = expect_json(RUN BOX "--exact --seed 4 --simulation", 0);
    json_t *b = expect_json(RUN BOX "--exact --seed 4 --simulation", 0);
    cr_assert_eq(number_of(a, "value"), number_of(b, "value"));
    cr_assert(strstr(json_string_value(json_object_get(a, "guarantee")), "none"));
    json_decref(a);
    json_decref(b);
}

Test(ot_cost_tool, refuses_costs_without_a_bound)
{
    expect_exit(RUN "--exact", 2, "--domain");
    expect_exit(RUN BOX, 2, "--lambda");
    expect_exit(RUN BOX "--exact --lambda 1", 2, "--lambda");
    expect_exit(RUN BOX "--exact --adjacency add-remove", 2, "replace-pair");
    expect_exit("central ot-cost --x x.csv --y y.csv --metric cosine --epsilon 1 --exact " BOX, 2,
                "cosine");
    expect_exit("central ot-cost --x x.csv --y y.csv --metric l1 --epsilon 21 --exact " BOX, 4,
                "--epsilon");
    expect_exit("central ot-cost --x x.csv --y y.csv --metric l1 --epsilon 1e-10 --exact " BOX, 2,
                "--epsilon is 1e-10: give at least 9.31e-10");
    expect_exit(RUN "--exact --domain {\"type\":\"l2_ball\",\"radius\":1,\"dim\":2}", 3,
                "give a box\n");
    expect_exit(RUN "--exact --domain {\"type\":\"box\",\"lo\":[0],\"hi\":[1]}", 3, "agree");
    write_text("y.csv", "1,2,3\n");
    expect_exit(RUN BOX "--exact", 3, "agree");
    write_text("y.csv", "1,nan\n");
    expect_exit(RUN BOX "--exact", 0, "");
    write_text("y.csv", "");
    expect_exit(RUN BOX "--exact", 3, "--y");
}
