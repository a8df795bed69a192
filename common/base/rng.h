/* Randomness for one release, as an argument.
 *
 * A `struct dpot_rng` lives on the stack of one release call. It fetches a 32-byte key from its
 * source at init, BEFORE any device data are read, and expands it with ChaCha20 and fast key
 * erasure (Bernstein 2017): 1 KB at a time, of which the first 32 bytes replace the key. Bytes are
 * wiped as they are consumed and everything at release, so no state survives a call and a fork or a
 * reused thread cannot repeat a stream. A snapshot of a virtual machine taken inside a call can.
 *
 * The source is a seam for the linker, not a switch: rng_sodium.c is the only source in libdpot,
 * dpot-device and dpotd. rng_seeded.c refuses to compile without DPOT_INSECURE_TEST_RNG, is linked
 * into tests and the `dpot` tool only, and marks what it made as TEST. */
#ifndef DPOT_BASE_RNG_H
#define DPOT_BASE_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPOT_RNG_KEY_LEN 32
#define DPOT_RNG_BLOCK_LEN 1024

struct dpot_rng_source {
    void (*fill)(void *ctx, void *out, size_t len); /* total: it cannot fail */
    void *ctx;
    bool is_test; /* reports made from it carry the TEST mark */
};

/* The operating system's randomness through libsodium. */
extern const struct dpot_rng_source dpot_rng_source_sodium;

struct dpot_rng {
    uint8_t key[DPOT_RNG_KEY_LEN];
    uint8_t block[DPOT_RNG_BLOCK_LEN];
    size_t used; /* bytes of block already consumed */
};

/* Fetches the key. Call it before device data are read. */
void dpot_rng_init(struct dpot_rng *rng, const struct dpot_rng_source *source);

/* Wipes everything. */
void dpot_rng_release(struct dpot_rng *rng);

/* The next `len` bytes of the stream. */
void dpot_rng_bytes(struct dpot_rng *rng, void *out, size_t len);

/* The next 8 bytes, little-endian. */
uint64_t dpot_rng_u64(struct dpot_rng *rng);

#endif
