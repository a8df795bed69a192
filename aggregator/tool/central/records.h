/* The private table of a trusted curator: --data, of which columns are coordinates, one may say how many
 * records a row stands for, and one to which group it belongs. Rows are sorted by group. */
#ifndef DPOT_TOOL_CENTRAL_RECORDS_H
#define DPOT_TOOL_CENTRAL_RECORDS_H

#include "tool/shared/columns.h"

#define RECORDS_GROUPS_MAX 65536

/* Rows [begin, end) and how many records they are. */
struct records_group {
    double name;
    size_t begin, end;
    int64_t n;
};

struct records {
    size_t n_rows, dim;
    double *points;  /* (n_rows, dim) finite, owned */
    int64_t *counts; /* (n_rows) owned; NULL: one record a row */
    bool has_groups;
    size_t n_groups; /* 1 without --group-column */
    struct records_group *groups;

    struct columns columns;          /* of --data */
    size_t coordinates[COLUMNS_MAX]; /* (dim) positions of the coordinates */
    size_t count_column, group_column;
};

#define RECORDS_OPTIONS                                                                            \
    {"data", "F", "the private records, one a row: coordinates, and perhaps a count and a group"}, \
        {"columns", "LIST",                                                                        \
         "names or numbers (from 0) of the coordinates (default: all other columns)"},             \
        {"count-column", "C", "column that says how many records a row stands for"},               \
    {                                                                                              \
        "group-column", "C", "column of a public group: one measure for each"                      \
    }

/* Refuses a command line without --data; touches no file. */
DPOT_WARN_UNUSED dpot_status records_check_options(struct run *run);

/* Reads and checks all of --data. Release it in every case. dim_of_nothing: a file without records
 * is one like any other, where the number of records is private, and has so many coordinates if it
 * does not tell; 0: it is refused. Exit code 2: columns that are not there or are given twice; 3:
 * what is no finite number, counts that are no integers from 0 to 2^32, too many groups. That is
 * the form of the file; nothing else about it is refused. */
DPOT_WARN_UNUSED dpot_status records_load(struct run *run, size_t dim_of_nothing,
                                          struct records *records);
void records_release(struct records *records);

/* The names of the coordinates "a,b", with what comes before them; NULL where they have none. The caller
 * calls free() on it. */
char *records_header(const struct records *records, const char *before);

#endif
