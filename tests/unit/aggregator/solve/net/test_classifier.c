/* Learning made-up images, and an optional measurement on real ones: DATA=FOLDER with the four
 * files of MNIST, unpacked (train-images-idx3-ubyte and so on), is read by measures_real_digits. */
#include "solve/learn/classifier.h"

#include "solve/run/draw.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 28
#define SIZE ((size_t)SIDE * SIDE)

static struct classifier_config small_config(void)
{
    return (struct classifier_config){.architecture = "conv28:4,6,16",
                                      .dim = SIZE,
                                      .n_classes = 4,
                                      .batch = 20,
                                      .seed = 3,
                                      .linalg = dpot_linalg_f32_openblas()};
}

/* Horizontal, vertical and diagonal bars at random places, in noise. */
static void draw_bars(size_t n, uint64_t stream, float *images, uint8_t *labels)
{
    static const int steps[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    for (size_t i = 0; i < n; i++) {
        float *image = images + i * SIZE;
        labels[i] = (uint8_t)(draw_bits(1, stream, i) % 4);
        for (size_t j = 0; j < SIZE; j++) {
            image[j] = 0.8F * (draw_uniform(i, stream + 1, j) - 0.5F);
        }
        const int *step = steps[labels[i]];
        const int row = 9 + (int)(draw_bits(2, stream, i) % 10);
        const int col = 9 + (int)(draw_bits(3, stream, i) % 10);
        for (int k = -5; k <= 5; k++) {
            image[(row + k * step[0]) * SIDE + col + k * step[1]] += 1.0F;
        }
    }
}

static double accuracy(struct classifier *classifier, const float *images, const uint8_t *labels,
                       size_t n, size_t n_classes)
{
    float *p = calloc(n * n_classes, sizeof *p);
    size_t n_right = 0;
    cr_assert_not_null(p);
    classifier_predict(classifier, images, n, p);
    for (size_t i = 0; i < n; i++) {
        const float *row = p + i * n_classes;
        size_t best = 0;
        double sum = 0;
        for (size_t j = 0; j < n_classes; j++) {
            best = row[j] > row[best] ? j : best;
            sum += (double)row[j];
        }
        cr_assert_float_eq(sum, 1, 1e-5);
        n_right += best == labels[i];
    }
    free(p);
    return (double)n_right / (double)n;
}

enum { N = 1500, N_TEST = 400 };
static float images[(N + N_TEST) * SIZE];
static uint8_t labels[N + N_TEST];

Test(classifier, learns_the_direction_of_bars_and_recognises_new_ones)
{
    const struct classifier_config config = small_config();
    struct classifier *classifier = NULL;
    struct classifier_result result;
    struct dpot_error error = {""};
    draw_bars(N + N_TEST, 10, images, labels);
    cr_assert_eq(classifier_new(&config, &classifier, &error), DPOT_OK, "%s", error.text);
    cr_assert_lt(accuracy(classifier, images + N * SIZE, labels + N, N_TEST, 4), 0.6);
    cr_assert_eq(classifier_train(classifier, images, labels, N, 8, 4e-3, NULL, &result, &error),
                 DPOT_OK);
    cr_assert_eq(result.n_steps, 8 * N / 20);
    cr_assert_gt(result.accuracy, 0.97);
    cr_assert_lt(result.loss, 0.1);
    const double share = accuracy(classifier, images + N * SIZE, labels + N, N_TEST, 4);
    cr_assert_gt(share, 0.95, "%g", share);
    classifier_free(classifier);
}

Test(classifier, gives_the_same_bits_on_two_threads)
{
    float p[2][40 * 4], features[2][40 * 16];
    draw_bars(N, 10, images, labels);
    for (size_t i = 0; i < 2; i++) {
        struct classifier_config config = small_config();
        struct classifier *classifier = NULL;
        struct classifier_result result;
        cr_assert_eq(team_new(i + 1, &config.team), DPOT_OK);
        cr_assert_eq(classifier_new(&config, &classifier, NULL), DPOT_OK);
        cr_assert_eq(
            classifier_train(classifier, images, labels, 200, 1, 1e-3, NULL, &result, NULL),
            DPOT_OK);
        classifier_predict(classifier, images, 40, p[i]);
        cr_assert_eq(classifier_n_features(classifier), 16);
        classifier_features(classifier, images, 40, features[i]);
        classifier_free(classifier);
        team_free(config.team);
    }
    cr_assert_arr_eq(p[0], p[1], sizeof p[0]);
    cr_assert_arr_eq(features[0], features[1], sizeof features[0]);
    cr_assert_arr_neq(features[0], features[0] + 16 * 20, 16 * 20 * sizeof(float));
}

Test(classifier, stops_when_cancelled_and_reports_it)
{
    atomic_bool is_cancelled = true;
    const struct classifier_config config = small_config();
    const struct solve_control control = {.cancel = &is_cancelled};
    struct classifier *classifier = NULL;
    struct classifier_result result;
    draw_bars(100, 10, images, labels);
    cr_assert_eq(classifier_new(&config, &classifier, NULL), DPOT_OK);
    cr_assert_eq(
        classifier_train(classifier, images, labels, 100, 5, 1e-3, &control, &result, NULL),
        DPOT_OK);
    cr_assert_eq(result.outcome, SOLVE_CANCELLED);
    cr_assert_eq(result.n_steps, 1);
    classifier_free(classifier);
}

Test(classifier, refuses_missing_labels_and_classes)
{
    struct classifier_config config = small_config();
    struct classifier *classifier = NULL;
    struct classifier_result result;
    struct dpot_error error = {""};
    draw_bars(10, 10, images, labels);
    cr_assert_eq(classifier_new(&config, &classifier, NULL), DPOT_OK);
    labels[7] = 4;
    cr_assert_eq(classifier_train(classifier, images, labels, 10, 1, 1e-3, NULL, &result, &error),
                 DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "label 7 is 4"));
    cr_assert_eq(classifier_train(classifier, images, labels, 0, 1, 1e-3, NULL, &result, &error),
                 DPOT_ERR_RANGE);
    classifier_free(classifier);
    config.n_classes = 1;
    cr_assert_eq(classifier_new(&config, &classifier, &error), DPOT_ERR_RANGE);
    cr_assert_null(classifier);
}

Test(classifier, leaks_nothing_when_memory_runs_out)
{
    struct test_allocator heap;
    struct classifier_config config = small_config();
    struct classifier *classifier = NULL;
    test_allocator_init(&heap);
    config.allocator = &heap.allocator;
    for (size_t at = 1; at <= 5; at++) {
        test_allocator_fail_at(&heap, at);
        cr_assert_eq(classifier_new(&config, &classifier, NULL), DPOT_ERR_MEMORY, "%zu", at);
        cr_assert_eq(heap.bytes, 0);
    }
    test_allocator_fail_at(&heap, 6);
    cr_assert_eq(classifier_new(&config, &classifier, NULL), DPOT_OK);
    classifier_free(classifier);
    cr_assert_eq(heap.bytes, 0);
}

static uint8_t *read_bytes(const char *name, size_t skip, size_t n)
{
    char path[1024];
    uint8_t *bytes = malloc(n);
    cr_assert_lt(snprintf(path, sizeof path, "%s/%s", getenv("DATA"), name), (int)sizeof path);
    FILE *file = fopen(path, "rb");
    cr_assert(file && bytes, "%s", path);
    cr_assert_eq(fseek(file, (long)skip, SEEK_SET), 0);
    cr_assert_eq(fread(bytes, 1, n, file), n);
    (void)fclose(file);
    return bytes;
}

static float *read_images(const char *name, size_t n)
{
    uint8_t *bytes = read_bytes(name, 16, n * SIZE);
    float *x = malloc(n * SIZE * sizeof *x);
    cr_assert_not_null(x);
    for (size_t i = 0; i < n * SIZE; i++) {
        x[i] = (float)bytes[i] / 127.5F - 1.0F;
    }
    free(bytes);
    return x;
}

Test(classifier, measures_real_digits)
{
    if (!getenv("DATA")) {
        cr_skip_test("DATA names no folder of digits");
    }
    float *train = read_images("train-images-idx3-ubyte", 60000);
    float *test = read_images("t10k-images-idx3-ubyte", 10000);
    uint8_t *train_labels = read_bytes("train-labels-idx1-ubyte", 8, 60000);
    uint8_t *test_labels = read_bytes("t10k-labels-idx1-ubyte", 8, 10000);
    const struct classifier_config config = {.architecture = "conv28:16,32,128",
                                             .dim = SIZE,
                                             .n_classes = 10,
                                             .batch = 100,
                                             .seed = 1,
                                             .linalg = dpot_linalg_f32_openblas()};
    struct classifier *classifier = NULL;
    struct classifier_result result;
    cr_assert_eq(classifier_new(&config, &classifier, NULL), DPOT_OK);
    cr_assert_eq(
        classifier_train(classifier, train, train_labels, 60000, 3, 2e-3, NULL, &result, NULL),
        DPOT_OK);
    const double share = accuracy(classifier, test, test_labels, 10000, 10);
    fprintf(stderr, "accuracy %.4f on 10,000 digits, loss %.4f\n", share, result.loss);
    cr_assert_gt(share, 0.975);
    classifier_free(classifier);
    free(train);
    free(test);
    free(train_labels);
    free(test_labels);
}
