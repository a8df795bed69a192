#include "golden.h"

#include "mechanism/gauss_certificate.h"
#include "mechanism/noise.h"
#include "mechanism/noise_tables.h"
#include "mechanism/sampler.h"
#include "portability.h"
#include "sha256.h"
#include "vectors.h" /* golden_words, generated from the JSON files */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_WORDS (sizeof golden_words / sizeof golden_words[0])

/* The reader of a case. */
static const uint64_t *next;

static uint64_t word(void)
{
    return *next++;
}

static const uint64_t *words(size_t n)
{
    const uint64_t *array = next;
    next += n;
    return array;
}

static bool is_same(const uint64_t *a, const uint64_t *b, size_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

static bool has_hash(const uint64_t *numbers, size_t n, const uint64_t expected[4])
{
    struct sha256 sha256;
    uint8_t hash[32];
    uint64_t difference = 0;
    sha256_init(&sha256);
    for (size_t i = 0; i < n; i++) {
        sha256_add_u64(&sha256, numbers[i]);
    }
    sha256_end(&sha256, hash);
    for (size_t i = 0; i < 32; i++) {
        difference |= hash[i] ^ (expected[i / 8] >> (56 - 8 * (i % 8)) & 0xff);
    }
    return difference == 0;
}

static bool check_exp_lower(void)
{
    const uint64_t epsilon_q32 = word();
    return dpot_exp_half_lower(epsilon_q32) == word();
}

/* A base measure and everything computed from it. */
struct polytope {
    uint64_t epsilon_q32;
    struct dpot_base_measure base_measure;
    uint64_t *lower, *upper, *fallback, *weights; /* (size) */
};

static struct polytope new_polytope(uint64_t epsilon_q32, uint64_t total, size_t size)
{
    struct polytope polytope = {epsilon_q32,
                                {(uint32_t)size, allocate(size, sizeof(uint32_t)), total},
                                allocate(size, sizeof(uint64_t)),
                                allocate(size, sizeof(uint64_t)),
                                allocate(size, sizeof(uint64_t)),
                                allocate(size, sizeof(uint64_t))};
    return polytope;
}

static void free_polytope(struct polytope *polytope)
{
    free(polytope->base_measure.mass_code);
    free(polytope->lower);
    free(polytope->upper);
    free(polytope->fallback);
    free(polytope->weights);
}

static dpot_status compute(struct polytope *polytope)
{
    const dpot_status status = dpot_bounds_compute(&polytope->base_measure, polytope->epsilon_q32,
                                                   polytope->lower, polytope->upper, NULL);
    if (status == DPOT_OK) {
        dpot_bounds_fallback(polytope->lower, polytope->upper, polytope->base_measure.size,
                             polytope->fallback);
    }
    return status;
}

static struct polytope read_polytope(void)
{
    const uint64_t epsilon_q32 = word(), total = word(), size = word();
    struct polytope polytope = new_polytope(epsilon_q32, total, (size_t)size);
    for (size_t j = 0; j < size; j++) {
        polytope.base_measure.mass_code[j] = (uint32_t)word();
    }
    return polytope;
}

static bool check_bounds(void)
{
    struct polytope polytope = read_polytope();
    const size_t size = polytope.base_measure.size;
    const uint64_t *lower = words(size), *upper = words(size), *fallback = words(size);
    const bool is_right = compute(&polytope) == DPOT_OK && is_same(polytope.lower, lower, size) &&
                          is_same(polytope.upper, upper, size) &&
                          is_same(polytope.fallback, fallback, size);
    free_polytope(&polytope);
    return is_right;
}

static bool check_big_bounds(void)
{
    const uint64_t epsilon_q32 = word(), total = word();
    const size_t size = (size_t)word();
    const bool is_spread = word() == 1;
    const uint64_t *lower = words(4), *upper = words(4), *fallback = words(4);
    struct polytope polytope = new_polytope(epsilon_q32, total, size);
    uint32_t *codes = polytope.base_measure.mass_code;
    for (size_t j = 0; j < size; j++) {
        codes[j] = is_spread ? (uint32_t)(1 + j * UINT64_C(2654435761) % UINT32_MAX) : 1;
    }
    codes[size - 1] = is_spread ? codes[size - 1] : UINT32_MAX;
    const bool is_right = compute(&polytope) == DPOT_OK && has_hash(polytope.lower, size, lower) &&
                          has_hash(polytope.upper, size, upper) &&
                          has_hash(polytope.fallback, size, fallback);
    free_polytope(&polytope);
    return is_right;
}

static bool check_refused(void)
{
    struct polytope polytope = read_polytope();
    const bool is_right = compute(&polytope) != DPOT_OK;
    free_polytope(&polytope);
    return is_right;
}

static bool check_round(void)
{
    struct polytope polytope = read_polytope();
    const size_t size = polytope.base_measure.size;
    double *q = allocate(size, sizeof *q);
    memcpy(q, words(size), size * sizeof *q);
    const uint64_t *weights = words(size);
    bool is_right = compute(&polytope) == DPOT_OK;
    if (is_right) {
        dpot_weights_round(q, polytope.lower, polytope.upper, size, polytope.weights);
        is_right = is_same(polytope.weights, weights, size);
    }
    free(q);
    free_polytope(&polytope);
    return is_right;
}

/* With the widest bounds, so that W is used and not the fallback. */
static bool check_draw(void)
{
    const size_t size = (size_t)word();
    const uint64_t *weights = words(size);
    const size_t n_draws = (size_t)word();
    struct polytope polytope = new_polytope(0, 0, size);
    bool is_right = true;
    for (size_t j = 0; j < size; j++) {
        polytope.upper[j] = DPOT_MASS_ONE;
    }
    polytope.fallback[size / 2] = DPOT_MASS_ONE;
    for (size_t i = 0; i < n_draws; i++) {
        const uint64_t random = word(), index = word();
        is_right = dpot_weights_draw(weights, polytope.lower, polytope.upper, polytope.fallback,
                                     size, random) == index &&
                   is_right;
    }
    free_polytope(&polytope);
    return is_right;
}

static bool check_trial(void)
{
    const enum dpot_noise noise = word() == 0 ? DPOT_NOISE_LAPLACE : DPOT_NOISE_GAUSSIAN;
    const unsigned k = (unsigned)word();
    uint8_t bytes[DPOT_NOISE_TRIAL_LEN];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(next[i / 8] >> 8 * (i % 8));
    }
    next += 4;
    const uint64_t is_accepted = word(), value = word(), threshold = word();
    const struct dpot_noise_trial trial = dpot_noise_try(noise, k, bytes);
    return trial.is_accepted == is_accepted && trial.threshold == threshold &&
           (is_accepted == 0 || (uint64_t)trial.value == value);
}

static bool check_certificate(void)
{
    const uint64_t *expected = words(5);
    for (uint32_t i = 1; i <= dpot_gauss_row_count(); i++) {
        struct dpot_gauss_row row;
        if (dpot_gauss_row(i, &row) == DPOT_OK && row.epsilon_q32 == expected[0] &&
            row.delta_q64 == expected[1]) {
            return row.mu2_q40 == expected[2] && row.c == expected[3] && row.d_max == expected[4];
        }
    }
    return false;
}

static bool check_table(void)
{
    static const struct dpot_u128 *const wide[] = {dpot_laplace_cdf, dpot_gaussian_cdf};
    static const size_t lens[] = {DPOT_LAPLACE_CDF_LEN, DPOT_GAUSSIAN_CDF_LEN, DPOT_EXP_POWERS_LEN};
    uint64_t low_first[2 * DPOT_LAPLACE_CDF_LEN] = {0};
    const size_t table = (size_t)word(), n = (size_t)word(), halves = table < 2 ? 2 : 1;
    bool is_right = table < 3 && n == lens[table];
    for (size_t i = 0; is_right && i < n; i++) {
        low_first[halves * i] = table < 2 ? wide[table][i].lo : dpot_exp_powers[i];
        if (table < 2) {
            low_first[2 * i + 1] = wide[table][i].hi;
        }
        is_right = low_first[halves * i] == next[halves * (i + 1) - 1] &&
                   low_first[halves * (i + 1) - 1] == next[halves * i];
    }
    next += halves * n;
    return has_hash(low_first, halves * n, words(4)) && is_right;
}

static const struct {
    const char *name;
    bool (*check)(void);
} kinds[GOLDEN_KINDS] = {
    [GOLDEN_EXP_LOWER] = {"exp_lower", check_exp_lower},
    [GOLDEN_BOUNDS] = {"wpm_bounds", check_bounds},
    [GOLDEN_BIG_BOUNDS] = {"wpm_bounds.big", check_big_bounds},
    [GOLDEN_REFUSED] = {"wpm_bounds.must_reject", check_refused},
    [GOLDEN_ROUND] = {"wpm_round", check_round},
    [GOLDEN_DRAW] = {"wpm_draw", check_draw},
    [GOLDEN_TRIAL] = {"noise_trials", check_trial},
    [GOLDEN_CERTIFICATE] = {"gauss_cert", check_certificate},
    [GOLDEN_TABLE] = {"tables", check_table},
};

unsigned golden_check(void)
{
    unsigned n_cases[GOLDEN_KINDS] = {0}, n_right[GOLDEN_KINDS] = {0}, n_wrong = 0;
    next = golden_words;
    while (next < golden_words + N_WORDS) {
        const uint64_t kind = word();
        if (kind == 0 || kind >= GOLDEN_KINDS) {
            (void)printf("golden: kind %u is unknown\n", (unsigned)kind);
            return 1;
        }
        n_cases[kind]++;
        n_right[kind] += kinds[kind].check();
    }
    for (size_t kind = 1; kind < GOLDEN_KINDS; kind++) {
        (void)printf("golden %s: %u of %u\n", kinds[kind].name, n_right[kind], n_cases[kind]);
        n_wrong += n_cases[kind] - n_right[kind];
    }
    return n_wrong;
}
