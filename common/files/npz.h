/* The arrays of a .npz (reading only): a ZIP archive of .npy files, stored or deflated. The only
 * file that includes libzip. */
#ifndef DPOT_FILES_NPZ_H
#define DPOT_FILES_NPZ_H

#include "files/array.h"

#include <stdint.h>
#include <stdio.h>

struct npz;

/* Whether a file that starts so is a ZIP archive. */
bool npz_has_start(const uint8_t *start, size_t len);

/* Opens the array `name`, or with NULL the only one. An archive that is no regular file, read from
 * its start, is first read to memory, within 2^32 bytes and those of `rules`. `stream` stays the
 * caller's. *size: bytes of the unpacked array.
 *   DPOT_ERR_ARGUMENT   several arrays and no name, or a name that is not there; the error lists
 *                       the names, unless the data are private
 *   DPOT_ERR_MALFORMED  damaged, no array, packed by another method or encrypted
 *   DPOT_ERR_TOO_LARGE, DPOT_ERR_IO, DPOT_ERR_MEMORY */
DPOT_WARN_UNUSED dpot_status npz_open(FILE *stream, const char *name,
                                      const struct array_rules *rules, struct npz **npz,
                                      uint64_t *size, struct dpot_error *error);
void npz_close(struct npz *npz);

/* Reads up to `cap` bytes of the array; *len < cap only at its end. DPOT_ERR_MALFORMED: damaged. */
DPOT_WARN_UNUSED dpot_status npz_read(struct npz *npz, void *out, size_t cap, size_t *len,
                                      struct dpot_error *error);

#endif
