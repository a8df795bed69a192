#include "solve/transport/entropic.h"

#include "ot/sinkhorn.h"
#include "transport.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct entropic_options options_of(double lambda, double tol)
{
    return (struct entropic_options){.lambda = lambda, .tol = tol, .max_iterations = 20000};
}

static struct entropic *solve(const struct transport *t, const struct entropic_options *options,
                              struct entropic_result *result)
{
    struct dpot_error error = {""};
    struct entropic *e;
    cr_assert_eq(entropic_new(t->n, t->m, options, &e, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(entropic_solve(e, &t->cost, t->a, t->b, NULL, result, &error), DPOT_OK, "%s",
                 error.text);
    entropic_value(e, result);
    return e;
}

/* The log-domain solver is the reference: plain, safe, float64. */
static void compare(const struct transport *t, const struct entropic_options *options,
                    double rounding)
{
    struct dpot_sinkhorn_result expected;
    struct entropic_result result;
    double *plan = calloc(t->n * t->m, sizeof *plan), *own = calloc(t->n * t->m, sizeof *own);
    cr_assert(plan && own);
    cr_assert_eq(dpot_sinkhorn(t->values, t->a, t->b, t->n, t->m, options->lambda, 1e-13, 200000,
                               NULL, NULL, NULL, plan, &expected, NULL),
                 DPOT_OK);
    struct entropic *e = solve(t, options, &result);
    entropic_plan_rows(e, 0, t->n, own);
    for (size_t k = 0; k < t->n * t->m; k++) {
        cr_assert_float_eq(own[k], plan[k], rounding);
    }
    cr_assert_float_eq(result.transport_cost, expected.transport_cost, rounding);
    cr_assert_float_eq(result.value, expected.value, rounding);
    cr_assert_float_eq(result.dual, expected.value, rounding);
    cr_assert_leq(result.dual, expected.value + 1e-12);
    cr_assert_geq(result.primal, expected.value - 1e-12);
    cr_assert_float_eq(result.gap, result.primal - result.dual, 1e-15);
    cr_assert_leq(result.residual, rounding);
    entropic_free(e);
    free(plan);
    free(own);
}

Test(entropic, float64_sweeps_agree_with_the_log_domain)
{
    const double lambdas[] = {1, 0.1, 0.02, 0.005};
    for (size_t trial = 0; trial < 24; trial++) {
        struct transport t;
        struct entropic_options options = options_of(lambdas[trial % 4], 1e-12);
        transport_init(&t, 1 + trial * 7 % 50, 1 + trial * 5 % 41, trial % 3 ? 0 : 5, trial);
        if (t.n > 1 && t.m > 1) {
            options.memory_max = trial % 2 ? 1 : 0;
            compare(&t, &options, 1e-10);
        }
        transport_release(&t);
    }
}

Test(entropic, float32_sweeps_agree_to_their_precision)
{
    for (size_t trial = 0; trial < 12; trial++) {
        struct transport t;
        struct entropic_options options = options_of(trial % 2 ? 0.1 : 0.02, 0.0);
        transport_init(&t, 30 + trial, 70 - trial, trial % 3 ? 0 : 6, 100 + trial);
        options.precision = ENTROPIC_F32;
        options.max_iterations = 3000;
        options.memory_max = trial % 4 == 3 ? 1 : 0;
        compare(&t, &options, 2e-7);
        transport_release(&t);
    }
}

Test(entropic, annealing_and_relaxation_reach_what_plain_sweeps_cannot)
{
    for (size_t trial = 0; trial < 6; trial++) {
        struct transport t;
        struct entropic_result plain, result;
        struct entropic_options options = options_of(0.0005, 1e-9);
        transport_init(&t, 40 + trial, 60, 0, 200 + trial);
        options.max_iterations = 1500;
        struct entropic *e = solve(&t, &options, &plain);
        entropic_free(e);
        options.anneal = options.relax = true;
        e = solve(&t, &options, &result);
        entropic_free(e);
        cr_assert_lt(result.gap, 1e-3 * plain.gap, "%zu: %g, not %g", trial, result.gap, plain.gap);
        cr_assert_geq(result.dual, plain.dual - 1e-15);
        transport_release(&t);
    }
}

Test(entropic, a_kernel_that_underflows_everywhere_has_its_plan_and_its_cost)
{
    const double half[] = {0.5, 0.5}, values[] = {100, 121, 81, 100};
    struct transport t;
    struct entropic_result result;
    struct entropic_options options = options_of(0.1, 1e-12);
    double plan[4];
    transport_of(&t, 2, 2, values, half, half);
    options.anneal = options.relax = true;
    struct entropic *e = solve(&t, &options, &result);
    entropic_plan_rows(e, 0, 2, plan);
    cr_assert_eq(result.outcome, SOLVE_CONVERGED);
    /* C00 + C11 - C01 - C10 = -2, so p / (1/2 - p) = exp(1 / lambda) along the diagonal. */
    const double off = 0.5 / (1 + exp(1 / 0.1));
    cr_assert_float_eq(plan[0], 0.5 - off, 1e-10);
    cr_assert_float_eq(plan[1], off, 1e-10);
    cr_assert_float_eq(result.transport_cost, 100.0 + 2 * off, 1e-6);
    entropic_free(e);
    transport_release(&t);
}

Test(entropic, points_without_mass_have_finite_potentials_and_carry_nothing)
{
    const double a[] = {0, 1, 0, 0}, b[] = {1, 0, 0, 0};
    const double values[] = {0, 1, 1, 1.414, 1, 0, 1.414, 1, 1, 1.414, 0, 1, 1.414, 1, 1, 0};
    struct transport t;
    struct entropic_result result;
    double plan[16], f[4], g[4];
    transport_of(&t, 4, 4, values, a, b);
    for (int precision = 0; precision < 2; precision++) {
        struct entropic_options options = options_of(0.1, 1e-9);
        options.precision = precision ? ENTROPIC_F32 : ENTROPIC_F64;
        struct entropic *e = solve(&t, &options, &result);
        entropic_plan_rows(e, 0, 4, plan);
        entropic_potentials(e, f, g);
        for (size_t k = 0; k < 16; k++) {
            cr_assert_float_eq(plan[k], k == 4 ? 1.0 : 0.0, 1e-12);
            cr_assert(isfinite(f[k % 4]) && isfinite(g[k % 4]));
        }
        cr_assert_float_eq(result.transport_cost, 1.0, 1e-9);
        cr_assert_eq(result.entropy, 0.0);
        entropic_free(e);
    }
    transport_release(&t);
}

Test(entropic, every_value_has_its_closed_form_for_two_points)
{
    const double half[] = {0.5, 0.5}, values[] = {0, 1, 1, 0}, lambda = 0.5;
    struct transport t;
    struct entropic_result r;
    const struct entropic_options options = options_of(lambda, 1e-14);
    transport_of(&t, 2, 2, values, half, half);
    struct entropic *e = solve(&t, &options, &r);
    cr_assert_float_eq(r.transport_cost, 0.11920292202211755, 1e-14);
    cr_assert_float_eq(r.kl, 0.3278133254727375, 1e-14);
    cr_assert_float_eq(r.entropy, 2 * log(2) - 0.3278133254727375, 1e-14);
    cr_assert_float_eq(r.value, r.transport_cost + lambda * r.kl, 1e-15);
    cr_assert_float_eq(r.dual, r.value, 1e-14);
    cr_assert_lt(r.gap, 1e-14);
    entropic_free(e);
    transport_release(&t);
}

Test(entropic, the_number_of_threads_changes_no_bit)
{
    struct transport t;
    double f[700], g[700], f_alone[700], g_alone[700];
    transport_init(&t, 700, 690, 0, 5);
    for (int precision = 0; precision < 2; precision++) {
        for (size_t n_threads = 1; n_threads <= 3; n_threads++) {
            struct team *team;
            struct entropic_result result;
            struct entropic_options options = options_of(0.03, 0);
            cr_assert_eq(team_new(n_threads, &team), DPOT_OK);
            options.max_iterations = 20;
            options.precision = precision ? ENTROPIC_F32 : ENTROPIC_F64;
            options.team = team;
            struct entropic *e = solve(&t, &options, &result);
            entropic_potentials(e, n_threads == 1 ? f_alone : f, n_threads == 1 ? g_alone : g);
            cr_assert(n_threads == 1 || memcmp(f, f_alone, sizeof f) == 0);
            cr_assert(n_threads == 1 || memcmp(g, g_alone, t.m * sizeof *g) == 0);
            entropic_free(e);
            team_free(team);
        }
    }
    transport_release(&t);
}

Test(entropic, a_warm_start_from_the_solution_stays_there)
{
    struct transport t;
    struct entropic_result cold, warm;
    struct dpot_error error = {""};
    const struct entropic_options options = options_of(0.01, 1e-10);
    double f[50], g[60];
    transport_init(&t, 50, 60, 0, 9);
    struct entropic *e = solve(&t, &options, &cold);
    for (int side = 0; side < 3; side++) {
        entropic_potentials(e, f, g);
        entropic_warm_start(e, side == 1 ? NULL : f, 50, side == 2 ? NULL : g, 60);
        cr_assert_eq(entropic_solve(e, &t.cost, t.a, t.b, NULL, &warm, &error), DPOT_OK);
        cr_assert_leq(warm.iterations, 2);
        cr_assert_gt(cold.iterations, 100);
    }
    entropic_free(e);
    transport_release(&t);
}

Test(entropic, one_engine_takes_problem_after_problem_of_every_size)
{
    struct dpot_error error = {""};
    const struct entropic_options options = options_of(0.05, 1e-11);
    struct entropic *e;
    cr_assert_eq(entropic_new(64, 64, &options, &e, &error), DPOT_OK);
    for (size_t trial = 0; trial < 30; trial++) {
        struct transport t;
        struct entropic_result result, fresh;
        transport_init(&t, 1 + trial * 11 % 64, 1 + trial * 17 % 64, 0, trial);
        cr_assert_eq(entropic_solve(e, &t.cost, t.a, t.b, NULL, &result, &error), DPOT_OK, "%s",
                     error.text);
        entropic_value(e, &result);
        struct entropic *own = solve(&t, &options, &fresh);
        cr_assert_eq(result.value, fresh.value);
        cr_assert_eq(result.iterations, fresh.iterations);
        entropic_free(own);
        transport_release(&t);
    }
    entropic_free(e);
}

Test(entropic, a_matrix_and_a_function_of_the_same_costs_give_the_same_bits)
{
    const size_t sizes[][2] = {{40, 64}, {33, 37}, {16, 16}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        for (int p = 0; p < 2; p++) {
            const struct entropic_options options = {
                .lambda = 0.05,
                .max_iterations = 30,
                .precision = p ? ENTROPIC_F32 : ENTROPIC_F64,
            };
            struct transport t;
            struct entropic_result results[2];
            transport_init(&t, sizes[k][0], sizes[k][1], 7, 3 + k);
            for (int has_matrix = 0; has_matrix < 2; has_matrix++) {
                t.cost.fill = has_matrix ? NULL : t.cost.fill;
                t.cost.matrix = has_matrix ? t.values : NULL;
                struct entropic *e = solve(&t, &options, &results[has_matrix]);
                entropic_free(e);
            }
            cr_assert_eq(results[0].transport_cost, results[1].transport_cost);
            cr_assert_eq(results[0].value, results[1].value);
            cr_assert_eq(results[0].dual, results[1].dual);
            cr_assert_eq(results[0].primal, results[1].primal);
            cr_assert_eq(results[0].residual, results[1].residual);
            transport_release(&t);
        }
    }
}

Test(entropic, a_change_of_unit_changes_values_and_nothing_else)
{
    struct transport t, scaled;
    struct entropic_result r, s;
    transport_init(&t, 20, 30, 0, 3);
    transport_init(&scaled, 20, 30, 0, 3);
    for (size_t k = 0; k < 600; k++) {
        scaled.values[k] = 1024 * t.values[k];
    }
    for (size_t i = 0; i < 20; i++) {
        scaled.a[i] *= 4;
    }
    for (size_t j = 0; j < 30; j++) {
        scaled.b[j] *= 4;
    }
    const struct entropic_options options = options_of(0.05, 1e-12),
                                  of_scaled = options_of(0.05 * 1024, 4e-12);
    struct entropic *e = solve(&t, &options, &r), *e_scaled = solve(&scaled, &of_scaled, &s);
    cr_assert_float_eq(s.transport_cost, 4096 * r.transport_cost, 1e-10);
    cr_assert_float_eq(s.value, 4096 * r.value, 1e-10);
    cr_assert_float_eq(s.dual, 4096 * r.dual, 1e-10);
    cr_assert_float_eq(s.kl, r.kl, 1e-13);
    cr_assert_float_eq(s.entropy, r.entropy, 1e-12);
    entropic_free(e);
    entropic_free(e_scaled);
    transport_release(&t);
    transport_release(&scaled);
}

Test(entropic, wrong_problems_are_refused_with_the_value_that_is_wrong)
{
    struct transport t;
    struct dpot_error error = {""};
    struct entropic_result result;
    struct entropic *e;
    struct entropic_options options = options_of(0.1, 1e-9);
    transport_init(&t, 4, 5, 0, 1);
    cr_assert_eq(entropic_new(0, 5, &options, &e, &error), DPOT_ERR_SHAPE);
    cr_assert_null(e);
    options.lambda = 0;
    cr_assert_eq(entropic_new(4, 5, &options, &e, &error), DPOT_ERR_RANGE);
    options.lambda = NAN;
    cr_assert_eq(entropic_new(4, 5, &options, &e, &error), DPOT_ERR_RANGE);
    options.lambda = 0.1;
    cr_assert_eq(entropic_new(4, 5, &options, &e, &error), DPOT_OK);

    const double bad[] = {NAN, INFINITY, -INFINITY, 1e301, 1e200};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        const double good = t.values[7];
        t.values[7] = bad[k];
        cr_assert_eq(entropic_solve(e, &t.cost, t.a, t.b, NULL, &result, &error), DPOT_ERR_RANGE);
        t.values[7] = good;
    }
    const double mass = t.a[2];
    t.a[2] = -0.1;
    cr_assert_eq(entropic_solve(e, &t.cost, t.a, t.b, NULL, &result, &error), DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "mass 3 of a"), "%s", error.text);
    t.a[2] = mass + 0.5;
    cr_assert_eq(entropic_solve(e, &t.cost, t.a, t.b, NULL, &result, &error), DPOT_ERR_SHAPE);
    t.a[2] = mass * (1 + 1e-8);
    cr_assert_eq(entropic_solve(e, &t.cost, t.a, t.b, NULL, &result, &error), DPOT_OK);
    t.cost.n_rows = 5;
    cr_assert_eq(entropic_solve(e, &t.cost, t.a, t.b, NULL, &result, &error), DPOT_ERR_SHAPE);
    entropic_free(e);
    transport_release(&t);
}

Test(entropic, a_marginal_rounded_to_float32_is_scaled_to_the_other)
{
    struct transport t;
    struct entropic_result r;
    const struct entropic_options options = options_of(0.01, 1e-12);
    double a[5], b[5], values[25];
    for (size_t i = 0; i < 25; i++) {
        values[i] = fabs((double)(i / 5) - (double)(i % 5));
        a[i % 5] = (double)(1.0F / 5.0F);
        b[i % 5] = 1.0 / 5.0;
    }
    transport_of(&t, 5, 5, values, a, b);
    struct entropic *e = solve(&t, &options, &r);
    cr_assert_eq(r.outcome, SOLVE_CONVERGED);
    cr_assert_float_eq(r.transport_cost, 0, 1e-12);
    cr_assert_float_eq(r.kl, log(5), 1e-9, "the plan is the diagonal");
    entropic_free(e);
    transport_release(&t);
}

Test(entropic, costs_without_any_difference_need_one_sweep_at_any_lambda)
{
    const double a[] = {0.25, 0.75}, b[] = {0.5, 0.5}, zero[4] = {0}, seven[] = {7, 7, 7, 7};
    for (int which = 0; which < 2; which++) {
        struct transport t;
        struct entropic_result r;
        const struct entropic_options options = options_of(which ? 1e-6 : 1e-300, 1e-12);
        transport_of(&t, 2, 2, which ? seven : zero, a, b);
        struct entropic *e = solve(&t, &options, &r);
        cr_assert_float_eq(r.value, which ? 7 : 0, 1e-12);
        cr_assert_float_eq(r.kl, 0, 1e-12);
        cr_assert_leq(r.iterations, 2);
        entropic_free(e);
        transport_release(&t);
    }
}

static void stop_at(void *ctx, size_t n_done, size_t n_total)
{
    (void)n_total;
    if (n_done == 5) {
        atomic_store((atomic_bool *)ctx, true);
    }
}

Test(entropic, a_stop_leaves_a_plan_with_its_honest_residual)
{
    struct transport t;
    struct dpot_error error = {""};
    struct entropic_result r;
    atomic_bool cancel = false;
    const struct solve_control control = {.cancel = &cancel, .progress = stop_at, .ctx = &cancel};
    const struct entropic_options options = options_of(0.005, 1e-12);
    double plan[20 * 25];
    struct entropic *e;
    transport_init(&t, 20, 25, 0, 8);
    cr_assert_eq(entropic_new(20, 25, &options, &e, &error), DPOT_OK);
    cr_assert_eq(entropic_solve(e, &t.cost, t.a, t.b, &control, &r, &error), DPOT_OK);
    cr_assert_eq(r.outcome, SOLVE_CANCELLED);
    cr_assert_eq(r.iterations, 5);
    entropic_value(e, &r);
    entropic_plan_rows(e, 0, 20, plan);
    double residual = 0.0;
    for (size_t i = 0; i < 20; i++) {
        double row = 0.0;
        for (size_t j = 0; j < 25; j++) {
            row += plan[i * 25 + j];
        }
        residual += fabs(row - t.a[i]);
    }
    cr_assert_gt(residual, 1e-6);
    cr_assert_float_eq(r.residual, residual, 1e-12);
    cr_assert_leq(r.dual, r.primal);
    entropic_free(e);
    transport_release(&t);
}
