#include "store/sqlite_store.h"
#include "store/database_schema.h"

#include <string.h>

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

/* The file of a store that was removed or replaced while it was owned lives as long as it is open. */
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

/* What cannot be written down is not known to the next owner. */
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
    (void)pthread_mutex_destroy(&s->weight_mutex);
    dpot_free_array(NULL, s, 1, sizeof *s);
}

/* A copy that somebody has put back by hand: what came after it would be counted again. */
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

/* What a server believes of its campaigns and jobs without reading it all: by an index that has a fault a
 * campaign could be missed, or be open twice. The tables of reports have sums of their own. */
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

/* Changes the row that is there for it, and commits that or rolls the change back. */
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

static dpot_status open_to_look(struct sqlite_store *s, const char *path, enum store_use use,
                                struct dpot_error *error)
{
    int64_t n_closed = 0;
    dpot_status status = sqlite_lock_look(path, &n_closed, error);
    if (status == DPOT_OK) {
        status = use == STORE_OLD ? database_open_old(path, &s->database, error)
                                  : database_open_existing(path, &s->database, error);
    }
    return status == DPOT_OK ? check_age(s->database, path, n_closed, error) : status;
}

/* Under the lock, and before anything is changed. */
static dpot_status judge_old(const char *path, const struct store_judge *judge,
                             struct dpot_error *error)
{
    struct database *database = NULL;
    struct dpot_error own = {{0}};
    const dpot_status status = database_open_old(path, &database, &own);
    if (status == DPOT_ERR_NOT_FOUND) {
        return DPOT_OK; /* it is made */
    }
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "%s", own.text);
    }
    const int64_t found = database_found_version(database);
    database_close(database);
    return found > 0 && found < (int64_t)store_sqlite_n_migrations
               ? judge->judge(judge->ctx, path, error)
               : DPOT_OK;
}

/* (T6): the lock is taken before the file is touched. */
static dpot_status open_owned(struct sqlite_store *s, const char *path,
                              const struct store_judge *judge, struct dpot_error *error)
{
    dpot_status status = sqlite_lock_take(path, true, &s->lock, error);
    if (status == DPOT_OK && judge) {
        status = judge_old(path, judge, error);
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

/* What lives in memory has no other process. */
static dpot_status open_file(struct sqlite_store *s, const char *path, enum store_use use,
                             const struct store_judge *judge, struct dpot_error *error)
{
    const bool is_memory = strcmp(path, ":memory:") == 0;
    if (use == STORE_EXISTING && is_memory) {
        return dpot_error_set(error, DPOT_ERR_NOT_FOUND,
                              "the store is in memory: there is nothing to look at");
    }
    if (use == STORE_EXISTING || use == STORE_OLD) {
        return open_to_look(s, path, use, error);
    }
    return use == STORE_OWNED && !is_memory ? open_owned(s, path, judge, error)
                                            : database_open(path, &s->database, error);
}

/* Behind the other, which made the file and its schema. */
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

static dpot_status open_store(const char *path, enum store_use use, const struct store_judge *judge,
                              struct store **store, struct dpot_error *error)
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
    (void)pthread_mutex_init(&s->weight_mutex, NULL);
    s->lock = (struct sqlite_lock){.file = -1, .database = -1};
    dpot_status status = open_file(s, path, use, judge, error);
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

/* Really, and that there is room for what reports take. Under the lock. */
static dpot_status write_trial(struct sqlite_store *s, struct dpot_error *error)
{
    const char *path = database_path(s->database);
    const dpot_status status = probe(s->database, true, error);
    return status == DPOT_OK && path[0] != '\0' ? sqlite_room_try(path, error) : status;
}

/* After a failed write a trial is made, so that a disk that is full stays "not ready" until it is not, although
 * a small write would find room in the log; otherwise the change is rolled back and costs no sync. */
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

/* The whole check, indexes against their tables: a quick one would take a row for missing that only its
 * index does not know. */
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
    .weigh = sqlite_store_weigh,
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
