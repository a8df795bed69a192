#include "generator/settings.h"

#include "generator/atoms.h"

#include <string.h>

/* In few dimensions the whole pool is seen in every step; images and other long vectors are drawn, four
 * reports for each generated point. */
#define ATOMS_DEFAULT 4096
#define BATCH_DEFAULT 400
#define REPORTS_PER_POINT 4
#define SINKHORN_DEFAULT 60
#define SINKHORN_CARRIED 20 /* atoms keep their potentials from step to step */
#define STEPS_DEFAULT 3000
#define IMAGE_DIM 784

static void set_defaults(struct settings *s, enum dpot_noise noise, size_t dim, size_t n)
{
    const bool is_image = dim == IMAGE_DIM, is_small = dim <= ATOMS_DIM_MAX;
    const char *architecture = is_image ? "resize28:24,12,128" : "mlp:256,256";
    memset(s, 0, sizeof *s);
    memcpy(s->architecture, architecture, strlen(architecture) + 1);
    s->latent_dim = is_image ? 10 : is_small ? 2 : 16;
    s->batch = BATCH_DEFAULT;
    s->sinkhorn = SINKHORN_CARRIED;
    s->steps = STEPS_DEFAULT;
    s->optimizer = OPTIMIZER_ADAM;
    s->learning_rate = is_image ? 3e-3 : is_small ? 2e-3 : 1e-3;
    s->schedule = LEARNING_COSINE;
    s->seed = 1;
    s->cost = noise == DPOT_NOISE_LAPLACE ? CLOUD_L1 : CLOUD_SQUARED;
    s->regularization = 1.0;
    s->atoms = is_small ? ATOMS_DEFAULT : 0;
    s->pool_batch = is_small ? 0 : REPORTS_PER_POINT * BATCH_DEFAULT;
    s->pool_batch = s->pool_batch > n ? n : s->pool_batch;
}

/* ---- single keys; a missing one leaves what is there ---- */

static dpot_status size_of(const json_t *given, const char *key, int64_t min, int64_t max,
                           size_t *out, struct dpot_error *error)
{
    int64_t value = 0;
    const dpot_status status = json_get_integer(given, "parameters", key, min, max, &value, error);
    if (status == DPOT_OK) {
        *out = (size_t)value;
    }
    return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
}

static dpot_status number_of(const json_t *given, const char *key, double min, double max,
                             double *out, struct dpot_error *error)
{
    const dpot_status status = json_get_number(given, "parameters", key, min, max, out, error);
    return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
}

static dpot_status wrong_word(const char *key, const char *word, const char *words,
                              struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_RANGE, "%s is %.40s: give %s", key, word, words);
}

static dpot_status words_of(const json_t *given, struct settings *s, struct dpot_error *error)
{
    const char *optimizer = optimizer_name(s->optimizer);
    const char *schedule = learning_schedule_name(s->schedule);
    const char *cost = s->cost == CLOUD_L1 ? "l1" : "squared", *architecture = s->architecture;
    const struct {
        const char *key, **out;
    } texts[] = {{"optimizer", &optimizer},
                 {"schedule", &schedule},
                 {"cost", &cost},
                 {"arch", &architecture}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const dpot_status status =
            json_get_string(given, "parameters", texts[i].key, texts[i].out, error);
        if (status != DPOT_OK && status != DPOT_ERR_NOT_FOUND) {
            return status;
        }
    }
    if (!optimizer_find(optimizer, &s->optimizer)) {
        return wrong_word("optimizer", optimizer, "rmsprop or adam", error);
    }
    if (!learning_schedule_find(schedule, &s->schedule)) {
        return wrong_word("schedule", schedule, "constant, cosine or linear", error);
    }
    if (strcmp(cost, "l1") != 0 && strcmp(cost, "squared") != 0) {
        return wrong_word("cost", cost, "l1 (Laplace's own) or squared (Gaussian's own)", error);
    }
    s->cost = strcmp(cost, "l1") == 0 ? CLOUD_L1 : CLOUD_SQUARED;
    if (strlen(architecture) > ARCHITECTURE_NAME_MAX) {
        return wrong_word("arch", architecture, "mlp:256,256 or dcgan28:32", error);
    }
    memmove(s->architecture, architecture, strlen(architecture) + 1);
    return DPOT_OK;
}

static dpot_status numbers_of(const json_t *given, struct settings *s, struct dpot_error *error)
{
    const struct {
        const char *key;
        int64_t min, max;
        size_t *out;
    } sizes[] = {
        {"latent_dim", 1, 4096, &s->latent_dim},       {"batch", 1, SETTINGS_BATCH_MAX, &s->batch},
        {"pool_batch", 0, ATOMS_MOST, &s->pool_batch}, {"atoms", 0, ATOMS_MOST, &s->atoms},
        {"sinkhorn", 1, 100000, &s->sinkhorn},         {"steps", 1, SETTINGS_STEPS_MAX, &s->steps},
    };
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof sizes / sizeof sizes[0]; i++) {
        status = size_of(given, sizes[i].key, sizes[i].min, sizes[i].max, sizes[i].out, error);
    }
    if (status == DPOT_OK) {
        status = number_of(given, "learning_rate", SETTINGS_RATE_MIN, SETTINGS_RATE_MAX,
                           &s->learning_rate, error);
    }
    if (status == DPOT_OK) {
        status = number_of(given, "regularization", SETTINGS_REGULARIZATION_MIN,
                           SETTINGS_REGULARIZATION_MAX, &s->regularization, error);
    }
    int64_t seed = (int64_t)s->seed;
    if (status == DPOT_OK) {
        status = json_get_integer(given, "parameters", "seed", 0, INT64_MAX, &seed, error);
        status = status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
    }
    s->seed = (uint64_t)seed;
    return status;
}

/* Atoms or minibatches: naming one leaves the other out. */
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

dpot_status settings_read(const json_t *given, enum dpot_noise noise, size_t dim, size_t n,
                          struct settings *s, struct dpot_error *error)
{
    static const char *const known[] = {
        "arch",      "latent_dim",    "batch",    "pool_batch", "atoms", "sinkhorn",       "steps",
        "optimizer", "learning_rate", "schedule", "seed",       "cost",  "regularization", NULL};
    set_defaults(s, noise, dim, n);
    dpot_status status = json_check_keys(given, "parameters", known, error);
    if (status == DPOT_OK) {
        status = words_of(given, s, error);
    }
    if (status == DPOT_OK) {
        status = numbers_of(given, s, error);
    }
    return status == DPOT_OK ? choose_reports(given, dim, n, s, error) : status;
}

json_t *settings_json(const struct settings *s)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:s, s:I, s:s, s:f}", "arch",
                     s->architecture, "latent_dim", (json_int_t)s->latent_dim, "batch",
                     (json_int_t)s->batch, "pool_batch", (json_int_t)s->pool_batch, "atoms",
                     (json_int_t)s->atoms, "sinkhorn", (json_int_t)s->sinkhorn, "steps",
                     (json_int_t)s->steps, "optimizer", optimizer_name(s->optimizer),
                     "learning_rate", s->learning_rate, "schedule",
                     learning_schedule_name(s->schedule), "seed", (json_int_t)s->seed, "cost",
                     s->cost == CLOUD_L1 ? "l1" : "squared", "regularization", s->regularization);
}
