/* dpot artifact get: saves the result of a job as a file. */
#include "tool/shared/commands.h"

#include "files/array.h"
#include "files/output.h"
#include "generator/training.h"
#include "proto/wire_artifact.h"
#include "tool/shared/options.h"
#include "tool/shared/remote.h"
#include "json/side_file.h"

#include <stdio.h>
#include <string.h>

#define PATH_SIZE 128
#define GENERATOR_KIND "generator"
#define BARYCENTER_KIND "barycenter"
#define HEADER_SIZE 4096

static const struct option options[] = {
    {"out", "F", "the values, with F.json; the model if F ends in .onnx; all bytes if in .pb"},
    {"weights-out", "F", "barycenter: the weights of its points (m,)"},
    {"deconvolved-out", "F",
     "barycenter: the deconvolved groups, rows of group, weight, coordinates"},
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    {NULL, NULL, NULL},
};

/* Downloads an artifact and verifies its digest. */
static dpot_status fetch(struct run *run, const char *digest, struct dpot_buf *bytes)
{
    struct remote remote;
    char path[PATH_SIZE];
    uint8_t wanted[DPOT_HASH_LEN], found[DPOT_HASH_LEN];
    if (dpot_hex_decode(digest, wanted, sizeof wanted) != DPOT_OK) {
        return RUN_USAGE(run, "\"%.80s\" is no digest: it has 64 hex digits", digest);
    }
    (void)snprintf(path, sizeof path, "/v1/admin/artifacts/%.64s", digest);
    dpot_status status = remote_open(run, true, &remote);
    if (status == DPOT_OK) {
        status = remote_call(&remote, "GET", path, NULL, bytes);
    }
    remote_close(&remote);
    if (status == DPOT_OK) {
        dpot_hash(found, bytes->data, bytes->len);
        if (memcmp(found, wanted, sizeof found) != 0) {
            status = dpot_error_set(&run->error, DPOT_ERR_CORRUPT,
                                    "the server's %zu bytes do not have this digest: fetch them "
                                    "again, or run the job again",
                                    bytes->len);
        }
    }
    return status;
}

static json_t *hex_text(const uint8_t *data, size_t len)
{
    char text[2 * DPOT_HASH_LEN + 1];
    dpot_hex_encode(text, data, len);
    return json_string(text);
}

/* Everything but the values. */
static json_t *describe(const struct dpot_artifact *artifact)
{
    json_t *parameters = json_loads(artifact->parameters, 0, NULL);
    json_t *object = json_pack(
        "{s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:I}", "kind", artifact->kind, "program_version",
        artifact->program_version, "campaign_hash",
        hex_text(artifact->campaign_hash, DPOT_HASH_LEN), "revision",
        artifact->revision > 0 ? json_integer((json_int_t)artifact->revision) : json_null(),
        "pool_count",
        artifact->has_pool ? json_integer((json_int_t)artifact->pool_count) : json_null(),
        "pool_checksum",
        artifact->has_pool ? hex_text(artifact->pool_checksum, DPOT_HASH_LEN) : json_null(),
        "parameters", parameters ? parameters : json_object(), "n_values",
        (json_int_t)artifact->n_values);
    for (size_t i = 0; i < artifact->n_numbers; i++) {
        (void)json_object_set_new(object, artifact->numbers[i].name,
                                  json_number(artifact->numbers[i].value));
    }
    if (artifact->n_model > 0) {
        (void)json_object_set_new(object, "model_bytes",
                                  json_integer((json_int_t)artifact->n_model));
    }
    json_t *counts = artifact->n_counts > 0 ? json_array() : NULL;
    for (size_t i = 0; i < artifact->n_counts; i++) {
        (void)json_array_append_new(counts, json_integer((json_int_t)artifact->counts[i]));
    }
    if (counts) {
        (void)json_object_set_new(object, "counts", counts);
    }
    return object;
}

/* The values of a generator are its curve, row by row. */
static bool is_curve(const struct dpot_artifact *artifact)
{
    return artifact->n_model > 0 && strcmp(artifact->kind, GENERATOR_KIND) == 0 &&
           artifact->n_values % TRAINING_CURVE_COLUMNS == 0;
}

/* ---- barycenters ---- */

/* The layout of the values (jobs/barycenter.c). */
struct layout {
    size_t support, dim, n_groups, n_points;
};

static size_t size_of(const struct dpot_artifact *artifact, const char *name)
{
    double value = 0;
    return dpot_artifact_find_number(artifact, name, &value) == DPOT_OK && value >= 1 &&
                   value <= DPOT_ARTIFACT_VALUES_MAX
               ? (size_t)value
               : 0;
}

/* False for another kind, or if the numbers do not agree with the values. */
static bool is_barycenter(const struct dpot_artifact *artifact, struct layout *layout)
{
    *layout = (struct layout){size_of(artifact, "support"), size_of(artifact, "dim"),
                              size_of(artifact, "groups"), size_of(artifact, "points")};
    const size_t n_rows = layout->support + layout->n_groups * layout->n_points;
    return strcmp(artifact->kind, BARYCENTER_KIND) == 0 && layout->support > 0 && layout->dim > 0 &&
           layout->n_groups * layout->n_points <= DPOT_ARTIFACT_VALUES_MAX &&
           n_rows <= DPOT_ARTIFACT_VALUES_MAX / (layout->dim + 1) &&
           artifact->n_values == n_rows * (layout->dim + 1);
}

static dpot_status write_part(struct run *run, const char *path, double *values, size_t n_rows,
                              size_t n_cols)
{
    struct array array = {.n_rows = n_rows,
                          .n_cols = n_cols,
                          .is_vector = n_cols == 1,
                          .values = values}; /* borrowed */
    return path ? array_write(path, &array, ARRAY_F8, &run->error) : DPOT_OK;
}

/* Writes the groups, with the group number before every row. */
static dpot_status write_groups(struct run *run, const char *path,
                                const struct dpot_artifact *artifact, const struct layout *layout)
{
    struct array array;
    char header[HEADER_SIZE] = "group,weight";
    const size_t n_cols = layout->dim + 1, n_rows = layout->n_groups * layout->n_points;
    const double *rows = artifact->values + layout->support * n_cols;
    if (!path) {
        return DPOT_OK;
    }
    for (size_t j = 0, len = strlen(header); j < layout->dim && len + 24 < sizeof header; j++) {
        len += (size_t)snprintf(header + len, sizeof header - len, ",x%zu", j + 1);
    }
    dpot_status status = array_init(&array, n_rows, n_cols + 1, false);
    for (size_t i = 0; status == DPOT_OK && i < n_rows; i++) {
        array.values[i * (n_cols + 1)] = (double)(i / layout->n_points);
        memcpy(array.values + i * (n_cols + 1) + 1, rows + i * n_cols, n_cols * sizeof *rows);
    }
    if (status == DPOT_OK) {
        status = array_write_named(path, &array, header, &run->error);
    }
    array_release(&array);
    return status;
}

static dpot_status write_barycenter(struct run *run, const char *path,
                                    const struct dpot_artifact *artifact,
                                    const struct layout *layout)
{
    const size_t m = layout->support, dim = layout->dim;
    dpot_status status = write_part(run, path, artifact->values, m, dim);
    if (status == DPOT_OK) {
        status = write_part(run, option_text(run, "weights-out"), artifact->values + m * dim, m, 1);
    }
    return status == DPOT_OK
               ? write_groups(run, option_text(run, "deconvolved-out"), artifact, layout)
               : status;
}

static dpot_status write_values(struct run *run, const char *path,
                                const struct dpot_artifact *artifact)
{
    struct layout layout;
    if (is_barycenter(artifact, &layout)) {
        return write_barycenter(run, path, artifact, &layout);
    }
    if (option_is_given(run, "weights-out") || option_is_given(run, "deconvolved-out")) {
        return dpot_error_set(
            &run->error, DPOT_ERR_SHAPE,
            "the artifact is of kind %s: only those of barycenter have points with "
            "weights and groups",
            artifact->kind);
    }
    struct array values = {.n_rows = artifact->n_values,
                           .n_cols = 1,
                           .is_vector = true,
                           .values = artifact->values}; /* borrowed */
    if (!is_curve(artifact)) {
        return array_write(path, &values, ARRAY_F8, &run->error);
    }
    values.n_rows /= TRAINING_CURVE_COLUMNS;
    values.n_cols = TRAINING_CURVE_COLUMNS;
    values.is_vector = false;
    return array_write_named(path, &values, TRAINING_CURVE_NAMES, &run->error);
}

static dpot_status write_model(struct run *run, const char *path,
                               const struct dpot_artifact *artifact)
{
    return artifact->n_model > 0
               ? output_write(path, artifact->model, artifact->n_model, &run->error)
               : dpot_error_set(
                     &run->error, DPOT_ERR_SHAPE,
                     "the artifact is of kind %s and has no model: give a name that ends "
                     "in .npy or .csv for its values",
                     artifact->kind);
}

static dpot_status write_parts(struct run *run, const char *path,
                               const struct dpot_artifact *artifact)
{
    const dpot_status status = path_ends_in(path, ".onnx") ? write_model(run, path, artifact)
                                                           : write_values(run, path, artifact);
    return status == DPOT_OK ? side_file_write(path, run->result, &run->error) : status;
}

static dpot_status write_artifact(struct run *run, const char *path, const struct dpot_buf *bytes)
{
    struct dpot_artifact artifact;
    dpot_status status =
        dpot_wire_artifact_decode(bytes->data, bytes->len, NULL, &artifact, &run->error);
    if (status != DPOT_OK) {
        return status;
    }
    json_t *object = describe(&artifact);
    if (object) {
        json_decref(run->result);
        run->result = object;
        run_put_text(run, "digest", run->operands[0]);
        status = path_ends_in(path, ".pb")
                     ? output_write(path, bytes->data, bytes->len, &run->error)
                     : write_parts(run, path, &artifact);
    }
    dpot_artifact_release(&artifact);
    return object ? status : DPOT_ERR_MEMORY;
}

static dpot_status run_get(struct run *run)
{
    const char *out = NULL;
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    const char *weights = NULL, *groups = NULL;
    dpot_status status = option_require_output(run, "out", "a file for the values", &out);
    if (status == DPOT_OK) {
        status = option_array_output(run, "weights-out", &weights);
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "deconvolved-out", &groups);
    }
    if (status == DPOT_OK && (weights || groups) &&
        (path_ends_in(out, ".onnx") || path_ends_in(out, ".pb"))) {
        status =
            RUN_USAGE(run, "--weights-out and --deconvolved-out go with an --out of .npy or .csv");
    }
    if (status == DPOT_OK) {
        status = fetch(run, run->operands[0], &bytes);
    }
    if (status == DPOT_OK) {
        status = write_artifact(run, out, &bytes);
    }
    dpot_buf_release(&bytes);
    return status;
}

const struct command command_artifact_get = {
    .name = "artifact get",
    .operands = "DIGEST",
    .n_operands = 1,
    .summary = "save the result of a job",
    .details =
        "Verifies the bytes by the digest. --out F gets the values (masses of a base measure,\n"
        "frequencies of an estimate, the curve of a generator as a table, the points (m, d) of a\n"
        "barycenter), the side file F.json the rest: digest, kind, program_version,\n"
        "campaign_hash, revision (null in artifacts of older versions), pool_count and\n"
        "pool_checksum (null if no report was read), parameters, n_values, numbers of the kind\n"
        "(objective, lower_bound, loss, ...), counts, model_bytes. If F ends in .onnx it gets\n"
        "the model of a generator, for dpot generator sample, with F.json too; if in .pb the\n"
        "bytes as stored. Keys: those of F.json.",
    .example = "dpot artifact get 0f2b4c6d8e0a1c3e5f7092b4d6f81a3c5e7092b4d6f81a3c5e7092b4d6f81a3c "
               "--out m.npy --server "
               "https://pool.example.org",
    .options = options,
    .run = run_get,
};
