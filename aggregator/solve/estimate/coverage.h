/* Class coverage of a generator, as measured by a classifier.
 *
 * A class is covered if its share is at least COVERAGE_SHARE_MIN. Shares reveal a generator that
 * has dropped classes; confidence alone does not (the mean image of MNIST is classified
 * confidently). */
#ifndef DPOT_SOLVE_ESTIMATE_COVERAGE_H
#define DPOT_SOLVE_ESTIMATE_COVERAGE_H

#include <stddef.h>

#define COVERAGE_CLASSES_MAX 1000
#define COVERAGE_SHARE_MIN 0.03

struct coverage {
    size_t n_classes;
    double shares[COVERAGE_CLASSES_MAX]; /* of samples per most probable class (ties: lowest) */
    double smallest;                     /* smallest share */
    size_t n_covered;                    /* classes with share >= COVERAGE_SHARE_MIN */
    double confidence;                   /* mean probability of the most probable class */
};

/* From the classifier's probabilities; n >= 1, n_classes <= COVERAGE_CLASSES_MAX. */
void coverage_find(const float *probabilities /* (n, n_classes) */,
                   const double *weights /* (n) sum 1; NULL: equal */, size_t n, size_t n_classes,
                   struct coverage *coverage);

/* Total variation distance of the shares: the fraction of samples in a wrong class. */
double coverage_distance(const struct coverage *a, const struct coverage *b);

#endif
