/* Copying a store, and replacing it by a copy.
 *
 * SQLite makes the copy, in one read transaction: a copy of the file alone would miss what is in
 * the write-ahead log.
 *
 * A store that is replaced must not leave a log, which the new store would read as its own. So it
 * is opened and closed, which copies the log into it; the log of a store that cannot be opened is
 * kept with it. The former store gets its second name (a hard link) before the new one takes the
 * first by rename: after a crash in between, the next owner removes the second name
 * (sqlite_store_undo_replace). */
#include "files/temporary.h"
#include "store/sqlite_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_SIZE 4400

static dpot_status fail(const char *what, const char *path, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_IO, "%s %s failed: %s; check the folder and its disk",
                          what, path, strerror(errno));
}

static dpot_status join(char out[PATH_SIZE], const char *path, const char *tail,
                        struct dpot_error *error)
{
    const int n = snprintf(out, PATH_SIZE, "%s%s", path, tail);
    return n > 0 && n < PATH_SIZE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "the path is too long: %.80s...", path);
}

static dpot_status sync_path(const char *path, int flags, struct dpot_error *error)
{
    const int fd = open(path, flags | O_CLOEXEC);
    const bool is_synced = fd >= 0 && fsync(fd) == 0;
    const dpot_status status = is_synced ? DPOT_OK : fail("syncing", path, error);
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

static dpot_status sync_folder_of(const char *path, struct dpot_error *error)
{
    char folder[PATH_SIZE];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                   slash ? path : ".");
    return sync_path(folder, O_RDONLY | O_DIRECTORY, error);
}

/* ---- copying ---- */

static dpot_status refuse_existing(const char *path, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_EXISTS,
                          "%s exists already and is not overwritten: choose another name", path);
}

static dpot_status copy_into(struct database *database, const char *path, struct dpot_error *error)
{
    database_lock(database);
    struct query q = query_start(database, STATEMENT_BACKUP, "VACUUM INTO ?1");
    query_bind_text(q, 1, path);
    const dpot_status status = query_run(q) ? DPOT_OK : database_fail(database, "copying", error);
    database_unlock(database);
    return status;
}

/* link() gives the synced copy its name, and never overwrites a file. */
static dpot_status name_copy(const char *partial, const char *path, struct dpot_error *error)
{
    dpot_status status = sync_path(partial, O_RDWR, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (link(partial, path) != 0) {
        return errno == EEXIST ? refuse_existing(path, error) : fail("naming", path, error);
    }
    (void)unlink(partial);
    return sync_folder_of(path, error);
}

/* "PATH.WHAT-TIME[-N]": the first that is not in use. */
static dpot_status name_beside(const char *path, const char *what, char *name, size_t cap,
                               struct dpot_error *error)
{
    char stamp[32] = "", number[16] = "";
    const time_t now = time(NULL);
    struct tm utc;
    struct stat info;
    int n = 0;
    if (gmtime_r(&now, &utc)) {
        (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
    }
    for (int i = 2; n == 0 || ((size_t)n < cap && i < 100 && lstat(name, &info) == 0); i++) {
        n = snprintf(name, cap, "%s.%s-%s%s", path, what, stamp, number);
        (void)snprintf(number, sizeof number, "-%d", i);
    }
    return n > 0 && (size_t)n < cap
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "the path is too long: %.80s...", path);
}

/* Removes an unfinished copy, with the log of a connection that checked it. */
static void remove_partial(const char *partial)
{
    static const char *const tails[] = {"", "-journal", "-wal", "-shm"};
    char name[PATH_SIZE];
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        if (join(name, partial, tails[i], NULL) == DPOT_OK) {
            (void)unlink(name);
        }
    }
}

/* A copy has its pages in the order of keys; merged, it does not show common commits either. */
static dpot_status merge_copy(const char *path, struct dpot_error *error)
{
    struct database *copy = NULL;
    dpot_status status = database_open_existing(path, &copy, error);
    if (status == DPOT_OK) {
        status = sqlite_store_merge_all(copy, error);
    }
    database_close(copy);
    return status;
}

/* `validator` may be NULL. */
static dpot_status fill(struct database *database, const char *partial, bool merges,
                        const struct store_validator *validator, struct dpot_error *error)
{
    dpot_status status = copy_into(database, partial, error);
    dpot_status merged = DPOT_OK;
    if (status == DPOT_OK && merges) {
        merged = merge_copy(partial, error);
    }
    if (status == DPOT_OK && validator) { /* also if merging failed: it says best why */
        status = validator->validate(validator->ctx, partial, error);
    }
    return status == DPOT_OK ? merged : status;
}

/* What killed copies left in the folder goes first: they are as large as the store. */
static void sweep_folder_of(const char *path)
{
    char folder[PATH_SIZE];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                   slash ? path : ".");
    temporary_sweep(folder);
}

/* SQLite copies into an empty file of ours. */
static dpot_status copy_to(struct database *database, const char *path, bool merges,
                           const struct store_validator *validator, struct dpot_error *error)
{
    struct temporary temporary;
    if (access(path, F_OK) == 0) {
        return refuse_existing(path, error);
    }
    sweep_folder_of(path);
    if (!temporary_open(path, 0644, &temporary)) {
        return fail("creating", path, error);
    }
    dpot_status status = fill(database, temporary.path, merges, validator, error);
    if (status == DPOT_OK) {
        status = name_copy(temporary.path, path, error);
    }
    remove_partial(temporary.path);
    (void)temporary_close(&temporary);
    return status;
}

static bool is_current(const struct database *database)
{
    const int64_t found = database_found_version(database);
    return found == 0 || found >= (int64_t)store_sqlite_n_migrations;
}

dpot_status sqlite_store_backup(struct store *store, const char *path,
                                const struct store_validator *validator, struct dpot_error *error)
{
    struct database *reader = ((struct sqlite_store *)store)->reader;
    return copy_to(reader, path, is_current(reader), validator, error);
}

/* Not merged: it is made in an emergency or before a migration. */
dpot_status sqlite_store_save(struct store *store, const char *what,
                              const struct store_validator *validator, char *name, size_t cap,
                              struct dpot_error *error)
{
    struct database *reader = ((struct sqlite_store *)store)->reader;
    const dpot_status status = name_beside(database_path(reader), what, name, cap, error);
    return status == DPOT_OK ? copy_to(reader, name, false, validator, error) : status;
}

/* ---- the former store ---- */

static bool has_content(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && info.st_size > 0;
}

/* Copies the log of the former store into it. *is_damaged: the store cannot be opened. */
static dpot_status empty_log(const char *real, bool *is_damaged, struct dpot_error *error)
{
    char log[PATH_SIZE];
    struct database *database = NULL;
    struct dpot_error ignored = {{0}};
    const dpot_status status = join(log, real, "-wal", error);
    if (status != DPOT_OK) {
        return status;
    }
    *is_damaged = database_open_old(real, &database, &ignored) != DPOT_OK;
    database_close(database);
    return !*is_damaged && has_content(log)
               ? dpot_error_set(error, DPOT_ERR_BUSY,
                                "another program has the store %s open (doctor, backup?): wait "
                                "until it has ended",
                                real)
               : DPOT_OK;
}

/* Renames log and index of `from` to those of `to`, and replaces existing ones if told so. */
static dpot_status move_log(const char *from, const char *to, bool replaces,
                            struct dpot_error *error)
{
    static const char *const tails[] = {"-wal", "-shm"};
    dpot_status status = DPOT_OK;
    for (size_t i = 0; i < sizeof tails / sizeof tails[0] && status == DPOT_OK; i++) {
        char old[PATH_SIZE], new[PATH_SIZE];
        status = join(old, from, tails[i], error);
        if (status == DPOT_OK) {
            status = join(new, to, tails[i], error);
        }
        if (status == DPOT_OK && (replaces || access(new, F_OK) != 0) && rename(old, new) != 0 &&
            errno != ENOENT) {
            status = fail("keeping", old, error);
        }
    }
    return status;
}

static const char replaced[] = "replaced";

/* Gives the former store its second name. */
static dpot_status link_former(const char *real, char *kept, size_t cap, bool is_damaged,
                               struct dpot_error *error)
{
    dpot_status status = name_beside(real, replaced, kept, cap, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (link(real, kept) != 0) {
        return errno == EEXIST ? refuse_existing(kept, error) : fail("keeping", real, error);
    }
    status = sync_folder_of(real, error);
    return status == DPOT_OK && is_damaged ? move_log(real, kept, true, error) : status;
}

/* ---- after an interrupted replacement ---- */

/* Finds the second name of `real` that link_former gave it; false: there is none. */
static bool find_former(const char *real, const struct stat *own, char kept[PATH_SIZE])
{
    char folder[PATH_SIZE];
    const char *slash = strrchr(real, '/');
    const char *name = slash ? slash + 1 : real;
    const size_t name_len = strlen(name);
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - real) + 1 : 1,
                   slash ? real : ".");
    DIR *dir = opendir(folder);
    bool is_found = false;
    for (const struct dirent *entry = dir ? readdir(dir) : NULL; entry && !is_found;
         entry = readdir(dir)) {
        struct stat info;
        const char *tail = entry->d_name + name_len;
        if (strncmp(entry->d_name, name, name_len) != 0 || tail[0] != '.' ||
            strncmp(tail + 1, replaced, sizeof replaced - 1) != 0) {
            continue;
        }
        const int n = snprintf(kept, PATH_SIZE, "%s/%s", folder, entry->d_name);
        is_found = n > 0 && n < PATH_SIZE && lstat(kept, &info) == 0 &&
                   info.st_dev == own->st_dev && info.st_ino == own->st_ino;
    }
    if (dir) {
        (void)closedir(dir);
    }
    return is_found;
}

dpot_status sqlite_store_undo_replace(const char *real, struct dpot_error *error)
{
    char kept[PATH_SIZE];
    struct stat own;
    if (stat(real, &own) != 0 || own.st_nlink != 2 || !find_former(real, &own, kept)) {
        return DPOT_OK;
    }
    dpot_status status = move_log(kept, real, false, error); /* the name that stays */
    if (status == DPOT_OK) {
        status = sync_folder_of(real, error);
    }
    if (status == DPOT_OK && unlink(kept) != 0) {
        status = fail("removing", kept, error);
    }
    return status == DPOT_OK ? sync_folder_of(real, error) : status;
}

/* ---- replacing ---- */

/* Renames a log without a database: the new store would read it as its own. */
static dpot_status put_log_aside(const char *real, struct dpot_error *error)
{
    char log[PATH_SIZE], name[PATH_SIZE];
    dpot_status status = join(log, real, "-wal", error);
    if (status == DPOT_OK && has_content(log)) {
        status = name_beside(real, replaced, name, sizeof name, error);
        status = status == DPOT_OK ? move_log(real, name, true, error) : status;
    }
    return status;
}

static dpot_status replace_locked(const char *real, const char *from, char *kept, size_t cap,
                                  struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    bool is_damaged = false;
    kept[0] = '\0';
    if (!has_content(real)) {
        status = put_log_aside(real, error);
    } else {
        status = empty_log(real, &is_damaged, error);
        if (status == DPOT_OK) {
            status = link_former(real, kept, cap, is_damaged, error);
        }
    }
    if (status == DPOT_OK && rename(from, real) != 0) {
        status = fail("replacing", real, error);
        if (kept[0] != '\0' && !is_damaged) {
            (void)unlink(kept);
        }
    }
    return status == DPOT_OK ? sync_folder_of(real, error) : status;
}

dpot_status sqlite_store_replace(const char *path, const char *from, char *kept, size_t cap,
                                 struct dpot_error *error)
{
    struct sqlite_lock lock;
    if (strcmp(path, ":memory:") == 0) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "the store is in memory: there is nothing to replace");
    }
    dpot_status status = sqlite_lock_take(path, false, &lock, error);
    if (status != DPOT_OK) {
        return status;
    }
    char *real = realpath(path, NULL);
    status = real ? replace_locked(real, from, kept, cap, error) : fail("finding", path, error);
    free(real);
    if (status == DPOT_OK) {
        status = sqlite_lock_mark_closed(path, &lock, 0, error);
    }
    sqlite_lock_release(&lock);
    return status;
}
