/* Cryptography, by libsodium: BLAKE2b-256 hashes, Ed25519 signatures, X25519 sealed boxes, wiping
 * and comparing secrets, hex. Only base/crypto.c and base/rng*.c include libsodium's header. */
#ifndef DPOT_BASE_CRYPTO_H
#define DPOT_BASE_CRYPTO_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPOT_HASH_LEN 32
#define DPOT_SIGN_PUBLIC_LEN 32
#define DPOT_SIGN_SECRET_LEN 64
#define DPOT_SIGNATURE_LEN 64
#define DPOT_SEAL_PUBLIC_LEN 32
#define DPOT_SEAL_SECRET_LEN 32
#define DPOT_SEAL_OVERHEAD 48 /* bytes that sealing adds */

/* Initialises libsodium; idempotent and thread-safe. Call it before anything else of this header
 * and of rng.h. DPOT_ERR_RANDOM: libsodium cannot start, or as dpot_random_check. */
DPOT_WARN_UNUSED dpot_status dpot_init(void);

/* DPOT_ERR_RANDOM, with a sentence: this build needs a source of randomness (dpot_random_set), and
 * there is none or it has failed. Call it after drawing and before the bytes are used. */
DPOT_WARN_UNUSED dpot_status dpot_random_check(struct dpot_error *error);

/* Zeroes memory; the compiler cannot remove it. */
void dpot_wipe(void *data, size_t len);

/* Compares secrets in constant time. */
bool dpot_secret_equal(const void *a, const void *b, size_t len);

/* Random bytes of the operating system, for keys, ids and tokens. Mechanisms take a struct dpot_rng
 * instead (rng.h). */
void dpot_random_bytes(void *out, size_t len);

/* BLAKE2b-256 of (data, len), and its keyed form (key_len 16..64). */
void dpot_hash(uint8_t out[DPOT_HASH_LEN], const void *data, size_t len);
void dpot_hash_keyed(uint8_t out[DPOT_HASH_LEN], const void *key, size_t key_len, const void *data,
                     size_t len);

/* The same hash, incrementally: init, add any number of times, end. Allocates nothing; a hasher may
 * be abandoned. */
struct dpot_hasher {
    _Alignas(64) unsigned char state[384];
};
void dpot_hasher_init(struct dpot_hasher *hasher);
void dpot_hasher_add(struct dpot_hasher *hasher, const void *data, size_t len);
void dpot_hasher_end(struct dpot_hasher *hasher, uint8_t out[DPOT_HASH_LEN]);

/* The ChaCha20 stream of (key, nonce), from byte 64 * block on: a public pseudorandom function for
 * numbers that both sides derive. Not for the randomness of a release (rng.h). */
#define DPOT_STREAM_KEY_LEN 32
#define DPOT_STREAM_BLOCK_LEN 64
void dpot_stream(void *out, size_t len, const uint8_t key[DPOT_STREAM_KEY_LEN], uint64_t nonce,
                 uint64_t block);

/* A new Ed25519 key pair; the public half of a secret key. */
void dpot_sign_keypair(uint8_t public_key[DPOT_SIGN_PUBLIC_LEN],
                       uint8_t secret_key[DPOT_SIGN_SECRET_LEN]);
void dpot_sign_public(const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                      uint8_t public_key[DPOT_SIGN_PUBLIC_LEN]);

/* Whether the public half of a secret key (its last 32 bytes) belongs to its seed. Signing with
 * another public half reveals the seed to anyone who sees two signatures. */
bool dpot_sign_is_whole(const uint8_t secret_key[DPOT_SIGN_SECRET_LEN]);

/* Signs (prefix || data); the prefix is a domain separator such as "dpot.campaign.v1", including
 * its NUL. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_sign(uint8_t signature[DPOT_SIGNATURE_LEN], const char *prefix,
                                       size_t prefix_len, const void *data, size_t len,
                                       const uint8_t secret_key[DPOT_SIGN_SECRET_LEN]);

/* DPOT_ERR_SIGNATURE: not a signature of (prefix || data) under `public_key`. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_sign_check(const uint8_t signature[DPOT_SIGNATURE_LEN],
                                             const char *prefix, size_t prefix_len,
                                             const void *data, size_t len,
                                             const uint8_t public_key[DPOT_SIGN_PUBLIC_LEN]);

/* A new X25519 key pair for sealed boxes; the public half of a secret key. */
void dpot_seal_keypair(uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                       uint8_t secret_key[DPOT_SEAL_SECRET_LEN]);
void dpot_seal_public(const uint8_t secret_key[DPOT_SEAL_SECRET_LEN],
                      uint8_t public_key[DPOT_SEAL_PUBLIC_LEN]);

/* Encrypts (data, len) into out[len + DPOT_SEAL_OVERHEAD]; only the secret key of `public_key`
 * opens it. DPOT_ERR_ARGUMENT: a degenerate public key. */
DPOT_WARN_UNUSED dpot_status dpot_seal(uint8_t *out, const void *data, size_t len,
                                       const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN]);

/* Decrypts a box of `len` bytes into out[len - DPOT_SEAL_OVERHEAD]. DPOT_ERR_SIGNATURE: it was
 * altered, sealed for another key, or is too short. */
DPOT_WARN_UNUSED dpot_status dpot_seal_open(uint8_t *out, const void *box, size_t len,
                                            const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                                            const uint8_t secret_key[DPOT_SEAL_SECRET_LEN]);

/* Lower-case hex: out needs 2 * len + 1 bytes. */
void dpot_hex_encode(char *out, const void *data, size_t len);

/* Parses exactly 2 * len hex digits, in either case. DPOT_ERR_MALFORMED. */
DPOT_WARN_UNUSED dpot_status dpot_hex_decode(const char *text, void *out, size_t len);

#endif
