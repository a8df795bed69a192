#include "generator/classifier_file.h"

#include "json/fields.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FORMAT "dpot classifier"
#define FORMAT_VERSION 1

dpot_status classifier_file_make(const struct classifier_setup *setup, struct classifier_file *file,
                                 struct dpot_error *error)
{
    const struct classifier_config config = {.architecture = file->architecture,
                                             .dim = file->dim,
                                             .n_classes = file->n_classes,
                                             .batch = setup->batch,
                                             .seed = file->seed,
                                             .linalg = setup->linalg,
                                             .team = setup->team};
    return classifier_new(&config, &file->classifier, error);
}

void classifier_file_release(struct classifier_file *file)
{
    classifier_free(file->classifier);
    *file = (struct classifier_file){0};
}

void classifier_file_scale(double lo, double hi, const double *points, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (float)((points[i] - lo) / (hi - lo));
    }
}

static json_t *list_of(const float *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        (void)json_array_append_new(list, json_real((double)values[i]));
    }
    return list;
}

dpot_status classifier_file_save(const struct classifier_file *file, const char *path,
                                 struct dpot_error *error)
{
    struct network *net = classifier_network(file->classifier);
    const size_t n = network_n_parameters(net);
    json_t *parameters = list_of(network_parameters(net), n);
    if (json_array_size(parameters) != n) { /* out of memory, or a number is not finite */
        json_decref(parameters);
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "%s is not written: the classifier has parameters that are not "
                              "finite; train it with a smaller learning rate",
                              path);
    }
    json_t *object =
        json_pack("{s:s, s:i, s:s, s:I, s:I, s:[f,f], s:I, s:I, s:o, s:o}", "format", FORMAT,
                  "version", FORMAT_VERSION, "architecture", network_architecture(net)->name, "dim",
                  (json_int_t)file->dim, "classes", (json_int_t)file->n_classes, "range", file->lo,
                  file->hi, "images", (json_int_t)file->n_images, "seed", (json_int_t)file->seed,
                  "test_accuracy", json_number(file->test_accuracy), "parameters", parameters);
    if (!object) {
        return DPOT_ERR_MEMORY;
    }
    const dpot_status status = json_write(path, object, error);
    json_decref(object);
    return status;
}

/* ---- reading ---- */

/* The keys beside `parameters`. */
struct header {
    struct classifier_file file;
    const json_t *format, *version, *range, *parameters;
};

static const struct json_field fields[] = {
    FIELD_VALUE("format", struct header, format, .remedy = NULL),
    FIELD_VALUE("version", struct header, version, .remedy = NULL),
    FIELD_CHARS("architecture", struct header, file.architecture, FIELD_REQUIRED(NULL)),
    FIELD_INTEGER("dim", struct header, file.dim, 1, ARCHITECTURE_DIM_MAX, FIELD_REQUIRED(NULL)),
    FIELD_INTEGER("classes", struct header, file.n_classes, 2, CLASSIFIER_CLASSES_MAX,
                  FIELD_REQUIRED(NULL)),
    FIELD_VALUE("range", struct header, range, .remedy = NULL),
    FIELD_INTEGER("images", struct header, file.n_images, 0, INT64_MAX, FIELD_REQUIRED(NULL)),
    FIELD_INTEGER("seed", struct header, file.seed, INT64_MIN, INT64_MAX, FIELD_REQUIRED(NULL)),
    FIELD_NUMBER("test_accuracy", struct header, file.test_accuracy, 0, 1, .otherwise = (double)NAN,
                 .or_null = true),
    FIELD_VALUE("parameters", struct header, parameters, .remedy = NULL),
    {.key = NULL},
};

static dpot_status check_format(const json_t *object, struct dpot_error *error)
{
    const char *format = json_string_value(json_object_get(object, "format"));
    if (!format || strcmp(format, FORMAT) != 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "this is not a classifier: give a file that dpot generator "
                              "classifier wrote");
    }
    const json_int_t version = json_integer_value(json_object_get(object, "version"));
    return version == FORMAT_VERSION
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_VERSION,
                                "a classifier of version %lld: this program reads version %d",
                                (long long)version, FORMAT_VERSION);
}

static dpot_status read_header(const json_t *object, struct classifier_file *file,
                               struct dpot_error *error)
{
    struct header header = {.format = NULL};
    double range[2] = {0};
    dpot_status status = check_format(object, error);
    if (status == DPOT_OK) {
        status = json_read_fields(object, "", fields, NULL, &header, error);
    }
    if (status == DPOT_OK) {
        status = json_read_numbers(header.range, "range", -INFINITY, range, 2, error);
    }
    if (status == DPOT_OK && !(range[0] < range[1] && isfinite(range[1] - range[0]))) {
        status =
            dpot_error_set(error, DPOT_ERR_MALFORMED, "range is not [lo, hi] with lo below hi");
    }
    *file = header.file;
    file->lo = range[0];
    file->hi = range[1];
    return status;
}

/* Checks the number of values before a network of this size is allocated. */
static dpot_status check_parameters(const json_t *object, const struct classifier_file *file,
                                    struct dpot_error *error)
{
    struct architecture architecture;
    const size_t n = json_array_size(json_object_get(object, "parameters"));
    const dpot_status status = architecture_parse(file->architecture, file->dim, file->n_classes,
                                                  NETWORK_UNBOUNDED, 0, 1, &architecture, error);
    if (status == DPOT_OK && (n != architecture.n_parameters || architecture.n_state > 0)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "%zu parameters do not fit a classifier %s", n,
                              file->architecture);
    }
    return status;
}

static dpot_status read_parameters(const json_t *object, struct classifier_file *file,
                                   struct dpot_error *error)
{
    const json_t *list = json_object_get(object, "parameters");
    struct network *net = classifier_network(file->classifier);
    float *out = network_parameters(net);
    for (size_t i = 0; i < network_n_parameters(net); i++) {
        const json_t *entry = json_array_get(list, i);
        const double value = json_number_value(entry);
        if (!json_is_number(entry) || !(fabs(value) <= (double)FLT_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "parameter %zu is not a number that a float32 holds", i);
        }
        out[i] = (float)value;
    }
    return DPOT_OK;
}

dpot_status classifier_file_load(const char *path, const struct classifier_setup *setup,
                                 struct classifier_file *file, struct dpot_error *error)
{
    json_t *object = NULL;
    *file = (struct classifier_file){0};
    dpot_status status = json_read(path, &object, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = read_header(object, file, error);
    if (status == DPOT_OK) {
        status = check_parameters(object, file, error);
    }
    if (status == DPOT_OK) {
        status = classifier_file_make(setup, file, error);
    }
    if (status == DPOT_OK) {
        status = read_parameters(object, file, error);
    }
    json_decref(object);
    if (status != DPOT_OK) {
        classifier_file_release(file);
        return dpot_error_prefix(error, status, "%s", path);
    }
    return DPOT_OK;
}
