#include "campaign/spec_read.h"
#include "campaign/spec_vector.h"

#include <stdlib.h>
#include <string.h>

static const char *const none_keys[] = {"type", NULL};
static const char *const dct_keys[] = {"type", "shape", "keep", NULL};

static dpot_status read_shape(const json_t *object, struct dpot_transform *transform,
                              struct dpot_error *error)
{
    double shape[2] = {0};
    const json_t *list = json_object_get(object, "shape");
    if (!json_is_array(list) || json_array_size(list) != 2) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "mechanism.transform.shape must be [rows, columns]");
    }
    const dpot_status status =
        spec_read_numbers(list, "mechanism.transform.shape", shape, 2, error);
    for (size_t i = 0; status == DPOT_OK && i < 2; i++) {
        if (!(shape[i] >= 1 && shape[i] <= DPOT_TRANSFORM_SIDE_MAX) ||
            shape[i] != (double)(uint32_t)shape[i]) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "mechanism.transform.shape[%zu] is %g: give an integer from 1 to "
                                  "%d",
                                  i, shape[i], DPOT_TRANSFORM_SIDE_MAX);
        }
    }
    transform->rows = (uint32_t)shape[0];
    transform->cols = (uint32_t)shape[1];
    return status;
}

/* Sorting by frequency. u / rows + v / cols is compared as u cols + v rows. */
struct coefficient {
    uint64_t frequency;
    uint32_t number;
};

static int compare_frequency(const void *a, const void *b)
{
    const struct coefficient *x = a, *y = b;
    if (x->frequency != y->frequency) {
        return x->frequency < y->frequency ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static dpot_status keep_lowest(int64_t n_keep, struct dpot_transform *transform)
{
    const uint32_t rows = transform->rows, cols = transform->cols, size = rows * cols;
    struct coefficient *all = dpot_alloc_array(NULL, size, sizeof *all);
    transform->n_keep = (uint32_t)n_keep;
    transform->keep = dpot_alloc_array(NULL, transform->n_keep, sizeof *transform->keep);
    const bool is_complete = all && transform->keep;
    for (uint32_t i = 0; is_complete && i < size; i++) {
        all[i].frequency = (uint64_t)(i / cols) * cols + (uint64_t)(i % cols) * rows;
        all[i].number = i;
    }
    if (is_complete) {
        qsort(all, size, sizeof *all, compare_frequency);
        for (uint32_t i = 0; i < transform->n_keep; i++) {
            transform->keep[i] = all[i].number;
        }
        qsort(transform->keep, transform->n_keep, sizeof *transform->keep, compare_number);
    }
    dpot_free_array(NULL, all, size, sizeof *all);
    return is_complete ? DPOT_OK : DPOT_ERR_MEMORY;
}

static dpot_status read_pair(const json_t *pair, size_t i, const struct dpot_transform *transform,
                             uint32_t *number, struct dpot_error *error)
{
    if (json_is_integer(pair) && json_integer_value(pair) >= 0 &&
        json_integer_value(pair) < (json_int_t)transform->rows * transform->cols) {
        *number = (uint32_t)json_integer_value(pair);
        return DPOT_OK;
    }
    const json_int_t u = json_integer_value(json_array_get(pair, 0));
    const json_int_t v = json_integer_value(json_array_get(pair, 1));
    if (json_array_size(pair) != 2 || !json_is_integer(json_array_get(pair, 0)) ||
        !json_is_integer(json_array_get(pair, 1)) || u < 0 || u >= transform->rows || v < 0 ||
        v >= transform->cols) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "mechanism.transform.keep[%zu] must be [u, v] with 0 <= u < %u and 0 "
                              "<= v < %u, or the number u columns + v",
                              i, transform->rows, transform->cols);
    }
    *number = (uint32_t)u * transform->cols + (uint32_t)v;
    return DPOT_OK;
}

static dpot_status keep_listed(const json_t *list, struct dpot_transform *transform,
                               struct dpot_error *error)
{
    const size_t n = json_array_size(list);
    if (n < 1 || n > (size_t)transform->rows * transform->cols) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "mechanism.transform.keep lists %zu coefficients of %u x %u: give 1 "
                              "to all of them",
                              n, transform->rows, transform->cols);
    }
    transform->keep = dpot_alloc_array(NULL, n, sizeof *transform->keep);
    if (!transform->keep) {
        return DPOT_ERR_MEMORY;
    }
    transform->n_keep = (uint32_t)n;
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        status = read_pair(json_array_get(list, i), i, transform, &transform->keep[i], error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    qsort(transform->keep, n, sizeof *transform->keep, compare_number);
    for (size_t i = 1; i < n; i++) {
        if (transform->keep[i] == transform->keep[i - 1]) {
            return dpot_error_set(
                error, DPOT_ERR_RANGE, "mechanism.transform.keep lists [%u, %u] twice",
                transform->keep[i] / transform->cols, transform->keep[i] % transform->cols);
        }
    }
    return DPOT_OK;
}

static dpot_status read_keep(const json_t *object, struct dpot_transform *transform,
                             struct dpot_error *error)
{
    const json_t *keep = json_object_get(object, "keep");
    if (json_is_array(keep)) {
        return keep_listed(keep, transform, error);
    }
    int64_t n = 0;
    const dpot_status status = spec_require(
        json_get_integer(object, "mechanism.transform", "keep", 1,
                         (int64_t)transform->rows * transform->cols, &n, error),
        "mechanism.transform.keep", "give a number of coefficients, or a list of [u, v]", error);
    return status == DPOT_OK ? keep_lowest(n, transform) : status;
}

static dpot_status read_dct(const json_t *object, struct dpot_transform *transform,
                            struct dpot_error *error)
{
    dpot_status status = json_check_keys(object, "mechanism.transform", dct_keys, error);
    if (status == DPOT_OK) {
        status = read_shape(object, transform, error);
    }
    if (status == DPOT_OK) {
        transform->id = DPOT_TRANSFORM_DCT;
        status = read_keep(object, transform, error);
    }
    if (status != DPOT_OK) {
        dpot_free_array(NULL, transform->keep, transform->n_keep, sizeof *transform->keep);
        *transform = (struct dpot_transform){0};
    }
    return status;
}

dpot_status spec_read_transform(const json_t *mechanism, struct dpot_transform *transform,
                                struct dpot_error *error)
{
    static const char remedy[] =
        "say \"none\" or {\"type\":\"dct\",\"shape\":[28,28],\"keep\":200}";
    const json_t *value = json_object_get(mechanism, "transform");
    const json_t *type_value = json_is_object(value) ? json_object_get(value, "type") : value;
    const char *type = json_string_value(type_value);
    *transform = (struct dpot_transform){0};
    if (!value) {
        return DPOT_OK;
    }
    if (!type || (strcmp(type, "none") != 0 && strcmp(type, "dct") != 0)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "mechanism.transform: %s", remedy);
    }
    if (strcmp(type, "dct") == 0) {
        return json_is_object(value)
                   ? read_dct(value, transform, error)
                   : dpot_error_set(error, DPOT_ERR_MALFORMED, "mechanism.transform: %s", remedy);
    }
    return json_is_object(value) ? json_check_keys(value, "mechanism.transform", none_keys, error)
                                 : DPOT_OK;
}
