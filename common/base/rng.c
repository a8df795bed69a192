#include "base/rng.h"

#include "base/buf.h"
#include "base/crypto.h"

#include <sodium.h>
#include <string.h>

/* Fast key erasure: the first bytes of each block replace its key. */
static void refill(struct dpot_rng *rng)
{
    static const uint8_t nonce[crypto_stream_chacha20_NONCEBYTES] = {0};
    (void)crypto_stream_chacha20(rng->block, sizeof rng->block, nonce, rng->key);
    memcpy(rng->key, rng->block, DPOT_RNG_KEY_LEN);
    dpot_wipe(rng->block, DPOT_RNG_KEY_LEN);
    rng->used = DPOT_RNG_KEY_LEN;
}

void dpot_rng_init(struct dpot_rng *rng, const struct dpot_rng_source *source)
{
    source->fill(source->ctx, rng->key, sizeof rng->key);
    refill(rng);
}

void dpot_rng_release(struct dpot_rng *rng)
{
    dpot_wipe(rng, sizeof *rng);
}

void dpot_rng_bytes(struct dpot_rng *rng, void *out, size_t len)
{
    uint8_t *next = out;
    while (len > 0) {
        if (rng->used == DPOT_RNG_BLOCK_LEN) {
            refill(rng);
        }
        const size_t left = DPOT_RNG_BLOCK_LEN - rng->used;
        const size_t n = len < left ? len : left;
        memcpy(next, rng->block + rng->used, n);
        dpot_wipe(rng->block + rng->used, n);
        rng->used += n;
        next += n;
        len -= n;
    }
}

uint64_t dpot_rng_u64(struct dpot_rng *rng)
{
    uint8_t bytes[8];
    dpot_rng_bytes(rng, bytes, sizeof bytes);
    const uint64_t value = dpot_load_u64(bytes);
    dpot_wipe(bytes, sizeof bytes);
    return value;
}
