/* Runs under valgrind, as constant_time.c: data, noise and random bytes are marked undefined, so
 * that memcheck reports every branch and address that depends on them. Of a trial only the accept
 * bit is declared public (noise.c is compiled with declassify.h), of a release only the result.
 * With an argument the same is done to broken twins that branch, which must be reported. */
#include "mechanism/noise.h"
#include "mechanism/noise_tables.h"
#include "mechanism/quantize.h"

#include <stdio.h>
#include <string.h>
#include <valgrind/memcheck.h>

#define DIM 37

static void fill(void *ctx, void *out, size_t len)
{
    unsigned char *next = out;
    unsigned *state = ctx;
    for (size_t i = 0; i < len; i++) {
        *state = *state * 1664525u + 1013904223u;
        next[i] = (unsigned char)(*state >> 24);
    }
}

/* An rng whose future bytes are all undefined. */
static void make_secret_rng(struct dpot_rng *rng, unsigned *state)
{
    const struct dpot_rng_source source = {fill, state, true};
    dpot_rng_init(rng, &source);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(rng->key, sizeof rng->key);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(rng->block, sizeof rng->block);
}

/* Broken twin: searches the cell and returns when it is found. */
static int64_t scan_with_break(const uint8_t bytes[DPOT_NOISE_TRIAL_LEN])
{
    struct dpot_u128 u;
    int64_t y = 0;
    memcpy(&u.lo, bytes, 8);
    memcpy(&u.hi, bytes + 8, 8);
    while (y < DPOT_LAPLACE_CDF_LEN && !dpot_u128_less(u, dpot_laplace_cdf[y])) {
        y++;
    }
    return y;
}

static int64_t try_secret_bytes(enum dpot_noise noise, unsigned k, unsigned *state, bool is_twin)
{
    uint8_t bytes[DPOT_NOISE_TRIAL_LEN];
    fill(state, bytes, sizeof bytes);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(bytes, sizeof bytes);
    struct dpot_noise_trial trial = dpot_noise_try(noise, k, bytes);
    int64_t value = is_twin ? scan_with_break(bytes) : trial.value;
    (void)VALGRIND_MAKE_MEM_DEFINED(&value, sizeof value);
    return value;
}

static void fill_data(double *x, unsigned kind)
{
    for (size_t j = 0; j < DIM; j++) {
        x[j] = kind == 0 ? 0 : kind == 1 ? 1e6 * (double)j : (j % 2 ? -1 : 1) * 3.7;
    }
    const uint64_t nan_bits = UINT64_C(0xfff8000000000001), inf_bits = UINT64_C(0x7ff) << 52;
    if (kind == 2) {
        memcpy(&x[7], &nan_bits, sizeof nan_bits);
        memcpy(&x[8], &inf_bits, sizeof inf_bits);
        x[9] = 5e-324;
        x[10] = -1e300;
    }
}

/* The whole release of one vector: quantise, enforce the set, add noise, clamp. */
static int64_t release(const struct dpot_vector_domain *vector, enum dpot_noise noise, unsigned k,
                       unsigned kind, unsigned *state)
{
    struct dpot_rng rng;
    double x[DIM];
    int64_t values[DIM], sum = 0;
    fill_data(x, kind);
    make_secret_rng(&rng, state);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(x, sizeof x);
    dpot_quantize(vector, x, values);
    dpot_noise_add(noise, k, &rng, values, DIM);
    values[0] += dpot_noise_draw(noise, k, &rng);
    if (noise == DPOT_NOISE_LAPLACE) {
        dpot_laplace_clamp(k, vector, values);
    }
    (void)VALGRIND_MAKE_MEM_DEFINED(values, sizeof values);
    dpot_rng_release(&rng);
    for (size_t j = 0; j < DIM; j++) {
        sum += values[j];
    }
    return sum;
}

int main(int argc, char **argv)
{
    (void)argv;
    int64_t lo = -100, hi = 900;
    const struct dpot_vector_domain sets[] = {
        {.set = DPOT_VECTOR_BOX,
         .dim = DIM,
         .n_sides = 1,
         .lo = &lo,
         .hi = &hi,
         .inverse_step = 10},
        {.set = DPOT_VECTOR_L1_BALL, .dim = DIM, .radius = 1000, .inverse_step = 10},
        {.set = DPOT_VECTOR_L2_BALL, .dim = DIM, .radius = 1000, .inverse_step = 10},
    };
    unsigned state = 4711;
    for (size_t i = 0; i < 3; i++) {
        for (unsigned kind = 0; kind < 3; kind++) {
            for (unsigned k = 8; k <= 22; k += 7) {
                (void)printf("laplace %lld, gaussian %lld\n",
                             (long long)release(&sets[i], DPOT_NOISE_LAPLACE, k, kind, &state),
                             (long long)release(&sets[i], DPOT_NOISE_GAUSSIAN, k, kind, &state));
            }
        }
    }
    for (unsigned k = 2; k <= 24; k++) {
        (void)printf("trial %lld, %lld\n",
                     (long long)try_secret_bytes(DPOT_NOISE_LAPLACE, k, &state, argc > 1),
                     (long long)try_secret_bytes(DPOT_NOISE_GAUSSIAN, k, &state, argc > 1));
    }
    return 0;
}
