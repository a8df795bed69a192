#include "json/json.h"

#include "files/output.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(17))

/* The parser's words, but where they name one of its options. */
static const char *say_reason(const json_error_t *reason)
{
    const enum json_error_code code = json_error_code(reason);
    return code == json_error_null_character || code == json_error_null_byte_in_key
               ? "a text holds the character \\u0000, which is not taken: leave it out"
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

/* Appends the stream to `buf`, whose ceiling bounds it. */
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
        status = json_parse(buf.data ? (const char *)buf.data : "", buf.len, value, error);
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
        (void)fprintf(output.stream, "%s\n", text); /* commit sees ferror */
    }
    free(text);
    return status == DPOT_OK ? output_commit(&output, error) : status;
}

/* "mechanism.epsilon", or "epsilon" at the top. */
static void join_key(char *out, size_t cap, const char *path, const char *key)
{
    const int has_path = path && *path;
    (void)snprintf(out, cap, "%s%s%.60s", has_path ? path : "", has_path ? "." : "", key);
}

/* The value as JSON, cut to what a sentence can hold. ASCII, so the cut splits no character. */
void json_show(char *out, size_t cap, const json_t *value)
{
    const char *kind = json_is_object(value) ? "an object" : "an array";
    char *text = NULL;
    if (!json_is_object(value) && !json_is_array(value)) {
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
    }
    (void)snprintf(out, cap, "%s", text ? text : kind);
    free(text);
}

static dpot_status refuse(struct dpot_error *error, dpot_status status, const char *path,
                          const char *key, const json_t *value, const char *remedy)
{
    char name[128], shown[64];
    join_key(name, sizeof name, path, key);
    json_show(shown, sizeof shown, value);
    return dpot_error_set(error, status, "%s is %s: %s", name, shown, remedy);
}

dpot_status json_check_keys(const json_t *object, const char *path, const char *const *known,
                            struct dpot_error *error)
{
    const char *key = NULL;
    json_t *value = NULL;
    if (!json_is_object(object)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s must be a JSON object",
                              path && *path ? path : "the whole");
    }
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key) != 0) {
            i++;
        }
        if (!known[i]) {
            char name[128];
            join_key(name, sizeof name, path, key);
            return dpot_error_set(error, DPOT_ERR_MALFORMED,
                                  "the key %s is not known: check its spelling or remove it", name);
        }
    }
    return DPOT_OK;
}

dpot_status json_get_number(const json_t *object, const char *path, const char *key, double min,
                            double max, double *out, struct dpot_error *error)
{
    char remedy[96];
    const json_t *value = json_object_get(object, key);
    if (!value) {
        return DPOT_ERR_NOT_FOUND;
    }
    if (!json_is_number(value)) {
        return refuse(error, DPOT_ERR_MALFORMED, path, key, value, "give a number");
    }
    const double number = json_number_value(value);
    if (!(number >= min && number <= max)) {
        (void)snprintf(remedy, sizeof remedy, "give a number from %g to %g", min, max);
        return refuse(error, DPOT_ERR_RANGE, path, key, value, remedy);
    }
    *out = number;
    return DPOT_OK;
}

dpot_status json_get_integer(const json_t *object, const char *path, const char *key, int64_t min,
                             int64_t max, int64_t *out, struct dpot_error *error)
{
    char remedy[96];
    const json_t *value = json_object_get(object, key);
    if (!value) {
        return DPOT_ERR_NOT_FOUND;
    }
    if (!json_is_integer(value)) {
        return refuse(error, DPOT_ERR_MALFORMED, path, key, value, "give an integer");
    }
    const int64_t number = json_integer_value(value);
    if (number < min || number > max) {
        (void)snprintf(remedy, sizeof remedy, "give an integer from %lld to %lld", (long long)min,
                       (long long)max);
        return refuse(error, DPOT_ERR_RANGE, path, key, value, remedy);
    }
    *out = number;
    return DPOT_OK;
}

dpot_status json_get_bool(const json_t *object, const char *path, const char *key, bool *out,
                          struct dpot_error *error)
{
    const json_t *value = json_object_get(object, key);
    if (!value) {
        return DPOT_ERR_NOT_FOUND;
    }
    if (!json_is_boolean(value)) {
        return refuse(error, DPOT_ERR_MALFORMED, path, key, value, "give true or false");
    }
    *out = json_is_true(value);
    return DPOT_OK;
}

dpot_status json_get_string(const json_t *object, const char *path, const char *key,
                            const char **out, struct dpot_error *error)
{
    const json_t *value = json_object_get(object, key);
    if (!value) {
        return DPOT_ERR_NOT_FOUND;
    }
    if (!json_is_string(value)) {
        return refuse(error, DPOT_ERR_MALFORMED, path, key, value, "give a text in quotes");
    }
    *out = json_string_value(value);
    return DPOT_OK;
}

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}
