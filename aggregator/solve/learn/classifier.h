/* A classifier of points or small images, trained with the layers of network.h. Used to evaluate
 * generators: classes, confidence, and distances of two sets of images in the features of the last
 * hidden layer.
 *
 *     struct classifier_config config = {.architecture = "conv28:16,32,128", .dim = 784,
 *                                        .n_classes = 10, .batch = 100, .seed = 1, .linalg = ...};
 *     classifier_new(&config, &classifier, &error);
 *     classifier_train(classifier, images, labels, n, 3, 2e-3, NULL, &result, &error);
 *     classifier_predict(classifier, images, n, probabilities);
 *     classifier_features(classifier, images, n, features);
 *
 * Softmax cross entropy, Adam, cosine schedule from the learning rate to 0, a new order for each
 * epoch. The same seed gives the same bits for any number of threads. Points should have a scale of
 * about 1. */
#ifndef DPOT_SOLVE_LEARN_CLASSIFIER_H
#define DPOT_SOLVE_LEARN_CLASSIFIER_H

#include "solve/learn/network.h"
#include "solve/run/control.h"

#define CLASSIFIER_CLASSES_MAX 256
#define CLASSIFIER_POINTS_MAX ((size_t)1 << 31)

struct classifier;

struct classifier_config {
    const char *architecture; /* conv28:... for images, or mlp:... */
    size_t dim, n_classes;    /* of a point; 2 .. CLASSIFIER_CLASSES_MAX */
    size_t batch;             /* points of a training step */
    uint64_t seed;
    const struct dpot_linalg_f32 *linalg; /* as in network.h */
    struct team *team;
    const struct dpot_allocator *allocator;
};

struct classifier_result {
    double loss;     /* mean cross entropy during the last epoch */
    double accuracy; /* during the last epoch, each batch before its step */
    size_t n_steps;
    enum solve_outcome outcome;
};

/* DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY, with a message. */
DPOT_WARN_UNUSED dpot_status classifier_new(const struct classifier_config *config,
                                            struct classifier **classifier,
                                            struct dpot_error *error);
void classifier_free(struct classifier *classifier);

/* Continues training. Labels are below n_classes (DPOT_ERR_RANGE, with a message: nothing was
 * changed), n is 1 .. CLASSIFIER_POINTS_MAX, n_epochs >= 1. DPOT_ERR_MEMORY. `control` may be NULL;
 * progress counts steps. */
DPOT_WARN_UNUSED dpot_status classifier_train(struct classifier *classifier,
                                              const float *points /* (n, dim) */,
                                              const uint8_t *labels /* (n) */, size_t n,
                                              size_t n_epochs, double learning_rate,
                                              const struct solve_control *control,
                                              struct classifier_result *result,
                                              struct dpot_error *error);

/* Its network, whose parameters and state define the classifier. Borrowed. */
struct network *classifier_network(struct classifier *classifier);

/* The probabilities of the classes. */
void classifier_predict(struct classifier *classifier, const float *points /* (n, dim) */, size_t n,
                        float *probabilities /* (n, n_classes) */);

/* The last hidden layer; 0 features for an architecture without one. */
size_t classifier_n_features(const struct classifier *classifier);
void classifier_features(struct classifier *classifier, const float *points /* (n, dim) */,
                         size_t n, float *features /* (n, n_features) */);

#endif
