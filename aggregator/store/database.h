/* One connection to an SQLite file, without SQLite's header: sqlite.c is its only door.
 *
 * A database is used under its lock by one thread at a time. Statements are prepared on first use
 * and kept in one slot each, so a slot has one user at a time too. A query whose statement cannot
 * be prepared is inert: its binds do nothing and its first step fails. */
#ifndef DPOT_STORE_DATABASE_H
#define DPOT_STORE_DATABASE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct database;

/* Opens or creates PATH (or ":memory:") in WAL mode with synchronous=FULL and brings its schema up
 * to date. DPOT_ERR_IO (not writable, not a database, another program's), DPOT_ERR_VERSION (newer
 * schema), DPOT_ERR_CORRUPT, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status database_open(const char *path, struct database **database,
                                           struct dpot_error *error);

/* The same of a file that is there and has this program's schema; it is not changed.
 * DPOT_ERR_NOT_FOUND, DPOT_ERR_VERSION (an older schema too). */
DPOT_WARN_UNUSED dpot_status database_open_existing(const char *path, struct database **database,
                                                    struct dpot_error *error);

/* The same of one that may have an older schema; what that has not is made in memory (database_schema.h), so that
 * everything can be read. */
DPOT_WARN_UNUSED dpot_status database_open_old(const char *path, struct database **database,
                                               struct dpot_error *error);

/* Copies the log into the database and removes it, unless another connection has the database open. */
void database_close(struct database *database);

/* Checks that database, log and index are still the files that were opened, by device and inode.
 * database_begin and database_end do so too. DPOT_ERR_IO: one was removed, renamed or replaced. */
DPOT_WARN_UNUSED dpot_status database_check_files(struct database *database,
                                                  struct dpot_error *error);

/* Called once when that check fails, and once with DPOT_OK when it succeeds again; under the lock. */
typedef void (*database_watch)(void *ctx, dpot_status status, const char *sentence);
void database_set_watch(struct database *database, database_watch watch, void *ctx);

/* Runs statements, which are literal or numbers. */
DPOT_WARN_UNUSED dpot_status database_execute(struct database *database, const char *what,
                                              const char *sql, struct dpot_error *error);

/* The first column of the first row of `sql`: as an integer (0 when there is none) and, unless `text`
 * is NULL, as a text. */
DPOT_WARN_UNUSED dpot_status database_ask(struct database *database, const char *sql,
                                          int64_t *value, char *text, size_t text_cap,
                                          struct dpot_error *error);

/* `sql`: "PRAGMA integrity_check" of a table or of all. DPOT_ERR_CORRUPT names the first fault. */
DPOT_WARN_UNUSED dpot_status database_check_structure(struct database *database, const char *sql,
                                                      struct dpot_error *error);

void database_lock(struct database *database);
void database_unlock(struct database *database);

/* Begins a transaction that holds the write lock, so that what is read inside is what a write
 * builds on. */
DPOT_WARN_UNUSED dpot_status database_begin(struct database *database, struct dpot_error *error);

/* Commits when `status` is DPOT_OK; otherwise, or when that fails, rolls back. Returns what
 * happened. */
DPOT_WARN_UNUSED dpot_status database_end(struct database *database, dpot_status status,
                                          struct dpot_error *error);
void database_roll_back(struct database *database);

/* The file's whole path; empty for one in memory. Borrowed. */
const char *database_path(const struct database *database);

/* The version of the schema that the file had when it was opened; 0: none. */
int64_t database_found_version(const struct database *database);

/* The sentence of the connection's last failure: "WHAT failed in the store: ...". DPOT_ERR_EXISTS
 * for a broken constraint, DPOT_ERR_BUSY, DPOT_ERR_CORRUPT, DPOT_ERR_MEMORY, else DPOT_ERR_IO. */
dpot_status database_fail(struct database *database, const char *what, struct dpot_error *error);

/* Whether there was a failure with DPOT_ERR_IO since the last such question. */
bool database_take_failure(struct database *database);

/* Slots of kept statements. */
enum statement {
    STATEMENT_BEGIN,
    STATEMENT_COMMIT,
    STATEMENT_ROLLBACK,
    STATEMENT_PROBE,
    STATEMENT_BACKUP,
    STATEMENT_ADD_REVISION,
    STATEMENT_GET_STATE,
    STATEMENT_CLOSE_OTHERS,
    STATEMENT_SET_STATE,
    STATEMENT_LIST,
    STATEMENT_GET_RECORD,
    STATEMENT_GET_REVISION,
    STATEMENT_FIND_CAMPAIGN,
    STATEMENT_COUNT_ROUND,
    STATEMENT_READ_ROUND,
    STATEMENT_OPEN_ROUNDS,
    STATEMENT_ADD_BLOCK,
    STATEMENT_BUMP_ROUND,
    STATEMENT_BUMP_COUNT,
    STATEMENT_COUNT_POOL,
    STATEMENT_COUNT_ALL,
    STATEMENT_COUNT_DROPS,
    STATEMENT_ADD_DROPS,
    STATEMENT_COUNT_ACCEPTED,
    STATEMENT_LIST_ROUNDS,
    STATEMENT_NEXT_BLOCK,
    STATEMENT_FIND_ARRIVED,
    STATEMENT_LIST_ARRIVED,
    STATEMENT_READ_BLOCK,
    STATEMENT_DROP_BLOCK,
    STATEMENT_NOTE_MERGE,
    STATEMENT_ADD_JOB,
    STATEMENT_GET_JOB,
    STATEMENT_NEXT_JOB,
    STATEMENT_LIST_JOBS,
    STATEMENT_GET_JOB_STATE,
    STATEMENT_UPDATE_JOB,
    STATEMENT_FAIL_JOBS,
    STATEMENT_REQUEUE_JOBS,
    STATEMENT_ADD_ARTIFACT,
    STATEMENT_GET_ARTIFACT,
    STATEMENT_REPAIR_ARTIFACT,
    STATEMENT_NEXT_ARTIFACT,
    STATEMENT_FIND_MAKER,
    STATEMENT_NEXT_MISSING,
    STATEMENT_END,
};

struct query {
    void *statement; /* NULL: it could not be prepared */
};

/* `sql` is a literal; the same for every use of a slot. */
struct query query_start(struct database *database, enum statement slot, const char *sql);

/* Parameters count from 1; bytes and texts are borrowed until the query is run or finished. */
void query_bind_integer(struct query query, int parameter, int64_t value);
void query_bind_bytes(struct query query, int parameter, const void *data, size_t len);
void query_bind_text(struct query query, int parameter, const char *text);

enum query_outcome { QUERY_ROW, QUERY_DONE, QUERY_FAILED };
enum query_outcome query_step(struct query query);

/* Columns of the row count from 0; pointers die with the next step. NULL data for NULL and for no
 * bytes. */
int64_t query_integer(struct query query, int column);
bool query_is_integer(struct query query, int column); /* what is none reads as some integer too */
const char *query_text(struct query query, int column);
const uint8_t *query_bytes(struct query query, int column, size_t *len);

/* Makes the slot ready for its next use. */
void query_finish(struct query query);

/* Steps once and finishes: for statements without rows. True when it ran. */
bool query_run(struct query query);

#endif
