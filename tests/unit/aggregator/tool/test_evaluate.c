#include "campaign_case.h"
#include "process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

enum { K = 10 };

/* KPM on a ring of 10 at epsilon 2: k-ary randomised response, whose law is known in closed
 * form. */
#define RANDOMIZED_RESPONSE(more)                                                                  \
    "{\"name\":\"ring\",\"domain\":{\"type\":\"ring\",\"size\":10},\"output\":\"same\","           \
    "\"metric\":\"ring\",\"power\":2,\"mechanism\":{\"type\":\"kpm\",\"epsilon\":2" more "},"      \
    "\"rounds\":1,\"opens\":\"2026-12-01T00:00:00Z\",\"closes\":\"2026-12-08T00:00:00Z\","         \
    "\"min_pool\":1}"

static void write_case(void)
{
    folder_make();
    write_text("spec.json", RANDOMIZED_RESPONSE(""));
    write_text("first.json", RANDOMIZED_RESPONSE(",\"sample_first\":true"));
    write_text("wpm.json", CAMPAIGN_SPEC("false"));
    write_text("data.csv", "7,0,1\n9,3,1\n9,4,3\n");
}

TestSuite(evaluate, .init = write_case, .fini = folder_remove);

static double other(void)
{
    return 1 / (exp(2) + K - 1);
}

/* sum_j law_j d(i, j)^2 of a user at one point. */
static double cost_at_a_point(void)
{
    double cost = 0;
    for (int d = 1; d < K; d++) {
        const double distance = d < K - d ? d : K - d;
        cost += other() * distance * distance;
    }
    return cost;
}

Test(evaluate, a_user_at_one_point_has_the_cost_of_randomized_response)
{
    struct array rows;
    struct dpot_error error;
    json_t *r = expect_json("evaluate --campaign spec.json --data data.csv --devices 1 "
                            "--out users.csv",
                            0);
    cr_assert_float_eq(number_of(r, "mean_user_cost"), cost_at_a_point(), 1e-12);
    cr_assert_float_eq(number_of(r, "mean_user_wp"), sqrt(cost_at_a_point()), 1e-12);
    cr_assert_float_eq(number_of(r, "worst_case"), sqrt(cost_at_a_point()), 1e-12);
    json_decref(r);
    cr_assert_eq(array_read(folder_path("users.csv"), &rows, &error), DPOT_OK);
    cr_assert(rows.n_rows == 1 && rows.n_cols == 3);
    cr_assert_eq(rows.values[0], 7);
    cr_assert_float_eq(rows.values[1], cost_at_a_point(), 1e-12);
    array_release(&rows);
}

Test(evaluate, the_cost_of_every_point_has_the_worst_case_as_its_largest)
{
    struct array points;
    struct dpot_error error;
    double largest = 0;
    write_text("user.csv", "1,3,1\n"); /* the point whose own cost is known from the user */
    json_t *r = expect_json("evaluate --campaign wpm.json --data user.csv --devices 1 "
                            "--points-out points.npy",
                            0);
    cr_assert_eq(array_read(folder_path("points.npy"), &points, &error), DPOT_OK);
    cr_assert(points.is_vector && points.n_rows == 12);
    for (size_t i = 0; i < points.n_rows; i++) {
        largest = fmax(largest, points.values[i]);
    }
    cr_assert_eq(largest, number_of(r, "worst_case"));
    cr_assert_eq(points.values[(size_t)number_of(r, "worst_point")], largest);
    cr_assert_float_eq(points.values[3], number_of(r, "mean_user_wp"), 1e-12);
    array_release(&points);
    json_decref(r);
}

/* With sample_first the law is 1/4 of that at 3 and 3/4 of that at 4: on the other points
 * 1/(e^2+9), at home the rest, so that only what is missing at home has to travel. */
Test(evaluate, sample_first_mixes_the_laws_of_the_places)
{
    const double rest = other(), truth = exp(2) * other();
    double law[K], mu[K] = {0};
    mu[3] = 0.25;
    mu[4] = 0.75;
    char q[400] = "", m[400] = "";
    for (int j = 0; j < K; j++) {
        law[j] = mu[j] * truth + (1 - mu[j]) * rest;
        (void)snprintf(q + 30 * j, sizeof q - 30 * (size_t)j, "%-29.20g\n", law[j]);
        (void)snprintf(m + 30 * j, sizeof m - 30 * (size_t)j, "%-29.20g\n", mu[j]);
    }
    write_text("law.csv", q);
    write_text("mu.csv", m);
    write_text("user.csv", "9,3,1\n9,4,3\n");
    json_t *expected =
        expect_json("ot --exact --campaign first.json --a mu.csv --b law.csv --normalize", 0);
    json_t *r = expect_json("evaluate --campaign first.json --data user.csv --devices 1", 0);
    cr_assert_float_eq(number_of(r, "mean_user_cost"), number_of(expected, "transport_cost"), 1e-9);
    json_decref(expected);
    json_decref(r);
}

Test(evaluate, points_beyond_n_max_do_not_change_the_law)
{
    write_text("one.json", RANDOMIZED_RESPONSE(",\"n_max\":1"));
    write_text("both.json", RANDOMIZED_RESPONSE(",\"n_max\":1,\"sample_first\":true"));
    json_t *a = expect_json("evaluate --campaign one.json --data data.csv --devices 2", 0);
    json_t *b = expect_json("evaluate --campaign both.json --data data.csv --devices 2", 0);
    cr_assert_float_eq(number_of(a, "mean_user_cost"), number_of(b, "mean_user_cost"), 1e-12);
    json_decref(a);
    json_decref(b);
}

/* The objective of the base measure is the worst case of the exact projection, a lower bound. */
Test(evaluate, the_worst_case_of_wpm_is_near_that_of_its_base_measure)
{
    json_t *best = expect_json("base-measure --campaign wpm.json --method uniform --out m.csv", 0);
    json_t *r = expect_json("evaluate --campaign wpm.json --data data.csv --devices 2", 0);
    cr_assert_geq(number_of(r, "worst_case"), number_of(best, "worst_case") - 1e-9);
    cr_assert_leq(number_of(r, "worst_case"), 1.5 * number_of(best, "worst_case"));
    cr_assert_eq(number_of(best, "epsilon"), 2);
    json_decref(best);
    json_decref(r);
}

Test(evaluate, refusals_name_the_missing_input)
{
    expect_exit("evaluate --data data.csv --devices 2", 2, "--campaign");
    expect_exit("evaluate --campaign spec.json --data data.csv --devices 3", 3, "--data has 2");
    expect_exit("base-measure --campaign spec.json --x data.csv --out m.csv", 2, "--campaign");
}
