#include "mechanism/noise.h"

#include "base/buf.h"
#include "base/crypto.h"
#include "mechanism/integers.h"
#include "mechanism/noise_tables.h"

/* Constant time: no branch, address or division depends on bytes, noise or data; loops run over
 * public counts. B4 is a section of client/doc/exact-privacy.md. */

#define LANES 8 /* trials evaluated together: their chains of products overlap */
#define LIMB_MASK ((uint64_t)INT64_MAX)

/* The public constants of a noise at a scale (B4). */
struct shape {
    const struct dpot_u128 *cdf; /* (n_cells - 1) */
    unsigned n_cells;            /* the last one contains everything beyond */
    unsigned fine_bits;          /* l: x = y 2^l + u */
    unsigned exponent;           /* m: accepted with probability e^(-e / 2^m) */
    unsigned n_bits;             /* n: bits of e */
    uint64_t is_square;          /* e = u or u (y 2^(l+1) + u) */
};

struct trials {
    uint64_t u_lo[LANES], u_hi[LANES], fine[LANES], accept[LANES]; /* the 32 bytes */
    uint64_t cell[LANES];                                          /* y */
    uint64_t e[LANES];
    uint64_t p[LANES];
};

static struct shape shape_of(enum dpot_noise noise, unsigned k)
{
    if (noise == DPOT_NOISE_LAPLACE) {
        return (struct shape){dpot_laplace_cdf, DPOT_LAPLACE_CDF_LEN + 1, k - 1, k, k - 1, 0};
    }
    return (struct shape){
        dpot_gaussian_cdf, DPOT_GAUSSIAN_CDF_LEN + 1, k - 2, 2 * k + 1, 2 * k + 3, 1};
}

static void load_trials(struct trials *trials, const uint8_t *bytes, size_t n)
{
    for (size_t t = 0; t < n; t++) {
        const uint8_t *next = bytes + t * DPOT_NOISE_TRIAL_LEN;
        trials->u_lo[t] = dpot_load_u64(next);
        trials->u_hi[t] = dpot_load_u64(next + 8);
        trials->fine[t] = dpot_load_u64(next + 16);
        trials->accept[t] = dpot_load_u64(next + 24);
    }
}

/* y = #{i : U >= cdf[i]}, reading all entries. Limbs of 63, 63 and 2 bits: the top bit of a
 * difference is its borrow. */
static void scan_cells(const struct shape *shape, struct trials *trials)
{
    uint64_t high[LANES], middle[LANES], low[LANES];
    for (size_t t = 0; t < LANES; t++) {
        high[t] = trials->u_hi[t] >> 1;
        middle[t] = (trials->u_hi[t] << 62 | trials->u_lo[t] >> 2) & LIMB_MASK;
        low[t] = trials->u_lo[t] & 3;
        trials->cell[t] = shape->n_cells - 1;
    }
    for (size_t i = 0; i + 1 < shape->n_cells; i++) {
        const struct dpot_u128 bound = shape->cdf[i];
        const uint64_t bound_high = bound.hi >> 1;
        const uint64_t bound_middle = (bound.hi << 62 | bound.lo >> 2) & LIMB_MASK;
        const uint64_t bound_low = bound.lo & 3;
        for (size_t t = 0; t < LANES; t++) {
            uint64_t borrow = (low[t] - bound_low) >> 63;
            borrow = (middle[t] - bound_middle - borrow) >> 63;
            trials->cell[t] -= (high[t] - bound_high - borrow) >> 63;
        }
    }
}

/* e < 2^51: x / t or x^2 / 2 sigma^2 is its value at the start of the cell plus e / 2^m. */
static void find_exponents(const struct shape *shape, struct trials *trials)
{
    const unsigned l = shape->fine_bits;
    const uint64_t fine_mask = ((uint64_t)1 << l) - 1;
    for (size_t t = 0; t < LANES; t++) {
        const uint64_t u = trials->fine[t] & fine_mask;
        const uint64_t slope = (trials->cell[t] << (l + 1)) + u;
        trials->e[t] = shape->is_square ? dpot_u64_mul(u, slope) : u;
    }
}

/* p = e^(-e / 2^m) in Q63: a factor per bit of e, low bits first, each product rounded down. */
static void find_thresholds(const struct shape *shape, struct trials *trials)
{
    for (size_t t = 0; t < LANES; t++) {
        trials->p[t] = (uint64_t)1 << 63;
    }
    for (unsigned i = 0; i < shape->n_bits; i++) {
        const uint64_t factor = dpot_exp_powers[1 + shape->exponent - i]; /* e^(-2^(i-m)) */
        for (size_t t = 0; t < LANES; t++) {
            const uint64_t mask = dpot_u64_mask(trials->e[t] >> i & 1);
            const uint64_t product = dpot_u128_mul(trials->p[t], factor).hi;
            trials->p[t] = dpot_u64_select(mask, product, trials->p[t]);
        }
    }
}

static void run_trials(const struct shape *shape, struct trials *trials)
{
    scan_cells(shape, trials);
    find_exponents(shape, trials);
    find_thresholds(shape, trials);
}

static struct dpot_noise_trial finish_trial(const struct shape *shape, const struct trials *trials,
                                            size_t t)
{
    const uint64_t fine = trials->fine[t], sign = dpot_u64_top_bit(fine);
    const uint64_t u = fine & (((uint64_t)1 << shape->fine_bits) - 1);
    const uint64_t x = (trials->cell[t] << shape->fine_bits) + u;
    const uint64_t is_zero = 1 ^ dpot_u64_nonzero(x);
    struct dpot_noise_trial trial = {
        .is_accepted = dpot_u64_less(trials->accept[t] >> 1, trials->p[t]) & (1 ^ (sign & is_zero)),
        .value = dpot_i64_with_sign(x, dpot_u64_mask(sign)),
        .threshold = trials->p[t],
    };
    return trial;
}

struct dpot_noise_trial dpot_noise_try(enum dpot_noise noise, unsigned k,
                                       const uint8_t bytes[DPOT_NOISE_TRIAL_LEN])
{
    const struct shape shape = shape_of(noise, k);
    struct trials trials = {.u_lo = {0}};
    load_trials(&trials, bytes, 1);
    run_trials(&shape, &trials);
    const struct dpot_noise_trial trial = finish_trial(&shape, &trials, 0);
    dpot_wipe(&trials, sizeof trials);
    return trial;
}

void dpot_noise_add(enum dpot_noise noise, unsigned k, struct dpot_rng *rng, int64_t *values,
                    size_t dim)
{
    const struct shape shape = shape_of(noise, k);
    struct trials trials = {.u_lo = {0}};
    uint8_t bytes[LANES * DPOT_NOISE_TRIAL_LEN];
    size_t done = 0;
    while (done < dim) {
        /* At most as many trials as coordinates are left: all are used, as if tried one by one, and
         * the stream stands where it would then. */
        const size_t n = dim - done < LANES ? dim - done : LANES;
        dpot_rng_bytes(rng, bytes, n * DPOT_NOISE_TRIAL_LEN);
        load_trials(&trials, bytes, n);
        run_trials(&shape, &trials);
        for (size_t t = 0; t < n; t++) {
            const struct dpot_noise_trial trial = finish_trial(&shape, &trials, t);
            uint64_t is_accepted = trial.is_accepted;
            DPOT_DECLASSIFY(is_accepted);
            values[done] += dpot_i64_and(trial.value, dpot_u64_mask(is_accepted));
            done += (size_t)is_accepted;
        }
    }
    dpot_wipe(bytes, sizeof bytes);
    dpot_wipe(&trials, sizeof trials);
}

int64_t dpot_noise_draw(enum dpot_noise noise, unsigned k, struct dpot_rng *rng)
{
    int64_t value = 0;
    dpot_noise_add(noise, k, rng, &value, 1);
    return value;
}

void dpot_noise_range(enum dpot_noise noise, unsigned k, int64_t lo, int64_t hi, int64_t *least,
                      int64_t *most)
{
    const struct shape shape = shape_of(noise, k);
    if (noise == DPOT_NOISE_LAPLACE) {
        const int64_t reach = ((int64_t)1 << (k + 5)) - 1; /* M - 1 */
        *least = hi - reach;
        *most = lo + reach;
    } else {
        const int64_t reach = ((int64_t)shape.n_cells << shape.fine_bits) - 1;
        *least = lo - reach;
        *most = hi + reach;
    }
}

void dpot_laplace_clamp(unsigned k, const struct dpot_vector_domain *vector, int64_t *values)
{
    for (uint32_t j = 0; j < vector->dim; j++) {
        int64_t least, most;
        dpot_noise_range(DPOT_NOISE_LAPLACE, k, dpot_vector_lo(vector, j),
                         dpot_vector_hi(vector, j), &least, &most);
        values[j] = dpot_i64_clamp(values[j], least, most);
    }
}
