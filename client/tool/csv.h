/* Reads a table of numbers: comma-separated, one row a line, blank lines skipped, the first line
 * skipped as a header when it does not begin with a number. Strict otherwise: every row has as many
 * numbers as the first. "nan" and "inf" are numbers. */
#ifndef DPOT_TOOL_CSV_H
#define DPOT_TOOL_CSV_H

#include "tool.h"

struct table {
    size_t n_rows;
    size_t n_columns; /* 0 without rows */
    double *values;   /* (n_rows, n_columns) owned */
    size_t cap;       /* numbers allocated */
};

/* Reads `path`, "-" is the standard input. The sentence of a failure names the line, never a value:
 * this is the user's data. */
enum exit_code table_read(struct table *table, const char *path, struct failure *failure);

/* Wipes and frees; a zeroed table is allowed. */
void table_release(struct table *table);

#endif
