#include "audit/noise_law.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "mechanism/noise_tables.h"

#include <math.h>

#define SIGN ((uint64_t)1 << 63)

static unsigned fine_bits(enum dpot_noise noise, unsigned k)
{
    return noise == DPOT_NOISE_LAPLACE ? k - 1 : k - 2;
}

static size_t cell_count(enum dpot_noise noise)
{
    return 1 + (size_t)(noise == DPOT_NOISE_LAPLACE ? DPOT_LAPLACE_CDF_LEN : DPOT_GAUSSIAN_CDF_LEN);
}

/* First unit of cell y in the table's units; 2^128 for the end. */
static struct dpot_u128 cell_begin(enum dpot_noise noise, size_t y)
{
    const struct dpot_u128 *cdf =
        noise == DPOT_NOISE_LAPLACE ? dpot_laplace_cdf : dpot_gaussian_cdf;
    return y == 0 ? dpot_u128_from(0) : cdf[y - 1];
}

static double cell_mass(enum dpot_noise noise, size_t y)
{
    const struct dpot_u128 end =
        y + 1 < cell_count(noise) ? cell_begin(noise, y + 1) : dpot_u128_from(0); /* 2^128 */
    const struct dpot_u128 mass = dpot_u128_sub(end, cell_begin(noise, y));
    return ldexp((double)mass.hi, -64) + ldexp((double)mass.lo, -128);
}

size_t noise_law_size(enum dpot_noise noise, unsigned k)
{
    return cell_count(noise) << fine_bits(noise, k);
}

struct noise_weight noise_law_weight(noise_trial *attempt, enum dpot_noise noise, unsigned k,
                                     uint64_t x)
{
    uint8_t bytes[DPOT_NOISE_TRIAL_LEN] = {0};
    const unsigned bits = fine_bits(noise, k);
    const size_t y = (size_t)(x >> bits);
    const struct dpot_u128 begin = cell_begin(noise, y);
    const uint64_t fine = x & (((uint64_t)1 << bits) - 1);
    dpot_store_u64(bytes, begin.lo);
    dpot_store_u64(bytes + 8, begin.hi);
    dpot_store_u64(bytes + 16, fine);
    const struct dpot_noise_trial plus = attempt(noise, k, bytes);
    dpot_store_u64(bytes + 16, fine | SIGN);
    const struct dpot_noise_trial minus = attempt(noise, k, bytes);
    const double mass = cell_mass(noise, y);
    const bool has_plus = plus.is_accepted && plus.value == (int64_t)x;
    const bool has_minus = minus.is_accepted && minus.value == -(int64_t)x;
    return (struct noise_weight){has_plus ? mass * ldexp((double)plus.threshold, -63) : 0,
                                 has_minus ? mass * ldexp((double)minus.threshold, -63) : 0};
}

dpot_status noise_law_init(struct noise_law *law, noise_trial *attempt, enum dpot_noise noise,
                           unsigned k)
{
    *law = (struct noise_law){.n_values = noise_law_size(noise, k)};
    if (law->n_values > NOISE_LAW_VALUES_MAX) {
        return DPOT_ERR_TOO_LARGE;
    }
    law->weight = dpot_alloc_array(NULL, 2 * law->n_values - 1, sizeof *law->weight);
    if (!law->weight) {
        return DPOT_ERR_MEMORY;
    }
    /* From the tails inward, so that small numbers are added first. */
    for (size_t i = law->n_values; i-- > 0;) {
        const struct noise_weight weight = noise_law_weight(attempt, noise, k, i);
        law->weight[law->n_values - 1 + i] += weight.plus;
        law->weight[law->n_values - 1 - i] += weight.minus;
        law->total += weight.plus + weight.minus;
    }
    return DPOT_OK;
}

void noise_law_release(struct noise_law *law)
{
    dpot_free_array(NULL, law->weight, 2 * law->n_values - 1, sizeof *law->weight);
    *law = (struct noise_law){0};
}
