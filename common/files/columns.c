#include "files/columns.h"

#include "base/alloc.h"
#include "files/array.h"

#include <stdint.h>
#include <string.h>

#define DIGITS_MAX 15
#define SHOWN_MAX 40 /* bytes of a part in an error */

/* A table that is chosen from. */
struct table {
    const char *list;
    size_t n_cols;
    columns_name *name;
    const void *ctx;
    struct dpot_error *error;
};

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

static bool find_name(const struct table *table, const char *part, size_t len, size_t *begin)
{
    for (size_t j = 0; j < table->n_cols; j++) {
        const char *name = table->name(table->ctx, j);
        if (!name) {
            return false;
        }
        if (strlen(name) == len && memcmp(name, part, len) == 0) {
            *begin = j;
            return true;
        }
    }
    return false;
}

static dpot_status refuse(const struct table *table, const char *part, size_t len)
{
    return dpot_error_set(table->error, DPOT_ERR_ARGUMENT,
                          "there is no column \"%.*s\": give a name of the first line, a number "
                          "from 0 to %zu, or a slice a:b of them",
                          (int)(len < SHOWN_MAX ? len : SHOWN_MAX), part, table->n_cols - 1);
}

/* Counts the positions of the list, and writes them unless `out` is NULL. */
static dpot_status walk(const struct table *table, size_t *out, size_t *count)
{
    const char *part = table->list;
    for (*count = 0;; part++) {
        const size_t len = strcspn(part, ",");
        size_t begin = 0, end = 0;
        if (len > 0 && find_name(table, part, len, &begin)) {
            end = begin + 1;
        } else if (!read_slice(part, len, table->n_cols, &begin, &end) || begin >= end ||
                   end > table->n_cols) {
            return refuse(table, part, len);
        }
        if (end - begin > ARRAY_COLUMNS_MAX - *count) {
            return dpot_error_set(table->error, DPOT_ERR_TOO_LARGE, "choose at most %zu columns",
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

static const char *no_name(const void *ctx, size_t j)
{
    (void)ctx;
    (void)j;
    return NULL;
}

dpot_status columns_choose(const char *list, size_t n_cols, columns_name *name, const void *ctx,
                           struct columns_choice *choice, struct dpot_error *error)
{
    const struct table table = {list, n_cols, name ? name : no_name, ctx, error};
    *choice = (struct columns_choice){0};
    dpot_status status = walk(&table, NULL, &choice->n);
    if (status == DPOT_OK) {
        choice->positions = dpot_alloc_array(NULL, choice->n, sizeof *choice->positions);
        status = choice->positions ? walk(&table, choice->positions, &choice->n)
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
