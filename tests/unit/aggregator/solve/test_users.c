/* Base measures for given users: projections, their duals, descent, planes, and the report. */
#include "vector.h"

#include "ot/network_simplex.h"
#include "solve/base_measure/base_measure.h"
#include "solve/base_measure/certificate.h"
#include "solve/base_measure/crowd.h"
#include "solve/base_measure/report.h"

#include "support/clock.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Users with a few points each, most of them in the first half of the domain. */
static double *make_users(size_t n, size_t k, size_t n_draws, uint64_t seed)
{
    uint64_t state = seed;
    double *mu = calloc(n * k, sizeof *mu);
    cr_assert_not_null(mu);
    for (size_t u = 0; u < n; u++) {
        for (size_t d = 0; d < n_draws; d++) {
            const double r = random_next(&state);
            mu[u * k + (size_t)(r * r * (double)k)] += 1 / (double)n_draws;
        }
    }
    return mu;
}

static void take_users(const struct vector *vector, const double *mu, size_t n,
                       struct base_measure_users *users)
{
    struct dpot_error error = {""};
    const struct base_measure_users_config config = {.n_rows = vector->n_rows,
                                                     .n_cols = vector->n_cols,
                                                     .cost = vector->cost,
                                                     .epsilon = vector->epsilon,
                                                     .distributions = mu,
                                                     .n_chosen = n};
    cr_assert_eq(base_measure_users_init(users, &config, &error), DPOT_OK, "%s", error.text);
}

static double exact_cost(const struct vector *vector, const double *mu, const double *m)
{
    const size_t n = vector->n_cols;
    double *q = calloc(3 * n, sizeof *q), cost = 0;
    struct dpot_error error = {""};
    for (size_t j = 0; j < n; j++) {
        q[n + j] = exp(-vector->epsilon / 2) * m[j];
        q[2 * n + j] = exp(vector->epsilon / 2) * m[j];
    }
    cr_assert_eq(dpot_exact_projection(vector->cost, mu, q + n, q + 2 * n, vector->n_rows, n, NULL,
                                       q, &cost, &error),
                 DPOT_OK, "%s", error.text);
    free(q);
    return cost;
}

Test(users, pay_what_the_exact_projection_costs_also_at_both_ends_of_the_mass)
{
    struct vector vector;
    struct base_measure_users users;
    struct base_measure_projector *projector = NULL;
    struct phi phi;
    uint64_t state = 3;
    vector_grid(&vector, 6, 1, 2);
    vector_phi(&vector, NULL, &phi);
    double *mu = make_users(12, 36, 5, 1), *m = calloc(36, sizeof *m);
    take_users(&vector, mu, 12, &users);
    cr_assert_eq(base_measure_projector_new(&users, &projector), DPOT_OK);
    for (size_t r = 0; r < 12; r++) {
        random_base_measure(&state, &phi, m);
        const double scale = r == 0 ? phi.alpha : r == 1 ? phi.beta : 0;
        const double total = total_of(m, 36);
        for (size_t j = 0; scale > 0 && j < 36; j++) {
            m[j] *= scale / total;
        }
        const double cost = base_measure_project(projector, r, m, NULL, NULL);
        cr_assert_float_eq(cost, exact_cost(&vector, mu + r * 36, m), 1e-9);
    }
    base_measure_projector_free(projector);
    base_measure_users_release(&users);
    phi_release(&phi);
    free(mu);
    free(m);
    vector_release(&vector);
}

/* Half a unit of the exact method is about 2e-19 of the mass: the flow ignores points below
 * that. */
Test(users, pay_for_masses_too_small_to_flow_as_if_they_were_not_there)
{
    struct vector vector;
    struct base_measure_users with, without;
    struct base_measure_projector *a = NULL, *b = NULL;
    struct phi phi;
    uint64_t state = 4;
    vector_grid(&vector, 6, 1, 2);
    vector_phi(&vector, NULL, &phi);
    double *clean = make_users(12, 36, 5, 2), *mu = calloc(12 * 36, sizeof *mu);
    double m[36], gradient[36], potentials[36];
    for (size_t e = 0; e < 12 * 36; e++) {
        mu[e] = clean[e] > 0 ? clean[e] : e % 3 == 0 ? 0 : e % 3 == 1 ? 1e-20 : 1e-300;
    }
    take_users(&vector, mu, 12, &with);
    take_users(&vector, clean, 12, &without);
    cr_assert_eq(base_measure_projector_new(&with, &a), DPOT_OK);
    cr_assert_eq(base_measure_projector_new(&without, &b), DPOT_OK);
    for (size_t u = 0; u < 12; u++) {
        random_base_measure(&state, &phi, m);
        const double cost = base_measure_project(b, u, m, NULL, NULL);
        cr_assert_float_eq(base_measure_project(a, u, m, potentials, gradient), cost, 1e-9);
        for (size_t p = 0; p < with.first[u + 1] - with.first[u]; p++) {
            cr_assert_leq(fabs(potentials[p]), 4 * phi.cost_max, "a potential out of nowhere");
        }
    }
    base_measure_projector_free(a);
    base_measure_projector_free(b);
    base_measure_users_release(&with);
    base_measure_users_release(&without);
    phi_release(&phi);
    free(clean);
    free(mu);
    vector_release(&vector);
}

Test(users, tangents_stay_below_what_other_measures_cost)
{
    struct vector vector;
    struct base_measure_users users;
    struct base_measure_projector *projector = NULL;
    struct phi phi;
    uint64_t state = 9;
    double potentials[5], gradient[25], m[25], other[25];
    vector_grid(&vector, 5, 2, 1);
    vector_phi(&vector, NULL, &phi);
    double *mu = make_users(8, 25, 5, 2);
    take_users(&vector, mu, 8, &users);
    cr_assert_eq(base_measure_projector_new(&users, &projector), DPOT_OK);
    for (size_t u = 0; u < 8; u++) {
        random_base_measure(&state, &phi, m);
        (void)base_measure_project(projector, u, m, potentials, NULL);
        for (size_t r = 0; r < 10; r++) {
            random_base_measure(&state, &phi, other);
            double tangent = base_measure_users_minorant(&users, u, potentials, gradient);
            for (size_t j = 0; j < 25; j++) {
                tangent += gradient[j] * other[j];
            }
            cr_assert_leq(tangent, exact_cost(&vector, mu + u * 25, other) + 1e-12);
            potentials[r % users.most % (users.first[u + 1] - users.first[u])] += 0.1;
        }
    }
    base_measure_projector_free(projector);
    base_measure_users_release(&users);
    phi_release(&phi);
    free(mu);
    vector_release(&vector);
}

Test(users, who_stay_at_one_point_pay_phi)
{
    struct vector vector;
    struct base_measure_users users;
    struct base_measure_projector *projector = NULL;
    struct phi phi;
    struct dpot_error error = {""};
    uint64_t state = 21;
    double m[9];
    vector_random(&vector, 14, 9, 3, &state);
    vector_phi(&vector, NULL, &phi);
    const struct base_measure_users_config config = {
        .n_rows = 14, .n_cols = 9, .cost = vector.cost, .epsilon = 3};
    cr_assert_eq(base_measure_users_init_points(&users, &config, &error), DPOT_OK, "%s",
                 error.text);
    cr_assert_eq(base_measure_projector_new(&users, &projector), DPOT_OK);
    for (size_t r = 0; r < 20; r++) {
        random_base_measure(&state, &phi, m);
        (void)phi_evaluate(&phi, m);
        for (size_t i = 0; i < 14; i++) {
            cr_assert_float_eq(base_measure_project(projector, i, m, NULL, NULL), phi.values[i],
                               1e-10);
        }
    }
    base_measure_projector_free(projector);
    base_measure_users_release(&users);
    phi_release(&phi);
    vector_release(&vector);
}

Test(users, followed_from_another_measure_pay_nearly_the_same_and_never_more)
{
    struct vector vector;
    struct base_measure_users users;
    struct base_measure_crowd *crowd = NULL;
    double m[64], costs[30];
    vector_grid(&vector, 8, 1, 2);
    double *mu = make_users(30, 64, 7, 4);
    take_users(&vector, mu, 30, &users);
    cr_assert_eq(base_measure_crowd_new(&users, 4, NULL, &crowd), DPOT_OK);
    for (size_t j = 0; j < 64; j++) {
        m[j] = 1.0 / 64;
    }
    const double start = base_measure_crowd_evaluate(crowd, m, NULL, NULL);
    base_measure_crowd_set_temperature(crowd, 1e-4 * start);
    for (size_t j = 0; j < 64; j++) {
        m[j] *= j < 32 ? 1.2 : 0.8;
    }
    const double near = base_measure_crowd_evaluate(crowd, m, NULL, NULL);
    const double exact = base_measure_crowd_costs(crowd, m, costs);
    cr_assert_leq(near, exact * (1 + 1e-12));
    cr_assert_geq(near, exact * (1 - 2e-3));
    cr_assert_lt(exact, start);
    base_measure_crowd_free(crowd);
    base_measure_users_release(&users);
    free(mu);
    vector_release(&vector);
}

static struct base_measure_problem problem_of(const struct vector *vector,
                                              const struct base_measure_users *users)
{
    return (struct base_measure_problem){.n_rows = vector->n_rows,
                                         .n_cols = vector->n_cols,
                                         .cost = vector->cost,
                                         .epsilon = vector->epsilon,
                                         .users = users,
                                         .has_planes = true,
                                         .n_steps = SIZE_MAX,
                                         .seed = 1,
                                         .linalg = dpot_linalg_openblas()};
}

static void find(const struct vector *vector, const struct base_measure_users *users,
                 double worst_share, bool has_planes, struct team *team,
                 struct base_measure_answer *answer)
{
    struct dpot_error error = {""};
    struct base_measure_problem problem = problem_of(vector, users);
    problem.worst_share = worst_share;
    problem.has_planes = has_planes;
    problem.gap = 2e-3;
    problem.max_rounds = 60;
    problem.team = team;
    cr_assert_eq(base_measure_find(&problem, NULL, answer, &error), DPOT_OK, "%s", error.text);
}

Test(users, get_a_measure_proved_near_optimal_and_better_than_uniform)
{
    struct vector vector;
    struct base_measure_users users;
    struct base_measure_answer answer;
    struct base_measure_report report;
    vector_grid(&vector, 8, 1, 2);
    double *mu = make_users(60, 64, 4, 5);
    take_users(&vector, mu, 60, &users);
    find(&vector, &users, 0, true, NULL, &answer);
    cr_assert_gt(answer.lower_bound, 0);
    cr_assert_leq(answer.objective - answer.lower_bound, 4e-3 * answer.objective);
    cr_assert_eq(base_measure_report_make(&users, NULL, answer.base_measure, 0, NULL, &report),
                 DPOT_OK);
    cr_assert_float_eq(report.made.cost, answer.objective, 1e-9);
    cr_assert_lt(report.made.cost, 0.97 * report.uniform.cost);
    cr_assert_geq(report.made.percentile_95, report.made.cost);
    cr_assert_float_eq(report.worst_case, answer.worst_case, 1e-12);
    cr_assert(report.share_worse >= 0 && report.share_worse <= 1);
    base_measure_answer_release(&answer);
    base_measure_users_release(&users);
    free(mu);
    vector_release(&vector);
}

/* Mixtures range from the optimum for the users to that for the worst point. */
Test(users, and_the_worst_case_can_be_mixed)
{
    struct vector vector;
    struct base_measure_users users;
    struct base_measure_answer answers[3];
    const double shares[3] = {0, 0.5, 0.95};
    vector_grid(&vector, 5, 1, 2);
    double *mu = make_users(40, 25, 4, 6);
    take_users(&vector, mu, 40, &users);
    for (size_t i = 0; i < 3; i++) {
        find(&vector, &users, shares[i], true, NULL, &answers[i]);
        cr_assert_leq(answers[i].objective - answers[i].lower_bound, 6e-3 * answers[i].objective);
        cr_assert_float_eq(total_of(answers[i].w, 25), shares[i], 1e-9);
    }
    cr_assert_lt(answers[1].worst_case, answers[0].worst_case);
    cr_assert_lt(answers[2].worst_case, answers[1].worst_case);
    for (size_t i = 0; i < 3; i++) {
        base_measure_answer_release(&answers[i]);
    }
    base_measure_users_release(&users);
    free(mu);
    vector_release(&vector);
}

Test(users, get_the_same_bits_for_any_number_of_threads)
{
    struct vector vector;
    struct base_measure_users users;
    struct base_measure_answer one, three;
    struct team *team = NULL;
    vector_grid(&vector, 5, 2, 1);
    double *mu = make_users(50, 25, 3, 7);
    take_users(&vector, mu, 50, &users);
    cr_assert_eq(team_new(3, &team), DPOT_OK);
    find(&vector, &users, 0, true, NULL, &one);
    find(&vector, &users, 0, true, team, &three);
    cr_assert_eq(memcmp(one.base_measure, three.base_measure, 25 * sizeof(double)), 0);
    cr_assert_eq(one.lower_bound, three.lower_bound);
    team_free(team);
    base_measure_answer_release(&one);
    base_measure_answer_release(&three);
    base_measure_users_release(&users);
    free(mu);
    vector_release(&vector);
}

Test(users, descent_alone_is_near_optimal_with_a_weaker_proof)
{
    struct vector vector;
    struct base_measure_users users;
    struct base_measure_answer descent, planes;
    vector_grid(&vector, 6, 1, 1);
    double *mu = make_users(50, 36, 4, 8);
    take_users(&vector, mu, 50, &users);
    find(&vector, &users, 0, false, NULL, &descent);
    find(&vector, &users, 0, true, NULL, &planes);
    cr_assert_leq(descent.objective, 1.02 * planes.objective);
    cr_assert_leq(descent.lower_bound, planes.objective);
    base_measure_answer_release(&descent);
    base_measure_answer_release(&planes);
    base_measure_users_release(&users);
    free(mu);
    vector_release(&vector);
}

Test(users, never_pay_more_than_under_the_best_uniform_measure_where_the_descent_starts)
{
    struct vector vector;
    struct base_measure_users users;
    struct base_measure_answer uniform, answer;
    const size_t n_steps[] = {1, 2, 5};
    vector_grid(&vector, 5, 1, 5);
    double *mu = make_users(30, 25, 4, 9);
    take_users(&vector, mu, 30, &users);
    for (size_t c = 0; c < 6; c++) {
        struct dpot_error error = {""};
        struct base_measure_problem problem = problem_of(&vector, &users);
        problem.has_planes = false;
        problem.worst_share = c < 3 ? 0 : 0.5;
        problem.n_steps = 0;
        cr_assert_eq(base_measure_find(&problem, NULL, &uniform, &error), DPOT_OK);
        problem.n_steps = n_steps[c % 3];
        cr_assert_eq(base_measure_find(&problem, NULL, &answer, &error), DPOT_OK);
        cr_assert_eq(answer.n_steps, n_steps[c % 3]);
        cr_assert_leq(answer.objective, uniform.objective * (1 + 1e-12));
        cr_assert_leq(answer.lower_bound, answer.objective);
        base_measure_answer_release(&answer);
        base_measure_answer_release(&uniform);
    }
    base_measure_users_release(&users);
    free(mu);
    vector_release(&vector);
}

Test(users, without_mass_or_with_bad_weights_are_refused)
{
    const double cost[4] = {0, 1, 1, 0};
    const double empty[2] = {0, 0}, bad[2] = {0.5, -0.5}, good[2] = {0.5, 0.5}, none[1] = {0};
    struct base_measure_users users;
    const struct {
        const double *mu, *weights;
        const char *text;
    } cases[] = {{empty, NULL, "user 1 has total mass 0"},
                 {bad, NULL, "user 1 has mass -0.5 at point 2"},
                 {good, none, "sum to 0"}};
    for (size_t c = 0; c < 3; c++) {
        struct dpot_error error = {""};
        const struct base_measure_users_config config = {.n_rows = 2,
                                                         .n_cols = 2,
                                                         .cost = cost,
                                                         .epsilon = 1,
                                                         .distributions = cases[c].mu,
                                                         .weights = cases[c].weights,
                                                         .n_chosen = 1};
        cr_assert_eq(base_measure_users_init(&users, &config, &error), DPOT_ERR_RANGE);
        cr_assert_not_null(strstr(error.text, cases[c].text), "%s", error.text);
        cr_assert_null(users.points);
    }
}

static void find_to(const struct vector *vector, const struct base_measure_users *users, double gap,
                    const struct solve_control *control, struct base_measure_answer *answer)
{
    struct dpot_error error = {""};
    struct base_measure_problem problem = problem_of(vector, users);
    problem.gap = gap;
    problem.max_rounds = 500;
    cr_assert_eq(base_measure_find(&problem, control, answer, &error), DPOT_OK, "%s", error.text);
}

/* The values of the planes are too low by the temperature, far more than these gaps. */
Test(users, have_reached_the_gap_only_when_the_proof_shows_it)
{
    struct vector vector;
    struct base_measure_users users;
    struct base_measure_answer answer;
    const double gaps[] = {2e-3, 1e-6, 0};
    vector_grid(&vector, 5, 1, 2);
    double *mu = make_users(40, 25, 4, 6);
    take_users(&vector, mu, 40, &users);
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        find_to(&vector, &users, gaps[i], NULL, &answer);
        const double gap = phi_relative_gap(answer.objective, answer.lower_bound);
        cr_assert(answer.outcome == SOLVE_CONVERGED || gaps[i] < 1e-6, "%g: %s", gaps[i],
                  solve_outcome_name(answer.outcome));
        cr_assert_eq(answer.outcome == SOLVE_CONVERGED, gap <= gaps[i] + 1e-12, "%g: %g, %s",
                     gaps[i], gap, solve_outcome_name(answer.outcome));
        cr_assert_leq(gap, fmax(gaps[i], 1e-5));
        base_measure_answer_release(&answer);
    }
    base_measure_users_release(&users);
    free(mu);
    vector_release(&vector);
}

/* Each reading of the clock takes 10 ms, and each user of an evaluation reads it. */
Test(users, stop_within_an_evaluation_at_the_deadline)
{
    struct vector vector;
    struct base_measure_users users;
    struct base_measure_answer answer;
    const int64_t limits[] = {500, 1500, 4000, 25000, 60000};
    vector_grid(&vector, 5, 1, 2);
    double *mu = make_users(40, 25, 4, 6);
    take_users(&vector, mu, 40, &users);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct test_clock clock;
        test_clock_init(&clock, 0);
        clock.step_ms = 10;
        const struct solve_control control = {.clock = &clock.clock, .deadline_ms = limits[i]};
        find_to(&vector, &users, 0, &control, &answer);
        cr_assert_eq(answer.outcome, SOLVE_DEADLINE, "%lld ms", (long long)limits[i]);
        cr_assert_leq(clock.now_ms, limits[i] + 100);
        double mean = 0;
        for (size_t u = 0; u < 40; u++) {
            mean += exact_cost(&vector, mu + 25 * u, answer.base_measure) / 40;
        }
        cr_assert_float_eq(answer.objective, mean, 1e-9);
        cr_assert_leq(answer.lower_bound, answer.objective);
        cr_assert_eq(answer.n_steps > 0, i >= 2);
        base_measure_answer_release(&answer);
    }
    base_measure_users_release(&users);
    free(mu);
    vector_release(&vector);
}
