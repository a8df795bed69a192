/* JSON: the door to jansson, and the few readers every caller needs.
 *
 * Readers fetch one key of an object with its type and range checked and put a sentence into `error` that
 * names the key ("mechanism.epsilon is \"two\": give a number"). `path` is the prefix for that sentence. */
#ifndef DPOT_JSON_JSON_H
#define DPOT_JSON_JSON_H

#include "base/buf.h"
#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

#define DPOT_JSON_BYTES_MAX (64u << 20)

/* Parses (data, len); duplicates of a key and trailing text are refused. *value is a new reference. */
DPOT_WARN_UNUSED dpot_status json_parse(const void *data, size_t len, json_t **value,
                                        struct dpot_error *error);

/* Reads a whole file of at most DPOT_JSON_BYTES_MAX bytes. DPOT_ERR_IO, DPOT_ERR_MALFORMED. */
DPOT_WARN_UNUSED dpot_status json_read(const char *path, json_t **value, struct dpot_error *error);

/* Writes compact JSON and a newline; numbers with 17 significant digits. NaN and infinity cannot occur: use
 * json_number. */
DPOT_WARN_UNUSED dpot_status json_write(const char *path, const json_t *value,
                                        struct dpot_error *error);

/* Refuses keys of `object` that are not in the NULL-terminated list, by name. */
DPOT_WARN_UNUSED dpot_status json_check_keys(const json_t *object, const char *path,
                                             const char *const *known, struct dpot_error *error);

/* Each reads object[key]: DPOT_ERR_NOT_FOUND when the key is missing (no sentence, *out unchanged), DPOT_ERR_MALFORMED
 * for another type, DPOT_ERR_RANGE outside [min, max]. */
DPOT_WARN_UNUSED dpot_status json_get_number(const json_t *object, const char *path,
                                             const char *key, double min, double max, double *out,
                                             struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status json_get_integer(const json_t *object, const char *path,
                                              const char *key, int64_t min, int64_t max,
                                              int64_t *out, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status json_get_bool(const json_t *object, const char *path, const char *key,
                                           bool *out, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status json_get_string(const json_t *object, const char *path,
                                             const char *key, const char **out,
                                             struct dpot_error *error);

/* The value as a refusal shows it: JSON, cut to `cap`, or "an array", "an object". */
void json_show(char *out, size_t cap, const json_t *value);

/* A finite number, or null for NaN and infinity. New reference. */
json_t *json_number(double value);

#endif
