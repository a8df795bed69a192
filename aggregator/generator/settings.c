#include "generator/settings.h"

#include "generator/atoms.h"
#include "json/fields.h"

#include <string.h>

/* In few dimensions a step uses the whole pool; of images and other long vectors it draws four
 * reports per generated point. */
#define ATOMS_DEFAULT 4096
#define BATCH_DEFAULT 400
#define REPORTS_PER_POINT 4
#define SINKHORN_DEFAULT 60
#define SINKHORN_ATOMS 20 /* atoms keep their potentials from step to step */
#define IMAGE_DIM 784

/* The defaults that depend on the pool; the table has the others. */
static void set_defaults(struct settings *s, enum dpot_noise noise, size_t dim, size_t n)
{
    const bool is_image = dim == IMAGE_DIM, is_small = dim <= ATOMS_DIM_MAX;
    const char *architecture = is_image ? "resize28:24,12,128" : "mlp:256,256";
    memset(s, 0, sizeof *s);
    memcpy(s->architecture, architecture, strlen(architecture) + 1);
    s->latent_dim = is_image ? 10 : is_small ? 2 : 16;
    s->sinkhorn = SINKHORN_ATOMS;
    s->learning_rate = is_image ? 3e-3 : is_small ? 2e-3 : 1e-3;
    s->cost = noise == DPOT_NOISE_LAPLACE ? CLOUD_L1 : CLOUD_SQUARED;
    s->atoms = is_small ? ATOMS_DEFAULT : 0;
    s->pool_batch = is_small ? 0 : REPORTS_PER_POINT * BATCH_DEFAULT;
    s->pool_batch = s->pool_batch > n ? n : s->pool_batch;
}

static const struct json_word optimizers[] = {
    {"rmsprop", OPTIMIZER_RMSPROP}, {"adam", OPTIMIZER_ADAM}, {NULL, 0}};
static const struct json_word schedules[] = {{"constant", LEARNING_CONSTANT},
                                             {"cosine", LEARNING_COSINE},
                                             {"linear", LEARNING_LINEAR},
                                             {NULL, 0}};
static const struct json_word costs[] = {{"l1", CLOUD_L1}, {"squared", CLOUD_SQUARED}, {NULL, 0}};

#define KEEP .keeps = true /* the value of set_defaults */

/* In the order of keys in models. */
static const struct json_field fields[] = {
    FIELD_CHARS("arch", struct settings, architecture, KEEP),
    FIELD_INTEGER("latent_dim", struct settings, latent_dim, 1, 4096, KEEP),
    FIELD_INTEGER("batch", struct settings, batch, 1, SETTINGS_BATCH_MAX,
                  .otherwise = BATCH_DEFAULT),
    FIELD_INTEGER("pool_batch", struct settings, pool_batch, 0, ATOMS_MOST, KEEP),
    FIELD_INTEGER("atoms", struct settings, atoms, 0, ATOMS_MOST, KEEP),
    FIELD_INTEGER("sinkhorn", struct settings, sinkhorn, 1, 100000, KEEP),
    FIELD_INTEGER("steps", struct settings, steps, 1, SETTINGS_STEPS_MAX, .otherwise = 3000),
    FIELD_WORD("optimizer", struct settings, optimizer, optimizers, .otherwise = OPTIMIZER_ADAM),
    FIELD_NUMBER("learning_rate", struct settings, learning_rate, SETTINGS_RATE_MIN,
                 SETTINGS_RATE_MAX, KEEP),
    FIELD_WORD("schedule", struct settings, schedule, schedules, .otherwise = LEARNING_COSINE),
    FIELD_INTEGER("seed", struct settings, seed, 0, INT64_MAX, .otherwise = 1),
    FIELD_WORD("cost", struct settings, cost, costs, KEEP,
               .remedy = "choose l1 (Laplace's own) or squared (Gaussian's own)"),
    FIELD_NUMBER("regularization", struct settings, regularization, SETTINGS_REGULARIZATION_MIN,
                 SETTINGS_REGULARIZATION_MAX, .otherwise = 1),
    {.key = NULL},
};

/* Atoms or minibatches: giving one turns the other off. */
static dpot_status choose_reports(const json_t *given, size_t dim, size_t n, struct settings *s,
                                  struct dpot_error *error)
{
    const bool has_atoms = json_object_get(given, "atoms") && s->atoms > 0;
    const bool has_batch = json_object_get(given, "pool_batch") && s->pool_batch > 0;
    if (has_atoms && has_batch) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "atoms take the whole pool in every step and pool_batch draws from "
                              "it: give one of them");
    }
    if (has_atoms && dim > ATOMS_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "atoms is %zu and reports have %zu coordinates: at most %d can be "
                              "gathered, give pool_batch",
                              s->atoms, dim, ATOMS_DIM_MAX);
    }
    if (has_batch) {
        s->atoms = 0;
    }
    if (has_atoms) {
        s->pool_batch = 0;
    }
    if (!has_batch && s->atoms == 0) {
        s->pool_batch = REPORTS_PER_POINT * s->batch;
        s->pool_batch = s->pool_batch > ATOMS_MOST ? ATOMS_MOST : s->pool_batch;
    }
    s->pool_batch = s->pool_batch > n ? n : s->pool_batch;
    if (s->atoms == 0 && !json_object_get(given, "sinkhorn")) {
        s->sinkhorn = SINKHORN_DEFAULT;
    }
    return DPOT_OK;
}

dpot_status settings_read(const json_t *given, const char *path, enum dpot_noise noise, size_t dim,
                          size_t n, struct settings *s, struct dpot_error *error)
{
    set_defaults(s, noise, dim, n);
    const dpot_status status = json_read_fields(given, path, fields, NULL, s, error);
    return status == DPOT_OK ? choose_reports(given, dim, n, s, error) : status;
}

json_t *settings_json(const struct settings *s)
{
    return json_write_fields(fields, NULL, s);
}
