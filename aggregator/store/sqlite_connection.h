/* The inside of a connection, for the files that call SQLite: database.c (queries and transactions),
 * database_open.c (opening and closing) and database_files.c (the check of the files). */
#ifndef DPOT_STORE_SQLITE_CONNECTION_H
#define DPOT_STORE_SQLITE_CONNECTION_H

#include "store/database.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>

#define DATABASE_FILES 3 /* database, write-ahead log, its index */

/* One file as it was opened. */
struct database_file {
    dev_t device;
    ino_t inode;
};

struct database {
    sqlite3 *db;
    pthread_mutex_t mutex;
    int64_t found_version; /* of the schema */
    bool has_failed;       /* a failure with DPOT_ERR_IO since database_take_failure */
    struct database_file files[DATABASE_FILES];
    size_t n_files;       /* that are checked: 0 in memory, 1 without a log */
    database_watch watch; /* may be NULL */
    void *watch_ctx;
    bool is_reported; /* the watch knows that the check of the files failed */
    sqlite3_stmt *statements[STATEMENT_END];
};

/* Notes device and inode of each file; the database is open. DPOT_ERR_IO, DPOT_ERR_RANGE. */
DPOT_WARN_UNUSED dpot_status connection_note_files(struct database *database,
                                                   struct dpot_error *error);

/* Whether the database itself lost its name, by removal, renaming or another file in its place. */
bool connection_is_moved(const struct database *database);

#endif
