#include "json/fields.h"

#include "files/spelling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_SIZE 128
#define REMEDY_SIZE 200

/* ---- refusals ---- */

/* "mechanism.epsilon", or "epsilon" without a path. */
static void join_key(char out[NAME_SIZE], const char *path, const char *key)
{
    const int has_path = path && *path;
    (void)snprintf(out, NAME_SIZE, "%s%s%.60s", has_path ? path : "", has_path ? "." : "", key);
}

/* "choose a, b or c" */
static void list_words(const struct json_word *words, char out[REMEDY_SIZE])
{
    size_t len = (size_t)snprintf(out, REMEDY_SIZE, "choose ");
    for (size_t i = 0; words[i].name && len < REMEDY_SIZE; i++) {
        const char *before = i == 0 ? "" : words[i + 1].name ? ", " : " or ";
        len += (size_t)snprintf(out + len, REMEDY_SIZE - len, "%s%s", before, words[i].name);
    }
}

static void describe_range(const struct json_field *field, char out[REMEDY_SIZE])
{
    const double min = field->number.min, max = field->number.max;
    if (isfinite(max) && !field->is_above) {
        (void)snprintf(out, REMEDY_SIZE, "give a number from %g to %g", min, max);
    } else if (isfinite(max)) {
        (void)snprintf(out, REMEDY_SIZE, "give a number above %g, at most %g", min, max);
    } else if (isfinite(min)) {
        (void)snprintf(out, REMEDY_SIZE, "give a number %s %g",
                       field->is_above ? "above" : "of at least", min);
    } else {
        (void)snprintf(out, REMEDY_SIZE, "give a number");
    }
}

/* The remedy by kind and range. */
static const char *find_remedy(const struct json_field *field, char out[REMEDY_SIZE])
{
    switch (field->kind) {
    case JSON_KIND_NUMBER:
        describe_range(field, out);
        return out;
    case JSON_KIND_INTEGER:
        (void)snprintf(out, REMEDY_SIZE, "give an integer from %lld to %lld",
                       (long long)field->integer.min, (long long)field->integer.max);
        return out;
    case JSON_KIND_WORD:
        list_words(field->words, out);
        return out;
    case JSON_KIND_BOOL:
        return "give true or false";
    case JSON_KIND_TEXT:
    case JSON_KIND_CHARS:
        return "give a text in quotes";
    case JSON_KIND_OBJECT:
        return "give an object";
    case JSON_KIND_VALUE:
    case JSON_KIND_OTHER:
    case JSON_KIND_REFUSED:
        break;
    }
    return "add it";
}

/* status: DPOT_ERR_MALFORMED (wrong type) or DPOT_ERR_RANGE. */
static dpot_status refuse(const struct json_field *field, const json_t *value, const char *name,
                          dpot_status status, struct dpot_error *error)
{
    char shown[64], text[REMEDY_SIZE], hint[SPELLING_HINT_SIZE];
    struct spelling spelling = {.text = json_is_string(value) ? json_string_value(value) : ""};
    for (const struct json_word *w = field->words; field->kind == JSON_KIND_WORD && w && w->name;
         w++) {
        spelling_offer(&spelling, w->name, strlen(w->name));
    }
    spelling_hint(&spelling, "", hint);
    const bool has_own =
        field->remedy && (status != DPOT_ERR_RANGE || field->kind == JSON_KIND_WORD);
    json_show(shown, sizeof shown, value);
    return dpot_error_set(error, status, "%s is %s: %s%s", name, shown,
                          has_own ? field->remedy : find_remedy(field, text), hint);
}

/* ---- members ---- */

static void store_integer(void *member, size_t size, int64_t value)
{
    const uint32_t narrow = (uint32_t)value;
    if (size == sizeof value) {
        memcpy(member, &value, size);
    } else if (size == sizeof narrow) {
        memcpy(member, &narrow, size);
    } else {
        *(bool *)member = value != 0;
    }
}

static int64_t load_integer(const void *member, size_t size)
{
    int64_t value = 0;
    uint32_t narrow = 0;
    if (size == sizeof value) {
        memcpy(&value, member, size);
        return value;
    }
    if (size == sizeof narrow) {
        memcpy(&narrow, member, size);
        return narrow;
    }
    return *(const bool *)member;
}

static void set_default(const struct json_field *field, void *out)
{
    void *member = (char *)out + field->offset;
    if (field->keeps) {
        return;
    }
    switch (field->kind) {
    case JSON_KIND_NUMBER:
        *(double *)member = field->otherwise;
        break;
    case JSON_KIND_INTEGER:
    case JSON_KIND_BOOL:
    case JSON_KIND_WORD:
        store_integer(member, field->size, (int64_t)field->otherwise);
        break;
    case JSON_KIND_TEXT:
    case JSON_KIND_CHARS:
    case JSON_KIND_VALUE:
        memset(member, 0, field->size); /* NULL or "" */
        break;
    case JSON_KIND_OBJECT:
        for (const struct json_field *row = field->fields; row->key; row++) {
            set_default(row, member);
        }
        break;
    case JSON_KIND_OTHER:
    case JSON_KIND_REFUSED:
        break;
    }
}

/* ---- reading ---- */

static const struct json_word *find_word(const struct json_word *words, const char *name)
{
    while (words->name && strcmp(words->name, name) != 0) {
        words++;
    }
    return words->name ? words : NULL;
}

/* DPOT_ERR_MALFORMED: wrong type; DPOT_ERR_RANGE. */
static dpot_status check_value(const struct json_field *field, const json_t *value)
{
    const double number = json_number_value(value), min = field->number.min;
    const int64_t integer = json_integer_value(value);
    const char *text = json_string_value(value);
    switch (field->kind) {
    case JSON_KIND_NUMBER:
        return !json_is_number(value) ? DPOT_ERR_MALFORMED
               : number <= field->number.max && (field->is_above ? number > min : number >= min)
                   ? DPOT_OK
                   : DPOT_ERR_RANGE;
    case JSON_KIND_INTEGER:
        return !json_is_integer(value)                                          ? DPOT_ERR_MALFORMED
               : integer >= field->integer.min && integer <= field->integer.max ? DPOT_OK
                                                                                : DPOT_ERR_RANGE;
    case JSON_KIND_BOOL:
        return json_is_boolean(value) ? DPOT_OK : DPOT_ERR_MALFORMED;
    case JSON_KIND_WORD:
        return !text                           ? DPOT_ERR_MALFORMED
               : find_word(field->words, text) ? DPOT_OK
                                               : DPOT_ERR_RANGE;
    case JSON_KIND_TEXT:
    case JSON_KIND_CHARS:
        return text ? DPOT_OK : DPOT_ERR_MALFORMED;
    case JSON_KIND_OBJECT:
        return json_is_object(value) ? DPOT_OK : DPOT_ERR_MALFORMED;
    case JSON_KIND_VALUE:
    case JSON_KIND_OTHER:
    case JSON_KIND_REFUSED:
        break;
    }
    return DPOT_OK;
}

static dpot_status copy_chars(const struct json_field *field, const char *text, const char *name,
                              void *member, struct dpot_error *error)
{
    const size_t len = strlen(text);
    if (len >= field->size) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s has %zu bytes: use at most %zu", name, len,
                              field->size - 1);
    }
    memcpy(member, text, len + 1);
    return DPOT_OK;
}

dpot_status json_read_value(const struct json_field *field, const json_t *value, const char *name,
                            void *member, struct dpot_error *error)
{
    const dpot_status status = check_value(field, value);
    const char *text = json_string_value(value);
    if (status != DPOT_OK) {
        return refuse(field, value, name, status, error);
    }
    switch (field->kind) {
    case JSON_KIND_NUMBER:
        *(double *)member = json_number_value(value);
        break;
    case JSON_KIND_INTEGER:
        store_integer(member, field->size, json_integer_value(value));
        break;
    case JSON_KIND_BOOL:
        store_integer(member, field->size, json_is_true(value));
        break;
    case JSON_KIND_WORD:
        store_integer(member, field->size, find_word(field->words, text)->value);
        break;
    case JSON_KIND_TEXT:
        *(const char **)member = text;
        break;
    case JSON_KIND_CHARS:
        return copy_chars(field, text, name, member, error);
    case JSON_KIND_VALUE:
        *(const json_t **)member = value;
        break;
    case JSON_KIND_OBJECT:
        return json_read_fields(value, name, field->fields, NULL, member, error);
    case JSON_KIND_OTHER:
        return field->read(value, name, member, error);
    case JSON_KIND_REFUSED:
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s %s", name, field->remedy);
    }
    return DPOT_OK;
}

dpot_status json_read_field(const json_t *object, const char *path, const struct json_field *field,
                            void *out, struct dpot_error *error)
{
    char name[NAME_SIZE], text[REMEDY_SIZE];
    const json_t *value = json_object_get(object, field->key);
    join_key(name, path, field->key);
    if (value && !(field->or_null && json_is_null(value))) {
        return json_read_value(field, value, name, (char *)out + field->offset, error);
    }
    if (field->is_required) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s is missing: %s", name,
                              field->remedy ? field->remedy : find_remedy(field, text));
    }
    set_default(field, out);
    return DPOT_OK;
}

static bool is_read(const struct json_field *field, const struct json_case *which)
{
    return !which || field->only == 0 || (field->only & which->bits) != 0;
}

static dpot_status check_key(const char *path, const char *key, const struct json_field *fields,
                             const struct json_case *which, struct dpot_error *error)
{
    char name[NAME_SIZE], hint[SPELLING_HINT_SIZE];
    struct spelling spelling = {.text = key};
    const struct json_field *other = NULL;
    for (const struct json_field *row = fields; row->key; row++) {
        if (strcmp(row->key, key) == 0 && is_read(row, which)) {
            return DPOT_OK;
        }
        other = strcmp(row->key, key) == 0 ? row : other;
        if (is_read(row, which) && row->kind != JSON_KIND_REFUSED) {
            spelling_offer(&spelling, row->key, strlen(row->key));
        }
    }
    join_key(name, path, key);
    spelling_hint(&spelling, "", hint);
    return other && which
               ? dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "%s goes with %s: %s does not use it, remove it", name,
                                other->goes_with, which->name)
               : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the key %s is not known%s: check its spelling or remove it", name,
                                hint);
}

dpot_status json_read_fields(const json_t *object, const char *path,
                             const struct json_field *fields, const struct json_case *which,
                             void *out, struct dpot_error *error)
{
    const char *key = NULL;
    json_t *value = NULL;
    dpot_status status = DPOT_OK;
    if (!json_is_object(object)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s must be a JSON object",
                              path && *path ? path : "the whole");
    }
    json_object_foreach((json_t *)object, key, value)
    {
        status = check_key(path, key, fields, which, error);
        if (status != DPOT_OK) {
            return status;
        }
    }
    for (const struct json_field *row = fields; status == DPOT_OK && row->key; row++) {
        if (is_read(row, which)) {
            status = json_read_field(object, path, row, out, error);
        }
    }
    return status;
}

/* ---- writing ---- */

static json_t *write_value(const struct json_field *field, const void *in)
{
    const void *member = (const char *)in + field->offset;
    const struct json_word *word = field->words;
    switch (field->kind) {
    case JSON_KIND_NUMBER:
        return field->or_null && *(const double *)member < field->number.min
                   ? json_null()
                   : json_real(*(const double *)member);
    case JSON_KIND_INTEGER:
        return field->or_null && load_integer(member, field->size) < field->integer.min
                   ? json_null()
                   : json_integer(load_integer(member, field->size));
    case JSON_KIND_BOOL:
        return json_boolean(*(const bool *)member);
    case JSON_KIND_WORD:
        while (word->name && word->value != load_integer(member, field->size)) {
            word++;
        }
        return json_string(word->name);
    case JSON_KIND_CHARS:
        return json_string(member);
    case JSON_KIND_VALUE:
        return *(json_t *const *)member ? json_incref(*(json_t *const *)member) : json_null();
    case JSON_KIND_TEXT:
    case JSON_KIND_OBJECT:
    case JSON_KIND_OTHER:
    case JSON_KIND_REFUSED:
        break;
    }
    return NULL;
}

json_t *json_write_fields(const struct json_field *fields, const struct json_case *which,
                          const void *in)
{
    json_t *object = json_object();
    for (const struct json_field *row = fields; object && row->key; row++) {
        if (is_read(row, which) && json_object_set_new(object, row->key, write_value(row, in))) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

/* ---- arrays of numbers ---- */

static dpot_status check_length(const json_t *array, const char *name, size_t n,
                                struct dpot_error *error)
{
    if (!json_is_array(array)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s must be an array of %zu number%s",
                              name, n, DPOT_S(n));
    }
    return json_array_size(array) == n
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_SHAPE, "%s has %zu entr%s: give %zu number%s", name,
                                json_array_size(array), json_array_size(array) == 1 ? "y" : "ies",
                                n, DPOT_S(n));
}

dpot_status json_read_numbers(const json_t *array, const char *name, double min, double *out,
                              size_t n, struct dpot_error *error)
{
    const struct json_field field = {.kind = JSON_KIND_NUMBER, .number = {min, INFINITY}};
    dpot_status status = check_length(array, name, n, error);
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        char entry[NAME_SIZE];
        (void)snprintf(entry, sizeof entry, "entry %zu of %.90s", i, name);
        status = json_read_value(&field, json_array_get(array, i), entry, &out[i], error);
    }
    return status;
}

dpot_status json_read_sizes(const json_t *array, const char *name, uint32_t max, uint32_t *out,
                            size_t n, struct dpot_error *error)
{
    dpot_status status = check_length(array, name, n, error);
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        const double size = json_number_value(json_array_get(array, i));
        if (!(size >= 1 && size <= max) || floor(size) != size) {
            char shown[64];
            json_show(shown, sizeof shown, json_array_get(array, i));
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "entry %zu of %s is %s: give an integer from 1 to %u", i, name,
                                  shown, max);
        }
        out[i] = (uint32_t)size;
    }
    return status;
}
