/* The names of the columns of a CSV file, which csv_read passes over. */
#ifndef DPOT_FILES_CSV_HEADER_H
#define DPOT_FILES_CSV_HEADER_H

#include "base/error.h"

#include <stddef.h>

#define CSV_NAME_MAX 128     /* bytes, with the NUL; longer names are cut */
#define CSV_HEADER_MAX 65536 /* bytes of the line that are looked at */

/* Reads up to `n_max` names from the first line by csv_read's rules, a '#' at its beginning left
 * out; *n is 0 when that line is a row of numbers, or the path no regular file. Names are bytes as they are in the file.
 * DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status csv_header_read(const char *path, size_t n_max,
                                             char names[][CSV_NAME_MAX], size_t *n,
                                             struct dpot_error *error);

#endif
