#include "mechanism/acceptance.h"
#include "mechanism/integers.h"
#include "mechanism/noise.h"
#include "mechanism/quantize.h"
#include "mechanism/sampler.h"
#include "model/privacy.h"
#include "portability.h"
#include "sha256.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_all(struct sha256 *sha256, const void *numbers, size_t n)
{
    const uint8_t *bytes = numbers;
    for (size_t i = 0; i < n; i++) {
        uint64_t number;
        memcpy(&number, bytes + i * sizeof number, sizeof number);
        sha256_add_u64(sha256, number);
    }
}

static void add_u128(struct sha256 *sha256, struct dpot_u128 x)
{
    sha256_add_u64(sha256, x.lo);
    sha256_add_u64(sha256, x.hi);
}

/* ---- u128.h and integers.h ---- */

static uint64_t edge_or_any(struct inputs *inputs)
{
    const uint64_t one = (uint64_t)1 << inputs_below(inputs, 64);
    const uint64_t choice = inputs_below(inputs, 4);
    return choice == 0   ? one
           : choice == 1 ? one - 1
           : choice == 2 ? 0 - one
                         : inputs_any_size(inputs);
}

void digest_u128(struct sha256 *sha256)
{
    struct inputs inputs = {1};
    for (unsigned i = 0; i < 4000; i++) {
        const uint64_t x = edge_or_any(&inputs), y = edge_or_any(&inputs);
        const struct dpot_u128 a = {x, edge_or_any(&inputs)};
        const struct dpot_u128 b = {y, i % 3 == 0 ? a.hi : edge_or_any(&inputs)};
        const uint64_t mask = dpot_u64_mask(dpot_u64_less(x, y));
        const int64_t s = dpot_i64_of_bits(x);
        add_u128(sha256, dpot_u128_add(a, b));
        add_u128(sha256, dpot_u128_sub(a, b));
        add_u128(sha256, dpot_u128_sub_floor(a, b));
        add_u128(sha256, dpot_u128_mul(x, y));
        add_u128(sha256, dpot_u128_shr(a, i % 128));
        add_u128(sha256, dpot_u128_select(mask, a, b));
        sha256_add_u64(sha256, dpot_u128_less(a, b) | dpot_u64_nonzero(x) << 1 | (mask & 4));
        sha256_add_u64(sha256, dpot_u64_mul_shr(x, y, i % 128));
        sha256_add_u64(sha256, dpot_u128_min_u64(a, y));
        sha256_add_u64(sha256, dpot_u64_min(x, y) + 3 * dpot_u64_max(x, y));
        sha256_add_u64(sha256, dpot_i64_magnitude(s));
        sha256_add_u64(sha256, (uint64_t)dpot_i64_with_sign(x >> 1, dpot_i64_sign_mask(s)));
        sha256_add_u64(sha256, (uint64_t)dpot_i64_clamp(s, -(int64_t)(y >> 2), (int64_t)(y >> 1)));
    }
}

/* ---- sampler.h ---- */

static void fill_codes(struct inputs *inputs, uint32_t *codes, size_t size)
{
    const uint64_t kind = inputs_below(inputs, 3);
    for (size_t j = 0; j < size; j++) {
        const uint64_t any = inputs_any_size(inputs) & UINT32_MAX;
        codes[j] = kind == 0 ? 1000 : kind == 1 ? (uint32_t)(any | 1) : j % 7 == 0 ? UINT32_MAX : 1;
    }
}

static void round_and_draw(struct sha256 *sha256, struct inputs *inputs, const uint64_t *lower,
                           const uint64_t *upper, uint32_t size)
{
    uint64_t *fallback = allocate(size, sizeof *fallback),
             *weights = allocate(size, sizeof *weights);
    double *q = allocate(size, sizeof *q);
    dpot_bounds_fallback(lower, upper, size, fallback);
    add_all(sha256, fallback, size);
    for (unsigned i = 0; i < 4; i++) {
        for (size_t j = 0; j < size; j++) {
            q[j] = i == 0 ? 1.0 / size : inputs_double(inputs, i == 1 ? 1.0 : 4.0 / size);
        }
        dpot_weights_round(q, lower, upper, size, weights);
        add_all(sha256, weights, size);
        weights[inputs_below(inputs, size)] += i == 3; /* invalid: the fallback is drawn from */
        for (unsigned k = 0; k < 4; k++) {
            sha256_add_u64(sha256, dpot_weights_draw(weights, lower, upper, fallback, size,
                                                     inputs_next(inputs)));
        }
    }
    free(fallback);
    free(weights);
    free(q);
}

static void digest_polytope(struct sha256 *sha256, struct inputs *inputs, uint32_t size)
{
    uint32_t *codes = allocate(size, sizeof *codes);
    uint64_t *lower = allocate(size, sizeof *lower), *upper = allocate(size, sizeof *upper);
    const struct dpot_base_measure base_measure = {size, codes,
                                                   DPOT_MASS_ONE >> inputs_below(inputs, 24)};
    const uint64_t epsilon_q32 = 1 + inputs_below(inputs, DPOT_INDEX_EPSILON_MAX_Q32);
    fill_codes(inputs, codes, size);
    const dpot_status status = dpot_bounds_compute(&base_measure, epsilon_q32, lower, upper, NULL);
    sha256_add_u64(sha256, (uint64_t)(int64_t)status);
    add_all(sha256, lower, size);
    add_all(sha256, upper, size);
    if (status == DPOT_OK) {
        round_and_draw(sha256, inputs, lower, upper, size);
    }
    free(codes);
    free(lower);
    free(upper);
}

void digest_sampler(struct sha256 *sha256)
{
    struct inputs inputs = {2};
    for (unsigned i = 0; i < 2000; i++) {
        sha256_add_u64(sha256,
                       dpot_exp_half_lower(1 + inputs_below(&inputs, DPOT_INDEX_EPSILON_MAX_Q32)));
    }
    for (uint32_t size = 2; size < 80; size++) {
        digest_polytope(sha256, &inputs, size);
        digest_polytope(sha256, &inputs, size);
    }
    digest_polytope(sha256, &inputs, 3000);
}

/* ---- noise.h ---- */

static void digest_scale(struct sha256 *sha256, struct inputs *inputs, enum dpot_noise noise,
                         unsigned k)
{
    uint8_t bytes[DPOT_NOISE_TRIAL_LEN];
    int64_t values[29] = {0}, least, most;
    struct dpot_rng rng = {.used = 0};
    for (unsigned i = 0; i < 60; i++) {
        for (size_t j = 0; j < sizeof bytes; j++) {
            bytes[j] = (uint8_t)(inputs_next(inputs) >> 8);
        }
        /* Extremes: the first cell, the last one, no fine bits, all of them. */
        memset(bytes + 8 * (i % 4), i % 8 < 4 ? 0 : 0xff, i < 24 ? 8 : 0);
        const struct dpot_noise_trial trial = dpot_noise_try(noise, k, bytes);
        sha256_add_u64(sha256, trial.is_accepted);
        sha256_add_u64(sha256, (uint64_t)trial.value);
        sha256_add_u64(sha256, trial.threshold);
    }
    memcpy(rng.key, &inputs->state, sizeof inputs->state);
    dpot_noise_add(noise, k, &rng, values, 29);
    add_all(sha256, values, 29);
    sha256_add_u64(sha256, (uint64_t)dpot_noise_draw(noise, k, &rng));
    dpot_noise_range(noise, k, -(int64_t)inputs_below(inputs, 4096), 4096, &least, &most);
    sha256_add_u64(sha256, (uint64_t)least);
    sha256_add_u64(sha256, (uint64_t)most);
    if (noise == DPOT_NOISE_LAPLACE) {
        int64_t lo = -3, hi = 5;
        const struct dpot_vector_domain box = {
            .set = DPOT_VECTOR_BOX, .dim = 29, .n_sides = 1, .lo = &lo, .hi = &hi};
        dpot_laplace_clamp(k > 4 ? k - 4 : k, &box, values);
        add_all(sha256, values, 29);
    }
}

void digest_noise(struct sha256 *sha256)
{
    struct inputs inputs = {3};
    for (unsigned k = DPOT_LAPLACE_SCALE_LOG2_MIN; k <= DPOT_LAPLACE_SCALE_LOG2_MAX; k++) {
        digest_scale(sha256, &inputs, DPOT_NOISE_LAPLACE, k);
    }
    for (unsigned k = DPOT_GAUSSIAN_SCALE_LOG2_MIN; k <= DPOT_GAUSSIAN_SCALE_LOG2_MAX; k++) {
        digest_scale(sha256, &inputs, DPOT_NOISE_GAUSSIAN, k);
    }
}

/* ---- quantize.h ---- */

#define DIM_MOST 40

static void digest_set(struct sha256 *sha256, struct inputs *inputs, enum dpot_vector_set set,
                       uint32_t dim)
{
    int64_t lo[DIM_MOST], hi[DIM_MOST], z[DIM_MOST];
    double x[DIM_MOST];
    const unsigned radius_bits = set == DPOT_VECTOR_L1_BALL ? 40 : 26;
    struct dpot_vector_domain vector = {.set = set, .dim = dim};
    const int step_log2 = (int)inputs_below(inputs, 120) - 60;
    vector.inverse_step = ldexp(1.0 + (double)inputs_below(inputs, 1000) / 1000, step_log2);
    if (set == DPOT_VECTOR_BOX) {
        vector.n_sides = inputs_below(inputs, 2) ? dim : 1;
        vector.lo = lo;
        vector.hi = hi;
    } else {
        vector.radius = 1 + inputs_of_bits(inputs, radius_bits - 1);
    }
    for (uint32_t j = 0; j < dim; j++) {
        lo[j] = -(int64_t)inputs_of_bits(inputs, 40);
        hi[j] = lo[j] + (int64_t)inputs_of_bits(inputs, 40);
        hi[j] = hi[j] > DPOT_VECTOR_SIDE_MAX ? DPOT_VECTOR_SIDE_MAX : hi[j];
        x[j] = inputs_double(inputs, ldexp(4096, j % 2 ? (int)inputs_below(inputs, 60) - 30 : 0) /
                                         vector.inverse_step);
    }
    dpot_quantize_round(vector.inverse_step, x, dim, z);
    add_all(sha256, z, dim);
    dpot_quantize_enforce(&vector, z);
    add_all(sha256, z, dim);
}

void digest_quantize(struct sha256 *sha256)
{
    struct inputs inputs = {4};
    for (uint32_t i = 0; i < 1500; i++) {
        digest_set(sha256, &inputs, DPOT_VECTOR_BOX + (int)(i % 3), 1 + i % DIM_MOST);
    }
    for (unsigned i = 0; i < 300; i++) {
        const uint64_t root = inputs_any_size(&inputs) >> 2;
        struct dpot_u128 square = dpot_u128_mul(root, root);
        sha256_add_u64(sha256, dpot_u128_ceil_sqrt(square));
        square = dpot_u128_add(square, dpot_u128_from(1));
        sha256_add_u64(sha256, dpot_u128_ceil_sqrt(square));
        sha256_add_u64(sha256, dpot_u128_ceil_sqrt(dpot_u128_sub_floor(square, dpot_u128_from(2))));
    }
}

/* ---- acceptance.h, gauss_certificate.h, privacy.h ---- */

static void digest_answers(struct sha256 *sha256, const struct dpot_sensitivity *sensitivity,
                           struct inputs *inputs, uint32_t dim)
{
    const uint64_t epsilon_q32 = inputs_any_size(inputs) >> 20;
    for (unsigned k = 0; k < 44; k++) {
        uint64_t rho_q32 = 0;
        struct dpot_gauss_row row = {0};
        const uint32_t index = (uint32_t)inputs_below(inputs, dpot_gauss_row_count() + 2);
        const dpot_status status = dpot_gauss_row(index, &row);
        const bool laplace = dpot_laplace_accepts(sensitivity, epsilon_q32, k);
        const bool gaussian = dpot_gaussian_accepts(sensitivity, &row, k, dim);
        const bool rho = dpot_gaussian_rho(sensitivity, k, dim, &rho_q32);
        sha256_add_u64(sha256, (uint64_t)laplace | (uint64_t)gaussian << 1 | (uint64_t)rho << 2 |
                                   (uint64_t)(status == DPOT_OK) << 3);
        sha256_add_u64(sha256, rho_q32);
    }
}

void digest_acceptance(struct sha256 *sha256)
{
    struct inputs inputs = {5};
    for (unsigned i = 0; i < 1500; i++) {
        int64_t lo = -(int64_t)(inputs_any_size(&inputs) >> 20), hi = lo;
        struct dpot_vector_domain vector = {.set = DPOT_VECTOR_BOX + (int)(i % 4), .n_sides = 1};
        struct dpot_sensitivity sensitivity;
        hi += (int64_t)(inputs_any_size(&inputs) >> 20);
        vector.lo = &lo;
        vector.hi = &hi;
        vector.dim =
            i % 500 == 0 ? DPOT_VECTOR_DIM_MAX - 1 + i / 500 : (uint32_t)inputs_below(&inputs, 100);
        vector.radius = inputs_any_size(&inputs) >> 22;
        const dpot_status status = dpot_sensitivity_compute(&vector, &sensitivity, NULL);
        sha256_add_u64(sha256, (uint64_t)(int64_t)status);
        if (status == DPOT_OK) {
            sha256_add_u64(sha256, sensitivity.l1);
            add_u128(sha256, sensitivity.l2_squared);
            sha256_add_u64(sha256, sensitivity.widest);
            digest_answers(sha256, &sensitivity, &inputs, vector.dim);
        }
        sha256_add_u64(sha256, dpot_privacy_pure(inputs_any_size(&inputs)).rho_q32);
    }
}

void digest_certificate(struct sha256 *sha256)
{
    for (uint32_t i = 0; i <= dpot_gauss_row_count() + 1; i++) {
        struct dpot_gauss_row row;
        sha256_add_u64(sha256, (uint64_t)(int64_t)dpot_gauss_row(i, &row));
        sha256_add_u64(sha256, row.epsilon_q32);
        sha256_add_u64(sha256, row.delta_q64);
        sha256_add_u64(sha256, row.mu2_q40);
        sha256_add_u64(sha256, (uint64_t)row.c << 32 | row.d_max);
    }
}
