/* A choice of columns: a list such as "lat,lon" or "0,4,7:10" of names, of numbers counted from 0,
 * and of slices a:b, which are a to b - 1 (a missing end is that of the table). A name is tried
 * first; one that two columns have chooses neither. */
#ifndef DPOT_FILES_COLUMNS_H
#define DPOT_FILES_COLUMNS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct columns_choice {
    size_t *positions; /* (n) from 0, in the order of the list; owned */
    size_t n;
};

/* The columns of a table that is chosen from. */
struct columns_table {
    size_t n;
    const char *(*name)(const void *ctx, size_t j); /* of column `j`; NULL: there are no names */
    const void *ctx;
    bool is_private; /* no error shows a name of the table */
};

/* How many columns have this name of `len` bytes, and in found[] the first two of them. */
size_t columns_find_name(const struct columns_table *table, const char *name, size_t len,
                         size_t found[2]);

/* Reads a list. Release with columns_choice_release. DPOT_ERR_ARGUMENT: no list, no such column, or
 * the name of two columns; DPOT_ERR_TOO_LARGE: more than ARRAY_COLUMNS_MAX; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status columns_choose(const char *list, const struct columns_table *table,
                                            struct columns_choice *choice,
                                            struct dpot_error *error);
void columns_choice_release(struct columns_choice *choice);

/* Whether the list has a part that is no number and no slice, so that it must be a name. */
bool columns_has_names(const char *list);

#endif
