/* The NumPy .npy format, 1.0 to 3.0: little-endian f4 f8 i4 i8 u4 u8, C order, 1-D or 2-D.
 *
 * The header is parsed as the dictionary that NumPy writes; nothing is evaluated. The size that it
 * states is compared with the size of the file before memory is allocated. */
#ifndef DPOT_FILES_NPY_H
#define DPOT_FILES_NPY_H

#include "files/array.h"

#include <stdint.h>
#include <stdio.h>

/* `file_size` is that of the whole file. Errors as array_read, without the path. */
DPOT_WARN_UNUSED dpot_status npy_read(FILE *stream, uint64_t file_size,
                                      const struct array_rules *rules, struct array *array,
                                      struct dpot_error *error);

/* Writes format 1.0; every entry must fit `type`. Check ferror(stream). */
void npy_write(FILE *stream, const struct array *array, enum array_type type);

#endif
