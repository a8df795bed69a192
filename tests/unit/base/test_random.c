/* The hook of randomness, as a build without POSIX has it. */
#include "base/crypto.h"
#include "base/rng.h"
#include "dpot/hooks.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(random);

/* A good source: the ChaCha20 stream of a counter. */
static dpot_status fill_well(void *ctx, void *out, size_t len)
{
    static const uint8_t key[DPOT_STREAM_KEY_LEN] = {7};
    uint64_t *n_draws = ctx;
    dpot_stream(out, len, key, (*n_draws)++, 0);
    return DPOT_OK;
}

static uint64_t n_draws;

Test(random, nothing_starts_without_a_source)
{
    struct dpot_error error;
    cr_assert_eq(dpot_init(), DPOT_ERR_RANDOM);
    cr_assert_eq(dpot_random_check(&error), DPOT_ERR_RANDOM);
    cr_assert_not_null(strstr(error.text, "call dpot_random_set first"), "%s", error.text);
    cr_assert_eq(dpot_random_set(NULL, NULL), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_init(), DPOT_ERR_RANDOM);
}

Test(random, a_good_source_supplies_noise_ids_and_seals)
{
    uint8_t bytes[32], public_key[DPOT_SEAL_PUBLIC_LEN], secret_key[DPOT_SEAL_SECRET_LEN];
    uint8_t sealed[DPOT_SEAL_OVERHEAD + 1];
    cr_assert_eq(dpot_random_set(fill_well, &n_draws), DPOT_OK);
    cr_assert_eq(dpot_init(), DPOT_OK);
    uint64_t before = n_draws;
    dpot_random_bytes(bytes, sizeof bytes);
    cr_assert_eq(n_draws, before + 1);
    dpot_rng_source_sodium.fill(dpot_rng_source_sodium.ctx, bytes, sizeof bytes);
    cr_assert_eq(n_draws, before + 2);
    dpot_seal_keypair(public_key, secret_key);
    before = n_draws;
    cr_assert_eq(dpot_seal(sealed, "x", 1, public_key), DPOT_OK);
    cr_assert_gt(n_draws, before);
    cr_assert_eq(dpot_random_check(NULL), DPOT_OK);
}

/* ---- sources that are none ---- */

static dpot_status fill_never(void *ctx, void *out, size_t len)
{
    (void)ctx;
    (void)out;
    (void)len;
    return DPOT_OK;
}

static dpot_status fail(void *ctx, void *out, size_t len)
{
    (void)fill_well(ctx, out, len);
    return DPOT_ERR_IO;
}

static dpot_status fill_with_a_stuck_bit(void *ctx, void *out, size_t len)
{
    (void)fill_well(ctx, out, len);
    for (size_t i = 2; i < len; i += 4) {
        ((uint8_t *)out)[i] |= 0x10;
    }
    return DPOT_OK;
}

static dpot_status fill_with_a_counter(void *ctx, void *out, size_t len)
{
    uint64_t *n = ctx;
    for (size_t i = 0; i < len; i++) {
        ((uint8_t *)out)[i] = (uint8_t)(*n)++;
    }
    return DPOT_OK;
}

static dpot_status fill_the_same(void *ctx, void *out, size_t len)
{
    uint64_t zero = 0;
    (void)ctx;
    return fill_well(&zero, out, len);
}

static dpot_status fill_a_half(void *ctx, void *out, size_t len)
{
    return fill_well(ctx, out, len / 2);
}

/* Each byte is the and of two: a quarter of the bits are ones. */
static dpot_status fill_with_a_bias(void *ctx, void *out, size_t len)
{
    uint8_t more[512];
    (void)fill_well(ctx, out, len);
    (void)fill_well(ctx, more, len);
    for (size_t i = 0; i < len; i++) {
        ((uint8_t *)out)[i] &= more[i];
    }
    return DPOT_OK;
}

Test(random, sources_that_are_plainly_not_random_are_refused)
{
    static dpot_random_fill *const fills[] = {
        fill_never,    fail,        fill_with_a_stuck_bit, fill_with_a_counter,
        fill_the_same, fill_a_half, fill_with_a_bias};
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        uint64_t n = 0;
        cr_assert_eq(dpot_random_set(fills[i], &n), DPOT_ERR_RANDOM, "source %zu", i);
        cr_assert_eq(dpot_init(), DPOT_ERR_RANDOM, "source %zu", i);
    }
    cr_assert_eq(dpot_random_set(fill_well, &n_draws), DPOT_OK, "and a good one is taken");
    cr_assert_eq(dpot_init(), DPOT_OK);
}

Test(random, a_good_source_is_never_refused)
{
    for (size_t i = 0; i < 10000; i++) {
        cr_assert_eq(dpot_random_set(fill_well, &n_draws), DPOT_OK, "draw %zu", i);
    }
}

/* ---- sources that fail later ---- */

static bool fails, repeats;

static dpot_status fill_as_told(void *ctx, void *out, size_t len)
{
    const dpot_status status = repeats ? fill_the_same(ctx, out, len) : fill_well(ctx, out, len);
    return fails ? DPOT_ERR_IO : status;
}

static void assert_stopped(void)
{
    struct dpot_error error;
    uint8_t bytes[32];
    cr_assert_eq(dpot_random_check(&error), DPOT_ERR_RANDOM);
    cr_assert_not_null(strstr(error.text, "has failed or repeats itself"), "%s", error.text);
    fails = repeats = false;
    dpot_random_bytes(bytes, sizeof bytes);
    cr_assert_eq(dpot_random_check(NULL), DPOT_ERR_RANDOM, "it does not recover by itself");
    cr_assert_eq(dpot_random_set(fill_as_told, &n_draws), DPOT_OK);
    cr_assert_eq(dpot_random_check(NULL), DPOT_OK);
}

Test(random, a_source_that_fails_or_repeats_itself_later_stops_everything)
{
    uint8_t bytes[32];
    cr_assert_eq(dpot_random_set(fill_as_told, &n_draws), DPOT_OK);
    fails = true;
    dpot_random_bytes(bytes, sizeof bytes);
    assert_stopped();
    repeats = true;
    dpot_random_bytes(bytes, sizeof bytes);
    dpot_random_bytes(bytes, sizeof bytes);
    assert_stopped();
    fails = true;
    dpot_random_bytes(bytes, 1);
    assert_stopped();
}
