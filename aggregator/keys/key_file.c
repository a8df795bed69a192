#define _XOPEN_SOURCE 700 /* realpath */

#include "keys/key_file.h"

#include "base/crypto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096

static dpot_status fail(const char *what, const char *path, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_IO, "%s %s failed: %s", what, path, strerror(errno));
}

dpot_status key_file_sync_folder(const char *path, struct dpot_error *error)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return fail("opening", path, error);
    }
    const dpot_status status = fsync(fd) == 0 ? DPOT_OK : fail("syncing", path, error);
    (void)close(fd);
    return status;
}

static dpot_status sync_folder_of(const char *path, struct dpot_error *error)
{
    char folder[PATH_SIZE];
    const char *slash = strrchr(path, '/');
    const int len = slash == path ? 1 : slash ? (int)(slash - path) : 1;
    (void)snprintf(folder, sizeof folder, "%.*s", len, slash ? path : ".");
    return key_file_sync_folder(folder, error);
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        data += n;
        len -= (size_t)n;
    }
    return true;
}

/* A file that is being written and has no name yet; open and locked until it is named. */
struct partial {
    char path[PATH_SIZE];
    int fd;        /* -1: not created */
    bool is_there; /* created at `path` by this process */
};

/* Marks a partial file as in use; key_file_is_unfinished tests the lock. The kernel releases it
 * when the process ends, so the file of a killed process is free. If locking fails, a concurrent
 * cleanup can remove the file; the command then fails when it names it, and can be repeated. */
static void lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)fcntl(fd, F_SETLK, &whole);
}

static void remove_partial(struct partial *partial)
{
    if (partial->is_there) {
        (void)unlink(partial->path);
        partial->is_there = false;
    }
}

static void release_partial(struct partial *partial)
{
    remove_partial(partial);
    if (partial->fd >= 0) {
        (void)close(partial->fd);
        partial->fd = -1;
    }
}

/* Replaces a file of the same name, left by an interrupted process. */
static dpot_status make_partial(struct partial *partial, const char *path, const char *text,
                                size_t len, mode_t mode, struct dpot_error *error)
{
    const int n = snprintf(partial->path, sizeof partial->path, "%s" KEY_FILE_PARTIAL, path);
    partial->fd = -1;
    if (n < 0 || n >= PATH_SIZE) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "the path is too long: %.80s...", path);
    }
    (void)unlink(partial->path);
    partial->fd = open(partial->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (partial->fd < 0) {
        return fail("creating", partial->path, error);
    }
    partial->is_there = true;
    lock(partial->fd);
    return fchmod(partial->fd, mode) == 0 && write_all(partial->fd, text, len) &&
                   fsync(partial->fd) == 0
               ? DPOT_OK
               : fail("writing", partial->path, error);
}

static dpot_status refuse_existing(const char *path, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_EXISTS,
                          "%s exists already and is not overwritten: choose another folder", path);
}

/* link() instead of rename(), so that no existing file is replaced. */
static dpot_status name_new(struct partial *partial, const char *path, struct dpot_error *error)
{
    if (link(partial->path, path) != 0) {
        return errno == EEXIST ? refuse_existing(path, error) : fail("naming", path, error);
    }
    remove_partial(partial); /* before the sync, which then covers both names */
    const dpot_status status = sync_folder_of(path, error);
    if (status != DPOT_OK) {
        (void)unlink(path);
    }
    return status;
}

dpot_status key_file_write_new(const char *path, const char *text, struct dpot_error *error)
{
    struct dpot_buf line;
    struct partial partial = {.fd = -1};
    if (access(path, F_OK) == 0) {
        return refuse_existing(path, error);
    }
    dpot_buf_init(&line, KEY_FILE_BYTES_MAX + 1, NULL);
    dpot_status status = dpot_buf_append(&line, text, strlen(text));
    if (status == DPOT_OK) {
        status = dpot_buf_append(&line, "\n", 1);
    }
    if (status != DPOT_OK) {
        status = dpot_error_set(error, status, "%s cannot be held in memory", path);
    } else {
        status = make_partial(&partial, path, (const char *)line.data, line.len, S_IRUSR | S_IWUSR,
                              error);
    }
    if (status == DPOT_OK) {
        status = name_new(&partial, path, error);
    }
    release_partial(&partial);
    dpot_buf_release_secret(&line);
    return status;
}

/* The content of `path` followed by the line. */
static dpot_status read_extended(const char *path, const char *line, struct dpot_buf *text,
                                 struct dpot_error *error)
{
    dpot_status status = key_file_read(path, 0, text, error);
    if (status == DPOT_OK && text->len > 0 && text->data[text->len - 1] != '\n') {
        status = dpot_buf_append(text, "\n", 1);
    }
    if (status == DPOT_OK) {
        status = dpot_buf_append(text, line, strlen(line));
    }
    return status == DPOT_OK ? dpot_buf_append(text, "\n", 1) : status;
}

dpot_status key_file_append(const char *path, const char *line, struct dpot_error *error)
{
    struct dpot_buf text;
    struct stat info;
    struct partial partial = {.fd = -1};
    char *real = realpath(path, NULL); /* so that rename replaces the file and not a link to it */
    if (!real || stat(real, &info) != 0) {
        free(real);
        return fail("opening", path, error);
    }
    dpot_buf_init(&text, KEY_FILE_BYTES_MAX + 1, NULL);
    dpot_status status = read_extended(real, line, &text, error);
    if (status == DPOT_OK) {
        status = make_partial(&partial, real, (const char *)text.data, text.len,
                              info.st_mode & 0777, error);
    }
    if (status == DPOT_OK) {
        partial.is_there = rename(partial.path, real) != 0;
        status = partial.is_there ? fail("replacing", path, error) : sync_folder_of(real, error);
    }
    release_partial(&partial);
    dpot_buf_release_secret(&text);
    free(real);
    return status;
}

bool key_file_is_unfinished(const char *path)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno != ENOENT; /* a running command has named or removed it */
    }
    const bool is_free = fcntl(fd, F_GETLK, &whole) != 0 || whole.l_type == F_UNLCK;
    (void)close(fd);
    return is_free;
}

static dpot_status refuse_special(const char *path, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_MALFORMED,
                          "%s is a folder, pipe or device: put a plain file there", path);
}

dpot_status key_file_check_plain(const char *path, struct dpot_error *error)
{
    struct stat info;
    return stat(path, &info) != 0 || S_ISREG(info.st_mode) ? DPOT_OK : refuse_special(path, error);
}

static dpot_status check_mode(int fd, const char *path, mode_t forbidden, struct dpot_error *error)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return fail("checking", path, error);
    }
    if (!S_ISREG(info.st_mode)) {
        return refuse_special(path, error);
    }
    if (info.st_mode & forbidden) {
        return dpot_error_set(
            error, DPOT_ERR_DENIED, "%s can be read by others (mode %03o): chmod %s it", path,
            (unsigned)(info.st_mode & 0777), forbidden == KEY_FILE_OTHERS ? "600" : "o=");
    }
    return DPOT_OK;
}

dpot_status key_file_check_folder(const char *path, struct dpot_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return fail("checking", path, error);
    }
    return info.st_mode & (S_IWGRP | S_IWOTH)
               ? dpot_error_set(error, DPOT_ERR_DENIED,
                                "%s can be written by others (mode %03o), who could put other keys "
                                "into it: chmod go-w it",
                                path, (unsigned)(info.st_mode & 0777))
               : DPOT_OK;
}

static dpot_status read_all(int fd, const char *path, struct dpot_buf *out,
                            struct dpot_error *error)
{
    char block[4096];
    dpot_status status = DPOT_OK;
    ssize_t n = 0;
    do {
        n = read(fd, block, sizeof block);
        if (n < 0 && errno != EINTR) {
            status = fail("reading", path, error);
        } else if (n > 0 && out->len + (size_t)n > KEY_FILE_BYTES_MAX) {
            status = dpot_error_set(error, DPOT_ERR_MALFORMED, "%s is larger than %zu bytes", path,
                                    KEY_FILE_BYTES_MAX);
        } else if (n > 0) {
            status = dpot_buf_append(out, block, (size_t)n);
        }
    } while (status == DPOT_OK && n != 0);
    dpot_wipe(block, sizeof block);
    if (status == DPOT_OK) {
        status = dpot_buf_append(out, "", 1);
        out->len -= status == DPOT_OK;
    }
    return status;
}

dpot_status key_file_read(const char *path, mode_t forbidden, struct dpot_buf *out,
                          struct dpot_error *error)
{
    const int fd =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: opening a pipe would block */
    if (fd < 0) {
        return errno == EACCES ? dpot_error_set(error, DPOT_ERR_IO,
                                                "%s cannot be read by this user: run dpotd as the "
                                                "one who owns it, or chown the installation",
                                                path)
                               : fail("opening", path, error);
    }
    dpot_status status = check_mode(fd, path, forbidden, error);
    if (status == DPOT_OK) {
        status = read_all(fd, path, out, error);
    }
    (void)close(fd);
    return status;
}
