/* The owner of an SQLite store (T6) holds two locks. The kernel releases them when the process
 * ends, however it ends, so that none is stale after a crash.
 *
 *  - On the database itself: it holds under every name of the file, and when PATH-lock is removed.
 *  - On PATH-lock: it holds when another database takes the place of the owner's, whose write-ahead
 *    log it would read. PATH-lock is never removed: two processes could lock the old and a new one.
 *
 * Both are open file description locks. They start far behind every byte that SQLite locks, and
 * their length is the owner's process id, which a refused process reads from F_OFD_GETLK (the id
 * may differ in another container). Closing any descriptor of the database releases SQLite's own
 * record locks of this process: so ours is opened before SQLite's and closed after it.
 *
 * PATH-lock holds a line with the owner's process id. Once there has been a store it has a second
 * line, which distinguishes a missing store from one that was never created (a new, empty store
 * would count again every report that is sent again):
 *
 *     store DEVICE INODE    owned now, or by a process that ended without closing the store
 *     store holds N         closed with N reports: a store with fewer is an older copy
 *     store                 neither is known
 *
 * PATH is resolved to the real file, so that a symbolic link is the same store. A second hard link
 * is refused: SQLite finds the write-ahead log by the name, and reports in that of the other name
 * would be missing. */
#include "store/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_PATH_SIZE 4352
#define NOTE_SIZE 128
#define LOCK_OFFSET ((off_t)1 << 62) /* SQLite locks below 2^31 */

static const char store_word[] = "\nstore", holds_word[] = " holds ";

static dpot_status fail(const char *what, const char *path, struct dpot_error *error)
{
    return dpot_error_set(
        error, DPOT_ERR_IO,
        "%s the store's lock %s failed: %s; it must be a plain file that this user "
        "can write",
        what, path, strerror(errno));
}

/* The resolved path, which the caller frees; NULL with errno. A missing database is created empty,
 * because a dangling symbolic link has no such path. */
static char *find_database(const char *path, bool *is_created)
{
    char *real = realpath(path, NULL);
    *is_created = false;
    if (!real && errno == ENOENT) {
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd >= 0) {
            *is_created = true;
            (void)close(fd);
            real = realpath(path, NULL);
        }
    }
    return real;
}

/* ---- locks ---- */

static int set_lock(int fd, int command, struct flock *range)
{
    *range = (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_OFFSET, .l_len = (off_t)getpid()};
    int result = 0;
    do {
        result = fcntl(fd, command, range);
    } while (result != 0 && errno == EINTR);
    return result;
}

/* The process that holds the lock on a file; 0: none. */
static long find_owner(int fd)
{
    struct flock found;
    return set_lock(fd, F_OFD_GETLK, &found) == 0 && found.l_type != F_UNLCK ? (long)found.l_len
                                                                             : 0;
}

static dpot_status refuse(long owner, const char *path, struct dpot_error *error)
{
    char who[48] = "another process";
    if (owner > 0) {
        (void)snprintf(who, sizeof who, "process %ld", owner);
    }
    return dpot_error_set(error, DPOT_ERR_BUSY,
                          "store %s is served by %s: stop that one first, or choose another store",
                          path, who);
}

static dpot_status take(int fd, const char *path, const char *file, struct dpot_error *error)
{
    struct flock range;
    if (set_lock(fd, F_OFD_SETLK, &range) == 0) {
        return DPOT_OK;
    }
    return errno == EAGAIN || errno == EACCES ? refuse(find_owner(fd), path, error)
                                              : fail("taking", file, error);
}

/* ---- the content of PATH-lock ---- */

struct note {
    bool has_store;                   /* there has been one */
    unsigned long long device, inode; /* of the database of the owner; 0: not known */
    int64_t n_reports;                /* when the store was closed; 0: not known */
};

/* Any second line means that there has been a store, also "store closed N" and "damaged NAME" of
 * earlier versions. */
static struct note read_note(int fd)
{
    char text[NOTE_SIZE] = "";
    struct note note = {.has_store = false};
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    const char *line = n > 0 ? strchr(text, '\n') : NULL;
    note.has_store = line && line[1] != '\0';
    if (note.has_store && strncmp(line, store_word, sizeof store_word - 1) == 0) {
        const char *rest = line + sizeof store_word - 1;
        if (strncmp(rest, holds_word, sizeof holds_word - 1) == 0) {
            note.n_reports = strtoll(rest + sizeof holds_word - 1, NULL, 10);
        } else {
            char *end = NULL;
            note.device = strtoull(rest, &end, 10);
            note.inode = strtoull(end, NULL, 10);
        }
    }
    return note;
}

static bool write_note(int fd, const struct note *note)
{
    char text[NOTE_SIZE];
    int n = snprintf(text, sizeof text, "%ld%s", (long)getpid(), note->has_store ? store_word : "");
    if (note->inode != 0) {
        n += snprintf(text + n, sizeof text - (size_t)n, " %llu %llu", note->device, note->inode);
    } else if (note->n_reports > 0) {
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld", holds_word,
                      (long long)note->n_reports);
    }
    text[n++] = '\n';
    return pwrite(fd, text, (size_t)n, 0) == n && ftruncate(fd, n) == 0;
}

/* ---- taking both locks ---- */

/* The number of reports that the former owner wrote is kept until sqlite_lock_mark. */
static dpot_status take_file(const char *path, const char *real, struct sqlite_lock *lock,
                             struct note *note, struct dpot_error *error)
{
    char lock_path[LOCK_PATH_SIZE];
    const int n = snprintf(lock_path, sizeof lock_path, "%s-lock", real);
    if (n <= 0 || n >= LOCK_PATH_SIZE) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "the store's path is too long: %.80s...",
                              path);
    }
    lock->file = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (lock->file < 0) {
        return fail("opening", lock_path, error);
    }
    const dpot_status status = take(lock->file, path, lock_path, error);
    if (status == DPOT_OK) {
        *note = read_note(lock->file);
        note->device = note->inode = 0;
        (void)write_note(lock->file, note);
    }
    return status;
}

/* If this very process owns the database, closing our descriptor would release SQLite's record
 * locks: it stays open. */
static dpot_status take_database(const char *path, const char *real, struct sqlite_lock *lock,
                                 struct dpot_error *error)
{
    lock->database = open(real, O_RDWR | O_CLOEXEC);
    if (lock->database < 0) {
        return dpot_error_set(error, DPOT_ERR_IO,
                              "store %s cannot be opened: %s; it must be a plain file that this "
                              "user can write",
                              path, strerror(errno));
    }
    const dpot_status status = take(lock->database, path, path, error);
    if (status == DPOT_ERR_BUSY && find_owner(lock->database) == (long)getpid()) {
        lock->database = -1;
    }
    return status;
}

/* Refuses a symbolic link to a database that was moved without its log or lock. */
static dpot_status check_link(const char *path, struct dpot_error *error)
{
    static const char *const tails[] = {"-wal", "-lock"};
    char beside[LOCK_PATH_SIZE];
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISLNK(info.st_mode)) {
        return DPOT_OK;
    }
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        const int n = snprintf(beside, sizeof beside, "%s%s", path, tails[i]);
        if (n > 0 && n < LOCK_PATH_SIZE && lstat(beside, &info) == 0) {
            return dpot_error_set(
                error, DPOT_ERR_IO,
                "store %s is a symbolic link, and %s is beside the link: reports in a log are "
                "found "
                "beside the file itself alone; move what belongs to the store (-wal, -shm, -lock) "
                "to the file that the link names",
                path, beside);
        }
    }
    return DPOT_OK;
}

static dpot_status check_names(const char *path, struct dpot_error *error)
{
    struct stat info;
    const dpot_status status = check_link(path, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink <= 1) {
        return DPOT_OK; /* opening it reports what else is wrong */
    }
    return dpot_error_set(error, DPOT_ERR_IO,
                          "store %s has %lu names (hard links), and reports in the log of one are "
                          "not in that of another: remove all but the one it was served by (find "
                          "them with find -samefile)",
                          path, (unsigned long)info.st_nlink);
}

static dpot_status refuse_missing(const char *path, struct dpot_error *error)
{
    return dpot_error_set(
        error, DPOT_ERR_STATE,
        "store %s is missing or empty, and there was one: a new one would count again what was "
        "counted; put it back (also as %s.rescued-TIME), or a copy with dpotd restore, or, to "
        "begin "
        "anew, remove %s-lock",
        path, path, path);
}

static dpot_status take_all(const char *path, const char *real, bool needs_store,
                            struct sqlite_lock *lock, struct dpot_error *error)
{
    struct stat info;
    struct note note;
    dpot_status status = take_file(path, real, lock, &note, error);
    if (status == DPOT_OK) {
        status = take_database(path, real, lock, error);
    }
    if (status == DPOT_OK) {
        status = sqlite_store_undo_replace(real, error);
    }
    if (status == DPOT_OK) {
        status = check_names(path, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    lock->n_closed = note.n_reports;
    const bool is_empty = fstat(lock->database, &info) == 0 && info.st_size == 0;
    return needs_store && note.has_store && is_empty ? refuse_missing(path, error) : DPOT_OK;
}

dpot_status sqlite_lock_take(const char *path, bool needs_store, struct sqlite_lock *lock,
                             struct dpot_error *error)
{
    bool is_created = false;
    *lock = (struct sqlite_lock){.file = -1, .database = -1};
    char *real = find_database(path, &is_created);
    if (!real) {
        return dpot_error_set(error, DPOT_ERR_IO,
                              "store %s cannot be opened: %s; check the folder and its permissions",
                              path, strerror(errno));
    }
    const dpot_status status = take_all(path, real, needs_store, lock, error);
    if (status != DPOT_OK) {
        if (is_created) {
            (void)unlink(real);
        }
        sqlite_lock_release(lock);
    }
    free(real);
    return status;
}

/* ---- writing PATH-lock ---- */

dpot_status sqlite_lock_mark(const char *path, struct sqlite_lock *lock, struct dpot_error *error)
{
    struct stat info;
    if (fstat(lock->database, &info) != 0) {
        return fail("marking", path, error);
    }
    const struct note note = {.has_store = true,
                              .device = (unsigned long long)info.st_dev,
                              .inode = (unsigned long long)info.st_ino};
    lock->is_marked = true; /* also when only a part is written */
    return write_note(lock->file, &note) && fsync(lock->file) == 0 ? DPOT_OK
                                                                   : fail("writing", path, error);
}

dpot_status sqlite_lock_mark_closed(const char *path, const struct sqlite_lock *lock,
                                    int64_t n_reports, struct dpot_error *error)
{
    const struct note note = {.has_store = true, .n_reports = n_reports};
    return write_note(lock->file, &note) && fsync(lock->file) == 0 ? DPOT_OK
                                                                   : fail("writing", path, error);
}

bool sqlite_lock_is_nameless(const struct sqlite_lock *lock)
{
    struct stat info;
    return lock->database >= 0 && fstat(lock->database, &info) == 0 && info.st_nlink == 0;
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

/* ---- checking without a lock ---- */

/* An empty note if PATH-lock is missing or not readable. *owner: the process that holds it. */
static dpot_status find_note(const char *real, struct note *note, long *owner,
                             struct dpot_error *error)
{
    char lock_path[LOCK_PATH_SIZE];
    *note = (struct note){.has_store = false};
    *owner = 0;
    const int n = snprintf(lock_path, sizeof lock_path, "%s-lock", real);
    const int fd = n > 0 && n < LOCK_PATH_SIZE
                       ? open(lock_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
                       : -1;
    if (fd >= 0) {
        *note = read_note(fd);
        *owner = find_owner(fd);
        (void)close(fd);
    }
    return fd < 0 && errno == ELOOP ? fail("opening", lock_path, error) : DPOT_OK;
}

static dpot_status check_store(const char *path, const char *real, int64_t *n_closed,
                               struct dpot_error *error)
{
    struct note note;
    struct stat info;
    long owner = 0;
    const dpot_status status = find_note(real, &note, &owner, error);
    *n_closed = note.n_reports;
    if (status != DPOT_OK) {
        return status;
    }
    const bool is_there = stat(path, &info) == 0;
    if (note.has_store && (is_there ? info.st_size == 0 : errno == ENOENT)) {
        return refuse_missing(path, error);
    }
    if (is_there && owner > 0 && note.inode != 0 &&
        (note.inode != (unsigned long long)info.st_ino ||
         note.device != (unsigned long long)info.st_dev)) {
        return dpot_error_set(error, DPOT_ERR_STATE,
                              "store %s is not the file that process %ld serves: it was replaced; "
                              "put that one back, or stop the process (SIGTERM) before anything "
                              "else",
                              path, owner);
    }
    return check_names(path, error);
}

/* Taking the lock for a moment could refuse a process that starts now. */
dpot_status sqlite_lock_check(const char *path, int64_t *n_closed, struct dpot_error *error)
{
    char *real = realpath(path, NULL);
    const dpot_status status = check_store(path, real ? real : path, n_closed, error);
    free(real);
    return status;
}
