#include "campaign/spec_vector.h"
#include "json/fields.h"

#include <stdlib.h>
#include <string.h>

#define PATH "mechanism.transform" /* in refusals */
#define KEEP_REMEDY "give a number of coefficients, or a list of [u, v]"

struct transform_keys {
    enum dpot_transform_id id;
    const json_t *shape, *keep;
};

#define DCT .only = 1u << DPOT_TRANSFORM_DCT, .goes_with = "dct"

static const struct json_word types[] = {
    {"none", DPOT_TRANSFORM_NONE}, {"dct", DPOT_TRANSFORM_DCT}, {NULL, 0}};
static const struct json_field fields[] = {
    FIELD_WORD("type", struct transform_keys, id, types, FIELD_REQUIRED(NULL)),
    FIELD_VALUE("shape", struct transform_keys, shape, FIELD_REQUIRED("give [rows, columns]"), DCT),
    FIELD_VALUE("keep", struct transform_keys, keep, FIELD_REQUIRED(KEEP_REMEDY), DCT),
    {.key = NULL},
};

/* Coefficients are sorted by u / rows + v / cols, compared in integers as u cols + v rows. */
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

static dpot_status keep_lowest(uint32_t n_keep, struct dpot_transform *transform)
{
    const uint32_t rows = transform->rows, cols = transform->cols, size = rows * cols;
    struct coefficient *all = dpot_alloc_array(NULL, size, sizeof *all);
    transform->n_keep = n_keep;
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
                              PATH ".keep[%zu] must be [u, v] with 0 <= u < %u and 0 "
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
                              PATH ".keep lists %zu coefficients of %u x %u: give 1 "
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
            return dpot_error_set(error, DPOT_ERR_RANGE, PATH ".keep lists [%u, %u] twice",
                                  transform->keep[i] / transform->cols,
                                  transform->keep[i] % transform->cols);
        }
    }
    return DPOT_OK;
}

static dpot_status read_keep(const json_t *keep, struct dpot_transform *transform,
                             struct dpot_error *error)
{
    uint32_t n = 0;
    const struct json_field number = {.kind = JSON_KIND_INTEGER,
                                      .size = sizeof n,
                                      .integer = {1, (int64_t)transform->rows * transform->cols},
                                      .remedy = KEEP_REMEDY};
    if (json_is_array(keep)) {
        return keep_listed(keep, transform, error);
    }
    const dpot_status status = json_read_value(&number, keep, PATH ".keep", &n, error);
    return status == DPOT_OK ? keep_lowest(n, transform) : status;
}

static dpot_status read_dct(const struct transform_keys *keys, struct dpot_transform *transform,
                            struct dpot_error *error)
{
    uint32_t shape[2] = {0};
    dpot_status status =
        json_read_sizes(keys->shape, PATH ".shape", DPOT_TRANSFORM_SIDE_MAX, shape, 2, error);
    if (status == DPOT_OK) {
        *transform =
            (struct dpot_transform){.id = DPOT_TRANSFORM_DCT, .rows = shape[0], .cols = shape[1]};
        status = read_keep(keys->keep, transform, error);
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
    struct transform_keys keys = {.id = DPOT_TRANSFORM_NONE};
    const json_t *value = json_object_get(mechanism, "transform");
    const char *text = json_string_value(value);
    *transform = (struct dpot_transform){0};
    if (!value || (text && strcmp(text, "none") == 0)) {
        return DPOT_OK;
    }
    if (!json_is_object(value)) {
        return dpot_error_set(
            error, DPOT_ERR_MALFORMED,
            PATH ": say \"none\" or {\"type\":\"dct\",\"shape\":[28,28],\"keep\":200}");
    }
    dpot_status status = json_read_field(value, PATH, &fields[0], &keys, error);
    if (status == DPOT_OK) {
        const struct json_case which = {1u << keys.id, "none"};
        status = json_read_fields(value, PATH, fields, &which, &keys, error);
    }
    return status == DPOT_OK && keys.id == DPOT_TRANSFORM_DCT ? read_dct(&keys, transform, error)
                                                              : status;
}
