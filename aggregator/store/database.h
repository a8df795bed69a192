/* One connection to an SQLite file, without SQLite's header.
 *
 * One thread at a time uses a database, under its lock. Statements are prepared on first use and
 * kept, one in each slot, so that a slot has one user at a time too. A query whose statement cannot
 * be prepared is inert: binding does nothing, and its first step fails. */
#ifndef DPOT_STORE_DATABASE_H
#define DPOT_STORE_DATABASE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct database;

/* Opens or creates PATH (or ":memory:") in WAL mode with synchronous=FULL and migrates its schema.
 * DPOT_ERR_IO: not writable; DPOT_ERR_MALFORMED: of another program; DPOT_ERR_VERSION: a newer
 * schema; DPOT_ERR_CORRUPT: damaged or no database; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status database_open(const char *path, struct database **database,
                                           struct dpot_error *error);

/* Opens an existing file of this program's schema; nothing is created or migrated.
 * DPOT_ERR_NOT_FOUND; DPOT_ERR_VERSION: a newer or older schema; the others as above. */
DPOT_WARN_UNUSED dpot_status database_open_existing(const char *path, struct database **database,
                                                    struct dpot_error *error);

/* The same, and the schema may be older: missing tables are added in memory (database_schema.c). */
DPOT_WARN_UNUSED dpot_status database_open_old(const char *path, struct database **database,
                                               struct dpot_error *error);

/* Copies the log into the database and removes it, unless another connection has the database open.
 * NULL is allowed. */
void database_close(struct database *database);

/* Checks by device and inode that database, log and index are still the files that were opened;
 * database_begin and database_end do so too. DPOT_ERR_IO: one was removed, renamed or replaced. */
DPOT_WARN_UNUSED dpot_status database_check_files(struct database *database,
                                                  struct dpot_error *error);

/* `watch` is called once when that check fails, and once with DPOT_OK when it succeeds again; under
 * the lock. */
typedef void (*database_watch)(void *ctx, dpot_status status, const char *sentence);
void database_set_watch(struct database *database, database_watch watch, void *ctx);

/* Runs SQL statements without results; they must not hold data from outside. */
DPOT_WARN_UNUSED dpot_status database_execute(struct database *database, const char *what,
                                              const char *sql, struct dpot_error *error);

/* Reads the first column of the first row of `sql`, as an integer (0 without a row) and, unless
 * `text` is NULL, as text. */
DPOT_WARN_UNUSED dpot_status database_ask(struct database *database, const char *sql,
                                          int64_t *value, char *text, size_t text_cap,
                                          struct dpot_error *error);

/* Runs a "PRAGMA integrity_check" of one table or all. DPOT_ERR_CORRUPT names the first fault. */
DPOT_WARN_UNUSED dpot_status database_check_structure(struct database *database, const char *sql,
                                                      struct dpot_error *error);

void database_lock(struct database *database);
void database_unlock(struct database *database);

/* Begins a transaction and takes SQLite's write lock, so that its writes build on what it reads. */
DPOT_WARN_UNUSED dpot_status database_begin(struct database *database, struct dpot_error *error);

/* Commits if `status` is DPOT_OK, else rolls back and returns `status`.
 * DPOT_ERR_IO after the commit itself succeeded: the files had lost their names by then, so it is
 * not known whether the transaction will be found. Any other failure: rolled back. */
DPOT_WARN_UNUSED dpot_status database_end(struct database *database, dpot_status status,
                                          struct dpot_error *error);
void database_roll_back(struct database *database);

/* The absolute path of the file; "" in memory. Borrowed. */
const char *database_path(const struct database *database);

/* The version of the schema when the file was opened; 0: it had none. */
int64_t database_found_version(const struct database *database);

/* Sets and returns the last failure of the connection: "WHAT failed in the store: ...".
 * DPOT_ERR_EXISTS: a constraint; DPOT_ERR_BUSY, DPOT_ERR_CORRUPT, DPOT_ERR_MEMORY, else
 * DPOT_ERR_IO. */
dpot_status database_fail(struct database *database, const char *what, struct dpot_error *error);

/* Whether there was a failure with DPOT_ERR_IO since the last call. */
bool database_take_failure(struct database *database);

/* Slots of prepared statements. */
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
    STATEMENT_FIND_JOB,
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

/* The statement of a slot. `sql`: a literal, always the same for a slot. */
struct query query_start(struct database *database, enum statement slot, const char *sql);

/* Parameters count from 1. Bytes and text are borrowed until the query has run or is finished. */
void query_bind_integer(struct query query, int parameter, int64_t value);
void query_bind_bytes(struct query query, int parameter, const void *data, size_t len);
void query_bind_text(struct query query, int parameter, const char *text);

enum query_outcome { QUERY_ROW, QUERY_DONE, QUERY_FAILED };
enum query_outcome query_step(struct query query);

/* Columns of the present row, counted from 0. Pointers are valid until the next step; NULL for
 * SQL's NULL and for no bytes. */
int64_t query_integer(struct query query, int column);
bool query_is_integer(struct query query, int column); /* else query_integer converts it */
const char *query_text(struct query query, int column);
const uint8_t *query_bytes(struct query query, int column, size_t *len);

/* Resets the slot for its next use. */
void query_finish(struct query query);

/* Steps once and finishes: for statements without rows. True on success. */
bool query_run(struct query query);

#endif
