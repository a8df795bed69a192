/* Who owns an SQLite store. Two locks, and the kernel drops both when the process ends, however it ends,
 * so nothing is stale after a crash.
 *
 *  - One on the database file itself, so that it holds under every name of the file and whatever becomes
 *    of the other lock's file: an open file description lock, far behind every byte that SQLite locks.
 *    It is as long as the owner's process number, which is how the refused learn it; that may be a
 *    number of another container.
 *  - flock() on "PATH-lock", a file of its own. It holds when somebody puts another file in the
 *    database's place, whose write-ahead log would be that of the old one. It is never removed: a
 *    process that has it open and one that makes it anew would hold two locks. It holds the owner's
 *    number too.
 *  - Closing any descriptor of the database drops SQLite's own record locks of this process. So ours is
 *    opened before SQLite's and closed after it.
 *  - PATH is followed to the real file, so that a second name (a symbolic link) is the same store. A
 *    second hard link is refused: SQLite finds the write-ahead log by the name, and what is in that of
 *    the other name would be lost. */
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
#define LOCK_OFFSET ((off_t)1 << 62) /* SQLite locks below 2^31 */

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

/* The number in the file; 0 when there is none. */
static long read_owner(int fd)
{
    char text[PID_SIZE] = "";
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    const long owner = n > 0 ? strtol(text, NULL, 10) : 0;
    return owner > 0 ? owner : 0;
}

static dpot_status refuse(long owner, const char *path, struct dpot_error *error)
{
    char who[48] = "another process";
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

/* ---- the file beside the database ---- */

static dpot_status lock_file(int fd, const char *path, const char *lock_path,
                             struct dpot_error *error)
{
    int result = 0;
    do {
        result = flock(fd, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result == 0) {
        write_owner(fd);
        return DPOT_OK;
    }
    return errno == EWOULDBLOCK ? refuse(read_owner(fd), path, error)
                                : fail("taking", lock_path, error);
}

static dpot_status take_file(const char *path, const char *real, struct sqlite_lock *lock,
                             struct dpot_error *error)
{
    char lock_path[LOCK_PATH_SIZE];
    const int n = snprintf(lock_path, sizeof lock_path, "%s-lock", real);
    if (n <= 0 || n >= LOCK_PATH_SIZE) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "the store's path is too long: %.80s...",
                              path);
    }
    lock->file = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    return lock->file >= 0 ? lock_file(lock->file, path, lock_path, error)
                           : fail("opening", lock_path, error);
}

/* ---- the database itself ---- */

static int set_database_lock(int fd, int command, struct flock *range)
{
    *range = (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_OFFSET, .l_len = (off_t)getpid()};
    int result = 0;
    do {
        result = fcntl(fd, command, range);
    } while (result != 0 && errno == EINTR);
    return result;
}

/* The lock that is in the way tells its owner by its length. An owner in this very process would lose
 * SQLite's record locks with our descriptor: it stays open. */
static dpot_status refuse_database(const char *path, struct sqlite_lock *lock,
                                   struct dpot_error *error)
{
    struct flock found;
    const bool is_found = set_database_lock(lock->database, F_OFD_GETLK, &found) == 0 &&
                          found.l_type != F_UNLCK && found.l_start == LOCK_OFFSET;
    const long owner = is_found ? (long)found.l_len : 0;
    if (owner == (long)getpid()) {
        lock->database = -1;
    }
    return refuse(owner, path, error);
}

static dpot_status take_database(const char *path, const char *real, struct sqlite_lock *lock,
                                 struct dpot_error *error)
{
    struct flock range;
    lock->database = open(real, O_RDWR | O_CLOEXEC);
    if (lock->database < 0) {
        return dpot_error_set(error, DPOT_ERR_IO,
                              "store %s cannot be opened: %s; it must be a plain file that this "
                              "user can write",
                              path, strerror(errno));
    }
    if (set_database_lock(lock->database, F_OFD_SETLK, &range) == 0) {
        return DPOT_OK;
    }
    return errno == EAGAIN || errno == EACCES ? refuse_database(path, lock, error)
                                              : fail("taking", path, error);
}

dpot_status sqlite_lock_check_names(const char *path, struct dpot_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink <= 1) {
        return DPOT_OK; /* what else may be wrong is told by the one who opens it */
    }
    return dpot_error_set(error, DPOT_ERR_IO,
                          "store %s has %lu names (hard links), and reports in the log of one are "
                          "not in that of another: remove all but the one it was served by (find "
                          "them with find -samefile)",
                          path, (unsigned long)info.st_nlink);
}

dpot_status sqlite_lock_take(const char *path, struct sqlite_lock *lock, struct dpot_error *error)
{
    *lock = (struct sqlite_lock){.file = -1, .database = -1};
    char *real = find_database(path);
    if (!real) {
        return dpot_error_set(error, DPOT_ERR_IO,
                              "store %s cannot be opened: %s; check the folder and its permissions",
                              path, strerror(errno));
    }
    dpot_status status = take_file(path, real, lock, error);
    if (status == DPOT_OK) {
        status = take_database(path, real, lock, error);
    }
    if (status == DPOT_OK) {
        status = sqlite_lock_check_names(path, error);
    }
    if (status != DPOT_OK) {
        sqlite_lock_release(lock);
    }
    free(real);
    return status;
}

void sqlite_lock_release(struct sqlite_lock *lock)
{
    const int fds[] = {lock->database, lock->file};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
    *lock = (struct sqlite_lock){.file = -1, .database = -1};
}
