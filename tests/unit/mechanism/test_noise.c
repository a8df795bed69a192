#include "mechanism/noise.h"

#include "base/buf.h"
#include "base/crypto.h"
#include "base/rng_seeded.h"
#include "mechanism/integers.h"
#include "mechanism/noise_tables.h"
#include "unit/mechanism/vectors.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <string.h>

/* This file is compiled twice: with and without unsigned __int128. */

static void assert_sha256(const uint8_t *bytes, size_t len, const char *expected)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    char text[2 * sizeof hash + 1];
    (void)crypto_hash_sha256(hash, bytes, len);
    dpot_hex_encode(text, hash, sizeof hash);
    cr_assert_str_eq(text, expected);
}

static void assert_cdf_sha256(const struct dpot_u128 *cdf, size_t len, const char *expected)
{
    uint8_t bytes[16 * DPOT_LAPLACE_CDF_LEN];
    for (size_t i = 0; i < len; i++) {
        dpot_store_u64(bytes + 16 * i, cdf[i].lo);
        dpot_store_u64(bytes + 16 * i + 8, cdf[i].hi);
    }
    assert_sha256(bytes, 16 * len, expected);
}

Test(noise, tables_have_the_published_hashes)
{
    uint8_t bytes[8 * DPOT_EXP_POWERS_LEN];
    assert_cdf_sha256(dpot_laplace_cdf, DPOT_LAPLACE_CDF_LEN,
                      "6cc9a3fefbd9eaa8cab0576182c59ebee4e29d1f5da10b2aa8a79dd7938b8e11");
    assert_cdf_sha256(dpot_gaussian_cdf, DPOT_GAUSSIAN_CDF_LEN,
                      "6a48a2d5ee52409d9d2ac7ffb2f13a84cccb5fa43f1618bbb3b740cb811c5274");
    for (size_t i = 0; i < DPOT_EXP_POWERS_LEN; i++) {
        dpot_store_u64(bytes + 8 * i, dpot_exp_powers[i]);
    }
    assert_sha256(bytes, sizeof bytes,
                  "43eb6c1576a617a4fc081db4f7bf9cfe8146968601f4526dcbad10bb789dec38");
}

/* Reads big-endian hexadecimal digits. */
static uint64_t hex_u64(const char *text, size_t digits)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        const char c = text[i];
        value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return value;
}

static void assert_cdf_equals(const struct dpot_u128 *cdf, size_t len, const json_t *array)
{
    cr_assert_eq(json_array_size(array), len);
    for (size_t i = 0; i < len; i++) {
        const char *text = json_string_value(json_array_get(array, i));
        cr_assert_eq(strlen(text), 32);
        cr_assert_eq(cdf[i].hi, hex_u64(text, 16), "entry %zu", i);
        cr_assert_eq(cdf[i].lo, hex_u64(text + 16, 16), "entry %zu", i);
    }
}

Test(noise, tables_are_the_golden_ones_entry_by_entry)
{
    json_t *root = vectors_load("tables.json");
    assert_cdf_equals(dpot_laplace_cdf, DPOT_LAPLACE_CDF_LEN,
                      json_object_get(root, "laplace_cdt_u128"));
    assert_cdf_equals(dpot_gaussian_cdf, DPOT_GAUSSIAN_CDF_LEN,
                      json_object_get(root, "gauss_cdt_u128"));
    const json_t *powers = json_object_get(root, "exp_u64");
    cr_assert_eq(json_array_size(powers), DPOT_EXP_POWERS_LEN);
    for (size_t i = 0; i < DPOT_EXP_POWERS_LEN; i++) {
        const char *text = json_string_value(json_array_get(powers, i));
        cr_assert_eq(dpot_exp_powers[i], hex_u64(text, strlen(text)), "entry %zu", i);
    }
    json_decref(root);
}

static void assert_trial(enum dpot_noise noise, unsigned k, const json_t *golden)
{
    uint8_t bytes[DPOT_NOISE_TRIAL_LEN];
    const char *text = json_string_value(json_array_get(golden, 0));
    const json_t *value = json_array_get(golden, 1);
    cr_assert_eq(dpot_hex_decode(text, bytes, sizeof bytes), DPOT_OK);
    const struct dpot_noise_trial trial = dpot_noise_try(noise, k, bytes);
    cr_assert_eq(trial.threshold, vectors_u64(json_array_get(golden, 2)), "k %u, %s", k, text);
    cr_assert_eq(trial.is_accepted, json_is_null(value) ? 0 : 1, "k %u, %s", k, text);
    if (!json_is_null(value)) {
        cr_assert_eq(trial.value, strtoll(json_string_value(value), NULL, 10), "k %u, %s", k, text);
    }
}

Test(noise, trials_are_bit_for_bit_the_golden_ones)
{
    json_t *root = vectors_load("noise_trials.json");
    size_t i, j, n_trials = 0;
    json_t *test_case, *golden;
    json_array_foreach(root, i, test_case)
    {
        const bool is_laplace =
            strcmp(json_string_value(json_object_get(test_case, "mech")), "laplace") == 0;
        const unsigned k = (unsigned)vectors_u64(json_object_get(test_case, "k"));
        json_array_foreach(json_object_get(test_case, "trials_bytes_result_pq63"), j, golden)
        {
            assert_trial(is_laplace ? DPOT_NOISE_LAPLACE : DPOT_NOISE_GAUSSIAN, k, golden);
            n_trials++;
        }
    }
    cr_assert_gt(n_trials, 1500);
    json_decref(root);
}

/* The 32 bytes of a trial from four 64-bit words. */
static struct dpot_noise_trial trial_of(enum dpot_noise noise, unsigned k, struct dpot_u128 u,
                                        uint64_t fine, uint64_t accept)
{
    uint8_t bytes[DPOT_NOISE_TRIAL_LEN];
    dpot_store_u64(bytes, u.lo);
    dpot_store_u64(bytes + 8, u.hi);
    dpot_store_u64(bytes + 16, fine);
    dpot_store_u64(bytes + 24, accept);
    return dpot_noise_try(noise, k, bytes);
}

#define SIGN ((uint64_t)1 << 63)

/* If -0 were accepted, 0 would be twice as frequent. */
Test(noise, minus_zero_is_rejected_and_plus_zero_is_not)
{
    const struct dpot_u128 zero = {0, 0};
    for (unsigned k = 2; k <= 24; k++) {
        for (int noise = 0; noise < 2; noise++) {
            const struct dpot_noise_trial plus = trial_of((enum dpot_noise)noise, k, zero, 0, 0);
            const struct dpot_noise_trial minus =
                trial_of((enum dpot_noise)noise, k, zero, SIGN, 0);
            cr_assert_eq(plus.is_accepted, 1);
            cr_assert_eq(plus.value, 0);
            cr_assert_eq(minus.is_accepted, 0);
        }
        const struct dpot_noise_trial minus_one =
            trial_of(DPOT_NOISE_LAPLACE, k, zero, SIGN | 1, 0);
        cr_assert_eq(minus_one.is_accepted, 1);
        cr_assert_eq(minus_one.value, -1);
    }
}

/* y 2^l has up to 46 bits at k = 40. */
Test(noise, the_largest_noise_is_as_large_as_the_range_says)
{
    const struct dpot_u128 all = {UINT64_MAX, UINT64_MAX};
    int64_t least, most;
    for (unsigned k = 1; k <= 40; k++) {
        const struct dpot_noise_trial trial =
            trial_of(DPOT_NOISE_LAPLACE, k, all, UINT64_MAX >> 1, 0);
        cr_assert_eq(trial.value, (INT64_C(65) << (k - 1)) - 1);
        dpot_noise_range(DPOT_NOISE_LAPLACE, k, -5, 7, &least, &most);
        cr_assert_eq(least, 7 - ((INT64_C(32) << k) - 1));
        cr_assert_eq(most, -5 + ((INT64_C(32) << k) - 1));
    }
    for (unsigned k = 2; k <= 24; k++) {
        const struct dpot_noise_trial trial = trial_of(DPOT_NOISE_GAUSSIAN, k, all, UINT64_MAX, 0);
        dpot_noise_range(DPOT_NOISE_GAUSSIAN, k, -5, 7, &least, &most);
        cr_assert_eq(least, -5 + trial.value);
        cr_assert_eq(most, 7 - trial.value);
        cr_assert_eq(trial.value, -((INT64_C(48) << (k - 2)) - 1));
    }
}

static void assert_cells_begin(enum dpot_noise noise, const struct dpot_u128 *cdf, size_t len)
{
    const unsigned k = 2;
    const unsigned l = noise == DPOT_NOISE_LAPLACE ? 1 : 0;
    for (size_t i = 0; i < len; i++) {
        const struct dpot_u128 below = dpot_u128_sub(cdf[i], dpot_u128_from(1));
        cr_assert_eq(trial_of(noise, k, cdf[i], 0, 0).value, (int64_t)(i + 1) << l);
        cr_assert_eq(trial_of(noise, k, below, 0, 0).value, (int64_t)i << l);
        /* One 64-bit half at a time: a lost borrow between the halves shows. */
        const struct dpot_u128 less_high = {UINT64_MAX, cdf[i].hi - 1};
        const struct dpot_u128 more_high = {0, cdf[i].hi + 1};
        cr_assert_leq(trial_of(noise, k, less_high, 0, 0).value, (int64_t)i << l);
        cr_assert(cdf[i].hi == UINT64_MAX ||
                  trial_of(noise, k, more_high, 0, 0).value >= (int64_t)(i + 1) << l);
    }
}

Test(noise, cells_begin_exactly_at_the_entries_of_the_table)
{
    assert_cells_begin(DPOT_NOISE_LAPLACE, dpot_laplace_cdf, DPOT_LAPLACE_CDF_LEN);
    assert_cells_begin(DPOT_NOISE_GAUSSIAN, dpot_gaussian_cdf, DPOT_GAUSSIAN_CDF_LEN);
}

Test(noise, a_trial_is_accepted_exactly_below_its_threshold)
{
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    uint8_t bytes[DPOT_NOISE_TRIAL_LEN];
    dpot_rng_seeded_init(&seeded, 1, 0);
    dpot_rng_init(&rng, &seeded.source);
    for (size_t i = 0; i < 1000; i++) {
        dpot_rng_bytes(&rng, bytes, sizeof bytes);
        bytes[23] &= 0x7f; /* no sign: -0 has its own rule */
        const enum dpot_noise noise = i % 2 ? DPOT_NOISE_LAPLACE : DPOT_NOISE_GAUSSIAN;
        const unsigned k = 3 + (unsigned)(i % 20);
        const uint64_t p = dpot_noise_try(noise, k, bytes).threshold;
        cr_assert(p > 0 && p <= SIGN);
        dpot_store_u64(bytes + 24, 2 * (p - 1) + 1);
        cr_assert_eq(dpot_noise_try(noise, k, bytes).is_accepted, 1);
        if (p < SIGN) {
            dpot_store_u64(bytes + 24, 2 * p);
            cr_assert_eq(dpot_noise_try(noise, k, bytes).is_accepted, 0);
        }
    }
}

/* Specification of the byte order: trial after trial, each accepted one for the next coordinate. */
static void add_one_by_one(enum dpot_noise noise, unsigned k, struct dpot_rng *rng, int64_t *values,
                           size_t dim)
{
    for (size_t j = 0; j < dim; j++) {
        struct dpot_noise_trial trial;
        do {
            uint8_t bytes[DPOT_NOISE_TRIAL_LEN];
            dpot_rng_bytes(rng, bytes, sizeof bytes);
            trial = dpot_noise_try(noise, k, bytes);
        } while (!trial.is_accepted);
        values[j] += trial.value;
    }
}

/* Broken twin: reads four trials for every coordinate and discards those after the first accepted
 * one. */
static void add_and_forget(enum dpot_noise noise, unsigned k, struct dpot_rng *rng, int64_t *values,
                           size_t dim)
{
    for (size_t j = 0; j < dim; j++) {
        bool is_done = false;
        for (size_t t = 0; t < 4 || !is_done; t++) {
            uint8_t bytes[DPOT_NOISE_TRIAL_LEN];
            dpot_rng_bytes(rng, bytes, sizeof bytes);
            const struct dpot_noise_trial trial = dpot_noise_try(noise, k, bytes);
            values[j] += !is_done && trial.is_accepted ? trial.value : 0;
            is_done |= trial.is_accepted;
        }
    }
}

static void add_by_draws(enum dpot_noise noise, unsigned k, struct dpot_rng *rng, int64_t *values,
                         size_t dim)
{
    for (size_t j = 0; j < dim; j++) {
        values[j] += dpot_noise_draw(noise, k, rng);
    }
}

typedef void adder(enum dpot_noise noise, unsigned k, struct dpot_rng *rng, int64_t *values,
                   size_t dim);

#define DIM_MAX 100

/* Returns true if `add` gives the specified values and leaves the stream at the right position. */
static bool keeps_the_order(adder *add, enum dpot_noise noise, unsigned k, size_t dim)
{
    struct dpot_rng_seeded seeded[2];
    struct dpot_rng rng[2];
    int64_t values[2][DIM_MAX];
    for (size_t i = 0; i < 2; i++) {
        dpot_rng_seeded_init(&seeded[i], 7 + dim, k);
        dpot_rng_init(&rng[i], &seeded[i].source);
        for (size_t j = 0; j < dim; j++) {
            values[i][j] = 1000 * (int64_t)j - 300;
        }
    }
    add(noise, k, &rng[0], values[0], dim);
    add_one_by_one(noise, k, &rng[1], values[1], dim);
    return memcmp(values[0], values[1], dim * sizeof values[0][0]) == 0 &&
           dpot_rng_u64(&rng[0]) == dpot_rng_u64(&rng[1]);
}

Test(noise, trials_are_consumed_in_the_order_of_the_bytes_however_they_are_batched)
{
    for (size_t dim = 0; dim <= DIM_MAX; dim += dim < 20 ? 1 : 16) {
        for (unsigned k = 2; k <= 24; k += 11) {
            for (int noise = 0; noise < 2; noise++) {
                cr_assert(keeps_the_order(dpot_noise_add, (enum dpot_noise)noise, k, dim));
                cr_assert(keeps_the_order(add_by_draws, (enum dpot_noise)noise, k, dim));
            }
        }
    }
}

Test(twin, trials_that_are_read_and_not_used_are_caught)
{
    cr_assert_not(keeps_the_order(add_and_forget, DPOT_NOISE_LAPLACE, 5, 20));
    cr_assert_not(keeps_the_order(add_and_forget, DPOT_NOISE_GAUSSIAN, 5, 20));
}

Test(noise, zero_coordinates_take_nothing_from_the_stream)
{
    cr_assert(keeps_the_order(dpot_noise_add, DPOT_NOISE_LAPLACE, 3, 0));
}

/* Every coordinate has its own range. */
Test(laplace_clamp, uses_the_sides_of_the_same_coordinate)
{
    int64_t lo[] = {0, -50, 3}, hi[] = {10, -20, 3};
    const struct dpot_vector_domain box = {
        .set = DPOT_VECTOR_BOX, .dim = 3, .n_sides = 3, .lo = lo, .hi = hi};
    int64_t far_up[] = {100000, 100000, 100000}, far_down[] = {-100000, -100000, -100000};
    int64_t inside[] = {11, -90, 66};
    dpot_laplace_clamp(1, &box, far_up); /* M - 1 = 63 */
    dpot_laplace_clamp(1, &box, far_down);
    dpot_laplace_clamp(1, &box, inside);
    for (size_t j = 0; j < 3; j++) {
        cr_assert_eq(far_up[j], lo[j] + 63);
        cr_assert_eq(far_down[j], hi[j] - 63);
    }
    cr_assert(inside[0] == 11 && inside[1] == -83 && inside[2] == 66);
}

Test(laplace_clamp, of_a_ball_reaches_as_far_on_both_sides)
{
    const struct dpot_vector_domain ball = {.set = DPOT_VECTOR_L1_BALL, .dim = 2, .radius = 9};
    int64_t values[] = {INT64_MAX, INT64_MIN};
    dpot_laplace_clamp(2, &ball, values); /* M - 1 = 127 */
    cr_assert_eq(values[0], 127 - 9);
    cr_assert_eq(values[1], 9 - 127);
}

Test(integers, signs_and_clamps_are_those_of_the_language)
{
    const int64_t numbers[] = {INT64_MIN + 1, -5, -1, 0, 1, 7, INT64_C(1) << 40, INT64_MAX};
    const size_t n = sizeof numbers / sizeof numbers[0];
    for (size_t i = 0; i < n; i++) {
        const int64_t a = numbers[i];
        const uint64_t magnitude = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
        cr_assert_eq(dpot_i64_magnitude(a), magnitude);
        cr_assert_eq(dpot_i64_with_sign(magnitude, dpot_i64_sign_mask(a)), a);
        cr_assert_eq(dpot_i64_sign_mask(a), a < 0 ? UINT64_MAX : 0);
        cr_assert_eq(dpot_u64_nonzero((uint64_t)a), a != 0);
        for (size_t j = 0; j < n; j++) {
            for (size_t m = j; m < n; m++) {
                const int64_t lo = numbers[j], hi = numbers[m];
                cr_assert_eq(dpot_i64_clamp(a, lo, hi), a < lo ? lo : a > hi ? hi : a);
            }
        }
    }
}
