#include "base/crypto.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

dpot_status dpot_init(void)
{
    const dpot_status status = dpot_random_check(NULL);
    return status == DPOT_OK && sodium_init() < 0 ? DPOT_ERR_RANDOM : status;
}

void dpot_wipe(void *data, size_t len)
{
    sodium_memzero(data, len);
}

bool dpot_secret_equal(const void *a, const void *b, size_t len)
{
    return sodium_memcmp(a, b, len) == 0;
}

void dpot_random_bytes(void *out, size_t len)
{
    randombytes_buf(out, len);
}

void dpot_hash(uint8_t out[DPOT_HASH_LEN], const void *data, size_t len)
{
    (void)crypto_generichash(out, DPOT_HASH_LEN, data, len, NULL, 0);
}

void dpot_hash_keyed(uint8_t out[DPOT_HASH_LEN], const void *key, size_t key_len, const void *data,
                     size_t len)
{
    (void)crypto_generichash(out, DPOT_HASH_LEN, data, len, key, key_len);
}

/* libsodium's state is stored in ours, so that no other file needs its header. */
_Static_assert(sizeof(struct dpot_hasher) >= sizeof(crypto_generichash_state), "the state fits");
_Static_assert(_Alignof(struct dpot_hasher) >= _Alignof(crypto_generichash_state), "alignment");

static crypto_generichash_state *state_of(struct dpot_hasher *hasher)
{
    return (crypto_generichash_state *)(void *)hasher->state;
}

void dpot_hasher_init(struct dpot_hasher *hasher)
{
    (void)crypto_generichash_init(state_of(hasher), NULL, 0, DPOT_HASH_LEN);
}

void dpot_hasher_add(struct dpot_hasher *hasher, const void *data, size_t len)
{
    (void)crypto_generichash_update(state_of(hasher), data, len);
}

void dpot_hasher_end(struct dpot_hasher *hasher, uint8_t out[DPOT_HASH_LEN])
{
    (void)crypto_generichash_final(state_of(hasher), out, DPOT_HASH_LEN);
}

void dpot_stream(void *out, size_t len, const uint8_t key[DPOT_STREAM_KEY_LEN], uint64_t nonce,
                 uint64_t block)
{
    _Static_assert(DPOT_STREAM_KEY_LEN == crypto_stream_chacha20_KEYBYTES, "key length");
    uint8_t bytes[crypto_stream_chacha20_NONCEBYTES];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(nonce >> 8 * i);
    }
    memset(out, 0, len);
    (void)crypto_stream_chacha20_xor_ic(out, out, len, bytes, block, key);
}

void dpot_sign_keypair(uint8_t public_key[DPOT_SIGN_PUBLIC_LEN],
                       uint8_t secret_key[DPOT_SIGN_SECRET_LEN])
{
    (void)crypto_sign_keypair(public_key, secret_key);
}

void dpot_sign_public(const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                      uint8_t public_key[DPOT_SIGN_PUBLIC_LEN])
{
    (void)crypto_sign_ed25519_sk_to_pk(public_key, secret_key);
}

bool dpot_sign_is_whole(const uint8_t secret_key[DPOT_SIGN_SECRET_LEN])
{
    uint8_t seed[crypto_sign_SEEDBYTES], public_key[DPOT_SIGN_PUBLIC_LEN];
    uint8_t derived[DPOT_SIGN_SECRET_LEN];
    (void)crypto_sign_ed25519_sk_to_seed(seed, secret_key);
    (void)crypto_sign_seed_keypair(public_key, derived, seed);
    const bool is_whole = sodium_memcmp(derived, secret_key, sizeof derived) == 0;
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(derived, sizeof derived);
    return is_whole;
}

/* prefix || data in one block, which Ed25519 needs; NULL when out of memory. */
static uint8_t *join(const char *prefix, size_t prefix_len, const void *data, size_t len)
{
    if (len > SIZE_MAX - prefix_len - 1) {
        return NULL;
    }
    uint8_t *message = malloc(prefix_len + len + 1);
    if (message) {
        memcpy(message, prefix, prefix_len);
        if (len > 0) {
            memcpy(message + prefix_len, data, len);
        }
    }
    return message;
}

dpot_status dpot_sign(uint8_t signature[DPOT_SIGNATURE_LEN], const char *prefix, size_t prefix_len,
                      const void *data, size_t len, const uint8_t secret_key[DPOT_SIGN_SECRET_LEN])
{
    uint8_t *message = join(prefix, prefix_len, data, len);
    if (!message) {
        return DPOT_ERR_MEMORY;
    }
    (void)crypto_sign_detached(signature, NULL, message, prefix_len + len, secret_key);
    free(message);
    return DPOT_OK;
}

dpot_status dpot_sign_check(const uint8_t signature[DPOT_SIGNATURE_LEN], const char *prefix,
                            size_t prefix_len, const void *data, size_t len,
                            const uint8_t public_key[DPOT_SIGN_PUBLIC_LEN])
{
    uint8_t *message = join(prefix, prefix_len, data, len);
    if (!message) {
        return DPOT_ERR_MEMORY;
    }
    const int failed =
        crypto_sign_verify_detached(signature, message, prefix_len + len, public_key);
    free(message);
    return failed ? DPOT_ERR_SIGNATURE : DPOT_OK;
}

void dpot_seal_keypair(uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                       uint8_t secret_key[DPOT_SEAL_SECRET_LEN])
{
    (void)crypto_box_keypair(public_key, secret_key);
}

void dpot_seal_public(const uint8_t secret_key[DPOT_SEAL_SECRET_LEN],
                      uint8_t public_key[DPOT_SEAL_PUBLIC_LEN])
{
    (void)crypto_scalarmult_base(public_key, secret_key);
}

dpot_status dpot_seal(uint8_t *out, const void *data, size_t len,
                      const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN])
{
    return crypto_box_seal(out, data, len, public_key) == 0 ? DPOT_OK : DPOT_ERR_ARGUMENT;
}

dpot_status dpot_seal_open(uint8_t *out, const void *box, size_t len,
                           const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                           const uint8_t secret_key[DPOT_SEAL_SECRET_LEN])
{
    if (len < DPOT_SEAL_OVERHEAD) {
        return DPOT_ERR_SIGNATURE;
    }
    const int failed = crypto_box_seal_open(out, box, len, public_key, secret_key);
    return failed ? DPOT_ERR_SIGNATURE : DPOT_OK;
}

void dpot_hex_encode(char *out, const void *data, size_t len)
{
    (void)sodium_bin2hex(out, 2 * len + 1, data, len);
}

dpot_status dpot_hex_decode(const char *text, void *out, size_t len)
{
    size_t read_len = 0;
    const char *end = NULL;
    if (strlen(text) != 2 * len ||
        sodium_hex2bin(out, len, text, 2 * len, NULL, &read_len, &end) != 0 || read_len != len ||
        end != text + 2 * len) {
        return DPOT_ERR_MALFORMED;
    }
    return DPOT_OK;
}
