/* IDX, the format of MNIST and similar data sets (reading only): two zero bytes, a type, the number
 * of dimensions, each dimension as a big-endian uint32, then the big-endian entries, last dimension
 * fastest.
 *
 * One dimension is a vector. Of more, the first is the rows and the others are laid out in one row:
 * 60000 images of 28 x 28 are a (60000, 784) array of pixels 0 .. 255.
 *
 * The header is validated before memory is allocated: at most as many entries as array_rules allow,
 * and as a file of this size can hold at gzip's best ratio. No more is unpacked than it states. */
#ifndef DPOT_FILES_IDX_H
#define DPOT_FILES_IDX_H

#include "files/array.h"

#include <stdint.h>
#include <stdio.h>

/* Names that end in .idx, -ubyte, .idx.gz or -ubyte.gz. */
bool idx_has_name(const char *path);

/* Whether the name ends in .gz. */
bool idx_is_compressed(const char *path);

/* `file_size` is that of the whole file. Errors as array_read, without the path. */
DPOT_WARN_UNUSED dpot_status idx_read(FILE *stream, uint64_t file_size, bool is_compressed,
                                      const struct array_rules *rules, struct array *array,
                                      struct dpot_error *error);

#endif
