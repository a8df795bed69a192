/* The randomness of one release, passed as an argument.
 *
 * A struct dpot_rng lives on the stack of one call. Its init fetches a 32-byte key from a source,
 * BEFORE device data are read, and expands it by ChaCha20 with fast key erasure (Bernstein 2017):
 * of each 1 KB, the first 32 bytes replace the key. Bytes are wiped when consumed, everything else
 * at release. No state survives the call, so a fork or a reused thread cannot repeat a stream; a
 * virtual machine snapshot taken inside the call can.
 *
 * The source is chosen by the linker, not at run time: rng_sodium.c is the only one in libdpot,
 * dpot-device and dpotd. rng_seeded.c does not compile without DPOT_INSECURE_TEST_RNG, is linked
 * into tests and the `dpot` tool only, and its reports carry the TEST mark. */
#ifndef DPOT_BASE_RNG_H
#define DPOT_BASE_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPOT_RNG_KEY_LEN 32
#define DPOT_RNG_BLOCK_LEN 1024

struct dpot_rng_source {
    void (*fill)(void *ctx, void *out, size_t len); /* cannot fail */
    void *ctx;
    bool is_test; /* its reports carry the TEST mark */
};

/* The operating system's randomness, through libsodium. */
extern const struct dpot_rng_source dpot_rng_source_sodium;

struct dpot_rng {
    uint8_t key[DPOT_RNG_KEY_LEN];
    uint8_t block[DPOT_RNG_BLOCK_LEN];
    size_t used; /* bytes of block consumed */
};

/* Fetches the key. Call it before device data are read. */
void dpot_rng_init(struct dpot_rng *rng, const struct dpot_rng_source *source);

/* Wipes it. */
void dpot_rng_release(struct dpot_rng *rng);

/* The next `len` bytes of the stream. */
void dpot_rng_bytes(struct dpot_rng *rng, void *out, size_t len);

/* The next 8 bytes, little-endian. */
uint64_t dpot_rng_u64(struct dpot_rng *rng);

#endif
