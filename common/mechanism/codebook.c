#include "mechanism/codebook.h"

#include "base/buf.h"
#include "base/double_bits.h"

#include <math.h>
#include <string.h>

#define PAIR_LEN 8                            /* bytes for two normal numbers */
#define CHUNK_LEN (8 * DPOT_STREAM_BLOCK_LEN) /* bytes of the stream at a time */
#define PAIRS_A_CHUNK (CHUNK_LEN / PAIR_LEN)
#define MANTISSA_BITS 52
#define MANTISSA_MASK (((uint64_t)1 << MANTISSA_BITS) - 1)
#define EXPONENT_BIAS 1023
#define LOG_2 0.69314718055994530942
#define SQRT_2 1.41421356237309504880
#define HALF_PI 1.57079632679489661923

static const char prefix[] = "dpot.directions.v1"; /* hashed with its NUL */

static void add_number(struct dpot_hasher *hasher, uint32_t number)
{
    uint8_t bytes[4];
    dpot_store_u32(bytes, number);
    dpot_hasher_add(hasher, bytes, sizeof bytes);
}

void dpot_codebook_init(struct dpot_codebook *codebook, const struct dpot_campaign *campaign,
                        const uint8_t report_id[DPOT_REPORT_ID_LEN])
{
    _Static_assert(DPOT_STREAM_KEY_LEN == DPOT_HASH_LEN, "the hash is the key");
    struct dpot_hasher hasher;
    dpot_hasher_init(&hasher);
    dpot_hasher_add(&hasher, prefix, sizeof prefix);
    dpot_hasher_add(&hasher, campaign->id, sizeof campaign->id);
    add_number(&hasher, campaign->revision);
    add_number(&hasher, campaign->output.dim);
    dpot_hasher_add(&hasher, report_id, DPOT_REPORT_ID_LEN);
    dpot_hasher_end(&hasher, codebook->key);
    codebook->dim = campaign->output.dim;
}

/* log u for u in [2^-33, 1): u = m 2^e, 1/sqrt 2 <= m <= sqrt 2, s = (m - 1)/(m + 1), log m = 2 (s
 * + s^3/3 + s^5/5 + ...). s^2 < 0.0295, so the terms up to s^21 are exact to rounding. */
static double log_of(double u)
{
    const uint64_t bits = dpot_double_bits(u);
    double exponent = (double)((int64_t)(bits >> MANTISSA_BITS) - EXPONENT_BIAS);
    double m =
        dpot_double_of_bits((bits & MANTISSA_MASK) | (uint64_t)EXPONENT_BIAS << MANTISSA_BITS);
    const bool is_upper = m > SQRT_2;
    m = is_upper ? m / 2 : m;
    exponent += is_upper;
    const double s = (m - 1) / (m + 1), s2 = s * s;
    double sum = 1.0 / 21;
    for (int i = 19; i > 0; i -= 2) {
        sum = sum * s2 + 1.0 / i;
    }
    return exponent * LOG_2 + 2 * s * sum;
}

/* Sine and cosine of an angle in [-pi/4, pi/4] by their series, accurate to rounding. */
static void turn(double angle, double *sine, double *cosine)
{
    const double t2 = angle * angle;
    double s = 1, c = 1;
    for (int i = 17; i > 1; i -= 2) {
        s = 1 - s * t2 / (i * (i - 1));
        c = 1 - c * t2 / ((i - 1) * (i - 2));
    }
    *sine = angle * s;
    *cosine = c;
}

/* Two independent normal numbers. The top 2 bits of b are the quarter turn, centred at 0, pi/2, pi
 * or 3 pi/2; the others are the place in it. */
static void make_pair(const uint8_t bytes[PAIR_LEN], double pair[2])
{
    const uint32_t a = dpot_load_u32(bytes), b = dpot_load_u32(bytes + 4), quarter = b >> 30;
    const double u = ((double)a + 0.5) / 4294967296.0;
    const double place = ((double)(b & 0x3fffffff) + 0.5) / 1073741824.0 - 0.5;
    const double radius = sqrt(-2 * log_of(u));
    double sine, cosine;
    turn(place * HALF_PI, &sine, &cosine);
    const double x = (quarter & 1) != 0 ? -sine : cosine, y = (quarter & 1) != 0 ? cosine : sine;
    pair[0] = (quarter & 2) != 0 ? -radius * x : radius * x;
    pair[1] = (quarter & 2) != 0 ? -radius * y : radius * y;
}

/* Up to PAIRS_A_CHUNK pairs, from number 2 * first on; an odd last number is dropped. */
static void make_numbers(const struct dpot_codebook *codebook, uint32_t index, uint32_t first,
                         double *out)
{
    uint8_t bytes[CHUNK_LEN];
    const uint32_t left = codebook->dim - 2 * first;
    const uint32_t n = left < 2 * PAIRS_A_CHUNK ? left : 2 * PAIRS_A_CHUNK;
    dpot_stream(bytes, (size_t)PAIR_LEN * ((n + 1) / 2), codebook->key, index,
                (uint64_t)first * PAIR_LEN / DPOT_STREAM_BLOCK_LEN);
    for (uint32_t j = 0; j < n; j += 2) {
        double pair[2];
        make_pair(bytes + (size_t)PAIR_LEN * (j / 2), pair);
        memcpy(out + 2 * first + j, pair, (j + 1 < n ? 2 : 1) * sizeof *out);
    }
}

void dpot_codebook_direction(const struct dpot_codebook *codebook, uint32_t index, double *out)
{
    const uint32_t dim = codebook->dim;
    double square = 0;
    for (uint32_t first = 0; 2 * first < dim; first += PAIRS_A_CHUNK) {
        make_numbers(codebook, index, first, out);
    }
    for (uint32_t j = 0; j < dim; j++) {
        square += out[j] * out[j];
    }
    const double length = sqrt(square); /* positive: u < 1, so no pair is (0, 0) */
    for (uint32_t j = 0; j < dim; j++) {
        out[j] /= length;
    }
}
