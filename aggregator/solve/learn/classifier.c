#include "solve/learn/classifier.h"

#include "solve/learn/optimizer.h"
#include "solve/run/draw.h"

#include <math.h>
#include <string.h>

#define ORDER_SEED UINT64_C(0x6f72646572000000) /* distinct from the stream of the weights */

struct classifier {
    struct network *net;
    struct optimizer optimizer;
    size_t dim, n_classes, batch;
    uint64_t seed;
    uint64_t n_epochs; /* so far; each has its own order */
    size_t n_floats;
    float *block;
    float *points;   /* (batch, dim) */
    float *scores;   /* (batch, n_classes), then their gradient */
    float *gradient; /* (n_parameters) */
    const struct dpot_allocator *allocator;
};

static dpot_status open_network(const struct classifier_config *config, struct network **net,
                                struct dpot_error *error)
{
    const struct network_config inner = {.architecture = config->architecture,
                                         .latent_dim = config->dim,
                                         .dim = config->n_classes,
                                         .max_batch = config->batch,
                                         .linalg = config->linalg,
                                         .team = config->team,
                                         .allocator = config->allocator};
    if (config->n_classes < 2 || config->n_classes > CLASSIFIER_CLASSES_MAX) {
        *net = NULL;
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "a classifier of %zu classes: 2 to %d are possible",
                              config->n_classes, CLASSIFIER_CLASSES_MAX);
    }
    return network_new(&inner, net, error);
}

static dpot_status open_rest(struct classifier *c)
{
    const size_t n_parameters = network_n_parameters(c->net);
    c->n_floats = c->batch * (c->dim + c->n_classes) + n_parameters;
    c->block = dpot_alloc_array(c->allocator, c->n_floats, sizeof *c->block);
    if (!c->block) {
        return DPOT_ERR_MEMORY;
    }
    c->points = c->block;
    c->scores = c->points + c->batch * c->dim;
    c->gradient = c->scores + c->batch * c->n_classes;
    network_initialise(c->net, c->seed);
    return optimizer_init(&c->optimizer, OPTIMIZER_ADAM, n_parameters, c->allocator);
}

dpot_status classifier_new(const struct classifier_config *config, struct classifier **classifier,
                           struct dpot_error *error)
{
    struct network *net = NULL;
    *classifier = NULL;
    dpot_status status = open_network(config, &net, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct classifier *c = dpot_alloc_array(config->allocator, 1, sizeof *c);
    if (!c) {
        network_free(net);
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for a classifier");
    }
    *c = (struct classifier){.net = net,
                             .dim = config->dim,
                             .n_classes = config->n_classes,
                             .batch = config->batch,
                             .seed = config->seed,
                             .allocator = config->allocator};
    status = open_rest(c);
    if (status != DPOT_OK) {
        classifier_free(c);
        return dpot_error_set(error, status, "no memory for a classifier");
    }
    *classifier = c;
    return DPOT_OK;
}

void classifier_free(struct classifier *classifier)
{
    if (classifier) {
        const struct dpot_allocator *allocator = classifier->allocator;
        network_free(classifier->net);
        optimizer_release(&classifier->optimizer);
        dpot_free_array(allocator, classifier->block, classifier->n_floats, sizeof(float));
        dpot_free_array(allocator, classifier, 1, sizeof *classifier);
    }
}

/* --- Training --- */

/* Scores to probabilities, in place; subtracts the largest score first, to prevent overflow. */
static void softmax(size_t n, float *scores)
{
    float largest = scores[0];
    double sum = 0;
    for (size_t j = 1; j < n; j++) {
        largest = scores[j] > largest ? scores[j] : largest;
    }
    for (size_t j = 0; j < n; j++) {
        scores[j] = expf(scores[j] - largest);
        sum += (double)scores[j];
    }
    for (size_t j = 0; j < n; j++) {
        scores[j] = (float)((double)scores[j] / sum);
    }
}

/* Totals of an epoch so far. */
struct tally {
    double loss;
    size_t n_right, n;
};

/* d loss / d scores = (p - 1 at the label) / n */
static void score_gradient(struct classifier *c, const uint8_t *labels, const uint32_t *order,
                           size_t n, struct tally *tally)
{
    for (size_t i = 0; i < n; i++) {
        float *p = c->scores + i * c->n_classes;
        const size_t label = labels[order[i]];
        size_t best = 0;
        softmax(c->n_classes, p);
        for (size_t j = 1; j < c->n_classes; j++) {
            best = p[j] > p[best] ? j : best;
        }
        tally->loss -= log(fmax((double)p[label], 1e-30));
        tally->n_right += best == label;
        p[label] -= 1.0F;
        for (size_t j = 0; j < c->n_classes; j++) {
            p[j] /= (float)n;
        }
    }
    tally->n += n;
}

static void take_step(struct classifier *c, const float *points, const uint8_t *labels,
                      const uint32_t *order, size_t n, float rate, struct tally *tally)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(c->points + i * c->dim, points + order[i] * c->dim, c->dim * sizeof *points);
    }
    network_forward(c->net, c->points, n, NETWORK_TRAIN, c->scores);
    score_gradient(c, labels, order, n, tally);
    network_backward(c->net, c->scores, c->gradient);
    optimizer_step(&c->optimizer, rate, c->gradient, network_parameters(c->net));
}

/* A random order (Fisher-Yates). The remainder is uniform up to n / 2^64. */
static void shuffle(uint64_t seed, uint64_t epoch, size_t n, uint32_t *order)
{
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)(draw_bits(seed ^ ORDER_SEED, epoch, i) % i);
        const uint32_t other = order[j];
        order[j] = order[i - 1];
        order[i - 1] = other;
    }
}

static dpot_status check_labels(const struct classifier *c, const uint8_t *labels, size_t n,
                                struct dpot_error *error)
{
    if (n < 1 || n > CLASSIFIER_POINTS_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%zu points to learn from: give 1 to %zu", n,
                              CLASSIFIER_POINTS_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        if (labels[i] >= c->n_classes) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "label %zu is %u: the classifier has classes 0 to %zu", i,
                                  labels[i], c->n_classes - 1);
        }
    }
    return DPOT_OK;
}

/* Runs the steps of an epoch; false: the control stopped it. */
static bool run_epoch(struct classifier *c, const float *points, const uint8_t *labels, size_t n,
                      const uint32_t *order, double learning_rate, size_t n_total,
                      const struct solve_control *control, struct classifier_result *result)
{
    struct tally tally = {0};
    bool goes_on = true;
    for (size_t at = 0; at < n && goes_on; at += c->batch) {
        const size_t part = n - at < c->batch ? n - at : c->batch;
        const float rate =
            learning_rate_at(LEARNING_COSINE, learning_rate, result->n_steps, n_total);
        take_step(c, points, labels, order + at, part, rate, &tally);
        result->n_steps++;
        goes_on = !solve_control_stops(control, result->n_steps, n_total, &result->outcome);
    }
    result->loss = tally.loss / (double)tally.n;
    result->accuracy = (double)tally.n_right / (double)tally.n;
    return goes_on;
}

dpot_status classifier_train(struct classifier *classifier, const float *points,
                             const uint8_t *labels, size_t n, size_t n_epochs, double learning_rate,
                             const struct solve_control *control, struct classifier_result *result,
                             struct dpot_error *error)
{
    *result = (struct classifier_result){.outcome = SOLVE_ITERATION_LIMIT};
    const dpot_status status = check_labels(classifier, labels, n, error);
    if (status != DPOT_OK) {
        return status;
    }
    uint32_t *order = dpot_alloc_array(classifier->allocator, n, sizeof *order);
    if (!order) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory to order %zu points", n);
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    const size_t per_epoch = (n + classifier->batch - 1) / classifier->batch;
    bool goes_on = true;
    for (size_t epoch = 0; epoch < n_epochs && goes_on; epoch++) {
        shuffle(classifier->seed, classifier->n_epochs, n, order);
        classifier->n_epochs++;
        goes_on = run_epoch(classifier, points, labels, n, order, learning_rate,
                            n_epochs * per_epoch, control, result);
    }
    dpot_free_array(classifier->allocator, order, n, sizeof *order);
    return DPOT_OK;
}

/* --- Use --- */

struct network *classifier_network(struct classifier *classifier)
{
    return classifier->net;
}

void classifier_predict(struct classifier *classifier, const float *points, size_t n,
                        float *probabilities)
{
    network_forward(classifier->net, points, n, NETWORK_INFER, probabilities);
    for (size_t i = 0; i < n; i++) {
        softmax(classifier->n_classes, probabilities + i * classifier->n_classes);
    }
}

size_t classifier_n_features(const struct classifier *classifier)
{
    return network_hidden_dim(classifier->net);
}

void classifier_features(struct classifier *classifier, const float *points, size_t n,
                         float *features)
{
    const size_t n_features = classifier_n_features(classifier);
    for (size_t at = 0; at < n && n_features > 0; at += classifier->batch) {
        const size_t part = n - at < classifier->batch ? n - at : classifier->batch;
        network_forward(classifier->net, points + at * classifier->dim, part, NETWORK_INFER,
                        classifier->scores);
        memcpy(features + at * n_features, network_hidden(classifier->net),
               part * n_features * sizeof *features);
    }
}
