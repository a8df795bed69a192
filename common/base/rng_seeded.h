/* INSECURE, reproducible randomness for tests and `dpot simulate --seed`. Anyone who knows the seed
 * can remove the noise; so its reports carry the TEST mark, and real campaigns refuse them. */
#ifndef DPOT_BASE_RNG_SEEDED_H
#define DPOT_BASE_RNG_SEEDED_H

#include "base/rng.h"

/* A source that reads the ChaCha20 stream of (seed, stream). Pass &seeded.source to
 * dpot_rng_init. */
struct dpot_rng_seeded {
    struct dpot_rng_source source; /* its ctx is this struct */
    uint8_t key[DPOT_RNG_KEY_LEN];
    uint64_t n_calls;
};

/* Each (seed, stream) has its own sequence; `stream` is for instance the number of a virtual
 * device. The struct must not move afterwards. */
void dpot_rng_seeded_init(struct dpot_rng_seeded *seeded, uint64_t seed, uint64_t stream);

/* A source that returns (data, len), which is borrowed, and then zeros: for known-answer tests. */
struct dpot_rng_replay {
    struct dpot_rng_source source;
    const uint8_t *data;
    size_t len;
    size_t used;
};
void dpot_rng_replay_init(struct dpot_rng_replay *replay, const void *data, size_t len);

/* In every program that links this file, for `nm` to find. */
extern const char dpot_insecure_test_rng_linked[];

#endif
