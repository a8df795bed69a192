/* Settings of a training run: read from JSON (parameters of a job, options of the tool), completed
 * with defaults that depend on the pool, and written as JSON to artifacts and models. */
#ifndef DPOT_GENERATOR_SETTINGS_H
#define DPOT_GENERATOR_SETTINGS_H

#include "mechanism/noise_density.h"
#include "solve/learn/generator_train.h"
#include "json/json.h"

#define SETTINGS_STEPS_MAX 10000000
#define SETTINGS_BATCH_MAX 65536
#define SETTINGS_RATE_MIN 1e-12
#define SETTINGS_RATE_MAX 1e6
#define SETTINGS_REGULARIZATION_MIN 1e-6
#define SETTINGS_REGULARIZATION_MAX 1e6

struct settings {
    char architecture[ARCHITECTURE_NAME_MAX + 1];
    size_t latent_dim;
    size_t batch;      /* generated points per step */
    size_t pool_batch; /* reports per step; 0: the whole pool, as atoms */
    size_t atoms;      /* at most; 0 with minibatches */
    size_t sinkhorn;   /* Sinkhorn sweeps per step */
    size_t steps;
    enum optimizer_kind optimizer;
    double learning_rate;
    enum learning_schedule schedule;
    uint64_t seed;
    enum cloud_distance cost; /* l1, squared; by default the one that fits the noise */
    double regularization;    /* relative to the one that fits the noise */
};

/* Keys: arch, latent_dim, batch, pool_batch, atoms, sinkhorn, steps, optimizer, learning_rate,
 * schedule, seed, cost, regularization; all optional, unknown ones are refused by name. `path` is
 * the prefix of keys in refusals, `dim` the dimension of the generator's output, `n` the number of
 * reports. DPOT_ERR_MALFORMED, DPOT_ERR_RANGE with key and remedy. */
DPOT_WARN_UNUSED dpot_status settings_read(const json_t *given, const char *path,
                                           enum dpot_noise noise, size_t dim, size_t n,
                                           struct settings *settings, struct dpot_error *error);

/* All keys. New reference; NULL when memory is out. */
json_t *settings_json(const struct settings *settings);

#endif
