/* INSECURE, reproducible randomness for tests and `dpot simulate --seed`. Whoever knows the seed
 * can undo the noise: reports made from it carry the TEST mark and real campaigns refuse them. */
#ifndef DPOT_BASE_RNG_SEEDED_H
#define DPOT_BASE_RNG_SEEDED_H

#include "base/rng.h"

/* State of a seeded source: a ChaCha20 stream of (seed, stream) read in sequence. */
struct dpot_rng_seeded {
    struct dpot_rng_source
        source; /* give its address to dpot_rng_init; source.ctx is this struct */
    uint8_t key[DPOT_RNG_KEY_LEN];
    uint64_t n_calls;
};

/* Each (seed, stream) pair gives its own sequence: `stream` numbers virtual devices, say. The
 * struct must not move afterwards. */
void dpot_rng_seeded_init(struct dpot_rng_seeded *seeded, uint64_t seed, uint64_t stream);

/* A source that replays (data, len) and then zeros; borrowed. For known-answer tests. */
struct dpot_rng_replay {
    struct dpot_rng_source source;
    const uint8_t *data;
    size_t len;
    size_t used;
};
void dpot_rng_replay_init(struct dpot_rng_replay *replay, const void *data, size_t len);

/* Present in every program that links this file, so that `nm` finds it. */
extern const char dpot_insecure_test_rng_linked[];

#endif
