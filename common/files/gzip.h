/* Reading compressed files: the door of zlib.
 *
 * A stream hands out bytes as they are asked for and never more: what a file would unpack to is the
 * caller's to bound, by asking for no more than it has a use for. */
#ifndef DPOT_FILES_GZIP_H
#define DPOT_FILES_GZIP_H

#include "base/error.h"

#include <stdio.h>

#define GZIP_RATIO_MAX 1032 /* unpacked bytes that a byte of deflate can stand for */

struct gzip;

/* `stream` is one that nothing was read from yet; it stays the caller's, who leaves it alone meanwhile. A
 * file that is not compressed (a browser has unpacked it) is handed out as it is. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status gzip_open(FILE *stream, struct gzip **gzip, struct dpot_error *error);
void gzip_close(struct gzip *gzip);

/* Fills (out, cap) unless the content ends before; *len is what was read. DPOT_ERR_MALFORMED: the
 * file is damaged or cut off. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status gzip_read(struct gzip *gzip, void *out, size_t cap, size_t *len,
                                       struct dpot_error *error);

#endif
