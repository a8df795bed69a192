#include "process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two points at 0 and 3 with masses (.75, .25) to two at 0 and 4 with (.25, .75): .25 stays at 0,
 * .5 goes from 0 to 4 and .25 from 3 to 4. */
static void write_case(void)
{
    folder_make();
    write_text("x.csv", "0\n3\n");
    write_text("y.csv", "0\n4\n");
    write_text("a.csv", "0.75\n0.25\n");
    write_text("b.csv", "0.25\n0.75\n");
    write_text("cost.csv", "0,4\n3,1\n");
}

TestSuite(ot, .init = write_case, .fini = folder_remove);

#define POINTS "--x x.csv --y y.csv --metric euclidean"

Test(ot, exact_transport_of_a_case_done_by_hand)
{
    struct array plan, potentials;
    struct dpot_error error;
    json_t *r = expect_json("ot " POINTS
                            " --a a.csv --b b.csv --exact --plan-out plan.npy --potentials-out "
                            "pot.csv",
                            0);
    cr_assert_float_eq(number_of(r, "value"), 2.25, 1e-12);
    cr_assert_float_eq(number_of(r, "transport_cost"), 2.25, 1e-12);
    cr_assert_float_eq(number_of(r, "distance"), 2.25, 1e-12);
    cr_assert_leq(number_of(r, "residual"), 1e-12);
    cr_assert_str_eq(json_string_value(json_object_get(r, "outcome")), "converged");
    cr_assert_not_null(json_object_get(r, "iterations"));
    json_decref(r);
    cr_assert_eq(array_read(folder_path("plan.npy"), &plan, &error), DPOT_OK);
    const double expected[4] = {0.25, 0.5, 0, 0.25};
    for (size_t i = 0; i < 4; i++) {
        cr_assert_float_eq(plan.values[i], expected[i], 1e-12);
    }
    cr_assert_eq(array_read(folder_path("pot.csv"), &potentials, &error), DPOT_OK);
    cr_assert_eq(potentials.n_rows, 4);
    const double *f = potentials.values, *g = f + 2;
    cr_assert_float_eq(0.75 * f[0] + 0.25 * f[1] + 0.25 * g[0] + 0.75 * g[1], 2.25, 1e-12);
    array_release(&plan);
    array_release(&potentials);
}

Test(ot, power_makes_the_distance_a_root)
{
    json_t *r = expect_json("ot " POINTS " --power 2 --a a.csv --b b.csv --exact", 0);
    cr_assert_float_eq(number_of(r, "transport_cost"), 8.25, 1e-12);
    cr_assert_float_eq(number_of(r, "distance"), sqrt(8.25), 1e-12);
    json_decref(r);
}

Test(ot, entropic_value_is_above_the_exact_and_near_it_for_small_lambda)
{
    json_t *r = expect_json("ot --cost cost.csv --a a.csv --b b.csv --lambda 0.05", 0);
    cr_assert_float_eq(number_of(r, "transport_cost"), 2.25, 1e-6);
    cr_assert_geq(number_of(r, "value"), 2.25 - 1e-9);
    cr_assert_float_eq(number_of(r, "dual"), number_of(r, "value"), 1e-6);
    cr_assert_leq(number_of(r, "residual"), 1e-9);
    cr_assert_str_eq(json_string_value(json_object_get(r, "outcome")), "converged");
    json_decref(r);
}

Test(ot, stopping_before_the_tolerance_is_exit_code_5)
{
    write_text("c3.csv", "0,1,2\n1,0,1.5\n2,1.7,0\n");
    write_text("a3.csv", "0.6\n0.3\n0.1\n");
    json_t *r = expect_json(
        "ot --cost c3.csv --a a3.csv --lambda 0.01 --max-iterations 2 --plan-out p.npy", 5);
    cr_assert_str_eq(json_string_value(json_object_get(r, "outcome")), "iteration_limit");
    cr_assert_gt(number_of(r, "residual"), 1e-9);
    json_decref(r);
    struct array plan;
    struct dpot_error error;
    cr_assert_eq(array_read(folder_path("p.npy"), &plan, &error), DPOT_OK);
    array_release(&plan);
}

Test(ot, measures_without_weights_are_uniform)
{
    json_t *r = expect_json("ot " POINTS " --exact", 0);
    cr_assert_float_eq(number_of(r, "transport_cost"), 0.5, 1e-12);
    json_decref(r);
}

Test(ot, invalid_coordinates_are_refused)
{
    write_text("p.csv", "lat,lon\n90,-180\n-90,360\n");
    write_text("north.csv", "0,0\n90.5,0\n");
    write_text("west.csv", "0,-360.5\n0,0\n");
    json_decref(expect_json("ot --x p.csv --y p.csv --metric haversine --exact", 0));
    json_decref(expect_json("ot --x p.csv --y north.csv --metric euclidean --exact", 0));
    expect_exit("ot --x p.csv --y north.csv --metric haversine --exact", 3,
                "--y north.csv: row 2: latitude 90.5 is outside [-90, 90]: give (latitude, "
                "longitude) in degrees");
    expect_exit("ot --x west.csv --y p.csv --metric haversine --exact", 3,
                "--x west.csv: row 1: longitude -360.5 is outside [-360, 360]");
    expect_exit("base-measure --x north.csv --metric haversine --epsilon 1 --out m.csv", 3,
                "--x north.csv: row 2: latitude 90.5");
}

Test(ot, wrong_calls_and_data_are_refused)
{
    write_text("neg.csv", "1.5\n-0.5\n");
    write_text("two.csv", "0.5,0.5\n0.5,0.5\n");
    expect_exit("ot --exact", 2, "there is no cost");
    expect_exit("ot " POINTS, 2, "neither --exact nor --lambda");
    expect_exit("ot " POINTS " --exact --lambda 1", 2, "exclude each other");
    expect_exit("ot " POINTS " --lambda -1", 2, "--lambda is -1");
    expect_exit("ot " POINTS " --exact --tol 1", 2, "--tol does not go with --exact");
    expect_exit("ot " POINTS " --exact --cost cost.csv", 2, "does not go with --cost");
    expect_exit("ot " POINTS " --exact --campaign c", 2, "does not go with --campaign");
    expect_exit("ot " POINTS " --exact --a neg.csv", 3, "is -0.5");
    expect_exit("ot " POINTS " --exact --a x.csv", 3, "sum to 3, not to 1");
    expect_exit("ot " POINTS " --exact --a two.csv", 3, "give one measure");
    expect_exit("ot --campaign none.json --exact", 6, "none.json");
}

/* n points of a small box whose corner is (at, at). */
static void write_points(const char *name, int n, double at)
{
    char points[4096];
    size_t len = 0;
    for (int i = 0; i < n; i++) {
        len += (size_t)snprintf(points + len, sizeof points - len, "%.6f,%.6f\n",
                                at + (i * 7 % 41) / 10.0, at + (i * 11 % 37) / 9.0);
    }
    write_text(name, points);
}

Test(ot, a_plan_limited_by_rounding_gets_a_warning)
{
    static struct process process;
    write_points("far.csv", 40, 1e12);
    write_points("near.csv", 30, 0);
    process_run(&process, "ot --x far.csv --y near.csv --metric euclidean --lambda 0.1");
    cr_assert_eq(process.exit_code, 0, "%s", process.err);
    cr_assert_not_null(strstr(process.err, "misses the first marginal"), "%s%s", process.out,
                       process.err);
    write_points("far.csv", 40, 1);
    process_run(&process, "ot --x far.csv --y near.csv --metric euclidean --lambda 0.1");
    cr_assert_eq(process.exit_code, 0, "%s", process.err);
    cr_assert_null(strstr(process.err, "warning"), "%s", process.err);
}

Test(ot, single_precision_stops_at_its_own_tolerance)
{
    write_points("x.csv", 100, 0);
    write_points("y.csv", 70, 0.5);
    json_t *r = expect_json("ot " POINTS " --lambda 0.01 --float32 --max-iterations 20000", 0);
    cr_assert_str_eq(json_string_value(json_object_get(r, "outcome")), "converged");
    cr_assert_lt(number_of(r, "residual"), 1e-6);
    json_decref(r);
}

Test(ot, a_zero_vector_under_cosine_gets_a_warning_with_its_row)
{
    struct process p;
    write_text("u.csv", "1,0\n0,0\n");
    write_text("w.csv", "1,0\n0,1\n");
    process_run(&p, "ot --x w.csv --y u.csv --metric cosine --exact");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "warning: --y u.csv: row 2 is a zero vector"), "%s", p.err);
    process_run(&p, "ot --x w.csv --y w.csv --metric cosine --exact");
    cr_assert_str_empty(p.err);
    process_run(&p, "ot --x u.csv --y u.csv --metric l1 --exact");
    cr_assert_str_empty(p.err);
}

Test(ot, a_lambda_is_refused_by_itself_or_with_the_costs)
{
    expect_exit("ot " POINTS " --lambda 1e-320", 2, "--lambda is 1e-320: give at least 2.2e-308");
    expect_exit("ot " POINTS " --lambda 0", 2, "--lambda is 0: give a number above 0");
    expect_exit(
        "ot " POINTS " --lambda 1e-300", 3,
        "the largest |cost| is 4 and lambda 1e-300: costs are finite, at most 1e+300 and at "
        "most 1e+15 lambda: give a larger lambda");
}

Test(ot, distances_of_tiny_and_huge_points_are_right_or_refused)
{
    const struct {
        const char *x, *y, *metric;
        double distance;
    } cases[] = {
        {"1e154,1e154,1e154,1e154\n", "0,0,0,0\n", "euclidean", 2e154},
        {"3e-170,4e-170\n", "0,0\n", "euclidean", 5e-170},
        {"3e-160,4e-160\n", "0,0\n", "euclidean", 5e-160},
        {"3e-170,4e-170\n", "0,0\n", "l1", 7e-170},
        {"3e-170,4e-170\n", "0,0\n", "linf", 4e-170},
        {"1e-200,0\n", "0,1e-200\n", "cosine", 1},
    };
    char arguments[128];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text("x.csv", cases[i].x);
        write_text("y.csv", cases[i].y);
        (void)snprintf(arguments, sizeof arguments, "ot --x x.csv --y y.csv --exact --metric %s",
                       cases[i].metric);
        json_t *result = expect_json(arguments, 0);
        cr_assert_float_eq(number_of(result, "distance") / cases[i].distance, 1, 1e-15, "%s",
                           arguments);
        json_decref(result);
    }
    write_text("x.csv", "3e-170,4e-170\n");
    write_text("y.csv", "0,0\n");
    expect_exit("ot --x x.csv --y y.csv --exact --metric euclidean --power 2", 3,
                "row 1, column 1 differ, and their cost is below 2^-1000");
    write_text("x.csv", "1e200,0\n");
    expect_exit("ot --x x.csv --y y.csv --exact --metric euclidean --power 2", 3, "scale");
}

Test(ot, float32_is_named_where_it_cannot_reach_the_tolerance)
{
    write_text("x.csv", "0,0\n1,2\n2,1\n");
    expect_exit("ot --x x.csv --y x.csv --metric euclidean --lambda 0.1 --float32 --tol 1e-12", 2,
                "--tol is 1e-12, and float32 cannot reach it");
    expect_exit("barycenter --group x.csv --support 2 --lambda 0.1 --float32 --sweep-tol 1e-12 "
                "--out b.csv",
                2, "--sweep-tol is 1e-12, and float32 cannot reach it");
}
