#include "base/crypto.h"
#include "generator/provenance.h"
#include "jobs/generator_run.h"
#include "pool/describe.h"

#include <string.h>

/* The values are the curve, row by row. */
static dpot_status put_curve(const struct generator_run *run, struct dpot_artifact *artifact)
{
    const size_t n = TRAINING_CURVE_COLUMNS * run->progress.n_looks;
    artifact->values = dpot_alloc_array(artifact->allocator, n, sizeof *artifact->values);
    if (!artifact->values) {
        return DPOT_ERR_MEMORY;
    }
    artifact->n_values = n;
    training_curve(&run->progress, artifact->values);
    return DPOT_OK;
}

static dpot_status note(const struct generator_run *run, struct generator_model *model,
                        struct dpot_error *error)
{
    char hash[2 * DPOT_HASH_LEN + 1];
    const struct snapshot *snapshot = run->input->snapshot;
    struct provenance provenance = {
        .input = &run->training_input,
        .training = &run->training,
        .transform = snapshot->campaign->vector.transform.id,
        .campaign_hash = hash,
        .revision = snapshot->campaign->revision,
        .steps_done = run->progress.step,
    };
    dpot_hex_encode(hash, snapshot->hash, DPOT_HASH_LEN);
    describe_charge(snapshot->campaign, &provenance.epsilon, &provenance.delta);
    return provenance_note(&provenance, model, error);
}

static dpot_status copy_model(const struct dpot_buf *bytes, struct dpot_artifact *artifact)
{
    artifact->model = dpot_alloc_array(artifact->allocator, bytes->len, 1);
    if (!artifact->model) {
        return DPOT_ERR_MEMORY;
    }
    artifact->n_model = bytes->len;
    memcpy(artifact->model, bytes->data, bytes->len);
    return DPOT_OK;
}

static dpot_status put_model(const struct generator_run *run, struct dpot_artifact *artifact,
                             struct dpot_error *error)
{
    struct generator_model model = {.network = generator_train_network(run->training.train)};
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_ARTIFACT_MODEL_MAX, NULL);
    dpot_status status = note(run, &model, error);
    if (status == DPOT_OK) {
        status = generator_model_encode(&model, &bytes, error);
    }
    if (status == DPOT_OK) {
        status = copy_model(&bytes, artifact);
    }
    dpot_buf_release(&bytes);
    model.network = NULL; /* owned by the training */
    generator_model_release(&model);
    return status;
}

static dpot_status put_numbers(const struct generator_run *run, struct dpot_artifact *artifact)
{
    double epsilon = 0, delta = 0;
    const struct generator_look *last = &run->progress.looks[run->progress.n_looks - 1];
    describe_charge(run->input->snapshot->campaign, &epsilon, &delta);
    const struct dpot_artifact_number numbers[] = {
        {"steps", (double)run->progress.step},
        {"is_diverged", run->progress.outcome == GENERATOR_DIVERGED},
        {"loss", last->loss},
        {"gap", last->gap},
        {"residual", last->residual},
        {"dim", (double)run->training.dim},
        {"points", (double)run->training.atoms.n},
        {"scale", run->training_input.scale},
        {"epsilon", epsilon},
        {"delta", delta},
    };
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].value == numbers[i].value) { /* NaN: not known, left out */
            status = dpot_artifact_add_number(artifact, numbers[i].name, numbers[i].value);
        }
    }
    return status;
}

dpot_status generator_put_result(const struct generator_run *run, struct dpot_artifact *artifact,
                                 struct dpot_error *error)
{
    if (run->progress.n_looks == 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the loss of the first step is not a number: the pool's reports are "
                              "too far from each other, or parameters.learning_rate is too large");
    }
    dpot_status status = put_curve(run, artifact);
    if (status == DPOT_OK) {
        status = put_model(run, artifact, error);
    }
    return status == DPOT_OK ? put_numbers(run, artifact) : status;
}
