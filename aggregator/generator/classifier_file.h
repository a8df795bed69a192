/* A trained classifier and the range of its points, in one JSON file:
 *
 *     {"format": "dpot classifier", "version": 1, "architecture": "conv28:16,32,128", "dim": 784,
 *      "classes": 10, "range": [0, 255], "images": 60000, "seed": 1, "test_accuracy": 0.989,
 *      "parameters": [...]}
 *
 * The network takes points with `range` mapped to [0, 1]. test_accuracy is null without test
 * images. Files are validated: unknown keys, a number of parameters that differs from the
 * architecture's, and values that are not finite in float32 are refused. */
#ifndef DPOT_GENERATOR_CLASSIFIER_FILE_H
#define DPOT_GENERATOR_CLASSIFIER_FILE_H

#include "solve/learn/classifier.h"

struct classifier_file {
    char architecture[ARCHITECTURE_NAME_MAX + 1];
    size_t dim, n_classes;
    double lo, hi; /* of the points: lo < hi */
    uint64_t n_images, seed;
    double test_accuracy;          /* NaN: unknown */
    struct classifier *classifier; /* owned */
};

/* Resources of the network. */
struct classifier_setup {
    size_t batch;
    const struct dpot_linalg_f32 *linalg;
    struct team *team;
};

/* Creates a classifier from the architecture, dim, n_classes and seed in *file. On failure
 * `classifier` is NULL; statuses as classifier_new. */
DPOT_WARN_UNUSED dpot_status classifier_file_make(const struct classifier_setup *setup,
                                                  struct classifier_file *file,
                                                  struct dpot_error *error);
void classifier_file_release(struct classifier_file *file);

DPOT_WARN_UNUSED dpot_status classifier_file_save(const struct classifier_file *file,
                                                  const char *path, struct dpot_error *error);

/* Reads a file. DPOT_ERR_IO, DPOT_ERR_MALFORMED, DPOT_ERR_VERSION, DPOT_ERR_RANGE, DPOT_ERR_SHAPE,
 * DPOT_ERR_MEMORY, with the path; *file is zeroed. */
DPOT_WARN_UNUSED dpot_status classifier_file_load(const char *path,
                                                  const struct classifier_setup *setup,
                                                  struct classifier_file *file,
                                                  struct dpot_error *error);

/* Maps [lo, hi] to [0, 1], the input of the network; points outside are not clamped. */
void classifier_file_scale(double lo, double hi, const double *points, size_t n,
                           float *out /* (n) */);

#endif
