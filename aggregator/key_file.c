#include "key_file.h"

#include "base/crypto.h"

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

dpot_status key_file_write_new(const char *path, const char *text, struct dpot_error *error)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0 && errno == EEXIST) {
        return dpot_error_set(error, DPOT_ERR_EXISTS,
                              "%s exists already and is not overwritten: choose another folder",
                              path);
    }
    if (fd < 0) {
        return fail("creating", path, error);
    }
    dpot_status status =
        write_all(fd, text, strlen(text)) && write_all(fd, "\n", 1) && fsync(fd) == 0
            ? DPOT_OK
            : fail("writing", path, error);
    (void)close(fd);
    if (status != DPOT_OK) {
        (void)unlink(path);
        return status;
    }
    return sync_folder_of(path, error);
}

/* Whether the last byte ends a line, or there is none. */
static bool ends_a_line(int fd)
{
    char last = '\n';
    const off_t end = lseek(fd, 0, SEEK_END);
    return end <= 0 || pread(fd, &last, 1, end - 1) != 1 || last == '\n';
}

dpot_status key_file_append(const char *path, const char *line, struct dpot_error *error)
{
    const int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    if (fd < 0) {
        return fail("opening", path, error);
    }
    const bool is_written = (ends_a_line(fd) || write_all(fd, "\n", 1)) &&
                            write_all(fd, line, strlen(line)) && write_all(fd, "\n", 1) &&
                            fsync(fd) == 0;
    const dpot_status status = is_written ? DPOT_OK : fail("writing", path, error);
    (void)close(fd);
    return status;
}

static dpot_status check_mode(int fd, const char *path, mode_t forbidden, struct dpot_error *error)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return fail("looking at", path, error);
    }
    if (!S_ISREG(info.st_mode)) {
        return dpot_error_set(error, DPOT_ERR_IO, "%s is not a file: name one", path);
    }
    if (info.st_mode & forbidden) {
        return dpot_error_set(
            error, DPOT_ERR_DENIED, "%s can be read by others (mode %03o): chmod %s it", path,
            (unsigned)(info.st_mode & 0777), forbidden == KEY_FILE_OTHERS ? "600" : "o=");
    }
    return DPOT_OK;
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
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail("opening", path, error);
    }
    dpot_status status = check_mode(fd, path, forbidden, error);
    if (status == DPOT_OK) {
        status = read_all(fd, path, out, error);
    }
    (void)close(fd);
    return status;
}
