#include "tool/generator/labelled.h"

#include "base/alloc.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"

#include <math.h>
#include <string.h>

#define PASS 500       /* points per pass of the network */
#define OUTSIDE 0.01   /* share of the range by which a point may lie outside it */
#define SPREAD_MIN 0.2 /* share of the range that the points must cover */

dpot_status labels_load(struct run *run, const char *labels, size_t n, uint8_t **out,
                        size_t *n_classes)
{
    struct array array;
    *out = NULL;
    *n_classes = 0;
    dpot_status status = load_array(run, labels, &array);
    if (status == DPOT_OK && array.n_rows * array.n_cols != n) {
        status = dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                                "--%s %s has %zu labels for %zu images: they must agree", labels,
                                option_text(run, labels), array.n_rows * array.n_cols, n);
    }
    if (status == DPOT_OK) {
        *out = dpot_alloc_array(NULL, n, sizeof **out);
        status = *out ? DPOT_OK : DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        const double value = array.values[i];
        if (!(value >= 0 && value < CLASSIFIER_CLASSES_MAX && value == floor(value))) {
            status =
                dpot_error_set(&run->error, DPOT_ERR_RANGE,
                               "--%s %s: label %zu is %g: classes are integers of 0 to %d", labels,
                               option_text(run, labels), i + 1, value, CLASSIFIER_CLASSES_MAX - 1);
            break;
        }
        (*out)[i] = (uint8_t)value;
        *n_classes = (size_t)value + 1 > *n_classes ? (size_t)value + 1 : *n_classes;
    }
    array_release(&array);
    if (status != DPOT_OK) {
        dpot_free_array(NULL, *out, n, sizeof **out);
        *out = NULL;
    }
    return status;
}

dpot_status labelled_load(struct run *run, const char *images, const char *labels,
                          struct labelled *out)
{
    *out = (struct labelled){0};
    dpot_status status = load_finite(run, images, &out->points);
    if (status == DPOT_OK) {
        status = labels_load(run, labels, out->points.n_rows, &out->labels, &out->n_classes);
    }
    if (status != DPOT_OK) {
        array_release(&out->points);
    }
    return status;
}

void labelled_release(struct labelled *labelled)
{
    dpot_free_array(NULL, labelled->labels, labelled->points.n_rows, sizeof *labelled->labels);
    array_release(&labelled->points);
    *labelled = (struct labelled){0};
}

dpot_status labelled_check_range(struct run *run, const char *option, const struct array *points,
                                 double lo, double hi)
{
    double least = INFINITY, greatest = -INFINITY;
    for (size_t i = 0; i < points->n_rows * points->n_cols; i++) {
        least = fmin(least, points->values[i]);
        greatest = fmax(greatest, points->values[i]);
    }
    const double slack = OUTSIDE * (hi - lo);
    if (least < lo - slack || greatest > hi + slack || greatest - least < SPREAD_MIN * (hi - lo)) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "--%s %s has values of %g to %g where %g to %g were expected: give "
                              "black and white with --range lo,hi",
                              option, option_text(run, option), least, greatest, lo, hi);
    }
    return DPOT_OK;
}

/* Buffers of a pass. */
struct pass {
    float *points;        /* (PASS, dim) */
    float *probabilities; /* (PASS, n_classes) */
    float *features;      /* (PASS, n_features) */
};

static void classify_pass(struct classifier *classifier, const struct pass *pass, size_t first,
                          size_t n, size_t n_classes, float *probabilities, double *features)
{
    const size_t n_features = classifier_n_features(classifier);
    if (probabilities) {
        classifier_predict(classifier, pass->points, n, pass->probabilities);
        memcpy(probabilities + first * n_classes, pass->probabilities,
               n * n_classes * sizeof *probabilities);
    }
    if (features) {
        classifier_features(classifier, pass->points, n, pass->features);
        for (size_t i = 0; i < n * n_features; i++) {
            features[first * n_features + i] = (double)pass->features[i];
        }
    }
}

dpot_status classify(struct run *run, struct classifier *classifier, double lo, double hi,
                     const double *points, size_t n, size_t dim, size_t n_classes,
                     float *probabilities, double *features)
{
    const size_t n_features = classifier_n_features(classifier);
    const struct pass pass = {dpot_alloc_array(NULL, PASS * dim, sizeof(float)),
                              dpot_alloc_array(NULL, PASS * n_classes, sizeof(float)),
                              dpot_alloc_array(NULL, PASS * n_features, sizeof(float))};
    dpot_status status = DPOT_OK;
    if (!pass.points || !pass.probabilities || !pass.features) {
        status = dpot_error_set(&run->error, DPOT_ERR_MEMORY, "out of memory for the classifier");
    }
    for (size_t first = 0; status == DPOT_OK && first < n; first += PASS) {
        const size_t part = n - first < PASS ? n - first : PASS;
        classifier_file_scale(lo, hi, points + first * dim, part * dim, pass.points);
        classify_pass(classifier, &pass, first, part, n_classes, probabilities, features);
    }
    dpot_free_array(NULL, pass.points, PASS * dim, sizeof(float));
    dpot_free_array(NULL, pass.probabilities, PASS * n_classes, sizeof(float));
    dpot_free_array(NULL, pass.features, PASS * n_features, sizeof(float));
    return status;
}

dpot_status labelled_accuracy(struct run *run, const struct classifier_file *file,
                              const struct labelled *labelled, double *accuracy)
{
    const size_t n = labelled->points.n_rows, k = file->n_classes;
    size_t n_right = 0;
    float *p = dpot_alloc_array(NULL, n * k, sizeof *p);
    if (!p) {
        return dpot_error_set(&run->error, DPOT_ERR_MEMORY, "out of memory for %zu images", n);
    }
    const dpot_status status = classify(run, file->classifier, file->lo, file->hi,
                                        labelled->points.values, n, file->dim, k, p, NULL);
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        size_t best = 0;
        for (size_t j = 1; j < k; j++) {
            best = p[i * k + j] > p[i * k + best] ? j : best;
        }
        n_right += best == labelled->labels[i];
    }
    *accuracy = (double)n_right / (double)n;
    dpot_free_array(NULL, p, n * k, sizeof *p);
    return status;
}
