/* Replaces what the integer core needs of libsodium: wiping, and a stream of bytes for dpot_rng
 * that is the same everywhere. */
#include "base/crypto.h"
#include "base/rng.h"
#include "portability.h"

#include <string.h>

void dpot_wipe(void *data, size_t len)
{
    volatile unsigned char *next = data;
    for (size_t i = 0; i < len; i++) {
        next[i] = 0;
    }
}

/* The key is the state: splitmix64, one byte at a time. */
void dpot_rng_bytes(struct dpot_rng *rng, void *out, size_t len)
{
    struct inputs inputs;
    uint8_t *next = out;
    memcpy(&inputs.state, rng->key, sizeof inputs.state);
    for (size_t i = 0; i < len; i++) {
        next[i] = (uint8_t)(inputs_next(&inputs) >> 56);
    }
    memcpy(rng->key, &inputs.state, sizeof inputs.state);
}
