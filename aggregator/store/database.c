#include "store/sqlite_connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* `reason`: errno, or 0. */
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

dpot_status database_fail(struct database *database, const char *what, struct dpot_error *error)
{
    const int code = sqlite3_errcode(database->db);
    database->has_failed = database->has_failed || status_of(code) == DPOT_ERR_IO;
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

/* ---- queries ---- */

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
    query_finish(query); /* keeps the error code of a failed step */
    return outcome == QUERY_DONE;
}

/* ---- transactions ---- */

dpot_status database_begin(struct database *database, struct dpot_error *error)
{
    const dpot_status status = database_check_files(database, error);
    if (status == DPOT_OK &&
        !query_run(query_start(database, STATEMENT_BEGIN, "BEGIN IMMEDIATE"))) {
        return database_fail(database, "beginning a transaction", error);
    }
    return status;
}

void database_roll_back(struct database *database)
{
    if (!sqlite3_get_autocommit(database->db)) {
        (void)query_run(query_start(database, STATEMENT_ROLLBACK, "ROLLBACK"));
    }
}

/* The check after the commit: one into a file that has lost its name must not be acknowledged. */
dpot_status database_end(struct database *database, dpot_status status, struct dpot_error *error)
{
    if (status == DPOT_OK && !query_run(query_start(database, STATEMENT_COMMIT, "COMMIT"))) {
        status = database_fail(database, "committing", error);
    } else if (status == DPOT_OK) {
        status = database_check_files(database, error);
    }
    if (status != DPOT_OK) {
        database_roll_back(database);
    }
    return status;
}

/* ---- single statements ---- */

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

/* SQLite answers "ok" or a fault, which may follow a line that says where it is. */
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
