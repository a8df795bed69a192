#include "mechanism/sampler.h"

#include "base/buf.h"
#include "base/crypto.h"
#include "mechanism/u128.h"
#include "unit/mechanism/vectors.h"

#include <criterion/criterion.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* This file is compiled twice: with and without unsigned __int128. */

struct bounds {
    struct dpot_base_measure base_measure;
    uint64_t epsilon_q32;
    uint64_t *lower, *upper, *fallback;
};

static uint64_t *new_array(size_t size)
{
    uint64_t *array = calloc(size > 0 ? size : 1, sizeof *array);
    cr_assert_not_null(array);
    return array;
}

/* Makes a base measure, which owns the codes. */
static struct bounds make_bounds(uint32_t size, uint32_t *mass_code, uint64_t total,
                                 uint64_t epsilon_q32)
{
    struct bounds bounds = {
        {size, mass_code, total}, epsilon_q32, new_array(size), new_array(size), new_array(size)};
    struct dpot_error error = {{0}};
    cr_assert_eq(
        dpot_bounds_compute(&bounds.base_measure, epsilon_q32, bounds.lower, bounds.upper, &error),
        DPOT_OK, "%s", error.text);
    dpot_bounds_fallback(bounds.lower, bounds.upper, size, bounds.fallback);
    return bounds;
}

static void release_bounds(struct bounds *bounds)
{
    free(bounds->base_measure.mass_code);
    free(bounds->lower);
    free(bounds->upper);
    free(bounds->fallback);
}

static struct bounds load_bounds(const json_t *test_case)
{
    const json_t *b = json_object_get(test_case, "b");
    const size_t size = json_array_size(b);
    return make_bounds((uint32_t)size, vectors_u32_array(b, size),
                       vectors_u64(json_object_get(test_case, "T")),
                       vectors_u64(json_object_get(test_case, "E_q32")));
}

static void assert_equals(const char *what, const uint64_t *got, const json_t *array, size_t size)
{
    uint64_t *expected = vectors_u64_array(array, size);
    for (size_t j = 0; j < size; j++) {
        cr_assert_eq(got[j], expected[j], "%s[%zu] of %zu", what, j, size);
    }
    free(expected);
}

/* Conditions (I) and (II), with a sum that does not wrap. */
static void assert_in_polytope(const struct bounds *bounds, const uint64_t *weights)
{
    struct dpot_u128 sum = {0, 0};
    for (size_t j = 0; j < bounds->base_measure.size; j++) {
        cr_assert_leq(bounds->lower[j], weights[j]);
        cr_assert_leq(weights[j], bounds->upper[j]);
        sum = dpot_u128_add(sum, dpot_u128_from(weights[j]));
    }
    cr_assert_eq(sum.hi, 0);
    cr_assert_eq(sum.lo, DPOT_MASS_ONE);
}

Test(sampler, exponential_lower_bounds_are_bit_for_bit_the_golden_ones)
{
    json_t *root = vectors_load("exp_lower.json");
    size_t i;
    json_t *test_case;
    json_array_foreach(root, i, test_case)
    {
        const uint64_t e = vectors_u64(json_object_get(test_case, "E_q32"));
        const uint64_t a = vectors_u64(json_object_get(test_case, "A_q46"));
        cr_assert_eq(dpot_exp_half_lower(e), a, "E = %llu", (unsigned long long)e);
    }
    cr_assert_gt(i, 10);
    json_decref(root);
    cr_assert_eq(dpot_exp_half_lower(DPOT_EPSILON_ONE), UINT64_C(116018445318170));
    cr_assert_eq(dpot_exp_half_lower(20 * DPOT_EPSILON_ONE), UINT64_C(1549974736652819980));
}

Test(sampler, bounds_and_fallback_are_bit_for_bit_the_golden_ones)
{
    json_t *root = vectors_load("wpm_bounds.json");
    const json_t *cases = json_object_get(root, "cases");
    size_t i;
    json_t *test_case;
    json_array_foreach(cases, i, test_case)
    {
        struct bounds bounds = load_bounds(test_case);
        const size_t size = bounds.base_measure.size;
        assert_equals("L", bounds.lower, json_object_get(test_case, "L"), size);
        assert_equals("U", bounds.upper, json_object_get(test_case, "U"), size);
        assert_equals("M", bounds.fallback, json_object_get(test_case, "M"), size);
        assert_in_polytope(&bounds, bounds.fallback);
        cr_assert_eq(
            dpot_bounds_compute(&bounds.base_measure, bounds.epsilon_q32, NULL, NULL, NULL),
            DPOT_OK);
        release_bounds(&bounds);
    }
    cr_assert_gt(i, 50);
    json_decref(root);
}

static void assert_sha256(const uint64_t *numbers, size_t size, const json_t *expected)
{
    uint8_t *bytes = malloc(8 * size);
    uint8_t hash[crypto_hash_sha256_BYTES];
    char text[2 * sizeof hash + 1];
    cr_assert_not_null(bytes);
    for (size_t j = 0; j < size; j++) {
        dpot_store_u64(bytes + 8 * j, numbers[j]);
    }
    (void)crypto_hash_sha256(hash, bytes, 8 * size);
    dpot_hex_encode(text, hash, sizeof hash);
    cr_assert_str_eq(text, json_string_value(expected));
    free(bytes);
}

Test(sampler, large_base_measures_have_the_golden_hashes)
{
    json_t *root = vectors_load("wpm_bounds.json");
    const json_t *cases = json_object_get(root, "big");
    size_t i;
    json_t *test_case;
    json_array_foreach(cases, i, test_case)
    {
        const size_t size = vectors_u64(json_object_get(test_case, "n"));
        const char *rule = json_string_value(json_object_get(test_case, "rule"));
        uint32_t *codes = malloc(size * sizeof *codes);
        cr_assert_not_null(codes);
        for (size_t j = 0; j < size; j++) {
            codes[j] = rule[0] == 'b' ? (uint32_t)(1 + j * UINT64_C(2654435761) % UINT32_MAX) : 1;
        }
        codes[size - 1] = rule[0] == 'b' ? codes[size - 1] : UINT32_MAX;
        struct bounds bounds =
            make_bounds((uint32_t)size, codes, vectors_u64(json_object_get(test_case, "T")),
                        vectors_u64(json_object_get(test_case, "E_q32")));
        const json_t *hashes = json_object_get(test_case, "sha256_u64le");
        assert_sha256(bounds.lower, size, json_object_get(hashes, "L"));
        assert_sha256(bounds.upper, size, json_object_get(hashes, "U"));
        assert_sha256(bounds.fallback, size, json_object_get(hashes, "M"));
        release_bounds(&bounds);
    }
    cr_assert_eq(i, 2);
    json_decref(root);
}

Test(sampler, base_measures_that_must_be_refused_are)
{
    json_t *root = vectors_load("wpm_bounds.json");
    const json_t *cases = json_object_get(root, "must_reject");
    size_t i;
    json_t *test_case;
    json_array_foreach(cases, i, test_case)
    {
        const json_t *b = json_object_get(test_case, "b");
        const size_t size = json_array_size(b);
        const char *why = json_string_value(json_object_get(test_case, "why"));
        uint64_t *lower = new_array(size), *upper = new_array(size);
        struct dpot_error error = {{0}};
        struct dpot_base_measure base_measure = {(uint32_t)size, vectors_u32_array(b, size),
                                                 vectors_u64(json_object_get(test_case, "T"))};
        const dpot_status status = dpot_bounds_compute(
            &base_measure, vectors_u64(json_object_get(test_case, "E_q32")), lower, upper, &error);
        cr_assert_eq(status, strncmp(why, "sum", 3) == 0 ? DPOT_ERR_INFEASIBLE : DPOT_ERR_RANGE,
                     "%s: %d", why, status);
        cr_assert_neq(error.text[0], '\0');
        free(base_measure.mass_code);
        free(lower);
        free(upper);
    }
    cr_assert_gt(i, 5);
    json_decref(root);
}

Test(sampler, rounded_weights_are_bit_for_bit_the_golden_ones)
{
    json_t *root = vectors_load("wpm_round.json");
    size_t i;
    json_t *test_case;
    json_array_foreach(root, i, test_case)
    {
        struct bounds bounds = load_bounds(test_case);
        const size_t size = bounds.base_measure.size;
        uint64_t *weights = new_array(size);
        double *q = vectors_double_array(json_object_get(test_case, "q"), size);
        const json_t *expected = json_object_get(test_case, "W");
        dpot_weights_round(q, bounds.lower, bounds.upper, size, weights);
        assert_equals("W", weights, expected, size);
        assert_in_polytope(&bounds, weights);
        /* q and W may be the same memory. */
        memcpy(weights, q, size * sizeof *q);
        dpot_weights_round((const double *)(const void *)weights, bounds.lower, bounds.upper, size,
                           weights);
        assert_equals("W in place", weights, expected, size);
        free(q);
        free(weights);
        release_bounds(&bounds);
    }
    cr_assert_gt(i, 50);
    json_decref(root);
}

static uint64_t random_of_hex(const char *text)
{
    uint8_t bytes[8];
    cr_assert_eq(dpot_hex_decode(text, bytes, sizeof bytes), DPOT_OK);
    return dpot_load_u64(bytes);
}

Test(sampler, draws_are_the_golden_ones)
{
    json_t *root = vectors_load("wpm_draw.json");
    size_t i, k;
    json_t *test_case, *draw;
    json_array_foreach(root, i, test_case)
    {
        const json_t *array = json_object_get(test_case, "W");
        const size_t size = json_array_size(array);
        uint64_t *weights = vectors_u64_array(array, size), *lower = new_array(size);
        uint64_t *upper = new_array(size), *fallback = new_array(size);
        for (size_t j = 0; j < size; j++) {
            upper[j] = DPOT_MASS_ONE;
        }
        fallback[size / 2] = DPOT_MASS_ONE;
        json_array_foreach(json_object_get(test_case, "draws"), k, draw)
        {
            const uint64_t random =
                random_of_hex(json_string_value(json_object_get(draw, "bytes_le")));
            cr_assert_eq(dpot_weights_draw(weights, lower, upper, fallback, size, random),
                         vectors_u64(json_object_get(draw, "index")));
        }
        free(weights);
        free(lower);
        free(upper);
        free(fallback);
    }
    cr_assert_gt(i, 5);
    json_decref(root);
}

/* floor(L A / 2^46) has up to 78 bits. If it were cut to 64 before the minimum, U would be some
 * small number instead of N. */
Test(sampler, an_upper_bound_beyond_64_bits_is_the_whole_mass)
{
    const uint64_t n = DPOT_MASS_ONE;
    for (uint64_t total = n / 4; total <= n; total += n / 4) {
        uint32_t *codes = malloc(2 * sizeof *codes);
        codes[0] = UINT32_MAX;
        codes[1] = 1u << 30;
        struct bounds bounds = make_bounds(2, codes, total, 20 * DPOT_EPSILON_ONE);
        cr_assert_eq(bounds.upper[0], n);
        cr_assert_eq(bounds.upper[1], n);
        cr_assert_gt(bounds.lower[0], n / 6);
        release_bounds(&bounds);
    }
}

static struct bounds five_free_outputs(void)
{
    uint32_t *codes = malloc(5 * sizeof *codes);
    for (size_t j = 0; j < 5; j++) {
        codes[j] = UINT32_MAX;
    }
    return make_bounds(5, codes, DPOT_MASS_ONE / 100, 20 * DPOT_EPSILON_ONE);
}

/* Every draw from the broken weights equals the draw from M. */
static void assert_falls_back(const struct bounds *bounds, const uint64_t *weights)
{
    for (uint64_t i = 0; i <= 64; i++) {
        const uint64_t u = i < 64 ? i * (DPOT_MASS_ONE / 64) + i : DPOT_MASS_ONE - 1;
        const size_t size = bounds->base_measure.size;
        cr_assert_eq(
            dpot_weights_draw(weights, bounds->lower, bounds->upper, bounds->fallback, size, u),
            dpot_weights_draw(bounds->fallback, bounds->lower, bounds->upper, bounds->fallback,
                              size, u));
    }
}

/* 5 * 2^62 = N + 2^64 is N in 64 bits. */
Test(sampler, weights_that_sum_to_one_only_modulo_2_to_the_64_are_not_used)
{
    struct bounds bounds = five_free_outputs();
    uint64_t weights[5], wrapped = 0;
    for (size_t j = 0; j < 5; j++) {
        weights[j] = DPOT_MASS_ONE;
        wrapped += weights[j];
        cr_assert_eq(bounds.upper[j], DPOT_MASS_ONE);
    }
    cr_assert_eq(wrapped, DPOT_MASS_ONE);
    assert_falls_back(&bounds, weights);
    cr_assert_eq(dpot_weights_draw(weights, bounds.lower, bounds.upper, bounds.fallback, 5,
                                   DPOT_MASS_ONE - 1),
                 4, "the broken weights would give 0");
    release_bounds(&bounds);
}

Test(sampler, weights_outside_their_bounds_or_off_the_sum_are_not_used)
{
    struct bounds bounds = five_free_outputs();
    const uint64_t one = DPOT_MASS_ONE, l = bounds.lower[0];
    const uint64_t broken[][5] = {
        {l - 1, one - 4 * l + 1, l, l, l},         /* below L */
        {l, one - 4 * l - 1, l, l, l},             /* sums to N - 1 */
        {l, one - 4 * l + 1, l, l, l},             /* sums to N + 1 */
        {0, 0, 0, 0, 0},                           /* nothing */
        {UINT64_MAX, l, l, l, one - 3 * l + 1},    /* above U, and wraps to N */
        {one, one, one, one, UINT64_MAX},          /* far above */
        {one, (uint64_t)3 << 62, l, one - l, one}, /* wraps on the way */
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        assert_falls_back(&bounds, broken[i]);
    }
    release_bounds(&bounds);
}

Test(sampler, each_output_is_drawn_for_exactly_its_weight_of_the_numbers)
{
    struct bounds bounds = five_free_outputs();
    const double q[] = {.1, .2, .3, .15, .25};
    uint64_t weights[5], sum = 0;
    dpot_weights_round(q, bounds.lower, bounds.upper, 5, weights);
    for (uint32_t j = 0; j < 5; j++) {
        for (uint64_t top = 0; top < 4; top++) { /* the two high bits are ignored */
            const uint64_t first = sum | top << 62, last = (sum + weights[j] - 1) | top << 62;
            cr_assert_eq(
                dpot_weights_draw(weights, bounds.lower, bounds.upper, bounds.fallback, 5, first),
                j);
            cr_assert_eq(
                dpot_weights_draw(weights, bounds.lower, bounds.upper, bounds.fallback, 5, last),
                j);
        }
        sum += weights[j];
        cr_assert_float_eq((double)weights[j] / (double)DPOT_MASS_ONE, q[j], 1e-13);
    }
    release_bounds(&bounds);
}

/* V of A4 (client/doc/exact-privacy.md), with the C library's functions. */
static uint64_t mass_of(double q)
{
    if (!(q > 0)) {
        return 0;
    }
    return q >= 1 ? DPOT_MASS_ONE : (uint64_t)floor(ldexp(q, 62));
}

Test(sampler, a_double_becomes_floor_of_q_times_2_to_the_62)
{
    const uint64_t lower[] = {0, 0}, upper[] = {DPOT_MASS_ONE, DPOT_MASS_ONE};
    uint64_t state = 1;
    for (size_t i = 0; i < 200000; i++) {
        uint64_t bits, weights[2];
        double q[2] = {0, 0};
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        bits = state ^ state >> 32;
        if (i % 4 != 0) { /* exponents around those that matter: 2^-70 .. 2^1 */
            bits = (bits & ~(UINT64_C(0xfff) << 52)) | (uint64_t)(1023 - 70 + i % 72) << 52;
        }
        memcpy(&q[0], &bits, sizeof bits);
        const uint64_t v = mass_of(q[0]);
        q[1] = 1 - q[0];
        dpot_weights_round(q, lower, upper, 2, weights);
        cr_assert_eq(weights[0] + weights[1], DPOT_MASS_ONE);
        /* The second output is limited to the rest, so that nothing is spread. */
        if (v < DPOT_MASS_ONE) {
            const uint64_t fixed_lower[] = {0, DPOT_MASS_ONE - v}, rest = DPOT_MASS_ONE - v;
            const uint64_t fixed_upper[] = {DPOT_MASS_ONE, rest};
            dpot_weights_round(q, fixed_lower, fixed_upper, 2, weights);
            cr_assert_eq(weights[0], v, "q = %a", q[0]);
        }
    }
}
