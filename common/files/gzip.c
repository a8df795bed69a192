#include "files/gzip.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#define READ_MAX ((size_t)1 << 20) /* zlib takes unsigned int */
#define BUFFER_LEN (1u << 16)
#define GZIP_WINDOW (16 + MAX_WBITS) /* a gzip header and trailer, in zlib's words */

struct gzip {
    FILE *stream;
    z_stream z;
    bool is_between; /* members: the last has ended */
    uint8_t buffer[BUFFER_LEN];
};

bool gzip_has_start(const uint8_t *start, size_t len)
{
    return len >= 2 && start[0] == 0x1F && start[1] == 0x8B;
}

dpot_status gzip_open(FILE *stream, struct gzip **gzip, struct dpot_error *error)
{
    *gzip = dpot_alloc_array(NULL, 1, sizeof **gzip);
    if (*gzip && inflateInit2(&(*gzip)->z, GZIP_WINDOW) != Z_OK) {
        dpot_free_array(NULL, *gzip, 1, sizeof **gzip);
        *gzip = NULL;
    }
    if (!*gzip) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for unpacking");
    }
    (*gzip)->stream = stream;
    return DPOT_OK;
}

void gzip_close(struct gzip *gzip)
{
    if (gzip) {
        (void)inflateEnd(&gzip->z);
        dpot_free_secret(NULL, gzip, 1, sizeof *gzip);
    }
}

/* Fills an empty buffer; afterwards avail_in is 0 only at the end of the file. */
static dpot_status fill(struct gzip *gzip, struct dpot_error *error)
{
    if (gzip->z.avail_in == 0) {
        gzip->z.next_in = gzip->buffer;
        gzip->z.avail_in = (unsigned)fread(gzip->buffer, 1, BUFFER_LEN, gzip->stream);
    }
    return gzip->z.avail_in == 0 && ferror(gzip->stream)
               ? dpot_error_set(error, DPOT_ERR_IO, "reading failed: %s", strerror(errno))
               : DPOT_OK;
}

static dpot_status refuse(const char *what, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_MALFORMED,
                          "the compressed file is damaged or cut off (%s): fetch it again", what);
}

/* Skips padding and begins the next member, if there is one. */
static dpot_status begin_member(struct gzip *gzip, bool *is_end, struct dpot_error *error)
{
    z_stream *z = &gzip->z;
    dpot_status status = fill(gzip, error);
    while (status == DPOT_OK && z->avail_in > 0 && *z->next_in == 0) {
        z->next_in++;
        z->avail_in--;
        status = fill(gzip, error);
    }
    *is_end = z->avail_in == 0;
    if (status != DPOT_OK || *is_end) {
        return status;
    }
    if (*z->next_in != 0x1F) {
        return refuse("other bytes follow the compressed data", error);
    }
    gzip->is_between = false;
    return inflateReset(z) == Z_OK ? DPOT_OK : refuse("zlib cannot go on", error);
}

/* Unpacks into z->next_out, at least one byte unless the member ends. */
static dpot_status unpack(struct gzip *gzip, struct dpot_error *error)
{
    z_stream *z = &gzip->z;
    const dpot_status status = fill(gzip, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (z->avail_in == 0) {
        return refuse("unexpected end of file", error);
    }
    const int code = inflate(z, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for unpacking");
    }
    if (code != Z_OK && code != Z_STREAM_END) {
        return refuse(z->msg ? z->msg : "no gzip data", error);
    }
    gzip->is_between = code == Z_STREAM_END;
    return DPOT_OK;
}

dpot_status gzip_read(struct gzip *gzip, void *out, size_t cap, size_t *len,
                      struct dpot_error *error)
{
    bool is_end = false;
    dpot_status status = DPOT_OK;
    *len = 0;
    while (status == DPOT_OK && *len < cap && !is_end) {
        const size_t wanted = cap - *len < READ_MAX ? cap - *len : READ_MAX;
        gzip->z.next_out = (uint8_t *)out + *len;
        gzip->z.avail_out = (unsigned)wanted;
        status = gzip->is_between ? begin_member(gzip, &is_end, error) : unpack(gzip, error);
        *len += wanted - gzip->z.avail_out;
    }
    return status;
}
