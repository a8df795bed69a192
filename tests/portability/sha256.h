/* SHA-256 (FIPS 180-4) in plain C, so that a program without libraries can hash its results. */
#ifndef DPOT_PORTABILITY_SHA256_H
#define DPOT_PORTABILITY_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint8_t block[64];
    uint64_t len; /* bytes so far */
};

void sha256_init(struct sha256 *sha256);
void sha256_add(struct sha256 *sha256, const void *data, size_t len);

/* Eight bytes, little-endian. */
void sha256_add_u64(struct sha256 *sha256, uint64_t value);

void sha256_end(struct sha256 *sha256, uint8_t hash[32]);

#endif
