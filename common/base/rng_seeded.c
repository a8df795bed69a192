#ifndef DPOT_INSECURE_TEST_RNG
#error "rng_seeded.c is for tests and `dpot simulate` only: it makes privatisation reversible"
#endif

#include "base/rng_seeded.h"

#include "base/buf.h"

#include <sodium.h>
#include <string.h>

const char dpot_insecure_test_rng_linked[] = "dpot: INSECURE TEST RNG LINKED";

static void fill_seeded(void *ctx, void *out, size_t len)
{
    struct dpot_rng_seeded *seeded = ctx;
    uint8_t label[DPOT_RNG_KEY_LEN + 8];
    uint8_t key[randombytes_SEEDBYTES];
    memcpy(label, seeded->key, DPOT_RNG_KEY_LEN);
    dpot_store_u64(label + DPOT_RNG_KEY_LEN, seeded->n_calls++);
    (void)crypto_generichash(key, sizeof key, label, sizeof label, NULL, 0);
    randombytes_buf_deterministic(out, len, key);
}

void dpot_rng_seeded_init(struct dpot_rng_seeded *seeded, uint64_t seed, uint64_t stream)
{
    uint8_t label[16];
    memset(seeded, 0, sizeof *seeded);
    seeded->source = (struct dpot_rng_source){fill_seeded, seeded, true};
    dpot_store_u64(label, seed);
    dpot_store_u64(label + 8, stream);
    (void)crypto_generichash(seeded->key, sizeof seeded->key, label, sizeof label, NULL, 0);
}

static void fill_replay(void *ctx, void *out, size_t len)
{
    struct dpot_rng_replay *replay = ctx;
    uint8_t *next = out;
    for (size_t i = 0; i < len; i++) {
        next[i] = replay->used < replay->len ? replay->data[replay->used++] : 0;
    }
}

void dpot_rng_replay_init(struct dpot_rng_replay *replay, const void *data, size_t len)
{
    *replay = (struct dpot_rng_replay){.data = data, .len = len};
    replay->source = (struct dpot_rng_source){fill_replay, replay, true};
}
