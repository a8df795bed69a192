/* What the files of golden/wpm contain besides the projection's cost and law: forced laws, lower
 * bounds, Dirac costs, the bound of paper 002, Proposition 4.1, and the projection onto KPM's base
 * measure, at the tolerances stated in the files. */
#include "ot/few_projection.h"
#include "ot/network_simplex.h"
#include "ot/projection.h"
#include "problem.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    "p01_ring30_s0", "p02_grid20_sparse_eps2", "p04_mismatch_40x12", "p06_dirac_0", "p07_mu_zeros",
    "p09_beta_sum1", "p11_tinylam_ring",       "p13_eps0.01",        "p15_k1"};
#define N_NAMES (sizeof names / sizeof names[0])

static const json_t *reference_of(const struct problem *problem)
{
    return json_object_get(problem->root, "reference");
}

static double tolerance_of(const struct problem *problem, const char *key)
{
    const json_t *value = json_object_get(json_object_get(problem->root, "tolerance"), key);
    cr_assert(json_is_number(value), "no tolerance %s", key);
    return json_number_value(value);
}

/* The exact projection of a problem, by the method for many points. */
static double project(const struct problem *problem, double *q)
{
    double cost = 0;
    struct dpot_error error = {""};
    cr_assert_eq(dpot_exact_projection(problem->cost, problem->mu, problem->lower, problem->upper,
                                       problem->n_rows, problem->n_cols, NULL, q, &cost, &error),
                 DPOT_OK, "%s", error.text);
    return cost;
}

/* The same by the device's method, from the rows with mass. */
static double project_few(const struct problem *problem, double *q)
{
    double mu[DPOT_FEW_ROWS_MAX];
    size_t rows[DPOT_FEW_ROWS_MAX], n = 0;
    for (size_t i = 0; i < problem->n_rows; i++) {
        if (problem->mu[i] > 0) {
            cr_assert_lt(n, DPOT_FEW_ROWS_MAX);
            rows[n] = i;
            mu[n++] = problem->mu[i];
        }
    }
    const struct dpot_few_projection_config config = {.n_rows = n,
                                                      .n_cols = problem->n_cols,
                                                      .polytope = &problem->polytope,
                                                      .passes = DPOT_FEW_PASSES_MAX};
    struct dpot_few_projection *projection = NULL;
    struct dpot_few_projection_result result;
    const double *costs[DPOT_FEW_ROWS_MAX];
    const double largest = cost_range_of(problem->cost, problem->n_rows * problem->n_cols);
    const int scale = dpot_few_projection_scale(largest);
    cr_assert_eq(dpot_few_projection_new(&config, &projection), DPOT_OK);
    uint32_t *rounded = dpot_few_projection_cost(projection);
    for (size_t r = 0; r < n; r++) {
        costs[r] = problem->cost + rows[r] * problem->n_cols;
        for (size_t j = 0; j < problem->n_cols; j++) {
            *rounded++ = dpot_few_projection_round(costs[r][j], scale);
        }
    }
    dpot_few_projection_run(projection, mu, q, &result);
    const double transport_cost = dpot_few_projection_plan_cost(projection, costs);
    dpot_few_projection_free(projection);
    cr_assert(result.is_exact);
    return transport_cost;
}

Test(reference, exact_costs_by_both_methods_are_between_the_proved_bound_and_the_optimum)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        struct problem problem;
        problem_load(&problem, names[i]);
        const json_t *reference = reference_of(&problem);
        const double optimum = json_number_value(json_object_get(reference, "lp_cost"));
        const double bound = json_number_value(json_object_get(reference, "lp_lower_bound"));
        const double tol = tolerance_of(&problem, "lp_cost_rel") * optimum;
        const double box = tolerance_of(&problem, "nu_box_abs");
        double *q = calloc(problem.n_cols, sizeof *q);
        for (int method = 0; method < 2; method++) {
            const double cost = method == 0 ? project(&problem, q) : project_few(&problem, q);
            cr_assert_float_eq(cost, optimum, tol, "%s: %.17g", names[i], cost);
            cr_assert_geq(cost, bound - 1e-12, "%s", names[i]);
            cr_assert_float_eq(sum_of(q, problem.n_cols), 1, box);
            for (size_t j = 0; j < problem.n_cols; j++) {
                cr_assert(q[j] >= problem.lower[j] - box && q[j] <= problem.upper[j] + box);
            }
        }
        free(q);
        problem_release(&problem);
    }
}

Test(reference, a_polytope_of_one_law_forces_it_by_every_method)
{
    struct problem problem;
    problem_load(&problem, "p09_beta_sum1");
    size_t n = 0;
    double *forced = numbers_load(json_object_get(reference_of(&problem), "forced_nu"), &n);
    double *q = calloc(n, sizeof *q);
    struct dpot_projection *projection = NULL;
    const struct dpot_projection_config config = {problem.n_rows,    n,   0.05, INFINITY,
                                                  &problem.polytope, NULL};
    (void)project(&problem, q);
    cr_assert_lt(l1_distance(q, forced, n), 1e-12);
    (void)project_few(&problem, q);
    cr_assert_lt(l1_distance(q, forced, n), 1e-12);
    cr_assert_eq(dpot_projection_new(&config, &projection), DPOT_OK);
    memcpy(dpot_projection_cost(projection), problem.cost, problem.n_rows * n * sizeof *q);
    dpot_projection_run(projection, problem.mu, 10, 0, q, NULL);
    cr_assert_lt(l1_distance(q, forced, n), 1e-12);
    dpot_projection_free(projection);
    free(forced);
    free(q);
    problem_release(&problem);
}

Test(reference, the_cost_of_a_dirac_is_phi)
{
    struct problem problem;
    problem_load(&problem, "p06_dirac_0");
    double *q = calloc(problem.n_cols, sizeof *q);
    const double phi = json_number_value(json_object_get(reference_of(&problem), "phi_i"));
    cr_assert_float_eq(project(&problem, q), phi, tolerance_of(&problem, "lp_cost_rel") * phi);
    cr_assert_float_eq(project_few(&problem, q), phi, tolerance_of(&problem, "lp_cost_rel") * phi);
    free(q);
    problem_release(&problem);
}

/* Paper 002, Proposition 4.1, for the lambdas of each file. */
Test(reference, entropic_laws_cost_no_more_than_the_stated_bound)
{
    size_t n_checked = 0;
    for (size_t i = 0; i < N_NAMES; i++) {
        struct problem problem;
        problem_load(&problem, names[i]);
        const json_t *list = json_object_get(reference_of(&problem), "entropic");
        const double optimum =
            json_number_value(json_object_get(reference_of(&problem), "lp_cost"));
        for (size_t e = 0; e < json_array_size(list); e++) {
            const json_t *entry = json_array_get(list, e);
            const json_t *bound = json_object_get(entry, "prop41_bound_on_cost_gap");
            size_t n = 0;
            double *q = numbers_load(json_object_get(entry, "q"), &n);
            struct dpot_exact_result exact;
            cr_assert(json_is_number(bound), "%s", names[i]);
            cr_assert_eq(
                dpot_exact_ot(problem.cost, problem.mu, q, problem.n_rows, n, NULL, &exact, NULL),
                DPOT_OK);
            const double stated = json_number_value(json_object_get(entry, "cost_of_q"));
            const double excess = exact.transport_cost - optimum;
            cr_assert_float_eq(exact.transport_cost, stated,
                               tolerance_of(&problem, "cost_of_q_rel") * stated, "%s", names[i]);
            cr_assert(excess >= -1e-9 && excess <= json_number_value(bound) + 1e-12, "%s: %g",
                      names[i], excess);
            dpot_exact_result_release(&exact);
            free(q);
            n_checked++;
        }
        problem_release(&problem);
    }
    cr_assert_geq(n_checked, 18);
}

Test(reference, the_projection_onto_the_base_measure_of_kpm_has_its_cost)
{
    struct problem problem;
    problem_load(&problem, "p01_ring30_s0");
    const json_t *reference = reference_of(&problem);
    size_t n = 0;
    double *m = numbers_load(json_object_get(reference, "kpm_base"), &n);
    double *q = calloc(n, sizeof *q);
    for (size_t j = 0; j < n; j++) {
        problem.lower[j] = m[j] * exp(-problem.epsilon / 2);
        problem.upper[j] = m[j] * exp(problem.epsilon / 2);
    }
    const double expected = json_number_value(json_object_get(reference, "wpm_cost_with_kpm_base"));
    cr_assert_float_eq(project(&problem, q), expected, 1e-9 * expected);
    cr_assert_float_eq(project_few(&problem, q), expected, 1e-9 * expected);
    free(m);
    free(q);
    problem_release(&problem);
}
