#include "mechanism/gauss_certificate.h"

#include "base/buf.h"
#include "base/crypto.h"
#include "mechanism/acceptance.h"
#include "unit/mechanism/vectors.h"

#include <criterion/criterion.h>
#include <math.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>

#define N_COLUMNS 7
#define ONE ((uint64_t)1 << 32)

static const uint64_t deltas[N_COLUMNS] = {(uint64_t)1 << 44,          (uint64_t)1 << 40,
                                           (uint64_t)1 << 34,          (uint64_t)1 << 24,
                                           UINT64_C(1844674407370955), UINT64_C(184467440737095),
                                           UINT64_C(18446744073709)};

static struct dpot_gauss_row row_at(uint32_t index)
{
    struct dpot_gauss_row row;
    cr_assert_eq(dpot_gauss_row(index, &row), DPOT_OK, "row %u", index);
    return row;
}

static uint32_t number_of(uint64_t epsilon_q32, uint64_t delta_q64)
{
    for (uint32_t i = 1; i <= dpot_gauss_row_count(); i++) {
        const struct dpot_gauss_row row = row_at(i);
        if (row.epsilon_q32 == epsilon_q32 && row.delta_q64 == delta_q64) {
            return i;
        }
    }
    return 0;
}

Test(gauss_certificate, holds_the_golden_rows_bit_for_bit)
{
    json_t *root = vectors_load("gauss_cert.json");
    size_t i;
    json_t *golden;
    json_array_foreach(root, i, golden)
    {
        const uint32_t index = number_of(vectors_u64(json_object_get(golden, "E_q32")),
                                         vectors_u64(json_object_get(golden, "delta_q64")));
        cr_assert_neq(index, 0, "case %zu is no row", i);
        const struct dpot_gauss_row row = row_at(index);
        cr_assert_eq(row.mu2_q40, vectors_u64(json_object_get(golden, "mu2_q40")), "case %zu", i);
        cr_assert_eq(row.c, vectors_u64(json_object_get(golden, "c")), "case %zu", i);
        cr_assert_eq(row.d_max, vectors_u64(json_object_get(golden, "d_max")), "case %zu", i);
    }
    cr_assert_eq(i, 189);
    json_decref(root);
}

/* Part of the wire format: signed campaigns name these rows. If this fails, rows were changed,
 * moved or removed; the generator must append instead. */
Test(gauss_certificate, the_first_4095_rows_never_change)
{
    enum { N_FROZEN = 4095, ROW_LEN = 32 };
    uint8_t *bytes = malloc((size_t)N_FROZEN * ROW_LEN);
    uint8_t hash[crypto_hash_sha256_BYTES];
    char text[2 * sizeof hash + 1];
    cr_assert_not_null(bytes);
    cr_assert_geq(dpot_gauss_row_count(), N_FROZEN);
    for (uint32_t i = 0; i < N_FROZEN; i++) {
        const struct dpot_gauss_row row = row_at(i + 1);
        uint8_t *next = bytes + (size_t)i * ROW_LEN;
        dpot_store_u64(next, row.epsilon_q32);
        dpot_store_u64(next + 8, row.delta_q64);
        dpot_store_u64(next + 16, row.mu2_q40);
        dpot_store_u32(next + 24, row.c);
        dpot_store_u32(next + 28, row.d_max);
    }
    (void)crypto_hash_sha256(hash, bytes, (size_t)N_FROZEN * ROW_LEN);
    dpot_hex_encode(text, hash, sizeof hash);
    cr_assert_str_eq(text, "e8a0d074e8b98531a7fbf5dadba430cbc3962e77a71ab625f3120131e36c513b");
    free(bytes);
}

Test(gauss_certificate, has_no_row_zero_and_none_beyond_the_last)
{
    struct dpot_gauss_row row = {.d_max = 7};
    cr_assert_eq(dpot_gauss_row(0, &row), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(row.d_max, 0);
    cr_assert_eq(dpot_gauss_row(dpot_gauss_row_count() + 1, &row), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(dpot_gauss_row(UINT32_MAX, &row), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(dpot_gauss_row(dpot_gauss_row_count(), &row), DPOT_OK);
}

Test(gauss_certificate, goes_from_a_tenth_to_forty_in_steps_of_one_percent_of_mu)
{
    const uint32_t n = dpot_gauss_row_count();
    cr_assert_eq(n % N_COLUMNS, 0);
    cr_assert_eq(row_at(1).epsilon_q32, 429496729);
    cr_assert_eq(row_at(n).epsilon_q32, 40 * ONE);
    for (uint32_t i = 1; i <= n; i++) {
        const struct dpot_gauss_row row = row_at(i);
        cr_assert_eq(row.delta_q64, deltas[(i - 1) % N_COLUMNS]);
        cr_assert_eq(row.c, row.mu2_q40 < (uint64_t)16 << 40 ? 11 : 12);
        cr_assert_lt(row.mu2_q40, (uint64_t)64 << 40, "mu < 8");
        cr_assert_leq(row.d_max, 1u << 20);
        if (i > N_COLUMNS) {
            const struct dpot_gauss_row before = row_at(i - N_COLUMNS);
            cr_assert_lt(before.epsilon_q32, row.epsilon_q32);
            cr_assert_lt(before.mu2_q40, row.mu2_q40);
            cr_assert_leq(row.mu2_q40 * 10000, before.mu2_q40 * 10201, "row %u", i);
            cr_assert_geq(before.d_max, row.d_max);
        }
    }
}

static double normal_cdf(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

/* Balle and Wang's formula, independently of the generator, in doubles: accurate to about 1e-9
 * here. */
static double delta_of_continuous(double epsilon, double mu)
{
    return normal_cdf(mu / 2 - epsilon / mu) - exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu);
}

Test(gauss_certificate, every_row_is_within_its_delta_and_hardly_below_it)
{
    for (uint32_t i = 1; i <= dpot_gauss_row_count(); i++) {
        const struct dpot_gauss_row row = row_at(i);
        const double epsilon = ldexp((double)row.epsilon_q32, -32) - ldexp(1, -13);
        const double delta = ldexp((double)row.delta_q64, -64) * (1 - ldexp(1, -10));
        const double mu = sqrt(ldexp((double)row.mu2_q40, -40));
        cr_assert_leq(delta_of_continuous(epsilon, mu), delta * (1 + 1e-8), "row %u", i);
        cr_assert_geq(delta_of_continuous(epsilon, mu), delta * (1 - 1e-6), "row %u", i);
    }
}

/* (1 + e^epsilon) d_max 2^-93 <= delta 2^-11, but not for d_max + 1. */
Test(gauss_certificate, every_d_max_covers_the_truncation_of_the_table)
{
    for (uint32_t i = 1; i <= dpot_gauss_row_count(); i++) {
        const struct dpot_gauss_row row = row_at(i);
        const double epsilon = ldexp((double)row.epsilon_q32, -32);
        const double most = ldexp((double)row.delta_q64, 18) / (1 + exp(epsilon));
        cr_assert_leq((double)row.d_max, most * (1 + 1e-12));
        cr_assert(row.d_max == 1u << 20 || (double)row.d_max + 1 > most * (1 - 1e-12));
    }
}

/* The truncation of the noise does not exclude any row from zCDP accounting. */
Test(gauss_certificate, every_row_of_a_device_is_at_most_rho_eight)
{
    for (uint32_t i = 1; i <= dpot_gauss_row_count(); i++) {
        const struct dpot_gauss_row row = row_at(i);
        const uint64_t rho_q32 = (row.mu2_q40 >> 9) + 2;
        cr_assert(row.epsilon_q32 > 20 * ONE || dpot_gaussian_rho_accepts(rho_q32), "row %u", i);
    }
}

static uint32_t find(double epsilon, double delta, uint32_t dim)
{
    uint32_t index = 0;
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_gauss_row_find((uint64_t)(epsilon * (double)ONE), (uint64_t)ldexp(delta, 64),
                                     dim, &index, &error),
                 DPOT_OK, "%s", error.text);
    return index;
}

Test(gauss_certificate, a_request_that_is_a_row_gets_it)
{
    const struct dpot_gauss_row row = row_at(find(1, ldexp(1, -20), 784));
    cr_assert_eq(row.epsilon_q32, ONE);
    cr_assert_eq(row.delta_q64, (uint64_t)1 << 44);
    cr_assert_eq(row.mu2_q40, UINT64_C(61302156485));
    cr_assert_eq(row_at(find(0.1, 1e-4, 1)).mu2_q40, UINT64_C(1826209542));
    cr_assert_eq(row_at(find(20, 1e-5, 784)).mu2_q40, UINT64_C(13069250297360));
    cr_assert_eq(row_at(find(40, 1e-6, 20)).mu2_q40, UINT64_C(32609259036765));
    cr_assert_eq(row_at(find(0.7, 1e-6, 20)).epsilon_q32, UINT64_C(3006477107));
}

Test(gauss_certificate, a_request_between_rows_is_rounded_to_the_safe_side)
{
    for (double epsilon = 0.1; epsilon < 20; epsilon *= 1.0173) {
        for (double delta = ldexp(1, -39); delta < 0.5; delta *= 3.1) {
            const struct dpot_gauss_row row = row_at(find(epsilon, delta, 784));
            cr_assert_leq((double)row.epsilon_q32, epsilon * (double)ONE);
            cr_assert_leq((double)row.delta_q64, ldexp(delta, 64));
            /* There is no better row: the next epsilon is above the request. */
            const uint32_t next = number_of(row.epsilon_q32, row.delta_q64) + N_COLUMNS;
            cr_assert_gt((double)row_at(next).epsilon_q32, epsilon * (double)ONE - 1);
        }
    }
    cr_assert_eq(row_at(find(500, 0.9, 1)).epsilon_q32, 40 * ONE);
    cr_assert_eq(row_at(find(500, 0.9, 1)).delta_q64, deltas[4]);
}

Test(gauss_certificate, a_request_for_many_coordinates_gets_a_row_that_allows_them)
{
    cr_assert_eq(row_at(find(20, ldexp(1, -40), 9065)).epsilon_q32, 20 * ONE);
    const struct dpot_gauss_row row = row_at(find(20, ldexp(1, -40), 9066));
    cr_assert_lt(row.epsilon_q32, 20 * ONE);
    cr_assert_geq(row.d_max, 9066);
}

Test(gauss_certificate, a_request_below_every_row_is_refused_with_a_reason)
{
    const struct {
        uint64_t epsilon_q32, delta_q64;
        uint32_t dim;
    } requests[] = {{429496728, UINT64_MAX, 1},
                    {ONE, ((uint64_t)1 << 24) - 1, 1},
                    {0, 0, 1},
                    {ONE, (uint64_t)1 << 44, (1u << 20) + 1}};
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        uint32_t index = 9;
        struct dpot_error error = {{0}};
        cr_assert_eq(dpot_gauss_row_find(requests[i].epsilon_q32, requests[i].delta_q64,
                                         requests[i].dim, &index, &error),
                     DPOT_ERR_RANGE);
        cr_assert_eq(index, 0);
        cr_assert_neq(error.text[0], '\0');
    }
}
