#include "base/buf.h"
#include "base/crypto.h"
#include "base/rng_seeded.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <string.h>

static void start(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
}

TestSuite(rng, .init = start);

static void fill_stream(const struct dpot_rng_source *source, uint8_t *out, size_t len)
{
    struct dpot_rng rng;
    dpot_rng_init(&rng, source);
    dpot_rng_bytes(&rng, out, len);
    dpot_rng_release(&rng);
}

Test(rng, the_stream_is_chacha20_with_fast_key_erasure)
{
    uint8_t key[DPOT_RNG_KEY_LEN], block[DPOT_RNG_BLOCK_LEN], expected[2 * 992], stream[2 * 992];
    const uint8_t nonce[crypto_stream_chacha20_NONCEBYTES] = {0};
    for (size_t i = 0; i < sizeof key; i++) {
        key[i] = (uint8_t)(3 * i + 1);
    }
    struct dpot_rng_replay replay;
    dpot_rng_replay_init(&replay, key, sizeof key);
    fill_stream(&replay.source, stream, sizeof stream);
    for (size_t i = 0; i < 2; i++) {
        (void)crypto_stream_chacha20(block, sizeof block, nonce, key);
        memcpy(key, block, sizeof key);
        memcpy(expected + 992 * i, block + DPOT_RNG_KEY_LEN, 992);
    }
    cr_assert_eq(memcmp(stream, expected, sizeof stream), 0);
}

Test(rng, a_replayed_key_gives_the_same_stream_in_pieces_of_any_size)
{
    const uint8_t key[DPOT_RNG_KEY_LEN] = {9, 9, 9};
    uint8_t whole[5000], pieces[5000];
    struct dpot_rng_replay replay;
    dpot_rng_replay_init(&replay, key, sizeof key);
    fill_stream(&replay.source, whole, sizeof whole);
    struct dpot_rng rng;
    dpot_rng_replay_init(&replay, key, sizeof key);
    dpot_rng_init(&rng, &replay.source);
    for (size_t used = 0, n = 1; used < sizeof pieces; used += n, n = n % 61 + 1) {
        n = n < sizeof pieces - used ? n : sizeof pieces - used;
        dpot_rng_bytes(&rng, pieces + used, n);
    }
    dpot_rng_release(&rng);
    cr_assert_eq(memcmp(whole, pieces, sizeof whole), 0);
}

Test(rng, a_u64_is_the_next_eight_bytes_little_endian)
{
    const uint8_t key[DPOT_RNG_KEY_LEN] = {1};
    uint8_t bytes[16];
    struct dpot_rng_replay replay;
    dpot_rng_replay_init(&replay, key, sizeof key);
    fill_stream(&replay.source, bytes, sizeof bytes);
    struct dpot_rng rng;
    dpot_rng_replay_init(&replay, key, sizeof key);
    dpot_rng_init(&rng, &replay.source);
    cr_assert_eq(dpot_rng_u64(&rng), dpot_load_u64(bytes));
    cr_assert_eq(dpot_rng_u64(&rng), dpot_load_u64(bytes + 8));
    dpot_rng_release(&rng);
}

Test(rng, used_bytes_and_a_released_stream_are_wiped)
{
    struct dpot_rng rng;
    uint8_t out[200];
    dpot_rng_init(&rng, &dpot_rng_source_sodium);
    dpot_rng_bytes(&rng, out, sizeof out);
    for (size_t i = 0; i < rng.used; i++) {
        cr_assert_eq(rng.block[i], 0);
    }
    dpot_rng_release(&rng);
    const struct dpot_rng zeroed = {0};
    cr_assert_eq(memcmp(rng.key, zeroed.key, sizeof rng.key), 0);
    cr_assert_eq(memcmp(rng.block, zeroed.block, sizeof rng.block), 0);
}

Test(rng, seeds_and_streams_each_give_their_own_sequence)
{
    uint8_t outputs[9][64];
    for (uint64_t i = 0; i < 9; i++) {
        struct dpot_rng_seeded seeded;
        dpot_rng_seeded_init(&seeded, i / 3, i % 3);
        fill_stream(&seeded.source, outputs[i], 64);
        for (uint64_t j = 0; j < i; j++) {
            cr_assert_neq(memcmp(outputs[i], outputs[j], 64), 0);
        }
    }
}

Test(rng, a_seeded_source_repeats_itself_and_moves_on_from_call_to_call)
{
    struct dpot_rng_seeded a, b;
    uint8_t first[32], second[32], again[32];
    dpot_rng_seeded_init(&a, 5, 7);
    dpot_rng_seeded_init(&b, 5, 7);
    fill_stream(&a.source, first, sizeof first);
    fill_stream(&a.source, second, sizeof second);
    cr_assert_neq(memcmp(first, second, sizeof first), 0);
    fill_stream(&b.source, again, sizeof again);
    cr_assert_eq(memcmp(first, again, sizeof first), 0);
    fill_stream(&b.source, again, sizeof again);
    cr_assert_eq(memcmp(second, again, sizeof second), 0);
}

Test(rng, only_the_seeded_sources_are_marked_as_test)
{
    struct dpot_rng_seeded seeded;
    struct dpot_rng_replay replay;
    dpot_rng_seeded_init(&seeded, 1, 1);
    dpot_rng_replay_init(&replay, NULL, 0);
    cr_assert(seeded.source.is_test);
    cr_assert(replay.source.is_test);
    cr_assert_not(dpot_rng_source_sodium.is_test);
    cr_assert_str_eq(dpot_insecure_test_rng_linked, "dpot: INSECURE TEST RNG LINKED");
}

Test(rng, two_real_streams_differ)
{
    uint8_t a[64], b[64];
    fill_stream(&dpot_rng_source_sodium, a, sizeof a);
    fill_stream(&dpot_rng_source_sodium, b, sizeof b);
    cr_assert_neq(memcmp(a, b, sizeof a), 0);
}

Test(rng, an_exhausted_replay_goes_on_with_zeros)
{
    const uint8_t data[2] = {1, 2};
    uint8_t out[4] = {9, 9, 9, 9};
    const uint8_t expected[4] = {1, 2, 0, 0};
    struct dpot_rng_replay replay;
    dpot_rng_replay_init(&replay, data, sizeof data);
    replay.source.fill(replay.source.ctx, out, sizeof out);
    cr_assert_eq(memcmp(out, expected, sizeof out), 0);
}
