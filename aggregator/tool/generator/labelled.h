/* Images (or points) with their classes, and what a classifier makes of them. */
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

/* From the files of two options. DPOT_ERR_SHAPE, DPOT_ERR_RANGE (a label that is no integer of 0 to
 * 255). */
DPOT_WARN_UNUSED dpot_status labelled_load(struct run *run, const char *images, const char *labels,
                                           struct labelled *out);
void labelled_release(struct labelled *labelled);

/* The labels alone, for n points. *out is owned by the caller, freed with dpot_free_array. */
DPOT_WARN_UNUSED dpot_status labels_load(struct run *run, const char *labels, size_t n,
                                         uint8_t **out, size_t *n_classes);

/* Refuses points that lie outside the range, or in so small a part of it that another was meant;
 * --`option` names them. */
DPOT_WARN_UNUSED dpot_status labelled_check_range(struct run *run, const char *option,
                                                  const struct array *points, double lo, double hi);

/* Probabilities and features of n points, in passes of a bounded number of points; either output may
 * be NULL. lo and hi are the range of the points. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status classify(struct run *run, struct classifier *classifier, double lo,
                                      double hi, const double *points, size_t n, size_t dim,
                                      size_t n_classes, float *probabilities /* (n, n_classes) */,
                                      double *features /* (n, n_features) */);

/* Share of the points whose most probable class is their label. */
DPOT_WARN_UNUSED dpot_status labelled_accuracy(struct run *run, const struct classifier_file *file,
                                               const struct labelled *labelled, double *accuracy);

#endif
