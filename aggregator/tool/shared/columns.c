#include "tool/shared/columns.h"

#include "base/alloc.h"
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

static bool find_name(const struct columns *columns, const char *name, size_t len, size_t *position)
{
    for (size_t j = 0; j < columns->n_names; j++) {
        if (strlen(columns->names[j]) == len && memcmp(columns->names[j], name, len) == 0) {
            *position = j;
            return true;
        }
    }
    return false;
}

/* By name, else by number. */
static bool find(const struct columns *columns, const char *text, size_t len, size_t *position)
{
    char *end = NULL;
    if (find_name(columns, text, len, position)) {
        return true;
    }
    if (len == 0 || text[0] < '0' || text[0] > '9') {
        return false;
    }
    const unsigned long number = strtoul(text, &end, 10);
    *position = (size_t)number;
    return end == text + len && number < columns->n;
}

bool columns_find(const struct columns *columns, const char *name, size_t *position)
{
    return find_name(columns, name, strlen(name), position);
}

static dpot_status refuse(struct run *run, const struct columns *columns, const char *option,
                          const char *text, size_t len)
{
    return RUN_USAGE(run,
                     "--%s: --%s has no column %.*s: give a name of its first line, or a number "
                     "from 0 to %zu",
                     option, columns->option, (int)(len < 40 ? len : 40), text, columns->n - 1);
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
