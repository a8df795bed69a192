/* How a barycenter is reached: each iteration, its threads, its stops. */
#include "crowd.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(barycenter_iterations, no_exact_iteration_raises_the_cost)
{
    for (int weights = 0; weights < 2; weights++) {
        struct crowd crowd;
        struct barycenter_options options = exact_options(9);
        struct barycenter_result result;
        crowd_init(&crowd, 150, 2, 0);
        options.moves_weights = weights;
        solve(&crowd.problem, &options, &result);
        cr_assert_eq(result.outcome, SOLVE_CONVERGED);
        cr_assert_gt(result.iterations, 3);
        for (size_t t = 1; t < result.iterations; t++) {
            cr_assert_leq(result.curve[t].cost, result.curve[t - 1].cost + 1e-13);
        }
        cr_assert_float_eq(cost_of(&crowd.problem, &result),
                           result.curve[result.iterations - 1].cost, 1e-9);
        barycenter_result_release(&result);
        crowd_release(&crowd);
    }
}

/* The published loop in plain float64: kernel, 100 sweeps from v = 1 / n, weighted means. */
static void plain_loop(const struct barycenter_problem *p, size_t m, double lambda, size_t n_outer,
                       size_t n_inner, double *x)
{
    const size_t dim = p->dim;
    for (size_t t = 0; t < n_outer; t++) {
        double *next = calloc(m * dim, sizeof *next);
        for (size_t i = 0; i < p->n_groups; i++) {
            const struct point_set *g = &p->groups[i];
            double *k = calloc(m * g->n, sizeof *k), *u = calloc(m, sizeof *u),
                   *v = calloc(g->n, sizeof *v);
            for (size_t e = 0; e < m * g->n; e++) {
                double square = 0;
                for (size_t c = 0; c < dim; c++) {
                    square += pow(x[e / g->n * dim + c] - g->points[e % g->n * dim + c], 2);
                }
                k[e] = exp(-square / lambda);
                v[e % g->n] = 1;
            }
            /* The engine starts with one sweep in the log domain. */
            for (size_t s = 0; s <= n_inner; s++) {
                for (size_t j = 0; j < m; j++) {
                    double sum = 0;
                    for (size_t l = 0; l < g->n; l++) {
                        sum += k[j * g->n + l] * g->weights[l] * v[l];
                    }
                    u[j] = 1 / sum;
                }
                for (size_t l = 0; l < g->n; l++) {
                    double sum = 0;
                    for (size_t j = 0; j < m; j++) {
                        sum += k[j * g->n + l] * u[j] / (double)m;
                    }
                    v[l] = 1 / sum;
                }
            }
            for (size_t j = 0; j < m; j++) {
                double mass = 0;
                for (size_t l = 0; l < g->n; l++) {
                    mass += k[j * g->n + l] * g->weights[l] * v[l];
                }
                for (size_t l = 0; l < g->n; l++) {
                    const double share = k[j * g->n + l] * g->weights[l] * v[l] / mass;
                    for (size_t c = 0; c < dim; c++) {
                        next[j * dim + c] += p->group_weights[i] * share * g->points[l * dim + c];
                    }
                }
            }
            free(k);
            free(u);
            free(v);
        }
        memcpy(x, next, m * dim * sizeof *x);
        free(next);
    }
}

Test(barycenter_iterations, sweeps_of_a_fixed_number_are_the_published_loop)
{
    enum { M = 6, DIM = 3 };
    struct crowd crowd;
    crowd_init(&crowd, 50, DIM, 0);
    double *x = random_points(M, DIM, 0);
    struct barycenter_options options = sinkhorn_options(M, 0.05);
    struct barycenter_result result;
    options.tol = options.inner_tol = 0;
    options.max_iterations = 7;
    options.inner_iterations = 20;
    options.init = x;
    for (int precision = 0; precision < 2; precision++) {
        options.precision = precision ? ENTROPIC_F32 : ENTROPIC_F64;
        solve(&crowd.problem, &options, &result);
        cr_assert_eq(result.iterations, 7);
        cr_assert_eq(result.sweeps, 4 * 7 * 20);
        double *expected = calloc(M * DIM, sizeof *expected);
        memcpy(expected, x, M * DIM * sizeof *x);
        plain_loop(&crowd.problem, M, 0.05, 7, 20, expected);
        for (size_t k = 0; k < M * DIM; k++) {
            cr_assert_float_eq(result.support[k], expected[k], precision ? 2e-5 : 1e-11);
        }
        free(expected);
        barycenter_result_release(&result);
    }
    free(x);
    crowd_release(&crowd);
}

Test(barycenter_iterations, a_tiny_lambda_has_the_exact_cost_and_a_huge_one_a_single_point)
{
    struct crowd crowd;
    double start[14];
    crowd_init(&crowd, 40, 2, 0);
    for (size_t k = 0; k < 14; k++) {
        start[k] = uniform();
    }
    struct barycenter_options options = exact_options(7);
    struct barycenter_result exact, tiny, huge;
    options.init = start;
    solve(&crowd.problem, &options, &exact);
    options = sinkhorn_options(7, 2e-3);
    options.init = start;
    options.max_iterations = 50;
    options.inner_iterations = 2000;
    solve(&crowd.problem, &options, &tiny);
    cr_assert_float_eq(cost_of(&crowd.problem, &tiny), cost_of(&crowd.problem, &exact),
                       0.2 * cost_of(&crowd.problem, &exact));
    options = sinkhorn_options(7, 1e6);
    options.init = start;
    solve(&crowd.problem, &options, &huge);
    cr_assert_float_eq(cost_of(&crowd.problem, &huge), huge.one_point_cost, 1e-6);
    for (size_t k = 2; k < 14; k++) {
        cr_assert_float_eq(huge.support[k], huge.support[k % 2], 1e-5);
    }
    options = sinkhorn_options(7, 1e-12);
    options.max_iterations = 3;
    options.inner_iterations = 50;
    barycenter_result_release(&tiny);
    solve(&crowd.problem, &options, &tiny);
    for (size_t k = 0; k < 14; k++) {
        cr_assert(tiny.support[k] >= 0 && tiny.support[k] <= 1, "%g is in the hull of the data",
                  tiny.support[k]);
    }
    barycenter_result_release(&exact);
    barycenter_result_release(&tiny);
    barycenter_result_release(&huge);
    crowd_release(&crowd);
}

Test(barycenter_iterations, an_offset_of_the_data_is_an_offset_of_the_result)
{
    struct crowd crowd;
    crowd_init(&crowd, 60, 2, 0);
    for (int method = 0; method < 2; method++) {
        const struct barycenter_options options =
            method ? sinkhorn_options(5, 0.05) : exact_options(5);
        struct barycenter_result here, there;
        solve(&crowd.problem, &options, &here);
        for (size_t i = 0; i < 4; i++) {
            for (size_t k = 0; k < 120; k++) {
                ((double *)crowd.groups[i].points)[k] += 1048576.0;
            }
        }
        solve(&crowd.problem, &options, &there);
        cr_assert_float_eq(cost_of(&crowd.problem, &there), here.curve[here.iterations - 1].cost,
                           method ? 0.02 : 1e-6);
        for (size_t k = 0; k < 10; k++) {
            cr_assert_float_eq(there.support[k] - 1048576.0, here.support[k], 1e-6);
        }
        for (size_t i = 0; i < 4; i++) {
            for (size_t k = 0; k < 120; k++) {
                ((double *)crowd.groups[i].points)[k] -= 1048576.0;
            }
        }
        barycenter_result_release(&here);
        barycenter_result_release(&there);
    }
    crowd_release(&crowd);
}

Test(barycenter_iterations, the_number_of_threads_changes_no_bit)
{
    struct crowd crowd;
    struct team *team = NULL;
    crowd_init(&crowd, 90, 2, 0);
    cr_assert_eq(team_new(3, &team), DPOT_OK);
    for (int method = 0; method < 4; method++) {
        struct barycenter_problem problem = crowd.problem;
        struct barycenter_options options =
            method % 2 ? sinkhorn_options(5, 0.05) : exact_options(5);
        struct barycenter_result alone, together;
        if (method >= 2) {
            problem.n_groups = 1;
            problem.group_weights = NULL;
        }
        options.n_starts = 3;
        solve(&problem, &options, &alone);
        options.team = team;
        solve(&problem, &options, &together);
        cr_assert_arr_eq(alone.support, together.support, 10 * sizeof(double));
        cr_assert_eq(alone.best_start, together.best_start);
        cr_assert_arr_eq(alone.start_costs, together.start_costs, 3 * sizeof(double));
        barycenter_result_release(&alone);
        barycenter_result_release(&together);
    }
    team_free(team);
    crowd_release(&crowd);
}

Test(barycenter_iterations, a_stop_leaves_points_and_is_reported)
{
    struct crowd crowd;
    atomic_bool cancel = true;
    const struct solve_control control = {.cancel = &cancel};
    const struct barycenter_options options = exact_options(5);
    struct barycenter_result result;
    struct dpot_error error = {""};
    crowd_init(&crowd, 60, 2, 0);
    cr_assert_eq(barycenter_solve(&crowd.problem, &options, &control, &result, &error), DPOT_OK);
    cr_assert_eq(result.outcome, SOLVE_CANCELLED);
    cr_assert_eq(result.iterations, 1);
    cr_assert_lt(cost_of(&crowd.problem, &result), result.one_point_cost);
    barycenter_result_release(&result);
    barycenter_result_release(&result);
    crowd_release(&crowd);
}
