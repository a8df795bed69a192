/* Levels and their scales. */
#include "golden.h"

#include "central/amplification.h"
#include "central/budget.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct budget make(double epsilon, size_t depth, size_t dim, enum adjacency adjacency)
{
    struct budget budget;
    struct dpot_error error = {""};
    cr_assert_eq(budget_init(&budget, epsilon, depth, dim, adjacency, &error), DPOT_OK, "%s",
                 error.text);
    return budget;
}

Test(budget, splits_epsilon_as_the_golden_vectors_do)
{
    json_t *root = golden_pmm();
    const json_t *cases = json_object_get(root, "budget");
    cr_assert_geq(json_array_size(cases), 3);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        const size_t depth = (size_t)json_integer_value(json_object_get(c, "r"));
        const struct budget budget =
            make(json_number_value(json_object_get(c, "eps")), depth,
                 (size_t)json_integer_value(json_object_get(c, "d")), ADJACENCY_REPLACE_ONE);
        for (size_t j = 1; j <= depth; j++) {
            const double wanted = golden_at(json_object_get(c, "eps_j"), j - 1);
            const struct discrete_laplace scale = budget_scale(&budget, j);
            cr_assert_eq((double)budget.level[j], wanted * (double)BUDGET_ONE, "case %zu, %zu", i,
                         j);
            cr_assert_float_eq((double)scale.t / (double)scale.s,
                               golden_at(json_object_get(c, "scale_j"), j - 1), 1e-10);
        }
        cr_assert_eq(budget.level[0], 0, "the root is public");
    }
    json_decref(root);
}

Test(budget, never_spends_more_than_epsilon)
{
    const double epsilons[] = {1e-6, 0.1, 1.0 / 3, 1, 2.7182818284590452, 20, 1024};
    for (size_t e = 0; e < 7; e++) {
        for (size_t dim = 1; dim <= 30; dim += 7) {
            for (size_t depth = 1; depth <= BUDGET_DEPTH_MAX; depth++) {
                for (int a = ADJACENCY_REPLACE_ONE; a <= ADJACENCY_ADD_REMOVE; a++) {
                    struct budget budget;
                    const dpot_status status =
                        budget_init(&budget, epsilons[e], depth, dim, (enum adjacency)a, NULL);
                    if (status != DPOT_OK) {
                        cr_assert_eq(epsilons[e], 1e-6, "only this one is too small");
                        continue;
                    }
                    cr_assert_leq(budget_spent(&budget), epsilons[e]);
                    cr_assert_geq(budget_spent(&budget),
                                  epsilons[e] - (double)(depth + 2) / (double)BUDGET_ONE);
                }
            }
        }
    }
}

Test(budget, add_remove_charges_the_root_and_halves_the_scale)
{
    const struct budget budget = make(1, 3, 2, ADJACENCY_ADD_REMOVE);
    cr_assert_gt(budget.level[0], 0);
    cr_assert_eq(budget.level[0], budget.level[1]);
    const struct discrete_laplace scale = budget_scale(&budget, 1);
    cr_assert_eq(scale.t, BUDGET_ONE);
    cr_assert_eq(scale.s, budget.level[1]);
    cr_assert_str_eq(adjacency_name(ADJACENCY_ADD_REMOVE), "add-remove");
    cr_assert_str_eq(adjacency_name(ADJACENCY_REPLACE_ONE), "replace-one");
}

Test(budget, refuses_an_invalid_epsilon)
{
    const double wrong[] = {0, -1, NAN, INFINITY, 1025, 1e-300, 1e-12};
    for (size_t i = 0; i < 7; i++) {
        struct budget budget;
        struct dpot_error error = {""};
        cr_assert_eq(budget_init(&budget, wrong[i], 10, 2, ADJACENCY_REPLACE_ONE, &error),
                     DPOT_ERR_RANGE);
        cr_assert(strstr(error.text, "epsilon"), "%s", error.text);
    }
}

Test(budget, depth_follows_epsilon_and_the_public_number)
{
    json_t *root = golden_pmm();
    const json_t *levels = json_object_get(root, "levels");
    for (size_t i = 0; i < json_array_size(levels); i++) {
        const json_t *c = json_array_get(levels, i);
        cr_assert_eq((double)budget_choose_depth(golden_at(c, 0), golden_at(c, 1)),
                     golden_at(c, 2));
    }
    cr_assert_eq(budget_choose_depth(0.001, 1), 1);
    cr_assert_eq(budget_choose_depth(20, 1e12), BUDGET_DEPTH_CHOSEN_MAX);
    json_decref(root);
}

Test(budget, amplification_assumes_a_secret_sample)
{
    /* About 1 for 200,000 of 320 million at epsilon 7.9: the experiment of the papers, accounted
     * correctly. */
    cr_assert_float_eq(amplification_epsilon(7.9, 2e5 / 3.2e8), 0.98774645, 1e-8);
    cr_assert_geq(amplification_epsilon(1, 0.25), log(1 + 0.25 * (exp(1) - 1)));
    cr_assert_float_eq(amplification_epsilon(1, 0.25), log(1 + 0.25 * (exp(1) - 1)), 1e-12);
    cr_assert_eq(amplification_epsilon(3, 1), 3);
    cr_assert_eq(amplification_epsilon(1000, 0.5), 1000);
}
