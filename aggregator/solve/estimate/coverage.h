/* Which classes a generator makes, as a classifier sees it.
 *
 * A class is covered when its share is at least COVERAGE_SHARE_MIN. Shares find a generator that has
 * dropped classes; confidence alone finds nothing (the mean image of MNIST is a confident digit). */
#ifndef DPOT_SOLVE_ESTIMATE_COVERAGE_H
#define DPOT_SOLVE_ESTIMATE_COVERAGE_H

#include <stddef.h>

#define COVERAGE_CLASSES_MAX 1000
#define COVERAGE_SHARE_MIN 0.03

struct coverage {
    size_t n_classes;
    double shares[COVERAGE_CLASSES_MAX]; /* of the samples, by the most probable class; ties to the
                                          * lowest */
    double smallest;                     /* of the shares */
    size_t n_covered;                    /* classes of at least COVERAGE_SHARE_MIN */
    double confidence;                   /* mean probability of the most probable class */
};

/* From the classifier's probabilities; n >= 1, n_classes <= COVERAGE_CLASSES_MAX. */
void coverage_find(const float *probabilities /* (n, n_classes) */,
                   const double *weights /* (n) sum 1; NULL: equal */, size_t n, size_t n_classes,
                   struct coverage *coverage);

/* Half the sum of absolute differences of the shares: the part of the samples in the wrong class. */
double coverage_distance(const struct coverage *a, const struct coverage *b);

#endif
