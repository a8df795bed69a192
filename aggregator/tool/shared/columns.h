/* Columns of a table, selected by options: by a name in the first line of a CSV, or by a number
 * counted from 0. A name is tried first; one that two columns have chooses neither. */
#ifndef DPOT_TOOL_SHARED_COLUMNS_H
#define DPOT_TOOL_SHARED_COLUMNS_H

#include "files/array.h"
#include "tool/shared/command.h"

#define COLUMNS_MAX 2048

struct columns {
    const char *option;            /* of the file, for messages; borrowed */
    size_t n;                      /* columns of the table */
    size_t n_names;                /* 0: the table has no names */
    char (*names)[ARRAY_NAME_MAX]; /* (COLUMNS_MAX) owned */
};

/* Copies the column names of the array that was read from the file of `option`. Release also after
 * a failure. DPOT_ERR_MEMORY; DPOT_ERR_TOO_LARGE: more than COLUMNS_MAX columns. */
DPOT_WARN_UNUSED dpot_status columns_init(struct run *run, const char *option,
                                          const struct array *array, struct columns *columns);
void columns_release(struct columns *columns);

/* How many columns have this name; *position is the first, unchanged if there is none. */
size_t columns_find(const struct columns *columns, const char *name, size_t *position);

/* Reads an option that selects one column; without it *position is unchanged. Exit code 2. */
DPOT_WARN_UNUSED dpot_status columns_read_one(struct run *run, const struct columns *columns,
                                              const char *option, size_t *position);

/* Reads an option that selects a list of columns; without it *n is 0. Exit code 2. */
DPOT_WARN_UNUSED dpot_status columns_read_list(struct run *run, const struct columns *columns,
                                               const char *option,
                                               size_t *positions /* (COLUMNS_MAX) */, size_t *n);

#endif
