#include "privacy/noise_weights.h"

#include "base/buf.h"
#include "mechanism/noise_tables.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define SIGN ((uint64_t)1 << 63)

static struct dpot_noise_trial try_numbers(enum dpot_noise noise, unsigned k, struct dpot_u128 u,
                                           uint64_t fine)
{
    uint8_t bytes[DPOT_NOISE_TRIAL_LEN] = {0};
    dpot_store_u64(bytes, u.lo);
    dpot_store_u64(bytes + 8, u.hi);
    dpot_store_u64(bytes + 16, fine);
    return dpot_noise_try(noise, k, bytes);
}

/* The weight of value x = (cell, fine): its cell begins at `begin` and has `mass` units. */
static struct wide weight_of(enum dpot_noise noise, unsigned k, struct dpot_u128 begin,
                             struct wide mass, uint64_t fine, uint64_t x)
{
    const struct dpot_noise_trial plus = try_numbers(noise, k, begin, fine);
    const struct dpot_noise_trial minus = try_numbers(noise, k, begin, fine | SIGN);
    cr_assert_eq(plus.value, (int64_t)x);
    cr_assert_eq(plus.is_accepted, 1);
    cr_assert_eq(minus.is_accepted, x != 0);
    cr_assert_eq(minus.value, -(int64_t)x);
    cr_assert_eq(minus.threshold, plus.threshold);
    return wide_mul(mass, wide_from_u64(plus.threshold));
}

struct noise_weights noise_weights_new(enum dpot_noise noise, unsigned k)
{
    const bool is_laplace = noise == DPOT_NOISE_LAPLACE;
    const struct dpot_u128 *cdf = is_laplace ? dpot_laplace_cdf : dpot_gaussian_cdf;
    const size_t n_cells = 1 + (is_laplace ? DPOT_LAPLACE_CDF_LEN : DPOT_GAUSSIAN_CDF_LEN);
    const unsigned fine_bits = k - (is_laplace ? 1 : 2);
    struct noise_weights weights = {.n_values = n_cells << fine_bits};
    weights.weight = calloc(weights.n_values, sizeof *weights.weight);
    cr_assert_not_null(weights.weight);
    for (size_t y = 0; y < n_cells; y++) {
        const struct dpot_u128 begin = y > 0 ? cdf[y - 1] : (struct dpot_u128){0, 0};
        const struct wide end =
            y + 1 < n_cells ? wide_from_u128(cdf[y]) : wide_shift_left(wide_from_u64(1), 128);
        const struct wide mass = wide_sub(end, wide_from_u128(begin));
        for (uint64_t u = 0; u >> fine_bits == 0; u++) {
            const size_t x = (y << fine_bits) + u;
            const struct wide weight = weight_of(noise, k, begin, mass, u, x);
            weights.weight[x] = weight;
            weights.total = wide_add(weights.total, weight);
            weights.total = x > 0 ? wide_add(weights.total, weight) : weights.total;
        }
    }
    return weights;
}

void noise_weights_free(struct noise_weights *weights)
{
    free(weights->weight);
    *weights = (struct noise_weights){0};
}

double *noise_weights_to_doubles(const struct noise_weights *weights)
{
    const size_t n = weights->n_values;
    double *law = calloc(2 * n - 1, sizeof *law);
    cr_assert_not_null(law);
    const double total = wide_to_double(weights->total, 192);
    for (size_t x = 0; x < n; x++) {
        law[n - 1 + x] = law[n - 1 - x] = wide_to_double(weights->weight[x], 192) / total;
    }
    return law;
}
