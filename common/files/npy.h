/* The NumPy .npy format, 1.0 to 3.0: b1, i1 to i8, u1 to u8, f2 to f8 of either byte order,
 * C or Fortran order, 1-D or 2-D.
 *
 * The header is parsed as the dictionary that NumPy writes; nothing is evaluated. The size that it
 * states is compared with that of the file before memory is allocated (files/entries.h). */
#ifndef DPOT_FILES_NPY_H
#define DPOT_FILES_NPY_H

#include "files/array.h"

#include <stdint.h>
#include <stdio.h>

/* Whether a file that starts so is a .npy. */
bool npy_has_start(const uint8_t *start, size_t len);

/* `room`: bytes that the stream has at most; UINT64_MAX: unknown. Errors as array_read, without
 * the path. */
DPOT_WARN_UNUSED dpot_status npy_read(FILE *stream, uint64_t room, const struct array_rules *rules,
                                      struct array *array, struct dpot_error *error);

/* Writes format 1.0; every entry must fit `type`. Check ferror(stream). */
void npy_write(FILE *stream, const struct array *array, enum array_type type);

#endif
