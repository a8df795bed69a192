/* dpot base-measure as a user runs it. */
#include "../tool/arrays.h"
#include "../tool/process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define RING "base-measure --x ring.csv --metric ring --ring-size 30 --power 2 --epsilon 1"

/* ring.csv: 30 positions. square.npy: the costs of 4 inputs and 3 outputs. */
static void make_inputs(void)
{
    const double square[12] = {0, 1, 2, 1, 0, 1, 2, 1, 0, 4, 1, 3};
    double ring[30];
    folder_make();
    for (size_t i = 0; i < 30; i++) {
        ring[i] = (double)i;
    }
    write_array("ring.csv", 30, 1, ring);
    write_array("square.npy", 4, 3, square);
}

TestSuite(base_measure, .init = make_inputs, .fini = folder_remove);

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    cr_assert_not_null(text, "%s is missing", key);
    return text;
}

/* The written measure has the shape (n,) and the total mass of the result. */
static void expect_measure(const char *name, size_t n, double total_mass)
{
    struct array m;
    struct dpot_error error = {""};
    double total = 0;
    cr_assert_eq(array_read(folder_path(name), &m, &error), DPOT_OK, "%s", error.text);
    cr_assert(m.is_vector && m.n_rows == n);
    for (size_t j = 0; j < n; j++) {
        cr_assert_geq(m.values[j], 0);
        total += m.values[j];
    }
    cr_assert_float_eq(total, total_mass, 1e-12);
    array_release(&m);
}

Test(base_measure, uniform_is_optimal_on_a_ring_and_is_reported_as_such)
{
    json_t *result = expect_json(RING " --method uniform --out m.npy", 0);
    cr_assert_float_eq(number_of(result, "objective"), 49.0570472814761, 1e-10);
    cr_assert_float_eq(number_of(result, "worst_case"), sqrt(49.0570472814761), 1e-11);
    cr_assert_leq(number_of(result, "relative_gap"), 1e-10);
    cr_assert_float_eq(number_of(result, "total_mass"), 0.88681888397, 1e-8);
    cr_assert_str_eq(text_of(result, "outcome"), "converged");
    cr_assert_str_eq(text_of(result, "method"), "uniform");
    cr_assert_geq(number_of(result, "seconds"), 0);
    expect_measure("m.npy", 30, number_of(result, "total_mass"));
    json_decref(result);
}

Test(base_measure, mirror_is_near_the_optimum_and_a_reached_limit_is_no_failure)
{
    json_t *result =
        expect_json(RING " --method mirror --gap 0 --max-iterations 5000 --out m.csv", 0);
    const double objective = number_of(result, "objective");
    cr_assert(objective >= 49.0570472814761 - 1e-9 && objective <= 49.0570472814761 * 1.001);
    cr_assert_leq(number_of(result, "lower_bound"), 49.0570472814761 + 1e-9);
    cr_assert_float_eq(number_of(result, "relative_gap"),
                       1 - number_of(result, "lower_bound") / objective, 1e-12);
    cr_assert_float_eq(number_of(result, "worst_case"), sqrt(objective), 1e-12);
    cr_assert_eq(number_of(result, "iterations"), 5000);
    cr_assert_str_eq(text_of(result, "outcome"), "iteration_limit");
    cr_assert_float_eq(
        fmin(number_of(result, "best_objective"), number_of(result, "average_objective")),
        objective, 0);
    expect_measure("m.csv", 30, number_of(result, "total_mass"));
    json_decref(result);
}

Test(base_measure, mirror_ends_at_the_gap)
{
    json_t *result =
        expect_json(RING " --method mirror --gap 0.01 --max-iterations 100000 --out m.npy", 0);
    cr_assert_str_eq(text_of(result, "method"), "mirror");
    cr_assert_str_eq(text_of(result, "outcome"), "converged");
    cr_assert_lt(number_of(result, "iterations"), 100000);
    cr_assert_leq(number_of(result, "relative_gap"), 0.01);
    json_decref(result);
}

static void expect_first_line(const char *name, const char *line)
{
    char found[256] = "";
    FILE *stream = fopen(folder_path(name), "r");
    cr_assert_not_null(stream);
    cr_assert_not_null(fgets(found, sizeof found, stream));
    (void)fclose(stream);
    cr_assert_str_eq(found, line);
}

/* Squares on a line of 601 points have no symmetry, equal steps have one. */
Test(base_measure, is_certified_by_default_up_to_a_size_and_says_which_method_ran)
{
    char scattered[601 * 24] = "", even[601 * 24] = "";
    for (size_t i = 0, at = 0, to = 0; i < 601; i++) {
        at += (size_t)snprintf(scattered + at, sizeof scattered - at, "%zu\n", i * i);
        to += (size_t)snprintf(even + to, sizeof even - to, "%zu\n", i);
    }
    write_text("scattered.csv", scattered);
    write_text("even.csv", even);
    write_text("cost.csv", "0,1,2\n1,0,1e13\n2,1e13,0\n");
    const struct {
        const char *arguments, *method;
    } cases[] = {
        {"--x even.csv --metric euclidean --epsilon 1", "certified"},
        {"--x scattered.csv --metric euclidean --epsilon 1 --max-iterations 3", "mirror"},
        {"--x scattered.csv --metric euclidean --epsilon 1 --max-iterations 3 --method certified",
         "certified"},
        {"--cost cost.csv --epsilon 1 --max-iterations 3", "mirror"},
        {"--x even.csv --metric euclidean --epsilon 1 --max-iterations 3 --trajectory t.csv",
         "mirror"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char arguments[256];
        (void)snprintf(arguments, sizeof arguments, "base-measure %s --out m.npy",
                       cases[i].arguments);
        json_t *result = expect_json(arguments, 0);
        cr_assert_str_eq(json_string_value(json_object_get(result, "method")), cases[i].method);
        json_decref(result);
    }
}

Test(base_measure, writes_a_side_file_and_a_trajectory)
{
    struct array course;
    struct dpot_error error = {""};
    json_t *result = expect_json(
        "base-measure --cost square.npy --epsilon 1 --max-iterations 300 --gap 0 --out m.npy "
        "--trajectory-out course.csv",
        0);
    json_t *side = json_load_file(folder_path("m.npy.json"), 0, NULL);
    cr_assert_not_null(side);
    cr_assert(json_equal(side, result));
    expect_first_line("course.csv", "iteration,iterate_objective,best_objective,average_objective,"
                                    "lower_bound\n");
    cr_assert_eq(array_read(folder_path("course.csv"), &course, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(course.n_cols, 5);
    cr_assert_eq(course.values[0], 1);
    const double *last = course.values + 5 * (course.n_rows - 1);
    cr_assert_eq(last[0], 300);
    cr_assert_eq(last[2], number_of(result, "best_objective"));
    cr_assert_eq(last[3], number_of(result, "average_objective"));
    array_release(&course);
    json_decref(side);
    json_decref(result);
}

Test(base_measure, takes_the_root_of_a_cost_matrix_with_a_given_power)
{
    json_t *plain = expect_json("base-measure --cost square.npy --epsilon 1 --out m.npy", 0);
    json_t *rooted =
        expect_json("base-measure --cost square.npy --power 2 --epsilon 1 --out m.npy", 0);
    const double objective = number_of(plain, "objective");
    cr_assert_eq(number_of(plain, "worst_case"), objective);
    cr_assert_eq(number_of(rooted, "objective"), objective);
    cr_assert_float_eq(number_of(rooted, "worst_case"), sqrt(objective), 1e-14);
    cr_assert_eq(number_of(plain, "k"), 4);
    cr_assert_eq(number_of(plain, "kv"), 3);
    expect_measure("m.npy", 3, number_of(plain, "total_mass"));
    json_decref(plain);
    json_decref(rooted);
}

Test(base_measure, minimises_the_weighted_mean)
{
    write_text("w.csv", "0.5\n0.5\n0\n0\n");
    write_text("counts.csv", "3\n3\n0\n0\n");
    json_t *worst = expect_json("base-measure --cost square.npy --epsilon 2 --out m.npy", 0);
    json_t *mean =
        expect_json("base-measure --cost square.npy --epsilon 2 --weights w.csv --out m.npy", 0);
    json_t *counts = expect_json("base-measure --cost square.npy --epsilon 2 --weights counts.csv "
                                 "--normalize --out m.npy",
                                 0);
    cr_assert_str_eq(text_of(worst, "minimises"), "worst_case");
    cr_assert_str_eq(text_of(mean, "minimises"), "weighted_mean");
    cr_assert_lt(number_of(mean, "objective"), number_of(worst, "objective"));
    cr_assert_gt(number_of(mean, "worst_case"), number_of(worst, "worst_case"));
    cr_assert_leq(number_of(mean, "lower_bound"), number_of(mean, "objective"));
    cr_assert_eq(number_of(counts, "objective"), number_of(mean, "objective"));
    json_decref(worst);
    json_decref(mean);
    json_decref(counts);
}

Test(base_measure, of_a_projection_is_read_back)
{
    write_text("mu.csv", "1\n0\n0\n0\n");
    json_t *base = expect_json("base-measure --cost square.npy --epsilon 1 --out m.npy", 0);
    json_t *projected = expect_json("project --mu mu.csv --cost square.npy --base-measure m.npy "
                                    "--epsilon 1 --exact --out q.npy",
                                    0);
    cr_assert_leq(number_of(projected, "transport_cost"), number_of(base, "objective") + 1e-12);
    json_decref(base);
    json_decref(projected);
}

/* 2,000 published steps from the largest mass ended at 4.80 here. */
Test(base_measure, mirror_is_never_worse_than_the_best_uniform_measure)
{
    const char *const others[] = {"--max-iterations 1", "--max-iterations 2000 --gap 0"};
    for (size_t i = 0; i < 2; i++) {
        char arguments[256];
        (void)snprintf(arguments, sizeof arguments,
                       "base-measure --x ring.csv --metric ring --ring-size 30 --epsilon 5 "
                       "--method mirror %s --out m.npy",
                       others[i]);
        json_t *result = expect_json(arguments, 0);
        cr_assert_leq(number_of(result, "objective"), number_of(result, "uniform_objective"));
        cr_assert_float_eq(number_of(result, "objective"), 1.1007684515676655, 1e-12);
        json_decref(result);
    }
}

Test(base_measure, refuses_a_wrong_command_line)
{
    const char *const cases[][2] = {
        {"--method best", "--method is best: choose certified, mirror, uniform or given"},
        {"--method given", "--given F and --method given go together"},
        {"--mix 0.5", "--mix goes with --users"},
        {"--mix-with uniform", "--mix-with goes with --users"},
        {"--max-seconds 0", "--max-seconds is 0"},
        {"--method certified --trajectory t.csv", "only mirror has a trajectory"},
        {"--epsilon 0", "--epsilon is 0"},
        {"--epsilon 101", "--epsilon is 101"},
        {"--epsilon nan", "--epsilon is nan"},
        {"--gap -1", "--gap is -1"},
        {"--max-iterations 0", "--max-iterations is 0"},
        {"--power 0", "--power is 0"},
        {"--metric ring", "--metric does not go with --cost"},
        {"--x ring.csv", "--x does not go with --cost"},
        {"--method uniform --trajectory t.csv", "only mirror has a trajectory"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char arguments[256];
        const char *epsilon = strstr(cases[c][0], "--epsilon") ? "" : " --epsilon 1";
        (void)snprintf(arguments, sizeof arguments,
                       "base-measure --cost square.npy --out m.npy %s%s", cases[c][0], epsilon);
        expect_exit(arguments, 2, cases[c][1]);
    }
    expect_exit("base-measure --cost square.npy --epsilon 1", 2, "--out is missing");
    expect_exit("base-measure --cost square.npy --out m.npy", 2, "--epsilon is missing");
    expect_exit("base-measure --epsilon 1 --out m.npy", 2, "there is no cost");
    expect_exit("base-measure --x ring.csv --epsilon 1 --out m.npy", 2, "--metric");
}

Test(base_measure, refuses_bad_data)
{
    write_text("nan.csv", "0,1\nnan,0\n");
    write_text("negative.csv", "0,1\n-1,0\n");
    write_text("short.csv", "0.5\n0.5\n");
    write_text("off.csv", "0.5\n0.5\n0.5\n0\n");
    write_text("minus.csv", "1.5\n-0.5\n0\n0\n");
    expect_exit("base-measure --cost nan.csv --epsilon 1 --out m.npy", 3, "row 2, column 1 is nan");
    expect_exit("base-measure --cost negative.csv --epsilon 1 --out m.npy", 3,
                "row 2, column 1 is -1");
    expect_exit("base-measure --cost square.npy --epsilon 1 --weights short.csv --out m.npy", 3,
                "2 weights for 4 points");
    expect_exit("base-measure --cost square.npy --epsilon 1 --weights off.csv --out m.npy", 3,
                "sum to 1.5");
    expect_exit("base-measure --cost square.npy --epsilon 1 --weights minus.csv --out m.npy", 3,
                "-0.5");
    expect_exit("base-measure --cost missing.npy --epsilon 1 --out m.npy", 6, "missing.npy");
    expect_exit("base-measure --cost square.npy --epsilon 1 --out nowhere/m.npy", 6, "nowhere");
}

/* On a line (not a ring) the bound of the uniform measure is trivial at a large epsilon. */
Test(base_measure, no_lower_bound_is_negative)
{
    static const char *const epsilons[] = {"1", "4", "20", "60"};
    for (size_t i = 0; i < 4; i++) {
        for (size_t is_mirror = 0; is_mirror < 2; is_mirror++) {
            char arguments[256];
            (void)snprintf(arguments, sizeof arguments,
                           "base-measure --x ring.csv --metric euclidean --epsilon %s --method %s "
                           "--out m.npy",
                           epsilons[i], is_mirror ? "mirror --max-iterations 2" : "uniform");
            json_t *result = expect_json(arguments, 0);
            cr_assert_geq(number_of(result, "lower_bound"), 0, "%s", arguments);
            cr_assert_leq(number_of(result, "relative_gap"), 1, "%s", arguments);
            json_decref(result);
        }
    }
}

Test(base_measure, has_help)
{
    expect_exit("base-measure --help", 0, "lower_bound (proved for every base measure");
}

Test(base_measure, a_run_that_reached_its_gap_has_no_advice_to_continue)
{
    struct process p;
    write_text("swap.csv", "0,1\n1,0\n");
    process_run(&p, "base-measure --method mirror --cost swap.csv --epsilon 1 --gap 0.01 --out "
                    "m.csv --quiet");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.out, "converged"), "%s", p.out);
    cr_assert_str_eq(p.err, "");
}

/* ---- certified, users and their certificates ---- */

static void make_users(void)
{
    write_text("users.csv", "0.5,0.5,0,0\n1,0,0,0\n0.25,0.75,0,0\n0.5,0.25,0.25,0\n"
                            "0.9,0.1,0,0\n0,1,0,0\n0.2,0.8,0,0\n0.6,0.4,0,0\n");
}

Test(base_measure, certified_proves_its_optimum_and_anyone_can_check_it)
{
    json_t *result =
        expect_json("base-measure --x ring.csv --metric euclidean --epsilon 2 --method certified "
                    "--out m.npy",
                    0);
    cr_assert_leq(number_of(result, "relative_gap"), 1e-6);
    cr_assert_eq(number_of(result, "row_orbits"), 15); /* a line is its own mirror image */
    cr_assert_str_eq(text_of(result, "minimises"), "worst_case");
    json_t *checked = expect_json("base-measure --verify m.npy", 0);
    cr_assert_str_eq(text_of(checked, "verdict"), "valid");
    cr_assert_float_eq(number_of(checked, "objective"), number_of(result, "objective"), 1e-12);
    cr_assert_float_eq(number_of(checked, "lower_bound"), number_of(result, "lower_bound"), 1e-12);
    json_decref(checked);
    checked = expect_json("base-measure --verify m.npy --x ring.csv --metric euclidean", 0);
    cr_assert_str_eq(text_of(checked, "verdict"), "valid");
    json_decref(checked);
    expect_exit("base-measure --verify m.npy --x ring.csv --metric ring --ring-size 30", 3,
                "do not belong together");
    json_decref(result);
}

Test(base_measure, an_altered_measure_or_certificate_is_refused)
{
    struct array dual;
    struct dpot_error error = {""};
    json_t *result =
        expect_json("base-measure --cost square.npy --epsilon 1 --method certified --out m.npy", 0);
    json_decref(result);
    cr_assert_eq(array_read(folder_path("m.npy.cert.npy"), &dual, &error), DPOT_OK, "%s",
                 error.text);
    cr_assert_eq(dual.n_rows, 8);
    dual.values[0] += 0.25;
    cr_assert_eq(array_write(folder_path("m.npy.cert.npy"), &dual, ARRAY_F8, &error), DPOT_OK);
    expect_exit("base-measure --verify m.npy", 3, "they prove nothing");
    dual.values[0] = -0.25;
    cr_assert_eq(array_write(folder_path("m.npy.cert.npy"), &dual, ARRAY_F8, &error), DPOT_OK);
    expect_exit("base-measure --verify m.npy", 3, "not negative");
    array_release(&dual);
    write_text("lone.csv", "1\n");
    expect_exit("base-measure --verify lone.csv", 6, "keep them together");
}

Test(base_measure, for_users_is_evaluated_on_held_out_users)
{
    make_users();
    json_t *result =
        expect_json("base-measure --cost square.npy --epsilon 1 --users users.csv --out m.npy", 0);
    cr_assert_str_eq(text_of(result, "method"), "certified");
    cr_assert_str_eq(text_of(result, "minimises"), "expected_cost");
    cr_assert_eq(number_of(result, "users"), 6);
    cr_assert_eq(number_of(result, "held_out_users"), 2);
    cr_assert_leq(number_of(result, "relative_gap"), 0.01);
    static const char *const keys[] = {"held_out_cost",
                                       "held_out_cost_error",
                                       "held_out_cost_95",
                                       "held_out_uniform_cost",
                                       "held_out_uniform_cost_error",
                                       "held_out_uniform_cost_95",
                                       "held_out_constant_cost",
                                       "constant_point",
                                       "share_worse_than_uniform",
                                       "measure_worst_cost",
                                       "uniform_worst_cost"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        cr_assert_geq(number_of(result, keys[i]), 0, "%s", keys[i]);
    }
    json_t *checked = expect_json("base-measure --verify m.npy", 0);
    cr_assert_float_eq(number_of(checked, "lower_bound"), number_of(result, "lower_bound"), 1e-12);
    json_decref(checked);
    json_decref(result);
}

Test(base_measure, mixes_towards_the_worst_case_and_towards_uniform)
{
    make_users();
    double worst[3], expected[3];
    static const char *const more[] = {"", " --mix 0.9", " --mix 0.9 --mix-with uniform"};
    for (size_t i = 0; i < 3; i++) {
        char arguments[256];
        (void)snprintf(arguments, sizeof arguments,
                       "base-measure --cost square.npy --epsilon 2 --users users.csv --held-out "
                       "users.csv --out m.npy%s",
                       more[i]);
        json_t *result = expect_json(arguments, 0);
        worst[i] = number_of(result, "worst_case");
        expected[i] = number_of(result, "held_out_cost"); /* of the same users */
        cr_assert_eq(number_of(result, "users"), 8);
        json_decref(result);
        json_decref(expect_json("base-measure --verify m.npy", 0));
    }
    cr_assert_lt(worst[1], worst[0]);
    cr_assert_lt(expected[0], expected[1]);
    cr_assert_lt(expected[0], expected[2]);
}

Test(base_measure, weights_have_a_certificate_too)
{
    write_text("w.csv", "0.5\n0.5\n0\n0\n");
    json_t *mirror = expect_json("base-measure --cost square.npy --epsilon 2 --weights w.csv "
                                 "--method mirror --gap 0 --max-iterations 20000 --out n.npy",
                                 0);
    json_t *result = expect_json("base-measure --cost square.npy --epsilon 2 --weights w.csv "
                                 "--method certified --out m.npy",
                                 0);
    cr_assert_str_eq(text_of(result, "minimises"), "weighted_mean");
    cr_assert_leq(number_of(result, "objective"), number_of(mirror, "objective") + 1e-9);
    cr_assert_leq(number_of(result, "relative_gap"), 1e-5);
    json_decref(expect_json("base-measure --verify m.npy", 0));
    json_decref(result);
    json_decref(mirror);
}

Test(base_measure, a_given_measure_gets_the_same_report)
{
    make_users();
    write_text("given.csv", "0.5\n0.25\n0.25\n");
    write_text("heavy.csv", "5\n5\n5\n");
    json_t *result = expect_json("base-measure --cost square.npy --epsilon 1 --given given.csv "
                                 "--held-out users.csv --out m.npy",
                                 0);
    cr_assert_eq(number_of(result, "held_out_users"), 8);
    cr_assert_eq(number_of(result, "lower_bound"), 0);
    cr_assert_gt(number_of(result, "held_out_cost"), 0);
    json_decref(result);
    expect_exit("base-measure --cost square.npy --epsilon 1 --given heavy.csv --out m.npy", 3,
                "total mass of --given is 15");
}

Test(base_measure, refuses_a_barrier_that_is_too_high)
{
    write_text("barrier.csv", "0,1,1e32\n1,0,1\n2,1,0\n");
    expect_exit("base-measure --cost barrier.csv --epsilon 1 --method certified --out m.npy", 3,
                "the largest cost is 1e+32");
}

/* 1e-20 of a user's mass is less than the exact method's smallest unit. */
Test(base_measure, for_users_negligible_masses_cost_nothing)
{
    write_text("line.csv", "0\n1\n2\n3\n");
    write_text("tiny.csv", "1,1e-20,1e-20,1e-20\n1,0,1e-20,0\n");
    write_text("clean.csv", "1,0,0,0\n1,0,0,0\n");
    write_text("quarter.csv", ".25\n.25\n.25\n.25\n");
    double costs[2];
    for (size_t i = 0; i < 2; i++) {
        char arguments[256];
        (void)snprintf(arguments, sizeof arguments,
                       "base-measure --x line.csv --metric euclidean --epsilon 2 --given "
                       "quarter.csv --held-out %s.csv --out g.npy",
                       i == 0 ? "tiny" : "clean");
        json_t *result = expect_json(arguments, 0);
        costs[i] = number_of(result, "held_out_cost");
        json_decref(result);
    }
    cr_assert_float_eq(costs[0], costs[1], 1e-12);
    json_t *result = expect_json("base-measure --x line.csv --metric euclidean --epsilon 2 --users "
                                 "tiny.csv --held-out clean.csv --mix 0.3 --out m.npy",
                                 0);
    cr_assert_geq(number_of(result, "objective"), number_of(result, "lower_bound"));
    cr_assert_gt(number_of(result, "lower_bound"), 0);
    json_decref(result);
    json_decref(expect_json("base-measure --verify m.npy", 0));
}

Test(base_measure, costs_of_zero_are_proved_also_when_users_and_the_worst_case_are_mixed)
{
    write_text("free.csv", "0,0\n0,0\n");
    write_text("two.csv", "0.5,0.5\n1,0\n");
    json_t *result = expect_json("base-measure --cost free.csv --epsilon 1 --users two.csv "
                                 "--held-out two.csv --mix 0.3 --out m.npy",
                                 0);
    cr_assert_eq(number_of(result, "objective"), 0);
    json_decref(result);
    json_decref(expect_json("base-measure --verify m.npy", 0));
}

/* Sets one key of the side file, of its inputs when `is_input`. */
static void edit_side_file(const char *name, bool is_input, const char *key, json_t *value)
{
    json_error_t error;
    json_t *side = json_load_file(folder_path(name), 0, &error);
    cr_assert_not_null(side);
    json_t *object = is_input ? json_object_get(side, "inputs") : side;
    cr_assert_eq(json_object_set_new(object, key, value), 0);
    cr_assert_eq(json_dump_file(side, folder_path(name), 0), 0);
    json_decref(side);
}

Test(base_measure, no_key_of_a_side_file_that_follows_from_the_rest_can_be_edited)
{
    static const char *const numbers[] = {"k",           "kv",           "epsilon",    "power",
                                          "users",       "objective",    "total_mass", "worst_case",
                                          "lower_bound", "relative_gap", "worst_share"};
    const char *const make =
        "base-measure --cost square.npy --epsilon 1 --users users.csv --out m.npy";
    make_users();
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        json_t *result = expect_json(make, 0);
        const double said = number_of(result, numbers[i]);
        edit_side_file("m.npy.json", false, numbers[i], json_real(0.9 * said + 1e-4));
        expect_exit("base-measure --verify m.npy", 3, "");
        edit_side_file("m.npy.json", false, numbers[i], json_real(said));
        json_decref(expect_json("base-measure --verify m.npy", 0));
        json_decref(result);
    }
    edit_side_file("m.npy.json", false, "minimises", json_string("worst_case"));
    expect_exit("base-measure --verify m.npy", 3, "\"worst_case\" for minimises");
    json_decref(expect_json(make, 0));
    edit_side_file("m.npy.json", false, "method", json_string("mirror"));
    expect_exit("base-measure --verify m.npy", 3, "\"mirror\" for method");
    json_decref(expect_json(make, 0));
    edit_side_file("m.npy.json", true, "colour", json_string("blue"));
    expect_exit("base-measure --verify m.npy", 3, "\"colour\", which is no input");
    json_decref(expect_json(make, 0));
    edit_side_file("m.npy.json", true, "epsilon", json_integer(1));
    expect_exit("base-measure --verify m.npy", 3, "inputs.epsilon of the side file");
}

Test(base_measure, inputs_of_a_certificate_are_found_beside_it)
{
    char arguments[1024];
    json_decref(expect_json(
        "base-measure --cost square.npy --epsilon 1 --method certified --out m.npy", 0));
    cr_assert_eq(mkdir(folder_path("away"), 0700), 0);
    cr_assert_eq(rename(folder_path("m.npy"), folder_path("away/m.npy")), 0);
    cr_assert_eq(rename(folder_path("m.npy.json"), folder_path("away/m.npy.json")), 0);
    cr_assert_eq(rename(folder_path("m.npy.cert.npy"), folder_path("away/m.npy.cert.npy")), 0);
    cr_assert_eq(rename(folder_path("square.npy"), folder_path("away/square.npy")), 0);
    (void)snprintf(arguments, sizeof arguments, "base-measure --verify away/m.npy");
    json_decref(expect_json(arguments, 0));
    cr_assert_eq(rename(folder_path("away/square.npy"), folder_path("elsewhere.npy")), 0);
    expect_exit("base-measure --verify away/m.npy", 6, "--cost F");
    json_decref(expect_json("base-measure --verify away/m.npy --cost elsewhere.npy", 0));
}

Test(base_measure, every_search_has_a_limit_of_time_and_a_given_measure_none)
{
    static const char *const methods[] = {"mirror", "uniform", "certified"};
    write_text("given.csv", "0.5\n0.25\n0.25\n");
    for (size_t i = 0; i < 3; i++) {
        char arguments[256];
        (void)snprintf(arguments, sizeof arguments,
                       "base-measure --cost square.npy --epsilon 1 --gap 0 --max-iterations "
                       "1000000000 --max-seconds 1e-9 --method %s --out m.npy",
                       methods[i]);
        json_t *result = expect_json(arguments, 0);
        cr_assert_str_eq(text_of(result, "outcome"), "deadline", "%s", methods[i]);
        json_decref(result);
    }
    expect_exit("base-measure --cost square.npy --epsilon 1 --given given.csv --max-seconds 1 "
                "--out m.npy",
                2, "--max-seconds is for a search");
    json_t *result =
        expect_json("base-measure --cost square.npy --epsilon 1 --given given.csv --out m.npy", 0);
    cr_assert_str_eq(text_of(result, "outcome"), "given");
    json_decref(result);
    write_text("short.csv", "0.5\n0.5\n");
    expect_exit("base-measure --cost square.npy --epsilon 1 --given short.csv --out m.npy", 3,
                "give one mass for each");
}
