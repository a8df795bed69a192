/* A choice of columns: a list such as "lat,lon" or "0,4,7:10" of names, of numbers counted from 0,
 * and of slices a:b, which are a to b - 1 (a missing end is that of the table). A name is tried
 * first. */
#ifndef DPOT_FILES_COLUMNS_H
#define DPOT_FILES_COLUMNS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct columns_choice {
    size_t *positions; /* (n) from 0, in the order of the list; owned */
    size_t n;
};

/* The name of column `j`; NULL: the table has no names. A NULL function: no names. */
typedef const char *columns_name(const void *ctx, size_t j);

/* Reads a list for a table of n_cols columns. Release with columns_choice_release.
 * DPOT_ERR_ARGUMENT: no list, or no such column (no error shows a name of the table);
 * DPOT_ERR_TOO_LARGE: more than ARRAY_COLUMNS_MAX; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status columns_choose(const char *list, size_t n_cols, columns_name *name,
                                            const void *ctx, struct columns_choice *choice,
                                            struct dpot_error *error);
void columns_choice_release(struct columns_choice *choice);

/* Whether the list has a part that is no number and no slice, so that it must be a name. */
bool columns_has_names(const char *list);

#endif
