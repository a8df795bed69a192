/* Reads a small table of numbers: comma-separated, one row a line, a header line if the first one
 * is not numbers. Strict: every row has as many numbers as the first, every number is written out
 * in full ("nan" and "inf" count as numbers). */
#ifndef DPOT_DEVICE_CSV_H
#define DPOT_DEVICE_CSV_H

#include <stddef.h>

struct table {
    size_t n_rows;
    size_t n_columns; /* 0 without rows */
    double *values;   /* (n_rows, n_columns) owned */
    size_t cap;       /* numbers allocated */
};

/* Reads `path`, "-" is the standard input. 0; or an exit code of the tool with a sentence in
 * `error`, which names the line but never a value: this is the user's data. */
int table_read(struct table *table, const char *path, char *error, size_t error_size);

/* Wipes and frees. */
void table_release(struct table *table);

#endif
