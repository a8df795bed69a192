/* Broken twins that the exact part of the audit catches: one function of the program is replaced by
 * a wrong copy, and the enumeration must report it; with the program's own function it must not. */
#include "privacy/examination.h"

#include "mechanism/quantize.h"
#include "mechanism/sampler.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N DPOT_MASS_ONE
#define N_OUTPUTS 16 /* of a small domain */

/* ---- vectors ---- */

/* The findings of the enumeration for a subject; functions that are NULL are the program's own. */
static double find_epsilon(struct subject *subject, const struct vector_program *broken)
{
    struct vector_program program = vector_program_of(&subject->campaign);
    struct vector_finding finding;
    struct dpot_error error = {{0}};
    if (broken->quantize) {
        program.quantize = broken->quantize;
    }
    if (broken->attempt) {
        program.attempt = broken->attempt;
    }
    if (broken->clamp) {
        program.clamp = broken->clamp;
    }
    const double delta = dpot_delta_to_double(subject->claim.delta_q64);
    cr_assert_eq(vector_exact(&program, delta, &finding, &error), DPOT_OK, "%s", error.text);
    return finding.epsilon;
}

static void expect_caught(const char *name, const struct vector_program *broken, double least)
{
    struct subject subject;
    examine_open(&subject, name);
    const double claim = dpot_epsilon_to_double(subject.claim.epsilon_q32);
    const struct vector_program honest = {0};
    cr_assert_leq(find_epsilon(&subject, &honest), claim);
    const double found = find_epsilon(&subject, broken);
    cr_assert(found > claim && found >= least, "%s: %.10g", name, found);
    subject_release(&subject);
}

static void release_anything(unsigned k, const struct dpot_vector_domain *vector, int64_t *values)
{
    (void)k;
    (void)vector;
    (void)values;
}

Test(twin_exact, no_output_clamp)
{
    const struct vector_program broken = {.clamp = release_anything};
    expect_caught("laplace-box", &broken, INFINITY);
    expect_caught("laplace-l1-ball", &broken, INFINITY);
}

/* Noise whose scale is 5 % smaller: the same cells, each value accepted e^(-0.05 x / t) times as
 * often. */
static struct dpot_noise_trial try_smaller_noise(enum dpot_noise noise, unsigned k,
                                                 const uint8_t bytes[DPOT_NOISE_TRIAL_LEN])
{
    struct dpot_noise_trial trial = dpot_noise_try(noise, k, bytes);
    const double x = fabs((double)trial.value) / ldexp(1, (int)k);
    trial.threshold = (uint64_t)((double)trial.threshold * exp(-0.05 * x));
    return trial;
}

Test(twin_exact, a_scale_that_is_too_small_by_5_percent)
{
    const struct vector_program broken = {.attempt = try_smaller_noise};
    expect_caught("laplace-box", &broken, 1.049);
    expect_caught("laplace-l1-ball", &broken, 1.047);
}

/* sigma smaller by 5 %: x^2 / 2 sigma^2 grows by a factor of 1 / 0.95^2. */
static struct dpot_noise_trial try_smaller_gaussian(enum dpot_noise noise, unsigned k,
                                                    const uint8_t bytes[DPOT_NOISE_TRIAL_LEN])
{
    struct dpot_noise_trial trial = dpot_noise_try(noise, k, bytes);
    const double x = (double)trial.value / ldexp(1, (int)k);
    trial.threshold =
        (uint64_t)((double)trial.threshold * exp(-(1 / (0.95 * 0.95) - 1) * x * x / 2));
    return trial;
}

Test(twin_exact, a_sigma_that_is_too_small_by_5_percent)
{
    const struct vector_program broken = {.attempt = try_smaller_gaussian};
    expect_caught("gaussian-l2-ball", &broken, 1.04);
    expect_caught("gaussian-box", &broken, 1.04);
}

static struct dpot_noise_trial try_with_minus_zero(enum dpot_noise noise, unsigned k,
                                                   const uint8_t bytes[DPOT_NOISE_TRIAL_LEN])
{
    struct dpot_noise_trial trial = dpot_noise_try(noise, k, bytes);
    trial.is_accepted |= trial.value == 0;
    return trial;
}

Test(twin_exact, minus_zero_is_accepted)
{
    const struct vector_program broken = {.attempt = try_with_minus_zero};
    expect_caught("laplace-box", &broken, 1 + 2 * log(2) - 0.01); /* in each of two coordinates */
}

/* The set that clipping enforces is 5 % wider than the campaign's. */
static void quantize_wider(const struct dpot_vector_domain *vector, const double *x, int64_t *z)
{
    struct dpot_vector_domain wider = *vector;
    int64_t lo[VECTOR_EXACT_DIM_MAX], hi[VECTOR_EXACT_DIM_MAX];
    for (uint32_t j = 0; j < vector->dim; j++) {
        const int64_t low = dpot_vector_lo(vector, j), high = dpot_vector_hi(vector, j);
        lo[j] = low - (high - low) / 40;
        hi[j] = high + (high - low) / 40;
    }
    wider.radius = vector->radius * 21 / 20;
    wider.n_sides = vector->n_sides > 0 ? vector->dim : 0;
    wider.lo = lo;
    wider.hi = hi;
    dpot_quantize(&wider, x, z);
}

Test(twin_exact, a_set_that_is_5_percent_too_wide)
{
    const struct vector_program broken = {.quantize = quantize_wider};
    expect_caught("laplace-box", &broken, 1.04);
    expect_caught("laplace-l1-ball", &broken, 1.04);
    expect_caught("gaussian-l2-ball", &broken, 1.04);
}

/* NaN is neither less than lo nor greater than hi: it passes the clamp, and the cast makes a
 * number. */
static void quantize_without_nan(const struct dpot_vector_domain *vector, const double *x,
                                 int64_t *z)
{
    dpot_quantize(vector, x, z);
    for (uint32_t j = 0; j < vector->dim; j++) {
        z[j] = isnan(x[j]) ? DPOT_VECTOR_SIDE_MAX : z[j];
    }
}

Test(twin_exact, nan_skips_the_clamp)
{
    const struct vector_program broken = {.quantize = quantize_without_nan};
    expect_caught("laplace-nan", &broken, 10);
    expect_caught("gaussian-box", &broken, 10);
}

/* ---- index mechanisms ---- */

/* Two inputs: point 0 is at least as heavy as point 1, or not. */
struct two_laws {
    double q[2][4];
    const uint64_t *lower, *upper;
};

static size_t heavier_point(const double *histogram)
{
    return histogram[0] >= histogram[1] ? 0 : 1;
}

static void round_within_bounds(void *ctx, const double *histogram, uint64_t *weights)
{
    const struct two_laws *laws = ctx;
    dpot_weights_round(laws->q[heavier_point(histogram)], laws->lower, laws->upper, 4, weights);
}

static void round_by_largest_remainder(void *ctx, const double *histogram, uint64_t *weights)
{
    const double *q = ((const struct two_laws *)ctx)->q[heavier_point(histogram)];
    double remainder[4];
    uint64_t rest = N;
    for (size_t j = 0; j < 4; j++) {
        weights[j] = (uint64_t)floor(ldexp(q[j], 62));
        remainder[j] = ldexp(q[j], 62) - floor(ldexp(q[j], 62));
        rest -= weights[j];
    }
    for (; rest > 0; rest--) {
        size_t largest = 0;
        for (size_t j = 1; j < 4; j++) {
            largest = remainder[j] > remainder[largest] ? j : largest;
        }
        remainder[largest] = -1;
        weights[largest]++;
    }
}

/* Laws in the real polytope (ratio 1.4 at epsilon 0.5) whose light outcomes become 1 and 2 units.
 */
Test(twin_exact, largest_remainders_without_bounds)
{
    const double unit = ldexp(1, -62), heavy = 1 - ldexp(1, -53);
    uint32_t codes[4] = {1, 1, 509, UINT32_MAX};
    uint64_t lower[4], upper[4];
    const struct dpot_base_measure base_measure = {4, codes, N - N / 4};
    const uint64_t epsilon_q32 = DPOT_EPSILON_ONE / 2;
    cr_assert_eq(dpot_bounds_compute(&base_measure, epsilon_q32, lower, upper, NULL), DPOT_OK);
    struct two_laws laws = {{{1.25 * unit, 1.75 * unit, 509 * unit, heavy},
                             {1.75 * unit, 1.25 * unit, 509 * unit, heavy}},
                            lower,
                            upper};
    struct index_program program = {2, 4, epsilon_q32, lower, upper, round_within_bounds, &laws};
    struct index_finding finding;
    index_exact(&program, &finding);
    cr_assert(finding.is_private, "%g", finding.law_maximum);
    program.law = round_by_largest_remainder;
    index_exact(&program, &finding);
    cr_assert_not(finding.is_private);
    cr_assert_float_eq(finding.law_maximum, log(2), 1e-12);
}

static void always_the_fallback(void *ctx, const double *histogram, uint64_t *weights)
{
    (void)histogram;
    memcpy(weights, ctx, N_OUTPUTS * sizeof *weights);
}

/* With a real mass of 1.9 units L is 1, and U would be 1.9 e^epsilon. */
Test(twin_exact, upper_bounds_grown_from_the_real_mass)
{
    uint32_t codes[N_OUTPUTS];
    uint64_t lower[N_OUTPUTS], upper[N_OUTPUTS];
    uint64_t fallback[N_OUTPUTS], sum = 0;
    for (size_t j = 0; j < N_OUTPUTS; j++) {
        codes[j] = j == 0 ? 3 : UINT32_MAX;
        sum += codes[j];
    }
    const uint64_t epsilon_q32 = 20 * DPOT_EPSILON_ONE;
    const struct dpot_base_measure base_measure = {N_OUTPUTS, codes, sum / 30 * 19};
    struct index_program program = {2,     N_OUTPUTS,           epsilon_q32, lower,
                                    upper, always_the_fallback, fallback};
    struct index_finding finding;
    cr_assert_eq(dpot_bounds_compute(&base_measure, epsilon_q32, lower, upper, NULL), DPOT_OK);
    cr_assert_eq(lower[0], 1);
    dpot_bounds_fallback(lower, upper, N_OUTPUTS, fallback);
    index_exact(&program, &finding);
    cr_assert(finding.is_private);
    upper[0] = (uint64_t)(1.9 * exp(20) * (1 - 1e-9));
    index_exact(&program, &finding);
    cr_assert_not(finding.is_private);
    cr_assert_float_eq(finding.polytope_maximum, 20 + log(1.9), 1e-6);
}

/* A law that leaves out an outcome, and one that does not add up. */
static void law_without_an_outcome(void *ctx, const double *histogram, uint64_t *weights)
{
    const uint64_t missing = *(const uint64_t *)ctx;
    weights[0] = histogram[0] > 0 ? N - missing : N / 2;
    weights[1] = histogram[0] > 0 ? 0 : N / 2;
}

Test(twin_exact, laws_that_leave_out_an_outcome_or_do_not_add_up)
{
    const uint64_t lower[2] = {1, 1}, upper[2] = {2, 2};
    uint64_t missing = 0;
    const struct index_program program = {
        2, 2, DPOT_EPSILON_ONE, lower, upper, law_without_an_outcome, &missing};
    struct index_finding finding;
    for (missing = 0; missing < 2; missing++) {
        index_exact(&program, &finding);
        cr_assert_not(finding.is_private);
        cr_assert_eq(finding.law_maximum, INFINITY);
    }
}
