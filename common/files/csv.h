/* Comma-separated numbers, one row per line, all rows of the same length. The first line is a
 * header if it begins with '#', or if some field has text and none begins like a number (digit,
 * sign, point). Fields may be padded with blanks or enclosed in double quotes. A byte order mark,
 * CR LF and up to 1000 empty lines at the end are accepted. Anything else is refused with line and
 * column. */
#ifndef DPOT_FILES_CSV_H
#define DPOT_FILES_CSV_H

#include "files/array.h"

#include <stdio.h>

/* Errors as array_read, without the path. One column is 1-D. */
DPOT_WARN_UNUSED dpot_status csv_read(FILE *stream, const struct array_rules *rules,
                                      struct array *array, struct dpot_error *error);

/* The column names of the first line, as array_read_names. */
DPOT_WARN_UNUSED dpot_status csv_read_names(FILE *stream, size_t n_max,
                                            char names[][ARRAY_NAME_MAX], size_t *n,
                                            struct dpot_error *error);

/* Writes numbers as number_format does, integers for ARRAY_U4; no header. Check ferror(stream). */
void csv_write(FILE *stream, const struct array *array, enum array_type type);

#endif
