#include "tool/shared/table.h"

#include "base/utf8.h"
#include "files/number.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 120
#define INLINE_MAX 8 /* entries of the longest list that is printed */
#define DEPTH_MAX 8
#define SENTENCE_MIN 40 /* bytes; longer texts in a list get a line of their own */

/* The last part of "outer.inner". */
static const char *last_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool is_predicate(const char *name)
{
    return strncmp(last_name(name), "is_", 3) == 0;
}

/* Privacy parameters: dropping digits could understate them. */
static bool is_privacy(const char *name)
{
    static const char *const words[] = {"epsilon", "delta", "rho"};
    const char *last = last_name(name);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(last, words[i])) {
            return true;
        }
    }
    return strcmp(last, "mu") == 0;
}

static void format_real(char *out, size_t cap, const char *name, double value)
{
    if (is_predicate(name) && (value == 0 || value == 1)) {
        (void)snprintf(out, cap, "%s", value == 1 ? "yes" : "no");
    } else if (is_privacy(name)) {
        char digits[NUMBER_SIZE];
        number_format(value, digits);
        (void)snprintf(out, cap, "%s", digits);
    } else {
        (void)snprintf(out, cap, "%.10g", value);
    }
}

static void format_scalar(char *out, size_t cap, const char *name, const json_t *value)
{
    if (json_is_string(value)) {
        (void)snprintf(out, cap, "%s", json_string_value(value));
        dpot_utf8_make_printable(out);
    } else if (json_is_integer(value)) {
        (void)snprintf(out, cap, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        format_real(out, cap, name, json_real_value(value));
    } else if (json_is_boolean(value)) {
        (void)snprintf(out, cap, "%s", json_is_true(value) ? "yes" : "no");
    } else {
        (void)snprintf(out, cap, "-");
    }
}

static bool is_scalar(const json_t *value)
{
    return !json_is_object(value) && !json_is_array(value);
}

/* Whether an entry is a sentence. */
static bool has_sentences(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_string_length(json_array_get(list, i)) > SENTENCE_MIN) {
            return true;
        }
    }
    return false;
}

/* One per line, not cut. */
static void print_sentences(FILE *stream, const char *name, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *value = json_string_value(json_array_get(list, i));
        char *text = value ? strdup(value) : NULL;
        if (text) {
            dpot_utf8_make_printable(text);
        }
        (void)fprintf(stream, "%-24s - %s\n", i == 0 ? name : "", text ? text : "-");
        free(text);
    }
}

static void print_list(FILE *stream, const char *name, const json_t *list)
{
    const size_t n = json_array_size(list);
    bool is_short = n <= INLINE_MAX;
    if (has_sentences(list)) {
        print_sentences(stream, name, list);
        return;
    }
    for (size_t i = 0; i < n && is_short; i++) {
        is_short = is_scalar(json_array_get(list, i));
    }
    (void)fprintf(stream, "%-24s ", name);
    for (size_t i = 0; i < n && is_short; i++) {
        char text[128];
        format_scalar(text, sizeof text, name, json_array_get(list, i));
        (void)fprintf(stream, "%s%s", i > 0 ? ", " : "", text);
    }
    if (!is_short) {
        (void)fprintf(stream, n == 1 ? "(%zu entry)" : "(%zu entries)", n);
    }
    (void)fputc('\n', stream);
}

static void print_object(FILE *stream, const char *prefix, const json_t *object, int depth)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)object, key, value)
    {
        char name[NAME_MAX_LEN], text[512];
        (void)snprintf(name, sizeof name, "%.90s%s%.28s", prefix, *prefix ? "." : "", key);
        dpot_utf8_make_printable(name);
        if (json_is_object(value) && depth < DEPTH_MAX) {
            print_object(stream, name, value, depth + 1);
        } else if (json_is_array(value)) {
            print_list(stream, name, value);
        } else {
            format_scalar(text, sizeof text, name, value);
            (void)fprintf(stream, "%-24s %s\n", name, text);
        }
    }
}

/* The only list of objects, if all other members are scalars; otherwise NULL. */
static const json_t *find_rows(const json_t *object)
{
    const json_t *rows = NULL;
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)object, key, value)
    {
        const bool is_list = json_is_object(json_array_get(value, 0));
        if (is_list ? rows != NULL : !is_scalar(value)) {
            return NULL;
        }
        rows = is_list ? value : rows;
    }
    return rows;
}

/* The columns are the scalars of the first row, as wide as their longest text. */
static void print_rows(FILE *stream, const json_t *rows)
{
    const json_t *first = json_array_get(rows, 0);
    const size_t n = json_array_size(rows);
    for (size_t i = 0; i <= n; i++) { /* line 0 is the heading */
        const char *key = NULL;
        json_t *value = NULL;
        json_object_foreach((json_t *)first, key, value)
        {
            char text[512], heading[NAME_MAX_LEN];
            if (!is_scalar(value)) {
                continue;
            }
            (void)snprintf(heading, sizeof heading, "%s", key);
            dpot_utf8_make_printable(heading);
            size_t width = strlen(heading);
            for (size_t r = 0; r < n; r++) {
                format_scalar(text, sizeof text, key,
                              json_object_get(json_array_get(rows, r), key));
                width = strlen(text) > width ? strlen(text) : width;
            }
            if (i > 0) {
                format_scalar(text, sizeof text, key,
                              json_object_get(json_array_get(rows, i - 1), key));
            }
            (void)fprintf(stream, "%-*s  ", (int)width, i > 0 ? text : heading);
        }
        (void)fputc('\n', stream);
    }
}

void table_print(FILE *stream, const json_t *object)
{
    const json_t *rows = find_rows(object);
    if (!rows) {
        print_object(stream, "", object, 0);
        return;
    }
    print_rows(stream, rows);
    if (json_object_size(object) > 1) {
        const char *key = NULL;
        json_t *value = NULL;
        (void)fputc('\n', stream);
        json_object_foreach((json_t *)object, key, value)
        {
            char text[512], name[NAME_MAX_LEN];
            if (value != rows) {
                (void)snprintf(name, sizeof name, "%s", key);
                dpot_utf8_make_printable(name);
                format_scalar(text, sizeof text, key, value);
                (void)fprintf(stream, "%-24s %s\n", name, text);
            }
        }
    }
}
