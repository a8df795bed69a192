#include "base/crypto.h"

#include <criterion/criterion.h>
#include <string.h>

static const char prefix[] = "dpot.test.v1";

static void start(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    cr_assert_eq(dpot_init(), DPOT_OK, "starting twice is allowed");
}

TestSuite(crypto, .init = start);

Test(crypto, hash_is_blake2b_256)
{
    uint8_t hash[DPOT_HASH_LEN];
    char text[2 * DPOT_HASH_LEN + 1];
    dpot_hash(hash, "abc", 3);
    dpot_hex_encode(text, hash, sizeof hash);
    cr_assert_str_eq(text, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

Test(crypto, bytes_in_pieces_have_the_hash_of_the_whole)
{
    uint8_t data[700], whole[DPOT_HASH_LEN], pieces[DPOT_HASH_LEN];
    struct dpot_hasher hasher;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)(i * 7);
    }
    for (size_t step = 1; step < 300; step += 37) {
        dpot_hash(whole, data, sizeof data);
        dpot_hasher_init(&hasher);
        for (size_t at = 0; at < sizeof data; at += step) {
            dpot_hasher_add(&hasher, data + at, at + step < sizeof data ? step : sizeof data - at);
        }
        dpot_hasher_end(&hasher, pieces);
        cr_assert_arr_eq(pieces, whole, sizeof whole);
    }
    dpot_hash(whole, data, 0);
    dpot_hasher_init(&hasher);
    dpot_hasher_end(&hasher, pieces);
    cr_assert_arr_eq(pieces, whole, sizeof whole);
}

Test(crypto, a_keyed_hash_depends_on_its_key)
{
    uint8_t key[32] = {1}, other[32] = {2}, a[DPOT_HASH_LEN], b[DPOT_HASH_LEN];
    dpot_hash_keyed(a, key, sizeof key, "abc", 3);
    dpot_hash_keyed(b, other, sizeof other, "abc", 3);
    cr_assert_not(dpot_secret_equal(a, b, sizeof a));
    dpot_hash_keyed(b, key, sizeof key, "abc", 3);
    cr_assert(dpot_secret_equal(a, b, sizeof a));
}

Test(crypto, hex_comes_back_in_either_case_and_garbage_is_refused)
{
    const uint8_t bytes[4] = {0x00, 0xff, 0x1a, 0xb0};
    uint8_t again[4] = {0};
    char text[9];
    dpot_hex_encode(text, bytes, sizeof bytes);
    cr_assert_str_eq(text, "00ff1ab0");
    cr_assert_eq(dpot_hex_decode("00FF1aB0", again, sizeof again), DPOT_OK);
    cr_assert_eq(memcmp(bytes, again, sizeof bytes), 0);
    static const char *const refused[] = {"",         "00ff1ab",   "00ff1ab00", "00ff1ab0 ",
                                          "00ff1abg", "00 ff1ab0", "0x0ff1ab"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        cr_assert_eq(dpot_hex_decode(refused[i], again, sizeof again), DPOT_ERR_MALFORMED, "'%s'",
                     refused[i]);
    }
}

Test(crypto, a_signature_holds_for_its_message_prefix_and_key_only)
{
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN], secret_key[DPOT_SIGN_SECRET_LEN];
    uint8_t other_key[DPOT_SIGN_PUBLIC_LEN], signature[DPOT_SIGNATURE_LEN];
    uint8_t message[40] = {1, 2, 3};
    dpot_sign_keypair(other_key, secret_key);
    dpot_sign_keypair(public_key, secret_key);
    cr_assert_eq(dpot_sign(signature, prefix, sizeof prefix, message, sizeof message, secret_key),
                 DPOT_OK);
    cr_assert_eq(
        dpot_sign_check(signature, prefix, sizeof prefix, message, sizeof message, public_key),
        DPOT_OK);
    cr_assert_eq(
        dpot_sign_check(signature, prefix, sizeof prefix, message, sizeof message, other_key),
        DPOT_ERR_SIGNATURE);
    cr_assert_eq(dpot_sign_check(signature, "dpot.other.1", sizeof prefix, message, 40, public_key),
                 DPOT_ERR_SIGNATURE);
    cr_assert_eq(dpot_sign_check(signature, prefix, sizeof prefix, message, 39, public_key),
                 DPOT_ERR_SIGNATURE);
    for (size_t i = 0; i < sizeof message; i++) {
        message[i] ^= 0x80;
        cr_assert_eq(dpot_sign_check(signature, prefix, sizeof prefix, message, 40, public_key),
                     DPOT_ERR_SIGNATURE);
        message[i] ^= 0x80;
    }
    for (size_t i = 0; i < sizeof signature; i++) {
        signature[i] ^= 1;
        cr_assert_eq(dpot_sign_check(signature, prefix, sizeof prefix, message, 40, public_key),
                     DPOT_ERR_SIGNATURE);
        signature[i] ^= 1;
    }
}

Test(crypto, the_public_half_of_a_secret_key_is_the_one_it_was_made_with)
{
    uint8_t sign_public[DPOT_SIGN_PUBLIC_LEN], sign_secret[DPOT_SIGN_SECRET_LEN];
    uint8_t seal_public[DPOT_SEAL_PUBLIC_LEN], seal_secret[DPOT_SEAL_SECRET_LEN];
    uint8_t again[32];
    dpot_sign_keypair(sign_public, sign_secret);
    dpot_sign_public(sign_secret, again);
    cr_assert_eq(memcmp(again, sign_public, sizeof again), 0);
    dpot_seal_keypair(seal_public, seal_secret);
    dpot_seal_public(seal_secret, again);
    cr_assert_eq(memcmp(again, seal_public, sizeof again), 0);
}

Test(crypto, an_empty_message_can_be_signed_and_sealed)
{
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN], secret_key[DPOT_SIGN_SECRET_LEN];
    uint8_t signature[DPOT_SIGNATURE_LEN], box[DPOT_SEAL_OVERHEAD], nothing[1];
    dpot_sign_keypair(public_key, secret_key);
    cr_assert_eq(dpot_sign(signature, prefix, sizeof prefix, NULL, 0, secret_key), DPOT_OK);
    cr_assert_eq(dpot_sign_check(signature, prefix, sizeof prefix, NULL, 0, public_key), DPOT_OK);
    dpot_seal_keypair(public_key, secret_key);
    cr_assert_eq(dpot_seal(box, nothing, 0, public_key), DPOT_OK);
    cr_assert_eq(dpot_seal_open(nothing, box, sizeof box, public_key, secret_key), DPOT_OK);
}

Test(crypto, a_sealed_box_opens_for_its_key_and_only_unaltered)
{
    uint8_t public_key[DPOT_SEAL_PUBLIC_LEN], secret_key[DPOT_SEAL_SECRET_LEN];
    uint8_t other_public[DPOT_SEAL_PUBLIC_LEN], other_secret[DPOT_SEAL_SECRET_LEN];
    uint8_t content[20] = "twenty bytes inside", again[20];
    uint8_t box[sizeof content + DPOT_SEAL_OVERHEAD];
    dpot_seal_keypair(public_key, secret_key);
    dpot_seal_keypair(other_public, other_secret);
    cr_assert_eq(dpot_seal(box, content, sizeof content, public_key), DPOT_OK);
    cr_assert_eq(dpot_seal_open(again, box, sizeof box, public_key, secret_key), DPOT_OK);
    cr_assert_eq(memcmp(again, content, sizeof content), 0);
    cr_assert_eq(dpot_seal_open(again, box, sizeof box, other_public, other_secret),
                 DPOT_ERR_SIGNATURE);
    for (size_t len = 0; len < sizeof box; len++) {
        cr_assert_eq(dpot_seal_open(again, box, len, public_key, secret_key), DPOT_ERR_SIGNATURE);
    }
    for (size_t i = 0; i < sizeof box; i++) {
        box[i] ^= 4;
        cr_assert_eq(dpot_seal_open(again, box, sizeof box, public_key, secret_key),
                     DPOT_ERR_SIGNATURE);
        box[i] ^= 4;
    }
}

Test(crypto, sealing_twice_gives_different_boxes)
{
    uint8_t public_key[DPOT_SEAL_PUBLIC_LEN], secret_key[DPOT_SEAL_SECRET_LEN];
    uint8_t a[1 + DPOT_SEAL_OVERHEAD], b[1 + DPOT_SEAL_OVERHEAD];
    dpot_seal_keypair(public_key, secret_key);
    cr_assert_eq(dpot_seal(a, "x", 1, public_key), DPOT_OK);
    cr_assert_eq(dpot_seal(b, "x", 1, public_key), DPOT_OK);
    cr_assert_neq(memcmp(a, b, sizeof a), 0);
}

Test(crypto, a_degenerate_public_key_is_refused)
{
    const uint8_t zero[DPOT_SEAL_PUBLIC_LEN] = {0};
    uint8_t box[1 + DPOT_SEAL_OVERHEAD];
    cr_assert_eq(dpot_seal(box, "x", 1, zero), DPOT_ERR_ARGUMENT);
}

Test(crypto, wiping_leaves_zeros_and_random_bytes_differ)
{
    uint8_t a[32], b[32];
    const uint8_t zeros[32] = {0};
    dpot_random_bytes(a, sizeof a);
    dpot_random_bytes(b, sizeof b);
    cr_assert_not(dpot_secret_equal(a, b, sizeof a));
    dpot_wipe(a, sizeof a);
    cr_assert_eq(memcmp(a, zeros, sizeof a), 0);
}
