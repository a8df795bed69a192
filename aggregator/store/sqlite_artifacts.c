#include "store/sqlite_store.h"

#include <string.h>

/* Appends the artifact of the row to `out`. DPOT_ERR_CORRUPT if its bytes do not have this
 * digest. */
static dpot_status read_row(struct query q, const uint8_t *digest, struct dpot_buf *out,
                            struct dpot_error *error)
{
    uint8_t found[DPOT_HASH_LEN];
    size_t len = 0;
    const uint8_t *data = query_bytes(q, 0, &len);
    dpot_hash(found, data ? data : found, data ? len : 0);
    if (memcmp(found, digest, sizeof found) != 0) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "an artifact in the store is not what was written: start its job "
                              "again, which repairs it, or restore the file from a backup");
    }
    const dpot_status status = dpot_buf_append(out, data, len);
    return status == DPOT_OK
               ? status
               : dpot_error_set(error, status, "no room for an artifact of %zu bytes", len);
}

/* Under the lock. */
static dpot_status read_artifact(struct sqlite_store *s, const uint8_t *digest,
                                 struct dpot_buf *out, struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_GET_ARTIFACT,
                                 "SELECT bytes FROM artifact WHERE digest = ?1");
    query_bind_bytes(q, 1, digest, DPOT_HASH_LEN);
    dpot_status status = DPOT_OK;
    switch (query_step(q)) {
    case QUERY_ROW:
        status = read_row(q, digest, out, error);
        break;
    case QUERY_DONE:
        status = dpot_error_set(error, DPOT_ERR_NOT_FOUND, "no artifact has this digest: check it");
        break;
    case QUERY_FAILED:
        status = database_fail(s->database, "reading an artifact", error);
        break;
    }
    query_finish(q);
    return status;
}

/* Names the job whose artifact is missing, if there is one; under the lock. */
static dpot_status fail_missing(struct sqlite_store *s, const uint8_t *digest,
                                struct dpot_error *error)
{
    struct job_record job;
    char id[2 * JOB_ID_LEN + 1];
    struct dpot_error ignored;
    if (sqlite_store_find_maker(s, digest, &job, &ignored) != DPOT_OK) {
        return DPOT_ERR_NOT_FOUND; /* the sentence is set already */
    }
    dpot_hex_encode(id, job.id, sizeof job.id);
    return dpot_error_set(error, DPOT_ERR_NOT_FOUND,
                          "the artifact of %s job %s is missing in the store: start that job again "
                          "with its campaign and parameters (dpot job show), which makes it again "
                          "when the result is the same, or restore the store from a backup",
                          job.kind, id);
}

dpot_status sqlite_store_get_artifact(struct store *store, const uint8_t *digest,
                                      struct dpot_buf *out, struct dpot_error *error)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    dpot_status status = read_artifact(s, digest, out, error);
    if (status == DPOT_ERR_NOT_FOUND) {
        status = fail_missing(s, digest, error);
    }
    sqlite_store_unlock(s);
    return status;
}

/* Runs a statement with parameters (digest, bytes), inside a transaction. */
static dpot_status write_artifact(struct sqlite_store *s, struct query q, const uint8_t *digest,
                                  const void *data, size_t len, struct dpot_error *error)
{
    query_bind_bytes(q, 1, digest, DPOT_HASH_LEN);
    query_bind_bytes(q, 2, data, len);
    return query_run(q) ? DPOT_OK : database_fail(s->database, "storing an artifact", error);
}

static dpot_status insert(struct sqlite_store *s, const uint8_t *digest, const void *data,
                          size_t len, struct dpot_error *error)
{
    const struct query q = query_start(s->database, STATEMENT_ADD_ARTIFACT,
                                       "INSERT INTO artifact (digest, bytes) VALUES (?1, ?2)");
    return write_artifact(s, q, digest, data, len, error);
}

/* (T5): the stored bytes do not have this digest, these do. */
static dpot_status repair(struct sqlite_store *s, const uint8_t *digest, const void *data,
                          size_t len, struct dpot_error *error)
{
    const struct query q = query_start(s->database, STATEMENT_REPAIR_ARTIFACT,
                                       "UPDATE artifact SET bytes = ?2 WHERE digest = ?1");
    return write_artifact(s, q, digest, data, len, error);
}

/* Whether the artifact is stored, with bytes of this digest. */
static dpot_status check_stored(struct sqlite_store *s, const uint8_t *digest,
                                struct dpot_error *error)
{
    struct dpot_buf found;
    dpot_buf_init(&found, SIZE_MAX, NULL);
    const dpot_status status = read_artifact(s, digest, &found, error);
    dpot_buf_release(&found);
    return status;
}

dpot_status sqlite_store_add_artifact(struct sqlite_store *s, const uint8_t *digest,
                                      const void *data, size_t len, struct dpot_error *error)
{
    dpot_status status = check_stored(s, digest, error);
    if (status == DPOT_ERR_NOT_FOUND) {
        return insert(s, digest, data, len, error);
    }
    if (status == DPOT_ERR_CORRUPT) {
        status = repair(s, digest, data, len, error);
        return status == DPOT_OK ? check_stored(s, digest, error) : status;
    }
    return status;
}

/* ---- checking all artifacts ---- */

/* Reads the first artifact after *seq, under the lock. DPOT_ERR_NOT_FOUND: there is none. */
static dpot_status check_next(struct sqlite_store *s, int64_t *seq, uint8_t digest[DPOT_HASH_LEN],
                              bool *is_damaged, struct dpot_error *error)
{
    struct query q =
        query_start(s->database, STATEMENT_NEXT_ARTIFACT,
                    "SELECT seq, digest, bytes FROM artifact WHERE seq > ?1 ORDER BY seq LIMIT 1");
    query_bind_integer(q, 1, *seq);
    dpot_status status = DPOT_ERR_NOT_FOUND;
    const enum query_outcome outcome = query_step(q);
    if (outcome == QUERY_FAILED) {
        status = database_fail(s->database, "reading an artifact", error);
    } else if (outcome == QUERY_ROW) {
        uint8_t found[DPOT_HASH_LEN];
        size_t len = 0;
        const uint8_t *data = query_bytes(q, 2, &len);
        dpot_hash(found, data ? data : found, data ? len : 0);
        *seq = query_integer(q, 0);
        status = sqlite_store_read_bytes(q, 1, digest, DPOT_HASH_LEN)
                     ? DPOT_OK
                     : sqlite_store_fail_corrupt("the name of an artifact", error);
        *is_damaged = memcmp(found, digest, sizeof found) != 0;
    }
    query_finish(q);
    return status;
}

/* Checks one artifact, under the lock. *is_known: `job` is the job that made it. */
static dpot_status check_one(struct sqlite_store *s, int64_t *seq, uint8_t digest[DPOT_HASH_LEN],
                             bool *is_damaged, struct job_record *job, bool *is_known,
                             struct dpot_error *error)
{
    dpot_status status = check_next(s, seq, digest, is_damaged, error);
    if (status != DPOT_OK || !*is_damaged) {
        return status;
    }
    status = sqlite_store_find_maker(s, digest, job, error);
    *is_known = status == DPOT_OK;
    return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
}

/* *is_ended: `each` has returned non-zero. */
static dpot_status check_damaged(struct store *store, store_each_damage each, void *ctx,
                                 bool *is_ended, struct dpot_error *error)
{
    int64_t seq = INT64_MIN;
    while (!*is_ended) { /* the lock is released between two artifacts: a server may be running */
        struct job_record job;
        uint8_t digest[DPOT_HASH_LEN];
        bool is_damaged = false, is_known = false;
        struct sqlite_store *s = sqlite_store_lock(store);
        const dpot_status status = check_one(s, &seq, digest, &is_damaged, &job, &is_known, error);
        sqlite_store_unlock(s);
        if (status != DPOT_OK) {
            return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
        }
        *is_ended = is_damaged && each(ctx, digest, is_known ? &job : NULL, false) != 0;
    }
    return DPOT_OK;
}

static dpot_status check_missing(struct store *store, store_each_damage each, void *ctx,
                                 bool *is_ended, struct dpot_error *error)
{
    int64_t seq = INT64_MIN;
    while (!*is_ended) {
        struct job_record job;
        struct sqlite_store *s = sqlite_store_lock(store);
        const dpot_status status = sqlite_store_next_missing(s, &seq, &job, error);
        sqlite_store_unlock(s);
        if (status != DPOT_OK) {
            return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
        }
        *is_ended = each(ctx, job.artifact, &job, true) != 0;
    }
    return DPOT_OK;
}

dpot_status sqlite_store_check_artifacts(struct store *store, store_each_damage each, void *ctx,
                                         struct dpot_error *error)
{
    bool is_ended = false;
    const dpot_status status = check_damaged(store, each, ctx, &is_ended, error);
    return status == DPOT_OK ? check_missing(store, each, ctx, &is_ended, error) : status;
}
