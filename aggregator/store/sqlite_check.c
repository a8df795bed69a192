/* What the tables hold that no program of this kind puts there. Each question names the first that it
 * finds. */
#include "store/sqlite_store.h"

#include <stdio.h>

struct question {
    const char *sql;    /* its first column names what is wrong */
    const char *before; /* what is said before the name, and behind it */
    const char *after;
};

static const char remedy_backup[] = ": restore the store from a backup";

static const struct question questions[] = {
    {"SELECT type || ' \"' || substr(name, 1, 60) || '\"' FROM sqlite_schema"
     " WHERE type IN ('trigger', 'view') OR (type = 'table' AND name NOT LIKE 'sqlite^_%' ESCAPE "
     "'^'"
     "  AND name NOT IN ('schema_version', 'revision', 'commits', 'commit_sum', 'pool_count',"
     "   'drop_count', 'probe', 'job', 'artifact')) LIMIT 1",
     "the store has a ",
     " that dpotd does not make: find out who made it, and restore the store from a "
     "backup"},
    {"SELECT lower(hex(campaign_id)) FROM revision NOT INDEXED WHERE state = 2"
     " GROUP BY campaign_id HAVING count(*) > 1 LIMIT 1",
     "two revisions are open at once of campaign ", remedy_backup},
    {"SELECT seq FROM commits AS c"
     " WHERE NOT EXISTS (SELECT 1 FROM revision AS r WHERE r.hash = c.hash) LIMIT 1",
     "the reports of commit ",
     " are of a revision that is not in the store: restore it from a backup"},
    {"SELECT seq FROM commits AS c"
     " WHERE NOT EXISTS (SELECT 1 FROM commit_sum AS s WHERE s.seq = c.seq) LIMIT 1",
     "commit ", " has no checksum, so dpotd did not write it: restore the store from a backup"},
    {"SELECT seq FROM commit_sum AS s"
     " WHERE NOT EXISTS (SELECT 1 FROM commits AS c WHERE c.seq = s.seq) LIMIT 1",
     "the reports of commit ", " are gone: restore the store from a backup"},
    {"SELECT quote(n) FROM pool_count WHERE typeof(n) <> 'integer' OR n < 0 LIMIT 1",
     "a count of reports is ", remedy_backup},
    {"SELECT quote(n) FROM drop_count WHERE typeof(n) <> 'integer' OR n < 0 LIMIT 1",
     "a count of dropped reports is ", remedy_backup},
    {"SELECT 'gone' FROM (SELECT count(*) AS n FROM probe) WHERE n <> 1",
     "the row that shows whether the store can be written is ", remedy_backup},
};

static dpot_status ask(struct database *reader, const struct question *question,
                       store_each_fault each, void *ctx, struct dpot_error *error)
{
    int64_t ignored = 0;
    char name[128] = "";
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

dpot_status sqlite_store_check_tables(struct store *store, store_each_fault each, void *ctx,
                                      struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    struct database *reader = sqlite_store_lock_reader(store);
    for (size_t i = 0; status == DPOT_OK && i < sizeof questions / sizeof questions[0]; i++) {
        status = ask(reader, &questions[i], each, ctx, error);
    }
    sqlite_store_unlock_reader(reader);
    return status;
}
