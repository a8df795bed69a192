/* Unpacks gzip; the only file that includes zlib.
 *
 * Unpacks no more bytes than the caller asks for: the caller bounds what a file can expand to. */
#ifndef DPOT_FILES_GZIP_H
#define DPOT_FILES_GZIP_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GZIP_RATIO_MAX 1032 /* unpacked bytes per byte of deflate, at most */

struct gzip;

/* Whether a file that starts so is packed with gzip. */
bool gzip_has_start(const uint8_t *start, size_t len);

/* Unpacks what `stream` gives from here on; it stays the caller's and must outlive the gzip.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status gzip_open(FILE *stream, struct gzip **gzip, struct dpot_error *error);
void gzip_close(struct gzip *gzip);

/* Reads up to `cap` bytes; *len < cap only at the end of the last member. Zero bytes after it are
 * padding. DPOT_ERR_MALFORMED: the file is damaged or cut off, or something else follows.
 * DPOT_ERR_IO, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status gzip_read(struct gzip *gzip, void *out, size_t cap, size_t *len,
                                       struct dpot_error *error);

#endif
