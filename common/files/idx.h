/* IDX, the format in which MNIST and its kin are published: two zero bytes, a type, a number of
 * dimensions, each dimension as a big-endian uint32, then the entries, big-endian, last dimension
 * fastest. For reading only.
 *
 * One dimension is a vector; of more the first counts the rows and the others are laid out in one
 * row: 60000 images of 28 x 28 are a (60000, 784) array of pixels 0 .. 255, as they are on file.
 *
 * Nothing is taken from the header before it is found possible: at most ARRAY_ENTRIES_MAX entries, and
 * no more than a file of that size can hold, packed as tightly as gzip can. Not a byte more is
 * unpacked than the header states. */
#ifndef DPOT_FILES_IDX_H
#define DPOT_FILES_IDX_H

#include "files/array.h"

#include <stdint.h>
#include <stdio.h>

/* Names that end in .idx, -ubyte, .idx.gz or -ubyte.gz. */
bool idx_has_name(const char *path);

/* True when the name says that the file is compressed. */
bool idx_is_compressed(const char *path);

/* `file_size` is that of the whole file. Errors as array_read, without the path. */
DPOT_WARN_UNUSED dpot_status idx_read(FILE *stream, uint64_t file_size, bool is_compressed,
                                      const struct array_rules *rules, struct array *array,
                                      struct dpot_error *error);

#endif
