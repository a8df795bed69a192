#include "files/gzip.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define READ_MAX ((size_t)1 << 20) /* zlib takes unsigned int */
#define BUFFER_LEN (1u << 16)

struct gzip {
    gzFile file;
};

dpot_status gzip_open(FILE *stream, struct gzip **gzip, struct dpot_error *error)
{
    *gzip = NULL;
    struct gzip *made = dpot_alloc_array(NULL, 1, sizeof *made);
    if (!made) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for unpacking");
    }
    const int fd = dup(fileno(stream));
    made->file = fd >= 0 ? gzdopen(fd, "rb") : NULL;
    if (!made->file) {
        (void)(fd >= 0 && close(fd));
        dpot_free_array(NULL, made, 1, sizeof *made);
        return dpot_error_set(error, DPOT_ERR_IO, "the file cannot be opened for unpacking");
    }
    (void)gzbuffer(made->file, BUFFER_LEN);
    *gzip = made;
    return DPOT_OK;
}

void gzip_close(struct gzip *gzip)
{
    if (gzip) {
        (void)gzclose(gzip->file);
        dpot_free_array(NULL, gzip, 1, sizeof *gzip);
    }
}

static dpot_status explain(gzFile file, struct dpot_error *error)
{
    int code = Z_OK;
    const char *text = gzerror(file, &code); /* "<fd:5>: what is wrong" */
    const char *what = strstr(text, ": ");
    if (code == Z_ERRNO) {
        return dpot_error_set(error, DPOT_ERR_IO, "reading failed: %s", strerror(errno));
    }
    if (code == Z_MEM_ERROR) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for unpacking");
    }
    return dpot_error_set(error, DPOT_ERR_MALFORMED,
                          "the compressed file is damaged or cut off (%s): fetch it again",
                          what ? what + 2 : "unexpected end");
}

dpot_status gzip_read(struct gzip *gzip, void *out, size_t cap, size_t *len,
                      struct dpot_error *error)
{
    const gzFile file = gzip->file;
    *len = 0;
    while (*len < cap) {
        const size_t wanted = cap - *len < READ_MAX ? cap - *len : READ_MAX;
        const int n = gzread(file, (char *)out + *len, (unsigned)wanted);
        int code = Z_OK;
        (void)gzerror(file, &code);
        /* For a truncated file gzread returns what there is and sets Z_BUF_ERROR. */
        if (n < 0 || (code != Z_OK && code != Z_STREAM_END)) {
            return explain(file, error);
        }
        if (n == 0) {
            return DPOT_OK;
        }
        *len += (size_t)n;
    }
    return DPOT_OK;
}
