#define _DEFAULT_SOURCE /* flock */

#include "files/temporary.h"

#include "base/crypto.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX ".dpot-"
#define SUFFIX ".tmp"
#define RANDOM_LEN 8
#define TRIES 100

static bool lock(int fd)
{
    int result = -1;
    do {
        result = flock(fd, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

/* Replaces the name of the target in `path` by a fresh one. */
static void name(char *path, size_t folder_len)
{
    uint8_t bytes[RANDOM_LEN];
    char hex[2 * RANDOM_LEN + 1];
    dpot_random_bytes(bytes, sizeof bytes);
    dpot_hex_encode(hex, bytes, sizeof bytes);
    (void)snprintf(path + folder_len, TEMPORARY_NAME_SIZE, PREFIX "%s" SUFFIX, hex);
}

/* False: a sweep was faster than the lock and removed the file. A file system without locks is
 * used without. */
static bool is_ours(int fd)
{
    struct stat info;
    return (lock(fd) || errno != EWOULDBLOCK) && fstat(fd, &info) == 0 && info.st_nlink > 0;
}

static int create(char *path, size_t folder_len, mode_t mode)
{
    for (int i = 0; i < TRIES; i++) {
        name(path, folder_len);
        const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 && is_ours(fd)) {
            return fd;
        }
        if (fd >= 0) {
            (void)close(fd);
        } else if (errno != EEXIST && errno != EINTR) {
            return -1;
        }
    }
    errno = EEXIST;
    return -1;
}

bool temporary_open(const char *target, mode_t mode, struct temporary *t)
{
    const char *slash = strrchr(target, '/');
    const size_t folder_len = slash ? (size_t)(slash - target) + 1 : 0;
    *t = (struct temporary){NULL, -1};
    char *path = malloc(folder_len + TEMPORARY_NAME_SIZE);
    if (!path) {
        return false;
    }
    memcpy(path, target, folder_len);
    const int fd = create(path, folder_len, mode);
    if (fd < 0) {
        const int reason = errno;
        free(path);
        errno = reason;
        return false;
    }
    *t = (struct temporary){path, fd};
    return true;
}

bool temporary_close(struct temporary *t)
{
    const bool is_closed = !t->path || t->fd < 0 || close(t->fd) == 0;
    free(t->path);
    *t = (struct temporary){NULL, -1};
    return is_closed;
}

void temporary_remove(struct temporary *t)
{
    const int reason = errno;
    if (t->path) {
        (void)unlink(t->path);
        (void)temporary_close(t);
    }
    errno = reason;
}

bool temporary_is_name(const char *name)
{
    const size_t prefix_len = sizeof PREFIX - 1;
    uint8_t bytes[RANDOM_LEN];
    char hex[2 * RANDOM_LEN + 1];
    if (strlen(name) != TEMPORARY_NAME_SIZE - 1 || strncmp(name, PREFIX, prefix_len) != 0 ||
        strcmp(name + prefix_len + 2 * RANDOM_LEN, SUFFIX) != 0) {
        return false;
    }
    memcpy(hex, name + prefix_len, sizeof hex - 1);
    hex[sizeof hex - 1] = '\0';
    return dpot_hex_decode(hex, bytes, sizeof bytes) == DPOT_OK;
}

/* The file with its lock held; -1: a writer has it, or it cannot be locked. */
static int take(int folder, const char *path)
{
    const int fd = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && !lock(fd)) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

bool temporary_is_left(const char *path)
{
    const int fd = take(AT_FDCWD, path);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

static void remove_left(int folder, const char *name)
{
    static const char *const tails[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char full[TEMPORARY_NAME_SIZE + 8];
        (void)snprintf(full, sizeof full, "%.*s%s", TEMPORARY_NAME_SIZE - 1, name, tails[i]);
        (void)unlinkat(folder, full, 0);
    }
}

void temporary_sweep(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry = dir ? readdir(dir) : NULL;
    for (; entry; entry = readdir(dir)) {
        const int fd = temporary_is_name(entry->d_name) ? take(dirfd(dir), entry->d_name) : -1;
        if (fd >= 0) {
            remove_left(dirfd(dir), entry->d_name);
            (void)close(fd);
        }
    }
    if (dir) {
        (void)closedir(dir);
    }
}
