#include "tool/shared/columns.h"

#include "base/alloc.h"
#include "files/columns.h"
#include "tool/shared/options.h"

#include <stdlib.h>
#include <string.h>

dpot_status columns_init(struct run *run, const char *option, const struct array *array,
                         struct columns *columns)
{
    const char *path = option_text(run, option);
    const size_t n = array->n_cols;
    *columns = (struct columns){.option = option, .n = n};
    if (n > COLUMNS_MAX) {
        return dpot_error_set(&run->error, DPOT_ERR_TOO_LARGE,
                              "--%s %s has %zu columns: at most %d are read", option, path, n,
                              COLUMNS_MAX);
    }
    columns->names = dpot_alloc_array(NULL, COLUMNS_MAX, sizeof *columns->names);
    if (!columns->names) {
        return DPOT_ERR_MEMORY;
    }
    if (array->names) {
        columns->n_names = n;
        memcpy(columns->names, array->names, n * sizeof *columns->names);
    }
    return DPOT_OK;
}

void columns_release(struct columns *columns)
{
    dpot_free_array(NULL, columns->names, COLUMNS_MAX, sizeof *columns->names);
    *columns = (struct columns){0};
}

static const char *name_of(const void *ctx, size_t j)
{
    const struct columns *columns = ctx;
    return columns->names[j];
}

/* How many columns have this name, and the first two of them. */
static size_t find_name(const struct columns *columns, const char *name, size_t len,
                        size_t found[2])
{
    const struct columns_table table = {.n = columns->n_names, .name = name_of, .ctx = columns};
    return columns_find_name(&table, name, len, found);
}

/* By the name of one column, else by number. */
static bool find(const struct columns *columns, const char *text, size_t len, size_t *position)
{
    char *end = NULL;
    size_t found[2];
    if (find_name(columns, text, len, found) == 1) {
        *position = found[0];
        return true;
    }
    if (len == 0 || text[0] < '0' || text[0] > '9') {
        return false;
    }
    const unsigned long number = strtoul(text, &end, 10);
    *position = (size_t)number;
    return end == text + len && number < columns->n;
}

size_t columns_find(const struct columns *columns, const char *name, size_t *position)
{
    size_t found[2];
    const size_t count = find_name(columns, name, strlen(name), found);
    *position = count > 0 ? found[0] : *position;
    return count;
}

static dpot_status refuse(struct run *run, const struct columns *columns, const char *option,
                          const char *text, size_t len)
{
    const int shown = (int)(len < 40 ? len : 40);
    size_t found[2];
    if (find_name(columns, text, len, found) > 1) {
        return RUN_USAGE(run,
                         "--%s: columns %zu and %zu of --%s are both named %.*s: choose by number, "
                         "counted from 0",
                         option, found[0], found[1], columns->option, shown, text);
    }
    return RUN_USAGE(run,
                     "--%s: --%s has no column %.*s: give a name of its first line, or a number "
                     "from 0 to %zu",
                     option, columns->option, shown, text, columns->n - 1);
}

dpot_status columns_read_one(struct run *run, const struct columns *columns, const char *option,
                             size_t *position)
{
    const char *text = option_text(run, option);
    if (!text || find(columns, text, strlen(text), position)) {
        return DPOT_OK;
    }
    return refuse(run, columns, option, text, strlen(text));
}

dpot_status columns_read_list(struct run *run, const struct columns *columns, const char *option,
                              size_t *positions, size_t *n)
{
    const char *rest = option_text(run, option);
    *n = 0;
    while (rest) {
        const size_t len = strcspn(rest, ",");
        if (*n == COLUMNS_MAX || !find(columns, rest, len, &positions[*n])) {
            return refuse(run, columns, option, rest, len);
        }
        (*n)++;
        rest = rest[len] ? rest + len + 1 : NULL;
    }
    return DPOT_OK;
}
