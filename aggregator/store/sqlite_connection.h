/* The inside of a connection, for the files that call SQLite: database.c (queries and
 * transactions), database_open.c (opening and closing) and database_files.c (the check of the
 * files). */
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

/* Stores device and inode of each file of an open database. DPOT_ERR_IO, DPOT_ERR_RANGE. */
DPOT_WARN_UNUSED dpot_status connection_note_files(struct database *database,
                                                   struct dpot_error *error);

/* Whether the database file was removed, renamed or replaced. */
bool connection_is_moved(const struct database *database);

/* database_schema.c: the schema and its versions. */

/* Refuses a database of another program: DPOT_ERR_MALFORMED. */
DPOT_WARN_UNUSED dpot_status schema_check_owner(struct database *database,
                                                struct dpot_error *error);

/* The version in the file; 0: none yet. */
DPOT_WARN_UNUSED dpot_status schema_find(struct database *database, int64_t *found,
                                         struct dpot_error *error);

/* DPOT_ERR_VERSION: `found` is newer than this program or, unless `may_be_older`, older. */
DPOT_WARN_UNUSED dpot_status schema_check(int64_t found, bool may_be_older,
                                          struct dpot_error *error);

/* Adds what a file of version `found` lacks as temporary tables and views of the connection: empty
 * tables, checksums of the commits as they are, and commits as blocks. The file is not changed. */
DPOT_WARN_UNUSED dpot_status schema_add_missing(struct database *database, int64_t found,
                                                struct dpot_error *error);

/* Migrates the file, each step in a transaction. *found: the version before.
 * DPOT_ERR_VERSION: it is newer than this program, and nothing was changed. */
DPOT_WARN_UNUSED dpot_status schema_migrate(struct database *database, int64_t *found,
                                            struct dpot_error *error);

#endif
