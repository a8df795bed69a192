#include "store/sqlite_store.h"

#include <string.h>

#define JOB_COLUMNS                                                                                \
    "id, kind, campaign_id, hash, parameters, state, n_done, n_total, created_ms, started_ms,"     \
    " ended_ms, sentence, n_attempts, artifact,"                                                   \
    " (SELECT r.revision FROM revision AS r WHERE r.hash = job.hash),"                             \
    " (SELECT r.state FROM revision AS r WHERE r.hash = job.hash)"

static dpot_status count_queued(struct sqlite_store *s, int64_t *n, struct dpot_error *error)
{
    return database_ask(s->database, "SELECT count(*) FROM job WHERE state = 1", n, NULL, 0, error);
}

static dpot_status insert_job(struct sqlite_store *s, const struct job_record *record,
                              struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_ADD_JOB,
                                 "INSERT INTO job (id, kind, campaign_id, hash, parameters, state,"
                                 " created_ms) VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)");
    query_bind_bytes(q, 1, record->id, sizeof record->id);
    query_bind_text(q, 2, record->kind);
    query_bind_bytes(q, 3, record->campaign_id, sizeof record->campaign_id);
    query_bind_bytes(q, 4, record->hash, sizeof record->hash);
    query_bind_text(q, 5, record->parameters);
    query_bind_integer(q, 6, record->created_ms);
    return query_run(q) ? DPOT_OK : database_fail(s->database, "adding a job", error);
}

dpot_status sqlite_store_add_job(struct store *store, const struct job_record *record,
                                 struct dpot_error *error)
{
    int64_t n_queued = 0;
    struct sqlite_store *s = sqlite_store_lock(store);
    dpot_status status = count_queued(s, &n_queued, error);
    if (status == DPOT_OK && n_queued >= JOB_QUEUED_MAX) {
        status = dpot_error_set(error, DPOT_ERR_BUSY,
                                "%lld jobs wait already, the most that may: wait until one has "
                                "begun, or cancel some",
                                (long long)n_queued);
    }
    if (status == DPOT_OK) {
        status = insert_job(s, record, error);
    }
    sqlite_store_unlock(s);
    return status;
}

/* False: the column is not text, or too long. */
static bool read_text(struct query q, int column, char *out, size_t cap)
{
    const char *text = query_text(q, column);
    const size_t len = text ? strlen(text) : cap;
    if (len >= cap) {
        return false;
    }
    memcpy(out, text, len + 1);
    return true;
}

static dpot_status read_record(struct query q, struct job_record *record, struct dpot_error *error)
{
    const int64_t state = query_integer(q, 5);
    *record = (struct job_record){.n_done = (uint64_t)query_integer(q, 6),
                                  .n_total = (uint64_t)query_integer(q, 7),
                                  .n_attempts = (uint32_t)query_integer(q, 12),
                                  .created_ms = query_integer(q, 8),
                                  .started_ms = query_integer(q, 9),
                                  .ended_ms = query_integer(q, 10),
                                  .revision = (uint32_t)query_integer(q, 14), /* NULL reads as 0 */
                                  .revision_state = (enum revision_state)query_integer(q, 15)};
    if (!sqlite_store_read_bytes(q, 0, record->id, sizeof record->id) ||
        !read_text(q, 1, record->kind, sizeof record->kind) ||
        !sqlite_store_read_bytes(q, 2, record->campaign_id, sizeof record->campaign_id) ||
        !sqlite_store_read_bytes(q, 3, record->hash, sizeof record->hash) ||
        !read_text(q, 4, record->parameters, sizeof record->parameters) || state < JOB_QUEUED ||
        state > JOB_CANCELLED || !read_text(q, 11, record->sentence, sizeof record->sentence) ||
        (state == JOB_DONE &&
         !sqlite_store_read_bytes(q, 13, record->artifact, sizeof record->artifact))) {
        return sqlite_store_fail_corrupt("a job", error);
    }
    record->state = (enum job_state)state;
    return DPOT_OK;
}

#define JOB_SEQ_COLUMN 16 /* of those statements that read it */

/* Reads at most one row, and its seq unless that is NULL. DPOT_ERR_NOT_FOUND without a sentence. */
static dpot_status read_one_at(struct sqlite_store *s, struct query q, struct job_record *record,
                               int64_t *seq, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    switch (query_step(q)) {
    case QUERY_ROW:
        status = read_record(q, record, error);
        if (seq) {
            *seq = query_integer(q, JOB_SEQ_COLUMN);
        }
        break;
    case QUERY_DONE:
        status = DPOT_ERR_NOT_FOUND;
        break;
    case QUERY_FAILED:
        status = database_fail(s->database, "reading a job", error);
        break;
    }
    query_finish(q);
    return status;
}

static dpot_status read_one(struct sqlite_store *s, struct query q, struct job_record *record,
                            struct dpot_error *error)
{
    return read_one_at(s, q, record, NULL, error);
}

static dpot_status fail_not_found(struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_NOT_FOUND, "no job has this id: check it");
}

dpot_status sqlite_store_get_job(struct store *store, const uint8_t *id, struct job_record *record,
                                 struct dpot_error *error)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    struct query q = query_start(s->database, STATEMENT_GET_JOB,
                                 "SELECT " JOB_COLUMNS " FROM job WHERE id = ?1");
    query_bind_bytes(q, 1, id, JOB_ID_LEN);
    const dpot_status status = read_one(s, q, record, error);
    sqlite_store_unlock(s);
    return status == DPOT_ERR_NOT_FOUND ? fail_not_found(error) : status;
}

dpot_status sqlite_store_next_job(struct store *store, struct job_record *record,
                                  struct dpot_error *error)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    struct query q =
        query_start(s->database, STATEMENT_NEXT_JOB,
                    "SELECT " JOB_COLUMNS " FROM job WHERE state = 1 ORDER BY seq LIMIT 1");
    const dpot_status status = read_one(s, q, record, error);
    sqlite_store_unlock(s);
    return status;
}

dpot_status sqlite_store_find_maker(struct sqlite_store *s, const uint8_t *digest,
                                    struct job_record *record, struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_FIND_MAKER,
                                 "SELECT " JOB_COLUMNS
                                 " FROM job WHERE artifact = ?1 ORDER BY seq DESC LIMIT 1");
    query_bind_bytes(q, 1, digest, DPOT_HASH_LEN);
    return read_one(s, q, record, error);
}

dpot_status sqlite_store_next_missing(struct sqlite_store *s, int64_t *seq,
                                      struct job_record *record, struct dpot_error *error)
{
    /* Bare columns beside max() are those of its row (sqlite.org/lang_select.html). */
    struct query q = query_start(s->database, STATEMENT_NEXT_MISSING,
                                 "SELECT " JOB_COLUMNS ", max(seq) AS last FROM job WHERE state = 3"
                                 " AND artifact NOT IN (SELECT digest FROM artifact)"
                                 " GROUP BY artifact HAVING last > ?1 ORDER BY last LIMIT 1");
    query_bind_integer(q, 1, *seq);
    return read_one_at(s, q, record, seq, error);
}

#define LIST_STEP 100 /* jobs in memory at once */

/* The place in the order of the job `after`, under the lock; NULL: after all. */
static dpot_status find_place(struct sqlite_store *s, const uint8_t *after, int64_t *seq,
                              struct dpot_error *error)
{
    *seq = INT64_MAX;
    if (!after) {
        return DPOT_OK;
    }
    struct query q =
        query_start(s->database, STATEMENT_FIND_JOB, "SELECT seq FROM job WHERE id = ?1");
    query_bind_bytes(q, 1, after, JOB_ID_LEN);
    const enum query_outcome outcome = query_step(q);
    *seq = outcome == QUERY_ROW ? query_integer(q, 0) : 0;
    const dpot_status status = outcome == QUERY_ROW      ? DPOT_OK
                               : outcome == QUERY_FAILED ? database_fail(s->database,
                                                                         "reading a "
                                                                         "job",
                                                                         error)
                                                         : fail_not_found(error);
    query_finish(q);
    return status;
}

/* Appends at most LIST_STEP records before *seq to `out`, as structs, and moves *seq. */
static dpot_status gather_records(struct sqlite_store *s, int64_t *seq, struct dpot_buf *out,
                                  struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_LIST_JOBS,
                                 "SELECT " JOB_COLUMNS ", seq FROM job WHERE seq < ?1"
                                 " ORDER BY seq DESC LIMIT ?2");
    query_bind_integer(q, 1, *seq);
    query_bind_integer(q, 2, LIST_STEP);
    dpot_status status = DPOT_OK;
    enum query_outcome outcome = query_step(q);
    while (status == DPOT_OK && outcome == QUERY_ROW) {
        struct job_record record;
        status = read_record(q, &record, error);
        *seq = query_integer(q, JOB_SEQ_COLUMN);
        if (status == DPOT_OK) {
            status = dpot_buf_append(out, &record, sizeof record);
        }
        outcome = query_step(q);
    }
    if (status == DPOT_OK && outcome == QUERY_FAILED) {
        status = database_fail(s->database, "listing jobs", error);
    }
    query_finish(q);
    return status;
}

/* Returns whether the caller has enough. */
static bool pass_on(const struct dpot_buf *records, store_each_job each, void *ctx)
{
    bool is_enough = false;
    for (size_t at = 0; !is_enough && at < records->len; at += sizeof(struct job_record)) {
        struct job_record record;
        memcpy(&record, records->data + at, sizeof record);
        is_enough = each(ctx, &record) != 0;
    }
    return is_enough;
}

dpot_status sqlite_store_list_jobs(struct store *store, const uint8_t *after, store_each_job each,
                                   void *ctx, struct dpot_error *error)
{
    struct dpot_buf records;
    int64_t seq = 0;
    bool is_enough = false;
    dpot_buf_init(&records, SIZE_MAX, NULL);
    struct sqlite_store *s = sqlite_store_lock(store);
    dpot_status status = find_place(s, after, &seq, error);
    sqlite_store_unlock(s);
    while (status == DPOT_OK && !is_enough) {
        dpot_buf_reset(&records);
        s = sqlite_store_lock(store);
        status = gather_records(s, &seq, &records, error);
        sqlite_store_unlock(s);
        is_enough = status == DPOT_OK && (pass_on(&records, each, ctx) || records.len == 0);
    }
    dpot_buf_release(&records);
    return status;
}

/* Inside a transaction (T4). */
static dpot_status check_not_ended(struct sqlite_store *s, const uint8_t *id,
                                   struct dpot_error *error)
{
    struct query q =
        query_start(s->database, STATEMENT_GET_JOB_STATE, "SELECT state FROM job WHERE id = ?1");
    query_bind_bytes(q, 1, id, JOB_ID_LEN);
    dpot_status status = DPOT_OK;
    switch (query_step(q)) {
    case QUERY_ROW: {
        const int64_t state = query_integer(q, 0);
        if (state != JOB_QUEUED && state != JOB_RUNNING) {
            status = dpot_error_set(error, DPOT_ERR_STATE, "the job is %s: start a new one",
                                    job_state_name((enum job_state)state));
        }
        break;
    }
    case QUERY_DONE:
        status = fail_not_found(error);
        break;
    case QUERY_FAILED:
        status = database_fail(s->database, "reading a job", error);
        break;
    }
    query_finish(q);
    return status;
}

/* Inside a transaction; `artifact` is NULL for a job that is not done. */
static dpot_status write_job(struct sqlite_store *s, const struct job_record *record,
                             enum job_state state, const uint8_t *artifact,
                             struct dpot_error *error)
{
    const dpot_status status = check_not_ended(s, record->id, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct query q = query_start(s->database, STATEMENT_UPDATE_JOB,
                                 "UPDATE job SET state = ?2, n_done = ?3, n_total = ?4,"
                                 " started_ms = ?5, ended_ms = ?6, sentence = ?7, n_attempts = ?8,"
                                 " artifact = ?9 WHERE id = ?1");
    query_bind_bytes(q, 1, record->id, sizeof record->id);
    query_bind_integer(q, 2, (int64_t)state);
    query_bind_integer(q, 3, (int64_t)record->n_done);
    query_bind_integer(q, 4, (int64_t)record->n_total);
    query_bind_integer(q, 5, record->started_ms);
    query_bind_integer(q, 6, record->ended_ms);
    query_bind_text(q, 7, record->sentence);
    query_bind_integer(q, 8, record->n_attempts);
    if (artifact) {
        query_bind_bytes(q, 9, artifact, DPOT_HASH_LEN); /* else NULL */
    }
    return query_run(q) ? DPOT_OK : database_fail(s->database, "changing a job", error);
}

dpot_status sqlite_store_update_job(struct store *store, const struct job_record *record,
                                    struct dpot_error *error)
{
    if (record->state == JOB_DONE) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT, "a job is done with its artifact only");
    }
    struct sqlite_store *s = sqlite_store_lock(store);
    dpot_status status = database_begin(s->database, error);
    if (status == DPOT_OK) {
        status = write_job(s, record, record->state, NULL, error);
        status = database_end(s->database, status, error);
    }
    sqlite_store_unlock(s);
    return status;
}

dpot_status sqlite_store_finish_job(struct store *store, struct job_record *record,
                                    const void *artifact, size_t len, struct dpot_error *error)
{
    uint8_t digest[DPOT_HASH_LEN];
    dpot_hash(digest, artifact, len);
    struct sqlite_store *s = sqlite_store_lock(store);
    dpot_status status = database_begin(s->database, error);
    if (status == DPOT_OK) {
        status = sqlite_store_add_artifact(s, digest, artifact, len, error);
        if (status == DPOT_OK) {
            status = write_job(s, record, JOB_DONE, digest, error);
        }
        status = database_end(s->database, status, error);
    }
    sqlite_store_unlock(s);
    if (status == DPOT_OK) {
        record->state = JOB_DONE;
        memcpy(record->artifact, digest, sizeof record->artifact);
    }
    return status;
}

/* Inside a transaction. */
static dpot_status requeue(struct sqlite_store *s, int64_t now_ms, struct dpot_error *error)
{
    struct query q = query_start(
        s->database, STATEMENT_FAIL_JOBS,
        "UPDATE job SET state = 4, ended_ms = ?1, sentence = 'the server stopped ' || n_attempts ||"
        " ' times while it ran this job: it may need more memory than there is'"
        " WHERE state = 2 AND n_attempts >= ?2");
    query_bind_integer(q, 1, now_ms);
    query_bind_integer(q, 2, JOB_ATTEMPTS_MAX);
    if (!query_run(q)) {
        return database_fail(s->database, "ending jobs", error);
    }
    q = query_start(s->database, STATEMENT_REQUEUE_JOBS,
                    "UPDATE job SET state = 1, started_ms = 0, n_done = 0, n_total = 0"
                    " WHERE state = 2");
    return query_run(q) ? DPOT_OK : database_fail(s->database, "queueing jobs again", error);
}

dpot_status sqlite_store_requeue_jobs(struct store *store, int64_t now_ms, struct dpot_error *error)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    dpot_status status = database_begin(s->database, error);
    if (status == DPOT_OK) {
        status = database_end(s->database, requeue(s, now_ms, error), error);
    }
    sqlite_store_unlock(s);
    return status;
}
