#include "solve/estimate/channel_inverse.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define N_INPUTS 6
#define N_OUTPUTS 8

/* Rows of sum one, different from each other. */
static void fill_channel(double *channel)
{
    for (size_t l = 0; l < N_INPUTS; l++) {
        double sum = 0;
        for (size_t j = 0; j < N_OUTPUTS; j++) {
            channel[l * N_OUTPUTS + j] = 1 + (double)((l * 31 + j * 17 + l * j * 5) % 13);
            sum += channel[l * N_OUTPUTS + j];
        }
        for (size_t j = 0; j < N_OUTPUTS; j++) {
            channel[l * N_OUTPUTS + j] /= sum;
        }
    }
}

static void mix(const double *channel, const double *weights, double *law)
{
    for (size_t j = 0; j < N_OUTPUTS; j++) {
        law[j] = 0;
        for (size_t l = 0; l < N_INPUTS; l++) {
            law[j] += weights[l] * channel[l * N_OUTPUTS + j];
        }
    }
}

static void invert(const double *channel, const double *law, struct channel_inverse *inverse)
{
    struct dpot_error error = {0};
    cr_assert_eq(channel_inverse_init(channel, N_INPUTS, N_OUTPUTS, law, dpot_linalg_openblas(),
                                      inverse, &error),
                 DPOT_OK, "%s", error.text);
}

static double weight_of(const struct channel_inverse *inverse, size_t l, const double *shares)
{
    double sum = 0;
    for (size_t j = 0; j < N_OUTPUTS; j++) {
        sum += inverse->inverse[l * N_OUTPUTS + j] * shares[j];
    }
    return sum;
}

static const double weights[N_INPUTS] = {.3, 0, .25, .05, .4, 0};
static const double other_weights[N_INPUTS] = {0, .1, .2, .3, .15, .25};

Test(channel_inverse, gives_back_the_weights_of_exact_shares_whatever_law_it_was_made_for)
{
    double channel[N_INPUTS * N_OUTPUTS], law[N_OUTPUTS], shares[N_OUTPUTS];
    struct channel_inverse inverse;
    fill_channel(channel);
    mix(channel, other_weights, law);
    mix(channel, weights, shares);
    invert(channel, law, &inverse);
    cr_assert_eq(inverse.n_determined, N_INPUTS);
    for (size_t l = 0; l < N_INPUTS; l++) {
        cr_assert(inverse.is_determined[l]);
        cr_assert_float_eq(weight_of(&inverse, l, shares), weights[l], 1e-11);
    }
    channel_inverse_release(&inverse);
}

/* Gauss and Markov: no other unbiased linear estimate has a smaller variance at the law it was made
 * for. */
Test(channel_inverse, is_the_most_accurate_at_its_law)
{
    double channel[N_INPUTS * N_OUTPUTS], law[N_OUTPUTS], flat[N_OUTPUTS];
    struct channel_inverse own, other;
    fill_channel(channel);
    mix(channel, weights, law);
    for (size_t j = 0; j < N_OUTPUTS; j++) {
        flat[j] = 1.0 / N_OUTPUTS;
    }
    invert(channel, law, &own);
    invert(channel, flat, &other);
    for (size_t l = 0; l < N_INPUTS; l++) {
        double own_variance = 0, other_variance = 0;
        for (size_t j = 0; j < N_OUTPUTS; j++) {
            own_variance += law[j] * pow(own.inverse[l * N_OUTPUTS + j], 2);
            other_variance += law[j] * pow(other.inverse[l * N_OUTPUTS + j], 2);
        }
        cr_assert_leq(own_variance, other_variance * (1 + 1e-9), "weight %zu", l);
    }
    channel_inverse_release(&own);
    channel_inverse_release(&other);
}

Test(channel_inverse, reports_weights_that_equal_rows_leave_undetermined)
{
    double channel[N_INPUTS * N_OUTPUTS], law[N_OUTPUTS], shares[N_OUTPUTS];
    struct channel_inverse inverse;
    fill_channel(channel);
    for (size_t j = 0; j < N_OUTPUTS; j++) {
        channel[4 * N_OUTPUTS + j] = channel[1 * N_OUTPUTS + j];
    }
    mix(channel, weights, law);
    mix(channel, weights, shares);
    invert(channel, law, &inverse);
    cr_assert_eq(inverse.n_determined, N_INPUTS - 2);
    for (size_t l = 0; l < N_INPUTS; l++) {
        cr_assert_eq(inverse.is_determined[l], l != 1 && l != 4, "weight %zu", l);
        if (inverse.is_determined[l]) {
            cr_assert_float_eq(weight_of(&inverse, l, shares), weights[l], 1e-10);
        }
    }
    /* their sum is determined */
    cr_assert_float_eq(weight_of(&inverse, 1, shares) + weight_of(&inverse, 4, shares), .4, 1e-10);
    channel_inverse_release(&inverse);
}

Test(channel_inverse, more_points_than_it_can_invert_are_refused)
{
    const double one = 1;
    struct channel_inverse inverse;
    struct dpot_error error = {0};
    cr_assert_eq(
        channel_inverse_init(&one, 8193, 1, &one, dpot_linalg_openblas(), &inverse, &error),
        DPOT_ERR_TOO_LARGE);
    cr_assert_null(inverse.inverse);
}
