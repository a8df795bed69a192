#define _GNU_SOURCE /* fopencookie */
#include "files/input.h"

#include "base/alloc.h"
#include "base/crypto.h"
#include "files/gzip.h"
#include "files/npz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A stream on top of another one: it gives `start`, then what the source gives. */
struct input_layer {
    struct input_layer *below;
    FILE *lower, *stream;
    struct gzip *gzip; /* both NULL: the bytes of `lower` */
    struct npz *npz;
    uint8_t start[INPUT_START_LEN];
    size_t start_len, n_given;
    dpot_status status; /* of the source, with its sentence */
    struct dpot_error error;
};

static size_t read_source(struct input_layer *layer, void *out, size_t cap)
{
    size_t len = 0;
    if (layer->gzip) {
        layer->status = gzip_read(layer->gzip, out, cap, &len, &layer->error);
    } else if (layer->npz) {
        layer->status = npz_read(layer->npz, out, cap, &len, &layer->error);
    } else {
        len = fread(out, 1, cap, layer->lower);
        layer->status = ferror(layer->lower) ? dpot_error_set(&layer->error, DPOT_ERR_IO,
                                                              "reading failed: %s", strerror(errno))
                                             : DPOT_OK;
    }
    return len;
}

static ssize_t read_layer(void *cookie, char *out, size_t cap)
{
    struct input_layer *layer = cookie;
    const size_t n_kept = layer->start_len - layer->n_given;
    if (n_kept > 0) {
        const size_t n = n_kept < cap ? n_kept : cap;
        memcpy(out, layer->start + layer->n_given, n);
        layer->n_given += n;
        return (ssize_t)n;
    }
    const size_t len = layer->status == DPOT_OK ? read_source(layer, out, cap) : 0;
    if (len == 0 && layer->status != DPOT_OK) {
        errno = EIO;
        return -1;
    }
    return (ssize_t)len;
}

static void free_layer(struct input_layer *layer)
{
    (void)(layer->stream && fclose(layer->stream));
    gzip_close(layer->gzip);
    npz_close(layer->npz);
    dpot_free_secret(NULL, layer, 1, sizeof *layer);
}

/* Puts the layer on top and reads its start. */
static dpot_status push(struct input *input, struct input_layer *layer, struct dpot_error *error)
{
    const cookie_io_functions_t functions = {.read = read_layer};
    layer->start_len = read_source(layer, layer->start, INPUT_START_LEN);
    if (layer->status != DPOT_OK) {
        return dpot_error_set(error, layer->status, "%s", layer->error.text);
    }
    layer->stream = fopencookie(layer, "rb", functions);
    if (!layer->stream) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for reading");
    }
    input->stream = layer->stream;
    memcpy(input->start, layer->start, INPUT_START_LEN);
    input->start_len = layer->start_len;
    return DPOT_OK;
}

static dpot_status add_layer(struct input *input, struct input_layer **layer,
                             struct dpot_error *error)
{
    *layer = dpot_alloc_array(NULL, 1, sizeof **layer);
    if (!*layer) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for reading");
    }
    (*layer)->below = input->layers;
    (*layer)->lower = input->stream;
    input->layers = *layer;
    return DPOT_OK;
}

/* A pipe cannot be read twice, so its start is kept in a layer. */
static dpot_status read_start(struct input *input, struct dpot_error *error)
{
    struct input_layer *layer = NULL;
    struct stat info;
    const off_t at = ftello(input->stream);
    if (fstat(fileno(input->stream), &info) == 0 && S_ISREG(info.st_mode) && at >= 0) {
        input->room = info.st_size > at ? (uint64_t)(info.st_size - at) : 0;
        input->start_len = fread(input->start, 1, INPUT_START_LEN, input->stream);
        const bool is_read = !ferror(input->stream) && fseeko(input->stream, at, SEEK_SET) == 0;
        return is_read ? DPOT_OK
                       : dpot_error_set(error, DPOT_ERR_IO, "reading failed: %s", strerror(errno));
    }
    const dpot_status status = add_layer(input, &layer, error);
    return status == DPOT_OK ? push(input, layer, error) : status;
}

static dpot_status unpack(struct input *input, struct dpot_error *error)
{
    struct input_layer *layer = NULL;
    if (!gzip_has_start(input->start, input->start_len)) {
        return DPOT_OK;
    }
    dpot_status status = add_layer(input, &layer, error);
    if (status == DPOT_OK) {
        status = gzip_open(input->stream, &layer->gzip, error);
    }
    if (status == DPOT_OK) {
        status = push(input, layer, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    const bool is_bounded = input->room < (uint64_t)1 << 48;
    input->room = is_bounded ? (input->room + 1) * GZIP_RATIO_MAX : UINT64_MAX;
    return gzip_has_start(input->start, input->start_len)
               ? dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the file is compressed twice: unpack it once with gunzip")
               : DPOT_OK;
}

/* Of "NAME:COLUMNS" the name remains. */
static void split_columns(struct input *input)
{
    char *colon = input->choice ? strchr(input->choice, ':') : NULL;
    input->columns = colon ? colon + 1 : NULL;
    if (colon) {
        *colon = '\0';
    }
}

static dpot_status open_array(struct input *input, const struct array_rules *rules,
                              struct dpot_error *error)
{
    struct input_layer *layer = NULL;
    if (!npz_has_start(input->start, input->start_len)) {
        input->columns = input->choice;
        return DPOT_OK;
    }
    split_columns(input);
    dpot_status status = add_layer(input, &layer, error);
    if (status == DPOT_OK) {
        status = npz_open(input->stream, input->choice, rules, &layer->npz, &input->room, error);
    }
    return status == DPOT_OK ? push(input, layer, error) : status;
}

/* Up to the first ":" before which is a file. */
size_t input_file_len(const char *path)
{
    struct stat info;
    const size_t len = strlen(path);
    size_t at = stat(path, &info) == 0 ? len : strcspn(path, ":");
    while (at < len) {
        char *file = strndup(path, at);
        const bool is_file = file && at > 0 && path[at + 1] && stat(file, &info) == 0;
        free(file);
        if (is_file) {
            return at;
        }
        at += 1 + strcspn(path + at + 1, ":");
    }
    return len;
}

static dpot_status open_path(const char *path, struct input *input, struct dpot_error *error)
{
    struct stat info;
    const size_t len = input_file_len(path);
    char *file = strndup(path, len);
    input->choice = path[len] ? strdup(path + len + 1) : NULL;
    if (!file || (path[len] && !input->choice)) {
        free(file);
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the path");
    }
    const bool is_folder = stat(file, &info) == 0 && S_ISDIR(info.st_mode);
    input->stream = is_folder ? NULL : fopen(file, "rb");
    const int code = errno;
    free(file);
    if (is_folder) {
        return dpot_error_set(error, DPOT_ERR_IO, "it is a folder: give a file");
    }
    return input->stream ? DPOT_OK
                         : dpot_error_set(error, DPOT_ERR_IO, "reading failed: %s", strerror(code));
}

dpot_status input_open(const char *path, const struct array_rules *rules, struct input *input,
                       struct dpot_error *error)
{
    *input = (struct input){.room = UINT64_MAX, .is_stdin = strcmp(path, "-") == 0};
    input->stream = input->is_stdin ? stdin : NULL;
    dpot_status status = input->is_stdin ? DPOT_OK : open_path(path, input, error);
    if (status != DPOT_OK) {
        free(input->choice);
        return status;
    }
    input->file = input->stream;
    status = read_start(input, error);
    if (status == DPOT_OK) {
        status = unpack(input, error);
    }
    if (status == DPOT_OK) {
        status = open_array(input, rules, error);
    }
    return status == DPOT_OK ? DPOT_OK : input_close(input, status, error);
}

dpot_status input_close(struct input *input, dpot_status status, struct dpot_error *error)
{
    for (struct input_layer *layer = input->layers, *below = NULL; layer; layer = below) {
        below = layer->below;
        if (layer->status != DPOT_OK) {
            status = dpot_error_set(error, layer->status, "%s", layer->error.text);
        }
        free_layer(layer);
    }
    (void)(!input->is_stdin && fclose(input->file));
    free(input->choice);
    dpot_wipe(input, sizeof *input);
    return status;
}
