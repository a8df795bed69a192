/* Reads a table of numbers as `dpot` does: comma-separated, one row a line, every row as long as the
 * first. Fields may be padded with blanks or enclosed in double quotes; a byte order mark, CR LF and
 * empty lines at the end are accepted. "nan" and "inf" are numbers, and so is one that no double
 * holds: it is infinite (the only difference from `dpot`, which refuses it; a device does not fail
 * over a number).
 *
 * The first line is a header when it begins with '#', or when it has text, no number, and no field
 * that begins like one (digit, sign, point); and then a row must follow. A file without a line is a
 * device without data. */
#ifndef DPOT_TOOL_CSV_H
#define DPOT_TOOL_CSV_H

#include "tool.h"

#define TABLE_NUMBERS_MAX ((size_t)1 << 24)
#define TABLE_BYTES_MAX ((size_t)1 << 28)

struct table {
    size_t n_rows;
    size_t n_columns; /* 0 without rows */
    double *values;   /* (n_rows, n_columns) owned */
    size_t cap;       /* numbers allocated */
};

/* Reads `path`, "-" is the standard input. The sentence of a failure names line and column, never a
 * value: this is the user's data. Malformed data and files over the two limits: EXIT_INPUT. */
enum exit_code table_read(struct table *table, const char *path, struct failure *failure);

/* Wipes and frees; a zeroed table is allowed. */
void table_release(struct table *table);

#endif
