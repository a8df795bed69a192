/* The certified base measure: golden optima, symmetry, hard inputs, and proofs on the original
 * costs. */
#include "vector.h"

#include "solve/base_measure/base_measure.h"
#include "solve/base_measure/certificate.h"
#include "solve/base_measure/lp.h"
#include "solve/base_measure/symmetry.h"
#include "support/clock.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void find_under(const struct vector *vector, double gap, const struct solve_control *control,
                       struct base_measure_answer *answer)
{
    struct dpot_error error = {""};
    const struct base_measure_problem problem = {.n_rows = vector->n_rows,
                                                 .n_cols = vector->n_cols,
                                                 .cost = vector->cost,
                                                 .epsilon = vector->epsilon,
                                                 .worst_share = 1,
                                                 .has_planes = true,
                                                 .gap = gap,
                                                 .max_rounds = 200,
                                                 .linalg = dpot_linalg_openblas()};
    cr_assert_eq(base_measure_find(&problem, control, answer, &error), DPOT_OK, "%s", error.text);
}

static void find(const struct vector *vector, double gap, struct base_measure_answer *answer)
{
    find_under(vector, gap, NULL, answer);
}

/* The value again, and a bound not above the golden one. */
static void expect_feasible_answer(const struct vector *vector,
                                   const struct base_measure_answer *answer)
{
    struct phi phi;
    vector_phi(vector, NULL, &phi);
    expect_feasible(&phi, answer->base_measure);
    const double value = phi_evaluate(&phi, answer->base_measure);
    cr_assert_float_eq(answer->objective, value, 1e-12 * value);
    cr_assert(answer->lower_bound >= 0 && answer->lower_bound <= value);
    phi_release(&phi);
}

/* The bound and the value again, by phi, which shares no code with the certificate. */
static void expect_proof(const struct vector *vector, const struct base_measure_answer *answer)
{
    struct phi phi;
    double *gradient = calloc(vector->n_cols, sizeof *gradient);
    vector_phi(vector, NULL, &phi);
    expect_feasible(&phi, answer->base_measure);
    const double value = phi_evaluate(&phi, answer->base_measure);
    const double offset = phi_minorant(&phi, answer->w, answer->y, gradient);
    const double bound = phi_minorant_least(&phi, offset, gradient);
    cr_assert_float_eq(total_of(answer->w, vector->n_rows), 1, 1e-9);
    /* Two ways to round sums in which the largest cost may stand. */
    const double rounding = 4e-16 * phi.cost_max;
    cr_assert_float_eq(answer->objective, value, 1e-12 * value + rounding);
    cr_assert_float_eq(answer->lower_bound, bound, 1e-9 * value + rounding);
    cr_assert_leq(answer->lower_bound, value);
    phi_release(&phi);
    free(gradient);
}

Test(certified, reaches_the_golden_optima)
{
    static const char *const names[] = {"b01_ring30_p1_eps1", "b01_ring30_p2_eps5",
                                        "b02_line40_p1_eps2", "b05_mismatch_p1_eps1", "b08_eps12"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct vector vector;
        struct base_measure_answer answer;
        vector_load(&vector, names[i]);
        find(&vector, 1e-10, &answer);
        const double upper = vector_number(vector.reference, "f_star_upper");
        const double lower = vector_number(vector.reference, "f_star_lower");
        cr_assert_leq(answer.objective, upper * (1 + 1e-9), "%s", names[i]);
        cr_assert_geq(answer.objective, lower * (1 - 1e-10), "%s", names[i]);
        cr_assert_leq(answer.lower_bound, upper, "%s", names[i]);
        cr_assert_geq(answer.lower_bound, lower * (1 - 1e-8), "%s", names[i]);
        expect_proof(&vector, &answer);
        base_measure_answer_release(&answer);
        vector_release(&vector);
    }
}

Test(certified, ties_the_masses_of_a_square_grid_and_proves_it_on_all_costs)
{
    struct vector vector;
    struct base_measure_answer answer;
    vector_grid(&vector, 10, 1, 4);
    find(&vector, 1e-9, &answer);
    cr_assert_eq(answer.n_row_orbits, 15);
    cr_assert_eq(answer.n_col_orbits, 15);
    cr_assert_leq(answer.deviation, 1e-15);
    cr_assert_float_eq(answer.objective, 0.22367991504440532, 1e-9); /* golden optimum.py 10 1 4 */
    cr_assert_float_eq(answer.lower_bound, 0.22367991504440532, 1e-9);
    expect_proof(&vector, &answer);
    base_measure_answer_release(&answer);
    vector_release(&vector);
}

Test(certified, finds_the_same_optimum_without_the_symmetry)
{
    struct vector vector;
    struct base_measure_answer tied, untied;
    vector_grid(&vector, 6, 1, 3);
    find(&vector, 1e-10, &tied);
    vector.cost[1] *= 1 + 1e-9; /* breaks the symmetry without changing the optimum */
    find(&vector, 1e-10, &untied);
    cr_assert_eq(tied.n_col_orbits, 6);
    cr_assert_eq(untied.n_col_orbits, 36);
    cr_assert_float_eq(tied.objective, untied.objective, 1e-8);
    cr_assert_leq(untied.lower_bound, untied.objective);
    expect_proof(&vector, &untied);
    base_measure_answer_release(&tied);
    base_measure_answer_release(&untied);
    vector_release(&vector);
}

Test(certified, of_random_problems_is_proved_to_the_gap)
{
    uint64_t state = 5;
    const size_t shapes[][2] = {{1, 1}, {1, 7}, {7, 1}, {5, 9}, {12, 4}, {30, 30}};
    const double epsilons[] = {0.01, 1, 4, 20};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (size_t e = 0; e < 4; e++) {
            struct vector vector;
            struct base_measure_answer answer;
            vector_random(&vector, shapes[s][0], shapes[s][1], epsilons[e], &state);
            find(&vector, 1e-6, &answer);
            expect_proof(&vector, &answer);
            cr_assert_leq(answer.objective - answer.lower_bound, 2e-6 * answer.objective + 1e-12,
                          "%zu x %zu, epsilon %g: %g above %g", shapes[s][0], shapes[s][1],
                          epsilons[e], answer.objective, answer.lower_bound);
            base_measure_answer_release(&answer);
            vector_release(&vector);
        }
    }
}

Test(certified, does_not_depend_on_the_number_of_threads_or_the_backend_beyond_rounding)
{
    struct vector vector;
    struct base_measure_answer one, four;
    struct team *team = NULL;
    struct dpot_error error = {""};
    uint64_t state = 11;
    vector_random(&vector, 40, 25, 2, &state);
    find(&vector, 1e-9, &one);
    cr_assert_eq(team_new(4, &team), DPOT_OK);
    const struct base_measure_problem problem = {.n_rows = 40,
                                                 .n_cols = 25,
                                                 .cost = vector.cost,
                                                 .epsilon = 2,
                                                 .worst_share = 1,
                                                 .has_planes = true,
                                                 .gap = 1e-9,
                                                 .max_rounds = 200,
                                                 .team = team,
                                                 .linalg = dpot_linalg_openblas()};
    cr_assert_eq(base_measure_find(&problem, NULL, &four, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(memcmp(one.base_measure, four.base_measure, 25 * sizeof(double)), 0);
    cr_assert_eq(one.objective, four.objective);
    team_free(team);
    base_measure_answer_release(&one);
    base_measure_answer_release(&four);
    vector_release(&vector);
}

Test(certified, costs_of_zero_need_no_proof)
{
    double cost[12] = {0};
    struct vector vector = {.n_rows = 4, .n_cols = 3, .epsilon = 1, .cost = cost};
    struct base_measure_answer answer;
    find(&vector, 1e-6, &answer);
    cr_assert_eq(answer.objective, 0);
    cr_assert_eq(answer.lower_bound, 0);
    base_measure_answer_release(&answer);
}

Test(certified, refuses_barriers_before_any_work_and_names_the_limit)
{
    double cost[9] = {0, 1, 2, 1, 0, 1e32, 2, 1, 0};
    struct base_measure_answer answer;
    struct dpot_error error = {""};
    const struct base_measure_problem problem = {.n_rows = 3,
                                                 .n_cols = 3,
                                                 .cost = cost,
                                                 .epsilon = 1,
                                                 .worst_share = 1,
                                                 .has_planes = true,
                                                 .gap = 1e-6,
                                                 .max_rounds = 10,
                                                 .linalg = dpot_linalg_openblas()};
    cr_assert_eq(base_measure_find(&problem, NULL, &answer, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "the largest cost is 1e+32"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "1e+12 times"), "%s", error.text);
    cr_assert_null(answer.base_measure);
}

Test(certified, avoids_a_forbidden_pair_when_possible)
{
    double cost[9] = {0, 1, 2, 1, 0, 1e9, 2, 1, 0};
    struct vector vector = {.n_rows = 3, .n_cols = 3, .epsilon = 1, .cost = cost};
    struct base_measure_answer answer;
    find(&vector, 1e-6, &answer);
    cr_assert_lt(answer.objective, 10);
    expect_proof(&vector, &answer);
    cr_assert_leq(answer.objective - answer.lower_bound, 1e-5 * answer.objective);
    base_measure_answer_release(&answer);
}

Test(certified, takes_asymmetric_costs_and_points_that_coincide)
{
    double cost[16] = {0, 0, 3, 7, 0, 0, 3, 7, 5, 5, 0, 1, 2, 2, 9, 0};
    struct vector vector = {.n_rows = 4, .n_cols = 4, .epsilon = 2, .cost = cost};
    struct base_measure_answer answer;
    find(&vector, 1e-9, &answer);
    expect_proof(&vector, &answer);
    cr_assert_leq(answer.objective - answer.lower_bound, 1e-8 * answer.objective);
    base_measure_answer_release(&answer);
}

/* ---- symmetry ---- */

static void expect_orbits(const struct vector *vector, size_t n_orbits)
{
    struct symmetry symmetry;
    cr_assert_eq(symmetry_find(vector->cost, vector->n_rows, vector->n_cols, NULL, NULL, &symmetry),
                 DPOT_OK);
    cr_assert_eq(symmetry.n_row_orbits, n_orbits);
    cr_assert_eq(symmetry.n_col_orbits, n_orbits);
    size_t n_members = 0;
    for (size_t o = 0; o < symmetry.n_row_orbits; o++) {
        cr_assert_eq(symmetry.row_orbit[symmetry.row_first[o]], o);
        n_members += symmetry.row_size[o];
    }
    cr_assert_eq(n_members, vector->n_rows);
    symmetry_release(&symmetry);
}

Test(symmetry, a_ring_is_one_orbit_and_a_square_grid_an_eighth)
{
    struct vector vector;
    vector_ring(&vector, 30, 2, 1);
    expect_orbits(&vector, 1);
    vector_release(&vector);
    vector_grid(&vector, 20, 1, 1);
    expect_orbits(&vector, 55);
    vector_release(&vector);
    vector_grid(&vector, 7, 2, 1);
    expect_orbits(&vector, 10);
    vector_release(&vector);
}

Test(symmetry, one_different_cost_breaks_it)
{
    struct vector vector;
    vector_ring(&vector, 12, 1, 1);
    vector.cost[5 * 12 + 7] *= 1 + 1e-10;
    expect_orbits(&vector, 12);
    vector_release(&vector);
}

Test(symmetry, rounding_in_the_last_bit_does_not_break_it)
{
    struct vector vector;
    vector_ring(&vector, 12, 1, 1);
    vector.cost[5 * 12 + 7] = nextafter(vector.cost[5 * 12 + 7], 100);
    expect_orbits(&vector, 1);
    vector_release(&vector);
}

Test(symmetry, a_stop_leaves_a_valid_symmetry)
{
    struct vector vector;
    struct symmetry symmetry;
    atomic_bool cancel = true;
    const struct solve_control control = {.cancel = &cancel};
    vector_ring(&vector, 30, 2, 1);
    cr_assert_eq(symmetry_find(vector.cost, 30, 30, &control, NULL, &symmetry), DPOT_OK);
    cr_assert_eq(symmetry.n_generators, 0);
    cr_assert_eq(symmetry.n_row_orbits, 30);
    cr_assert_eq(symmetry.n_col_orbits, 30);
    symmetry_release(&symmetry);
    vector_release(&vector);
}

/* ---- a deadline ---- */

/* Each reading of the clock takes 30 ms, as if a row did: the proof of 36 rows needs more than a
 * second, which the search has to reserve. So it ends at once, long before the deadline. */
Test(certified, reserves_time_for_the_proof)
{
    struct vector vector;
    struct base_measure_answer answer;
    struct test_clock clock;
    test_clock_init(&clock, 0);
    clock.step_ms = 30;
    const struct solve_control control = {.clock = &clock.clock, .deadline_ms = 1000};
    vector_grid(&vector, 6, 1, 3);
    find_under(&vector, 1e-9, &control, &answer);
    cr_assert_eq(answer.outcome, SOLVE_DEADLINE);
    cr_assert_eq(answer.n_col_orbits, 36, "there was no time for symmetries");
    cr_assert_lt(clock.now_ms, 1000);
    expect_feasible_answer(&vector, &answer);
    base_measure_answer_release(&answer);
    vector_release(&vector);
}

/* ---- certificates ---- */

Test(certificate, takes_no_objective_below_zero_or_below_its_bound)
{
    const double cost[4] = {0, 1, 1, 0};
    const struct base_measure_certificate certificate = {
        .n_rows = 2, .n_cols = 2, .cost = cost, .epsilon = 1, .worst_share = 1};
    struct dpot_error error = {""};
    double negative = -1.04, low = 0.4, rounded = -1e-17, good = 0.5;
    cr_assert_eq(base_measure_certificate_accept(&certificate, 0, &negative, &error),
                 DPOT_ERR_STATE);
    cr_assert_not_null(strstr(error.text, "-1.04"));
    cr_assert_eq(base_measure_certificate_accept(&certificate, 0.5, &low, &error), DPOT_ERR_STATE);
    cr_assert_eq(base_measure_certificate_accept(&certificate, 0, &rounded, &error), DPOT_OK);
    cr_assert_eq(rounded, 0);
    cr_assert_eq(base_measure_certificate_accept(&certificate, 0.5 + 1e-15, &good, &error),
                 DPOT_OK);
    cr_assert_eq(good, 0.5);
}

Test(certificate, refuses_weights_that_prove_nothing)
{
    const double cost[4] = {0, 1, 1, 0}, y[2] = {0.1, 0.1};
    const double off[2] = {0.5, 0.6}, negative[2] = {1.5, -0.5}, nan[2] = {0.5, (double)NAN};
    const double *const bad[] = {off, negative, nan};
    for (size_t i = 0; i < 3; i++) {
        const struct base_measure_certificate certificate = {.n_rows = 2,
                                                             .n_cols = 2,
                                                             .cost = cost,
                                                             .epsilon = 1,
                                                             .worst_share = 1,
                                                             .w = bad[i],
                                                             .y = y};
        struct dpot_error error = {""};
        double bound = 0;
        cr_assert_eq(base_measure_certificate_bound(&certificate, &bound, &error), DPOT_ERR_RANGE);
        cr_assert_not_null(strstr(error.text, "weight"), "%s", error.text);
    }
}

/* ---- the linear program ---- */

/* min max(2 - x0, 1 + x0 - x1) with 1 <= x0 + x1 <= 2: x = (1/3 + ..) by hand: both meet at x1 = 2
 * - x0, 2 - x0 = 1 + x0 - 2 + x0, x0 = 1, value 1. */
Test(base_measure_lp, solves_a_case_done_by_hand)
{
    struct base_measure_lp *lp = NULL;
    const double omega = 1;
    const struct base_measure_lp_config config = {.n_points = 2,
                                                  .n_groups = 1,
                                                  .group_weights = &omega,
                                                  .mass_min = 1,
                                                  .mass_max = 2,
                                                  .perturbation = 1e-9};
    double x[2], w[2];
    bool is_optimal = false;
    cr_assert_eq(base_measure_lp_new(&config, &lp), DPOT_OK);
    cr_assert_eq(base_measure_lp_add(lp, 0, 2, (const double[2]){-1, 0}), DPOT_OK);
    cr_assert_eq(base_measure_lp_add(lp, 0, 1, (const double[2]){1, -1}), DPOT_OK);
    base_measure_lp_solve(lp, NULL, &is_optimal);
    cr_assert(is_optimal);
    cr_assert_float_eq(base_measure_lp_level(lp, 0), 1, 1e-7);
    base_measure_lp_point(lp, x);
    cr_assert_float_eq(x[0], 1, 1e-7);
    cr_assert_float_eq(x[1], 1, 1e-7);
    base_measure_lp_weights(lp, false, w);
    cr_assert_float_eq(w[0], 2.0 / 3, 1e-12);
    cr_assert_float_eq(w[1], 1.0 / 3, 1e-12);
    base_measure_lp_free(lp);
}
