#include "store/sqlite_connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CHECKPOINT_FRAMES 4000 /* of the log, since the last attempt */

void database_lock(struct database *database)
{
    (void)pthread_mutex_lock(&database->mutex);
}

void database_unlock(struct database *database)
{
    (void)pthread_mutex_unlock(&database->mutex);
}

const char *database_path(const struct database *database)
{
    const char *path = sqlite3_db_filename(database->db, "main");
    return path ? path : "";
}

int64_t database_found_version(const struct database *database)
{
    return database->found_version;
}

static dpot_status status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return DPOT_ERR_MEMORY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return DPOT_ERR_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return DPOT_ERR_CORRUPT;
    case SQLITE_CONSTRAINT:
        return DPOT_ERR_EXISTS;
    default:
        return DPOT_ERR_IO;
    }
}

/* `reason`: the system's error number; 0: none. */
static const char *remedy_of(int code, int reason)
{
    if (reason == ENOSPC || reason == EDQUOT) {
        return "free space on the disk";
    }
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another program holds the store, try again";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return "restore the file from a backup or choose another";
    case SQLITE_FULL:
        return "free space on the disk";
    case SQLITE_READONLY:
        return "make the file and its folder writable";
    default:
        return "check the disk, the folder and its permissions";
    }
}

static struct database *writer_of(struct database *database)
{
    return database->partner ? database->partner : database;
}

/* A page that is not what was written may come from the log, and then nothing of that may be copied. */
static void note_damage(struct database *database, int code)
{
    const bool is_damage = status_of(code) == DPOT_ERR_CORRUPT;
    if (is_damage || sqlite3_extended_errcode(database->db) == SQLITE_IOERR_SHORT_READ) {
        atomic_store(&writer_of(database)->is_suspect, true);
    }
    database->is_unsound = database->is_unsound || is_damage;
}

dpot_status database_fail(struct database *database, const char *what, struct dpot_error *error)
{
    const int code = sqlite3_errcode(database->db);
    database->has_failed = database->has_failed || status_of(code) == DPOT_ERR_IO;
    note_damage(database, code);
    const int class = code & 0xff;
    const bool has_reason = class == SQLITE_IOERR || class == SQLITE_CANTOPEN;
    const int reason = has_reason ? sqlite3_system_errno(database->db) : 0;
    return dpot_error_set(error, status_of(code), "%s failed in the store: %s%s%s; %s", what,
                          sqlite3_errmsg(database->db), reason != 0 ? ": " : "",
                          reason != 0 ? strerror(reason) : "", remedy_of(code, reason));
}

bool database_take_failure(struct database *database)
{
    const bool has_failed = database->has_failed;
    database->has_failed = false;
    return has_failed;
}

/* Queries. */

static sqlite3_stmt *statement_of(struct query query)
{
    return query.statement;
}

static void mend_index(struct database *database)
{
    if (guard_mend_index(&database->guard)) {
        atomic_store(&writer_of(database)->is_astray, true);
    }
}

/* What is asked next would touch the index. */
struct query query_start(struct database *database, enum statement slot, const char *sql)
{
    mend_index(database);
    sqlite3_stmt **statement = &database->statements[slot];
    if (!*statement) {
        (void)sqlite3_prepare_v3(database->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    }
    return (struct query){*statement};
}

void query_bind_integer(struct query query, int parameter, int64_t value)
{
    if (query.statement) {
        (void)sqlite3_bind_int64(statement_of(query), parameter, value);
    }
}

void query_bind_bytes(struct query query, int parameter, const void *data, size_t len)
{
    if (query.statement) {
        (void)sqlite3_bind_blob64(statement_of(query), parameter, data, len, SQLITE_STATIC);
    }
}

void query_bind_text(struct query query, int parameter, const char *text)
{
    if (query.statement) {
        (void)sqlite3_bind_text(statement_of(query), parameter, text, -1, SQLITE_STATIC);
    }
}

enum query_outcome query_step(struct query query)
{
    switch (query.statement ? sqlite3_step(statement_of(query)) : SQLITE_ERROR) {
    case SQLITE_ROW:
        return QUERY_ROW;
    case SQLITE_DONE:
        return QUERY_DONE;
    default:
        return QUERY_FAILED;
    }
}

int64_t query_integer(struct query query, int column)
{
    return sqlite3_column_int64(statement_of(query), column);
}

bool query_is_integer(struct query query, int column)
{
    return sqlite3_column_type(statement_of(query), column) == SQLITE_INTEGER;
}

const char *query_text(struct query query, int column)
{
    return (const char *)sqlite3_column_text(statement_of(query), column);
}

const uint8_t *query_bytes(struct query query, int column, size_t *len)
{
    const uint8_t *data = sqlite3_column_blob(statement_of(query), column);
    *len = (size_t)sqlite3_column_bytes(statement_of(query), column);
    return data;
}

void query_finish(struct query query)
{
    if (query.statement) {
        (void)sqlite3_reset(statement_of(query));
        (void)sqlite3_clear_bindings(statement_of(query));
    }
}

bool query_run(struct query query)
{
    const enum query_outcome outcome = query_step(query);
    query_finish(query); /* leaves the error code of a failed step in place */
    return outcome == QUERY_DONE;
}

/* The files and the log (sqlite_guard.h). */

int connection_note_frames(void *ctx, sqlite3 *db, const char *name, int n_frames)
{
    struct database *database = ctx;
    (void)db;
    (void)name;
    database->n_frames = (uint32_t)n_frames;
    guard_note_commit(&database->guard, database->n_frames);
    return SQLITE_OK;
}

/* Through SQLite's own descriptor (sqlite_guard.h). */
void connection_read_base(struct database *database, struct guard_base *base)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    *base = (struct guard_base){.size = 0};
    if (sqlite3_file_control(database->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        !file || !file->pMethods || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
        return;
    }
    base->size = (off_t)size;
    if (file->pMethods->xRead(file, base->head, sizeof base->head, 0) != SQLITE_OK) {
        memset(base->head, 0, sizeof base->head);
    }
}

/* What is wrong is told once, and once when it is well again. */
static dpot_status tell_watch(struct database *database, dpot_status status,
                              const struct dpot_error *error)
{
    if ((status != DPOT_OK) != database->is_told && database->watch) {
        database->watch(database->watch_ctx, status, error->text);
    }
    database->is_told = status != DPOT_OK;
    return status;
}

void connection_checkpoint(struct database *database)
{
    int n_frames = 0, n_copied = 0;
    database->last_tried = database->n_frames;
    if (sqlite3_wal_checkpoint_v2(database->db, "main", SQLITE_CHECKPOINT_PASSIVE, &n_frames,
                                  &n_copied) == SQLITE_OK &&
        n_frames == n_copied) {
        guard_note_checkpoint(&database->guard);
    }
}

/* A log that lost its name is still whole under our descriptor: what it holds goes into the database at
 * once, because after a crash nobody finds it. */
static dpot_status check_files(struct database *database, struct dpot_error *error)
{
    struct dpot_error own = {{0}}, ignored;
    const bool was_lost = database->guard.state == GUARD_LOST;
    struct guard_base base;
    connection_read_base(database, &base);
    const dpot_status status = guard_check(&database->guard, &base, &own);
    if (database->guard.state == GUARD_LOST && !was_lost && sqlite3_get_autocommit(database->db) &&
        guard_check_log(&database->guard, &ignored) == DPOT_OK) {
        connection_checkpoint(database);
    }
    if (status != DPOT_OK) {
        (void)dpot_error_set(error, status, "%s", own.text);
    }
    return tell_watch(database, status, &own);
}

static bool is_checkpoint_due(struct database *database)
{
    if (database->n_frames < database->last_tried) {
        database->last_tried = 0; /* the log was begun anew */
    }
    return database->n_frames - database->last_tried >= CHECKPOINT_FRAMES;
}

dpot_status connection_check_log(struct database *database, struct dpot_error *error)
{
    struct dpot_error own = {{0}};
    const dpot_status status = guard_check_log(&database->guard, &own);
    if (status != DPOT_OK) {
        (void)dpot_error_set(error, status, "%s", own.text);
    }
    return status == DPOT_ERR_CORRUPT ? tell_watch(database, status, &own) : status;
}

dpot_status database_check_files(struct database *database, struct dpot_error *error)
{
    return check_files(database, error);
}

void database_set_watch(struct database *database, database_watch watch, void *ctx)
{
    database->watch = watch;
    database->watch_ctx = ctx;
}

void database_set_partner(struct database *database, struct database *partner)
{
    database->partner = partner;
}

dpot_status database_check_all(struct database *database, struct dpot_error *error)
{
    const dpot_status status = connection_check_log(database, error);
    return status == DPOT_OK ? check_files(database, error) : status;
}

bool database_is_damaged(const struct database *database)
{
    return database->guard.state == GUARD_DAMAGED;
}

void database_checkpoint(struct database *database)
{
    if (connection_check_log(database, NULL) == DPOT_OK) {
        connection_checkpoint(database);
    }
}

bool database_has_name(const struct database *database)
{
    return database->guard.state != GUARD_MOVED;
}

void database_count_reports(struct database *database, uint64_t n_reports)
{
    database->n_reports += n_reports;
}

void database_own(struct database *database)
{
    database->is_owned = true;
    connection_checkpoint(database); /* from here on it is known what only the log has */
}

/* Transactions. */

dpot_status database_begin(struct database *database, struct dpot_error *error)
{
    const dpot_status status = check_files(database, error);
    if (status != DPOT_OK) {
        return status;
    }
    database->n_reports = 0;
    mend_index(database);
    atomic_store(&database->is_astray, false);
    if (!query_run(query_start(database, STATEMENT_BEGIN, "BEGIN IMMEDIATE"))) {
        return database_fail(database, "beginning a transaction", error);
    }
    return DPOT_OK;
}

void database_roll_back(struct database *database)
{
    if (!sqlite3_get_autocommit(database->db)) {
        (void)query_run(query_start(database, STATEMENT_ROLLBACK, "ROLLBACK"));
    }
}

/* The log is read inside the transaction, when nobody else writes. Between the commit and its
 * acknowledgement the files are looked at again: a commit into a file that nobody finds any more is
 * none. */
static dpot_status commit(struct database *database, struct dpot_error *error)
{
    const bool is_due = is_checkpoint_due(database);
    const bool is_suspect = atomic_exchange(&database->is_suspect, false);
    dpot_status status = is_due || is_suspect ? connection_check_log(database, error) : DPOT_OK;
    mend_index(database);
    if (status == DPOT_OK && atomic_load(&database->is_astray)) {
        return dpot_error_set(error, DPOT_ERR_BUSY,
                              "the store's index was cut by another program and is made anew: try "
                              "again");
    }
    if (status == DPOT_OK && !query_run(query_start(database, STATEMENT_COMMIT, "COMMIT"))) {
        status = database_fail(database, "committing", error);
        if (database->is_owned && database->guard.n_commits == 0) {
            guard_forget_log(&database->guard);
        }
    }
    if (status != DPOT_OK) {
        return status;
    }
    database->guard.n_commits++;
    database->guard.n_reports += database->n_reports;
    if (is_due) {
        connection_checkpoint(database);
    }
    return check_files(database, error);
}

dpot_status database_end(struct database *database, dpot_status status, struct dpot_error *error)
{
    if (status == DPOT_OK) {
        status = commit(database, error);
    }
    if (status != DPOT_OK) {
        database_roll_back(database);
    }
    return status;
}

/* Single statements. */

dpot_status database_execute(struct database *database, const char *what, const char *sql,
                             struct dpot_error *error)
{
    return sqlite3_exec(database->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? DPOT_OK
               : database_fail(database, what, error);
}

dpot_status database_ask(struct database *database, const char *sql, int64_t *value, char *text,
                         size_t text_cap, struct dpot_error *error)
{
    sqlite3_stmt *statement = NULL;
    *value = 0;
    int code = sqlite3_prepare_v2(database->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW) {
        *value = sqlite3_column_int64(statement, 0);
    }
    if (code == SQLITE_ROW && text) {
        const char *found = (const char *)sqlite3_column_text(statement, 0);
        (void)snprintf(text, text_cap, "%s", found ? found : "");
    }
    const dpot_status status = code == SQLITE_ROW || code == SQLITE_DONE
                                   ? DPOT_OK
                                   : database_fail(database, "reading", error);
    (void)sqlite3_finalize(statement);
    return status;
}

/* The answer is "ok", or the first fault, maybe below a line that says where. */
dpot_status database_check_structure(struct database *database, const char *sql,
                                     struct dpot_error *error)
{
    int64_t ignored = 0;
    char text[256] = "";
    const dpot_status status = database_ask(database, sql, &ignored, text, sizeof text, error);
    if (status != DPOT_OK || strcmp(text, "ok") == 0) {
        return status;
    }
    const char *line = strchr(text, '\n');
    line = line ? line + 1 : text;
    return dpot_error_set(error, DPOT_ERR_CORRUPT,
                          "the store's file is damaged (%.*s): restore it from a backup",
                          (int)strcspn(line, "\n"), line);
}
