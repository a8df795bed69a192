#include "vector.h"

#include "solve/base_measure/best_uniform.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static void solve(struct phi *phi, double *measure, struct best_uniform_result *result)
{
    cr_assert_eq(best_uniform(phi, NULL, measure, result), DPOT_OK);
    cr_assert_eq(result->outcome, SOLVE_CONVERGED);
    expect_feasible(phi, measure);
    cr_assert_float_eq(total_of(measure, phi->n_cols), result->total_mass,
                       1e-12 * result->total_mass);
    cr_assert_eq(phi_evaluate(phi, measure), result->objective);
    cr_assert_leq(result->lower_bound, result->objective * (1 + 1e-12));
}

/* Total mass and objective of a file, under the names they have there. */
static void check_vector(const char *name, const char *mass_key, const char *objective_key)
{
    struct vector vector;
    struct phi phi;
    struct best_uniform_result result;
    double measure[400];
    vector_load(&vector, name);
    vector_phi(&vector, NULL, &phi);
    solve(&phi, measure, &result);
    const double expected = vector_number(vector.reference, objective_key);
    const double mass = vector_number(vector.reference, mass_key);
    cr_assert_float_eq(result.objective, expected, 1e-12 * expected, "%s: %.17g", name,
                       result.objective);
    cr_assert_float_eq(result.total_mass, mass, 1e-7 * mass, "%s: %.17g", name, result.total_mass);
    phi_release(&phi);
    vector_release(&vector);
}

Test(best_uniform, is_that_of_the_reference)
{
    const char *const names[] = {"b01_ring30_p1_eps1", "b01_ring30_p2_eps5", "b02_line40_p1_eps2",
                                 "b05_mismatch_p1_eps1", "b08_eps12"};
    for (size_t v = 0; v < 5; v++) {
        check_vector(names[v], "uniform_scale", "f_uniform");
    }
    check_vector("wpm/p01_ring30_s0", "best_uniform_scale", "f_best_uniform");
    check_vector("wpm/p02_grid20_sparse_eps2", "best_uniform_scale", "f_best_uniform");
}

Test(best_uniform, is_proved_optimal_on_a_ring)
{
    const double epsilons[] = {0.01, 0.5, 1, 4, 10};
    for (size_t e = 0; e < 5; e++) {
        struct vector vector;
        struct phi phi;
        struct best_uniform_result result;
        double measure[37];
        vector_ring(&vector, 37, 1 + (double)(e % 2), epsilons[e]);
        vector_phi(&vector, NULL, &phi);
        solve(&phi, measure, &result);
        cr_assert_leq(phi_relative_gap(result.objective, result.lower_bound), 1e-10, "epsilon %g",
                      epsilons[e]);
        phi_release(&phi);
        vector_release(&vector);
    }
}

/* On a sphere every point sees the same costs, so one row is enough: points of equal mass at the
 * middles of n shares. Circle: squared chord 2 - 2 cos of an even angle; S^2: the height is
 * even. */
static double squared_chord(int dim, double share)
{
    return dim == 1 ? 2 - 2 * cos(acos(-1) * share) : 4 * share;
}

Test(best_uniform, approaches_the_closed_form_on_spheres)
{
    enum { N = 20000 };
    struct vector file;
    size_t n_checked = 0;
    double *cost = calloc(N, sizeof *cost), *measure = calloc(N, sizeof *measure);
    cr_assert(cost && measure);
    vector_load(&file, "s01_sphere");
    const json_t *tests = json_object_get(file.reference, "tests");
    for (size_t t = 0; t < json_array_size(tests); t++) {
        const json_t *test = json_array_get(tests, t);
        const int dim = (int)vector_number(test, "d");
        struct phi phi;
        struct best_uniform_result result;
        if (dim > 2) {
            continue; /* heights are not even there */
        }
        for (size_t j = 0; j < N; j++) {
            cost[j] = pow(squared_chord(dim, ((double)j + 0.5) / N), vector_number(test, "p") / 2);
        }
        const struct vector vector = {
            .n_rows = 1, .n_cols = N, .epsilon = vector_number(test, "eps"), .cost = cost};
        vector_phi(&vector, NULL, &phi);
        solve(&phi, measure, &result);
        const double value = vector_number(test, "value");
        cr_assert_float_eq(result.objective, value, 1e-6 * value);
        cr_assert_float_eq(result.total_mass, vector_number(test, "alpha"), 1e-3);
        phi_release(&phi);
        n_checked++;
    }
    cr_assert_eq(n_checked, 16);
    vector_release(&file);
    free(cost);
    free(measure);
}

Test(best_uniform, is_no_worse_than_any_other_total_mass)
{
    uint64_t state = 11;
    const double weights[4] = {1, 2, 3, 0};
    for (size_t trial = 0; trial < 60; trial++) {
        struct vector vector;
        struct phi phi;
        struct best_uniform_result result;
        double measure[40], other[40];
        const size_t n = 1 + trial % 40;
        const double epsilon = trial % 5 == 0   ? 1e-3
                               : trial % 5 == 1 ? 30
                                                : 0.2 + (double)(trial % 7);
        vector_random(&vector, 4, n, epsilon, &state);
        vector_phi(&vector, trial % 2 ? weights : NULL, &phi);
        solve(&phi, measure, &result);
        for (size_t s = 0; s <= 1000; s++) {
            const double mass = phi.alpha * pow(phi.beta / phi.alpha, (double)s / 1000);
            for (size_t j = 0; j < n; j++) {
                other[j] = fmin(mass, phi.beta) / (double)n;
            }
            cr_assert_geq(phi_evaluate(&phi, other), result.objective * (1 - 1e-11));
        }
        phi_release(&phi);
        vector_release(&vector);
    }
}

Test(best_uniform, is_quick_at_every_epsilon)
{
    const double epsilons[] = {1e-9, 1e-3, 1, 20, 100};
    for (size_t e = 0; e < 5; e++) {
        struct vector vector;
        struct phi phi;
        struct best_uniform_result result;
        double measure[64];
        vector_grid(&vector, 8, 2, epsilons[e]);
        vector_phi(&vector, NULL, &phi);
        solve(&phi, measure, &result);
        cr_assert_leq(result.iterations, 150, "epsilon %g: %zu", epsilons[e], result.iterations);
        phi_release(&phi);
        vector_release(&vector);
    }
}

Test(best_uniform, has_the_common_value_of_equal_costs)
{
    double cost[6] = {3, 3, 3, 3, 3, 3}, measure[3];
    for (size_t c = 0; c < 2; c++) {
        struct phi phi;
        struct best_uniform_result result;
        const struct vector vector = {.n_rows = 2, .n_cols = 3, .epsilon = 1, .cost = cost};
        vector_phi(&vector, NULL, &phi);
        solve(&phi, measure, &result);
        cr_assert_float_eq(result.objective, cost[0], 1e-15);
        cr_assert_float_eq(result.lower_bound, cost[0], 1e-15);
        phi_release(&phi);
        for (size_t i = 0; i < 6; i++) {
            cost[i] = 0;
        }
    }
}

Test(best_uniform, gives_a_measure_when_cancelled)
{
    struct vector vector;
    struct phi phi;
    struct best_uniform_result result;
    double measure[64];
    atomic_bool cancel = true;
    const struct solve_control control = {.cancel = &cancel};
    vector_grid(&vector, 8, 1, 2);
    vector_phi(&vector, NULL, &phi);
    cr_assert_eq(best_uniform(&phi, &control, measure, &result), DPOT_OK);
    cr_assert_eq(result.outcome, SOLVE_CANCELLED);
    expect_feasible(&phi, measure);
    cr_assert_eq(phi_evaluate(&phi, measure), result.objective);
    phi_release(&phi);
    vector_release(&vector);
}

Test(best_uniform, survives_a_failed_allocation)
{
    const double cost[4] = {0, 1, 1, 0};
    double measure[2];
    struct phi phi;
    struct best_uniform_result result;
    struct test_allocator t;
    test_allocator_init(&t);
    const struct phi_config config = {
        .n_rows = 2, .n_cols = 2, .cost = cost, .epsilon = 1, .allocator = &t.allocator};
    cr_assert_eq(phi_init(&phi, &config, NULL), DPOT_OK);
    test_allocator_fail_at(&t, 1);
    cr_assert_eq(best_uniform(&phi, NULL, measure, &result), DPOT_ERR_MEMORY);
    phi_release(&phi);
    cr_assert_eq(t.bytes, 0);
}
