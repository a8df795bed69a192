#include "store/backend.h"
#include "store/database.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION_ID 0x64706f74 /* "dpot" */
#define BUSY_TIMEOUT_MS 5000

struct database {
    sqlite3 *db;
    pthread_mutex_t mutex;
    int64_t found_version; /* of the schema */
    bool has_failed;       /* disk or file did, since it was asked */
    sqlite3_stmt *statements[STATEMENT_END];
};

void database_lock(struct database *database)
{
    (void)pthread_mutex_lock(&database->mutex);
}

void database_unlock(struct database *database)
{
    (void)pthread_mutex_unlock(&database->mutex);
}

int64_t database_last_row(const struct database *database)
{
    return sqlite3_last_insert_rowid(database->db);
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
        return DPOT_ERR_CORRUPT;
    case SQLITE_CONSTRAINT:
        return DPOT_ERR_EXISTS;
    default:
        return DPOT_ERR_IO;
    }
}

static const char *remedy_of(int code)
{
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

dpot_status database_fail(struct database *database, const char *what, struct dpot_error *error)
{
    const int code = sqlite3_errcode(database->db);
    database->has_failed = database->has_failed || status_of(code) == DPOT_ERR_IO;
    return dpot_error_set(error, status_of(code), "%s failed in the store: %s; %s", what,
                          sqlite3_errmsg(database->db), remedy_of(code));
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

struct query query_start(struct database *database, enum statement slot, const char *sql)
{
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

/* Transactions. */

dpot_status database_begin(struct database *database, struct dpot_error *error)
{
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

dpot_status database_end(struct database *database, dpot_status status, struct dpot_error *error)
{
    if (status == DPOT_OK && !query_run(query_start(database, STATEMENT_COMMIT, "COMMIT"))) {
        status = database_fail(database, "committing", error);
    }
    if (status != DPOT_OK) {
        database_roll_back(database);
    }
    return status;
}

/* Opening. */

static dpot_status execute(struct database *database, const char *what, const char *sql,
                           struct dpot_error *error)
{
    return sqlite3_exec(database->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? DPOT_OK
               : database_fail(database, what, error);
}

/* The first column of the first row of `sql`: as an integer (0 when there is none) and, unless
 * `text` is NULL, as a text. */
static dpot_status ask(struct database *database, const char *sql, int64_t *value, char *text,
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

/* The journal's mode is part of the file: of an existing one it is looked at only. */
static dpot_status set_pragmas(struct database *database, bool is_existing,
                               struct dpot_error *error)
{
    (void)sqlite3_busy_timeout(database->db, BUSY_TIMEOUT_MS);
    dpot_status status = is_existing
                             ? DPOT_OK
                             : execute(database, "setting up", "PRAGMA journal_mode = WAL;", error);
    if (status == DPOT_OK) {
        status = execute(database, "setting up",
                         "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;"
                         "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;",
                         error);
    }
    if (status == DPOT_OK && sqlite3_db_readonly(database->db, "main") == 1) {
        return dpot_error_set(error, DPOT_ERR_IO, "the file is read-only: make it writable");
    }
    return status;
}

/* (T1) needs both; a file system without shared memory would silently refuse the first. */
static dpot_status check_pragmas(struct database *database, bool is_memory,
                                 struct dpot_error *error)
{
    char journal[16] = "";
    int64_t ignored = 0, synchronous = 0;
    dpot_status status =
        ask(database, "PRAGMA journal_mode", &ignored, journal, sizeof journal, error);
    if (status == DPOT_OK) {
        status = ask(database, "PRAGMA synchronous", &synchronous, NULL, 0, error);
    }
    if (status == DPOT_OK && !is_memory && (strcmp(journal, "wal") != 0 || synchronous < 2)) {
        return dpot_error_set(
            error, DPOT_ERR_IO,
            "the file system does not support a write-ahead log: use a local disk");
    }
    return status;
}

/* A new file, or one of ours. */
static dpot_status check_owner(struct database *database, struct dpot_error *error)
{
    int64_t application_id = 0, n_tables = 0;
    dpot_status status = ask(database, "PRAGMA application_id", &application_id, NULL, 0, error);
    if (status == DPOT_OK) {
        status = ask(database, "SELECT count(*) FROM sqlite_schema", &n_tables, NULL, 0, error);
    }
    if (status == DPOT_OK && application_id != APPLICATION_ID &&
        (application_id != 0 || n_tables != 0)) {
        return dpot_error_set(error, DPOT_ERR_IO,
                              "the database belongs to another program: choose another file");
    }
    return status;
}

static dpot_status read_version(struct database *database, int64_t *version,
                                struct dpot_error *error)
{
    return ask(database, "SELECT max(version) FROM schema_version", version, NULL, 0, error);
}

/* Unless another process was faster: the version is read again inside the transaction. */
static dpot_status run_migration(struct database *database, const struct store_migration *migration,
                                 struct dpot_error *error)
{
    char insert[128];
    int64_t version = 0;
    (void)snprintf(insert, sizeof insert,
                   "INSERT INTO schema_version (version, applied) VALUES (%d, datetime('now'))",
                   migration->version);
    dpot_status status = database_begin(database, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = read_version(database, &version, error);
    if (status == DPOT_OK && version < migration->version) {
        status = execute(database, "migrating", migration->sql, error);
        if (status == DPOT_OK) {
            status = execute(database, "migrating", insert, error);
        }
    }
    return database_end(database, status, error);
}

static dpot_status refuse_newer(int64_t version, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_VERSION,
                          "the schema has version %lld and this program knows %zu: use the newer "
                          "program",
                          (long long)version, store_sqlite_n_migrations);
}

static dpot_status migrate(struct database *database, struct dpot_error *error)
{
    char mark[256];
    (void)snprintf(mark, sizeof mark,
                   "BEGIN IMMEDIATE; PRAGMA application_id = %d;"
                   "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY,"
                   " applied TEXT NOT NULL); COMMIT;",
                   APPLICATION_ID);
    int64_t version = 0;
    dpot_status status = execute(database, "creating tables", mark, error);
    if (status == DPOT_OK) {
        status = read_version(database, &version, error);
    }
    database->found_version = version;
    if (status == DPOT_OK && version > (int64_t)store_sqlite_n_migrations) {
        return refuse_newer(version, error);
    }
    for (size_t i = 0; status == DPOT_OK && i < store_sqlite_n_migrations; i++) {
        if (store_sqlite_migrations[i].version > version) {
            status = run_migration(database, &store_sqlite_migrations[i], error);
        }
    }
    return status;
}

/* The file has this program's schema already. */
static dpot_status check_version(struct database *database, struct dpot_error *error)
{
    int64_t version = 0, has_versions = 0;
    dpot_status status =
        ask(database, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'",
            &has_versions, NULL, 0, error);
    if (status == DPOT_OK && has_versions) {
        status = read_version(database, &version, error);
    }
    database->found_version = version;
    if (status == DPOT_OK && version > (int64_t)store_sqlite_n_migrations) {
        return refuse_newer(version, error);
    }
    if (status == DPOT_OK && version < (int64_t)store_sqlite_n_migrations) {
        return dpot_error_set(
            error, DPOT_ERR_VERSION,
            "the schema has version %lld and this program knows %zu: save the file "
            "and run dpotd migrate (dpotd serve does it too)",
            (long long)version, store_sqlite_n_migrations);
    }
    return status;
}

static dpot_status set_up(struct database *database, const char *path, bool is_existing,
                          struct dpot_error *error)
{
    const int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (is_existing ? 0 : SQLITE_OPEN_CREATE);
    if (sqlite3_open_v2(path, &database->db, flags, NULL) != SQLITE_OK) {
        return database->db ? database_fail(database, "opening", error) : DPOT_ERR_MEMORY;
    }
    dpot_status status = set_pragmas(database, is_existing, error);
    if (status == DPOT_OK && is_existing) {
        status = check_owner(database, error);
        return status == DPOT_OK ? check_version(database, error) : status;
    }
    if (status == DPOT_OK) {
        status = check_pragmas(database, strcmp(path, ":memory:") == 0, error);
    }
    if (status == DPOT_OK) {
        status = check_owner(database, error);
    }
    return status == DPOT_OK ? migrate(database, error) : status;
}

static dpot_status open_path(const char *path, bool is_existing, struct database **database,
                             struct dpot_error *error)
{
    *database = dpot_alloc_array(NULL, 1, sizeof **database);
    if (!*database) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the store");
    }
    (void)pthread_mutex_init(&(*database)->mutex, NULL);
    const dpot_status status = set_up(*database, path, is_existing, error);
    if (status != DPOT_OK) {
        database_close(*database);
        *database = NULL;
        return dpot_error_prefix(error, status, "store %s", path);
    }
    return DPOT_OK;
}

dpot_status database_open(const char *path, struct database **database, struct dpot_error *error)
{
    return open_path(path, false, database, error);
}

/* Whether it could be made is part of the answer. */
static dpot_status say_missing(const char *path, struct dpot_error *error)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
    const bool can_make = access(folder ? folder : ".", W_OK | X_OK) == 0;
    const int reason = errno;
    free(folder);
    return can_make ? dpot_error_set(error, DPOT_ERR_NOT_FOUND,
                                     "there is no store %s yet: dpotd serve makes it", path)
                    : dpot_error_set(
                          error, DPOT_ERR_IO,
                          "there is no store %s and its folder does not allow to make one: %s",
                          path, strerror(reason));
}

dpot_status database_open_existing(const char *path, struct database **database,
                                   struct dpot_error *error)
{
    *database = NULL;
    if (access(path, F_OK) != 0) {
        return errno == ENOENT
                   ? say_missing(path, error)
                   : dpot_error_set(error, DPOT_ERR_IO, "store %s: %s", path, strerror(errno));
    }
    return open_path(path, true, database, error);
}

void database_close(struct database *database)
{
    if (!database) {
        return;
    }
    for (size_t i = 0; i < STATEMENT_END; i++) {
        (void)sqlite3_finalize(database->statements[i]);
    }
    (void)sqlite3_close(database->db);
    (void)pthread_mutex_destroy(&database->mutex);
    dpot_free_array(NULL, database, 1, sizeof *database);
}
