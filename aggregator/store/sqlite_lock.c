/* Who owns an SQLite store: flock() on "PATH-lock", a file of its own beside the database.
 *
 *  - The kernel drops the lock when the process ends, however it ends, so nothing is stale after a
 *    crash; the file stays and says nothing by being there. It is never removed: a process that has it
 *    open and one that makes it anew would hold two locks.
 *  - Not on the database itself: closing any descriptor of that file would drop SQLite's own record
 *    locks of this process.
 *  - PATH is followed to the real file, so that a second name (a symbolic link) is the same store.
 *  - The file holds the owner's process number, for the sentence only: it may be of another
 *    container. */
#include "store/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_PATH_SIZE 4352
#define PID_SIZE 24

static dpot_status fail(const char *what, const char *path, struct dpot_error *error)
{
    return dpot_error_set(
        error, DPOT_ERR_IO,
        "%s the store's lock %s failed: %s; it must be a plain file that this user "
        "can write",
        what, path, strerror(errno));
}

/* The real name of the database; one that is not there yet is made, empty, because a symbolic link to
 * nothing has none. */
static char *find_database(const char *path)
{
    char *real = realpath(path, NULL);
    if (!real && errno == ENOENT) {
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd >= 0) {
            (void)close(fd);
            real = realpath(path, NULL);
        }
    }
    return real;
}

/* "REAL PATH-lock" */
static dpot_status find_path(const char *path, char out[LOCK_PATH_SIZE], struct dpot_error *error)
{
    char *real = find_database(path);
    if (!real) {
        return dpot_error_set(error, DPOT_ERR_IO,
                              "store %s cannot be opened: %s; check the folder and its permissions",
                              path, strerror(errno));
    }
    const int n = snprintf(out, LOCK_PATH_SIZE, "%s-lock", real);
    free(real);
    return n > 0 && n < LOCK_PATH_SIZE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "the store's path is too long: %.80s...",
                                path);
}

/* The number in the file; 0 when there is none. */
static long read_owner(int fd)
{
    char text[PID_SIZE] = "";
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    const long owner = n > 0 ? strtol(text, NULL, 10) : 0;
    return owner > 0 ? owner : 0;
}

static dpot_status refuse(int fd, const char *path, struct dpot_error *error)
{
    char who[48] = "another process";
    const long owner = read_owner(fd);
    if (owner > 0) {
        (void)snprintf(who, sizeof who, "process %ld", owner);
    }
    return dpot_error_set(error, DPOT_ERR_BUSY,
                          "store %s is served by %s: two would run the same jobs, stop that one or "
                          "choose another store",
                          path, who);
}

/* For the sentence of the next one; a lock without it is as good. */
static void write_owner(int fd)
{
    char text[PID_SIZE];
    const int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) != n) {
        (void)ftruncate(fd, 0);
    }
}

static dpot_status lock(int fd, const char *path, const char *lock_path, struct dpot_error *error)
{
    int result = 0;
    do {
        result = flock(fd, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result == 0) {
        write_owner(fd);
        return DPOT_OK;
    }
    return errno == EWOULDBLOCK ? refuse(fd, path, error) : fail("taking", lock_path, error);
}

dpot_status sqlite_lock_take(const char *path, int *lock_fd, struct dpot_error *error)
{
    char lock_path[LOCK_PATH_SIZE];
    *lock_fd = -1;
    dpot_status status = find_path(path, lock_path, error);
    if (status != DPOT_OK) {
        return status;
    }
    const int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (fd < 0) {
        return fail("opening", lock_path, error);
    }
    status = lock(fd, path, lock_path, error);
    if (status != DPOT_OK) {
        (void)close(fd);
        return status;
    }
    *lock_fd = fd;
    return DPOT_OK;
}

void sqlite_lock_release(int lock_fd)
{
    if (lock_fd >= 0) {
        (void)close(lock_fd);
    }
}
