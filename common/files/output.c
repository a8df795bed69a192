#define _XOPEN_SOURCE 700 /* realpath */

#include "files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static dpot_status fail(struct dpot_error *error, const char *what, const char *path)
{
    return dpot_error_set(error, DPOT_ERR_IO, "%s %s failed: %s", what, path, strerror(errno));
}

static void release(struct output *output)
{
    free(output->path);
    free(output->temporary);
    *output = (struct output){0};
}

/* Follows links, so that the rename replaces the file and not the link. NULL: out of memory. */
static char *resolve(const char *path)
{
    char *resolved = realpath(path, NULL);
    return resolved ? resolved : strdup(path);
}

static char *temporary_name(const char *path)
{
    const size_t cap = strlen(path) + 40;
    char *name = malloc(cap);
    if (name) {
        (void)snprintf(name, cap, "%s.tmp-%ld", path, (long)getpid());
    }
    return name;
}

static FILE *create(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) {
        (void)unlink(path); /* left by a crashed process with the same pid */
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (fd < 0) {
        return NULL;
    }
    FILE *stream = fdopen(fd, "wb");
    if (!stream) {
        (void)close(fd);
        (void)unlink(path);
    }
    return stream;
}

dpot_status output_open(const char *path, struct output *output, struct dpot_error *error)
{
    *output = (struct output){0};
    if (strcmp(path, "-") == 0) {
        output->stream = stdout;
        return DPOT_OK;
    }
    struct stat info;
    const int exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        return dpot_error_set(error, DPOT_ERR_IO, "%s is a folder: give the name of a file", path);
    }
    output->path = resolve(path);
    if (!output->path) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
    }
    if (exists && !S_ISREG(info.st_mode)) {
        output->stream = fopen(output->path, "wb");
    } else {
        output->temporary = temporary_name(output->path);
        output->stream = output->temporary ? create(output->temporary) : NULL;
    }
    if (!output->stream) {
        const dpot_status status = fail(error, "writing", path);
        release(output);
        return status;
    }
    return DPOT_OK;
}

bool output_sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = !slash ? strdup(".") : slash == path ? strdup("/") : strdup(path);
    if (!folder) {
        return false;
    }
    if (slash && slash != path) {
        folder[slash - path] = '\0';
    }
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_synced =
        fd >= 0 ? fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP : errno == EACCES;
    const int reason = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    free(folder);
    errno = reason;
    return is_synced;
}

dpot_status output_commit(struct output *output, struct dpot_error *error)
{
    const char *name = output->path ? output->path : "standard output";
    int ok = fflush(output->stream) == 0 && !ferror(output->stream);
    if (!output->path) { /* stdout stays open */
        return ok ? DPOT_OK : fail(error, "writing to", name);
    }
    if (ok && output->temporary) {
        ok = fsync(fileno(output->stream)) == 0;
    }
    int reason = errno;
    if (fclose(output->stream) != 0 && ok) {
        ok = 0;
        reason = errno;
    }
    output->stream = NULL;
    if (ok && output->temporary && rename(output->temporary, output->path) != 0) {
        ok = 0;
        reason = errno;
    }
    if (!ok) {
        errno = reason;
        const dpot_status status = fail(error, "writing", name);
        output_abandon(output);
        return status;
    }
    const bool is_durable = !output->temporary || output_sync_folder(output->path);
    const dpot_status status = is_durable ? DPOT_OK : fail(error, "syncing the folder of", name);
    release(output);
    return status;
}

void output_abandon(struct output *output)
{
    if (output->stream && output->path) {
        (void)fclose(output->stream);
    }
    if (output->temporary) {
        (void)unlink(output->temporary);
    }
    release(output);
}

dpot_status output_write(const char *path, const void *data, size_t len, struct dpot_error *error)
{
    struct output output;
    const dpot_status status = output_open(path, &output, error);
    if (status != DPOT_OK) {
        return status;
    }
    (void)fwrite(data, 1, len, output.stream); /* output_commit checks ferror */
    return output_commit(&output, error);
}
