/* The Gaussian's delta: of the weights that the program draws from, against the exact formula for
 * the discrete law; and of the discrete law, against what the certificate's rows claim. */
#include "mechanism/acceptance.h"
#include "privacy/noise_weights.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* P[Y > t], Y ~ N_Z(0, sigma^2), by summing weights from the tail inwards. */
static double upper_tail(double t, double sigma)
{
    const double first = floor(t) + 1;
    double sum = 0, total = 1;
    for (double n = ceil(14 * sigma) + fabs(first); n >= 1; n--) {
        const double weight = exp(-n * n / (2 * sigma * sigma));
        total += 2 * weight;
        sum += n >= first ? weight : 0;
        sum += -n >= first ? weight : 0;
    }
    return (sum + (first <= 0 ? 1 : 0)) / total;
}

/* Canonne, Kamath and Steinke 2020: the exact delta of N_Z(0, sigma^2) shifted by d in one
 * dimension. */
static double delta_of_discrete(double epsilon, double d, double sigma)
{
    const double middle = epsilon * sigma * sigma / d;
    return upper_tail(middle - d / 2, sigma) - exp(epsilon) * upper_tail(middle + d / 2, sigma);
}

/* sum_y max(0, P(y) - e^epsilon P(y - d)) */
static double delta_of_law(const double *law, size_t n_values, double epsilon, size_t d)
{
    const size_t n = 2 * n_values - 1;
    double delta = 0;
    for (size_t y = 0; y < n; y++) {
        const double shifted = y + d < n ? law[y + d] : 0;
        delta += fmax(0, law[y] - exp(epsilon) * shifted);
    }
    return delta;
}

Test(gaussian, the_program_has_the_delta_of_the_discrete_gaussian)
{
    size_t n_checked = 0;
    for (unsigned k = 2; k <= 5; k++) {
        struct noise_weights noise = noise_weights_new(DPOT_NOISE_GAUSSIAN, k);
        double *law = noise_weights_to_doubles(&noise);
        const double sigma = ldexp(1, (int)k);
        for (size_t d = 1; d <= (size_t)2 << k; d++) {
            for (double epsilon = 0.05; epsilon < 6; epsilon *= 1.7) {
                const double formula = delta_of_discrete(epsilon, (double)d, sigma);
                cr_assert_float_eq(delta_of_law(law, noise.n_values, epsilon, d), formula, 1e-12,
                                   "k %u d %zu epsilon %g", k, d, epsilon);
                if (formula > 1e-6) {
                    cr_assert_float_eq(delta_of_law(law, noise.n_values, epsilon, d) / formula, 1,
                                       1e-9);
                    n_checked++;
                }
            }
        }
        free(law);
        noise_weights_free(&noise);
    }
    cr_assert_gt(n_checked, 300);
}

/* Why the certificate does not use the continuous formula at small sigma: the discrete delta is
 * larger. */
Test(gaussian, the_continuous_formula_is_no_bound_at_small_sigma)
{
    const double mu = 0.25, epsilon = 3; /* sigma 4, d 1 */
    const double continuous = erfc((epsilon / mu - mu / 2) / sqrt(2)) / 2 -
                              exp(epsilon) * erfc((epsilon / mu + mu / 2) / sqrt(2)) / 2;
    const double discrete = delta_of_discrete(epsilon, 1, 4);
    cr_assert_gt(discrete, 1.15 * continuous);
    cr_assert_lt(discrete, 1.19 * continuous);
}

/* The largest d <= mu sigma that is accepted in one dimension; 0 if none is. */
static uint64_t largest_accepted(const struct dpot_gauss_row *row, unsigned k)
{
    struct dpot_sensitivity s = {0};
    uint64_t d = (uint64_t)sqrt(ldexp((double)row->mu2_q40, 2 * (int)k - 40)) + 2;
    do {
        d--;
        s.l2_squared = dpot_u128_mul(d, d);
    } while (d > 0 && !dpot_gaussian_accepts(&s, row, k, 1));
    return d;
}

/* The whole chain in one dimension at the smallest sigma allowed, without the slack of the proof:
 * rows keep their delta, and do not waste it. */
Test(certificate, no_accepted_release_has_more_than_the_delta_of_its_row)
{
    double largest = 0;
    size_t n_checked = 0;
    for (uint32_t i = 1; i <= dpot_gauss_row_count(); i += 11) {
        struct dpot_gauss_row row;
        cr_assert_eq(dpot_gauss_row(i, &row), DPOT_OK);
        for (unsigned k = 10; k <= 11 && row.d_max > 0; k++) {
            const uint64_t d = largest_accepted(&row, k);
            if (d == 0) {
                continue; /* mu >= 4 requires k = 11 */
            }
            const double epsilon = ldexp((double)row.epsilon_q32, -32);
            const double delta = delta_of_discrete(epsilon, (double)d, ldexp(1, (int)k));
            const double ratio = delta / ldexp((double)row.delta_q64, -64);
            cr_assert_leq(ratio, 1, "row %u k %u d %llu: %.6f", i, k, (unsigned long long)d, ratio);
            largest = fmax(largest, ratio);
            n_checked++;
        }
    }
    cr_assert_gt(n_checked, 600);
    cr_assert_gt(largest, 0.99);
}
