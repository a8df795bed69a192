/* Reproducible pseudo-random numbers for training, by counter: the value at (seed, stream, index)
 * depends only on these three, so any part of a sequence can be drawn again, in any order and on
 * any number of threads.
 *
 * NOT for privacy: noise comes from base/rng.h. These numbers (initial weights, latent points,
 * minibatches) are used only on reports that are already private. */
#ifndef DPOT_SOLVE_RUN_DRAW_H
#define DPOT_SOLVE_RUN_DRAW_H

#include <stddef.h>
#include <stdint.h>

/* 64 equidistributed bits: two rounds of the finalizer of splitmix64. */
uint64_t draw_bits(uint64_t seed, uint64_t stream, uint64_t index);

/* In (0, 1), an odd multiple of 2^-24: exact in float32. */
float draw_uniform(uint64_t seed, uint64_t stream, uint64_t index);

/* Latent points of one step: coordinates uniform with mean 0 and variance 1, (u - 1/2) sqrt(12).
 * (Raw coordinates in [0, 1] keep a network at the mean of the data for hundreds of steps.) */
void latent_draw(uint64_t seed, uint64_t step, size_t n, size_t latent_dim,
                 float *z /* (n, latent_dim) */);

#endif
