/* JSON texts and files: the one place that includes jansson. */
#ifndef DPOT_JSON_JSON_H
#define DPOT_JSON_JSON_H

#include "base/buf.h"
#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

#define DPOT_JSON_BYTES_MAX (64u << 20)

/* Parses (data, len); duplicate keys and trailing text are refused. *value is a new reference.
 * DPOT_ERR_MALFORMED, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status json_parse(const void *data, size_t len, json_t **value,
                                        struct dpot_error *error);

/* Reads a file ("-": standard input) of at most DPOT_JSON_BYTES_MAX bytes. DPOT_ERR_IO,
 * DPOT_ERR_TOO_LARGE, DPOT_ERR_MALFORMED. */
DPOT_WARN_UNUSED dpot_status json_read(const char *path, json_t **value, struct dpot_error *error);

/* Writes compact JSON and a newline; numbers have 17 significant digits. */
DPOT_WARN_UNUSED dpot_status json_write(const char *path, const json_t *value,
                                        struct dpot_error *error);

/* The value in a refusal: its JSON, cut to `cap`, or "an array", "an object". */
void json_show(char *out, size_t cap, const json_t *value);

/* One key of an object that has others (json/fields.h reads objects of which every key is known).
 * Each returns DPOT_ERR_NOT_FOUND when the key is missing (no sentence, *out unchanged),
 * DPOT_ERR_MALFORMED for another type, DPOT_ERR_RANGE outside [min, max]. `path` is the prefix of
 * the key in sentences. */
DPOT_WARN_UNUSED dpot_status json_get_number(const json_t *object, const char *path,
                                             const char *key, double min, double max, double *out,
                                             struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status json_get_integer(const json_t *object, const char *path,
                                              const char *key, int64_t min, int64_t max,
                                              int64_t *out, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status json_get_string(const json_t *object, const char *path,
                                             const char *key, const char **out,
                                             struct dpot_error *error);

/* A number, or null for NaN and infinity, which JSON does not have. New reference. */
json_t *json_number(double value);

/* [value, ...] and [[value, ...], ...]. New references; NULL when memory is out or a value is not
 * finite. */
json_t *json_numbers(const double *values /* (n) */, size_t n);
json_t *json_rows(const double *values /* (n_rows, n_cols) */, size_t n_rows, size_t n_cols);

#endif
