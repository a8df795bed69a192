/* The bytes of a file, of stdin or of a pipe as one stream: unpacked if gzip packed them, and the
 * chosen array of a .npz. The first bytes tell which it is, whatever its name. */
#ifndef DPOT_FILES_INPUT_H
#define DPOT_FILES_INPUT_H

#include "files/array.h"

#include <stdint.h>
#include <stdio.h>

#define INPUT_START_LEN 8

struct input_layer;

struct input {
    FILE *stream;                   /* to read, from the first byte */
    uint64_t room;                  /* bytes that it has at most; UINT64_MAX: unknown */
    uint8_t start[INPUT_START_LEN]; /* the first bytes, which `stream` gives again */
    size_t start_len;               /* less than INPUT_START_LEN: the stream has no more */
    FILE *file;                     /* below all layers */
    bool is_stdin;                  /* the file is not closed */
    char *choice;                   /* what follows FILE: in the path, owned; NULL: nothing */
    const char *columns;            /* of it; NULL: none */
    struct input_layer *layers;     /* on top of the file */
};

/* Opens a path; "-" is stdin. If there is no file of the name "FILE:CHOICE", it is FILE, of which
 * the choice is columns, or of a .npz an array and, after another ":", columns. Errors have no
 * path.
 *   DPOT_ERR_IO         it cannot be opened or read, is a folder
 *   DPOT_ERR_ARGUMENT   the choice of an array, as npz_open
 *   DPOT_ERR_MALFORMED  damaged, packed twice
 *   DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY */
DPOT_WARN_UNUSED dpot_status input_open(const char *path, const struct array_rules *rules,
                                        struct input *input, struct dpot_error *error);

/* The length of the path of the file in "FILE:CHOICE", or of the whole path. */
size_t input_file_len(const char *path);

/* Closes it. Returns `status`, or the failure to unpack that made the stream end: then the error is
 * replaced. */
DPOT_WARN_UNUSED dpot_status input_close(struct input *input, dpot_status status,
                                         struct dpot_error *error);

#endif
