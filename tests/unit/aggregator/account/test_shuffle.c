#include "account/shuffle.h"
#include "golden.h"

#include <criterion/criterion.h>
#include <math.h>
#include <time.h>

Test(shuffle, closed_forms_have_the_values_of_the_vectors)
{
    json_t *root = golden_load("shuffle.json");
    const json_t *tests = json_object_get(json_object_get(root, "reference"), "tests");
    cr_assert_eq(json_array_size(tests), 5);
    for (size_t i = 0; i < json_array_size(tests); i++) {
        const json_t *t = json_array_get(tests, i);
        const double e = golden_number(t, "eps0"), n = golden_number(t, "n"),
                     delta = golden_number(t, "delta");
        cr_assert(shuffle_holds(e, shuffle_closed_limit(n, delta)));
        expect_just_above(shuffle_closed_epsilon(e, n, delta), golden_number(t, "fmt23"), 1e-12,
                          "2023");
        expect_just_above(shuffle_clones_epsilon(e, n, delta), golden_number(t, "fmt21"), 1e-12,
                          "2021");
        const double tight = shuffle_tight_epsilon(e, n, delta);
        cr_assert(tight > 0 && tight < golden_number(t, "fmt23"), "%g", tight);
    }
    json_decref(root);
}

Test(shuffle, computed_delta_is_an_upper_bound_near_the_sum_over_all_counts)
{
    json_t *root = golden_load("reference.json");
    const json_t *tests = json_object_get(root, "shuffle");
    cr_assert_geq(json_array_size(tests), 11);
    for (size_t i = 0; i < json_array_size(tests); i++) {
        const json_t *t = json_array_get(tests, i);
        const double exact = golden_number(t, "delta"), n = golden_number(t, "n");
        const double delta =
            shuffle_delta(golden_number(t, "epsilon0"), n, golden_number(t, "epsilon"), exact);
        /* Blocks with several values of C lose a little accuracy. */
        expect_just_above(delta, exact, n < 100000 ? 4e-6 : 5e-3, "delta");
    }
    json_decref(root);
}

Test(shuffle, the_bound_without_other_users_is_the_reports_own_epsilon)
{
    /* Two users and a tiny delta: almost no amplification, and never more than epsilon0. */
    const double tight = shuffle_tight_epsilon(1, 2, 1e-300);
    cr_assert(tight <= 1 && tight > 1 - 1e-9, "%.17g", tight);
    cr_assert_eq(shuffle_delta(1, 1000, 1, 1e-6), 0);
    cr_assert_leq(shuffle_closed_epsilon(3, 10, 0.9), 3);
    cr_assert_leq(shuffle_clones_epsilon(3, 10, 0.9), 3);
}

Test(shuffle, more_users_and_more_delta_never_need_more_epsilon)
{
    for (double e = 0.1; e < 12; e *= 4.7) {
        double before = e;
        for (double n = 2; n < 1e9; n *= 211) {
            const double now = shuffle_tight_epsilon(e, n, 1e-7);
            cr_assert(now <= before * (1 + 1e-3), "epsilon0 %g, n %g: %g, %g", e, n, before, now);
            cr_assert_leq(shuffle_tight_epsilon(e, n, 1e-5), now * (1 + 1e-3));
            before = now;
        }
        cr_assert_lt(before, e / 2);
    }
}

Test(shuffle, tight_bound_is_below_the_theorems_wherever_they_hold)
{
    int n_compared = 0;
    for (double e = 0.01; e < 15; e *= 3.1) {
        for (double n = 200; n < 1e12; n *= 613) {
            for (double delta = 1e-15; delta < 0.1; delta *= 1e6) {
                if (!shuffle_holds(e, shuffle_closed_limit(n, delta))) {
                    continue;
                }
                n_compared++;
                cr_assert_leq(shuffle_tight_epsilon(e, n, delta),
                              shuffle_closed_epsilon(e, n, delta), "%g, %g, %g", e, n, delta);
            }
        }
    }
    cr_assert_geq(n_compared, 40);
}

Test(shuffle, limits_exclude_too_few_users)
{
    cr_assert_not(shuffle_holds(1e-9, shuffle_closed_limit(2, 1e-6)));
    cr_assert_not(shuffle_holds(1e-9, shuffle_clones_limit(100, 1e-6)));
    const double limit = shuffle_closed_limit(400000, 1e-6);
    cr_assert_float_eq(limit, log(400000 / (8 * log(2e6)) - 1), 1e-12);
    cr_assert(shuffle_holds(limit, limit) && !shuffle_holds(limit * 1.0001, limit));
}

Test(shuffle, time_is_bounded_for_any_size)
{
    static const double cases[][3] = {{1, 1e12, 1e-9},   {5, 1e15, 1e-300}, {1e-9, 1e15, 1e-12},
                                      {512, 1e15, 1e-6}, {0.1, 1e12, 0.3},  {3, 1e15, 1e-8}};
    const clock_t start = clock();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double epsilon = shuffle_tight_epsilon(cases[i][0], cases[i][1], cases[i][2]);
        cr_assert(epsilon >= 0 && epsilon <= cases[i][0], "case %zu: %g", i, epsilon);
    }
    cr_assert_lt((double)(clock() - start) / CLOCKS_PER_SEC, 60,
                 "a few seconds without sanitizers");
}
