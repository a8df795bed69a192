/* A classifier of points or small images, trained with the layers of network.h: to judge what a
 * generator makes (which digits, how sure, and how far apart in the features of its last hidden
 * layer two sets of images are).
 *
 *     struct classifier_config config = {.architecture = "conv28:16,32,128", .dim = 784,
 *                                        .n_classes = 10, .batch = 100, .seed = 1, .linalg = ...};
 *     classifier_new(&config, &classifier, &error);
 *     classifier_train(classifier, images, labels, n, 3, 2e-3, NULL, &result, &error);
 *     classifier_predict(classifier, images, n, probabilities);
 *     classifier_features(classifier, images, n, features);
 *
 * Softmax cross entropy, Adam, a cosine from the learning rate to 0, each epoch in an order of its
 * own: the same bits for the same seed, whatever the threads. Points may have any scale near 1. */
#ifndef DPOT_SOLVE_LEARN_CLASSIFIER_H
#define DPOT_SOLVE_LEARN_CLASSIFIER_H

#include "solve/learn/network.h"
#include "solve/run/control.h"

#define CLASSIFIER_CLASSES_MAX 256
#define CLASSIFIER_POINTS_MAX ((size_t)1 << 31)

struct classifier;

struct classifier_config {
    const char *architecture; /* conv28:... for images, mlp:... for anything */
    size_t dim, n_classes;    /* of a point; 2 .. CLASSIFIER_CLASSES_MAX */
    size_t batch;             /* points of a training step */
    uint64_t seed;
    const struct dpot_linalg_f32 *linalg; /* as in network.h */
    struct team *team;
    const struct dpot_allocator *allocator;
};

struct classifier_result {
    double loss;     /* mean cross entropy of the last epoch, while training */
    double accuracy; /* share of the last epoch's points that were right, before their step */
    size_t n_steps;
    enum solve_outcome outcome;
};

/* DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY, with a sentence. */
DPOT_WARN_UNUSED dpot_status classifier_new(const struct classifier_config *config,
                                            struct classifier **classifier,
                                            struct dpot_error *error);
void classifier_free(struct classifier *classifier);

/* Trains from where it is. Labels are below n_classes (DPOT_ERR_RANGE, with a sentence, before
 * anything is changed), n is 1 .. CLASSIFIER_POINTS_MAX, n_epochs >= 1. DPOT_ERR_MEMORY. `control`
 * may be NULL; it counts steps. */
DPOT_WARN_UNUSED dpot_status classifier_train(struct classifier *classifier,
                                              const float *points /* (n, dim) */,
                                              const uint8_t *labels /* (n) */, size_t n,
                                              size_t n_epochs, double learning_rate,
                                              const struct solve_control *control,
                                              struct classifier_result *result,
                                              struct dpot_error *error);

/* Its network: parameters and state are what a copy needs to be the same classifier. Borrowed. */
struct network *classifier_network(struct classifier *classifier);

/* The probability of each class. */
void classifier_predict(struct classifier *classifier, const float *points /* (n, dim) */, size_t n,
                        float *probabilities /* (n, n_classes) */);

/* The last hidden layer; 0 features for an architecture without one. */
size_t classifier_n_features(const struct classifier *classifier);
void classifier_features(struct classifier *classifier, const float *points /* (n, dim) */,
                         size_t n, float *features /* (n, n_features) */);

#endif
