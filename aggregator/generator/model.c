#include "generator/model.h"

#include "files/output.h"
#include "generator/onnx_graph.h"
#include "solve/run/draw.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "1"
#define PREFIX "dpot."
#define LATENT "independent coordinates, uniform on (-sqrt 3, sqrt 3)"
#define SAMPLE_BLOCK 256 /* points per block */

static const char *const bound_names[] = {"none", "tanh", "sigmoid"};

/* ---- notes ---- */

void generator_model_release(struct generator_model *model)
{
    for (size_t i = 0; i < model->n_notes; i++) {
        char *value = model->notes[i].value;
        dpot_free_array(model->allocator, value, strlen(value) + 1, 1);
    }
    network_free(model->network);
    *model = (struct generator_model){0};
}

static bool is_text(const char *text, size_t most)
{
    size_t len = 0;
    for (; text[len] != '\0'; len++) {
        if ((unsigned char)text[len] < ' ' || len >= most) {
            return false;
        }
    }
    return true;
}

static size_t find_note(const struct generator_model *model, const char *key)
{
    size_t i = 0;
    while (i < model->n_notes && strcmp(model->notes[i].key, key) != 0) {
        i++;
    }
    return i;
}

const char *generator_model_find_note(const struct generator_model *model, const char *key)
{
    const size_t i = find_note(model, key);
    return i < model->n_notes ? model->notes[i].value : NULL;
}

static dpot_status check_note(const char *key, const char *value, struct dpot_error *error)
{
    if (key[0] == '\0' || !is_text(key, GENERATOR_KEY_MAX) ||
        strncmp(key, PREFIX, strlen(PREFIX)) == 0) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "the key of a note is \"%.80s\": give 1 to %d printable bytes that do "
            "not begin with %s",
            key, GENERATOR_KEY_MAX, PREFIX);
    }
    if (!is_text(value, GENERATOR_VALUE_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the note %s is longer than %d bytes or has control characters: "
                              "shorten it",
                              key, GENERATOR_VALUE_MAX);
    }
    return DPOT_OK;
}

dpot_status generator_model_note(struct generator_model *model, const char *key, const char *value,
                                 struct dpot_error *error)
{
    const dpot_status status = check_note(key, value, error);
    if (status != DPOT_OK) {
        return status;
    }
    const size_t i = find_note(model, key), len = strlen(value);
    if (i == GENERATOR_NOTES_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "a model has at most %d notes",
                              GENERATOR_NOTES_MAX);
    }
    char *copy = dpot_alloc_array(model->allocator, len + 1, 1);
    if (!copy) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for a note");
    }
    memcpy(copy, value, len + 1);
    struct generator_note *note = &model->notes[i];
    if (i < model->n_notes) {
        dpot_free_array(model->allocator, note->value, strlen(note->value) + 1, 1);
    } else {
        memcpy(note->key, key, strlen(key) + 1);
        model->n_notes++;
    }
    note->value = copy;
    return DPOT_OK;
}

/* ---- metadata: the network as text ---- */

#define FACTS 9

struct facts {
    char texts[FACTS][ARCHITECTURE_NAME_MAX + 1];
};

/* The number of notes is included, so that a file cut off between two notes is detected. */
static const char *const fact_keys[FACTS] = {
    PREFIX "format", PREFIX "architecture", PREFIX "latent", PREFIX "latent_dim", PREFIX "dim",
    PREFIX "bound",  PREFIX "lo",           PREFIX "hi",     PREFIX "notes"};

static void write_facts(const struct architecture *a, size_t n_notes, struct facts *facts)
{
    const struct layer *last = &a->layers[a->n_layers - 1];
    const size_t len = sizeof facts->texts[0];
    (void)snprintf(facts->texts[0], len, "%s", FORMAT);
    (void)snprintf(facts->texts[1], len, "%s", a->name);
    (void)snprintf(facts->texts[2], len, "%s", LATENT);
    (void)snprintf(facts->texts[3], len, "%zu", a->in_dim);
    (void)snprintf(facts->texts[4], len, "%zu", a->out_dim);
    (void)snprintf(facts->texts[5], len, "%s", bound_names[last->bound]);
    (void)snprintf(facts->texts[6], len, "%.9g", (double)last->lo);
    (void)snprintf(facts->texts[7], len, "%.9g", (double)last->hi);
    (void)snprintf(facts->texts[8], len, "%zu", n_notes);
}

/* A number in digits only; 0 if invalid or too large. */
static size_t read_size(const char *text)
{
    size_t value = 0;
    for (; *text >= '0' && *text <= '9' && value <= ARCHITECTURE_DIM_MAX; text++) {
        value = 10 * value + (size_t)(*text - '0');
    }
    return *text == '\0' && value <= ARCHITECTURE_DIM_MAX ? value : 0;
}

static dpot_status read_facts(const struct dpot_onnx_graph *graph, struct architecture *a,
                              struct dpot_error *error)
{
    for (size_t i = 0; i < FACTS; i++) {
        if (graph->n_pairs <= i || strcmp(graph->pairs[i].key, fact_keys[i]) != 0) {
            return dpot_error_set(error, DPOT_ERR_MALFORMED,
                                  "the model has no metadata %s: only models that dpot wrote can "
                                  "be read",
                                  fact_keys[i]);
        }
    }
    if (strcmp(graph->pairs[0].value, FORMAT) != 0) {
        return dpot_error_set(error, DPOT_ERR_VERSION,
                              "the model has format %.20s, this program knows %s: update it",
                              graph->pairs[0].value, FORMAT);
    }
    enum network_bound bound = NETWORK_UNBOUNDED;
    while (bound < NETWORK_SIGMOID && strcmp(graph->pairs[5].value, bound_names[bound]) != 0) {
        bound = (enum network_bound)(bound + 1);
    }
    return architecture_parse(
        graph->pairs[1].value, read_size(graph->pairs[3].value), read_size(graph->pairs[4].value),
        bound, strtof(graph->pairs[6].value, NULL), strtof(graph->pairs[7].value, NULL), a, error);
}

/* ---- bytes ---- */

dpot_status generator_model_encode(const struct generator_model *model, struct dpot_buf *out,
                                   struct dpot_error *error)
{
    struct dpot_onnx_pair pairs[FACTS + GENERATOR_NOTES_MAX];
    struct facts facts;
    struct onnx_graph *onnx = dpot_alloc_array(model->allocator, 1, sizeof *onnx);
    if (!onnx) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory to save the model");
    }
    dpot_status status = onnx_graph_init(onnx, model->network, model->allocator, error);
    if (status == DPOT_OK) {
        write_facts(network_architecture(model->network), model->n_notes, &facts);
        for (size_t i = 0; i < FACTS; i++) {
            pairs[i] = (struct dpot_onnx_pair){fact_keys[i], facts.texts[i]};
        }
        for (size_t i = 0; i < model->n_notes; i++) {
            pairs[FACTS + i] = (struct dpot_onnx_pair){model->notes[i].key, model->notes[i].value};
        }
        onnx->graph.producer = "dpot";
        onnx->graph.producer_version = FORMAT;
        onnx->graph.name = "generator";
        onnx->graph.description = "x = G(z); coordinates of z: " LATENT;
        onnx->graph.pairs = pairs;
        onnx->graph.n_pairs = FACTS + model->n_notes;
        status = dpot_wire_onnx_encode(&onnx->graph, out, error);
    }
    onnx_graph_release(onnx);
    dpot_free_array(model->allocator, onnx, 1, sizeof *onnx);
    return status;
}

/* Compares the number of values with the architecture before a network is allocated. */
static dpot_status check_size(const struct dpot_onnx_graph *graph, const struct architecture *a,
                              struct dpot_error *error)
{
    size_t n = 0;
    for (size_t i = 0; i < graph->n_tensors; i++) {
        n += graph->tensors[i].floats ? graph->tensors[i].n_values : 0;
    }
    return n == onnx_graph_n_values(a)
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_SHAPE,
                                "the model has %zu values, %s has %zu: the file is damaged", n,
                                a->name, onnx_graph_n_values(a));
}

static dpot_status open_network(const struct architecture *a, const struct generator_setup *setup,
                                struct network **net, struct dpot_error *error)
{
    const struct layer *last = &a->layers[a->n_layers - 1];
    const struct network_config config = {.architecture = a->name,
                                          .latent_dim = a->in_dim,
                                          .dim = a->out_dim,
                                          .bound = last->bound,
                                          .lo = last->lo,
                                          .hi = last->hi,
                                          .max_batch = setup->max_batch,
                                          .linalg = setup->linalg,
                                          .team = setup->team,
                                          .allocator = setup->allocator};
    return network_new(&config, net, error);
}

static dpot_status read_notes(const struct dpot_onnx_graph *graph, struct generator_model *model,
                              struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    for (size_t i = FACTS; i < graph->n_pairs && status == DPOT_OK; i++) {
        status = generator_model_note(model, graph->pairs[i].key, graph->pairs[i].value, error);
    }
    return status;
}

static dpot_status check_reencoded(const struct generator_model *model, const void *data,
                                   size_t len, struct dpot_error *error)
{
    struct dpot_buf again;
    dpot_buf_init(&again, DPOT_ONNX_BYTES_MAX, model->allocator);
    dpot_status status = generator_model_encode(model, &again, error);
    if (status == DPOT_OK && (again.len != len || memcmp(again.data, data, len) != 0)) {
        status = dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the model differs from its metadata: only models that dpot wrote "
                                "can be read");
    }
    dpot_buf_release(&again);
    return status;
}

static dpot_status read_model(const struct dpot_onnx_graph *graph,
                              const struct generator_setup *setup, struct generator_model *model,
                              struct dpot_error *error)
{
    struct architecture architecture;
    dpot_status status = read_facts(graph, &architecture, error);
    if (status == DPOT_OK) {
        status = check_size(graph, &architecture, error);
    }
    if (status == DPOT_OK) {
        status = open_network(&architecture, setup, &model->network, error);
    }
    if (status == DPOT_OK) {
        status = onnx_graph_read(graph, model->network, error);
    }
    return status == DPOT_OK ? read_notes(graph, model, error) : status;
}

dpot_status generator_model_decode(const void *data, size_t len,
                                   const struct generator_setup *setup,
                                   struct generator_model *model, struct dpot_error *error)
{
    struct dpot_arena arena;
    struct dpot_onnx_graph graph;
    *model = (struct generator_model){.allocator = setup->allocator};
    dpot_arena_init(&arena, DPOT_ONNX_MEMORY(len), setup->allocator);
    dpot_status status = dpot_wire_onnx_decode(data, len, &arena, &graph, error);
    if (status == DPOT_OK) {
        status = read_model(&graph, setup, model, error);
    }
    dpot_arena_release(&arena);
    if (status == DPOT_OK) {
        status = check_reencoded(model, data, len, error);
    }
    if (status != DPOT_OK) {
        generator_model_release(model);
    }
    return status;
}

/* ---- files ---- */

dpot_status generator_model_save(const struct generator_model *model, const char *path,
                                 struct dpot_error *error)
{
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_ONNX_BYTES_MAX, model->allocator);
    dpot_status status = generator_model_encode(model, &bytes, error);
    if (status == DPOT_OK) {
        status = output_write(path, bytes.data, bytes.len, error);
    }
    dpot_buf_release(&bytes);
    return status;
}

static dpot_status read_stream(FILE *stream, struct dpot_buf *out)
{
    uint8_t part[1 << 14];
    dpot_status status = DPOT_OK;
    size_t len = fread(part, 1, sizeof part, stream);
    while (len > 0 && status == DPOT_OK) {
        status = dpot_buf_append(out, part, len);
        len = fread(part, 1, sizeof part, stream);
    }
    return status == DPOT_OK && ferror(stream) ? DPOT_ERR_IO : status;
}

dpot_status generator_model_load(const char *path, const struct generator_setup *setup,
                                 struct generator_model *model, struct dpot_error *error)
{
    struct dpot_buf bytes;
    *model = (struct generator_model){0};
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        return dpot_error_set(error, DPOT_ERR_IO, "%s: %s", path, strerror(errno));
    }
    dpot_buf_init(&bytes, DPOT_ONNX_BYTES_MAX, setup->allocator);
    dpot_status status = read_stream(stream, &bytes);
    (void)fclose(stream);
    if (status == DPOT_OK) {
        status = generator_model_decode(bytes.data, bytes.len, setup, model, error);
        status = status == DPOT_OK ? status : dpot_error_prefix(error, status, "%s", path);
    } else {
        status =
            dpot_error_set(error, status, "%s cannot be read: %s", path, dpot_status_text(status));
    }
    dpot_buf_release(&bytes);
    return status;
}

/* ---- points ---- */

dpot_status generator_model_sample(struct generator_model *model, uint64_t seed, size_t n,
                                   float *out)
{
    const struct architecture *a = network_architecture(model->network);
    float *z = dpot_alloc_array(model->allocator, SAMPLE_BLOCK * a->in_dim, sizeof *z);
    if (!z) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t at = 0; at < n; at += SAMPLE_BLOCK) {
        const size_t part = n - at < SAMPLE_BLOCK ? n - at : SAMPLE_BLOCK;
        latent_draw(seed, at / SAMPLE_BLOCK, part, a->in_dim, z);
        network_forward(model->network, z, part, NETWORK_INFER, out + at * a->out_dim);
    }
    dpot_free_array(model->allocator, z, SAMPLE_BLOCK * a->in_dim, sizeof *z);
    return DPOT_OK;
}
