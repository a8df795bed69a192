/* Permute-and-flip against its claim: the exact law of the choice for all scores and all their
 * neighbours on a lattice, that the program follows this law, and two broken twins. */
#include "privacy/statistics.h"

#include "base/rng_seeded.h"
#include "central/permute_and_flip.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N 4
#define SENSITIVITY 2
#define EPSILON 1.0
#define SCORES 7 /* each candidate's is 0 .. 6 */

/* P[i is taken | it is reached], i = 0 .. N - 1. */
static void taking(const int64_t *scores, double unit, double *p)
{
    int64_t least = scores[0];
    for (int i = 1; i < N; i++) {
        least = scores[i] < least ? scores[i] : least;
    }
    for (int i = 0; i < N; i++) {
        p[i] = exp(-EPSILON * (double)(scores[i] - least) / unit);
    }
}

/* Adds to law the outcomes from here on: `left` is the set of candidates not reached yet. */
static void walk(const double *p, unsigned left, double weight, double *law)
{
    int n = 0;
    for (int i = 0; i < N; i++) {
        n += (int)(left >> i & 1);
    }
    for (int i = 0; i < N; i++) {
        if (left >> i & 1) {
            law[i] += weight / n * p[i];
            if (n > 1) {
                walk(p, left & ~(1u << i), weight / n * (1 - p[i]), law);
            }
        }
    }
}

static void permute_law(const int64_t *scores, double unit, double *law)
{
    double p[N];
    taking(scores, unit, p);
    memset(law, 0, N * sizeof *law);
    walk(p, (1u << N) - 1, 1, law);
}

/* Neighbours: every score moves by -SENSITIVITY, 0 or SENSITIVITY. */
static double worst_loss(double unit)
{
    double worst = 0;
    for (int code = 0; code < SCORES * SCORES * SCORES * SCORES; code++) {
        int64_t scores[N] = {code % SCORES, code / SCORES % SCORES, code / 49 % SCORES, code / 343};
        double law[N], other_law[N];
        permute_law(scores, unit, law);
        for (int move = 0; move < 81; move++) {
            int64_t other[N];
            for (int i = 0, rest = move; i < N; i++, rest /= 3) {
                other[i] = scores[i] + SENSITIVITY * (rest % 3 - 1);
            }
            permute_law(other, unit, other_law);
            for (int i = 0; i < N; i++) {
                worst = fmax(worst, fabs(log(law[i] / other_law[i])));
            }
        }
    }
    return worst;
}

Test(choice_exact, loses_no_more_than_epsilon_and_all_of_it)
{
    const double worst = worst_loss(2 * SENSITIVITY);
    cr_assert_leq(worst, EPSILON + 1e-12);
    cr_assert_gt(worst, 0.9 * EPSILON, "%g", worst);
}

Test(choice_exact, catches_a_sensitivity_that_is_the_radius)
{
    cr_assert_gt(worst_loss(SENSITIVITY), 1.5 * EPSILON);
}

static double program_p(const int64_t *scores, double unit, uint64_t seed)
{
    struct dpot_rng_seeded seeded;
    struct exact_draw draw;
    size_t counts[N] = {0}, order[N];
    double law[N];
    const size_t n_runs = 300000;
    dpot_rng_seeded_init(&seeded, seed, 0);
    exact_draw_init(&draw, &seeded.source);
    for (size_t t = 0; t < n_runs; t++) {
        counts[permute_and_flip(scores, N, SENSITIVITY, (uint64_t)(EPSILON * CHOICE_EPSILON_ONE),
                                &draw, order)]++;
    }
    exact_draw_release(&draw);
    permute_law(scores, unit, law);
    return fit_p(counts, law, N, n_runs);
}

/* False alarms: p below 1e-5 for one of three, 3e-5, and the seeds are fixed. */
Test(choice_exact, the_program_follows_the_law)
{
    const int64_t scores[3][N] = {{0, 1, 2, 3}, {-5, 0, -5, -4}, {7, 7, 7, 7}};
    for (size_t i = 0; i < 3; i++) {
        const double p = program_p(scores[i], 2 * SENSITIVITY, 40 + i);
        cr_assert_gt(p, 1e-5, "scores %zu: p = %g", i, p);
    }
    cr_assert_lt(program_p(scores[0], SENSITIVITY, 40), 1e-5, "another unit would be noticed");
}
