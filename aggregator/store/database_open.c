/* Opening and closing a connection. */
#include "base/alloc.h"
#include "store/commit_sum.h"
#include "store/id_order.h"
#include "store/packed.h"
#include "store/sqlite_connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUSY_TIMEOUT_MS 5000
#define CHECKPOINT_PAGES "4000" /* of the log: a commit then copies them into the database */

/* The journal mode is stored in the file: that of an existing file is left as it is. */
static dpot_status set_pragmas(struct database *database, bool is_existing,
                               struct dpot_error *error)
{
    (void)sqlite3_busy_timeout(database->db, BUSY_TIMEOUT_MS);
    dpot_status status =
        is_existing ? DPOT_OK
                    : database_execute(database, "setting up", "PRAGMA journal_mode = WAL;", error);
    if (status == DPOT_OK) {
        status = database_execute(database, "setting up",
                                  "PRAGMA synchronous = FULL;"
                                  "PRAGMA wal_autocheckpoint = " CHECKPOINT_PAGES ";"
                                  "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                                  "PRAGMA secure_delete = ON;",
                                  error);
    }
    if (status == DPOT_OK && sqlite3_db_readonly(database->db, "main") == 1) {
        return dpot_error_set(error, DPOT_ERR_IO, "the file is read-only: make it writable");
    }
    return status;
}

/* (T1) needs both. On a file system without shared memory SQLite keeps another journal mode without
 * an error. */
static dpot_status check_pragmas(struct database *database, bool is_memory,
                                 struct dpot_error *error)
{
    char journal[16] = "";
    int64_t ignored = 0, synchronous = 0;
    dpot_status status =
        database_ask(database, "PRAGMA journal_mode", &ignored, journal, sizeof journal, error);
    if (status == DPOT_OK) {
        status = database_ask(database, "PRAGMA synchronous", &synchronous, NULL, 0, error);
    }
    if (status == DPOT_OK && !is_memory && (strcmp(journal, "wal") != 0 || synchronous < 2)) {
        return dpot_error_set(
            error, DPOT_ERR_IO,
            "the file system does not support a write-ahead log: use a local disk");
    }
    return status;
}

static void take_bytes(sqlite3_value *value, const uint8_t **data, size_t *len)
{
    *data = sqlite3_value_blob(value);
    *len = (size_t)sqlite3_value_bytes(value);
}

/* dpot_commit_sum(hash, round, seq, format, n_reports, reports): the checksum of a row. */
static void answer_sum(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct commit_row row = {.round = sqlite3_value_int64(values[1]),
                             .seq = sqlite3_value_int64(values[2]),
                             .format = sqlite3_value_int64(values[3]),
                             .n_reports = sqlite3_value_int64(values[4])};
    uint8_t sum[COMMIT_SUM_LEN];
    (void)n;
    take_bytes(values[0], &row.hash, &row.hash_len);
    take_bytes(values[5], &row.reports, &row.len);
    commit_sum(&row, sum);
    sqlite3_result_blob(context, sum, sizeof sum, SQLITE_TRANSIENT);
}

/* Opens the commit (format, n_reports, reports) and sorts its rows by id. False: malformed, or out
 * of memory. */
static bool sort_rows(sqlite3_value **values, struct packed_block *block, struct id_place **order)
{
    const uint8_t *data = NULL;
    size_t len = 0;
    take_bytes(values[2], &data, &len);
    *order = NULL;
    if (packed_open(sqlite3_value_int64(values[0]), sqlite3_value_int64(values[1]), data, len,
                    block) == DPOT_OK) {
        *order = dpot_alloc_array(NULL, block->n_reports, sizeof **order);
    }
    for (size_t i = 0; *order && i < block->n_reports; i++) {
        (*order)[i] = id_place_make(packed_id(block, i), i);
    }
    if (*order) {
        id_order_sort(*order, block->n_reports);
    }
    return *order != NULL;
}

/* dpot_first_report(format, n_reports, reports): the least id; NULL for a malformed commit. */
static void answer_first(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct packed_block block;
    struct id_place *order = NULL;
    (void)n;
    if (sort_rows(values, &block, &order)) {
        sqlite3_result_blob(context, packed_id(&block, order[0].at), DPOT_REPORT_ID_LEN,
                            SQLITE_TRANSIENT);
        dpot_free_array(NULL, order, block.n_reports, sizeof *order);
    }
}

/* dpot_sort_reports(format, n_reports, reports): the reports in the order of ids; a malformed
 * commit is returned as it is. */
static void answer_sorted(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct packed_block block;
    struct id_place *order = NULL;
    (void)n;
    if (!sort_rows(values, &block, &order)) {
        sqlite3_result_value(context, values[2]);
        return;
    }
    const size_t header_len = block.layout.header_len, row_len = block.layout.row_len;
    const size_t len = header_len + block.n_reports * row_len;
    uint8_t *sorted = sqlite3_malloc64(len);
    if (sorted) {
        memcpy(sorted, block.data, header_len);
        for (size_t i = 0; i < block.n_reports; i++) {
            memcpy(sorted + header_len + i * row_len, packed_id(&block, order[i].at), row_len);
        }
        sqlite3_result_blob64(context, sorted, len, sqlite3_free);
    } else {
        sqlite3_result_error_nomem(context);
    }
    dpot_free_array(NULL, order, block.n_reports, sizeof *order);
}

static dpot_status add_functions(struct database *database, struct dpot_error *error)
{
    static const struct {
        const char *name;
        int n_values;
        void (*answer)(sqlite3_context *context, int n, sqlite3_value **values);
    } functions[] = {{"dpot_commit_sum", 6, answer_sum},
                     {"dpot_first_report", 3, answer_first},
                     {"dpot_sort_reports", 3, answer_sorted}};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (sqlite3_create_function_v2(database->db, functions[i].name, functions[i].n_values,
                                       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                                       functions[i].answer, NULL, NULL, NULL) != SQLITE_OK) {
            return database_fail(database, "setting up", error);
        }
    }
    return DPOT_OK;
}

enum opening {
    OPEN_OR_CREATE, /* and migrate */
    OPEN_EXISTING,  /* of this program's schema */
    OPEN_OLD,       /* the schema may be older */
};

static dpot_status set_up(struct database *database, const char *path, enum opening opening,
                          struct dpot_error *error)
{
    const bool is_existing = opening != OPEN_OR_CREATE;
    const int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (is_existing ? 0 : SQLITE_OPEN_CREATE);
    if (sqlite3_open_v2(path, &database->db, flags, NULL) != SQLITE_OK) {
        return database->db ? database_fail(database, "opening", error) : DPOT_ERR_MEMORY;
    }
    dpot_status status = set_pragmas(database, is_existing, error);
    if (status == DPOT_OK && !is_existing) {
        status = check_pragmas(database, strcmp(path, ":memory:") == 0, error);
    }
    if (status == DPOT_OK) {
        status = add_functions(database, error);
    }
    if (status == DPOT_OK) {
        status = schema_check_owner(database, error);
    }
    if (status != DPOT_OK || !is_existing) {
        return status == DPOT_OK ? schema_migrate(database, &database->found_version, error)
                                 : status;
    }
    status = schema_find(database, &database->found_version, error);
    if (status == DPOT_OK) {
        status = schema_check(database->found_version, opening == OPEN_OLD, error);
    }
    return status == DPOT_OK ? schema_add_missing(database, database->found_version, error)
                             : status;
}

static dpot_status open_path(const char *path, enum opening opening, struct database **database,
                             struct dpot_error *error)
{
    *database = dpot_alloc_array(NULL, 1, sizeof **database);
    if (!*database) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the store");
    }
    (void)pthread_mutex_init(&(*database)->mutex, NULL);
    dpot_status status = set_up(*database, path, opening, error);
    if (status == DPOT_OK) {
        status = connection_note_files(*database, error);
    }
    if (status != DPOT_OK) {
        database_close(*database);
        *database = NULL;
        return dpot_error_prefix(error, status, "store %s", path);
    }
    return DPOT_OK;
}

dpot_status database_open(const char *path, struct database **database, struct dpot_error *error)
{
    return open_path(path, OPEN_OR_CREATE, database, error);
}

/* Says whether the store can be created. */
static dpot_status fail_missing(const char *path, struct dpot_error *error)
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

static dpot_status open_existing(const char *path, enum opening opening, struct database **database,
                                 struct dpot_error *error)
{
    *database = NULL;
    if (access(path, F_OK) != 0) {
        return errno == ENOENT
                   ? fail_missing(path, error)
                   : dpot_error_set(error, DPOT_ERR_IO, "store %s: %s", path, strerror(errno));
    }
    return open_path(path, opening, database, error);
}

dpot_status database_open_existing(const char *path, struct database **database,
                                   struct dpot_error *error)
{
    return open_existing(path, OPEN_EXISTING, database, error);
}

dpot_status database_open_old(const char *path, struct database **database,
                              struct dpot_error *error)
{
    return open_existing(path, OPEN_OLD, database, error);
}

/* SQLite does not remove the log of a database that lost its name. The next database of that name
 * would read it as its own: so it is copied into this one and truncated. */
static void empty_log(struct database *database)
{
    if (connection_is_moved(database)) {
        (void)sqlite3_wal_checkpoint_v2(database->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                        NULL);
    }
}

void database_close(struct database *database)
{
    if (!database) {
        return;
    }
    empty_log(database);
    for (size_t i = 0; i < STATEMENT_END; i++) {
        (void)sqlite3_finalize(database->statements[i]);
    }
    (void)sqlite3_close(database->db);
    (void)pthread_mutex_destroy(&database->mutex);
    dpot_free_array(NULL, database, 1, sizeof *database);
}
