#include "json/json.h"

#include "files/output.h"
#include "json/fields.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(17))

/* The parser's words, except where they would name one of its options. */
static const char *say_reason(const json_error_t *reason)
{
    const enum json_error_code code = json_error_code(reason);
    return code == json_error_null_character || code == json_error_null_byte_in_key
               ? "a text holds the character \\u0000, which is not accepted: leave it out"
               : reason->text;
}

dpot_status json_parse(const void *data, size_t len, json_t **value, struct dpot_error *error)
{
    json_error_t reason;
    *value = json_loadb(data, len, JSON_REJECT_DUPLICATES, &reason);
    if (!*value && (json_error_code(&reason) == json_error_out_of_memory || !reason.text[0])) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for JSON");
    }
    if (!*value) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "JSON line %d, column %d: %s", reason.line,
                              reason.column, say_reason(&reason));
    }
    return DPOT_OK;
}

/* Appends the stream to `buf`, up to its ceiling. */
static dpot_status read_stream(FILE *stream, struct dpot_buf *buf, struct dpot_error *error)
{
    uint8_t block[16384];
    size_t n = 0;
    while ((n = fread(block, 1, sizeof block, stream)) > 0) {
        const dpot_status status = dpot_buf_append(buf, block, n);
        if (status != DPOT_OK) {
            return status == DPOT_ERR_TOO_LARGE
                       ? dpot_error_set(error, status, "the file is larger than %zu bytes",
                                        buf->max)
                       : dpot_error_set(error, status, "out of memory for the file");
        }
    }
    return ferror(stream)
               ? dpot_error_set(error, DPOT_ERR_IO, "reading failed: %s", strerror(errno))
               : DPOT_OK;
}

dpot_status json_read(const char *path, json_t **value, struct dpot_error *error)
{
    struct dpot_buf buf;
    *value = NULL;
    FILE *stream = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!stream) {
        return dpot_error_set(error, DPOT_ERR_IO, "reading %s failed: %s", path, strerror(errno));
    }
    dpot_buf_init(&buf, DPOT_JSON_BYTES_MAX, NULL);
    dpot_status status = read_stream(stream, &buf, error);
    if (stream != stdin) {
        (void)fclose(stream);
    }
    if (status == DPOT_OK) {
        const size_t mark = buf.len >= 3 && memcmp(buf.data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        status =
            json_parse(buf.data ? (const char *)buf.data + mark : "", buf.len - mark, value, error);
    }
    dpot_buf_release(&buf);
    return status == DPOT_OK ? status : dpot_error_prefix(error, status, "%s", path);
}

dpot_status json_write(const char *path, const json_t *value, struct dpot_error *error)
{
    struct output output;
    char *text = json_dumps(value, DUMP_FLAGS | JSON_ENCODE_ANY);
    if (!text) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for JSON");
    }
    const dpot_status status = output_open(path, &output, error);
    if (status == DPOT_OK) {
        (void)fprintf(output.stream, "%s\n", text); /* output_commit checks for errors */
    }
    free(text);
    return status == DPOT_OK ? output_commit(&output, error) : status;
}

/* ASCII, so that the cut splits no character. */
void json_show(char *out, size_t cap, const json_t *value)
{
    const char *kind = json_is_object(value) ? "an object" : "an array";
    char *text = NULL;
    if (!json_is_object(value) && !json_is_array(value)) {
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
    }
    const int len = snprintf(out, cap, "%s", text ? text : kind);
    if (len >= (int)cap && cap > 5 && out[0] == '"') {
        (void)snprintf(out + cap - 5, 5, "...\""); /* cut */
    }
    free(text);
}

static dpot_status read_if_there(const json_t *object, const char *path,
                                 const struct json_field *field, void *out,
                                 struct dpot_error *error)
{
    return json_object_get(object, field->key) ? json_read_field(object, path, field, out, error)
                                               : DPOT_ERR_NOT_FOUND;
}

dpot_status json_get_number(const json_t *object, const char *path, const char *key, double min,
                            double max, double *out, struct dpot_error *error)
{
    const struct json_field field = {.key = key, .kind = JSON_KIND_NUMBER, .number = {min, max}};
    return read_if_there(object, path, &field, out, error);
}

dpot_status json_get_integer(const json_t *object, const char *path, const char *key, int64_t min,
                             int64_t max, int64_t *out, struct dpot_error *error)
{
    const struct json_field field = {
        .key = key, .kind = JSON_KIND_INTEGER, .size = sizeof *out, .integer = {min, max}};
    return read_if_there(object, path, &field, out, error);
}

dpot_status json_get_string(const json_t *object, const char *path, const char *key,
                            const char **out, struct dpot_error *error)
{
    const struct json_field field = {.key = key, .kind = JSON_KIND_TEXT};
    return read_if_there(object, path, &field, out, error);
}

json_t *json_numbers(const double *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < n; i++) {
        if (json_array_append_new(list, json_real(values[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

json_t *json_rows(const double *values, size_t n_rows, size_t n_cols)
{
    json_t *rows = json_array();
    for (size_t i = 0; rows && i < n_rows; i++) {
        if (json_array_append_new(rows, json_numbers(values + i * n_cols, n_cols)) != 0) {
            json_decref(rows);
            rows = NULL;
        }
    }
    return rows;
}

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}
