#include "mechanism/quantize.h"

#include "base/double_bits.h"
#include "mechanism/integers.h"

#include <string.h>

/* Constant time: no branch, address or division depends on data; loops run over public counts. */

#ifdef __FAST_MATH__
#error "quantize.c relies on IEEE arithmetic: do not compile it with -ffast-math"
#endif

#define CLAMP_EXPONENT 40  /* |v| <= 2^40 */
#define EXPONENT_BIAS 1023 /* of a double */
#define MANTISSA_BITS 52   /* of a double */
#define DIVISION_BITS 62   /* quotients and dividends are below 2^62 */
#define L2_FACTOR_SHIFT 32 /* f of the l2 ball is in units of 2^-32 */
#define SQRT_BITS 63

/* NaN -> 0, then a clamp to +-2^40, on the bits, which have the order of the doubles of one sign.
 * NaN first, since its bits are above those of 2^40. */
static uint64_t clamp_bits(uint64_t bits)
{
    const uint64_t infinity = (uint64_t)0x7ff << MANTISSA_BITS;
    const uint64_t limit = (uint64_t)(EXPONENT_BIAS + CLAMP_EXPONENT) << MANTISSA_BITS;
    const uint64_t sign = bits & (uint64_t)1 << 63;
    const uint64_t magnitude = bits ^ sign;
    const uint64_t is_nan = dpot_u64_mask(dpot_u64_less(infinity, magnitude));
    return (sign | dpot_u64_min(magnitude, limit)) & ~is_nan;
}

/* floor(w) for |w| < 2^52: the integer part of |w|, plus one if a negative w has a fraction. */
static int64_t floor_of_bits(uint64_t bits)
{
    const uint64_t negative = dpot_u64_mask(dpot_u64_top_bit(bits));
    const uint64_t exponent = bits >> MANTISSA_BITS & 0x7ff;
    const uint64_t mantissa = bits & (((uint64_t)1 << MANTISSA_BITS) - 1);
    uint64_t value = mantissa | dpot_u64_nonzero(exponent) << MANTISSA_BITS;
    uint64_t lost = 0; /* not 0 if a one was shifted out */
    /* |w| = value 2^-shift; from 63 on nothing is left. */
    const uint64_t shift = dpot_u64_min(EXPONENT_BIAS + MANTISSA_BITS - exponent, 63);
    for (unsigned k = 0; k < 6; k++) {
        const uint64_t mask = dpot_u64_mask(shift >> k & 1);
        lost |= mask & value & (((uint64_t)1 << (1u << k)) - 1);
        value = dpot_u64_select(mask, value >> (1u << k), value);
    }
    return dpot_i64_with_sign(value + (dpot_u64_nonzero(lost) & negative), negative);
}

void dpot_quantize_round(double inverse_step, const double *x, size_t dim, int64_t *z)
{
    const unsigned char *bytes = (const unsigned char *)x;
    for (size_t j = 0; j < dim; j++) {
        uint64_t bits;
        memcpy(&bits, bytes + j * sizeof bits, sizeof bits);
        const double v = dpot_double_of_bits(
            clamp_bits(dpot_double_bits(dpot_double_of_bits(bits) * inverse_step)));
        z[j] = floor_of_bits(dpot_double_bits(v + 0.5));
    }
}

/* floor(dividend / divisor) for dividend < 2^62 and 0 < divisor < 2^62: restoring division, always
 * all steps. rem < divisor before each, so 2 rem + 1 < 2^63. */
static uint64_t divide(uint64_t dividend, uint64_t divisor)
{
    uint64_t rem = 0, quotient = 0;
    for (int bit = DIVISION_BITS - 1; bit >= 0; bit--) {
        rem = 2 * rem + (dividend >> bit & 1);
        const uint64_t fits = dpot_u64_less(rem, divisor) ^ 1;
        rem -= dpot_u64_mask(fits) & divisor;
        quotient = 2 * quotient + fits;
    }
    return quotient;
}

uint64_t dpot_u128_ceil_sqrt(struct dpot_u128 x)
{
    uint64_t root = 0; /* the largest with root^2 <= x, bit by bit from the top */
    for (int bit = SQRT_BITS - 1; bit >= 0; bit--) {
        const uint64_t next = root | (uint64_t)1 << bit;
        const uint64_t fits = dpot_u128_less(x, dpot_u128_mul(next, next)) ^ 1;
        root |= dpot_u64_mask(fits) & (uint64_t)1 << bit;
    }
    return root + dpot_u128_less(dpot_u128_mul(root, root), x);
}

static void enforce_box(const struct dpot_vector_domain *vector, int64_t *z)
{
    for (uint32_t j = 0; j < vector->dim; j++) {
        z[j] = dpot_i64_clamp(z[j], dpot_vector_lo(vector, j), dpot_vector_hi(vector, j));
    }
}

static void clamp_to_radius(uint64_t radius, int64_t *z, size_t dim)
{
    for (size_t j = 0; j < dim; j++) {
        z[j] = dpot_i64_clamp(z[j], -(int64_t)radius, (int64_t)radius);
    }
}

/* |z| -> floor(|z| factor / 2^shift): towards zero on both sides. factor <= 2^shift. */
static void scale_magnitudes(uint64_t factor, unsigned shift, int64_t *z, size_t dim)
{
    for (size_t j = 0; j < dim; j++) {
        const uint64_t product = dpot_u64_mul(dpot_i64_magnitude(z[j]), factor); /* < 2^62 */
        const uint64_t scaled = product >> shift;
        z[j] = dpot_i64_with_sign(scaled, dpot_i64_sign_mask(z[j]));
    }
}

static unsigned bit_length(uint64_t x)
{
    unsigned n = 0;
    for (; x > 0; x >>= 1) {
        n++;
    }
    return n;
}

/* f = floor(R 2^n / s), s = max(sum |z|, R): sum |z| f / 2^n <= R. In the set s = R and f = 2^n:
 * the point is unchanged. */
static void enforce_l1_ball(uint64_t radius, int64_t *z, size_t dim)
{
    clamp_to_radius(radius, z, dim);
    uint64_t sum = 0; /* <= 2^20 2^40 */
    for (size_t j = 0; j < dim; j++) {
        sum += dpot_i64_magnitude(z[j]);
    }
    const unsigned shift = 62 - bit_length(radius);
    scale_magnitudes(divide(radius << shift, dpot_u64_max(sum, radius)), shift, z, dim);
}

/* The same with s = max(ceil(sqrt(sum z^2)), R): sum (|z| f / 2^32)^2 <= R^2. The sum has up to 72
 * bits. */
static void enforce_l2_ball(uint64_t radius, int64_t *z, size_t dim)
{
    clamp_to_radius(radius, z, dim);
    struct dpot_u128 sum = {0, 0};
    for (size_t j = 0; j < dim; j++) {
        const uint64_t magnitude = dpot_i64_magnitude(z[j]);
        sum = dpot_u128_add(sum, dpot_u128_mul(magnitude, magnitude));
    }
    const uint64_t norm = dpot_u64_max(dpot_u128_ceil_sqrt(sum), radius);
    scale_magnitudes(divide(radius << L2_FACTOR_SHIFT, norm), L2_FACTOR_SHIFT, z, dim);
}

void dpot_quantize_enforce(const struct dpot_vector_domain *vector, int64_t *z)
{
    switch (vector->set) {
    case DPOT_VECTOR_BOX:
        enforce_box(vector, z);
        return;
    case DPOT_VECTOR_L1_BALL:
        enforce_l1_ball(vector->radius, z, vector->dim);
        return;
    case DPOT_VECTOR_L2_BALL:
        enforce_l2_ball(vector->radius, z, vector->dim);
        return;
    }
}

void dpot_quantize(const struct dpot_vector_domain *vector, const double *x, int64_t *z)
{
    dpot_quantize_round(vector->inverse_step, x, vector->dim, z);
    dpot_quantize_enforce(vector, z);
}
