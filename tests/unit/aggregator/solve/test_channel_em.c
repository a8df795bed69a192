/* Deconvolution through a known channel, against known solutions. */
#include "solve/estimate/channel_em.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct channel_em_result run(size_t n_inputs, size_t n_outputs, const double *channel,
                                    const double *counts, size_t max_iterations, double tol)
{
    const struct channel_em_config config = {
        .n_inputs = n_inputs,
        .n_outputs = n_outputs,
        .channel = channel,
        .counts = counts,
        .min_iterations = CHANNEL_EM_MIN_ITERATIONS,
        .max_iterations = max_iterations,
        .tol = tol,
        .linalg = &dpot_linalg_portable,
    };
    struct channel_em_result result;
    struct dpot_error error = {{0}};
    const dpot_status status = channel_em_run(&config, NULL, &result, &error);
    cr_assert_eq(status, DPOT_OK, "%s", error.text);
    return result;
}

/* Reports the truth with probability p, else one of the other k - 1. */
static void fill_response(size_t k, double p, double *channel)
{
    for (size_t l = 0; l < k; l++) {
        for (size_t j = 0; j < k; j++) {
            channel[l * k + j] = l == j ? p : (1 - p) / (double)(k - 1);
        }
    }
}

/* On a ring: one of the `width` outputs that follow the datum with more, the others with less. */
static void fill_ring(size_t k, size_t width, double inside, double *channel)
{
    for (size_t l = 0; l < k; l++) {
        for (size_t j = 0; j < k; j++) {
            channel[l * k + j] = (j + k - l) % k < width ? inside / (double)width
                                                         : (1 - inside) / (double)(k - width);
        }
    }
}

Test(channel_em, a_noiseless_channel_gives_the_frequencies_in_one_step)
{
    const double channel[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, counts[] = {5, 0, 15};
    struct channel_em_result result = run(3, 3, channel, counts, 1, 0);
    cr_assert_float_eq(result.weights[0], 0.25, 1e-15);
    cr_assert_eq(result.weights[1], 0);
    cr_assert_float_eq(result.weights[2], 0.75, 1e-15);
    cr_assert_float_eq(result.log_likelihood, 5 * log(0.25) + 15 * log(0.75), 1e-12);
    cr_assert_lt(result.headroom, 1e-12, "there is no more likely one");
    channel_em_result_release(&result);
}

/* Erasure: what is not erased is true, so the most likely weights are the shares of what is
 * left. */
Test(channel_em, erased_reports_are_ignored)
{
    const double channel[] = {0.3, 0, 0.7, 0, 0.3, 0.7}, counts[] = {12, 4, 40};
    struct channel_em_result result = run(2, 3, channel, counts, 500, 0);
    cr_assert_float_eq(result.weights[0], 0.75, 1e-12);
    cr_assert_float_eq(result.weights[1], 0.25, 1e-12);
    cr_assert_float_eq(result.log_likelihood,
                       12 * log(0.3 * 0.75) + 4 * log(0.3 * 0.25) + 40 * log(0.7), 1e-9);
    channel_em_result_release(&result);
}

Test(channel_em, randomised_response_is_inverted_where_its_inverse_is_a_distribution)
{
    double channel[25];
    const double p = 0.6, counts[] = {30, 22, 20, 16, 12}, n = 100;
    fill_response(5, p, channel);
    struct channel_em_result result = run(5, 5, channel, counts, 3000, 0);
    for (size_t l = 0; l < 5; l++) {
        const double q = (1 - p) / 4;
        cr_assert_float_eq(result.weights[l], (counts[l] / n - q) / (p - q), 1e-9, "%zu", l);
    }
    channel_em_result_release(&result);
}

/* Where the inverse is negative the most likely weight is 0: with two answers, the nearest end. */
Test(channel_em, weights_that_the_inverse_would_make_negative_end_at_zero)
{
    double channel[4];
    const double counts[] = {95, 5};
    fill_response(2, 0.8, channel); /* at least 20 of 100 are expected */
    struct channel_em_result result = run(2, 2, channel, counts, 4000, 0);
    cr_assert_gt(result.weights[0], 1 - 1e-9);
    cr_assert_float_eq(result.log_likelihood, 95 * log(0.8) + 5 * log(0.2), 1e-6);
    channel_em_result_release(&result);
}

Test(channel_em, with_exact_frequencies_the_steps_go_to_the_distribution_itself)
{
    enum { K = 11 };
    double channel[K * K], truth[K], law[K] = {0}, sum = 0;
    fill_ring(K, 4, 0.7, channel);
    for (size_t l = 0; l < K; l++) {
        truth[l] = 1 + 3 * (l % 3 == 1) + (double)l / K;
        sum += truth[l];
    }
    for (size_t l = 0; l < K; l++) {
        truth[l] /= sum;
        for (size_t j = 0; j < K; j++) {
            law[j] += truth[l] * channel[l * K + j];
        }
    }
    struct channel_em_result result = run(K, K, channel, law, 60000, 0);
    for (size_t l = 0; l < K; l++) {
        cr_assert_float_eq(result.weights[l], truth[l], 1e-6, "%zu: %g", l, result.weights[l]);
    }
    channel_em_result_release(&result);
}

/* The frequencies of n reports are within 1/n of the law here: so is what is found from them. */
Test(channel_em, the_error_vanishes_as_reports_become_more)
{
    enum { K = 8 };
    double channel[K * K], counts[K], before = INFINITY;
    static const double truth[K] = {.3, .05, .05, .2, .1, .1, .05, .15};
    fill_ring(K, 3, 0.8, channel);
    for (double n = 100; n <= 1e6; n *= 100) {
        double worst = 0;
        for (size_t j = 0; j < K; j++) {
            double law = 0;
            for (size_t l = 0; l < K; l++) {
                law += truth[l] * channel[l * K + j];
            }
            counts[j] = floor(n * law + (j % 2 ? 1 : 0));
        }
        struct channel_em_result result = run(K, K, channel, counts, 20000, 0);
        for (size_t l = 0; l < K; l++) {
            worst = fmax(worst, fabs(result.weights[l] - truth[l]));
        }
        channel_em_result_release(&result);
        cr_assert_lt(worst, before / 5, "n = %g: %g after %g", n, worst, before);
        before = worst;
    }
    cr_assert_lt(before, 1e-5);
}

Test(channel_em, the_likelihood_never_falls_and_the_headroom_bounds_what_is_left)
{
    enum { K = 12 };
    double channel[K * K], counts[K];
    fill_ring(K, 5, 0.6, channel);
    for (size_t j = 0; j < K; j++) {
        counts[j] = (double)((37 * j + 11) % 29);
    }
    struct channel_em_result all = run(K, K, channel, counts, 50000, 0);
    for (size_t n = 1; n <= 1000; n *= 10) {
        struct channel_em_result some = run(K, K, channel, counts, n, 0);
        cr_assert_geq(some.log_likelihood + some.headroom, all.log_likelihood - 1e-9);
        cr_assert_leq(some.log_likelihood, all.log_likelihood + 1e-9);
        channel_em_result_release(&some);
    }
    for (size_t t = 1; t <= all.iterations; t++) {
        cr_assert_geq(all.curve[t], all.curve[t - 1] - 1e-9, "step %zu", t);
    }
    channel_em_result_release(&all);
}

Test(channel_em, steps_end_at_the_first_small_gain_after_the_least_number_of_steps)
{
    double channel[25];
    const double counts[] = {300, 220, 200, 160, 120};
    fill_response(5, 0.6, channel);
    struct channel_em_result least = run(5, 5, channel, counts, 5000, 1e9);
    cr_assert_eq(least.iterations, CHANNEL_EM_MIN_ITERATIONS);
    cr_assert_eq(least.outcome, SOLVE_CONVERGED);
    struct channel_em_result fine = run(5, 5, channel, counts, 5000, 1e-12);
    const size_t t = fine.iterations;
    cr_assert_gt(t, CHANNEL_EM_MIN_ITERATIONS);
    cr_assert_lt(fine.curve[t] - fine.curve[t - 1], 1e-12);
    cr_assert_geq(fine.curve[t - 1] - fine.curve[t - 2], 1e-12);
    struct channel_em_result cut = run(5, 5, channel, counts, 20, 1e-12);
    cr_assert_eq(cut.outcome, SOLVE_ITERATION_LIMIT);
    cr_assert_eq(cut.iterations, 20);
    channel_em_result_release(&cut);
    channel_em_result_release(&fine);
    channel_em_result_release(&least);
}

static int64_t count_look(void *ctx)
{
    return ++*(int64_t *)ctx;
}

Test(channel_em, a_control_that_stops_leaves_the_weights_of_the_last_step)
{
    double channel[25];
    const double counts[] = {300, 220, 200, 160, 120};
    int64_t n_looks = 0;
    const struct dpot_clock clock = {
        .struct_size = sizeof clock, .ctx = &n_looks, .now = count_look};
    const struct solve_control control = {.clock = &clock, .deadline_ms = 7};
    struct channel_em_result result;
    fill_response(5, 0.6, channel);
    const struct channel_em_config config = {.n_inputs = 5,
                                             .n_outputs = 5,
                                             .channel = channel,
                                             .counts = counts,
                                             .max_iterations = 1000,
                                             .linalg = &dpot_linalg_portable};
    cr_assert_eq(channel_em_run(&config, &control, &result, NULL), DPOT_OK);
    cr_assert_eq(result.outcome, SOLVE_DEADLINE);
    struct channel_em_result same = run(5, 5, channel, counts, result.iterations, 0);
    cr_assert_arr_eq(result.weights, same.weights, sizeof(double) * 5);
    channel_em_result_release(&same);
    channel_em_result_release(&result);
}

static void refuse(const struct channel_em_config *config, dpot_status status, const char *word)
{
    struct channel_em_result result;
    struct dpot_error error = {{0}};
    const dpot_status found = channel_em_run(config, NULL, &result, &error);
    cr_assert_eq(found, status, "%s: %s", dpot_status_name(found), error.text);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
    cr_assert_null(result.weights);
}

Test(channel_em, invalid_channels_and_pools_are_refused)
{
    const double channel[] = {0.5, 0.5, 0, 0.25, 0.75, 0}, bad_row[] = {0.5, 0.4, 0, 0, 1, 0};
    const double counts[] = {3, 4, 0}, none[] = {0, 0, 0}, nan[] = {1, NAN, 0}, third[] = {1, 1, 1};
    const double start[] = {0.5, 0.6};
    const struct channel_em_config sound = {.n_inputs = 2,
                                            .n_outputs = 3,
                                            .channel = channel,
                                            .counts = counts,
                                            .max_iterations = 10,
                                            .linalg = &dpot_linalg_portable};
    struct channel_em_config config = sound;
    config.channel = bad_row;
    refuse(&config, DPOT_ERR_RANGE, "row 1 of the channel");
    config = sound;
    config.counts = none;
    refuse(&config, DPOT_ERR_RANGE, "not those of a pool");
    config.counts = nan;
    refuse(&config, DPOT_ERR_RANGE, "not those of a pool");
    config.counts = third;
    refuse(&config, DPOT_ERR_RANGE, "output 2 was reported 1 times");
    config = sound;
    config.start = start;
    refuse(&config, DPOT_ERR_RANGE, "weights to start from");
    config = sound;
    config.max_iterations = 0;
    refuse(&config, DPOT_ERR_RANGE, "0 iterations");
    config = sound;
    config.tol = NAN;
    refuse(&config, DPOT_ERR_RANGE, "tolerance");
    config = sound;
    config.n_inputs = 0;
    refuse(&config, DPOT_ERR_SHAPE, "0 x 3");
    config.n_inputs = CHANNEL_EM_SIZE_MAX;
    refuse(&config, DPOT_ERR_TOO_LARGE, "use fewer points");
}
