#include "mechanism/sampler.h"

#include "mechanism/u128.h"

#include <math.h>
#include <string.h>

/* A2, A3, ... are sections of client/doc/exact-privacy.md. */

#define SERIES_TERMS 14
#define EXP_SHIFT 46   /* A is in units of 2^-46 */
#define MASS_SHIFT 62  /* weights are in units of 2^-62 */
#define RATIO_SHIFT 20 /* ratios are taken of capacities in units of 2^20 */
#define SIZE_MIN 2
#define MASS_CODE_MAX 4294967295.0

uint64_t dpot_exp_half_lower(uint64_t epsilon_q32)
{
    /* The Taylor series of e^r, r = epsilon / 128, in Q60, then six squarings. Every step rounds
     * down: a lower bound. */
    static const unsigned squaring_shifts[] = {60, 60, 60, 62, 62, 62};
    const uint64_t r = epsilon_q32 << 21;
    uint64_t term = (uint64_t)1 << 60, sum = term;
    for (uint64_t i = 1; i <= SERIES_TERMS; i++) {
        term = dpot_u64_mul_shr(term, r, 60) / i;
        sum += term;
    }
    for (size_t i = 0; i < sizeof squaring_shifts / sizeof squaring_shifts[0]; i++) {
        sum = dpot_u64_mul_shr(sum, sum, squaring_shifts[i]);
    }
    return sum;
}

/* floor(b total / sum), 1 <= b <= sum < 2^52, total <= 2^62: schoolbook division over the bits of
 * total. rem < sum before each step, so 2 rem + b < 3 sum and two subtractions are enough. */
static uint64_t scale_mass(uint64_t b, uint64_t total, uint64_t sum)
{
    uint64_t quotient = 0, rem = 0;
    for (int bit = MASS_SHIFT; bit >= 0; bit--) {
        rem = 2 * rem + ((total >> bit & 1) ? b : 0);
        quotient *= 2;
        for (int i = 0; i < 2; i++) {
            const uint64_t fits = rem >= sum;
            rem -= fits ? sum : 0;
            quotient += fits;
        }
    }
    return quotient;
}

/* min(N, floor(x A / 2^46)). The quotient has up to 78 bits: it is compared before truncation. */
static uint64_t grow(uint64_t x, uint64_t growth)
{
    return dpot_u128_min_u64(dpot_u128_shr(dpot_u128_mul(x, growth), EXP_SHIFT), DPOT_MASS_ONE);
}

static dpot_status check_base_measure(const struct dpot_base_measure *base_measure,
                                      uint64_t epsilon_q32, struct dpot_error *error)
{
    if (epsilon_q32 < 1 || epsilon_q32 > DPOT_INDEX_EPSILON_MAX_Q32) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "epsilon is %.10g: choose more than 0 and at most 20",
                              dpot_epsilon_to_double(epsilon_q32));
    }
    if (base_measure->size < SIZE_MIN || base_measure->size > DPOT_DOMAIN_SIZE_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the base measure has %u masses: choose %d to %u", base_measure->size,
                              SIZE_MIN, DPOT_DOMAIN_SIZE_MAX);
    }
    if (base_measure->total < 1 || base_measure->total > DPOT_MASS_ONE) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the total mass T of the base measure is %llu: choose 1 to 2^62",
                              (unsigned long long)base_measure->total);
    }
    for (uint32_t j = 0; j < base_measure->size; j++) {
        if (base_measure->mass_code[j] == 0) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "mass code %u of the base measure is 0: it must be at least 1",
                                  j);
        }
    }
    return DPOT_OK;
}

static uint64_t sum_codes(const struct dpot_base_measure *base_measure)
{
    uint64_t sum = 0;
    for (uint32_t j = 0; j < base_measure->size; j++) {
        sum += base_measure->mass_code[j];
    }
    return sum;
}

dpot_status dpot_bounds_compute(const struct dpot_base_measure *base_measure, uint64_t epsilon_q32,
                                uint64_t *lower, uint64_t *upper, struct dpot_error *error)
{
    const dpot_status status = check_base_measure(base_measure, epsilon_q32, error);
    if (status != DPOT_OK) {
        return status;
    }
    const uint64_t growth = dpot_exp_half_lower(epsilon_q32);
    const uint64_t sum = sum_codes(base_measure);
    struct dpot_u128 sum_lower = {0, 0}, sum_upper = {0, 0};
    for (uint32_t j = 0; j < base_measure->size; j++) {
        /* U is computed from the rounded L, never from the mass: the proof depends on it. */
        const uint64_t scaled = scale_mass(base_measure->mass_code[j], base_measure->total, sum);
        const uint64_t l = scaled > 0 ? scaled : 1;
        const uint64_t u = grow(grow(l, growth), growth);
        sum_lower = dpot_u128_add(sum_lower, dpot_u128_from(l));
        sum_upper = dpot_u128_add(sum_upper, dpot_u128_from(u));
        if (lower && upper) {
            lower[j] = l;
            upper[j] = u;
        }
    }
    const struct dpot_u128 one = dpot_u128_from(DPOT_MASS_ONE);
    if (dpot_u128_less(one, sum_lower) || dpot_u128_less(sum_upper, one)) {
        return dpot_error_set(error, DPOT_ERR_INFEASIBLE,
                              "the base measure is infeasible at epsilon %.10g: its total mass "
                              "must be between e^(-epsilon/2) and e^(epsilon/2)",
                              dpot_epsilon_to_double(epsilon_q32));
    }
    return DPOT_OK;
}

/* floor(dd 2^62 / ct) with dd = diff / 2^20, ct = cap / 2^20 + 1, for diff <= cap: restoring
 * division. rem < ct <= 2^62 + 1 before each step, so nothing overflows. Rounded so that
 * cap * ratio / 2^62 <= diff. */
static uint64_t ratio(struct dpot_u128 diff, struct dpot_u128 cap)
{
    const uint64_t divisor = dpot_u128_shr(cap, RATIO_SHIFT).lo + 1;
    uint64_t rem = dpot_u128_shr(diff, RATIO_SHIFT).lo, quotient = 0;
    for (int bit = 0; bit < MASS_SHIFT; bit++) {
        rem *= 2;
        const uint64_t fits = dpot_u64_less(rem, divisor) ^ 1;
        rem -= dpot_u64_mask(fits) & divisor;
        quotient = 2 * quotient + fits;
    }
    return quotient;
}

void dpot_bounds_fallback(const uint64_t *lower, const uint64_t *upper, size_t size,
                          uint64_t *fallback)
{
    const struct dpot_u128 one = dpot_u128_from(DPOT_MASS_ONE);
    struct dpot_u128 sum_lower = {0, 0}, sum_upper = {0, 0};
    for (size_t j = 0; j < size; j++) {
        sum_lower = dpot_u128_add(sum_lower, dpot_u128_from(lower[j]));
        sum_upper = dpot_u128_add(sum_upper, dpot_u128_from(upper[j]));
    }
    const uint64_t theta =
        ratio(dpot_u128_sub_floor(one, sum_lower), dpot_u128_sub_floor(sum_upper, sum_lower));
    uint64_t rest = DPOT_MASS_ONE;
    for (size_t j = 0; j < size; j++) {
        fallback[j] = lower[j] + dpot_u64_mul_shr(upper[j] - lower[j], theta, MASS_SHIFT);
        rest -= fallback[j];
    }
    for (size_t j = 0; j < size; j++) {
        const uint64_t t = dpot_u64_min(rest, upper[j] - fallback[j]);
        fallback[j] += t;
        rest -= t;
    }
}

/* value << amount for amount < 16, by constant shifts under masks. */
static uint64_t shift_left(uint64_t value, uint64_t amount)
{
    for (unsigned k = 0; k < 4; k++) {
        const uint64_t mask = dpot_u64_mask(amount >> k & 1);
        value = dpot_u64_select(mask, value << (1u << k), value);
    }
    return value;
}

/* value >> amount for amount < 64. */
static uint64_t shift_right(uint64_t value, uint64_t amount)
{
    for (unsigned k = 0; k < 6; k++) {
        const uint64_t mask = dpot_u64_mask(amount >> k & 1);
        value = dpot_u64_select(mask, value >> (1u << k), value);
    }
    return value;
}

/* V of A4: 0 unless the double is positive, N from 1 up, else floor(q 2^62), from its bits. */
static uint64_t mass_of_bits(uint64_t bits)
{
    const uint64_t exponent = bits >> 52 & 0x7ff;
    const uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
    const uint64_t is_normal = dpot_u64_nonzero(exponent);
    const uint64_t f = mantissa | is_normal << 52; /* q = f 2^(exponent - 1075) */
    const uint64_t below = dpot_u64_mask(dpot_u64_less(exponent, 1013));
    const uint64_t left = shift_left(f, (exponent - 1013) & 15);
    const uint64_t right = shift_right(f, dpot_u64_min((1013 - exponent) & below, 63));
    uint64_t v = dpot_u64_select(below, right, left);
    v = dpot_u64_select(dpot_u64_mask(dpot_u64_less(exponent, 1023)), v, DPOT_MASS_ONE);
    const uint64_t is_special = dpot_u64_less(2046, exponent);
    const uint64_t is_nan = is_special & dpot_u64_nonzero(mantissa);
    return v & ~dpot_u64_mask(dpot_u64_top_bit(bits) | is_nan);
}

static uint64_t clamp(uint64_t v, uint64_t lower, uint64_t upper)
{
    return dpot_u64_min(dpot_u64_max(v, lower), upper);
}

/* Sums over all outputs, and the mass that is missing (up) or in excess (down): one of them is
 * 0. */
struct round_state {
    struct dpot_u128 sum, sum_lower, sum_upper;
    struct dpot_u128 up, down;
};

static void clamp_masses(const double *q, const uint64_t *lower, const uint64_t *upper, size_t size,
                         uint64_t *weights, struct round_state *state)
{
    const unsigned char *bytes = (const unsigned char *)q;
    *state = (struct round_state){0};
    for (size_t j = 0; j < size; j++) {
        uint64_t bits;
        memcpy(&bits, bytes + j * sizeof bits, sizeof bits);
        const uint64_t w = clamp(mass_of_bits(bits), lower[j], upper[j]);
        weights[j] = w;
        state->sum = dpot_u128_add(state->sum, dpot_u128_from(w));
        state->sum_lower = dpot_u128_add(state->sum_lower, dpot_u128_from(lower[j]));
        state->sum_upper = dpot_u128_add(state->sum_upper, dpot_u128_from(upper[j]));
    }
    const struct dpot_u128 one = dpot_u128_from(DPOT_MASS_ONE);
    state->up = dpot_u128_sub_floor(one, state->sum);
    state->down = dpot_u128_sub_floor(state->sum, one);
}

/* Spreads the difference in proportion to the room of each weight; rounding leaves a rest of less
 * than size + 2^22 units. */
static void spread_difference(const uint64_t *lower, const uint64_t *upper, size_t size,
                              uint64_t *weights, struct round_state *state)
{
    const uint64_t up_ratio = ratio(state->up, dpot_u128_sub(state->sum_upper, state->sum));
    const uint64_t down_ratio = ratio(state->down, dpot_u128_sub(state->sum, state->sum_lower));
    for (size_t j = 0; j < size; j++) {
        const uint64_t a = dpot_u64_mul_shr(upper[j] - weights[j], up_ratio, MASS_SHIFT);
        const uint64_t s = dpot_u64_mul_shr(weights[j] - lower[j], down_ratio, MASS_SHIFT);
        weights[j] += a - s;
        state->up = dpot_u128_sub(state->up, dpot_u128_from(a));
        state->down = dpot_u128_sub(state->down, dpot_u128_from(s));
    }
}

/* Gives the rest to the first outputs that have room. */
static void settle_rest(const uint64_t *lower, const uint64_t *upper, size_t size,
                        uint64_t *weights, struct round_state *state)
{
    for (size_t j = 0; j < size; j++) {
        const uint64_t a = dpot_u128_min_u64(state->up, upper[j] - weights[j]);
        weights[j] += a;
        state->up = dpot_u128_sub(state->up, dpot_u128_from(a));
        const uint64_t s = dpot_u128_min_u64(state->down, weights[j] - lower[j]);
        weights[j] -= s;
        state->down = dpot_u128_sub(state->down, dpot_u128_from(s));
    }
}

void dpot_weights_round(const double *q, const uint64_t *lower, const uint64_t *upper, size_t size,
                        uint64_t *weights)
{
    struct round_state state;
    clamp_masses(q, lower, upper, size, weights, &state);
    spread_difference(lower, upper, size, weights, &state);
    settle_rest(lower, upper, size, weights, &state);
}

/* All ones if W violates (I) or (II). Each weight is compared with what is left of N, so that a sum
 * of N + 2^64 does not pass for N. */
static uint64_t broken_mask(const uint64_t *weights, const uint64_t *lower, const uint64_t *upper,
                            size_t size)
{
    uint64_t is_bad = 0, sum = 0;
    for (size_t j = 0; j < size; j++) {
        is_bad |= dpot_u64_less(weights[j], lower[j]);
        is_bad |= dpot_u64_less(upper[j], weights[j]);
        is_bad |= dpot_u64_less(DPOT_MASS_ONE - sum, weights[j]);
        sum += weights[j];
    }
    is_bad |= dpot_u64_nonzero(DPOT_MASS_ONE ^ sum);
    return dpot_u64_mask(is_bad);
}

uint32_t dpot_weights_draw(const uint64_t *weights, const uint64_t *lower, const uint64_t *upper,
                           const uint64_t *fallback, size_t size, uint64_t random)
{
    const uint64_t use_fallback = broken_mask(weights, lower, upper, size);
    const uint64_t u = random & (DPOT_MASS_ONE - 1);
    uint64_t sum = 0, index = 0;
    for (size_t j = 0; j < size; j++) {
        sum += dpot_u64_select(use_fallback, fallback[j], weights[j]);
        /* Both are at most 2^62: the top bit is the borrow. */
        index += 1 ^ dpot_u64_top_bit(u - sum);
    }
    return (uint32_t)index;
}

static double largest_mass(const double *m, size_t size)
{
    double largest = 0;
    for (size_t j = 0; j < size; j++) {
        largest = isfinite(m[j]) ? fmax(largest, m[j]) : largest;
    }
    return largest;
}

static dpot_status refuse_mass(const double *m, size_t size, size_t j, struct dpot_error *error)
{
    if (m[j] == 0) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "the mass of output point %zu (the first is 0) is 0: a point with zero mass is never "
            "output; give it at least 2^-32 of the largest mass, %.3g, or leave the point out of "
            "the output points",
            j, largest_mass(m, size) / MASS_CODE_MAX);
    }
    return dpot_error_set(error, DPOT_ERR_RANGE,
                          "the mass of output point %zu (the first is 0) is %g: give a positive "
                          "finite one",
                          j, m[j]);
}

/* Sums the masses; refuses the first one that is not finite and positive. */
static dpot_status sum_masses(const double *m, size_t size, double *sum, double *largest,
                              struct dpot_error *error)
{
    *sum = 0;
    *largest = 0;
    for (size_t j = 0; j < size; j++) {
        if (!(m[j] > 0) || isinf(m[j])) {
            return refuse_mass(m, size, j, error);
        }
        *sum += m[j];
        *largest = fmax(*largest, m[j]);
    }
    return DPOT_OK;
}

/* T of A6. Without the lower limit, the floors of A3 could leave sum U below N at a total of
 * e^(-epsilon/2). */
static uint64_t encode_total(double sum, double epsilon, size_t size)
{
    const double least =
        ceil(ldexp(exp(-epsilon) * (1 + ldexp(1, -44)), MASS_SHIFT)) + 4.0 * (double)size;
    const double total = fmax(round(ldexp(exp(-epsilon / 2) * sum, MASS_SHIFT)), least);
    return (uint64_t)fmin(total, (double)DPOT_MASS_ONE);
}

dpot_status dpot_base_measure_encode(const double *m, size_t size, uint64_t epsilon_q32,
                                     struct dpot_base_measure *base_measure,
                                     struct dpot_error *error)
{
    if (size < SIZE_MIN || size > DPOT_DOMAIN_SIZE_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the base measure has %zu masses: choose %d to %u", size, SIZE_MIN,
                              DPOT_DOMAIN_SIZE_MAX);
    }
    double sum = 0, largest = 0;
    const dpot_status status = sum_masses(m, size, &sum, &largest, error);
    if (status != DPOT_OK) {
        return status;
    }
    const double epsilon = dpot_epsilon_to_double(epsilon_q32);
    const double most = exp(epsilon / 2);
    if (!(sum >= (1 - 1e-9) / most && sum <= (1 + 1e-9) * most)) {
        return dpot_error_set(error, DPOT_ERR_INFEASIBLE,
                              "the base measure has total mass %.10g: at epsilon %.10g it must be "
                              "between %.10g and %.10g",
                              sum, epsilon, 1 / most, most);
    }
    for (size_t j = 0; j < size; j++) {
        const double code = round(m[j] / largest * MASS_CODE_MAX);
        base_measure->mass_code[j] = (uint32_t)fmin(fmax(code, 1), MASS_CODE_MAX);
    }
    base_measure->size = (uint32_t)size;
    base_measure->total = encode_total(sum, epsilon, size);
    return dpot_bounds_compute(base_measure, epsilon_q32, NULL, NULL, error);
}

void dpot_base_measure_decode(const struct dpot_base_measure *base_measure, uint64_t epsilon_q32,
                              double *m)
{
    const double total = ldexp((double)base_measure->total, -MASS_SHIFT) *
                         exp(dpot_epsilon_to_double(epsilon_q32) / 2);
    const double sum = (double)sum_codes(base_measure);
    for (uint32_t j = 0; j < base_measure->size; j++) {
        m[j] = (double)base_measure->mass_code[j] / sum * total;
    }
}
