/* Columns of a table by name or by position, as the options of a trusted curator's jobs give them: a
 * name in the first line of the CSV, or a number counted from 0. A name that looks like a number is
 * not found by it. Standard input is known by its numbers only. */
#ifndef DPOT_TOOL_SHARED_COLUMNS_H
#define DPOT_TOOL_SHARED_COLUMNS_H

#include "files/array.h"
#include "tool/shared/command.h"

#define COLUMNS_MAX 2048

struct columns {
    const char *option;            /* that names the file, for the sentences; borrowed */
    size_t n;                      /* of the table */
    size_t n_names;                /* 0: the table has none */
    char (*names)[ARRAY_NAME_MAX]; /* (COLUMNS_MAX) owned */
};

/* The names of the file that the option names; n columns. Release it in every case. DPOT_ERR_MEMORY,
 * DPOT_ERR_TOO_LARGE: more than COLUMNS_MAX columns. */
DPOT_WARN_UNUSED dpot_status columns_init(struct run *run, const char *option, size_t n,
                                          struct columns *columns);
void columns_release(struct columns *columns);

/* The position of the column with this name; false: there is none. */
bool columns_find(const struct columns *columns, const char *name, size_t *position);

/* The one column that the option names; *position is left alone without the option. Exit code 2. */
DPOT_WARN_UNUSED dpot_status columns_read_one(struct run *run, const struct columns *columns,
                                              const char *option, size_t *position);

/* The list of columns that the option names, at most COLUMNS_MAX, into positions; *n is 0 without the
 * option. Exit code 2. */
DPOT_WARN_UNUSED dpot_status columns_read_list(struct run *run, const struct columns *columns,
                                               const char *option,
                                               size_t *positions /* (COLUMNS_MAX) */, size_t *n);

#endif
