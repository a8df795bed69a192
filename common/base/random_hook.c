/* The source of randomness that an embedder supplies where the system has none. libsodium draws
 * from it, and so does all else. */
#include "base/crypto.h"
#include "dpot/hooks.h"

#if DPOT_WITH_POSIX

dpot_status dpot_random_check(struct dpot_error *error)
{
    (void)error;
    return DPOT_OK;
}

dpot_status dpot_random_set(dpot_random_fill *fill, void *ctx)
{
    (void)ctx;
    return fill ? DPOT_ERR_STATE : DPOT_ERR_ARGUMENT;
}

#else

#include <sodium.h>
#include <string.h>

#define BLOCK_LEN 16
#define SAMPLE_LEN 256

static struct {
    dpot_random_fill *fill;
    void *ctx;
    bool has_failed;
    uint8_t last[BLOCK_LEN]; /* the first bytes of the last draw that had as many */
} source;

static bool draw(void *out, size_t len)
{
    memset(out, 0, len);
    return source.fill(source.ctx, out, len) == DPOT_OK;
}

/* ---- the check of a new source: 512 bytes, false alarms below 2^-64 ---- */

static uint32_t load_word(const uint8_t *bytes, size_t i)
{
    uint32_t word = 0;
    memcpy(&word, bytes + 4 * i, sizeof word);
    return word;
}

/* A bit of all 32-bit words that is always the same: 2^-122. */
static bool has_stuck_bit(const uint8_t sample[2 * SAMPLE_LEN])
{
    uint32_t all = UINT32_MAX, any = 0;
    for (size_t i = 0; i < 2 * SAMPLE_LEN / 4; i++) {
        all &= load_word(sample, i);
        any |= load_word(sample, i);
    }
    return all != 0 || any != UINT32_MAX;
}

/* Ones of 4,096 bits, ten standard deviations off: 2^-71 (Hoeffding). */
static bool is_biased(const uint8_t sample[2 * SAMPLE_LEN])
{
    const unsigned expected = 2 * SAMPLE_LEN * 4, tolerance = 320;
    unsigned n_ones = 0;
    for (size_t i = 0; i < 2 * SAMPLE_LEN * 8; i++) {
        n_ones += (unsigned)sample[i / 8] >> i % 8 & 1u;
    }
    return n_ones < expected - tolerance || n_ones > expected + tolerance;
}

/* The same 16 bytes twice: 2^-119. Equal draws are a case of it. */
static bool has_repetition(const uint8_t sample[2 * SAMPLE_LEN])
{
    for (size_t i = 0; i < 2 * SAMPLE_LEN; i += BLOCK_LEN) {
        for (size_t j = 0; j < i; j += BLOCK_LEN) {
            if (memcmp(sample + i, sample + j, BLOCK_LEN) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_plausible(void)
{
    uint8_t sample[2 * SAMPLE_LEN];
    const bool is_plausible = draw(sample, SAMPLE_LEN) && draw(sample + SAMPLE_LEN, SAMPLE_LEN) &&
                              !has_stuck_bit(sample) && !is_biased(sample) &&
                              !has_repetition(sample);
    dpot_wipe(sample, sizeof sample);
    return is_plausible;
}

/* ---- libsodium's source ---- */

/* A failure cannot be returned from here: dpot_random_check tells it. */
static void fill_checked(void *const out, const size_t len)
{
    if (!source.fill || source.has_failed || !draw(out, len)) {
        source.has_failed = true;
        memset(out, 0, len);
    } else if (len >= BLOCK_LEN) {
        source.has_failed = memcmp(source.last, out, BLOCK_LEN) == 0;
        memcpy(source.last, out, BLOCK_LEN);
    }
}

static uint32_t draw_word(void)
{
    uint32_t word = 0;
    fill_checked(&word, sizeof word);
    return word;
}

static const char *name(void)
{
    return "dpot_random_set";
}

static struct randombytes_implementation implementation = {
    .implementation_name = name, .random = draw_word, .buf = fill_checked};

dpot_status dpot_random_check(struct dpot_error *error)
{
    if (source.fill && !source.has_failed) {
        return DPOT_OK;
    }
    return dpot_error_set(error, DPOT_ERR_RANDOM,
                          source.fill
                              ? "the source of dpot_random_set has failed or repeats itself: "
                                "nothing is reported until a good one is set"
                              : "this libdpot was built without POSIX and has no source of "
                                "randomness: call dpot_random_set first");
}

dpot_status dpot_random_set(dpot_random_fill *fill, void *ctx)
{
    if (!fill) {
        return DPOT_ERR_ARGUMENT;
    }
    source.fill = fill;
    source.ctx = ctx;
    source.has_failed = !is_plausible();
    return !source.has_failed && randombytes_set_implementation(&implementation) == 0
               ? DPOT_OK
               : DPOT_ERR_RANDOM;
}

#endif
