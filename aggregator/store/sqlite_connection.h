/* The inside of a connection, for the files that are the door of SQLite: sqlite.c (queries,
 * transactions, the log) and sqlite_open.c (opening and closing). */
#ifndef DPOT_STORE_SQLITE_CONNECTION_H
#define DPOT_STORE_SQLITE_CONNECTION_H

#include "store/database.h"
#include "store/sqlite_guard.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

struct database {
    sqlite3 *db;
    pthread_mutex_t mutex;
    int64_t found_version;  /* of the schema */
    bool has_failed;        /* disk or file did, since it was asked */
    bool is_owned;          /* by this connection (T6) */
    bool leaves_log;        /* neither copied nor removed when it is closed */
    bool is_unsound;        /* it was told of damage: the log stays beside it when it is closed */
    atomic_bool is_suspect; /* somebody was told of it: the log is read before the next commit */
    atomic_bool
        is_astray; /* the index was cut: what the transaction that runs has read may be old */
    struct guard guard;
    uint64_t n_reports;       /* of the transaction that runs */
    uint32_t n_frames;        /* of the log, after the last commit */
    uint32_t last_tried;      /* as many when it was last copied into the database */
    struct database *partner; /* the connection whose log this one reads; NULL: its own */
    database_watch watch;     /* NULL: nobody */
    void *watch_ctx;
    bool is_told; /* the watch knows that something is wrong */
    sqlite3_stmt *statements[STATEMENT_END];
};

/* The database as it is on disk, for the guard. */
void connection_read_base(struct database *database, struct guard_base *base);

/* Learns of commits: a hook of SQLite's. `ctx`: the connection. */
int connection_note_frames(void *ctx, sqlite3 *db, const char *name, int n_frames);

/* Copies the log into the database, as far as readers allow. It must have been checked. */
void connection_checkpoint(struct database *database);

/* Reads the log whole. DPOT_ERR_CORRUPT, which is told; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status connection_check_log(struct database *database,
                                                  struct dpot_error *error);

#endif
