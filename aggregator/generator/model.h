/* A trained generator: a network, its latent distribution, the range of its points, and notes on
 * its origin. The file is an ONNX model that any runtime can run:
 *
 *     input  z (n, latent_dim) float32   coordinates independent, uniform on (-sqrt 3, sqrt 3)
 *     output x (n, dim) float32          points in the units of the data
 *
 *     struct generator_model model = {.network = net};            after training
 *     generator_model_note(&model, "epsilon", "5", &error);
 *     generator_model_save(&model, "model.onnx", &error);
 *     generator_model_release(&model);                            frees the network too
 *
 *     struct generator_setup setup = {.max_batch = 400, .linalg = ..., .team = ...};
 *     generator_model_load("model.onnx", &setup, &model, &error);
 *     generator_model_sample(&model, seed, n, out);
 *
 * Architecture, sizes and range are metadata with keys that begin with "dpot."; notes have other
 * keys. Only files written by this program are read: a file is accepted if encoding the decoded
 * model reproduces its bytes. Training is post-processing: the privacy of a generator is that of
 * the reports it was trained on. */
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

/* Resources of a loaded network. */
struct generator_setup {
    size_t max_batch;
    const struct dpot_linalg_f32 *linalg; /* as in network.h */
    struct team *team;
    const struct dpot_allocator *allocator;
};

/* Frees the network and the notes; a zeroed model is allowed. */
void generator_model_release(struct generator_model *model);

/* Adds a note or replaces the one with this key. Keys and values are text without control
 * characters.
 * DPOT_ERR_RANGE: a key that is empty, too long or begins with "dpot.", or a value that is too
 * long. DPOT_ERR_TOO_LARGE: too many notes. DPOT_ERR_MEMORY. On failure nothing is changed. */
DPOT_WARN_UNUSED dpot_status generator_model_note(struct generator_model *model, const char *key,
                                                  const char *value, struct dpot_error *error);

/* The value of a note, borrowed; NULL: none. */
const char *generator_model_find_note(const struct generator_model *model, const char *key);

/* Appends the bytes of the file to out. DPOT_ERR_RANGE: the network is not a generator (conv28). */
DPOT_WARN_UNUSED dpot_status generator_model_encode(const struct generator_model *model,
                                                    struct dpot_buf *out, struct dpot_error *error);

/* Decodes and validates a file. DPOT_ERR_MALFORMED, DPOT_ERR_VERSION, DPOT_ERR_SHAPE,
 * DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY, with a message; *model is zeroed. */
DPOT_WARN_UNUSED dpot_status generator_model_decode(const void *data, size_t len,
                                                    const struct generator_setup *setup,
                                                    struct generator_model *model,
                                                    struct dpot_error *error);

/* Encode to a file and decode from a file. Statuses as above and DPOT_ERR_IO, with the path. */
DPOT_WARN_UNUSED dpot_status generator_model_save(const struct generator_model *model,
                                                  const char *path, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status generator_model_load(const char *path,
                                                  const struct generator_setup *setup,
                                                  struct generator_model *model,
                                                  struct dpot_error *error);

/* n points from latents drawn by (seed, block of 256 points), so a larger n begins with the same
 * points. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status generator_model_sample(struct generator_model *model, uint64_t seed,
                                                    size_t n, float *out /* (n, dim) */);

#endif
