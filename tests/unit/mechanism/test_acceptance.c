#include "mechanism/acceptance.h"

#include "model/privacy.h"

#include <criterion/criterion.h>
#include <math.h>

/* This file is compiled twice: with and without unsigned __int128. */

#define ONE DPOT_EPSILON_ONE

static struct dpot_sensitivity sensitivity_of(const struct dpot_vector_domain *vector)
{
    struct dpot_sensitivity sensitivity;
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_sensitivity_compute(vector, &sensitivity, &error), DPOT_OK, "%s", error.text);
    return sensitivity;
}

static struct dpot_sensitivity box_of(int64_t *lo, int64_t *hi, uint32_t n_sides, uint32_t dim)
{
    const struct dpot_vector_domain box = {
        .set = DPOT_VECTOR_BOX, .dim = dim, .n_sides = n_sides, .lo = lo, .hi = hi};
    return sensitivity_of(&box);
}

static struct dpot_sensitivity ball_of(enum dpot_vector_set set, uint64_t radius, uint32_t dim)
{
    const struct dpot_vector_domain ball = {.set = set, .dim = dim, .radius = radius};
    return sensitivity_of(&ball);
}

static void assert_u128(struct dpot_u128 value, uint64_t hi, uint64_t lo)
{
    cr_assert_eq(value.hi, hi, "%llu", (unsigned long long)value.hi);
    cr_assert_eq(value.lo, lo, "%llu", (unsigned long long)value.lo);
}

Test(sensitivity, of_a_box_adds_up_the_widths_of_its_own_sides)
{
    int64_t lo[] = {0, -5, 7}, hi[] = {10, 5, 7};
    const struct dpot_sensitivity s = box_of(lo, hi, 3, 3);
    cr_assert_eq(s.l1, 20);
    assert_u128(s.l2_squared, 0, 200);
    cr_assert_eq(s.widest, 10);
    const struct dpot_sensitivity alike = box_of(lo, hi, 1, 784);
    cr_assert_eq(alike.l1, 7840);
    assert_u128(alike.l2_squared, 0, 78400);
}

/* Any two inputs are neighbours: sensitivity is the diameter, not the radius. */
Test(sensitivity, of_a_ball_is_its_diameter)
{
    const struct dpot_sensitivity l1 = ball_of(DPOT_VECTOR_L1_BALL, 100, 784);
    cr_assert_eq(l1.l1, 200);
    cr_assert_eq(l1.widest, 200);
    assert_u128(l1.l2_squared, 0, 40000);
    const struct dpot_sensitivity l2 = ball_of(DPOT_VECTOR_L2_BALL, 100, 784);
    assert_u128(l2.l2_squared, 0, 40000);
    cr_assert_eq(l2.l1, 200 * 28);
    cr_assert_eq(ball_of(DPOT_VECTOR_L2_BALL, 100, 2).l1, 283);
}

Test(sensitivity, of_the_largest_sets_does_not_wrap)
{
    int64_t lo = -DPOT_VECTOR_SIDE_MAX, hi = DPOT_VECTOR_SIDE_MAX;
    const struct dpot_sensitivity box = box_of(&lo, &hi, 1, DPOT_VECTOR_DIM_MAX);
    cr_assert_eq(box.l1, (uint64_t)1 << 61);
    assert_u128(box.l2_squared, (uint64_t)1 << (102 - 64), 0);
    const struct dpot_sensitivity l1 =
        ball_of(DPOT_VECTOR_L1_BALL, DPOT_VECTOR_L1_RADIUS_MAX, DPOT_VECTOR_DIM_MAX);
    assert_u128(l1.l2_squared, (uint64_t)1 << (82 - 64), 0);
    const struct dpot_sensitivity l2 =
        ball_of(DPOT_VECTOR_L2_BALL, DPOT_VECTOR_L2_RADIUS_MAX, DPOT_VECTOR_DIM_MAX);
    cr_assert_eq(l2.l1, (uint64_t)(2 * DPOT_VECTOR_L2_RADIUS_MAX) << 10);
}

Test(sensitivity, of_invalid_sets_is_refused)
{
    int64_t lo[] = {0, 5, INT64_MIN, 0, -DPOT_VECTOR_SIDE_MAX - 1};
    int64_t hi[] = {1, 4, INT64_MAX, DPOT_VECTOR_SIDE_MAX + 1, 0};
    struct dpot_sensitivity s;
    for (size_t i = 1; i < 5; i++) {
        const struct dpot_vector_domain box = {
            .set = DPOT_VECTOR_BOX, .dim = 1, .n_sides = 1, .lo = lo + i, .hi = hi + i};
        struct dpot_error error = {{0}};
        cr_assert_eq(dpot_sensitivity_compute(&box, &s, &error), DPOT_ERR_RANGE);
        cr_assert_neq(error.text[0], '\0');
    }
    const struct dpot_vector_domain broken[] = {
        {.set = DPOT_VECTOR_BOX, .dim = 3, .n_sides = 2, .lo = lo, .hi = hi},
        {.set = DPOT_VECTOR_BOX, .dim = 1, .n_sides = 1},
        {.set = DPOT_VECTOR_BOX, .dim = 0, .n_sides = 1, .lo = lo, .hi = hi},
        {.set = DPOT_VECTOR_BOX, .dim = DPOT_VECTOR_DIM_MAX + 1, .n_sides = 1, .lo = lo, .hi = hi},
        {.set = DPOT_VECTOR_L1_BALL, .dim = 1, .radius = 0},
        {.set = DPOT_VECTOR_L1_BALL, .dim = 1, .radius = DPOT_VECTOR_L1_RADIUS_MAX + 1},
        {.set = DPOT_VECTOR_L2_BALL, .dim = 1, .radius = (uint64_t)DPOT_VECTOR_L2_RADIUS_MAX + 1},
        {.set = DPOT_VECTOR_L2_BALL, .dim = 1, .radius = UINT64_MAX},
        {.set = (enum dpot_vector_set)9, .dim = 1, .radius = 1},
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        cr_assert_eq(dpot_sensitivity_compute(&broken[i], &s, NULL), DPOT_ERR_RANGE, "%zu", i);
    }
}

/* Two widths of 2^32: their squares sum to 2^65, which is 0 in 64 bits and would be no sensitivity
 * at all. D1 2^32 = 2^65 wraps as well. */
Test(acceptance, sums_beyond_64_bits_do_not_wrap)
{
    int64_t lo[] = {0, 0}, hi[] = {INT64_C(1) << 32, INT64_C(1) << 32};
    const struct dpot_sensitivity s = box_of(lo, hi, 2, 2);
    struct dpot_gauss_row row;
    uint64_t rho;
    cr_assert_eq(s.l1, (uint64_t)1 << 33);
    assert_u128(s.l2_squared, 2, 0);
    cr_assert_eq(dpot_gauss_row(1, &row), DPOT_OK);
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 24, 2));
    cr_assert_not(dpot_gaussian_rho(&s, 24, 2, &rho));
    cr_assert_eq(rho, UINT64_MAX);
    cr_assert_not(dpot_laplace_accepts(&s, ONE, 28));
    const struct dpot_sensitivity half = box_of(lo, hi, 1, 1);
    cr_assert_eq(half.l1, (uint64_t)1 << 32); /* D1 << 32 is 0 in 64 bits */
    cr_assert_not(dpot_laplace_accepts(&half, ONE, 28));
    cr_assert_not(dpot_laplace_accepts(&half, ONE, 32));
    cr_assert(dpot_laplace_accepts(&half, ONE + 1, 32));
}

/* The largest D1 that is accepted, by the inequality in reals: D1 <= (E - 1) 2^k / 2^32. */
Test(acceptance, of_laplace_noise_is_sharp_to_the_unit)
{
    const uint64_t epsilons[] = {2, ONE / 100, ONE, 4 * ONE + 1, 20 * ONE, 512 * ONE};
    for (unsigned k = 1; k <= 40; k++) {
        for (size_t i = 0; i < sizeof epsilons / sizeof epsilons[0]; i++) {
            const uint64_t e = epsilons[i] - 1;
            struct dpot_sensitivity s = {.l1 = k <= 32 ? e >> (32 - k) : e << (k - 32)};
            cr_assert(dpot_laplace_accepts(&s, epsilons[i], k), "k %u", k);
            s.l1++;
            cr_assert_not(dpot_laplace_accepts(&s, epsilons[i], k), "k %u", k);
        }
    }
}

Test(acceptance, of_laplace_noise_requires_every_coordinate_within_the_range_of_noise)
{
    for (unsigned k = 1; k <= 40; k++) {
        struct dpot_sensitivity s = {.l1 = 0, .widest = ((uint64_t)32 << k) - 2};
        cr_assert(dpot_laplace_accepts(&s, 20 * ONE, k));
        cr_assert_eq(s.widest, dpot_laplace_widest(k));
        s.widest++;
        cr_assert_not(dpot_laplace_accepts(&s, 20 * ONE, k));
    }
}

Test(acceptance, of_laplace_noise_refuses_numbers_out_of_range)
{
    const struct dpot_sensitivity s = {.l1 = 0, .widest = 0};
    cr_assert(dpot_laplace_accepts(&s, 1, 1));
    cr_assert_not(dpot_laplace_accepts(&s, 0, 1));
    cr_assert_not(dpot_laplace_accepts(&s, 512 * ONE + 1, 1));
    cr_assert_not(dpot_laplace_accepts(&s, UINT64_MAX, 1));
    cr_assert_not(dpot_laplace_accepts(&s, ONE, 0));
    cr_assert_not(dpot_laplace_accepts(&s, ONE, 41));
    cr_assert_not(dpot_laplace_accepts(&s, ONE, UINT32_MAX));
    const struct dpot_sensitivity most = {.l1 = UINT64_MAX, .widest = 0};
    cr_assert_not(dpot_laplace_accepts(&most, 512 * ONE, 40));
}

static struct dpot_gauss_row row_of(double epsilon, uint64_t delta_q64)
{
    struct dpot_gauss_row row;
    uint32_t index;
    cr_assert_eq(dpot_gauss_row_find((uint64_t)(epsilon * (double)ONE), delta_q64, 1, &index, NULL),
                 DPOT_OK);
    cr_assert_eq(dpot_gauss_row(index, &row), DPOT_OK);
    return row;
}

/* mu^2 = 61302156485 / 2^40 at epsilon 1, delta 2^-20: D2^2 <= mu^2 4^k. */
Test(acceptance, of_gaussian_noise_is_sharp_to_the_unit)
{
    const struct dpot_gauss_row row = row_of(1, (uint64_t)1 << 44);
    cr_assert_eq(row.mu2_q40, UINT64_C(61302156485));
    for (unsigned k = 15; k <= 24; k++) {
        const unsigned up = 2 * k < 40 ? 0 : 2 * k - 40, down = 2 * k < 40 ? 40 - 2 * k : 0;
        struct dpot_sensitivity s = {.l2_squared = {row.mu2_q40 << up >> down, 0}};
        cr_assert(dpot_gaussian_accepts(&s, &row, k, 784));
        s.l2_squared.lo++;
        cr_assert_not(dpot_gaussian_accepts(&s, &row, k, 784));
    }
}

Test(acceptance, of_gaussian_noise_requires_sigma_large_for_the_dimension)
{
    const struct dpot_sensitivity s = {.l2_squared = {1, 0}};
    struct dpot_gauss_row row = row_of(1, (uint64_t)1 << 44);
    cr_assert_eq(row.c, 11);
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 9, 1)); /* 2^18 < 2^11 129 */
    cr_assert(dpot_gaussian_accepts(&s, &row, 10, 1));
    cr_assert(dpot_gaussian_accepts(&s, &row, 10, 512 - 128)); /* 2^20 = 2^11 512 */
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 10, 512 - 127));
    cr_assert(dpot_gaussian_accepts(&s, &row, 16, DPOT_VECTOR_DIM_MAX));
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 15, DPOT_VECTOR_DIM_MAX));
    row.c = 12;
    cr_assert(dpot_gaussian_accepts(&s, &row, 10, 256 - 128));
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 10, 256 - 127));
}

Test(acceptance, of_gaussian_noise_refuses_numbers_out_of_range)
{
    struct dpot_gauss_row row = row_of(1, (uint64_t)1 << 44);
    const struct dpot_sensitivity s = {.l2_squared = {1, 0}};
    cr_assert(dpot_gaussian_accepts(&s, &row, 24, DPOT_VECTOR_DIM_MAX));
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 25, 1));
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 1, 1));
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 24, 0));
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 24, DPOT_VECTOR_DIM_MAX + 1));
    row.d_max = 10;
    cr_assert(dpot_gaussian_accepts(&s, &row, 24, 10));
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 24, 11));
    row.d_max = 0;
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 24, 1));
    const struct dpot_sensitivity wide = {.l2_squared = {(uint64_t)1 << 54, 0}};
    const struct dpot_sensitivity high = {.l2_squared = {1, 1}};
    row = (struct dpot_gauss_row){.mu2_q40 = UINT64_MAX, .c = 11, .d_max = 1};
    cr_assert_not(dpot_gaussian_accepts(&wide, &row, 24, 1));
    cr_assert_not(dpot_gaussian_accepts(&high, &row, 24, 1));
}

/* A zeroed row (number 0 of a campaign) accepts nothing. */
Test(acceptance, no_row_accepts_nothing)
{
    struct dpot_gauss_row row;
    const struct dpot_sensitivity s = {.l2_squared = {0, 0}};
    cr_assert_eq(dpot_gauss_row(0, &row), DPOT_ERR_NOT_FOUND);
    cr_assert_not(dpot_gaussian_accepts(&s, &row, 24, 1));
}

/* rho = D2^2 / (2 sigma^2), in units of 2^-32, rounded up, plus one. */
Test(acceptance, a_zcdp_charge_is_rounded_up_and_does_not_wrap)
{
    struct dpot_sensitivity s = {.l2_squared = {(uint64_t)1 << 50, 0}};
    uint64_t rho;
    cr_assert(dpot_gaussian_rho(&s, 24, 784, &rho)); /* D2^2 2^32 is 0 in 64 bits */
    cr_assert_eq(rho, 2 * ONE + 1);
    s.l2_squared.lo = 1;
    cr_assert(dpot_gaussian_rho(&s, 24, 1, &rho));
    cr_assert_eq(rho, 2);
    s.l2_squared.lo = 0;
    cr_assert(dpot_gaussian_rho(&s, 24, 1, &rho));
    cr_assert_eq(rho, 1);
    s.l2_squared.lo = ((uint64_t)1 << 17) + 1;
    cr_assert(dpot_gaussian_rho(&s, 24, 1, &rho));
    cr_assert_eq(rho, 3);
    s.l2_squared.lo = ((uint64_t)1 << 54) - 1; /* up to 2^81 at k = 2 */
    cr_assert_not(dpot_gaussian_rho(&s, 2, 1, &rho));
    cr_assert_eq(rho, UINT64_MAX);
    s.l2_squared.lo = (uint64_t)1 << 54;
    cr_assert_not(dpot_gaussian_rho(&s, 24, 1, &rho));
    s.l2_squared.lo = 1;
    cr_assert_not(dpot_gaussian_rho(&s, 1, 1, &rho));
    cr_assert_not(dpot_gaussian_rho(&s, 25, 1, &rho));
    cr_assert_not(dpot_gaussian_rho(&s, 2, 0, &rho));
    cr_assert_not(dpot_gaussian_rho(&s, 2, DPOT_VECTOR_DIM_MAX + 1, &rho));
}

/* The bound of Theorem B3 (client/doc/exact-privacy.md) on outputs that are possible from one input
 * only, against the sums themselves: sigma 4, one coordinate that has the whole diameter d, or two
 * that share it. */
static double mass_from(int x)
{
    double mass = 0, all = 0;
    for (int y = -200; y <= 200; y++) {
        const double weight = exp(-(double)y * y / 32);
        mass += y >= x ? weight : 0;
        all += weight;
    }
    return mass / all;
}

Test(acceptance, up_to_rho_eight_the_truncation_of_gaussian_noise_is_below_its_bound)
{
    for (int d = 0; d <= 16; d++) {
        const double rho = d * d / 32.0;
        const double far = mass_from(45 - d) + mass_from(45 + d) + ldexp(1, -93);
        cr_assert_leq(far, ldexp(rho, -40) + ldexp(1, -75), "%d", d);
        const int half = (int)ceil(d / sqrt(2));
        const double both = 2 * (mass_from(45 - half) + mass_from(45 + half)) + ldexp(1, -92);
        cr_assert_leq(both, ldexp(half * half / 16.0, -40) + ldexp(1, -74), "%d", d);
    }
}

Test(acceptance, a_charge_of_rho_ends_at_eight)
{
    const uint64_t one = (uint64_t)1 << 32;
    cr_assert(dpot_gaussian_rho_accepts(8 * one + 1));
    cr_assert_not(dpot_gaussian_rho_accepts(8 * one + 2));
    cr_assert_not(dpot_gaussian_rho_accepts(UINT64_MAX));
    cr_assert_gt(mass_from(45 - 40), 0.09); /* why rho is limited: rho 50 */
}
