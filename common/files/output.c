#define _XOPEN_SOURCE 700 /* realpath */

#include "files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif

#define ACCESS_LIST_MAX 4096 /* bytes: 511 entries */
#define LINK_MAX_LEN 4096
#define LINKS_MAX 40 /* as the kernel */

static dpot_status fail(struct dpot_error *error, const char *what, const char *path)
{
    return dpot_error_set(error, DPOT_ERR_IO, "%s %s failed: %s", what, path, strerror(errno));
}

static void release(struct output *output)
{
    free(output->path);
    *output = (struct output){.temporary = {NULL, -1}};
}

/* What the link at `path` names, seen from here. NULL: it is no link, or memory is short. */
static char *follow(const char *path)
{
    char target[LINK_MAX_LEN];
    const ssize_t n = readlink(path, target, sizeof target);
    if (n <= 0 || n == (ssize_t)sizeof target) {
        return NULL;
    }
    const char *slash = target[0] == '/' ? NULL : strrchr(path, '/');
    const size_t folder_len = slash ? (size_t)(slash - path) + 1 : 0;
    char *next = malloc(folder_len + (size_t)n + 1);
    if (next) {
        memcpy(next, path, folder_len);
        memcpy(next + folder_len, target, (size_t)n);
        next[folder_len + (size_t)n] = '\0';
    }
    return next;
}

/* So the rename replaces the file and not the link. */
char *output_resolve(const char *path)
{
    char *resolved = realpath(path, NULL);
    if (resolved) {
        return resolved;
    }
    resolved = strdup(path);
    for (int i = 0; resolved && i < LINKS_MAX; i++) {
        char *next = follow(resolved);
        if (!next) {
            break;
        }
        free(resolved);
        resolved = next;
    }
    return resolved;
}

/* ---- the temporary file ---- */

/* Copies the access list of `path`, whose mask the mode shows as the bits of the group. False: it
 * has one that cannot be copied. */
static bool copy_access_list(const char *path, int fd)
{
#ifdef __linux__
    static const char name[] = "system.posix_acl_access";
    char list[ACCESS_LIST_MAX];
    const ssize_t len = getxattr(path, name, list, sizeof list);
    if (len < 0) {
        const bool is_long = errno == ERANGE;
        (void)fremovexattr(fd, name); /* given by the folder */
        return !is_long;
    }
    return fsetxattr(fd, name, list, (size_t)len, 0) == 0;
#else
    (void)path;
    (void)fd;
    return true;
#endif
}

/* Gives a file that was created with mode 0600 owner, group and mode of the one at `path`, which it
 * replaces. If the group or its access list cannot be kept, another group gets no more than
 * everybody had. */
static void copy_mode(const char *path, int fd, const struct stat *old)
{
    struct stat new;
    mode_t mode = old->st_mode & 0777;
    if (fchown(fd, old->st_uid, old->st_gid) != 0) {
        (void)!fchown(fd, (uid_t)-1, old->st_gid);
    }
    const bool has_list = copy_access_list(path, fd);
    if (!has_list || fstat(fd, &new) != 0 || new.st_gid != old->st_gid) {
        mode = (mode & ~(mode_t)S_IRWXG) | (mode & ((mode & S_IRWXO) << 3));
    }
    (void)fchmod(fd, mode); /* fails on file systems without modes, which keep theirs */
}

/* Whether the old file may be writable although its folder is not. */
static bool is_denied(int reason)
{
    return reason == EACCES || reason == EPERM || reason == EROFS;
}

/* `old` is NULL for a new file. In a folder that admits no new file the old one is overwritten in
 * place, from a file in the folder for temporary files. */
static bool create(const char *path, const struct stat *old, struct temporary *temporary)
{
    bool is_created = temporary_open(path, old ? S_IRUSR | S_IWUSR : 0666, temporary);
    if (!is_created && old && is_denied(errno)) {
        const int reason = errno;
        const char *folder = getenv("TMPDIR");
        char elsewhere[4096];
        const int n =
            snprintf(elsewhere, sizeof elsewhere, "%s/", folder && folder[0] ? folder : "/tmp");
        is_created = n > 0 && n < (int)sizeof elsewhere &&
                     temporary_open(elsewhere, S_IRUSR | S_IWUSR, temporary);
        errno = reason;
    }
    if (is_created && old) {
        copy_mode(path, temporary->fd, old);
    }
    return is_created;
}

static dpot_status check_old(const char *path, const struct stat *old, struct dpot_error *error)
{
    if (S_ISDIR(old->st_mode)) {
        return dpot_error_set(error, DPOT_ERR_IO, "%s is a folder: give the name of a file", path);
    }
    if (!S_ISREG(old->st_mode) || ((old->st_mode & 0222) != 0 && access(path, W_OK) == 0)) {
        return DPOT_OK;
    }
    return dpot_error_set(error, DPOT_ERR_IO,
                          "%s is read-only for this user (mode %03o) and is not replaced: chmod "
                          "u+w it, or choose another name",
                          path, (unsigned)(old->st_mode & 0777));
}

dpot_status output_check(const char *path, struct dpot_error *error)
{
    struct stat old;
    return strcmp(path, "-") != 0 && stat(path, &old) == 0 ? check_old(path, &old, error) : DPOT_OK;
}

dpot_status output_open(const char *path, struct output *output, struct dpot_error *error)
{
    *output = (struct output){.temporary = {NULL, -1}};
    if (strcmp(path, "-") == 0) {
        output->stream = stdout;
        return DPOT_OK;
    }
    struct stat old;
    const bool exists = stat(path, &old) == 0;
    const dpot_status allowed = exists ? check_old(path, &old, error) : DPOT_OK;
    if (allowed != DPOT_OK) {
        return allowed;
    }
    output->path = output_resolve(path);
    if (!output->path) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
    }
    if (!exists && lstat(output->path, &old) == 0 && S_ISLNK(old.st_mode)) {
        release(output);
        return dpot_error_set(
            error, DPOT_ERR_IO,
            "%s is a link that leads to no file: remove it, or choose another name", path);
    }
    if (exists && !S_ISREG(old.st_mode)) {
        output->stream = fopen(output->path, "wb");
    } else if (create(output->path, exists ? &old : NULL, &output->temporary)) {
        output->stream = fdopen(output->temporary.fd, "wb");
    }
    if (!output->stream) {
        const dpot_status status = fail(error, "writing", exists ? path : output->path);
        output_abandon(output);
        return status;
    }
    return DPOT_OK;
}

/* ---- the target ---- */

/* Copies the whole file, and cuts off what a longer target held behind it. */
static bool copy(int from, int to)
{
    uint8_t block[65536];
    off_t at = 0;
    ssize_t n = 0;
    while ((n = pread(from, block, sizeof block, at)) > 0) {
        for (ssize_t done = 0; done < n;) {
            const ssize_t written = pwrite(to, block + done, (size_t)(n - done), at + done);
            if (written < 0 && errno != EINTR) {
                return false;
            }
            done += written > 0 ? written : 0;
        }
        at += n;
    }
    return n == 0 && ftruncate(to, at) == 0 && fsync(to) == 0;
}

/* output_abandon then leaves the file. */
static void keep_temporary(struct output *output)
{
    free(output->temporary.path);
    output->temporary.path = NULL;
}

/* The only way where the target is a mount of its own or its folder is read-only. If it fails, the
 * complete temporary file stays. */
static dpot_status overwrite(struct output *output, struct dpot_error *error)
{
    const int fd = open(output->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(error, "writing", output->path);
    }
    dpot_status status = DPOT_OK;
    if (!copy(output->temporary.fd, fd)) {
        status = dpot_error_set(error, DPOT_ERR_IO,
                                "overwriting %s failed: %s; it is incomplete now, and the whole is "
                                "in %s",
                                output->path, strerror(errno), output->temporary.path);
        keep_temporary(output);
    }
    (void)close(fd);
    return status;
}

/* Puts the complete temporary file in the place of the target. */
static dpot_status put(struct output *output, struct dpot_error *error)
{
    if (rename(output->temporary.path, output->path) == 0) {
        keep_temporary(output); /* it has its name */
        return output_sync_folder(output->path)
                   ? DPOT_OK
                   : fail(error, "syncing the folder of", output->path);
    }
    return errno == EBUSY || errno == EXDEV || is_denied(errno)
               ? overwrite(output, error)
               : fail(error, "writing", output->path);
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
    const bool is_written = fflush(output->stream) == 0 && !ferror(output->stream);
    if (!output->path) { /* stdout stays open */
        return is_written ? DPOT_OK : fail(error, "writing to", name);
    }
    dpot_status status = DPOT_OK;
    if (!is_written || (output->temporary.path && fsync(fileno(output->stream)) != 0)) {
        status = fail(error, "writing", name);
    }
    if (status == DPOT_OK && output->temporary.path) {
        status = put(output, error);
    }
    FILE *stream = output->stream;
    output->stream = NULL;
    output->temporary.fd = -1; /* closed with the stream; the lock ends only now */
    if (fclose(stream) != 0 && status == DPOT_OK) {
        status = fail(error, "writing", name);
    }
    output_abandon(output); /* removes what is left after a failure */
    return status;
}

void output_abandon(struct output *output)
{
    if (output->stream && output->path) {
        (void)fclose(output->stream);
        output->temporary.fd = -1;
    }
    temporary_remove(&output->temporary);
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
