#include "storage/files.h"

#include <stdio.h>

static dpot_status read_open(const struct dpot_filesystem *fs, void *file, struct dpot_buf *out)
{
    uint64_t size = 0;
    dpot_status status = fs->size(fs->ctx, file, &size);
    if (status != DPOT_OK) {
        return status;
    }
    if (size > out->max - out->len) {
        return DPOT_ERR_TOO_LARGE;
    }
    status = dpot_buf_reserve(out, (size_t)size);
    if (status != DPOT_OK || size == 0) {
        return status;
    }
    status = fs->read_at(fs->ctx, file, 0, out->data + out->len, (size_t)size);
    if (status == DPOT_OK) {
        out->len += (size_t)size;
    }
    return status;
}

dpot_status dpot_file_read(const struct dpot_filesystem *filesystem, const char *name,
                           struct dpot_buf *out)
{
    void *file = NULL;
    dpot_status status = filesystem->open(filesystem->ctx, name, 0, &file);
    if (status == DPOT_OK) {
        status = read_open(filesystem, file, out);
        filesystem->close(filesystem->ctx, file);
    }
    return status;
}

/* Makes (data, len) the whole content of `file`, durably. */
static dpot_status fill(const struct dpot_filesystem *fs, void *file, const void *data, size_t len)
{
    dpot_status status = fs->truncate(fs->ctx, file, 0);
    if (status == DPOT_OK && len > 0) {
        status = fs->write_at(fs->ctx, file, 0, data, len);
    }
    return status == DPOT_OK ? fs->sync(fs->ctx, file) : status;
}

dpot_status dpot_file_replace(const struct dpot_filesystem *filesystem, const char *name,
                              const void *data, size_t len)
{
    char new_name[DPOT_FILE_NAME_MAX + 8];
    (void)snprintf(new_name, sizeof new_name, "%s.new", name);
    void *file = NULL;
    dpot_status status = filesystem->open(filesystem->ctx, new_name, 1, &file);
    if (status != DPOT_OK) {
        return status;
    }
    status = fill(filesystem, file, data, len);
    filesystem->close(filesystem->ctx, file);
    if (status != DPOT_OK) {
        (void)filesystem->remove(filesystem->ctx, new_name); /* frees space on a full disk */
        return status;
    }
    status = filesystem->rename(filesystem->ctx, new_name, name);
    return status == DPOT_OK ? filesystem->sync_directory(filesystem->ctx) : status;
}

dpot_status dpot_file_exists(const struct dpot_filesystem *filesystem, const char *name,
                             bool *exists)
{
    void *file = NULL;
    const dpot_status status = filesystem->open(filesystem->ctx, name, 0, &file);
    if (status == DPOT_OK) {
        filesystem->close(filesystem->ctx, file);
    }
    *exists = status == DPOT_OK;
    return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
}

const char *dpot_file_why(const struct dpot_filesystem *filesystem, dpot_status status)
{
    const size_t end = offsetof(struct dpot_filesystem, explain) + sizeof filesystem->explain;
    const char *why = "";
    if (status == DPOT_ERR_IO && filesystem->struct_size >= end && filesystem->explain) {
        why = filesystem->explain(filesystem->ctx);
    }
    return why[0] ? why : dpot_status_text(status);
}
