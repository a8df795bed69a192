/* The file hook on POSIX: one private folder.
 *
 * (P1) Every name is opened relative to the folder's descriptor, never through a link, and must be
 *      a regular file: a link in the folder cannot redirect reads or writes.
 * (P2) Each lock is flock() on its own descriptor. It excludes other processes and other handles of
 *      this process (POSIX record locks would not), and ends with the process. */
#include "base/alloc.h"
#include "dpot/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_NAME "lock"
#define FILE_MODE 0600
#define FOLDER_MODE 0700

struct posix_filesystem {
    struct dpot_filesystem base; /* first: the hook's address is ours */
    int folder;
    int lock;      /* -1: not held by this hook */
    char why[192]; /* of the last DPOT_ERR_IO */
};

struct posix_file {
    int descriptor;
    char name[64]; /* for error messages: cut to fit */
};

/* True for the errno of opening a link, or anything else that is not a regular file (P1). */
static bool is_not_regular(int cause)
{
    return cause == ELOOP || cause == EISDIR || cause == ENXIO || cause == EINVAL;
}

/* The status of errno; for DPOT_ERR_IO sets `why`. */
static dpot_status fail(void *ctx, const char *name)
{
    struct posix_filesystem *fs = ctx;
    const int cause = errno;
    char text[96] = "unknown error";
    if (cause == ENOENT) {
        return DPOT_ERR_NOT_FOUND;
    }
    if (cause == ENOSPC || cause == EDQUOT) {
        return DPOT_ERR_NO_SPACE;
    }
    (void)!strerror_r(cause, text, sizeof text);
    if (is_not_regular(cause)) {
        (void)snprintf(text, sizeof text, "a regular file is expected here, no %s",
                       cause == ELOOP ? "symbolic link" : "folder, pipe or device");
    }
    (void)snprintf(fs->why, sizeof fs->why, "%s (\"%.60s\")", text, name);
    return DPOT_ERR_IO;
}

static const char *explain(void *ctx)
{
    const struct posix_filesystem *fs = ctx;
    return fs->why;
}

/* A descriptor of a regular file, or -1 with errno set (P1). */
static int open_regular(int folder, const char *name, int flags)
{
    int descriptor = -1;
    do {
        descriptor =
            openat(folder, name, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
    } while (descriptor < 0 && errno == EINTR);
    struct stat about;
    if (descriptor >= 0 && (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode))) {
        (void)close(descriptor);
        errno = EINVAL;
        return -1;
    }
    return descriptor;
}

static dpot_status open_file(void *ctx, const char *name, int create, void **file)
{
    struct posix_filesystem *fs = ctx;
    if (name[0] == '\0' || strchr(name, '/')) {
        return DPOT_ERR_ARGUMENT;
    }
    struct posix_file *opened = dpot_alloc_array(NULL, 1, sizeof *opened);
    if (!opened) {
        return DPOT_ERR_MEMORY;
    }
    opened->descriptor = open_regular(fs->folder, name, create ? O_CREAT : 0);
    if (opened->descriptor < 0) {
        const dpot_status status = fail(fs, name);
        dpot_free_array(NULL, opened, 1, sizeof *opened);
        return status;
    }
    (void)snprintf(opened->name, sizeof opened->name, "%s", name);
    *file = opened;
    return DPOT_OK;
}

static void close_file(void *ctx, void *file)
{
    (void)ctx;
    struct posix_file *f = file;
    (void)close(f->descriptor); /* whatever had to be durable was synced before */
    dpot_free_array(NULL, f, 1, sizeof *f);
}

static dpot_status size_file(void *ctx, void *file, uint64_t *size)
{
    const struct posix_file *f = file;
    struct stat about;
    if (fstat(f->descriptor, &about) != 0) {
        return fail(ctx, f->name);
    }
    *size = (uint64_t)about.st_size;
    return DPOT_OK;
}

static dpot_status read_at(void *ctx, void *file, uint64_t offset, void *data, size_t len)
{
    const struct posix_file *f = file;
    uint8_t *next = data;
    while (len > 0) {
        const ssize_t n = pread(f->descriptor, next, len, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n < 0 ? errno : EIO; /* 0: the file ends here */
            return fail(ctx, f->name);
        }
        next += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return DPOT_OK;
}

static dpot_status write_at(void *ctx, void *file, uint64_t offset, const void *data, size_t len)
{
    const struct posix_file *f = file;
    const uint8_t *next = data;
    while (len > 0) {
        const ssize_t n = pwrite(f->descriptor, next, len, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n < 0 ? errno : EIO;
            return fail(ctx, f->name);
        }
        next += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return DPOT_OK;
}

static dpot_status truncate_file(void *ctx, void *file, uint64_t size)
{
    const struct posix_file *f = file;
    int result = -1;
    do {
        result = ftruncate(f->descriptor, (off_t)size);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? DPOT_OK : fail(ctx, f->name);
}

/* fsync, or on Apple's systems, where that leaves bytes in the cache of the drive, F_FULLFSYNC
 * unless the volume does not know it. 0, or -1 with errno set. */
static int flush(int descriptor)
{
#ifdef F_FULLFSYNC
    if (fcntl(descriptor, F_FULLFSYNC) != -1) {
        return 0;
    }
    if (errno != ENOTSUP && errno != EINVAL && errno != ENOTTY) {
        return -1;
    }
#endif
    return fsync(descriptor);
}

/* Not repeated after a failure other than EINTR: a second call would succeed without writing. */
static dpot_status sync_descriptor(void *ctx, int descriptor, const char *name)
{
    int result = -1;
    do {
        result = flush(descriptor);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? DPOT_OK : fail(ctx, name);
}

static dpot_status sync_file(void *ctx, void *file)
{
    const struct posix_file *f = file;
    return sync_descriptor(ctx, f->descriptor, f->name);
}

static dpot_status sync_directory(void *ctx)
{
    const struct posix_filesystem *fs = ctx;
    return sync_descriptor(ctx, fs->folder, ".");
}

static dpot_status rename_file(void *ctx, const char *from, const char *to)
{
    const struct posix_filesystem *fs = ctx;
    return renameat(fs->folder, from, fs->folder, to) == 0 ? DPOT_OK : fail(ctx, to);
}

static dpot_status remove_file(void *ctx, const char *name)
{
    const struct posix_filesystem *fs = ctx;
    return unlinkat(fs->folder, name, 0) == 0 ? DPOT_OK : fail(ctx, name);
}

static dpot_status lock_folder(void *ctx)
{
    struct posix_filesystem *fs = ctx;
    if (fs->lock >= 0) {
        return DPOT_ERR_BUSY;
    }
    const int descriptor = open_regular(fs->folder, LOCK_NAME, O_CREAT);
    if (descriptor < 0) {
        return fail(fs, LOCK_NAME);
    }
    int result = -1;
    do {
        result = flock(descriptor, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
        const dpot_status status = errno == EWOULDBLOCK ? DPOT_ERR_BUSY : fail(fs, LOCK_NAME);
        (void)close(descriptor);
        return status;
    }
    struct stat about;
    if (fstat(descriptor, &about) != 0 || about.st_nlink == 0) {
        (void)close(descriptor); /* removed meanwhile: the folder has a new lock file */
        return DPOT_ERR_BUSY;
    }
    fs->lock = descriptor;
    fs->why[0] = '\0'; /* an earlier failure does not explain later ones */
    return DPOT_OK;
}

static void unlock_folder(void *ctx)
{
    struct posix_filesystem *fs = ctx;
    if (fs->lock >= 0) {
        (void)close(fs->lock); /* the only descriptor of its open file: this drops the lock */
        fs->lock = -1;
    }
}

/* The folder's descriptor, or -1; made when missing. */
static int open_folder(const char *path)
{
    if (mkdir(path, FOLDER_MODE) != 0 && errno != EEXIST) {
        return -1;
    }
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0 && faccessat(folder, ".", R_OK | W_OK | X_OK, 0) != 0) {
        const int cause = errno;
        (void)close(folder);
        errno = cause;
        return -1;
    }
    return folder;
}

dpot_status dpot_filesystem_posix_new(const char *path, struct dpot_filesystem **filesystem)
{
    if (!filesystem) {
        return DPOT_ERR_ARGUMENT;
    }
    *filesystem = NULL;
    if (!path) {
        return DPOT_ERR_ARGUMENT;
    }
    const int folder = open_folder(path);
    if (folder < 0) {
        return DPOT_ERR_IO;
    }
    struct posix_filesystem *fs = dpot_alloc_array(NULL, 1, sizeof *fs);
    if (!fs) {
        (void)close(folder);
        return DPOT_ERR_MEMORY;
    }
    fs->folder = folder;
    fs->lock = -1;
    fs->base = (struct dpot_filesystem){
        .struct_size = sizeof fs->base,
        .ctx = fs,
        .open = open_file,
        .close = close_file,
        .size = size_file,
        .read_at = read_at,
        .write_at = write_at,
        .truncate = truncate_file,
        .sync = sync_file,
        .sync_directory = sync_directory,
        .rename = rename_file,
        .remove = remove_file,
        .lock = lock_folder,
        .unlock = unlock_folder,
        .explain = explain,
    };
    *filesystem = &fs->base;
    return DPOT_OK;
}

void dpot_filesystem_posix_free(struct dpot_filesystem *filesystem)
{
    if (filesystem) {
        struct posix_filesystem *fs = filesystem->ctx;
        unlock_folder(fs);
        (void)close(fs->folder);
        dpot_free_array(NULL, fs, 1, sizeof *fs);
    }
}
