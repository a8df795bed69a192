/* Checks that the files of an open database still have their names.
 *
 * SQLite keeps its files open and does not notice when one is removed, renamed or replaced: commits
 * then go into a file that the next server does not find. So device and inode of each name are
 * compared with those at opening, before a transaction begins and again after its commit, before it
 * is acknowledged. Damage inside the files is found when it is read, by SQLite and by the checksums
 * of blocks (store/commit_sum.h). */
#include "store/sqlite_connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_SIZE 4400

static const char *const tails[DATABASE_FILES] = {"", "-wal", "-shm"};

/* lstat: a symbolic link in the place of a file is another file. */
static bool stat_file(const struct database *database, size_t i, struct stat *info)
{
    char path[PATH_SIZE];
    const int n = snprintf(path, sizeof path, "%s%s", database_path(database), tails[i]);
    errno = ENAMETOOLONG;
    return n > 0 && (size_t)n < sizeof path && lstat(path, info) == 0;
}

dpot_status connection_note_files(struct database *database, struct dpot_error *error)
{
    char journal[16] = "";
    int64_t ignored = 0;
    const dpot_status status =
        database_ask(database, "PRAGMA journal_mode", &ignored, journal, sizeof journal, error);
    if (status != DPOT_OK || database_path(database)[0] == '\0') {
        return status;
    }
    const size_t n_files = strcmp(journal, "wal") == 0 ? DATABASE_FILES : 1;
    for (size_t i = 0; i < n_files; i++) {
        struct stat info;
        if (!stat_file(database, i, &info)) {
            return dpot_error_set(error, DPOT_ERR_IO, "opening %s%s failed: %s",
                                  database_path(database), tails[i], strerror(errno));
        }
        database->files[i] = (struct database_file){info.st_dev, info.st_ino};
    }
    database->n_files = n_files;
    return DPOT_OK;
}

/* What happened to file `i`; NULL: nothing. */
static const char *find_loss(const struct database *database, size_t i)
{
    struct stat info;
    if (!stat_file(database, i, &info)) {
        return errno == ENOENT || errno == ENOTDIR ? "was removed or renamed" : "cannot be reached";
    }
    return info.st_dev == database->files[i].device && info.st_ino == database->files[i].inode
               ? NULL
               : "was replaced by another file";
}

bool connection_is_moved(const struct database *database)
{
    return database->n_files > 0 && find_loss(database, 0);
}

/* Without the folder: devices receive this sentence. */
static dpot_status refuse(const struct database *database, size_t i, const char *loss,
                          struct dpot_error *error)
{
    const char *slash = strrchr(database_path(database), '/');
    const char *name = slash ? slash + 1 : database_path(database);
    if (i == 0) {
        return dpot_error_set(error, DPOT_ERR_IO,
                              "the store %s %s while it was in use: nothing more is taken; put the "
                              "file back under its name, or, when it was removed, stop dpotd with "
                              "SIGTERM (not SIGKILL), which saves it as %s.rescued-TIME, and "
                              "restore that",
                              name, loss, name);
    }
    return dpot_error_set(error, DPOT_ERR_IO,
                          "the store's file %s%s %s while it was in use: nothing more is taken, "
                          "and nothing is lost; stop dpotd with SIGTERM (not SIGKILL), so that it "
                          "puts what it has into %s, and start it again",
                          name, tails[i], loss, name);
}

/* The log is copied into the database at once: after a crash it would not be found. */
static void save_log(struct database *database)
{
    if (sqlite3_get_autocommit(database->db)) {
        (void)sqlite3_wal_checkpoint_v2(database->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL,
                                        NULL);
    }
}

dpot_status database_check_files(struct database *database, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    struct dpot_error own = {{0}};
    for (size_t i = 0; i < database->n_files && status == DPOT_OK; i++) {
        const char *loss = find_loss(database, i);
        if (loss) {
            status = refuse(database, i, loss, &own);
        }
    }
    if (status != DPOT_OK) {
        save_log(database);
        (void)dpot_error_set(error, status, "%s", own.text);
    }
    if ((status != DPOT_OK) != database->is_reported && database->watch) {
        database->watch(database->watch_ctx, status, own.text);
    }
    database->is_reported = status != DPOT_OK;
    return status;
}

void database_set_watch(struct database *database, database_watch watch, void *ctx)
{
    database->watch = watch;
    database->watch_ctx = ctx;
}
