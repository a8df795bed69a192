/* Mironov's attack: Laplace noise in doubles, added to doubles. From x = 1 many outputs cannot come
 * from x = 0, because the sum has finer steps there. The audit's events detect which outputs are
 * attainable. The integer noise of this program has the same support for all inputs (twin_exact,
 * no_output_clamp). */
#include "privacy/examination.h"

#include "base/rng_seeded.h"
#include "mechanism/noise.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define N 20000
#define STEPS 4 /* neighbours of the uniform number that are tried */

static double uniform(struct dpot_rng *rng)
{
    return ldexp((double)(dpot_rng_u64(rng) >> 11) + 1, -53); /* (0, 1] */
}

/* Scale 1, as in textbooks: epsilon 1 for inputs that are 1 apart. */
static double release_in_doubles(double x, struct dpot_rng *rng)
{
    const double sign = dpot_rng_u64(rng) & 1 ? -1 : 1;
    return x + sign * -log(uniform(rng));
}

/* True if some uniform number gives y = 0 + -log(u). */
static bool is_attainable_from_zero(double y)
{
    const double guess = ldexp(round(ldexp(exp(-fabs(y)), 53)), -53);
    for (int step = -STEPS; step <= STEPS; step++) {
        if (-log(guess + step * ldexp(1, -53)) == fabs(y)) {
            return true;
        }
    }
    return false;
}

static struct audit_sample observe(double y)
{
    const bool is_impossible = y > 1.5 && y < 2 && !is_attainable_from_zero(y);
    return (struct audit_sample){{y, is_impossible}, 0};
}

Test(twin_double, naive_laplace_noise_in_doubles)
{
    struct audit_samples samples = {.n = N};
    struct event_finding finding;
    size_t n_between = 0, n_impossible = 0;
    for (int input = 0; input < 2; input++) {
        struct dpot_rng_seeded seeded;
        struct dpot_rng rng;
        samples.of[input] = calloc(N, sizeof(struct audit_sample));
        cr_assert_not_null(samples.of[input]);
        dpot_rng_seeded_init(&seeded, 5, (uint64_t)input);
        dpot_rng_init(&rng, &seeded.source);
        for (size_t i = 0; i < N; i++) {
            const double y = release_in_doubles(input, &rng);
            samples.of[input][i] = observe(y);
            n_between += input == 1 && y > 1.5 && y < 2;
            n_impossible += samples.of[input][i].number[1] == 1;
        }
        dpot_rng_release(&rng);
    }
    cr_assert_eq(events_bound(&samples, 0, EXAMINATION_ERROR, &finding), DPOT_OK);
    cr_assert_gt(finding.epsilon, 3, "%g", finding.epsilon);
    cr_assert_eq(finding.likelier, 1);
    cr_assert_eq(finding.counts.n_other_hits, 0);
    cr_assert_float_eq((double)n_impossible / (double)n_between, 0.64, 0.05);
    free(samples.of[0]);
    free(samples.of[1]);
}
