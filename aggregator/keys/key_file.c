#include "keys/key_file.h"

#include "base/crypto.h"
#include "files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

static dpot_status write_text(struct temporary *temporary, const char *text,
                              struct dpot_error *error)
{
    return write_all(temporary->fd, text, strlen(text)) && write_all(temporary->fd, "\n", 1) &&
                   fsync(temporary->fd) == 0
               ? DPOT_OK
               : fail("writing", temporary->path, error);
}

static dpot_status refuse_existing(const char *path, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_EXISTS,
                          "%s exists already and is not overwritten: choose another folder", path);
}

/* link() instead of rename(), so that no existing file is replaced. */
static dpot_status name_new(struct temporary *temporary, const char *path, struct dpot_error *error)
{
    if (link(temporary->path, path) != 0) {
        return errno == EEXIST ? refuse_existing(path, error) : fail("naming", path, error);
    }
    temporary_remove(temporary); /* before the sync, which then covers both names */
    const dpot_status status = sync_folder_of(path, error);
    if (status != DPOT_OK) {
        (void)unlink(path);
    }
    return status;
}

dpot_status key_file_write_new(const char *path, const char *text, struct dpot_error *error)
{
    struct temporary temporary;
    if (access(path, F_OK) == 0) {
        return refuse_existing(path, error);
    }
    if (!temporary_open(path, S_IRUSR | S_IWUSR, &temporary)) {
        return fail("creating", path, error);
    }
    dpot_status status = write_text(&temporary, text, error);
    if (status == DPOT_OK) {
        status = name_new(&temporary, path, error);
    }
    temporary_remove(&temporary);
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

/* The stream has no buffer, which would keep the secrets in memory. */
static dpot_status replace(const char *path, const struct dpot_buf *text, struct dpot_error *error)
{
    struct output output;
    const dpot_status status = output_open(path, &output, error);
    if (status != DPOT_OK) {
        return status;
    }
    (void)setvbuf(output.stream, NULL, _IONBF, 0);
    (void)fwrite(text->data, 1, text->len, output.stream); /* output_commit checks ferror */
    return output_commit(&output, error);
}

dpot_status key_file_append(const char *path, const char *line, struct dpot_error *error)
{
    struct dpot_buf text;
    dpot_buf_init(&text, KEY_FILE_BYTES_MAX + 1, NULL);
    dpot_status status = read_extended(path, line, &text, error);
    if (status == DPOT_OK) {
        status = replace(path, &text, error);
    }
    dpot_buf_release_secret(&text);
    return status;
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
