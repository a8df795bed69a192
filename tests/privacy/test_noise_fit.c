/* Goodness of fit of draws: chi-square against the program's exact integer weights at small scales,
 * Kolmogorov-Smirnov against the continuous laws at k = 16. Seeds are fixed; for a new seed an
 * honest test fails with probability 1e-6. */
#include "base/rng_seeded.h"
#include "privacy/noise_weights.h"
#include "privacy/statistics.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define ALARM 1e-6
#define N_SAMPLES 200000

/* Fills values with draws. */
typedef void drawer(enum dpot_noise noise, unsigned k, struct dpot_rng *rng, int64_t *values,
                    size_t n);

static int64_t *sample(drawer *draw, enum dpot_noise noise, unsigned k)
{
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    int64_t *values = calloc(N_SAMPLES, sizeof *values);
    cr_assert_not_null(values);
    dpot_rng_seeded_init(&seeded, 20240607, 100 * (uint64_t)noise + k);
    dpot_rng_init(&rng, &seeded.source);
    draw(noise, k, &rng, values, N_SAMPLES);
    return values;
}

/* The p-value of draws against the exact weights. */
static double fit_of(drawer *draw, enum dpot_noise noise, unsigned k)
{
    struct noise_weights weights = noise_weights_new(noise, k);
    const size_t n_cells = 2 * weights.n_values - 1;
    double *law = noise_weights_to_doubles(&weights);
    size_t *counts = calloc(n_cells, sizeof *counts);
    int64_t *values = sample(draw, noise, k);
    cr_assert_not_null(counts);
    for (size_t i = 0; i < N_SAMPLES; i++) {
        const size_t cell = (size_t)(values[i] + (int64_t)weights.n_values - 1);
        cr_assert_lt(cell, n_cells);
        counts[cell]++;
    }
    const double p = fit_p(counts, law, n_cells, N_SAMPLES);
    free(values);
    free(counts);
    free(law);
    noise_weights_free(&weights);
    return p;
}

Test(fit, small_scales_follow_their_integer_weights)
{
    for (unsigned k = 1; k <= 6; k++) {
        const double p = fit_of(dpot_noise_add, DPOT_NOISE_LAPLACE, k);
        cr_assert_gt(p, ALARM, "laplace k %u: p %g", k, p);
        if (k >= 2) {
            const double q = fit_of(dpot_noise_add, DPOT_NOISE_GAUSSIAN, k);
            cr_assert_gt(q, ALARM, "gaussian k %u: p %g", k, q);
        }
    }
}

static double laplace_cdf(double x)
{
    return x < 0 ? exp(x) / 2 : 1 - exp(-x) / 2;
}

static double gaussian_cdf(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The p-value of draws, in units of the scale, against a continuous law. */
static double distance_of(enum dpot_noise noise, unsigned k, double (*cdf)(double), double scale)
{
    int64_t *values = sample(dpot_noise_add, noise, k);
    double distance = 0;
    qsort(values, N_SAMPLES, sizeof *values, compare);
    for (size_t i = 0; i < N_SAMPLES; i++) {
        const double below = (double)i / N_SAMPLES, above = (double)(i + 1) / N_SAMPLES;
        const double law = cdf((double)values[i] / scale);
        distance = fmax(distance, fmax(above - law, law - below));
    }
    free(values);
    return kolmogorov_p(distance, N_SAMPLES);
}

Test(fit, large_scales_follow_the_continuous_laws)
{
    const double t = ldexp(1, 16);
    const double laplace = distance_of(DPOT_NOISE_LAPLACE, 16, laplace_cdf, t);
    const double gaussian = distance_of(DPOT_NOISE_GAUSSIAN, 16, gaussian_cdf, t);
    cr_assert_gt(laplace, ALARM, "laplace: p %g", laplace);
    cr_assert_gt(gaussian, ALARM, "gaussian: p %g", gaussian);
    cr_assert_lt(distance_of(DPOT_NOISE_LAPLACE, 16, laplace_cdf, t * 1.05), ALARM,
                 "a scale that is 5 %% off must be caught");
    cr_assert_lt(distance_of(DPOT_NOISE_GAUSSIAN, 16, gaussian_cdf, t * 1.05), ALARM);
}

/* The values of the next trial. */
static struct dpot_noise_trial next_trial(enum dpot_noise noise, unsigned k, struct dpot_rng *rng,
                                          uint64_t *accept)
{
    uint8_t bytes[DPOT_NOISE_TRIAL_LEN];
    dpot_rng_bytes(rng, bytes, sizeof bytes);
    *accept = 0;
    for (size_t i = 8; i-- > 0;) {
        *accept = *accept << 8 | bytes[24 + i];
    }
    return dpot_noise_try(noise, k, bytes);
}

/* Twin: -0 is as good as 0. */
static void accept_minus_zero(enum dpot_noise noise, unsigned k, struct dpot_rng *rng,
                              int64_t *values, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint64_t accept;
        const struct dpot_noise_trial trial = next_trial(noise, k, rng, &accept);
        values[i] = trial.value;
        i += accept >> 1 < trial.threshold;
    }
}

/* Twin: the noise of rejected trials is used too. */
static void accept_everything(enum dpot_noise noise, unsigned k, struct dpot_rng *rng,
                              int64_t *values, size_t n)
{
    uint64_t accept;
    for (size_t i = 0; i < n; i++) {
        values[i] = next_trial(noise, k, rng, &accept).value;
    }
}

/* Twin: a rejected trial's noise stays in the sum. */
static void add_rejected_noise(enum dpot_noise noise, unsigned k, struct dpot_rng *rng,
                               int64_t *values, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint64_t accept;
        const struct dpot_noise_trial trial = next_trial(noise, k, rng, &accept);
        const int64_t sum = values[i] + trial.value;
        const int64_t most = (INT64_C(65) << (k - 1)) - 1;
        values[i] = sum > most ? most : sum < -most ? -most : sum;
        i += trial.is_accepted;
    }
}

Test(twin, minus_zero_is_caught)
{
    cr_assert_lt(fit_of(accept_minus_zero, DPOT_NOISE_LAPLACE, 1), ALARM);
    cr_assert_lt(fit_of(accept_minus_zero, DPOT_NOISE_LAPLACE, 4), ALARM);
    cr_assert_lt(fit_of(accept_minus_zero, DPOT_NOISE_GAUSSIAN, 3), ALARM);
}

Test(twin, noise_of_rejected_trials_is_caught)
{
    cr_assert_lt(fit_of(accept_everything, DPOT_NOISE_LAPLACE, 4), ALARM);
    cr_assert_lt(fit_of(accept_everything, DPOT_NOISE_GAUSSIAN, 4), ALARM);
    cr_assert_lt(fit_of(add_rejected_noise, DPOT_NOISE_LAPLACE, 4), ALARM);
}

/* The test statistic itself, against values known in closed form: e^(-x/2) with 2 degrees of
 * freedom. */
Test(statistics, tails_are_those_of_known_laws)
{
    for (double x = 0.1; x < 80; x *= 1.3) {
        cr_assert_float_eq(chi_square_p(x, 2) / exp(-x / 2), 1, 1e-9, "x %g", x);
        cr_assert_float_eq(chi_square_p(x, 4) / (exp(-x / 2) * (1 + x / 2)), 1, 1e-9, "x %g", x);
        cr_assert_float_eq(chi_square_p(x, 1) / erfc(sqrt(x / 2)), 1, 1e-9, "x %g", x);
    }
    cr_assert_float_eq(chi_square_p(124.342, 100), 0.05, 1e-4);
    cr_assert_float_eq(kolmogorov_p(1.3581 / 1000, 1000000), 0.05, 1e-3);
}
