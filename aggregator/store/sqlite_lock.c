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
 *    number too, and a second line from the time when there is a store: "store DEVICE INODE" while it
 *    is owned, "store holds N" when it was closed with N reports: one that has less is an older copy.
 *    ("store closed N", of before version 5 of the schema: with N commits; "store" alone: not known.) By that a store that is missing is told from one that was
 *    never there: a new, empty one would know no report, and count every one that is sent again.
 *    "store DEVICE INODE" of a process that is gone: it crashed, and its log has to be there as it left
 *    it (sqlite_crash.c); with " taken" behind it: of one that is gone, and the next has begun to look at what
 *    it left. Who only looks asks whether the owner is there by a second lock on this file, which can be asked
 *    for without taking it; process numbers are others in another container, and are used again. "damaged NAME" in that line's place: what was acknowledged is not all in the database, because it
 *    was damaged while it was owned, and the file NAME beside it holds what could be saved ("-": none).
 *    Nobody opens it until one that was saved is in its place.
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
#define NOTE_SIZE 512
#define LOCK_OFFSET ((off_t)1 << 62) /* SQLite locks below 2^31 */

static const char store_word[] = "\nstore", closed_word[] = " closed ", holds_word[] = " holds ",
                  damaged_word[] = "\ndamaged ";

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
static char *find_database(const char *path, bool *is_made)
{
    char *real = realpath(path, NULL);
    *is_made = false;
    if (!real && errno == ENOENT) {
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd >= 0) {
            *is_made = true;
            (void)close(fd);
            real = realpath(path, NULL);
        }
    }
    return real;
}

/* What the file beside the database says. */
struct note {
    long owner;     /* 0: it is not known */
    bool has_store; /* there was one */
    bool is_owned;  /* by its last owner's leave: it did not close it */
    bool is_taken;  /* likewise, and by another one who has not marked it as his own yet */
    bool is_alive;  /* somebody holds the lock */
    unsigned long long device, number;
    int64_t n_reports;                 /* when it was closed; 0: not known; below: -commits */
    char rescued[SQLITE_RESCUED_SIZE]; /* not empty: it was damaged */
};

/* A lock of this file's description, which is known to those who look at another one. */
static int set_file_lock(int fd, int command, struct flock *range)
{
    *range = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int result = 0;
    do {
        result = fcntl(fd, command, range);
    } while (result != 0 && errno == EINTR);
    return result;
}

static bool is_locked(int fd)
{
    struct flock found;
    return set_file_lock(fd, F_OFD_GETLK, &found) == 0 && found.l_type != F_UNLCK;
}

static struct note read_note(int fd)
{
    static const char taken[] = " taken";
    char text[NOTE_SIZE] = "";
    struct note note = {.is_alive = is_locked(fd)};
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    char *end = text;
    note.owner = n > 0 ? strtol(text, &end, 10) : 0;
    note.owner = note.owner > 0 ? note.owner : 0;
    if (strncmp(end, damaged_word, sizeof damaged_word - 1) == 0) {
        const char *name = end + sizeof damaged_word - 1;
        const size_t len = strcspn(name, "\n");
        (void)snprintf(note.rescued, sizeof note.rescued, "%.*s", (int)len, name);
        note.has_store = true;
        return note;
    }
    note.has_store = strncmp(end, store_word, sizeof store_word - 1) == 0;
    const char *rest = end + (note.has_store ? sizeof store_word - 1 : 0);
    if (note.has_store && strncmp(rest, closed_word, sizeof closed_word - 1) == 0) {
        note.n_reports = -strtoll(rest + sizeof closed_word - 1, NULL, 10);
    } else if (note.has_store && strncmp(rest, holds_word, sizeof holds_word - 1) == 0) {
        note.n_reports = strtoll(rest + sizeof holds_word - 1, NULL, 10);
    } else if (note.has_store) {
        note.device = strtoull(rest, &end, 10);
        note.number = strtoull(end, &end, 10);
        note.is_owned = note.number != 0;
        note.is_taken = strncmp(end, taken, sizeof taken - 1) == 0;
    }
    return note;
}

/* For the sentence of the next one; a lock without it is as good. */
static bool write_note(int fd, const struct note *note)
{
    char text[NOTE_SIZE];
    const bool is_damaged = note->rescued[0] != '\0';
    int n = snprintf(text, sizeof text, "%ld%s%s", note->owner,
                     is_damaged        ? damaged_word
                     : note->has_store ? store_word
                                       : "",
                     note->rescued);
    if (note->is_owned && !is_damaged) {
        n += snprintf(text + n, sizeof text - (size_t)n, " %llu %llu%s", note->device, note->number,
                      note->is_taken ? " taken" : "");
    } else if (note->n_reports != 0 && !is_damaged) {
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld",
                      note->n_reports > 0 ? holds_word : closed_word, llabs(note->n_reports));
    }
    text[n++] = '\n';
    return pwrite(fd, text, (size_t)n, 0) == n && ftruncate(fd, n) == 0;
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

/* ---- the file beside the database ---- */

static dpot_status lock_file(int fd, const char *path, const char *lock_path,
                             struct dpot_error *error)
{
    int result = 0;
    do {
        result = flock(fd, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result == 0) {
        struct flock range;
        struct note note = read_note(fd);
        note.owner = (long)getpid();
        note.is_taken = note.is_owned;
        (void)write_note(fd, &note);
        (void)set_file_lock(fd, F_OFD_SETLK,
                            &range); /* without it others take this process for gone */
        return DPOT_OK;
    }
    return errno == EWOULDBLOCK ? refuse(read_note(fd).owner, path, error)
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
    if (lock->file < 0) {
        return fail("opening", lock_path, error);
    }
    const dpot_status status = lock_file(lock->file, path, lock_path, error);
    lock->is_held = status == DPOT_OK;
    return status;
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

/* A symbolic link in the place of a database that was served under this name. */
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
        return DPOT_OK; /* what else may be wrong is told by the one who opens it */
    }
    return dpot_error_set(error, DPOT_ERR_IO,
                          "store %s has %lu names (hard links), and reports in the log of one are "
                          "not in that of another: remove all but the one it was served by (find "
                          "them with find -samefile)",
                          path, (unsigned long)info.st_nlink);
}

/* ---- taking and leaving ---- */

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

static dpot_status refuse_damaged(const char *path, const struct note *note,
                                  struct dpot_error *error)
{
    const bool is_saved = strcmp(note->rescued, "-") != 0;
    return dpot_error_set(
        error, DPOT_ERR_STATE,
        "store %s was damaged while it was served, and lacks reports that were acknowledged: %s%s "
        "with dpotd restore --from, or, to go on with what is left, remove %s-lock (reports that "
        "it lacks are then counted again when they are sent again)",
        path,
        is_saved ? "put back what was saved, the file beside it named "
                 : "stop its server with SIGTERM, which saves what it can, or put back a backup",
        is_saved ? note->rescued : "", path);
}

static dpot_status take_all(const char *path, const char *real, bool needs_store,
                            struct sqlite_lock *lock, struct dpot_error *error)
{
    struct stat info;
    dpot_status status = take_file(path, real, lock, error);
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
    const struct note note = read_note(lock->file);
    lock->is_damaged = note.rescued[0] != '\0';
    lock->n_closed = note.n_reports;
    if (needs_store && lock->is_damaged) {
        return refuse_damaged(path, &note, error);
    }
    if (!needs_store || !note.has_store || fstat(lock->database, &info) != 0) {
        return DPOT_OK;
    }
    if (info.st_size == 0) {
        return refuse_missing(path, error);
    }
    return note.is_owned ? sqlite_crash_check(real, error) : DPOT_OK;
}

dpot_status sqlite_lock_take(const char *path, bool needs_store, struct sqlite_lock *lock,
                             struct dpot_error *error)
{
    bool is_made = false;
    *lock = (struct sqlite_lock){.file = -1, .database = -1};
    char *real = find_database(path, &is_made);
    if (!real) {
        return dpot_error_set(error, DPOT_ERR_IO,
                              "store %s cannot be opened: %s; check the folder and its permissions",
                              path, strerror(errno));
    }
    const dpot_status status = take_all(path, real, needs_store, lock, error);
    if (status != DPOT_OK) {
        if (is_made) {
            (void)unlink(real);
        }
        sqlite_lock_release(lock);
    }
    free(real);
    return status;
}

dpot_status sqlite_lock_mark(const char *path, struct sqlite_lock *lock, struct dpot_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return fail("marking", path, error);
    }
    const struct note note = {.owner = (long)getpid(),
                              .has_store = true,
                              .is_owned = true,
                              .device = (unsigned long long)info.st_dev,
                              .number = (unsigned long long)info.st_ino};
    lock->is_marked = true; /* or partly so */
    return write_note(lock->file, &note) && fsync(lock->file) == 0 ? DPOT_OK
                                                                   : fail("writing", path, error);
}

dpot_status sqlite_lock_mark_damage(const char *rescued, const struct sqlite_lock *lock,
                                    struct dpot_error *error)
{
    const char *slash = strrchr(rescued, '/');
    struct note note = {.owner = (long)getpid(), .has_store = true};
    (void)snprintf(note.rescued, sizeof note.rescued, "%s", slash ? slash + 1 : rescued);
    return write_note(lock->file, &note) && fsync(lock->file) == 0 ? DPOT_OK
                                                                   : fail("writing", "file", error);
}

bool sqlite_lock_is_nameless(const struct sqlite_lock *lock)
{
    struct stat info;
    return lock->database >= 0 && fstat(lock->database, &info) == 0 && info.st_nlink == 0;
}

/* What the file beside the database says; nothing, when there is none, or it may not be read. */
static dpot_status find_note(const char *real, struct note *note, struct dpot_error *error)
{
    char lock_path[LOCK_PATH_SIZE];
    *note = (struct note){.owner = 0};
    const int n = snprintf(lock_path, sizeof lock_path, "%s-lock", real);
    const int fd = n > 0 && n < LOCK_PATH_SIZE
                       ? open(lock_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
                       : -1;
    if (fd >= 0) {
        *note = read_note(fd);
        (void)close(fd);
    }
    return fd < 0 && errno == ELOOP ? fail("opening", lock_path, error) : DPOT_OK;
}

/* Of a store that is there. */
static dpot_status look_at_owner(const char *path, const char *real, const struct note *note,
                                 const struct stat *info, struct dpot_error *error)
{
    if (!note->is_alive || note->is_taken) {
        return sqlite_crash_check(real, error);
    }
    return note->number == (unsigned long long)info->st_ino &&
                   note->device == (unsigned long long)info->st_dev
               ? DPOT_OK
               : dpot_error_set(
                     error, DPOT_ERR_STATE,
                     "store %s is not the file that process %ld serves: it was replaced; put "
                     "that one back, or stop the process (SIGTERM) before anything else",
                     path, note->owner);
}

static dpot_status look(const char *path, const char *real, int64_t *n_closed,
                        struct dpot_error *error)
{
    struct note note;
    struct stat info;
    dpot_status status = find_note(real, &note, error);
    *n_closed = note.n_reports;
    const bool is_there = stat(path, &info) == 0;
    if (status != DPOT_OK) {
        return status;
    }
    if (note.rescued[0] != '\0') {
        status = refuse_damaged(path, &note, error);
    } else if (note.has_store &&
               ((!is_there && errno == ENOENT) || (is_there && info.st_size == 0))) {
        status = refuse_missing(path, error);
    } else if (is_there && note.is_owned) {
        status = look_at_owner(path, real, &note, &info, error);
    }
    return status == DPOT_OK ? check_names(path, error) : status;
}

/* The lock itself is not tried: that could turn away one who takes it at that moment. */
dpot_status sqlite_lock_look(const char *path, int64_t *n_closed, struct dpot_error *error)
{
    char *real = realpath(path, NULL);
    const dpot_status status = look(path, real ? real : path, n_closed, error);
    free(real);
    return status;
}

dpot_status sqlite_lock_mark_closed(const char *path, const struct sqlite_lock *lock,
                                    int64_t n_reports, struct dpot_error *error)
{
    const struct note note = {.owner = (long)getpid(), .has_store = true, .n_reports = n_reports};
    return write_note(lock->file, &note) && fsync(lock->file) == 0 ? DPOT_OK
                                                                   : fail("writing", path, error);
}

/* Who was refused before he had the store leaves word of who had it before. */
static void leave_note(const struct sqlite_lock *lock)
{
    struct note note = read_note(lock->file);
    if (note.is_owned && note.owner == (long)getpid()) {
        note.is_owned = !lock->is_marked;
        note.is_taken = false;
        note.owner = lock->is_marked ? note.owner : 0;
        (void)(write_note(lock->file, &note) && fsync(lock->file) == 0);
    }
}

void sqlite_lock_release(struct sqlite_lock *lock)
{
    if (lock->is_held) {
        leave_note(lock);
    }
    const int fds[] = {lock->database, lock->file};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
    *lock = (struct sqlite_lock){.file = -1, .database = -1};
}
