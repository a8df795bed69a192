/* Opening, closing and checking the embedded store. */
#include "store/sqlite_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sqlite_store *sqlite_store_lock(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    database_lock(s->database);
    return s;
}

void sqlite_store_unlock(struct sqlite_store *s)
{
    database_unlock(s->database);
}

struct database *sqlite_store_lock_reader(struct store *store)
{
    struct database *reader = ((struct sqlite_store *)store)->reader;
    database_lock(reader);
    return reader;
}

void sqlite_store_unlock_reader(struct database *reader)
{
    database_unlock(reader);
}

dpot_status sqlite_store_fail_corrupt(const char *what, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_CORRUPT,
                          "%s in the store is not what was written: restore the file from a backup",
                          what);
}

bool sqlite_store_read_bytes(struct query query, int column, uint8_t *out, size_t len)
{
    size_t found_len = 0;
    const uint8_t *data = query_bytes(query, column, &found_len);
    if (!data || found_len != len) {
        return false;
    }
    memcpy(out, data, len);
    return true;
}

const char sqlite_count_reports[] = "SELECT ifnull(sum(n_reports), 0) FROM round";

/* A file that was removed or replaced while it was owned exists as long as it is open. */
static void save_nameless(struct sqlite_store *s)
{
    char copy[STORE_PATH_SIZE];
    struct dpot_error error = {{0}};
    if (!s->reader || !sqlite_lock_is_nameless(&s->lock)) {
        return;
    }
    if (sqlite_store_save(&s->base, "rescued", NULL, copy, sizeof copy, &error) == DPOT_OK) {
        (void)dpot_error_set(&error, DPOT_ERR_STATE,
                             "everything the store held is in %s now: put it back with dpotd "
                             "restore --from",
                             copy);
    } else {
        (void)dpot_error_prefix(&error, DPOT_ERR_STATE,
                                "saving the store that was removed failed, restore a backup");
    }
    if (s->watch) {
        s->watch(s->watch_ctx, DPOT_ERR_STATE, error.text);
    }
}

/* On failure the next owner does not know the number of reports. */
static void mark_closed(struct sqlite_store *s)
{
    int64_t n_reports = 0;
    if (s->lock.is_marked && database_check_files(s->database, NULL) == DPOT_OK &&
        database_ask(s->database, sqlite_count_reports, &n_reports, NULL, 0, NULL) == DPOT_OK) {
        (void)!sqlite_lock_mark_closed(database_path(s->database), &s->lock, n_reports, NULL);
    }
}

static void close_store(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    save_nameless(s);
    if (s->database) {
        mark_closed(s);
    }
    if (s->reader != s->database) {
        database_close(s->reader);
    }
    database_close(s->database);
    sqlite_lock_release(&s->lock); /* after the last write */
    id_cache_release(&s->ids);
    sqlite_store_forget_damage(s);
    (void)pthread_mutex_destroy(&s->notes_mutex);
    dpot_free_array(NULL, s, 1, sizeof *s);
}

/* Refuses an older copy that was put back by hand: later reports would be counted again. */
static dpot_status check_age(struct database *database, const char *path, int64_t n_closed,
                             struct dpot_error *error)
{
    int64_t n = 0;
    const dpot_status status = database_ask(database, sqlite_count_reports, &n, NULL, 0, error);
    return status != DPOT_OK || n >= n_closed
               ? status
               : dpot_error_set(
                     error, DPOT_ERR_STATE,
                     "store %s holds %lld reports and was closed with %lld: it is an older copy, "
                     "and what came later would be counted again when it is sent again; put the "
                     "newer file back, or the copy with dpotd restore, or, to go on with it all "
                     "the same, remove %s-lock",
                     path, (long long)n, (long long)n_closed, path);
}

/* A server trusts the indexes of these tables: with a damaged one it could miss a campaign, or have
 * two open revisions of it. The tables of reports have checksums. */
static dpot_status check_catalogue(struct database *database, struct dpot_error *error)
{
    static const char *const checks[] = {
        "PRAGMA integrity_check(revision)",   "PRAGMA integrity_check(job)",
        "PRAGMA integrity_check(pool_count)", "PRAGMA integrity_check(drop_count)",
        "PRAGMA integrity_check(probe)",
    };
    dpot_status status = DPOT_OK;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && status == DPOT_OK; i++) {
        status = database_check_structure(database, checks[i], error);
    }
    return status;
}

/* Updates the row that exists for it, and commits or rolls back. */
static dpot_status probe(struct database *database, bool commits, struct dpot_error *error)
{
    dpot_status status = database_begin(database, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (!query_run(
            query_start(database, STATEMENT_PROBE, "UPDATE probe SET n = n + 1 WHERE id = 1"))) {
        status = database_fail(database, "writing", error);
    }
    if (status == DPOT_OK && !commits) {
        database_roll_back(database);
        return status;
    }
    return database_end(database, status, error);
}

static dpot_status open_existing(struct sqlite_store *s, const char *path, enum store_use use,
                                 struct dpot_error *error)
{
    int64_t n_closed = 0;
    dpot_status status = sqlite_lock_check(path, &n_closed, error);
    if (status == DPOT_OK) {
        status = use == STORE_OLD ? database_open_old(path, &s->database, error)
                                  : database_open_existing(path, &s->database, error);
    }
    return status == DPOT_OK ? check_age(s->database, path, n_closed, error) : status;
}

/* Before anything is changed; the lock is held. */
static dpot_status validate_old(const char *path, const struct store_validator *validator,
                                struct dpot_error *error)
{
    struct database *database = NULL;
    struct dpot_error own = {{0}};
    const dpot_status status = database_open_old(path, &database, &own);
    if (status == DPOT_ERR_NOT_FOUND) {
        return DPOT_OK; /* it will be created */
    }
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "%s", own.text);
    }
    const int64_t found = database_found_version(database);
    database_close(database);
    return found > 0 && found < (int64_t)store_sqlite_n_migrations
               ? validator->validate(validator->ctx, path, error)
               : DPOT_OK;
}

/* (T6): the lock is taken before the file is touched. */
static dpot_status open_owned(struct sqlite_store *s, const char *path,
                              const struct store_validator *validator, struct dpot_error *error)
{
    dpot_status status = sqlite_lock_take(path, true, &s->lock, error);
    if (status == DPOT_OK && validator) {
        status = validate_old(path, validator, error);
    }
    if (status == DPOT_OK) {
        status = database_open(path, &s->database, error);
    }
    if (status == DPOT_OK) {
        status = check_age(s->database, path, s->lock.n_closed, error);
    }
    if (status == DPOT_OK) {
        status = check_catalogue(s->database, error);
    }
    if (status == DPOT_OK) {
        status = sqlite_lock_mark(path, &s->lock, error);
    }
    return status;
}

/* A store in memory has no other process, and needs no lock. */
static dpot_status open_file(struct sqlite_store *s, const char *path, enum store_use use,
                             const struct store_validator *validator, struct dpot_error *error)
{
    const bool is_memory = strcmp(path, ":memory:") == 0;
    if (use == STORE_EXISTING && is_memory) {
        return dpot_error_set(error, DPOT_ERR_NOT_FOUND,
                              "the store is in memory: there is nothing to read");
    }
    if (use == STORE_EXISTING || use == STORE_OLD) {
        return open_existing(s, path, use, error);
    }
    return use == STORE_OWNED && !is_memory ? open_owned(s, path, validator, error)
                                            : database_open(path, &s->database, error);
}

/* After `database`, which created the file and its schema. */
static dpot_status open_reader(struct sqlite_store *s, const char *path, enum store_use use,
                               struct dpot_error *error)
{
    if (strcmp(path, ":memory:") == 0) {
        s->reader = s->database;
        return DPOT_OK;
    }
    return use == STORE_OLD ? database_open_old(path, &s->reader, error)
                            : database_open_existing(path, &s->reader, error);
}

static dpot_status open_store(const char *path, enum store_use use,
                              const struct store_validator *validator, struct store **store,
                              struct dpot_error *error)
{
    if (path[0] == '\0') {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "store is \"sqlite:\" without a path: name a file");
    }
    struct sqlite_store *s = dpot_alloc_array(NULL, 1, sizeof *s);
    if (!s) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the store");
    }
    s->base.backend = &store_sqlite;
    (void)pthread_mutex_init(&s->notes_mutex, NULL);
    s->lock = (struct sqlite_lock){.file = -1, .database = -1};
    dpot_status status = open_file(s, path, use, validator, error);
    if (status == DPOT_OK) {
        status = open_reader(s, path, use, error);
    }
    if (status != DPOT_OK) {
        close_store(&s->base);
        return status;
    }
    *store = &s->base;
    return DPOT_OK;
}

/* ---- whether it can be written ---- */

#define SPACE_PATH_SIZE 4352
#define SPACE_BYTES ((size_t)4 << 20)
#define SPACE_BLOCK ((size_t)64 << 10)

/* Random bytes: some file systems store zeros without space. False with errno. */
static bool fill_space(int fd)
{
    uint8_t block[SPACE_BLOCK];
    for (size_t done = 0; done < SPACE_BYTES;) {
        dpot_random_bytes(block, sizeof block);
        const ssize_t n = write(fd, block, sizeof block);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0; /* a network file system may report a full disk only now */
}

/* Writes some MiB beside the store: SQLite's log keeps its length, so that on a full disk small
 * commits still succeed. The file is unlinked first: nothing is left, however the process ends. */
static dpot_status try_space(const char *path, struct dpot_error *error)
{
    char name[SPACE_PATH_SIZE];
    const int len = snprintf(name, sizeof name, "%s-room-XXXXXX", path);
    const int fd = len > 0 && len < SPACE_PATH_SIZE ? mkstemp(name) : -1;
    bool has_space = fd >= 0;
    if (has_space) {
        (void)unlink(name);
        has_space = fill_space(fd);
    }
    const int reason = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return has_space ? DPOT_OK
                     : dpot_error_set(error, DPOT_ERR_IO,
                                      "the store's folder does not take %zu MiB more (%s): %s",
                                      SPACE_BYTES >> 20, path,
                                      reason == EACCES || reason == EROFS
                                          ? "it is not writable: make it so"
                                          : "free space on the disk or raise the limit");
}

/* Commits a write and tries the space for reports, under the lock. */
static dpot_status write_trial(struct sqlite_store *s, struct dpot_error *error)
{
    const char *path = database_path(s->database);
    const dpot_status status = probe(s->database, true, error);
    return status == DPOT_OK && path[0] != '\0' ? try_space(path, error) : status;
}

/* A rolled back update costs no sync. After a failed write it would succeed in a log that has room
 * for it, so that then a commit and the space for reports are tried. */
static dpot_status check_store(struct store *store, struct dpot_error *error)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    const bool has_failed = database_take_failure(s->database) || s->has_write_failed;
    const dpot_status status =
        has_failed ? write_trial(s, error) : probe(s->database, false, error);
    s->has_write_failed = has_failed && status != DPOT_OK;
    sqlite_store_unlock(s);
    return status;
}

static dpot_status try_write(struct store *store, struct dpot_error *error)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    const dpot_status status = write_trial(s, error);
    sqlite_store_unlock(s);
    return status;
}

/* integrity_check, not quick_check: that one does not compare indexes with their tables. */
static dpot_status check_structure(struct store *store, struct dpot_error *error)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    const dpot_status status =
        database_check_structure(s->database, "PRAGMA integrity_check(1)", error);
    sqlite_store_unlock(s);
    return status;
}

static void watch_store(struct store *store, store_watcher watch, void *ctx)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    s->watch = watch;
    s->watch_ctx = ctx;
    database_set_watch(s->database, watch, ctx);
    sqlite_store_unlock(s);
}

static void get_schema(struct store *store, int *found, int *current)
{
    *found = (int)database_found_version(((struct sqlite_store *)store)->database);
    *current = (int)store_sqlite_n_migrations;
}

const struct store_backend store_sqlite = {
    .scheme = "sqlite:",
    .open = open_store,
    .close = close_store,
    .watch = watch_store,
    .get_schema = get_schema,
    .backup = sqlite_store_backup,
    .save = sqlite_store_save,
    .replace = sqlite_store_replace,
    .check = check_store,
    .try_write = try_write,
    .check_structure = check_structure,
    .check_tables = sqlite_store_check_tables,
    .add_revision = sqlite_store_add_revision,
    .set_state = sqlite_store_set_state,
    .list_revisions = sqlite_store_list_revisions,
    .get_revision = sqlite_store_get_revision,
    .find_campaign = sqlite_store_find_campaign,
    .append_group = sqlite_store_append_group,
    .merge = sqlite_store_merge,
    .load_ids = sqlite_store_load_ids,
    .get_id_usage = sqlite_store_get_id_usage,
    .count_damaged = sqlite_store_count_damaged,
    .is_damaged = sqlite_store_is_damaged,
    .count_pool = sqlite_store_count_pool,
    .count_all = sqlite_store_count_all,
    .add_drops = sqlite_store_add_drops,
    .read_pool = sqlite_store_read_pool,
    .add_job = sqlite_store_add_job,
    .get_job = sqlite_store_get_job,
    .next_job = sqlite_store_next_job,
    .list_jobs = sqlite_store_list_jobs,
    .update_job = sqlite_store_update_job,
    .finish_job = sqlite_store_finish_job,
    .requeue_jobs = sqlite_store_requeue_jobs,
    .get_artifact = sqlite_store_get_artifact,
    .check_artifacts = sqlite_store_check_artifacts,
};
