/* The private table of a trusted curator, --data: columns of coordinates, optionally a count of
 * records per row and a group. Rows are sorted by group. */
#ifndef DPOT_TOOL_CENTRAL_RECORDS_H
#define DPOT_TOOL_CENTRAL_RECORDS_H

#include "tool/shared/columns.h"
#include "tool/shared/load.h"

#define RECORDS_GROUPS_MAX 65536

/* Rows [begin, end) and their number of records. */
struct records_group {
    double name;
    size_t begin, end;
    int64_t n;
};

struct records {
    size_t n_rows, dim;
    double *points;  /* (n_rows, dim) owned; finite after region_load */
    int64_t *counts; /* (n_rows) owned; NULL: one record per row */
    bool has_groups;
    size_t n_groups; /* 1 without --group-column */
    struct records_group *groups;

    struct columns columns;          /* of --data; its names were declared, hence public */
    size_t coordinates[COLUMNS_MAX]; /* (dim) positions of the coordinates */
    size_t count_column, group_column;
};

#define RECORDS_OPTIONS                                                                            \
    {"data", "F",                                                                                  \
     "the private records, one per row: coordinates, optionally a count and a group"},             \
        {"columns", "LIST",                                                                        \
         "names or numbers (from 0) of the coordinates (default: all other columns)"},             \
        HEADER_OPTION, {"count-column", "C", "column with the number of records in each row"},     \
    {                                                                                              \
        "group-column", "C", "column of a public group; one measure per group"                     \
    }

/* Checks that --data is given; reads no file. */
DPOT_WARN_UNUSED dpot_status records_check_options(struct run *run);

/* Reads and validates --data. Release also after a failure. `empty_dim`: the number of coordinates
 * of an empty file without a header, which is accepted where the number of records is private; 0:
 * an empty file is refused. Only the form of the file is validated: coordinates that are no
 * finite numbers are filled by region_load, counts that are none, or negative, are 0, above 2^32
 * they are 2^32, and fractions are cut. Exit code 2: columns that do not exist or are given twice;
 * 3: a group that is no finite number, too many groups. */
DPOT_WARN_UNUSED dpot_status records_load(struct run *run, size_t empty_dim,
                                          struct records *records);
void records_release(struct records *records);

/* `before` and the names of the coordinates, "a,b", to be freed with free(); NULL: they have no
 * names, or memory is out. */
char *records_header(const struct records *records, const char *before);

#endif
