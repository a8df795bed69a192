/* Barycenters with free atoms: optimality, refusals, and projections. */
#include "crowd.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- against all couplings ---- */

/* The six ways to assign two of four points to the first of two atoms. */
static const unsigned halves[6] = {3, 5, 9, 6, 10, 12};

/* The least cost over all couplings of groups of four points to two atoms: with equal weights
 * extreme plans give each atom two points of a group, and the atoms are the weighted means. */
static double enumerate(const struct barycenter_problem *problem, double atoms[4])
{
    size_t n_choices = 1;
    double best = INFINITY;
    for (size_t i = 0; i < problem->n_groups; i++) {
        n_choices *= 6;
    }
    for (size_t choice = 0; choice < n_choices; choice++) {
        double x[4] = {0}, squares = 0;
        for (size_t i = 0, rest = choice; i < problem->n_groups; i++, rest /= 6) {
            const double w =
                problem->group_weights ? problem->group_weights[i] : 1 / (double)problem->n_groups;
            for (size_t l = 0; l < 4; l++) {
                const double *y = problem->groups[i].points + 2 * l;
                double *atom = x + (halves[rest % 6] >> l & 1u ? 0 : 2);
                atom[0] += w * y[0] / 2;
                atom[1] += w * y[1] / 2;
                squares += w * (y[0] * y[0] + y[1] * y[1]) / 4;
            }
        }
        const double cost = squares - (x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]) / 2;
        if (cost < best) {
            best = cost;
            memcpy(atoms, x, 4 * sizeof *x);
        }
    }
    return best;
}

Test(barycenter, several_starts_find_the_least_cost_of_all_couplings)
{
    for (int trial = 0; trial < 30; trial++) {
        const size_t k = 1 + (size_t)trial % 4;
        const double weights[4][4] = {{1}, {0.2, 0.8}, {0.1, 0.3, 0.6}, {0.4, 0.3, 0.2, 0.1}};
        struct point_set groups[4];
        for (size_t i = 0; i < k; i++) {
            groups[i] = (struct point_set){.n = 4, .points = random_points(4, 2, 0)};
        }
        const struct barycenter_problem problem = {k, 2, groups, weights[k - 1]};
        struct barycenter_options options = exact_options(2);
        struct barycenter_result result;
        double atoms[4];
        options.n_starts = 60;
        options.seed = (uint64_t)trial;
        solve(&problem, &options, &result);
        const double expected = enumerate(&problem, atoms);
        cr_assert_float_eq(cost_of(&problem, &result), expected, 1e-12, "trial %d", trial);
        cr_assert_float_eq(result.start_costs[result.best_start], expected, 1e-12);
        cr_assert_leq(bound_of(&problem, BARYCENTER_BOUND_PAIRS), expected + 1e-12);
        cr_assert_leq(bound_of(&problem, BARYCENTER_BOUND_MOMENTS),
                      bound_of(&problem, BARYCENTER_BOUND_PAIRS) + 1e-12);
        barycenter_result_release(&result);
        for (size_t i = 0; i < k; i++) {
            free((void *)groups[i].points);
        }
    }
}

/* The square, whose pairings tie, and one group of fifty with one corner moved along one side or
 * the other: the optimum turns by a quarter (the counterexample to 003, Theorem 4.1). */
Test(barycenter, one_record_of_two_hundred_turns_the_exact_optimum)
{
    enum { K = 50 };
    const double h = 0.35355339059327373, d = 0.05;
    const double square[8] = {h, h, h, -h, -h, h, -h, -h};
    const double starts[2][4] = {{0.3, 0, -0.3, 0}, {0, 0.3, 0, -0.3}};
    for (int side = 0; side < 2; side++) {
        double moved[8], costs[2];
        struct point_set groups[K];
        memcpy(moved, square, sizeof moved);
        moved[side == 0 ? 1 : 0] = h - d;
        for (size_t i = 0; i < K; i++) {
            groups[i] = (struct point_set){.n = 4, .points = i == 0 ? moved : square};
        }
        const struct barycenter_problem problem = {K, 2, groups, NULL};
        for (int start = 0; start < 2; start++) {
            struct barycenter_options options = exact_options(2);
            struct barycenter_result result;
            options.init = starts[start];
            solve(&problem, &options, &result);
            cr_assert_eq(result.outcome, SOLVE_CONVERGED);
            costs[start] = cost_of(&problem, &result);
            const double *x = result.support;
            const int along = start; /* the atoms stay on the axis where they began */
            cr_assert_float_eq(fabs(x[along]), h, d, "%g %g", x[0], x[1]);
            cr_assert_float_eq(x[1 - along], 0, d);
            barycenter_result_release(&result);
        }
        cr_assert_lt(costs[side], costs[1 - side], "side %d: %.17g against %.17g", side,
                     costs[side], costs[1 - side]);
    }
}

/* ---- weights and groups ---- */

Test(barycenter, of_single_points_is_their_weighted_mean_whatever_the_method)
{
    const double a[2] = {1, 5}, b[2] = {3, -1}, w[2] = {0.25, 0.75};
    const struct point_set groups[2] = {{1, a, NULL}, {1, b, NULL}};
    const struct barycenter_problem problem = {2, 2, groups, w};
    for (int method = 0; method < 2; method++) {
        const struct barycenter_options options =
            method ? sinkhorn_options(5, 0.1) : exact_options(5);
        struct barycenter_result result;
        solve(&problem, &options, &result);
        for (size_t j = 0; j < 5; j++) {
            cr_assert_float_eq(result.support[2 * j], 2.5, 1e-9);
            cr_assert_float_eq(result.support[2 * j + 1], 0.5, 1e-9);
            cr_assert_float_eq(result.weights[j], 0.2, 1e-15);
        }
        const double expected = 0.25 * 0.75 * (4 + 36);
        cr_assert_float_eq(cost_of(&problem, &result), expected, 1e-9);
        cr_assert_float_eq(result.one_point_cost, expected, 1e-9);
        cr_assert_float_eq(bound_of(&problem, BARYCENTER_BOUND_PAIRS), expected, 1e-9);
        cr_assert_float_eq(bound_of(&problem, BARYCENTER_BOUND_MOMENTS), expected, 1e-9);
        barycenter_result_release(&result);
    }
}

Test(barycenter, a_group_of_weight_zero_and_points_of_mass_zero_change_no_bit)
{
    double *x = random_points(30, 3, 0), *y = random_points(20, 3, 1);
    double mass[20];
    for (size_t l = 0; l < 20; l++) {
        mass[l] = l < 10 ? 0.1 : 0;
    }
    const double far[3] = {1e9, 0, 0}, w[3] = {0.3, 0, 0.7}, w2[2] = {0.3, 0.7};
    const struct point_set three[3] = {{30, x, NULL}, {1, far, NULL}, {20, y, mass}};
    const struct point_set two[2] = {{30, x, NULL}, {10, y, NULL}};
    const struct barycenter_problem with = {3, 3, three, w}, without = {2, 3, two, w2};
    for (int method = 0; method < 2; method++) {
        const struct barycenter_options options =
            method ? sinkhorn_options(4, 0.05) : exact_options(4);
        struct barycenter_result a, b;
        solve(&with, &options, &a);
        solve(&without, &options, &b);
        cr_assert_eq(a.iterations, b.iterations);
        for (size_t k = 0; k < 12; k++) {
            cr_assert_float_eq(a.support[k], b.support[k], 1e-9);
        }
        cr_assert_float_eq(cost_of(&with, &a), cost_of(&without, &b), 1e-9);
        barycenter_result_release(&a);
        barycenter_result_release(&b);
    }
    free(x);
    free(y);
}

Test(barycenter, identical_groups_are_one_group)
{
    double *x = random_points(40, 2, 0);
    const struct point_set groups[3] = {{40, x, NULL}, {40, x, NULL}, {40, x, NULL}};
    const struct barycenter_problem three = {3, 2, groups, NULL}, one = {1, 2, groups, NULL};
    const struct barycenter_options options = exact_options(40);
    struct barycenter_result result;
    solve(&three, &options, &result);
    cr_assert_float_eq(bound_of(&three, BARYCENTER_BOUND_PAIRS), 0, 1e-15);
    cr_assert_leq(bound_of(&three, BARYCENTER_BOUND_MOMENTS), 1e-15);
    cr_assert_float_eq(cost_of(&three, &result), cost_of(&one, &result), 1e-14);
    barycenter_result_release(&result);
    free(x);
}

Test(barycenter, of_shifted_copies_reaches_the_bound_of_pairs)
{
    enum { N = 12 };
    double *x = random_points(N, 2, 0), *y = random_points(N, 2, 0);
    const double w[2] = {0.4, 0.6};
    for (size_t k = 0; k < 2 * N; k++) {
        y[k] = x[k] + (k % 2 ? 5 : -3);
    }
    const struct point_set groups[2] = {{N, x, NULL}, {N, y, NULL}};
    const struct barycenter_problem problem = {2, 2, groups, w};
    struct barycenter_options options = exact_options(N);
    struct barycenter_result result;
    options.n_starts = 50;
    solve(&problem, &options, &result);
    const double expected = 0.24 * (25 + 9);
    cr_assert_float_eq(bound_of(&problem, BARYCENTER_BOUND_PAIRS), expected, 1e-12);
    cr_assert_float_eq(bound_of(&problem, BARYCENTER_BOUND_MOMENTS), expected, 1e-6);
    cr_assert_geq(cost_of(&problem, &result), expected - 1e-12);
    cr_assert_leq(cost_of(&problem, &result), 1.01 * expected);
    barycenter_result_release(&result);
    free(x);
    free(y);
}

/* ---- weights that are optimised ---- */

Test(barycenter, optimised_weights_are_the_masses_of_clusters)
{
    enum { N = 40 };
    double *x = random_points(N, 2, 0);
    const double start[4] = {0.5, 0.5, 3.2, 0.3};
    for (size_t l = 28; l < N; l++) {
        x[2 * l] += 3;
    }
    const struct point_set group = {N, x, NULL};
    const struct barycenter_problem problem = {1, 2, &group, NULL};
    for (int method = 0; method < 2; method++) {
        struct barycenter_options options = method ? sinkhorn_options(2, 0.5) : exact_options(2);
        struct barycenter_result result;
        options.init = start;
        options.moves_weights = true;
        options.tol = 1e-7;
        options.inner_iterations = 2000;
        options.inner_tol = 1e-8;
        solve(&problem, &options, &result);
        cr_assert_float_eq(result.weights[0], 0.7, 1e-3, "%g", result.weights[0]);
        cr_assert_float_eq(result.weights[0] + result.weights[1], 1, 1e-14);
        barycenter_result_release(&result);
    }
    free(x);
}

Test(barycenter, optimised_weights_never_cost_more_than_equal_ones)
{
    for (int trial = 0; trial < 6; trial++) {
        struct crowd crowd;
        crowd_init(&crowd, 40, 2, 0);
        struct barycenter_options options = exact_options(5);
        struct barycenter_result equal, optimised;
        options.seed = (uint64_t)trial;
        solve(&crowd.problem, &options, &equal);
        options.init = equal.support;
        options.moves_weights = true;
        solve(&crowd.problem, &options, &optimised);
        cr_assert_leq(cost_of(&crowd.problem, &optimised), cost_of(&crowd.problem, &equal) + 1e-13);
        cr_assert_lt(cost_of(&crowd.problem, &optimised), 0.9999 * cost_of(&crowd.problem, &equal));
        barycenter_result_release(&equal);
        barycenter_result_release(&optimised);
        crowd_release(&crowd);
    }
}

/* ---- projections to few dimensions ---- */

/* Four clusters in the first two of forty coordinates. */
static void fill_clusters(double *points, size_t n)
{
    for (size_t k = 0; k < n * 40; k++) {
        const size_t l = k / 40, c = k % 40;
        points[k] = 0.01 * uniform() + (c == 0 ? (l % 4 < 2 ? 1.0 : -1.0) : 0.0) +
                    (c == 1 ? (l % 2 ? 1.0 : -1.0) : 0.0);
    }
}

Test(barycenter, a_projection_finds_the_support_in_the_full_space)
{
    enum { N = 40, M = 4 };
    double *x = calloc(N * 40, sizeof *x), *y = calloc(N * 40, sizeof *y);
    const double w[2] = {0.3, 0.7};
    fill_clusters(x, N);
    fill_clusters(y, N);
    const struct point_set groups[2] = {{N, x, NULL}, {N, y, NULL}};
    const struct barycenter_problem problem = {2, 40, groups, w};
    struct barycenter_options options = exact_options(M);
    options.n_starts = 10;
    for (int method = 0; method < 2; method++) {
        struct barycenter_result result;
        struct barycenter_projected projected;
        struct dpot_error error = {""};
        if (method) {
            options = sinkhorn_options(M, 0.02);
            options.n_starts = 10;
        }
        cr_assert_eq(
            barycenter_solve_projected(&problem, 6, &options, NULL, &result, &projected, &error),
            DPOT_OK, "%s", error.text);
        cr_assert_eq(result.dim, 40);
        const double cost = cost_of(&problem, &result);
        cr_assert_lt(cost, 0.01, "%g", cost);
        cr_assert_leq(cost, projected.solution_cost + 1e-12);
        cr_assert_float_eq(cost, projected.solution_cost, 1e-9);
        for (size_t j = 0; j < M; j++) {
            cr_assert_float_eq(fabs(result.support[j * 40]), 1, 0.02);
            cr_assert_float_eq(fabs(result.support[j * 40 + 1]), 1, 0.02);
            cr_assert_float_eq(result.support[j * 40 + 7], 0.005, 0.006);
        }
        barycenter_result_release(&result);
    }
    free(x);
    free(y);
}

Test(barycenter, a_projection_to_no_dimension_or_to_more_is_refused)
{
    const double x[4] = {0, 1, 2, 3};
    const struct point_set group = {2, x, NULL};
    const struct barycenter_problem problem = {1, 2, &group, NULL};
    const struct barycenter_options options = exact_options(1);
    struct barycenter_result result;
    struct barycenter_projected projected;
    struct dpot_error error = {""};
    cr_assert_eq(
        barycenter_solve_projected(&problem, 0, &options, NULL, &result, &projected, &error),
        DPOT_ERR_RANGE);
    cr_assert_eq(
        barycenter_solve_projected(&problem, 3, &options, NULL, &result, &projected, &error),
        DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "3 of 2"), "%s", error.text);
}

/* ---- refusals ---- */

static void check_refusal(const struct barycenter_problem *problem,
                          const struct barycenter_options *options, dpot_status status,
                          const char *word)
{
    struct barycenter_result result;
    struct dpot_error error = {""};
    cr_assert_eq(barycenter_solve(problem, options, NULL, &result, &error), status, "%s: %s", word,
                 error.text);
    cr_assert(strstr(error.text, word), "\"%s\" does not name %s", error.text, word);
    cr_assert_null(result.support);
}

Test(barycenter, wrong_problems_are_refused_with_what_is_wrong)
{
    const double x[4] = {0, 1, 2, 3}, bad[4] = {0, NAN, 2, 3}, negative[2] = {1.5, -0.5},
                 half[2] = {0.25, 0.25}, equal[2] = {0.5, 0.5}, nothing[2] = {0, 0};
    struct point_set groups[2] = {{2, x, NULL}, {2, x, NULL}};
    struct barycenter_problem problem = {2, 2, groups, NULL};
    struct barycenter_options options = exact_options(2);
    problem.group_weights = negative;
    check_refusal(&problem, &options, DPOT_ERR_RANGE, "group weight 2 is -0.5");
    problem.group_weights = half;
    check_refusal(&problem, &options, DPOT_ERR_RANGE, "sum to 0.5");
    problem.group_weights = nothing;
    check_refusal(&problem, &options, DPOT_ERR_RANGE, "sum to 0,");
    problem.group_weights = equal;
    groups[1].n = 0;
    check_refusal(&problem, &options, DPOT_ERR_SHAPE, "group 2 is empty");
    groups[1] = (struct point_set){2, bad, NULL};
    check_refusal(&problem, &options, DPOT_ERR_RANGE, "group 2, point 1, coordinate 2 is");
    groups[1] = (struct point_set){2, x, negative};
    check_refusal(&problem, &options, DPOT_ERR_RANGE, "point 2 has weight -0.5");
    groups[1] = (struct point_set){2, x, half};
    check_refusal(&problem, &options, DPOT_ERR_RANGE, "weights of group 2 sum to 0.5");
    groups[1] = (struct point_set){2, x, NULL};
    options.init = bad;
    check_refusal(&problem, &options, DPOT_ERR_RANGE, "starting point 1, coordinate 2");
    options = exact_options(0);
    check_refusal(&problem, &options, DPOT_ERR_RANGE, "support of 0");
    options = exact_options(2);
    options.tol = -1;
    check_refusal(&problem, &options, DPOT_ERR_RANGE, "tolerance -1");
    options = sinkhorn_options(2, 0);
    check_refusal(&problem, &options, DPOT_ERR_RANGE, "lambda is 0");
    options = sinkhorn_options(2, 1e-300);
    check_refusal(&problem, &options, DPOT_ERR_RANGE, "lambda");
    problem.n_groups = 0;
    options = exact_options(2);
    check_refusal(&problem, &options, DPOT_ERR_SHAPE, "0 groups");
}

Test(barycenter, more_atoms_than_points_is_no_error)
{
    const double x[2] = {0, 1}, y[3] = {0, 1, 2};
    const struct point_set groups[2] = {{2, x, NULL}, {3, y, NULL}};
    const struct barycenter_problem problem = {2, 1, groups, NULL};
    for (int method = 0; method < 2; method++) {
        struct barycenter_options options = method ? sinkhorn_options(12, 0.02) : exact_options(12);
        struct barycenter_result result;
        options.n_starts = method ? 4 : 20;
        options.inner_iterations = 1000;
        options.inner_tol = 1e-8;
        solve(&problem, &options, &result);
        const double bound = bound_of(&problem, BARYCENTER_BOUND_PAIRS);
        cr_assert_geq(cost_of(&problem, &result), bound - 1e-12);
        cr_assert_leq(cost_of(&problem, &result), bound + (method ? 0.05 : 1e-9));
        barycenter_result_release(&result);
    }
}
