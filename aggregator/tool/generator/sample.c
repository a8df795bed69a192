/* dpot generator sample: draws points from a trained generator. */
#include "tool/shared/commands.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "generator/model.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"

#include <string.h>

#define SAMPLES_DEFAULT 1000
#define BATCH 256 /* points per pass */

static const struct option options[] = {
    {"model", "F.onnx", "the generator, as dpot generator train writes it"},
    {"n-samples", "N 1..268435456", "number of points to draw (default 1000)"},
    {"out", "F", "the points (N, dim)"},
    {NULL, NULL, NULL},
};

static dpot_status fill(struct run *run, struct generator_model *model, size_t n,
                        struct array *array)
{
    const size_t dim = network_architecture(model->network)->out_dim;
    float *points = dim > 0 && n <= ARRAY_ENTRIES_MAX / dim
                        ? dpot_alloc_array(NULL, n * dim, sizeof *points)
                        : NULL;
    if (!points) {
        return dpot_error_set(&run->error, DPOT_ERR_TOO_LARGE,
                              "--n-samples %zu points of %zu coordinates are too much: take fewer",
                              n, dim);
    }
    uint64_t seed = run->seed;
    if (!run->has_seed) {
        dpot_rng_source_sodium.fill(NULL, &seed, sizeof seed);
    }
    dpot_status status = generator_model_sample(model, seed, n, points);
    if (status == DPOT_OK) {
        status = array_init(array, n, dim, dim == 1);
    }
    for (size_t i = 0; status == DPOT_OK && i < n * dim; i++) {
        array->values[i] = (double)points[i];
    }
    dpot_free_array(NULL, points, n * dim, sizeof *points);
    return status;
}

static void put_notes(struct run *run, const struct generator_model *model)
{
    for (size_t i = 0; i < model->n_notes; i++) {
        run_put_text(run, model->notes[i].key, model->notes[i].value);
    }
}

static dpot_status run_generator_sample(struct run *run)
{
    struct generator_model model = {0};
    struct array array = {0};
    const struct generator_setup setup = {.max_batch = BATCH, .linalg = dpot_linalg_f32_openblas()};
    const char *path = NULL, *out = NULL;
    uint64_t n = SAMPLES_DEFAULT;
    dpot_status status = option_require(run, "model", "a generator", &path);
    if (status == DPOT_OK) {
        status = option_require_array_output(run, "out", "a file for the points", &out);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "n-samples", 1, ARRAY_ENTRIES_MAX, &n);
    }
    if (status == DPOT_OK) {
        status = generator_model_load(path, &setup, &model, &run->error);
    }
    if (status == DPOT_OK) {
        status = fill(run, &model, (size_t)n, &array);
    }
    if (status == DPOT_OK) {
        status = array_write(out, &array, ARRAY_F8, &run->error);
    }
    if (status == DPOT_OK) {
        run_put_integer(run, "n", n);
        run_put_integer(run, "dim", array.n_cols);
        run_put_text(run, "arch", network_architecture(model.network)->name);
        put_notes(run, &model);
    }
    array_release(&array);
    generator_model_release(&model);
    return status;
}

const struct command command_generator_sample = {
    .name = "generator sample",
    .summary = "draw points from a trained generator",
    .details =
        "Draws latent points with --seed (default: random) and maps them. A larger N with the\n"
        "same seed begins with the same points. Keys: n, dim, arch, and the provenance of the\n"
        "model (mechanism, scale, pool_checksum, settings, ...).",
    .example =
        "dpot generator sample --model generator.onnx --n-samples 100 --seed 1 --out samples.csv",
    .options = options,
    .run = run_generator_sample,
};
