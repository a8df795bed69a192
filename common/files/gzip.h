/* Reads gzip files; the only file that includes zlib.
 *
 * Unpacks no more bytes than the caller asks for: the caller bounds what a file can expand to. */
#ifndef DPOT_FILES_GZIP_H
#define DPOT_FILES_GZIP_H

#include "base/error.h"

#include <stdio.h>

#define GZIP_RATIO_MAX 1032 /* unpacked bytes per byte of deflate, at most */

struct gzip;

/* Nothing may have been read from `stream`, which stays the caller's and must not be used until
 * gzip_close. A file that is not compressed is read as it is. DPOT_ERR_MEMORY, DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status gzip_open(FILE *stream, struct gzip **gzip, struct dpot_error *error);
void gzip_close(struct gzip *gzip);

/* Reads up to `cap` bytes; *len < cap only at the end. DPOT_ERR_MALFORMED: the file is damaged or
 * cut off. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status gzip_read(struct gzip *gzip, void *out, size_t cap, size_t *len,
                                       struct dpot_error *error);

#endif
