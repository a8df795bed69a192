#include "generator/training.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS 200 /* points of the curve */

void training_release(struct training *training)
{
    generator_train_free(training->train);
    transform_matrix_release(&training->transform);
    atoms_release(&training->atoms);
    memset(training, 0, sizeof *training);
}

/* The factor of the cost. The wrong cost, for comparison, has the right variance: Laplace's is 2 b^2. */
static double cost_scale(enum dpot_noise noise, double scale, enum cloud_distance cost)
{
    const bool is_laplace = noise == DPOT_NOISE_LAPLACE;
    if (cost == CLOUD_L1) {
        return is_laplace ? 1.0 / scale : 1.4142135623730951 / scale;
    }
    return is_laplace ? 1.0 / (4.0 * scale * scale) : 1.0 / (2.0 * scale * scale);
}

static struct generator_config config_of(const struct training *training,
                                         const struct training_input *input)
{
    const struct settings *s = &input->settings;
    return (struct generator_config){
        .architecture = s->architecture,
        .latent_dim = s->latent_dim,
        .dim = training->dim,
        .bound = input->is_bounded ? NETWORK_TANH : NETWORK_UNBOUNDED,
        .lo = (float)input->lo,
        .hi = (float)input->hi,
        .distance = s->cost,
        .scale = cost_scale(input->noise, input->scale, s->cost),
        .lambda = s->regularization,
        .batch = s->batch,
        .pool_batch = s->pool_batch ? s->pool_batch : training->atoms.n,
        .sweeps = s->sinkhorn,
        .n_steps = s->steps,
        .optimizer = s->optimizer,
        .learning_rate = s->learning_rate,
        .schedule = s->schedule,
        .seed = s->seed,
        .look_every = s->steps > LOOKS ? s->steps / LOOKS : 1,
        .transform = training->transform.values ? &training->transform.hooks : NULL,
        .team = input->team,
    };
}

static void hash_vector(struct dpot_hasher *hasher, const struct dpot_vector_domain *vector)
{
    const struct dpot_transform *t = &vector->transform;
    dpot_hasher_add(hasher, &t->id, sizeof t->id);
    dpot_hasher_add(hasher, &t->rows, sizeof t->rows);
    dpot_hasher_add(hasher, &t->cols, sizeof t->cols);
    dpot_hasher_add(hasher, t->keep, t->n_keep * sizeof *t->keep);
}

static dpot_status take_fingerprint(struct training *training, const struct training_input *input,
                                    struct dpot_error *error)
{
    struct dpot_hasher hasher;
    const double numbers[] = {input->scale, input->is_bounded ? 1.0 : 0.0, input->lo, input->hi,
                              (double)input->noise};
    json_t *settings = settings_json(&input->settings);
    char *text = settings
                     ? json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17))
                     : NULL;
    dpot_hash(training->pool_checksum, input->reports,
              input->n * input->dim * sizeof *input->reports);
    if (text) {
        dpot_hasher_init(&hasher);
        dpot_hasher_add(&hasher, input->program, strlen(input->program) + 1);
        dpot_hasher_add(&hasher, text, strlen(text) + 1);
        dpot_hasher_add(&hasher, numbers, sizeof numbers);
        dpot_hasher_add(&hasher, training->pool_checksum, sizeof training->pool_checksum);
        if (input->vector) {
            hash_vector(&hasher, input->vector);
        }
        dpot_hasher_end(&hasher, training->fingerprint);
    }
    const bool is_done = text != NULL;
    free(text);
    json_decref(settings);
    return is_done ? DPOT_OK : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
}

dpot_status training_init(struct training *training, const struct training_input *input,
                          struct dpot_error *error)
{
    const bool is_mapped = input->vector && input->vector->transform.id != DPOT_TRANSFORM_NONE;
    memset(training, 0, sizeof *training);
    training->dim = is_mapped ? dpot_vector_data_dim(input->vector) : input->dim;
    dpot_status status = take_fingerprint(training, input, error);
    if (status == DPOT_OK) {
        status = atoms_init(&training->atoms, input->reports, input->n, input->dim,
                            input->settings.atoms, input->scale, error);
    }
    if (status == DPOT_OK && is_mapped) {
        status = transform_matrix_init(&training->transform, input->vector, error);
    }
    if (status == DPOT_OK) {
        const struct generator_config config = config_of(training, input);
        const struct generator_pool pool = atoms_pool(&training->atoms);
        status = generator_train_new(&config, &pool, &training->train, error);
    }
    if (status != DPOT_OK) {
        training_release(training);
    }
    return status;
}
