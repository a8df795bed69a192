#include "solve/estimate/coverage.h"

#include <math.h>

static size_t most_probable(const float *probabilities, size_t n_classes)
{
    size_t best = 0;
    for (size_t k = 1; k < n_classes; k++) {
        best = probabilities[k] > probabilities[best] ? k : best;
    }
    return best;
}

void coverage_find(const float *probabilities, const double *weights, size_t n, size_t n_classes,
                   struct coverage *coverage)
{
    *coverage = (struct coverage){.n_classes = n_classes, .smallest = 1};
    for (size_t i = 0; i < n; i++) {
        const float *row = probabilities + i * n_classes;
        const double weight = weights ? weights[i] : 1;
        const size_t class = most_probable(row, n_classes);
        coverage->shares[class] += weight;
        coverage->confidence += weight * (double)row[class];
    }
    const double total = weights ? 1 : (double)n; /* counts are exact; sums of 1 / n are not */
    coverage->confidence /= total;
    for (size_t k = 0; k < n_classes; k++) {
        coverage->shares[k] /= total;
        coverage->smallest = fmin(coverage->smallest, coverage->shares[k]);
        coverage->n_covered += coverage->shares[k] >= COVERAGE_SHARE_MIN;
    }
}

double coverage_distance(const struct coverage *a, const struct coverage *b)
{
    double sum = 0;
    for (size_t k = 0; k < a->n_classes && k < b->n_classes; k++) {
        sum += fabs(a->shares[k] - b->shares[k]);
    }
    return sum / 2;
}
