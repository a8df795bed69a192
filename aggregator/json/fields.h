/* Field tables: what a JSON object may hold, one row per key, and the reader that walks them.
 *
 *     struct request {
 *         double epsilon;
 *         uint32_t n_max;
 *     };
 *     static const struct json_field fields[] = {
 *         FIELD_NUMBER("epsilon", struct request, epsilon, 0, 20, FIELD_REQUIRED("give a number")),
 *         FIELD_INTEGER("n_max", struct request, n_max, 1, 10000, .otherwise = 32),
 *         {.key = NULL},
 *     };
 *     struct request request;
 *     status = json_read_fields(object, "mechanism", fields, NULL, &request, &error);
 *
 * A refusal names the key with its path, the value and the remedy:
 *
 *     the key mechanism.epsilonn is not known: check its spelling or remove it
 *     mechanism.n_max is 0: give an integer from 1 to 10000
 *     mechanism.epsilon is missing: give a number */
#ifndef DPOT_JSON_FIELDS_H
#define DPOT_JSON_FIELDS_H

#include "json/json.h"

#include <stddef.h>

enum json_kind {
    JSON_KIND_NUMBER,  /* double, within `number` */
    JSON_KIND_INTEGER, /* an integer of 4 or 8 bytes, within `integer` */
    JSON_KIND_BOOL,    /* bool */
    JSON_KIND_WORD,    /* an enum or bool: the value of one of `words` */
    JSON_KIND_TEXT,    /* const char *, borrowed from the object */
    JSON_KIND_CHARS,   /* char[]: a copy with its NUL, which must fit */
    JSON_KIND_VALUE,   /* const json_t *, borrowed; of any type */
    JSON_KIND_OBJECT,  /* a struct with the table `fields` */
    JSON_KIND_OTHER,   /* anything: `read` converts the value; there is no default */
    JSON_KIND_REFUSED, /* a known key that is refused: "KEY REMEDY" */
};

struct json_word {
    const char *name; /* NULL ends a list */
    int value;
};

/* A row. The FIELD_ macros fill the first block; the members of the second are given by name behind
 * that. */
struct json_field {
    const char *key; /* NULL ends a table */
    enum json_kind kind;
    size_t offset, size; /* of the member of the struct */
    struct {
        double min, max;
    } number;
    struct {
        int64_t min, max;
    } integer;
    const struct json_word *words;
    const struct json_field *fields;
    dpot_status (*read)(const json_t *value, const char *name, void *member,
                        struct dpot_error *error);

    bool is_required;
    double otherwise; /* default: a number, an integer, the value of a word, or 0 or 1 */
    bool keeps;       /* no default: a missing key leaves the member unchanged */
    bool is_above;    /* numbers: min itself is out of range */
    bool or_null;     /* null reads as a missing key; values below the range are written as null */
    const char
        *remedy;   /* for missing keys, wrong types and unknown words; NULL: by kind and range */
    unsigned only; /* the cases that accept the key, one bit each; 0: all */
    const char *goes_with; /* those cases in words */
};

#define FIELD_ROW(key_, kind_, type, member, ...)                                                  \
    {                                                                                              \
        .key = key_, .kind = kind_, .offset = offsetof(type, member),                              \
        .size = sizeof(((type *)NULL)->member), __VA_ARGS__                                        \
    }
#define FIELD_NUMBER(key_, type, member, min_, max_, ...)                                          \
    FIELD_ROW(key_, JSON_KIND_NUMBER, type, member, .number = {min_, max_}, __VA_ARGS__)
#define FIELD_INTEGER(key_, type, member, min_, max_, ...)                                         \
    FIELD_ROW(key_, JSON_KIND_INTEGER, type, member, .integer = {min_, max_}, __VA_ARGS__)
#define FIELD_BOOL(key_, type, member, ...)                                                        \
    FIELD_ROW(key_, JSON_KIND_BOOL, type, member, __VA_ARGS__)
#define FIELD_WORD(key_, type, member, words_, ...)                                                \
    FIELD_ROW(key_, JSON_KIND_WORD, type, member, .words = words_, __VA_ARGS__)
#define FIELD_TEXT(key_, type, member, ...)                                                        \
    FIELD_ROW(key_, JSON_KIND_TEXT, type, member, __VA_ARGS__)
#define FIELD_CHARS(key_, type, member, ...)                                                       \
    FIELD_ROW(key_, JSON_KIND_CHARS, type, member, __VA_ARGS__)
#define FIELD_VALUE(key_, type, member, ...)                                                       \
    FIELD_ROW(key_, JSON_KIND_VALUE, type, member, __VA_ARGS__)
#define FIELD_OTHER(key_, type, member, read_, ...)                                                \
    FIELD_ROW(key_, JSON_KIND_OTHER, type, member, .read = read_, __VA_ARGS__)
/* An object; its table describes the same struct. */
#define FIELD_SECTION(key_, fields_, remedy_)                                                      \
    {                                                                                              \
        .key = key_, .kind = JSON_KIND_OBJECT, .fields = fields_, .remedy = remedy_                \
    }
#define FIELD_REQUIRED(remedy_) .is_required = true, .remedy = remedy_

/* Selects the rows whose `only` is 0 or has a bit of `bits`. A key of other rows is refused:
 * "mechanism.passes goes with the exact solver: NAME does not use it, remove it". */
struct json_case {
    unsigned bits;
    const char *name;
};

/* Reads an object into the struct that the table describes: refuses unknown keys, checks types and
 * ranges, and sets defaults.
 * path: prefix of keys in refusals; "": none.
 * which: NULL: every row.
 * DPOT_ERR_MALFORMED (no object, unknown or missing key, wrong type), DPOT_ERR_RANGE, and statuses
 * of `read`; *out is filled in part then. */
DPOT_WARN_UNUSED dpot_status json_read_fields(const json_t *object, const char *path,
                                              const struct json_field *fields,
                                              const struct json_case *which, void *out,
                                              struct dpot_error *error);

/* Reads one row and ignores the other keys of the object. Status as json_read_fields. */
DPOT_WARN_UNUSED dpot_status json_read_field(const json_t *object, const char *path,
                                             const struct json_field *field, void *out,
                                             struct dpot_error *error);

/* Reads a value that is no member of an object, such as an entry of an array. Of the field it uses
 * kind, size, range, words and remedy. Status as json_read_fields. */
DPOT_WARN_UNUSED dpot_status json_read_value(const struct json_field *field, const json_t *value,
                                             const char *name, void *member,
                                             struct dpot_error *error);

/* Writes every row of `which`, such that json_read_fields returns the same struct. Tables with rows
 * of the kinds TEXT, OBJECT and OTHER cannot be written. New reference, NULL when memory is out. */
json_t *json_write_fields(const struct json_field *fields, const struct json_case *which,
                          const void *in);

/* Reads an array of exactly n numbers of at least `min`. `name` is its name in refusals.
 * DPOT_ERR_MALFORMED (no array, an entry that is no number), DPOT_ERR_SHAPE (another length),
 * DPOT_ERR_RANGE. */
DPOT_WARN_UNUSED dpot_status json_read_numbers(const json_t *array, const char *name, double min,
                                               double *out /* (n) */, size_t n,
                                               struct dpot_error *error);

/* The same for integers from 1 to `max`. */
DPOT_WARN_UNUSED dpot_status json_read_sizes(const json_t *array, const char *name, uint32_t max,
                                             uint32_t *out /* (n) */, size_t n,
                                             struct dpot_error *error);

#endif
