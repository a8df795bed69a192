/* The schema of a store and its versions.
 *
 * The version is stored twice: in the table schema_version, one row for each migration, and in the
 * header of the file (PRAGMA user_version; 0 in older stores). The higher one counts: a later
 * program may change the table, never the header. */
#include "store/backend.h"
#include "store/sqlite_connection.h"

#include <stdio.h>

#define APPLICATION_ID 0x64706f74 /* "dpot" */
#define VERSION_OF_BLOCKS 5       /* before it, reports are in commits that have numbers */

dpot_status schema_check_owner(struct database *database, struct dpot_error *error)
{
    int64_t application_id = 0, n_tables = 0;
    dpot_status status =
        database_ask(database, "PRAGMA application_id", &application_id, NULL, 0, error);
    if (status == DPOT_OK) {
        status =
            database_ask(database, "SELECT count(*) FROM sqlite_schema", &n_tables, NULL, 0, error);
    }
    if (status == DPOT_OK && application_id != APPLICATION_ID &&
        (application_id != 0 || n_tables != 0)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the database belongs to another program: choose another file");
    }
    return status;
}

static dpot_status read_version(struct database *database, int64_t *version,
                                struct dpot_error *error)
{
    int64_t in_header = 0;
    dpot_status status = database_ask(database, "PRAGMA user_version", &in_header, NULL, 0, error);
    if (status == DPOT_OK && in_header > (int64_t)store_sqlite_n_migrations) {
        *version = in_header; /* the table may be another one by now */
        return DPOT_OK;
    }
    return status == DPOT_OK ? database_ask(database, "SELECT max(version) FROM schema_version",
                                            version, NULL, 0, error)
                             : status;
}

static dpot_status write_header(struct database *database, int version, struct dpot_error *error)
{
    char sql[64];
    (void)snprintf(sql, sizeof sql, "PRAGMA user_version = %d", version);
    return database_execute(database, "migrating", sql, error);
}

/* The version is read again inside the transaction: another process may have migrated meanwhile. */
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
        status = database_execute(database, "migrating", migration->sql, error);
        if (status == DPOT_OK) {
            status = database_execute(database, "migrating", insert, error);
        }
        if (status == DPOT_OK) {
            status = write_header(database, migration->version, error);
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

dpot_status schema_find(struct database *database, int64_t *found, struct dpot_error *error)
{
    int64_t has_versions = 0;
    *found = 0;
    const dpot_status status =
        database_ask(database, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'",
                     &has_versions, NULL, 0, error);
    return status == DPOT_OK && has_versions ? read_version(database, found, error) : status;
}

/* Older stores have no version in the header. */
static dpot_status complete_header(struct database *database, struct dpot_error *error)
{
    int64_t in_header = 0;
    dpot_status status = database_ask(database, "PRAGMA user_version", &in_header, NULL, 0, error);
    return status == DPOT_OK && in_header != (int64_t)store_sqlite_n_migrations
               ? write_header(database, (int)store_sqlite_n_migrations, error)
               : status;
}

static dpot_status make_table(struct database *database, struct dpot_error *error)
{
    char mark[256];
    (void)snprintf(mark, sizeof mark,
                   "BEGIN IMMEDIATE; PRAGMA application_id = %d;"
                   "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY,"
                   " applied TEXT NOT NULL); COMMIT;",
                   APPLICATION_ID);
    return database_execute(database, "creating tables", mark, error);
}

dpot_status schema_migrate(struct database *database, int64_t *found, struct dpot_error *error)
{
    dpot_status status = schema_find(database, found, error);
    if (status == DPOT_OK && *found > (int64_t)store_sqlite_n_migrations) {
        return refuse_newer(*found, error);
    }
    if (status == DPOT_OK && *found == 0) {
        status = make_table(database, error);
    }
    for (size_t i = 0; status == DPOT_OK && i < store_sqlite_n_migrations; i++) {
        if (store_sqlite_migrations[i].version > *found) {
            status = run_migration(database, &store_sqlite_migrations[i], error);
        }
    }
    if (status == DPOT_OK && *found == 0) { /* if it fails, some free pages remain */
        (void)!database_execute(database, "creating tables", "VACUUM", NULL);
    }
    return status == DPOT_OK ? complete_header(database, error) : status;
}

/* By the version that adds them, with the columns that are read. A commit is a block whose key is
 * its number. */
static const struct store_migration missing[] = {
    {2, "CREATE TEMP TABLE job (seq INTEGER PRIMARY KEY, id BLOB, kind TEXT, campaign_id BLOB,"
        " hash BLOB, parameters TEXT, state INTEGER, n_done INTEGER, n_total INTEGER,"
        " n_attempts INTEGER, created_ms INTEGER, started_ms INTEGER, ended_ms INTEGER,"
        " sentence TEXT, artifact BLOB);"
        "CREATE TEMP TABLE artifact (seq INTEGER PRIMARY KEY, digest BLOB, bytes BLOB);"},
    {3, "CREATE TEMP TABLE drop_count (reason INTEGER PRIMARY KEY, n INTEGER);"},
    {4, "CREATE TEMP VIEW commit_sum AS SELECT seq, dpot_commit_sum(hash, round, seq, format,"
        " n_reports, reports) AS sum FROM main.commits;"},
    {VERSION_OF_BLOCKS,
     "CREATE TEMP VIEW round AS SELECT hash, round, sum(n_reports) AS n_reports,"
     " count(*) AS n_arrived, 0 AS n_merges FROM main.commits GROUP BY hash, round;"
     "CREATE TEMP VIEW block AS SELECT hash, round, seq AS first, format, n_reports,"
     " 0 AS is_merged, CASE WHEN (SELECT sum FROM commit_sum AS s WHERE s.seq = c.seq)"
     "  IS dpot_commit_sum(hash, round, seq, format, n_reports, reports)"
     "  THEN dpot_commit_sum(hash, round, 0, format, n_reports, reports) END AS sum, reports"
     " FROM main.commits AS c;"},
};

dpot_status schema_add_missing(struct database *database, int64_t found, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && found > 0 && i < sizeof missing / sizeof missing[0];
         i++) {
        if (missing[i].version > found) {
            status = database_execute(database, "reading", missing[i].sql, error);
        }
    }
    return status;
}

dpot_status schema_check(int64_t found, bool may_be_older, struct dpot_error *error)
{
    if (found > (int64_t)store_sqlite_n_migrations) {
        return refuse_newer(found, error);
    }
    if (found < (int64_t)store_sqlite_n_migrations && !may_be_older) {
        return dpot_error_set(
            error, DPOT_ERR_VERSION,
            "the schema has version %lld and this program knows %zu: run dpotd migrate, which "
            "saves a copy first (dpotd serve migrates without one)",
            (long long)found, store_sqlite_n_migrations);
    }
    return DPOT_OK;
}
