/* A trained generator: a network, the latent distribution it was trained with, the range of its
 * points, and notes on where it comes from. Its file is an ONNX model, which any runtime can run:
 *
 *     input  z (n, latent_dim) float32   coordinates independent, uniform on (-sqrt 3, sqrt 3)
 *     output x (n, dim) float32          points in the units of the data
 *
 *     struct generator_model model = {.network = net};            after training
 *     generator_model_note(&model, "epsilon", "5", &error);
 *     generator_model_save(&model, "model.onnx", &error);
 *     generator_model_release(&model);                            the network too
 *
 *     struct generator_setup setup = {.max_batch = 400, .linalg = ..., .team = ...};
 *     generator_model_load("model.onnx", &setup, &model, &error);
 *     generator_model_sample(&model, seed, n, out);
 *
 * Architecture, sizes and range are in the metadata under keys that begin with "dpot."; notes have
 * keys of their own. Only files that this program wrote are read: a file is accepted when writing
 * the model again gives its bytes. The privacy of a generator is that of the reports it was trained
 * on, whatever was done with them since. */
#ifndef DPOT_GENERATOR_MODEL_H
#define DPOT_GENERATOR_MODEL_H

#include "base/buf.h"
#include "solve/learn/network.h"

#define GENERATOR_NOTES_MAX 40
#define GENERATOR_KEY_MAX 60 /* bytes */
#define GENERATOR_VALUE_MAX 4000

struct generator_note {
    char key[GENERATOR_KEY_MAX + 1];
    char *value;
};

struct generator_model {
    struct network *network;
    struct generator_note notes[GENERATOR_NOTES_MAX];
    size_t n_notes;
    const struct dpot_allocator *allocator;
};

/* How the network of a loaded model is to work. */
struct generator_setup {
    size_t max_batch;
    const struct dpot_linalg_f32 *linalg; /* as in network.h */
    struct team *team;
    const struct dpot_allocator *allocator;
};

/* Frees network and notes; a zeroed model is allowed. */
void generator_model_release(struct generator_model *model);

/* Adds a note or replaces the one with this key. Keys and values are text without control
 * characters. DPOT_ERR_RANGE (a key that is empty, too long or begins with "dpot.", a value too
 * long), DPOT_ERR_TOO_LARGE (too many notes), DPOT_ERR_MEMORY: nothing is changed. */
DPOT_WARN_UNUSED dpot_status generator_model_note(struct generator_model *model, const char *key,
                                                  const char *value, struct dpot_error *error);

/* NULL when there is none. Borrowed. */
const char *generator_model_find_note(const struct generator_model *model, const char *key);

/* Appends the bytes of the file. DPOT_ERR_RANGE: the network is not a generator (conv28). */
DPOT_WARN_UNUSED dpot_status generator_model_encode(const struct generator_model *model,
                                                    struct dpot_buf *out, struct dpot_error *error);

/* *model is zeroed on failure. DPOT_ERR_MALFORMED, DPOT_ERR_VERSION, DPOT_ERR_SHAPE,
 * DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY, each with a sentence. */
DPOT_WARN_UNUSED dpot_status generator_model_decode(const void *data, size_t len,
                                                    const struct generator_setup *setup,
                                                    struct generator_model *model,
                                                    struct dpot_error *error);

/* The same to and from a file, whose path is in the sentences. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status generator_model_save(const struct generator_model *model,
                                                  const char *path, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status generator_model_load(const char *path,
                                                  const struct generator_setup *setup,
                                                  struct generator_model *model,
                                                  struct dpot_error *error);

/* Points from latent ones drawn by (seed, block of 256 points): more points begin with the same
 * ones. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status generator_model_sample(struct generator_model *model, uint64_t seed,
                                                    size_t n, float *out /* (n, dim) */);

#endif
