/* Trains a generator on privatised points: 004, Algorithm 1.
 *
 * The pool holds y = x + noise. The generator G minimises, over its parameters, the entropic cost
 * of transporting G(z) to the pool, min <C,P> + lambda I(P), with C the negative log density of the
 * noise and lambda = 1: at the optimum the law of G(z) is that of the clean x (004, Theorem 1),
 * because the transport plan is then the channel. Any other lambda or cost is a wrong model,
 * offered for comparison. A step draws latent points and reports, runs Sinkhorn sweeps, and moves
 * the parameters along the envelope gradient: P is fixed and nothing is unrolled, so memory is that
 * of one plan.
 *
 * Fewer reports than generated points per step bias the law of G towards the noisy law (the
 * marginal of a minibatch is far from that of the pool). Use several reports for each generated
 * point, or the whole pool as weighted atoms (pool_batch >= n), whose potentials are then kept from
 * step to step.
 *
 *     generator_train_new(&config, &pool, &train, &error);
 *     generator_train_run(train, until, control, &progress, &error);    any number of slices
 *     generator_train_free(train);
 *
 * The same config, pool and processor give the same bits for any number of threads, also if a run
 * is split into slices whose parts (generator_train_parts) are saved and restored in between. */
#ifndef DPOT_SOLVE_LEARN_GENERATOR_TRAIN_H
#define DPOT_SOLVE_LEARN_GENERATOR_TRAIN_H

#include "base/error.h"
#include "solve/learn/cloud.h"
#include "solve/learn/network.h"
#include "solve/learn/optimizer.h"
#include "solve/run/control.h"
#include "solve/run/team.h"

#include <stdbool.h>

/* A linear map from the generator's output to the space of the reports (a cosine transform). */
struct generator_transform {
    size_t dim; /* of the reports */
    void (*forward)(const void *ctx, const float *x /* (n, config.dim) */, size_t n,
                    float *out /* (n, dim) */);
    /* Its transpose, for gradients. */
    void (*backward)(const void *ctx, const float *grad /* (n, dim) */, size_t n,
                     float *out /* (n, config.dim) */);
    const void *ctx;
};

struct generator_config {
    const char *architecture; /* network.h; borrowed */
    size_t latent_dim, dim;
    enum network_bound bound;
    float lo, hi;

    enum cloud_distance distance; /* CLOUD_L1: Laplace; CLOUD_SQUARED: Gaussian */
    double scale;                 /* 1 / b, or 1 / (2 sigma^2) */
    double lambda;                /* 1: correct for the noise */

    size_t batch;      /* generated points per step */
    size_t pool_batch; /* reports per step; >= n: the whole pool */
    size_t sweeps;     /* Sinkhorn iterations per step */
    size_t n_steps;
    enum optimizer_kind optimizer;
    double learning_rate;
    enum learning_schedule schedule;
    uint64_t seed;
    size_t look_every; /* steps between points of the curve */

    const struct generator_transform *transform; /* borrowed; NULL: none */
    struct team *team;                           /* borrowed; NULL: the calling thread */
};

/* Reports as float32 and their weights (sum 1; NULL: equal); borrowed. */
struct generator_pool {
    const float *points; /* (n, dim of the reports) */
    const double *weights;
    size_t n;
};

/* A point of the training curve: values of the transport of one step, in units of the cost. */
struct generator_look {
    uint64_t step;
    double loss; /* <C,P> + lambda KL */
    double gap, residual;
    double learning_rate;
};

enum generator_outcome {
    GENERATOR_DONE = 0,
    GENERATOR_STOPPED = 1,  /* by the control, or at `until` */
    GENERATOR_DIVERGED = 2, /* the parameters are those of the last good point of the curve */
};

struct generator_progress {
    enum generator_outcome outcome;
    uint64_t step;                      /* steps done; the step that diverged */
    const struct generator_look *looks; /* (n_looks), borrowed until the next call */
    size_t n_looks;
};

struct generator_train;

/* DPOT_ERR_RANGE, DPOT_ERR_SHAPE, DPOT_ERR_MEMORY with a message. */
DPOT_WARN_UNUSED dpot_status generator_train_new(const struct generator_config *config,
                                                 const struct generator_pool *pool,
                                                 struct generator_train **train,
                                                 struct dpot_error *error);
void generator_train_free(struct generator_train *train);

/* Runs until step `until` (at most n_steps), a stop or a divergence. `control` may be NULL. */
DPOT_WARN_UNUSED dpot_status generator_train_run(struct generator_train *train, uint64_t until,
                                                 const struct solve_control *control,
                                                 struct generator_progress *progress,
                                                 struct dpot_error *error);

/* The trained network. Borrowed. */
struct network *generator_train_network(struct generator_train *train);

/* The state of a run as named memory, to be saved, or restored into a run of the same config that
 * has done no step. Borrowed; sizes depend only on the config. */
struct generator_part {
    const char *name;
    void *data;
    size_t n_bytes;
};
#define GENERATOR_PARTS 7
void generator_train_parts(struct generator_train *train,
                           struct generator_part parts[GENERATOR_PARTS]);

/* Validates restored parts. DPOT_ERR_CORRUPT: they are inconsistent; make a new run. */
DPOT_WARN_UNUSED dpot_status generator_train_resume(struct generator_train *train,
                                                    struct dpot_error *error);

#endif
