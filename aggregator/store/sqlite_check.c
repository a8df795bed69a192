/* Checks of the tables for what dpotd never writes. Each question names the first row it finds.
 *
 * A block of reports has a checksum, a campaign a signature and an artifact its digest. Rows of
 * jobs and counts have none of these: rows and columns are compared with one another. */
#include "store/sqlite_store.h"

#include <stdio.h>

struct question {
    const char *sql;        /* its first column names the faulty row */
    const char *before;     /* the sentence before that name, */
    const char *after;      /* and after it */
    enum store_tables from; /* asked by this check and the more complete ones */
};

static const char remedy_backup[] = ": restore the store from a backup";

_Static_assert(DPOT_REPORT_STATUS_END == 9 && DROP_REASONS == 5 && JOB_CANCELLED == 5,
               "the questions below name these numbers");

#define NO_NUMBER(column, max)                                                                     \
    "(typeof(" column ") <> 'integer' OR " column " NOT BETWEEN 0 AND " max ")"
#define COUNT_MAX "9007199254740991" /* 2^53 - 1: exact in JSON too */
#define TIME_MAX "253402300799999"   /* the last of the year 9999 */

static const struct question questions[] = {
    {"SELECT type || ' \"' || substr(name, 1, 60) || '\"' FROM sqlite_schema"
     " WHERE type IN ('trigger', 'view') OR (type = 'table' AND name NOT LIKE 'sqlite^_%' ESCAPE "
     "'^'"
     "  AND name NOT IN ('schema_version', 'revision', 'round', 'block', 'commits', 'commit_sum',"
     "   'pool_count', 'drop_count', 'probe', 'job', 'artifact')) LIMIT 1",
     "the store has a ",
     " that dpotd does not make: find out who made it, and restore the store from a backup",
     STORE_SMALL_TABLES},
    {"SELECT max(version) FROM schema_version"
     " HAVING min(version) <> 1 OR max(version) <> count(*)",
     "the list of the schema's versions, up to ", ", has gaps: restore the store from a backup",
     STORE_SMALL_TABLES},
    {"SELECT lower(hex(campaign_id)) FROM revision NOT INDEXED WHERE state = 2"
     " GROUP BY campaign_id HAVING count(*) > 1 LIMIT 1",
     "two revisions are open at once of campaign ", remedy_backup, STORE_SMALL_TABLES},
    /* A draft has never been open, and so has no reports; it may have jobs. */
    {"SELECT r.revision || ' of campaign ' || lower(hex(r.campaign_id)) FROM revision AS r"
     " WHERE r.state = 1 AND (EXISTS (SELECT 1 FROM pool_count AS p WHERE p.hash = r.hash)"
     "  OR EXISTS (SELECT 1 FROM round AS c WHERE c.hash = r.hash)) LIMIT 1",
     "reports are stored or counted of a draft, revision ", remedy_backup, STORE_SMALL_TABLES},
    {"SELECT lower(hex(campaign_id)) FROM revision"
     " WHERE " NO_NUMBER("created_ms", TIME_MAX) " LIMIT 1",
     "there is no time of making a revision of campaign ", remedy_backup, STORE_SMALL_TABLES},
    {"SELECT round || ' of ' || lower(hex(hash)) FROM round AS c WHERE typeof(round) <> 'integer'"
     " OR round NOT BETWEEN 0 AND 4294967295 OR (typeof(n_reports), typeof(n_arrived),"
     "  typeof(n_merges)) <> ('integer', 'integer', 'integer') OR n_reports < 1"
     " OR min(n_arrived, n_merges) < 0 LIMIT 1",
     "numbers are not what was written of round ", remedy_backup, STORE_SMALL_TABLES},
    {"SELECT lower(hex(hash)) FROM block AS b"
     " WHERE NOT EXISTS (SELECT 1 FROM revision AS r WHERE r.hash = b.hash) LIMIT 1",
     "reports are there of a revision that is not in the store, ", remedy_backup, STORE_TABLES},
    /* The checksum is over converted numbers: it does not show a wrong type. */
    {"SELECT first FROM block WHERE"
     " (typeof(round), typeof(format), typeof(n_reports)) <> ('integer', 'integer', 'integer')"
     " OR round NOT BETWEEN 0 AND 4294967295 OR min(format, n_reports) < 1"
     " OR is_merged NOT IN (0, 1) OR sum IS NULL OR length(sum) <> 16 LIMIT 1",
     "round, format, count of reports or checksum is not what was written of block ", remedy_backup,
     STORE_TABLES},
    {"SELECT round || ' of ' || lower(hex(hash)) FROM"
     " (SELECT hash, round, n_reports AS n, n_arrived AS m FROM round UNION ALL"
     "  SELECT hash, round, -n_reports, -(is_merged = 0) FROM block)"
     " GROUP BY hash, round HAVING sum(n) <> 0 OR sum(m) <> 0 LIMIT 1",
     "reports are gone, or more than were counted, in round ", remedy_backup,
     STORE_TABLES_AND_COUNTS},
    {"SELECT quote(n) FROM pool_count WHERE " NO_NUMBER("n", COUNT_MAX) " LIMIT 1",
     "a count of reports is ", remedy_backup, STORE_SMALL_TABLES},
    {"SELECT quote(status) FROM pool_count WHERE typeof(status) <> 'integer'"
     " OR status NOT BETWEEN 1 AND 8 LIMIT 1",
     "reports are counted under the unknown status ", remedy_backup, STORE_SMALL_TABLES},
    {"SELECT lower(hex(hash)) FROM pool_count AS p"
     " WHERE NOT EXISTS (SELECT 1 FROM revision AS r WHERE r.hash = p.hash) LIMIT 1",
     "reports are counted of a revision that is not in the store, ", remedy_backup,
     STORE_SMALL_TABLES},
    {"SELECT r.revision || ' of campaign ' || lower(hex(r.campaign_id)) || ' is '"
     " || ifnull(p.n, 0) || ' and the reports are ' || ifnull(c.n, 0) FROM revision AS r"
     " LEFT JOIN (SELECT hash, sum(n_reports) AS n FROM round GROUP BY hash) AS c"
     "  ON c.hash = r.hash"
     " LEFT JOIN pool_count AS p ON p.hash = r.hash AND p.status = 1"
     " WHERE ifnull(p.n, 0) <> ifnull(c.n, 0) LIMIT 1",
     "the count of accepted reports of revision ", remedy_backup, STORE_TABLES_AND_COUNTS},
    {"SELECT quote(n) FROM drop_count WHERE " NO_NUMBER("n", COUNT_MAX) " LIMIT 1",
     "a count of dropped reports is ", remedy_backup, STORE_SMALL_TABLES},
    {"SELECT reason FROM drop_count WHERE reason NOT BETWEEN 0 AND 4 LIMIT 1",
     "dropped reports are counted under the unknown reason ", remedy_backup, STORE_SMALL_TABLES},
    {"SELECT 'gone' FROM (SELECT count(*) AS n FROM probe) WHERE n <> 1",
     "the row that shows whether the store can be written is ", remedy_backup, STORE_SMALL_TABLES},
    {"SELECT lower(hex(id)) FROM job AS j WHERE NOT EXISTS"
     " (SELECT 1 FROM revision AS r WHERE r.hash = j.hash AND r.campaign_id = j.campaign_id)"
     " LIMIT 1",
     "the store has no such revision of that campaign as is named by job ", remedy_backup,
     STORE_SMALL_TABLES},
    {"SELECT lower(hex(id)) FROM job WHERE length(id) <> 16 OR typeof(kind) <> 'text'"
     " OR typeof(parameters) <> 'text' OR typeof(sentence) <> 'text' OR kind = ''"
     " OR kind GLOB '*[^a-z0-9_-]*' OR iif(json_valid(parameters),"
     "  json_type(parameters) <> 'object', 1) LIMIT 1",
     "kind or parameters are not what was written of job ", remedy_backup, STORE_SMALL_TABLES},
    {"SELECT lower(hex(id)) FROM job WHERE"
     " (typeof(n_done), typeof(n_total), typeof(n_attempts),"
     "  typeof(created_ms), typeof(started_ms), typeof(ended_ms))"
     " <> ('integer', 'integer', 'integer', 'integer', 'integer', 'integer')"
     " OR min(n_done, n_total, n_attempts, created_ms, started_ms, ended_ms) < 0"
     " OR max(n_done, n_total) > " COUNT_MAX " OR n_attempts > 1000000"
     " OR max(created_ms, started_ms, ended_ms) > " TIME_MAX " LIMIT 1",
     "a number or a time is not what was written of job ", remedy_backup, STORE_SMALL_TABLES},
    /* States: 1 queued, 2 running, 3 done, 4 failed, 5 cancelled. A time of 0: not yet. */
    {"SELECT lower(hex(id)) FROM job WHERE (ended_ms <> 0) <> (state >= 3)"
     " OR (state = 1 AND started_ms <> 0) OR (state IN (2, 3) AND started_ms = 0)"
     " OR (state IN (2, 3) AND n_attempts = 0) OR (sentence <> '') <> (state = 4)"
     " OR (started_ms <> 0 AND n_attempts = 0)"
     " OR (started_ms = 0 AND (n_done <> 0 OR n_total <> 0)) LIMIT 1",
     "times, attempts, progress or reason do not go with the state of job ", remedy_backup,
     STORE_SMALL_TABLES},
    /* (T4), (T5): an artifact is stored with the end of its job, and jobs are never deleted. */
    {"SELECT lower(hex(digest)) FROM artifact WHERE digest NOT IN"
     " (SELECT artifact FROM job WHERE artifact IS NOT NULL) LIMIT 1",
     "the row of the job is gone or altered that made artifact ", remedy_backup,
     STORE_SMALL_TABLES},
    /* SQLite assigns row numbers from 1. */
    {"SELECT what FROM (SELECT 'a revision' AS what, min(seq) AS first FROM revision"
     " UNION ALL SELECT 'a job', min(seq) FROM job"
     " UNION ALL SELECT 'an artifact', min(seq) FROM artifact) WHERE first < 1 LIMIT 1",
     "the place in the order is not what was written of ", remedy_backup, STORE_SMALL_TABLES},
};

static dpot_status ask(struct database *reader, const struct question *question,
                       store_each_fault each, void *ctx, struct dpot_error *error)
{
    int64_t ignored = 0;
    char name[160] = "";
    struct dpot_error fault;
    const dpot_status status =
        database_ask(reader, question->sql, &ignored, name, sizeof name, error);
    if (status == DPOT_OK && name[0] != '\0') {
        (void)dpot_error_set(&fault, DPOT_ERR_CORRUPT, "%s%s%s", question->before, name,
                             question->after);
        each(ctx, fault.text);
    }
    return status;
}

dpot_status sqlite_store_check_tables(struct store *store, enum store_tables which,
                                      store_each_fault each, void *ctx, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    struct database *reader = sqlite_store_lock_reader(store);
    for (size_t i = 0; status == DPOT_OK && i < sizeof questions / sizeof questions[0]; i++) {
        if (questions[i].from <= which) {
            status = ask(reader, &questions[i], each, ctx, error);
        }
    }
    sqlite_store_unlock_reader(reader);
    return status;
}
