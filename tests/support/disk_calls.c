/* The file system calls of the program, in place of the C library's (disk.h). */
#define _GNU_SOURCE /* RTLD_NEXT, fopencookie */

#include "support/disk_model.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma GCC visibility push(default)

#define N_STREAMS 64

/* The C library's function, looked up once. */
#define NEXT(type, name)                                                                           \
    static type next;                                                                              \
    if (!next) {                                                                                   \
        *(void **)&next = dlsym(RTLD_NEXT, name);                                                  \
    }

typedef int open_call(const char *path, int flags, ...);
typedef int openat_call(int folder, const char *path, int flags, ...);
typedef ssize_t write_call(int fd, const void *data, size_t len);
typedef ssize_t pwrite_call(int fd, const void *data, size_t len, off_t offset);
typedef int descriptor_call(int fd);
typedef int truncate_call(int fd, off_t size);
typedef int renameat_call(int from_folder, const char *from, int to_folder, const char *to);
typedef int unlinkat_call(int folder, const char *path, int flags);
typedef int template_call(char *path);
typedef int link_call(const char *from, const char *to);
typedef FILE *fdopen_call(int fd, const char *mode);
typedef FILE *fopen_call(const char *path, const char *mode);
typedef int fileno_call(FILE *stream);

/* The 64-bit variants, which shared libraries and the client use. */
int open64(const char *path, int flags, ...);
int openat64(int folder, const char *path, int flags, ...);
ssize_t pwrite64(int fd, const void *data, size_t len, off_t offset);
int ftruncate64(int fd, off_t size);

/* Preserves errno. */
static void unlock(void)
{
    const int reason = errno;
    disk_unlock();
    errno = reason;
}

/* ---- opening ---- */

/* Calls the real openat; `full` is the watched path. */
static int open_watched(int folder, const char *path, const char *full, int flags, mode_t mode)
{
    NEXT(openat_call *, "openat")
    struct stat about;
    const bool is_new = stat(full, &about) != 0;
    if (is_new && (flags & O_CREAT) && disk_begin(true, false) != DISK_WORKS) {
        return -1;
    }
    const int fd = next(folder, path, flags, mode);
    if (fd >= 0 && fstat(fd, &about) == 0) {
        const bool is_folder = S_ISDIR(about.st_mode);
        if (is_new) {
            disk_created(full);
        }
        disk_opened(fd, full, is_folder);
        struct disk_file *file = disk_file_of(fd);
        if (file && (flags & O_TRUNC) && !is_new) {
            disk_truncated(file, 0);
        }
    }
    if (is_new && (flags & O_CREAT)) {
        disk_end();
    }
    return fd;
}

static int open_any(int folder, const char *path, int flags, mode_t mode)
{
    NEXT(openat_call *, "openat")
    char full[DISK_PATH_MAX], joined[DISK_PATH_MAX];
    if (!disk_is_on()) {
        return next(folder, path, flags, mode);
    }
    disk_lock();
    const char *base = path[0] != '/' ? disk_folder_of(folder) : NULL;
    if (base) {
        (void)snprintf(joined, sizeof joined, "%s/%s", base, path);
    }
    const bool is_watched = disk_is_watched(base ? joined : path, full);
    const int fd = is_watched ? open_watched(folder, path, full, flags, mode)
                              : next(folder, path, flags, mode);
    unlock();
    return fd;
}

#define MODE_OF(flags, mode)                                                                       \
    mode_t mode = 0;                                                                               \
    if ((flags)&O_CREAT) {                                                                         \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode = va_arg(list, mode_t);                                                               \
        va_end(list);                                                                              \
    }

int open(const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return open_any(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return open_any(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return open_any(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return open_any(folder, path, flags, mode);
}

int mkstemp(char *path)
{
    NEXT(template_call *, "mkstemp")
    char full[DISK_PATH_MAX];
    if (!disk_is_on()) {
        return next(path);
    }
    disk_lock();
    const bool is_watched = disk_is_watched(path, full);
    int fd = -1;
    if (!is_watched || disk_begin(true, false) == DISK_WORKS) {
        fd = next(path);
    }
    if (is_watched && fd >= 0) {
        disk_created(path);
        disk_opened(fd, path, false);
        disk_end();
    }
    unlock();
    return fd;
}

int close(int fd)
{
    NEXT(descriptor_call *, "close")
    if (!disk_is_on()) {
        return next(fd);
    }
    disk_lock();
    disk_closed(fd);
    const int result = next(fd);
    disk_unlock();
    return result;
}

/* ---- writing ---- */

static ssize_t write_at(int fd, struct disk_file *file, const void *data, size_t len, off_t offset)
{
    NEXT(pwrite_call *, "pwrite")
    struct stat about;
    const bool grows = fstat(fd, &about) == 0 && offset + (off_t)len > about.st_size;
    const enum disk_fate fate = disk_begin(grows, true);
    const int reason = errno;
    size_t n = len;
    if (fate == DISK_TEARS || (fate == DISK_SHORTENS && len > 1)) {
        n = len / 2;
    }
    if (fate == DISK_ERRS || n == 0) {
        errno = reason;
        return fate == DISK_WORKS ? 0 : -1;
    }
    const ssize_t written = next(fd, data, n, offset);
    if (written > 0) {
        disk_wrote(file, (uint64_t)offset, data, (size_t)written);
    }
    disk_end();
    errno = reason;
    return fate == DISK_TEARS ? -1 : written;
}

static ssize_t pwrite_any(int fd, const void *data, size_t len, off_t offset)
{
    NEXT(pwrite_call *, "pwrite")
    if (!disk_is_on()) {
        return next(fd, data, len, offset);
    }
    disk_lock();
    struct disk_file *file = disk_file_of(fd);
    const ssize_t n = file ? write_at(fd, file, data, len, offset) : next(fd, data, len, offset);
    unlock();
    return n;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    return pwrite_any(fd, data, len, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off_t offset)
{
    return pwrite_any(fd, data, len, offset);
}

ssize_t write(int fd, const void *data, size_t len)
{
    NEXT(write_call *, "write")
    if (!disk_is_on()) {
        return next(fd, data, len);
    }
    disk_lock();
    struct disk_file *file = disk_file_of(fd);
    ssize_t n = -1;
    if (file) {
        const bool appends = (fcntl(fd, F_GETFL) & O_APPEND) != 0;
        const off_t offset = lseek(fd, 0, appends ? SEEK_END : SEEK_CUR);
        n = write_at(fd, file, data, len, offset);
        if (n > 0) {
            (void)lseek(fd, offset + n, SEEK_SET);
        }
    } else {
        disk_unlock(); /* a pipe may block */
        return next(fd, data, len);
    }
    unlock();
    return n;
}

static int truncate_any(int fd, off_t size)
{
    NEXT(truncate_call *, "ftruncate")
    struct stat about;
    int result = -1;
    if (!disk_is_on()) {
        return next(fd, size);
    }
    disk_lock();
    struct disk_file *file = disk_file_of(fd);
    const bool grows = fstat(fd, &about) == 0 && size > about.st_size;
    if (!file || disk_begin(grows, false) == DISK_WORKS) {
        result = next(fd, size);
    }
    if (file && result == 0) {
        disk_truncated(file, (uint64_t)size);
        disk_end();
    }
    unlock();
    return result;
}

int ftruncate(int fd, off_t size)
{
    return truncate_any(fd, size);
}

int ftruncate64(int fd, off_t size)
{
    return truncate_any(fd, size);
}

/* The real sync is skipped, outside of the folder too: no test depends on this machine's disk. */
static int sync_any(int fd)
{
    if (!disk_is_on()) {
        return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
    }
    disk_lock();
    struct disk_file *file = disk_file_of(fd);
    const char *folder = disk_folder_of(fd);
    const bool is_watched = file || folder;
    const bool works = !is_watched || disk_begin(false, false) == DISK_WORKS;
    const int reason = errno;
    const bool is_tried = works || reason != EINTR;
    if (file && is_tried) {
        disk_synced(file, works);
    } else if (folder && is_tried) {
        disk_synced_folder(folder, works);
    }
    if (is_watched && works) {
        disk_end();
    }
    disk_unlock();
    errno = reason;
    return works ? 0 : -1;
}

int fsync(int fd)
{
    return sync_any(fd);
}

int fdatasync(int fd)
{
    return sync_any(fd);
}

/* ---- names ---- */

static bool full_path(int folder, const char *path, char full[DISK_PATH_MAX])
{
    char joined[DISK_PATH_MAX];
    const char *base = path[0] != '/' ? disk_folder_of(folder) : NULL;
    if (base) {
        (void)snprintf(joined, sizeof joined, "%s/%s", base, path);
    }
    return disk_is_watched(base ? joined : path, full);
}

static int rename_any(int from_folder, const char *from, int to_folder, const char *to)
{
    NEXT(renameat_call *, "renameat")
    char full_from[DISK_PATH_MAX], full_to[DISK_PATH_MAX];
    int result = -1;
    if (!disk_is_on()) {
        return next(from_folder, from, to_folder, to);
    }
    disk_lock();
    const bool is_watched =
        full_path(from_folder, from, full_from) && full_path(to_folder, to, full_to);
    if (!is_watched || disk_begin(false, false) == DISK_WORKS) {
        result = next(from_folder, from, to_folder, to);
    }
    if (is_watched && result == 0) {
        disk_renamed(full_from, full_to);
        disk_end();
    }
    unlock();
    return result;
}

int rename(const char *from, const char *to)
{
    return rename_any(AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return rename_any(from_folder, from, to_folder, to);
}

int link(const char *from, const char *to)
{
    NEXT(link_call *, "link")
    char full_from[DISK_PATH_MAX], full_to[DISK_PATH_MAX];
    int result = -1;
    if (!disk_is_on()) {
        return next(from, to);
    }
    disk_lock();
    const bool is_watched = disk_is_watched(from, full_from) && disk_is_watched(to, full_to);
    if (!is_watched || disk_begin(true, false) == DISK_WORKS) {
        result = next(from, to);
    }
    if (is_watched && result == 0) {
        disk_linked(full_from, full_to);
        disk_end();
    }
    unlock();
    return result;
}

static int remove_any(int folder, const char *path, int flags)
{
    NEXT(unlinkat_call *, "unlinkat")
    char full[DISK_PATH_MAX];
    int result = -1;
    if (!disk_is_on()) {
        return next(folder, path, flags);
    }
    disk_lock();
    const bool is_watched = full_path(folder, path, full) && access(full, F_OK) == 0;
    if (!is_watched || disk_begin(false, false) == DISK_WORKS) {
        result = next(folder, path, flags);
    }
    if (is_watched && result == 0) {
        disk_removed(full);
        disk_end();
    }
    unlock();
    return result;
}

int unlink(const char *path)
{
    return remove_any(AT_FDCWD, path, 0);
}

int unlinkat(int folder, const char *path, int flags)
{
    return remove_any(folder, path, flags);
}

/* ---- streams: those that write into the folder do so through write() above ---- */

struct stream {
    FILE *stream;
    int fd;
};

static struct stream streams[N_STREAMS];

static ssize_t write_stream(void *cookie, const char *data, size_t len)
{
    const struct stream *s = cookie;
    size_t done = 0;
    while (done < len) {
        const ssize_t n = write(s->fd, data + done, len - done);
        if (n <= 0) {
            break; /* also for EINTR, as the C library's streams do */
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static int close_stream(void *cookie)
{
    struct stream *s = cookie;
    const int fd = s->fd;
    *s = (struct stream){NULL, -1};
    return close(fd);
}

static FILE *make_stream(int fd, const char *mode)
{
    for (size_t i = 0; i < N_STREAMS; i++) {
        if (!streams[i].stream) {
            const cookie_io_functions_t functions = {.write = write_stream, .close = close_stream};
            streams[i].fd = fd;
            streams[i].stream = fopencookie(&streams[i], mode, functions);
            return streams[i].stream;
        }
    }
    abort();
}

FILE *fdopen(int fd, const char *mode)
{
    NEXT(fdopen_call *, "fdopen")
    if (!disk_is_on()) {
        return next(fd, mode);
    }
    disk_lock();
    const bool is_watched = disk_file_of(fd) != NULL && mode[0] == 'w';
    FILE *stream = is_watched ? make_stream(fd, mode) : next(fd, mode);
    disk_unlock();
    return stream;
}

FILE *fopen(const char *path, const char *mode)
{
    NEXT(fopen_call *, "fopen")
    char full[DISK_PATH_MAX];
    if (!disk_is_on()) {
        return next(path, mode);
    }
    disk_lock();
    const bool is_watched = mode[0] == 'w' && disk_is_watched(path, full);
    disk_unlock();
    if (!is_watched) {
        return next(path, mode);
    }
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    return fd < 0 ? NULL : fdopen(fd, mode);
}

int fileno(FILE *stream)
{
    NEXT(fileno_call *, "fileno")
    for (size_t i = 0; i < N_STREAMS; i++) {
        if (streams[i].stream == stream) {
            return streams[i].fd;
        }
    }
    return next(stream);
}

#pragma GCC visibility pop
