/* Images (or points) with their classes, and their classification. */
#ifndef DPOT_TOOL_GENERATOR_LABELLED_H
#define DPOT_TOOL_GENERATOR_LABELLED_H

#include "files/array.h"
#include "generator/classifier_file.h"
#include "tool/shared/command.h"

struct labelled {
    struct array points; /* (n, dim) finite */
    uint8_t *labels;     /* (n) owned */
    size_t n_classes;    /* largest label + 1 */
};

/* Loads the files of two options. DPOT_ERR_SHAPE; DPOT_ERR_RANGE: a label is not an integer from 0
 * to 255. */
DPOT_WARN_UNUSED dpot_status labelled_load(struct run *run, const char *images, const char *labels,
                                           struct labelled *out);
void labelled_release(struct labelled *labelled);

/* Loads the labels alone, for n points. *out (n) is freed with dpot_free_array. */
DPOT_WARN_UNUSED dpot_status labels_load(struct run *run, const char *labels, size_t n,
                                         uint8_t **out, size_t *n_classes);

/* Refuses points of --`option` that lie outside the range, or in so small a part of it that another
 * range must be meant. */
DPOT_WARN_UNUSED dpot_status labelled_check_range(struct run *run, const char *option,
                                                  const struct array *points, double lo, double hi);

/* Probabilities and features of n points with range [lo, hi], in passes of bounded size; either
 * output may be NULL. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status classify(struct run *run, struct classifier *classifier, double lo,
                                      double hi, const double *points, size_t n, size_t dim,
                                      size_t n_classes, float *probabilities /* (n, n_classes) */,
                                      double *features /* (n, n_features) */);

/* The share of points whose most probable class is their label. */
DPOT_WARN_UNUSED dpot_status labelled_accuracy(struct run *run, const struct classifier_file *file,
                                               const struct labelled *labelled, double *accuracy);

#endif
