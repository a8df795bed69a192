/* Confidence bounds of proportions against values computed with 40 digits. */
#include "account/proportion.h"

#include <criterion/criterion.h>
#include <math.h>

struct row {
    uint64_t n_hits, n;
    double error, lower, upper;
};

/* The first five are also in published tables of Clopper and Pearson's intervals. */
static const struct row rows[] = {
    {5, 10, 0.025, 0.1870860284473985, 0.8129139715526015},
    {1, 10, 0.025, 0.002528578544461785, 0.4450161170281954},
    {10, 10, 0.05, 0.7411344491069477, 1.0},
    {0, 10, 0.05, 0.0, 0.2588655508930523},
    {250, 1000, 0.025, 0.2234304062646804, 0.2780500062237555},
    {1000, 1000, 1e-6, 0.9862794856312105, 1.0},
    {3, 100000, 1e-5, 3.953755247986682e-7, 0.000186643348151559},
    {87719, 250000, 2.5e-6, 0.3465255444864247, 0.3552434365986727},
    {123456, 1000000, 1e-9, 0.1214916286187072, 0.1254386899305484},
    {999990, 1000000, 1e-4, 0.9999722379521723, 0.9999978024111673},
    {1, 1000000, 1e-9, 1.000000000341006e-15, 2.393945328218596e-5},
};

Test(proportion, bounds_are_those_of_clopper_and_pearson_and_rounded_outward)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        const double lower = proportion_lower(r->n_hits, r->n, r->error);
        const double upper = proportion_upper(r->n_hits, r->n, r->error);
        cr_assert(lower <= r->lower * (1 + 1e-15) && lower >= r->lower * (1 - 1e-8),
                  "row %zu: lower %.17g", i, lower);
        cr_assert(upper >= r->upper * (1 - 1e-15) && upper <= r->upper * (1 + 1e-8),
                  "row %zu: upper %.17g", i, upper);
    }
}

/* By summing the binomial law: the interval fails with at most the stated probability. */
Test(proportion, misses_the_truth_no_more_often_than_the_error)
{
    const double truth = 0.3, error = 0.05;
    const uint64_t n = 40;
    double law = pow(1 - truth, (double)n), below = 0, above = 0;
    for (uint64_t k = 0; k <= n; k++) {
        below += proportion_upper(k, n, error) < truth ? law : 0;
        above += proportion_lower(k, n, error) > truth ? law : 0;
        law *= (double)(n - k) / (double)(k + 1) * truth / (1 - truth);
    }
    cr_assert(below > 0 && below <= error, "%g", below);
    cr_assert(above > 0 && above <= error, "%g", above);
}

Test(proportion, epsilon_is_the_log_of_a_lower_over_an_upper_bound)
{
    const struct proportion_pair pair = {87719, 250000, 32547, 250000};
    const double p = proportion_lower(87719, 250000, 5e-6);
    const double q = proportion_upper(32547, 250000, 5e-6);
    cr_assert_float_eq(proportion_epsilon(&pair, 0, 1e-5), log(p / q), 1e-8);
    cr_assert_float_eq(proportion_epsilon(&pair, 0.1, 1e-5), log((p - 0.1) / q), 1e-8);
    cr_assert_lt(proportion_epsilon(&pair, 0, 1e-5), log(87719.0 / 32547));
}

Test(proportion, counts_that_prove_nothing_give_zero)
{
    const struct proportion_pair same = {500, 1000, 500, 1000}, none = {0, 1000, 0, 1000},
                                 all = {1000, 1000, 1000, 1000};
    cr_assert_eq(proportion_epsilon(&same, 0, 1e-4), 0);
    cr_assert_eq(proportion_epsilon(&none, 0, 1e-4), 0);
    cr_assert_eq(proportion_epsilon(&all, 0, 1e-4), 0);
    cr_assert_eq(proportion_epsilon(&(struct proportion_pair){900, 1000, 10, 1000}, 0.9, 1e-4), 0);
}
