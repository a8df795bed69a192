#include "proto/wire_artifact.h"

#include "artifact.pb-c.h"
#include "proto/message.h"

#include <string.h>

#define WIRE_VERSION 1u

/* The message of an artifact, which it borrows from. */
struct artifact_message {
    Dpot__V1__Artifact artifact;
    Dpot__V1__Pool pool;
    Dpot__V1__Number numbers[DPOT_ARTIFACT_NUMBERS_MAX];
    Dpot__V1__Number *pointers[DPOT_ARTIFACT_NUMBERS_MAX];
};

static void fill_numbers(struct artifact_message *message, const struct dpot_artifact *artifact)
{
    message->artifact.n_numbers = artifact->n_numbers;
    message->artifact.numbers = message->pointers;
    for (size_t i = 0; i < artifact->n_numbers; i++) {
        Dpot__V1__Number *number = &message->numbers[i];
        dpot__v1__number__init(number);
        number->name = (char *)artifact->numbers[i].name;
        number->value = artifact->numbers[i].value;
        message->pointers[i] = number;
    }
}

static void fill(struct artifact_message *message, const struct dpot_artifact *artifact)
{
    Dpot__V1__Artifact *m = &message->artifact;
    dpot__v1__artifact__init(m);
    m->version = WIRE_VERSION;
    m->kind = (char *)artifact->kind;
    m->program_version = (char *)artifact->program_version;
    m->campaign_hash = (ProtobufCBinaryData){DPOT_HASH_LEN, (uint8_t *)artifact->campaign_hash};
    m->revision = artifact->revision;
    if (artifact->has_pool) {
        dpot__v1__pool__init(&message->pool);
        message->pool.count = artifact->pool_count;
        message->pool.checksum =
            (ProtobufCBinaryData){DPOT_HASH_LEN, (uint8_t *)artifact->pool_checksum};
        m->pool = &message->pool;
    }
    m->parameters = (char *)artifact->parameters;
    m->n_values = artifact->n_values;
    m->values = artifact->values;
    m->n_counts = artifact->n_counts;
    m->counts = artifact->counts;
    m->model = (ProtobufCBinaryData){artifact->n_model, artifact->model};
    fill_numbers(message, artifact);
}

dpot_status dpot_wire_artifact_encode(const struct dpot_artifact *artifact, struct dpot_buf *out,
                                      struct dpot_error *error)
{
    struct artifact_message message;
    dpot_status status = dpot_artifact_check(artifact, error);
    if (status != DPOT_OK) {
        return status;
    }
    fill(&message, artifact);
    status = dpot_message_append(&message.artifact.base, out);
    return status == DPOT_OK ? status : dpot_error_set(error, status, "no space for the artifact");
}

static dpot_status copy_text(const char *what, const char *text, char *out, size_t cap,
                             struct dpot_error *error)
{
    const size_t len = strlen(text);
    if (len >= cap) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "%s of the artifact has %zu bytes: at most %zu", what, len, cap - 1);
    }
    memcpy(out, text, len + 1);
    return DPOT_OK;
}

static dpot_status copy_hash(const char *what, const ProtobufCBinaryData *bytes,
                             uint8_t out[DPOT_HASH_LEN], struct dpot_error *error)
{
    if (bytes->len != DPOT_HASH_LEN) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "%s of the artifact has %zu bytes: it needs %d", what, bytes->len,
                              DPOT_HASH_LEN);
    }
    memcpy(out, bytes->data, DPOT_HASH_LEN);
    return DPOT_OK;
}

static dpot_status read_texts(const Dpot__V1__Artifact *message, struct dpot_artifact *artifact,
                              struct dpot_error *error)
{
    dpot_status status =
        copy_text("the kind", message->kind, artifact->kind, sizeof artifact->kind, error);
    if (status == DPOT_OK) {
        status = copy_text("the program version", message->program_version,
                           artifact->program_version, sizeof artifact->program_version, error);
    }
    if (status == DPOT_OK) {
        status = copy_text("the parameters", message->parameters, artifact->parameters,
                           sizeof artifact->parameters, error);
    }
    return status == DPOT_OK ? copy_hash("the campaign hash", &message->campaign_hash,
                                         artifact->campaign_hash, error)
                             : status;
}

static dpot_status read_numbers(const Dpot__V1__Artifact *message, struct dpot_artifact *artifact,
                                struct dpot_error *error)
{
    if (message->n_numbers > DPOT_ARTIFACT_NUMBERS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "the artifact has %zu numbers: at most %d",
                              message->n_numbers, DPOT_ARTIFACT_NUMBERS_MAX);
    }
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < message->n_numbers; i++) {
        struct dpot_artifact_number *number = &artifact->numbers[i];
        status = copy_text("the name of a number", message->numbers[i]->name, number->name,
                           sizeof number->name, error);
        number->value = message->numbers[i]->value;
        artifact->n_numbers = i + 1;
    }
    return status;
}

static dpot_status read_arrays(const Dpot__V1__Artifact *message, struct dpot_artifact *artifact,
                               struct dpot_error *error)
{
    const struct dpot_allocator *allocator = artifact->allocator;
    if (message->n_values > DPOT_ARTIFACT_VALUES_MAX ||
        message->n_counts > DPOT_ARTIFACT_VALUES_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the artifact has %zu values and %zu counts: at most %u of each",
                              message->n_values, message->n_counts, DPOT_ARTIFACT_VALUES_MAX);
    }
    artifact->values = dpot_alloc_array(allocator, message->n_values, sizeof *artifact->values);
    artifact->n_values = artifact->values ? message->n_values : 0;
    artifact->counts = dpot_alloc_array(allocator, message->n_counts, sizeof *artifact->counts);
    artifact->n_counts = artifact->counts ? message->n_counts : 0;
    if (!artifact->values || !artifact->counts) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for an artifact");
    }
    if (message->n_values > 0) {
        memcpy(artifact->values, message->values, message->n_values * sizeof *artifact->values);
    }
    if (message->n_counts > 0) {
        memcpy(artifact->counts, message->counts, message->n_counts * sizeof *artifact->counts);
    }
    return DPOT_OK;
}

static dpot_status read_model(const Dpot__V1__Artifact *message, struct dpot_artifact *artifact,
                              struct dpot_error *error)
{
    const ProtobufCBinaryData *model = &message->model;
    if (model->len > DPOT_ARTIFACT_MODEL_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the artifact's model has %zu bytes: at most %u", model->len,
                              DPOT_ARTIFACT_MODEL_MAX);
    }
    if (model->len == 0) {
        return DPOT_OK;
    }
    artifact->model = dpot_alloc_array(artifact->allocator, model->len, 1);
    if (!artifact->model) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for an artifact");
    }
    artifact->n_model = model->len;
    memcpy(artifact->model, model->data, model->len);
    return DPOT_OK;
}

static dpot_status read_artifact(const Dpot__V1__Artifact *message, struct dpot_artifact *artifact,
                                 struct dpot_error *error)
{
    if (message->version != WIRE_VERSION) {
        return dpot_error_set(error, DPOT_ERR_VERSION,
                              "the artifact has version %u, this program knows %u: update it",
                              message->version, WIRE_VERSION);
    }
    dpot_status status = dpot_message_refuse_unknown(&message->base, error);
    if (status == DPOT_OK) {
        status = read_texts(message, artifact, error);
    }
    artifact->revision = message->revision;
    if (status == DPOT_OK && message->pool) {
        artifact->has_pool = true;
        artifact->pool_count = message->pool->count;
        status = copy_hash("the pool checksum", &message->pool->checksum, artifact->pool_checksum,
                           error);
    }
    if (status == DPOT_OK) {
        status = read_numbers(message, artifact, error);
    }
    if (status == DPOT_OK) {
        status = read_arrays(message, artifact, error);
    }
    if (status == DPOT_OK) {
        status = read_model(message, artifact, error);
    }
    return status == DPOT_OK ? dpot_artifact_check(artifact, error) : status;
}

/* Checks that the artifact packs to the bytes it was parsed from. */
static dpot_status check_canonical(const struct dpot_artifact *artifact, const void *data,
                                   size_t len, struct dpot_error *error)
{
    struct artifact_message canonical;
    fill(&canonical, artifact);
    return dpot_message_packs_to(&canonical.artifact.base, data, len)
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the artifact is not in canonical form: encode it again");
}

dpot_status dpot_wire_artifact_decode(const void *data, size_t len,
                                      const struct dpot_allocator *allocator,
                                      struct dpot_artifact *artifact, struct dpot_error *error)
{
    *artifact = (struct dpot_artifact){.allocator = allocator};
    if (len > DPOT_ARTIFACT_BYTES_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "the artifact has %zu bytes: at most %u",
                              len, DPOT_ARTIFACT_BYTES_MAX);
    }
    struct dpot_arena arena;
    ProtobufCMessage *base = NULL;
    dpot_arena_init(&arena, DPOT_MESSAGE_CEILING(len), allocator);
    dpot_status status =
        dpot_message_unpack(&dpot__v1__artifact__descriptor, data, len, &arena, &base, error);
    if (status == DPOT_OK) {
        status = read_artifact((const Dpot__V1__Artifact *)base, artifact, error);
    }
    if (status == DPOT_OK) {
        status = check_canonical(artifact, data, len, error);
    }
    dpot_arena_release(&arena);
    if (status != DPOT_OK) {
        dpot_artifact_release(artifact);
    }
    return status;
}
