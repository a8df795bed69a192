/* Comma-separated numbers, one row a line, all rows as long as the first. The first line is a header
 * when it begins with '#', or when some field has text and none begins like a number (digit, sign,
 * point). Fields may be padded with blanks or enclosed in double quotes; a byte order mark, CR LF and
 * empty lines at the end are accepted. Anything else is refused with its line and column. */
#ifndef DPOT_FILES_CSV_H
#define DPOT_FILES_CSV_H

#include "files/array.h"

#include <stdio.h>

/* Errors as array_read, without the path. One column is 1-D. */
DPOT_WARN_UNUSED dpot_status csv_read(FILE *stream, const struct array_rules *rules,
                                      struct array *array, struct dpot_error *error);

#define CSV_NAME_MAX 128 /* bytes, with the NUL; longer names are cut */

/* Reads up to `n_max` names of columns from the first line; *n is 0 when that line is a row of numbers, or
 * the path no regular file. Names are bytes as they are in the file. Errors as array_read. */
DPOT_WARN_UNUSED dpot_status csv_read_header(const char *path, size_t n_max,
                                             char names[][CSV_NAME_MAX], size_t *n,
                                             struct dpot_error *error);

/* Numbers as number_format writes them, integers for ARRAY_U4; no header. A failed write is left for the
 * caller to see in ferror. */
void csv_write(FILE *stream, const struct array *array, enum array_type type);

#endif
