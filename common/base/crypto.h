/* Cryptography: the one door to libsodium (with rng_sodium.c and rng_seeded.c).
 *
 * BLAKE2b-256 hashes, Ed25519 signatures, X25519 sealed boxes, wiping and comparing secrets, hex.
 */
#ifndef DPOT_BASE_CRYPTO_H
#define DPOT_BASE_CRYPTO_H

#include "dpot/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPOT_HASH_LEN 32
#define DPOT_SIGN_PUBLIC_LEN 32
#define DPOT_SIGN_SECRET_LEN 64
#define DPOT_SIGNATURE_LEN 64
#define DPOT_SEAL_PUBLIC_LEN 32
#define DPOT_SEAL_SECRET_LEN 32
#define DPOT_SEAL_OVERHEAD 48 /* bytes a sealed box adds to its content */

/* Starts libsodium; idempotent and safe from several threads. Call it before anything else here or
 * in rng.h. DPOT_ERR_RANDOM when the library cannot start. */
DPOT_WARN_UNUSED dpot_status dpot_init(void);

/* Overwrites memory in a way the compiler keeps. */
void dpot_wipe(void *data, size_t len);

/* Compares in constant time. */
bool dpot_secret_equal(const void *a, const void *b, size_t len);

/* Unpredictable bytes from the operating system, for keys, ids and tokens. Privatisation does not
 * call this: it takes a `struct dpot_rng`. */
void dpot_random_bytes(void *out, size_t len);

/* BLAKE2b-256 of (data, len), and its keyed form (key_len 16..64). */
void dpot_hash(uint8_t out[DPOT_HASH_LEN], const void *data, size_t len);
void dpot_hash_keyed(uint8_t out[DPOT_HASH_LEN], const void *key, size_t key_len, const void *data,
                     size_t len);

/* The same hash of bytes that come in pieces:
 *     dpot_hasher_init(&hasher); dpot_hasher_add(&hasher, data, len); ... dpot_hasher_end(&hasher, out);
 * Nothing is allocated; a hasher may be left half way. */
struct dpot_hasher {
    _Alignas(64) unsigned char state[384];
};
void dpot_hasher_init(struct dpot_hasher *hasher);
void dpot_hasher_add(struct dpot_hasher *hasher, const void *data, size_t len);
void dpot_hasher_end(struct dpot_hasher *hasher, uint8_t out[DPOT_HASH_LEN]);

/* Bytes of a public pseudorandom function: the ChaCha20 stream of (key, nonce) from byte 64 * block
 * on. For numbers that both sides derive, not for secrets of a release (base/rng.h). */
#define DPOT_STREAM_KEY_LEN 32
#define DPOT_STREAM_BLOCK_LEN 64
void dpot_stream(void *out, size_t len, const uint8_t key[DPOT_STREAM_KEY_LEN], uint64_t nonce,
                 uint64_t block);

/* A new Ed25519 pair, and the public half of a secret key. */
void dpot_sign_keypair(uint8_t public_key[DPOT_SIGN_PUBLIC_LEN],
                       uint8_t secret_key[DPOT_SIGN_SECRET_LEN]);
void dpot_sign_public(const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                      uint8_t public_key[DPOT_SIGN_PUBLIC_LEN]);

/* True when the public half of a secret key (its last 32 bytes) is the one its seed gives. Signing with
 * another public half gives the seed away to whoever sees two signatures. */
bool dpot_sign_is_whole(const uint8_t secret_key[DPOT_SIGN_SECRET_LEN]);

/* Signs (prefix || data); the prefix is a domain separator such as "dpot.campaign.v1" WITH its NUL.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_sign(uint8_t signature[DPOT_SIGNATURE_LEN], const char *prefix,
                                       size_t prefix_len, const void *data, size_t len,
                                       const uint8_t secret_key[DPOT_SIGN_SECRET_LEN]);

/* DPOT_ERR_SIGNATURE when the signature is not of (prefix || data) under `public_key`. */
DPOT_WARN_UNUSED dpot_status dpot_sign_check(const uint8_t signature[DPOT_SIGNATURE_LEN],
                                             const char *prefix, size_t prefix_len,
                                             const void *data, size_t len,
                                             const uint8_t public_key[DPOT_SIGN_PUBLIC_LEN]);

/* A new X25519 pair for sealed boxes, and the public half of a secret key. */
void dpot_seal_keypair(uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                       uint8_t secret_key[DPOT_SEAL_SECRET_LEN]);
void dpot_seal_public(const uint8_t secret_key[DPOT_SEAL_SECRET_LEN],
                      uint8_t public_key[DPOT_SEAL_PUBLIC_LEN]);

/* Seals (data, len) into out[len + DPOT_SEAL_OVERHEAD]; the content can be read with the secret key
 * of `public_key` only. DPOT_ERR_ARGUMENT for a degenerate public key. */
DPOT_WARN_UNUSED dpot_status dpot_seal(uint8_t *out, const void *data, size_t len,
                                       const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN]);

/* Opens a box of `len` >= DPOT_SEAL_OVERHEAD bytes into out[len - DPOT_SEAL_OVERHEAD].
 * DPOT_ERR_SIGNATURE when it was altered, sealed for another key, or is too short. */
DPOT_WARN_UNUSED dpot_status dpot_seal_open(uint8_t *out, const void *box, size_t len,
                                            const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                                            const uint8_t secret_key[DPOT_SEAL_SECRET_LEN]);

/* Lower-case hex: out needs 2 * len + 1 bytes. */
void dpot_hex_encode(char *out, const void *data, size_t len);

/* Reads exactly 2 * len hex digits and the end of the text; either case. DPOT_ERR_MALFORMED. */
DPOT_WARN_UNUSED dpot_status dpot_hex_decode(const char *text, void *out, size_t len);

#endif
