/* Optimizers on flat float32 vectors, and learning rates over a run.
 *
 *     RMSprop (Tieleman, Hinton 2012)   v = d v + (1 - d) g^2,  x -= rate g / (sqrt v + floor)
 *     Adam (Kingma, Ba 2015)            m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,
 *                                       x -= rate m' / (sqrt v' + floor),  m', v' unbiased
 *
 * The state is one flat vector and a count of steps; restoring both continues a run with the same
 * bits. Single-threaded. */
#ifndef DPOT_SOLVE_LEARN_OPTIMIZER_H
#define DPOT_SOLVE_LEARN_OPTIMIZER_H

#include "base/alloc.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum optimizer_kind {
    OPTIMIZER_RMSPROP = 0,
    OPTIMIZER_ADAM = 1,
};

/* All members but the vectors may be changed after optimizer_init, before the first step. */
struct optimizer {
    enum optimizer_kind kind;
    float decay;        /* RMSprop: .99 */
    float beta1, beta2; /* Adam: .9, .999 */
    float floor;        /* 1e-8 */

    size_t n;         /* parameters */
    size_t n_state;   /* n or 2 n */
    float *state;     /* (n_state) RMSprop: v; Adam: m, then v. Zero at the start */
    uint64_t n_steps; /* so far */
    const struct dpot_allocator *allocator;
};

/* DPOT_ERR_MEMORY: *optimizer is zeroed. */
DPOT_WARN_UNUSED dpot_status optimizer_init(struct optimizer *optimizer, enum optimizer_kind kind,
                                            size_t n, const struct dpot_allocator *allocator);
void optimizer_release(struct optimizer *optimizer);

/* One descent step. A NaN in the gradient would stay in the state: check before. */
void optimizer_step(struct optimizer *optimizer, float learning_rate,
                    const float *gradient /* (n) */, float *parameters /* (n) */);

enum learning_schedule {
    LEARNING_CONSTANT = 0,
    LEARNING_COSINE = 1, /* (1 + cos(pi step / n_steps)) / 2 of the rate */
    LEARNING_LINEAR = 2, /* 1 - step / n_steps of it */
};

/* The learning rate of step `step` (from 0) of n_steps. */
float learning_rate_at(enum learning_schedule schedule, double rate, uint64_t step,
                       uint64_t n_steps);

#endif
