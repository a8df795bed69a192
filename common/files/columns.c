#include "files/columns.h"

#include "base/alloc.h"
#include "files/array.h"
#include "files/spelling.h"

#include <stdint.h>
#include <string.h>

#define DIGITS_MAX 15
#define SHOWN_MAX 40 /* bytes of a part in an error */

/* Reads digits at *text; without digits *number is `missing`. False: too many. */
static bool read_digits(const char **text, size_t missing, size_t *number)
{
    const size_t n = strspn(*text, "0123456789");
    *number = n == 0 ? missing : 0;
    for (size_t i = 0; i < n && n <= DIGITS_MAX; i++) {
        *number = 10 * *number + (size_t)((*text)[i] - '0');
    }
    *text += n;
    return n <= DIGITS_MAX;
}

/* Reads "7" or "a:b" as [begin, end); false: it is neither. */
static bool read_slice(const char *part, size_t len, size_t n_cols, size_t *begin, size_t *end)
{
    const char *text = part;
    if (len == 0 || !read_digits(&text, 0, begin)) {
        return false;
    }
    *end = *begin + 1;
    if (text < part + len && *text == ':') {
        text++;
        return read_digits(&text, n_cols, end) && text == part + len;
    }
    return text == part + len && text > part;
}

size_t columns_find_name(const struct columns_table *table, const char *name, size_t len,
                         size_t found[2])
{
    size_t count = 0;
    for (size_t j = 0; table->name && j < table->n; j++) {
        const char *other = table->name(table->ctx, j);
        if (other && strlen(other) == len && memcmp(other, name, len) == 0) {
            found[count < 2 ? count : 1] = count < 2 ? j : found[1];
            count++;
        }
    }
    return count;
}

/* " (did you mean lat?)", from the names of a public table. */
static void hint_name(const struct columns_table *table, const char *part, size_t len,
                      char hint[SPELLING_HINT_SIZE])
{
    struct spelling spelling = {.text = part, .len = len};
    for (size_t j = 0; len > 0 && table->name && !table->is_private && j < table->n; j++) {
        const char *name = table->name(table->ctx, j);
        if (name) {
            spelling_offer(&spelling, name, strlen(name));
        }
    }
    spelling_hint(&spelling, "", hint);
}

static dpot_status refuse(const struct columns_table *table, const char *part, size_t len,
                          struct dpot_error *error)
{
    const int shown = (int)(len < SHOWN_MAX ? len : SHOWN_MAX);
    size_t found[2];
    if (len > 0 && columns_find_name(table, part, len, found) > 1) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "columns %zu and %zu are both named \"%.*s\": choose by number, "
                              "counted from 0",
                              found[0], found[1], shown, part);
    }
    char hint[SPELLING_HINT_SIZE];
    hint_name(table, part, len, hint);
    return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                          "there is no column \"%.*s\"%s: give a name of the first line, a number "
                          "from 0 to %zu, or a slice a:b of them",
                          shown, part, hint, table->n - 1);
}

/* Counts the positions of the list, and writes them unless `out` is NULL. */
static dpot_status walk(const char *list, const struct columns_table *table, size_t *out,
                        size_t *count, struct dpot_error *error)
{
    const char *part = list;
    for (*count = 0;; part++) {
        const size_t len = strcspn(part, ",");
        size_t begin = 0, end = 0, found[2];
        if (len > 0 && columns_find_name(table, part, len, found) == 1) {
            begin = found[0];
            end = begin + 1;
        } else if (!read_slice(part, len, table->n, &begin, &end) || begin >= end ||
                   end > table->n) {
            return refuse(table, part, len, error);
        }
        if (end - begin > ARRAY_COLUMNS_MAX - *count) {
            return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "choose at most %zu columns",
                                  ARRAY_COLUMNS_MAX);
        }
        for (; begin < end; begin++, (*count)++) {
            if (out) {
                out[*count] = begin;
            }
        }
        part += len;
        if (*part == '\0') {
            return DPOT_OK;
        }
    }
}

dpot_status columns_choose(const char *list, const struct columns_table *table,
                           struct columns_choice *choice, struct dpot_error *error)
{
    *choice = (struct columns_choice){0};
    dpot_status status = walk(list, table, NULL, &choice->n, error);
    if (status == DPOT_OK) {
        choice->positions = dpot_alloc_array(NULL, choice->n, sizeof *choice->positions);
        status = choice->positions ? walk(list, table, choice->positions, &choice->n, error)
                                   : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
    }
    choice->n = choice->positions ? choice->n : 0;
    return status;
}

void columns_choice_release(struct columns_choice *choice)
{
    dpot_free_array(NULL, choice->positions, choice->n, sizeof *choice->positions);
    *choice = (struct columns_choice){0};
}

bool columns_has_names(const char *list)
{
    for (const char *part = list;; part++) {
        const size_t len = strcspn(part, ",");
        size_t begin = 0, end = 0;
        if (len > 0 && !read_slice(part, len, SIZE_MAX, &begin, &end)) {
            return true;
        }
        part += len;
        if (*part == '\0') {
            return false;
        }
    }
}
