#include "mechanism/quantize.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* This file is compiled twice: with and without unsigned __int128. */

#define SIDE DPOT_VECTOR_SIDE_MAX

static int64_t round_one(double x, double inverse_step)
{
    int64_t z = 99;
    dpot_quantize_round(inverse_step, &x, 1, &z);
    return z;
}

/* The definition in client/doc/exact-privacy.md, B2, with the C library's functions. */
static int64_t round_plainly(double x, double inverse_step)
{
    const double limit = ldexp(1, 40);
    double v = x * inverse_step;
    v = isnan(v) ? 0 : v < -limit ? -limit : v > limit ? limit : v;
    return (int64_t)floor(v + 0.5);
}

Test(quantize, rounds_halves_up_on_both_sides_of_zero)
{
    cr_assert_eq(round_one(0.5, 1), 1);
    cr_assert_eq(round_one(-0.5, 1), 0);
    cr_assert_eq(round_one(-0.75, 1), -1);
    cr_assert_eq(round_one(1.5, 1), 2);
    cr_assert_eq(round_one(-1.5, 1), -1);
    cr_assert_eq(round_one(-1.0000001, 1), -1);
    cr_assert_eq(round_one(3, 0.25), 1);
    cr_assert_eq(round_one(-0.0, 1), 0);
}

/* A NaN that is only tested after the clamp would have become a corner of the domain. */
Test(quantize, nan_becomes_zero_and_infinities_the_ends)
{
    const uint64_t nan_bits[] = {UINT64_C(0x7ff8000000000000), UINT64_C(0xfff8000000000001),
                                 UINT64_C(0x7fffffffffffffff), UINT64_C(0xffffffffffffffff),
                                 UINT64_C(0x7ff0000000000001), UINT64_C(0xfff0000000000001)};
    for (size_t i = 0; i < sizeof nan_bits / sizeof nan_bits[0]; i++) {
        double x;
        memcpy(&x, &nan_bits[i], sizeof x);
        cr_assert_eq(round_one(x, 1), 0);
        cr_assert_eq(round_one(x, ldexp(1, 60)), 0);
    }
    cr_assert_eq(round_one(INFINITY, ldexp(1, -60)), SIDE);
    cr_assert_eq(round_one(-INFINITY, 1), -SIDE);
    cr_assert_eq(round_one(1e308, ldexp(1, 60)), SIDE);
    cr_assert_eq(round_one(-1e308, ldexp(1, 60)), -SIDE);
    cr_assert_eq(round_one(ldexp(1, 40) - 0.25, 1), SIDE);
    cr_assert_eq(round_one(-ldexp(1, 40), 1), -SIDE);
    cr_assert_eq(round_one(5e-324, 1), 0);
    cr_assert_eq(round_one(-5e-324, 1), 0);
    cr_assert_eq(round_one(-0.5 - ldexp(1, -50), 1), -1);
    cr_assert_eq(round_one(0.49999999999999994, 1), 1, "the double sum with 1/2 is 1");
}

Test(quantize, any_bits_are_rounded_as_floor_of_v_plus_a_half)
{
    uint64_t state = 4711;
    for (size_t i = 0; i < 400000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t bits = state ^ state >> 29;
        if (i % 2) { /* exponents at which the result changes */
            bits = (bits & UINT64_C(0x800fffffffffffff)) | (UINT64_C(960) + i / 2 % 110) << 52;
            bits &= i % 8 == 1 ? UINT64_C(0xffffff0000000000) : UINT64_MAX;
        }
        double x;
        memcpy(&x, &bits, sizeof x);
        const double inverse_step = i % 3 == 0 ? 1 : i % 3 == 1 ? 127.3 : ldexp(1, -3);
        cr_assert_eq(round_one(x, inverse_step), round_plainly(x, inverse_step), "%a", x);
    }
}

Test(quantize, values_and_integers_may_share_their_memory)
{
    const double x[] = {1.25, -7, NAN, 1e9};
    int64_t apart[4], shared[4];
    memcpy(shared, x, sizeof x);
    dpot_quantize_round(3, x, 4, apart);
    dpot_quantize_round(3, (const double *)(const void *)shared, 4, shared);
    cr_assert_eq(memcmp(apart, shared, sizeof apart), 0);
}

Test(quantize, square_roots_are_rounded_up)
{
    for (unsigned bit = 0; bit < 63; bit++) {
        for (uint64_t low = 0; low < 3; low++) {
            const uint64_t r = ((uint64_t)1 << bit) + low * (((uint64_t)1 << bit) / 3);
            const struct dpot_u128 square = dpot_u128_mul(r, r), one = dpot_u128_from(1);
            if (r >> 63) {
                continue;
            }
            cr_assert_eq(dpot_u128_ceil_sqrt(square), r);
            cr_assert_eq(dpot_u128_ceil_sqrt(dpot_u128_add(square, one)), r + 1);
            cr_assert_eq(dpot_u128_ceil_sqrt(dpot_u128_sub(square, one)), r == 1 ? 0 : r);
        }
    }
    cr_assert_eq(dpot_u128_ceil_sqrt(dpot_u128_from(0)), 0);
}

static struct dpot_vector_domain ball(enum dpot_vector_set set, uint32_t dim, uint64_t radius)
{
    return (struct dpot_vector_domain){
        .set = set, .dim = dim, .radius = radius, .grid_step = 1, .inverse_step = 1};
}

Test(box, sends_each_coordinate_between_its_own_sides)
{
    int64_t lo[] = {-3, 5, -SIDE}, hi[] = {4, 5, SIDE};
    const struct dpot_vector_domain box = {
        .set = DPOT_VECTOR_BOX, .dim = 3, .n_sides = 3, .lo = lo, .hi = hi};
    int64_t below[] = {-SIDE, -SIDE, -SIDE}, above[] = {SIDE, SIDE, SIDE}, inside[] = {-1, 5, 9};
    dpot_quantize_enforce(&box, below);
    dpot_quantize_enforce(&box, above);
    dpot_quantize_enforce(&box, inside);
    for (size_t j = 0; j < 3; j++) {
        cr_assert_eq(below[j], lo[j]);
        cr_assert_eq(above[j], hi[j]);
    }
    cr_assert(inside[0] == -1 && inside[1] == 5 && inside[2] == 9);
}

Test(box, with_one_pair_of_sides_uses_it_for_all)
{
    int64_t lo = -2, hi = 6;
    const struct dpot_vector_domain box = {
        .set = DPOT_VECTOR_BOX, .dim = 4, .n_sides = 1, .lo = &lo, .hi = &hi, .inverse_step = 10};
    const double x[] = {-1, .31, NAN, 77};
    int64_t z[4];
    dpot_quantize(&box, x, z);
    cr_assert(z[0] == -2 && z[1] == 3 && z[2] == 0 && z[3] == 6);
}

/* An arithmetic shift of a negative number would round away from zero. */
Test(l1_ball, scales_towards_zero_on_both_sides)
{
    const struct dpot_vector_domain domain = ball(DPOT_VECTOR_L1_BALL, 3, 2);
    int64_t z[] = {-1, 1, 2};
    dpot_quantize_enforce(&domain, z); /* f = 1/2 */
    cr_assert(z[0] == 0 && z[1] == 0 && z[2] == 1, "%lld", (long long)z[0]);
}

Test(l2_ball, scales_towards_zero_on_both_sides)
{
    const struct dpot_vector_domain domain = ball(DPOT_VECTOR_L2_BALL, 3, 2);
    int64_t z[] = {-1, 1, -2};
    dpot_quantize_enforce(&domain, z); /* f = 2/3 */
    cr_assert(z[0] == 0 && z[1] == 0 && z[2] == -1, "%lld", (long long)z[0]);
}

static uint64_t magnitude(int64_t z)
{
    return z < 0 ? (uint64_t)-z : (uint64_t)z;
}

static int64_t clamp_plainly(int64_t z, int64_t radius)
{
    return z < -radius ? -radius : z > radius ? radius : z;
}

static uint64_t l1_norm(const int64_t *z, size_t dim)
{
    uint64_t sum = 0;
    for (size_t j = 0; j < dim; j++) {
        sum += magnitude(z[j]);
    }
    return sum;
}

static struct dpot_u128 l2_norm_squared(const int64_t *z, size_t dim)
{
    struct dpot_u128 sum = {0, 0};
    for (size_t j = 0; j < dim; j++) {
        sum = dpot_u128_add(sum, dpot_u128_mul(magnitude(z[j]), magnitude(z[j])));
    }
    return sum;
}

/* The definition in client/doc/exact-privacy.md, B2, with plain operators; the factor's numerator
 * is R 2^shift. */
static void scale_plainly(int64_t *z, size_t dim, uint64_t numerator, uint64_t divisor,
                          unsigned shift)
{
    for (size_t j = 0; j < dim; j++) {
        const uint64_t scaled = magnitude(z[j]) * (numerator / divisor) >> shift;
        z[j] = z[j] < 0 ? -(int64_t)scaled : (int64_t)scaled;
    }
}

static void enforce_l1_plainly(uint64_t radius, int64_t *z, size_t dim)
{
    unsigned bit_length = 0;
    while (radius >> bit_length) {
        bit_length++;
    }
    const unsigned shift = 62 - bit_length;
    for (size_t j = 0; j < dim; j++) {
        z[j] = clamp_plainly(z[j], (int64_t)radius);
    }
    const uint64_t sum = l1_norm(z, dim);
    scale_plainly(z, dim, radius << shift, sum > radius ? sum : radius, shift);
}

static void enforce_l2_plainly(uint64_t radius, int64_t *z, size_t dim)
{
    for (size_t j = 0; j < dim; j++) {
        z[j] = clamp_plainly(z[j], (int64_t)radius);
    }
    const struct dpot_u128 sum = l2_norm_squared(z, dim);
    uint64_t root = (uint64_t)sqrt(ldexp((double)sum.hi, 64) + (double)sum.lo);
    root = root > 4 ? root - 4 : 0; /* below the root for certain; the loop goes up from there */
    while (dpot_u128_less(dpot_u128_mul(root, root), sum)) {
        root++;
    }
    scale_plainly(z, dim, radius << 32, root > radius ? root : radius, 32);
}

static int64_t random_integer(uint64_t *state, uint64_t size)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t bits = *state ^ *state >> 31;
    return (int64_t)(bits % (2 * size + 1)) - (int64_t)size;
}

static void assert_l1(uint64_t radius, const int64_t *z, size_t dim)
{
    const struct dpot_vector_domain domain = ball(DPOT_VECTOR_L1_BALL, (uint32_t)dim, radius);
    int64_t enforced[64], plain[64];
    memcpy(enforced, z, dim * sizeof *z);
    memcpy(plain, z, dim * sizeof *z);
    dpot_quantize_enforce(&domain, enforced);
    enforce_l1_plainly(radius, plain, dim);
    cr_assert_eq(memcmp(enforced, plain, dim * sizeof *z), 0, "R %llu", (unsigned long long)radius);
    cr_assert_leq(l1_norm(enforced, dim), radius);
    if (l1_norm(z, dim) <= radius) {
        cr_assert_eq(memcmp(enforced, z, dim * sizeof *z), 0, "a point inside moved");
    }
}

static void assert_l2(uint64_t radius, const int64_t *z, size_t dim)
{
    const struct dpot_vector_domain domain = ball(DPOT_VECTOR_L2_BALL, (uint32_t)dim, radius);
    int64_t enforced[64], plain[64];
    const struct dpot_u128 most = dpot_u128_mul(radius, radius);
    memcpy(enforced, z, dim * sizeof *z);
    memcpy(plain, z, dim * sizeof *z);
    dpot_quantize_enforce(&domain, enforced);
    enforce_l2_plainly(radius, plain, dim);
    cr_assert_eq(memcmp(enforced, plain, dim * sizeof *z), 0, "R %llu", (unsigned long long)radius);
    cr_assert_not(dpot_u128_less(most, l2_norm_squared(enforced, dim)));
    if (!dpot_u128_less(most, l2_norm_squared(z, dim))) {
        cr_assert_eq(memcmp(enforced, z, dim * sizeof *z), 0, "a point inside moved");
    }
}

Test(balls, any_integers_end_up_inside_and_points_inside_stay)
{
    uint64_t state = 17;
    for (size_t i = 0; i < 20000; i++) {
        int64_t z[64];
        const size_t dim = 1 + i % 64;
        const uint64_t l1_radius = 1 + ((DPOT_VECTOR_L1_RADIUS_MAX - 1) >> i % 41);
        const uint64_t l2_radius = 1 + ((DPOT_VECTOR_L2_RADIUS_MAX - 1) >> i % 27);
        const uint64_t sizes[] = {
            SIDE, l1_radius, l1_radius / dim, l2_radius, l2_radius / (1 + dim / 4), 2};
        for (size_t j = 0; j < dim; j++) {
            z[j] = random_integer(&state, sizes[i / 41 % 6]);
        }
        assert_l1(l1_radius, z, dim);
        assert_l2(l2_radius, z, dim);
    }
}

Test(balls, corners_of_the_largest_and_smallest_radius_stay_inside)
{
    const uint64_t l1[] = {1, 2, 3, DPOT_VECTOR_L1_RADIUS_MAX - 1, DPOT_VECTOR_L1_RADIUS_MAX};
    const uint64_t l2[] = {1, 2, 3, DPOT_VECTOR_L2_RADIUS_MAX - 1, DPOT_VECTOR_L2_RADIUS_MAX};
    for (size_t i = 0; i < 5; i++) {
        for (size_t dim = 1; dim <= 64; dim += 9) {
            int64_t corner[64], axis[64] = {0};
            for (size_t j = 0; j < dim; j++) {
                corner[j] = j % 2 ? SIDE : -SIDE;
            }
            axis[dim - 1] = -SIDE;
            assert_l1(l1[i], corner, dim);
            assert_l1(l1[i], axis, dim);
            assert_l2(l2[i], corner, dim);
            assert_l2(l2[i], axis, dim);
        }
    }
}

/* The sum of 2^14 squares of 2^25 is 2^64, which is 0 in 64 bits: the point would not be shrunk and
 * would stay 2^7 times too far out. */
Test(l2_ball, a_sum_of_squares_beyond_64_bits_still_shrinks)
{
    const uint32_t dim = 1u << 14;
    const uint64_t radius = 1u << 25;
    const struct dpot_vector_domain domain = ball(DPOT_VECTOR_L2_BALL, dim, radius);
    int64_t *z = malloc(dim * sizeof *z);
    cr_assert_not_null(z);
    for (uint32_t j = 0; j < dim; j++) {
        z[j] = (int64_t)radius;
    }
    dpot_quantize_enforce(&domain, z);
    for (uint32_t j = 0; j < dim; j++) {
        cr_assert_eq(z[j], (int64_t)radius >> 7);
    }
    free(z);
}

Test(balls, the_largest_dimension_and_radius_do_not_wrap)
{
    const uint32_t dim = DPOT_VECTOR_DIM_MAX;
    int64_t *z = malloc(dim * sizeof *z);
    cr_assert_not_null(z);
    for (int is_l2 = 0; is_l2 < 2; is_l2++) {
        const uint64_t radius = is_l2 ? DPOT_VECTOR_L2_RADIUS_MAX : DPOT_VECTOR_L1_RADIUS_MAX;
        const struct dpot_vector_domain domain =
            ball(is_l2 ? DPOT_VECTOR_L2_BALL : DPOT_VECTOR_L1_BALL, dim, radius);
        for (uint32_t j = 0; j < dim; j++) {
            z[j] = j % 3 ? SIDE : -SIDE;
        }
        dpot_quantize_enforce(&domain, z);
        const int64_t expected = is_l2 ? (int64_t)radius >> 10 : (int64_t)1 << 20;
        cr_assert_eq(z[0], -expected, "%lld", (long long)z[0]);
        cr_assert_eq(z[1], expected);
    }
    free(z);
}
