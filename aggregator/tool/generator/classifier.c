/* dpot generator classifier: trains a small classifier of images (or points), for the evaluation of
 * generators. */
#include "tool/shared/commands.h"

#include "base/alloc.h"
#include "generator/classifier_file.h"
#include "solve/learn/architecture.h"
#include "tool/generator/labelled.h"
#include "tool/picture/plot.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EPOCHS_DEFAULT 3
#define EPOCHS_MAX 1000
#define BATCH_DEFAULT 100
#define BATCH_MAX 10000
#define RATE_DEFAULT 2e-3
#define IMAGE_DIM 784 /* of 28 x 28 */
#define IMAGE_ARCHITECTURE "conv28:16,32,128"
#define POINT_ARCHITECTURE "mlp:128,64"
#define BYTE_MAX 255

static const struct option options[] = {
    {"images", "F", "images or points, one per row (n, dim)"},
    {"labels", "F", "their classes, 0 to 255 (n,)"},
    {"test-images", "F", "other images, to measure the accuracy"},
    {"test-labels", "F", "their classes"},
    {"range", "lo,hi", "range of the pixels (default: 0,255 if all are integers within)"},
    {"arch", "A", "conv28:C1,C2,W for images of 28x28, mlp:W1,... (default conv28:16,32,128)"},
    {"epochs", "N 1..1000", "passes over the images (default 3)"},
    {"batch", "N 1..10000", "images per step (default 100)"},
    {"learning-rate", "r (0,1]", "of Adam, with a cosine decay to 0 (default 0.002)"},
    {"out", "F", "the classifier (JSON)"},
    {NULL, NULL, NULL},
};

struct lesson {
    struct run *run;
    const char *out;
    uint64_t n_epochs, batch;
    double learning_rate;
    bool has_range, has_test;
    double range[2];
    struct labelled train, test;
    struct classifier_file file;
    struct classifier_result result;
    double seconds;
};

static dpot_status read_options(struct lesson *l)
{
    struct run *run = l->run;
    const char *text = NULL;
    dpot_status status = option_require(run, "images", "a file of images, one per row", &text);
    if (status == DPOT_OK) {
        status = option_require(run, "labels", "a file of their classes", &text);
    }
    l->has_test = option_is_given(run, "test-images");
    if (status == DPOT_OK && l->has_test != option_is_given(run, "test-labels")) {
        status = RUN_USAGE(run, "--test-images and --test-labels go together: give both");
    }
    if (status == DPOT_OK) {
        status = option_require_output(run, "out", "a file for the classifier", &l->out);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "epochs", 1, EPOCHS_MAX, &l->n_epochs);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "batch", 1, BATCH_MAX, &l->batch);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "learning-rate", 1, &l->learning_rate);
    }
    return status == DPOT_OK ? plot_read_interval(run, "range", l->range, &l->has_range) : status;
}

/* Only byte pixels need no --range. */
static dpot_status settle_range(struct lesson *l)
{
    const double *values = l->train.points.values;
    const size_t n = l->train.points.n_rows * l->train.points.n_cols;
    bool is_bytes = true, is_beyond_one = false;
    for (size_t i = 0; i < n; i++) {
        is_bytes =
            is_bytes && values[i] >= 0 && values[i] <= BYTE_MAX && values[i] == floor(values[i]);
        is_beyond_one = is_beyond_one || values[i] > 1;
    }
    if (!l->has_range && (!is_bytes || !is_beyond_one)) {
        return RUN_USAGE(l->run, "there is no --range: give the range of the pixels, as in -1,1");
    }
    l->file.lo = l->has_range ? l->range[0] : 0;
    l->file.hi = l->has_range ? l->range[1] : BYTE_MAX;
    return labelled_check_range(l->run, "images", &l->train.points, l->file.lo, l->file.hi);
}

static dpot_status load(struct lesson *l)
{
    struct run *run = l->run;
    dpot_status status = labelled_load(run, "images", "labels", &l->train);
    if (status == DPOT_OK) {
        status = settle_range(l);
    }
    if (status == DPOT_OK && l->train.n_classes < 2) {
        status = dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                "--labels %s: all are 0; a classifier needs two classes",
                                option_text(run, "labels"));
    }
    if (status == DPOT_OK && l->has_test) {
        status = labelled_load(run, "test-images", "test-labels", &l->test);
    }
    if (status == DPOT_OK && l->has_test && l->test.points.n_cols != l->train.points.n_cols) {
        status = dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                                "--test-images has %zu columns and --images %zu: they must agree",
                                l->test.points.n_cols, l->train.points.n_cols);
    }
    return status;
}

static dpot_status make(struct lesson *l, const struct classifier_setup *setup)
{
    const size_t dim = l->train.points.n_cols;
    const char *name = option_text(l->run, "arch");
    if (!name) {
        name = dim == IMAGE_DIM ? IMAGE_ARCHITECTURE : POINT_ARCHITECTURE;
    }
    if (strlen(name) > ARCHITECTURE_NAME_MAX) {
        return RUN_USAGE(l->run, "--arch is %.40s...: that is too long", name);
    }
    if (architecture_check_name(name, &l->run->error) != DPOT_OK) {
        l->run->forced_exit = EXIT_CODE_USAGE;
        return dpot_error_prefix(&l->run->error, DPOT_ERR_ARGUMENT, "--arch");
    }
    memcpy(l->file.architecture, name, strlen(name) + 1);
    l->file.dim = dim;
    l->file.n_classes = l->train.n_classes;
    l->file.n_images = l->train.points.n_rows;
    l->file.seed = l->run->seed;
    return classifier_file_make(setup, &l->file, &l->run->error);
}

static dpot_status train(struct lesson *l)
{
    struct run *run = l->run;
    struct progress progress;
    const struct solve_control control = progress_control(&progress);
    const size_t n = l->train.points.n_rows, n_values = n * l->file.dim;
    float *points = dpot_alloc_array(NULL, n_values, sizeof *points);
    if (!points) {
        return dpot_error_set(&run->error, DPOT_ERR_MEMORY, "out of memory for %zu images", n);
    }
    classifier_file_scale(l->file.lo, l->file.hi, l->train.points.values, n_values, points);
    const double start = progress_seconds();
    progress_init(&progress, run, "classifier", 0);
    const dpot_status status =
        classifier_train(l->file.classifier, points, l->train.labels, n, (size_t)l->n_epochs,
                         l->learning_rate, &control, &l->result, &run->error);
    progress_end(&progress);
    l->seconds = progress_seconds() - start;
    dpot_free_array(NULL, points, n_values, sizeof *points);
    return status;
}

static void put_result(struct lesson *l)
{
    struct run *run = l->run;
    run_put_text(run, "out", l->out);
    run_put_text(run, "arch", l->file.architecture);
    run_put_integer(run, "images", l->file.n_images);
    run_put_integer(run, "classes", l->file.n_classes);
    run_put_integer(run, "steps", l->result.n_steps);
    run_put_number(run, "loss", l->result.loss);
    run_put_number(run, "train_accuracy", l->result.accuracy);
    run_put_number(run, "test_accuracy", l->file.test_accuracy);
    run_put_number(run, "seconds", l->seconds);
}

static dpot_status run_generator_classifier(struct run *run)
{
    struct lesson l = {.run = run,
                       .n_epochs = EPOCHS_DEFAULT,
                       .batch = BATCH_DEFAULT,
                       .learning_rate = RATE_DEFAULT,
                       .file = {.test_accuracy = (double)NAN}};
    struct team *team = NULL;
    dpot_status status = read_options(&l);
    if (status == DPOT_OK) {
        status = load(&l);
    }
    if (status == DPOT_OK) {
        status = team_new(run->n_threads, &team);
    }
    if (status == DPOT_OK) {
        const struct classifier_setup setup = {(size_t)l.batch, dpot_linalg_f32_openblas(), team};
        status = make(&l, &setup);
    }
    if (status == DPOT_OK) {
        status = train(&l);
    }
    if (status == DPOT_OK && l.has_test) {
        status = labelled_accuracy(run, &l.file, &l.test, &l.file.test_accuracy);
    }
    if (status == DPOT_OK) {
        status = classifier_file_save(&l.file, l.out, &run->error);
    }
    if (status == DPOT_OK) {
        put_result(&l);
    }
    classifier_file_release(&l.file);
    team_free(team);
    labelled_release(&l.train);
    labelled_release(&l.test);
    return status;
}

const struct command command_generator_classifier = {
    .name = "generator classifier",
    .summary = "train a small classifier of real images",
    .details =
        "For dpot generator evaluate, which classifies the output of generators. Images are rows\n"
        "of pixels, such as IDX files (the format of MNIST); the file holds the range of the\n"
        "pixels with the network. The classifier learns from raw images: use public ones.\n"
        "Keys: out, arch, images, classes, steps, loss and train_accuracy (of the last epoch,\n"
        "while training), test_accuracy (null without test images), seconds.",
    .example = "dpot generator classifier --images images.csv --labels labels.csv --range 0,1 "
               "--epochs 20 --out classifier.json",
    .options = options,
    .run = run_generator_classifier,
};
