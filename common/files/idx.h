/* IDX, the format of MNIST and similar data sets (reading only): two zero bytes, a type, the number
 * of dimensions, each dimension as a big-endian uint32, then the big-endian entries, last dimension
 * fastest.
 *
 * One dimension is a vector. Of more, the first is the rows and the others are laid out in one row:
 * 60000 images of 28 x 28 are a (60000, 784) array of pixels 0 .. 255.
 *
 * The header is validated before memory is allocated (files/entries.h): at most as many
 * entries as array_rules allow, and as the file can hold. */
#ifndef DPOT_FILES_IDX_H
#define DPOT_FILES_IDX_H

#include "files/array.h"

#include <stdint.h>
#include <stdio.h>

/* Whether a file that starts so can be IDX: with two zero bytes, as no text does. */
bool idx_has_start(const uint8_t *start, size_t len);

/* `room`: bytes that the stream has at most; UINT64_MAX: unknown. Errors as array_read, without the
 * path. */
DPOT_WARN_UNUSED dpot_status idx_read(FILE *stream, uint64_t room, const struct array_rules *rules,
                                      struct array *array, struct dpot_error *error);

#endif
