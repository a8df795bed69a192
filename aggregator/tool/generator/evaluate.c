/* dpot generator evaluate: the distance of a generator's samples from real data. */
#include "tool/shared/commands.h"

#include "base/alloc.h"
#include "forecast/comparison.h"
#include "generator/model.h"
#include "solve/transport/moments.h"
#include "tool/generator/labelled.h"
#include "tool/picture/plot.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"

#include <math.h>

#define EXACT_DEFAULT 1000
#define EXACT_MAX 8000
#define DIRECTIONS_DEFAULT 100
#define DIRECTIONS_MAX 100000
#define SAMPLES_DEFAULT 10000
#define COORDINATE_MAX 1e90
#define BATCH 256 /* samples per pass of the generator */
#define CLASSIFIER_BATCH 500
#define IMAGES_MIN 50 /* for a meaningful Frechet distance */

static const struct option options[] = {
    {"samples", "F", "points made by a generator (n, dim)"},
    {"weights", "F", "weights of the samples (n,), as dpot deconvolve writes them"},
    {"model", "F.onnx", "the generator itself, instead of --samples"},
    {"n-samples", "N 2..268435456", "points to draw from --model (default 10000)"},
    {"reference", "F", "real points (m, dim), public or otherwise permitted"},
    {"pool", "F", "the reports, to measure like the samples"},
    {"max-points", "N 2..8000", "points of each set in the exact distances (default 1000)"},
    {"directions", "N 1..100000", "directions of the sliced distance (default 100)"},
    {"classifier", "F", "of dpot generator classifier: classes and Frechet distances"},
    {"labels", "F", "classes of the reference (m,), to measure the classifier's accuracy"},
    {"range", "lo,hi", "black and white of the images (default: those of the classifier)"},
    {"normalize", NULL, "scale the weights to sum 1"},
    {NULL, NULL, NULL},
};

struct evaluation {
    struct run *run;
    uint64_t n_exact, n_directions, n_samples;
    double range[2];
    bool has_range;
    struct array samples, weights, reference, privatised;
    struct classifier_file file; /* classifier NULL: none */
    struct team *team;
    struct comparison comparison;
};

/* ---- options and inputs ---- */

static dpot_status check_combinations(struct run *run)
{
    static const char *const pairs[][3] = {
        {"model", "weights", "a generator's points are alike"},
        {"samples", "n-samples", "all samples of the file are used"},
    };
    dpot_status status = option_either(run, "samples", "model");
    for (size_t i = 0; status == DPOT_OK && i < sizeof pairs / sizeof pairs[0]; i++) {
        status = option_excludes(run, pairs[i][0], pairs[i][1], pairs[i][2]);
    }
    if (status == DPOT_OK && !option_is_given(run, "classifier") &&
        (option_is_given(run, "labels") || option_is_given(run, "range"))) {
        status = RUN_USAGE(run, "--labels and --range go with --classifier F: give one");
    }
    return status;
}

static dpot_status read_options(struct evaluation *e)
{
    struct run *run = e->run;
    const char *text = NULL;
    dpot_status status = check_combinations(run);
    if (status == DPOT_OK) {
        status = option_require(run, "reference", "a file of real points", &text);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "max-points", 2, EXACT_MAX, &e->n_exact);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "directions", 1, DIRECTIONS_MAX, &e->n_directions);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "n-samples", 2, ARRAY_ENTRIES_MAX, &e->n_samples);
    }
    return status == DPOT_OK ? plot_read_interval(run, "range", e->range, &e->has_range) : status;
}

/* Draws points from --model, with the seed of the run. */
static dpot_status draw_samples(struct evaluation *e)
{
    struct generator_model model = {0};
    const struct generator_setup setup = {
        .max_batch = BATCH, .linalg = dpot_linalg_f32_openblas(), .team = e->team};
    struct dpot_error *error = &e->run->error;
    dpot_status status = generator_model_load(option_text(e->run, "model"), &setup, &model, error);
    if (status != DPOT_OK) {
        return status;
    }
    const size_t n = (size_t)e->n_samples, dim = network_architecture(model.network)->out_dim;
    float *points =
        dim <= ARRAY_ENTRIES_MAX / n ? dpot_alloc_array(NULL, n * dim, sizeof *points) : NULL;
    if (!points) {
        status = dpot_error_set(
            error, DPOT_ERR_TOO_LARGE,
            "--n-samples %zu points of %zu coordinates are too much: take fewer", n, dim);
    } else {
        status = generator_model_sample(&model, e->run->seed, n, points);
    }
    if (status == DPOT_OK) {
        status = array_init(&e->samples, n, dim, dim == 1);
    }
    for (size_t i = 0; status == DPOT_OK && i < n * dim; i++) {
        e->samples.values[i] = (double)points[i];
    }
    dpot_free_array(NULL, points, n * dim, sizeof *points);
    generator_model_release(&model);
    return status;
}

static dpot_status check_dim(struct evaluation *e, const char *name, const struct array *array)
{
    if (array->n_cols == e->reference.n_cols) {
        return DPOT_OK;
    }
    return dpot_error_set(&e->run->error, DPOT_ERR_SHAPE,
                          "--%s %s has %zu columns and the reference %zu: they must agree", name,
                          option_text(e->run, name), array->n_cols, e->reference.n_cols);
}

/* Refuses coordinates so large that squared distances or covariances could overflow. */
static dpot_status check_size(struct evaluation *e, const char *name, const struct array *array)
{
    for (size_t i = 0; i < array->n_rows * array->n_cols; i++) {
        if (!(fabs(array->values[i]) <= COORDINATE_MAX)) {
            return dpot_error_set(&e->run->error, DPOT_ERR_RANGE,
                                  "--%s %s: row %zu, column %zu is %g: give numbers of at most %g",
                                  name, option_text(e->run, name), i / array->n_cols + 1,
                                  i % array->n_cols + 1, array->values[i], COORDINATE_MAX);
        }
    }
    return DPOT_OK;
}

static dpot_status check_sizes(struct evaluation *e, const char *samples)
{
    dpot_status status = check_size(e, "reference", &e->reference);
    if (status == DPOT_OK) {
        status = check_size(e, samples, &e->samples);
    }
    return status == DPOT_OK ? check_size(e, "pool", &e->privatised) : status;
}

static dpot_status load_points(struct evaluation *e)
{
    struct run *run = e->run;
    const bool has_model = option_is_given(run, "model");
    dpot_status status = load_finite(run, "reference", &e->reference);
    if (status == DPOT_OK) {
        status = has_model ? draw_samples(e) : load_finite(run, "samples", &e->samples);
    }
    if (status == DPOT_OK) {
        status = check_dim(e, has_model ? "model" : "samples", &e->samples);
    }
    if (status == DPOT_OK && option_is_given(run, "weights")) {
        status = load_measure(run, "weights", e->samples.n_rows, &e->weights);
    }
    if (status == DPOT_OK && option_is_given(run, "pool")) {
        status = load_finite(run, "pool", &e->privatised);
    }
    if (status == DPOT_OK && e->privatised.values) {
        status = check_dim(e, "pool", &e->privatised);
    }
    return status == DPOT_OK ? check_sizes(e, has_model ? "model" : "samples") : status;
}

static dpot_status load_classifier(struct evaluation *e)
{
    struct run *run = e->run;
    const char *path = option_text(run, "classifier");
    const struct classifier_setup setup = {CLASSIFIER_BATCH, dpot_linalg_f32_openblas(), e->team};
    if (!path) {
        return DPOT_OK;
    }
    dpot_status status = classifier_file_load(path, &setup, &e->file, &run->error);
    if (status == DPOT_OK && e->file.dim != e->reference.n_cols) {
        status = dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                                "--classifier %s takes %zu columns and the reference has %zu: they "
                                "must agree",
                                path, e->file.dim, e->reference.n_cols);
    }
    if (status == DPOT_OK && e->has_range) {
        e->file.lo = e->range[0];
        e->file.hi = e->range[1];
    }
    return status == DPOT_OK
               ? labelled_check_range(run, "reference", &e->reference, e->file.lo, e->file.hi)
               : status;
}

static dpot_status prepare(struct evaluation *e)
{
    struct dpot_error *error = &e->run->error;
    dpot_status status = team_new(e->run->n_threads, &e->team);
    if (status == DPOT_OK) {
        status = load_points(e);
    }
    if (status == DPOT_OK) {
        status = load_classifier(e);
    }
    if (status == DPOT_OK) {
        status = comparison_init(&e->comparison, e->reference.values, e->reference.n_rows,
                                 e->reference.n_cols, e->run->seed, error);
    }
    if (status == DPOT_OK) {
        status = comparison_add(&e->comparison, "samples", e->samples.values, e->weights.values,
                                e->samples.n_rows, error);
    }
    if (status == DPOT_OK && e->privatised.values) {
        status = comparison_add(&e->comparison, "privatised", e->privatised.values, NULL,
                                e->privatised.n_rows, error);
    }
    return status == DPOT_OK ? comparison_complete(&e->comparison, (size_t)e->n_exact, error)
                             : status;
}

/* ---- classes ---- */

/* Coverage and, with features, moments of one set. */
static dpot_status classify_set(struct evaluation *e, struct candidate *c, struct moments *moments)
{
    struct run *run = e->run;
    const size_t k = e->file.n_classes, n_features = classifier_n_features(e->file.classifier);
    float *p = dpot_alloc_array(NULL, c->n * k, sizeof *p);
    double *features = dpot_alloc_array(NULL, c->n * n_features, sizeof *features);
    dpot_status status = DPOT_ERR_MEMORY;
    if (p && features) {
        status = classify(run, e->file.classifier, e->file.lo, e->file.hi, c->points, c->n,
                          e->comparison.dim, k, p, n_features > 0 ? features : NULL);
    }
    if (status == DPOT_OK) {
        coverage_find(p, c->weights, c->n, k, &c->coverage);
    }
    if (status == DPOT_OK && n_features > 0) {
        status = moments_init(features, c->weights, c->n, n_features, NULL, moments, &run->error);
    }
    dpot_free_array(NULL, p, c->n * k, sizeof *p);
    dpot_free_array(NULL, features, c->n * n_features, sizeof *features);
    return status;
}

static dpot_status classify_all(struct evaluation *e)
{
    struct comparison *comparison = &e->comparison;
    struct moments reference = {0};
    struct progress progress;
    if (!e->file.classifier) {
        return DPOT_OK;
    }
    if (comparison->n_each < IMAGES_MIN) {
        run_warn(e->run, "%zu images are few for a Frechet distance: compare it with the floor",
                 comparison->n_each);
    }
    progress_init(&progress, e->run, "classes", comparison->n_entries + 1);
    dpot_status status = classify_set(e, &comparison->reference, &reference);
    for (size_t i = 0; status == DPOT_OK && i < comparison->n_entries; i++) {
        struct candidate *c = &comparison->entries[i];
        struct moments moments = {0};
        progress_step(&progress, i + 1);
        status = classify_set(e, c, &moments);
        if (status == DPOT_OK && moments.dim > 0) {
            status = moments_frechet(&reference, &moments, &c->frechet, &e->run->error);
        }
        moments_release(&moments);
    }
    progress_end(&progress);
    moments_release(&reference);
    return status;
}

/* ---- result ---- */

static void put_value(json_t *object, const char *key, const char *suffix, json_t *value)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s%s", key, suffix);
    (void)json_object_set_new(object, name, value);
}

static void put(json_t *object, const char *key, const char *suffix, double value)
{
    put_value(object, key, suffix, json_number(value));
}

static void put_measures(struct evaluation *e, const struct candidate *c, const char *suffix,
                         json_t *object)
{
    put(object, "w1", suffix, c->exact.w1);
    put(object, "w2", suffix, c->exact.w2);
    put(object, "sliced_w2", suffix, c->sliced);
    if (e->file.classifier) {
        put(object, "frechet", suffix, c->frechet);
        put_value(object, "classes_covered", suffix,
                  json_integer((json_int_t)c->coverage.n_covered));
        put(object, "smallest_share", suffix, c->coverage.smallest);
        put(object, "class_distance", suffix,
            coverage_distance(&c->coverage, &e->comparison.reference.coverage));
        put(object, "confidence", suffix, c->coverage.confidence);
    }
}

static json_t *shares_of(const struct coverage *coverage)
{
    json_t *shares = json_array();
    for (size_t k = 0; k < coverage->n_classes; k++) {
        (void)json_array_append_new(shares, json_number(coverage->shares[k]));
    }
    return shares;
}

/* One row per set. */
static void put_table(struct evaluation *e)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < e->comparison.n_entries; i++) {
        const struct candidate *c = &e->comparison.entries[i];
        json_t *row = json_object();
        (void)json_object_set_new(row, "of", json_string(c->name));
        put_measures(e, c, "", row);
        if (e->file.classifier) {
            (void)json_object_set_new(row, "shares", shares_of(&c->coverage));
        }
        (void)json_array_append_new(rows, row);
    }
    run_put(e->run, "distances", rows);
}

static dpot_status put_accuracy(struct evaluation *e)
{
    struct labelled labelled = {.points = e->reference}; /* borrowed */
    double accuracy = 0;
    if (!option_is_given(e->run, "labels")) {
        return DPOT_OK;
    }
    dpot_status status =
        labels_load(e->run, "labels", e->reference.n_rows, &labelled.labels, &labelled.n_classes);
    if (status == DPOT_OK) {
        status = labelled_accuracy(e->run, &e->file, &labelled, &accuracy);
    }
    if (status == DPOT_OK) {
        run_put_number(e->run, "accuracy", accuracy);
    }
    dpot_free_array(NULL, labelled.labels, e->reference.n_rows, sizeof *labelled.labels);
    return status;
}

static dpot_status put_result(struct evaluation *e)
{
    struct run *run = e->run;
    const struct candidate *samples = comparison_find(&e->comparison, "samples");
    const struct candidate *privatised = comparison_find(&e->comparison, "privatised");
    run_put_integer(run, "n", e->comparison.n_exact);
    run_put_integer(run, "n_each", e->comparison.n_each);
    run_put_integer(run, "n_reference", e->comparison.reference.n);
    run_put_integer(run, "dim", e->comparison.dim);
    put_table(e);
    if (run->is_json) { /* the same values under keys of their own */
        put_measures(e, samples, "", run->result);
        put_measures(e, comparison_find(&e->comparison, "reference"), "_floor", run->result);
        if (privatised) {
            put_measures(e, privatised, "_privatised", run->result);
        }
    }
    return put_accuracy(e);
}

static dpot_status measure(struct evaluation *e)
{
    struct progress progress;
    struct run *run = e->run;
    progress_init(&progress, run, "exact distances", e->comparison.n_entries);
    const struct solve_control control = progress_control(&progress);
    dpot_status status =
        comparison_measure_exact(&e->comparison, run->n_threads, &control, &run->error);
    progress_end(&progress);
    if (status == DPOT_OK) {
        progress_init(&progress, run, "sliced distances", e->comparison.n_entries);
        status = comparison_measure_sliced(&e->comparison, (size_t)e->n_directions, run->n_threads,
                                           &control, &run->error);
        progress_end(&progress);
    }
    return status;
}

static dpot_status run_generator_evaluate(struct run *run)
{
    struct evaluation e = {.run = run,
                           .n_exact = EXACT_DEFAULT,
                           .n_directions = DIRECTIONS_DEFAULT,
                           .n_samples = SAMPLES_DEFAULT};
    dpot_status status = read_options(&e);
    if (status == DPOT_OK) {
        status = prepare(&e);
    }
    if (status == DPOT_OK) {
        status = measure(&e);
    }
    if (status == DPOT_OK) {
        status = classify_all(&e);
    }
    if (status == DPOT_OK) {
        status = put_result(&e);
    }
    comparison_release(&e.comparison);
    classifier_file_release(&e.file);
    array_release(&e.samples);
    array_release(&e.weights);
    array_release(&e.reference);
    array_release(&e.privatised);
    team_free(e.team);
    return status;
}

const struct command command_generator_evaluate = {
    .name = "generator evaluate",
    .summary = "how near a generator's samples are to real data, and what would be near",
    .details =
        "Splits the reference at random into halves (--seed, default 0), and compares every set\n"
        "with the first half: the samples, the privatised reports, the other half (the floor:\n"
        "the distance due to sampling alone), and two trivial ones, a Gaussian with the moments\n"
        "of the other half, and its mean. All have n_each points, n of them in w1 and w2.\n"
        "Distances are Euclidean. The command reads raw data: run it on public or simulated\n"
        "data.\n"
        "Keys: n, n_each, n_reference (points of the half), dim, distances (one row per set: of,\n"
        "w1, w2, sliced_w2); with a classifier frechet (in its features), classes_covered (with\n"
        "at least 3 %), smallest_share, class_distance (share in the wrong class), confidence\n"
        "and, in JSON, shares; accuracy (with --labels). With --json also w1, w2, ... of the\n"
        "samples, and the same with _floor and _privatised.",
    .example = "dpot generator evaluate --samples samples.csv --reference real.csv --max-points 20",
    .options = options,
    .run = run_generator_evaluate,
};
