#include "store/packed.h"
#include "store/sqlite_store.h"

#include <string.h>

static void set_count(struct pool_count *count, int64_t status, uint64_t n)
{
    if (status == DPOT_REPORT_ACCEPTED) {
        count->n_accepted = n;
    } else if (status == DPOT_REPORT_DUPLICATE) {
        count->n_duplicate = n;
    } else if (status > 0 && status < DPOT_REPORT_STATUS_END) {
        count->n_rejected[status] = n;
    }
}

dpot_status sqlite_store_count_pool(struct store *store, const uint8_t *hash,
                                    struct pool_count *count, struct dpot_error *error)
{
    *count = (struct pool_count){0};
    struct sqlite_store *s = sqlite_store_lock(store);
    struct query q = query_start(s->database, STATEMENT_COUNT_POOL,
                                 "SELECT status, n FROM pool_count WHERE hash = ?1");
    query_bind_bytes(q, 1, hash, DPOT_HASH_LEN);
    enum query_outcome outcome = query_step(q);
    while (outcome == QUERY_ROW) {
        set_count(count, query_integer(q, 0), (uint64_t)query_integer(q, 1));
        outcome = query_step(q);
    }
    const dpot_status status =
        outcome == QUERY_DONE ? DPOT_OK : database_fail(s->database, "counting reports", error);
    query_finish(q);
    sqlite_store_unlock(s);
    return status;
}

dpot_status sqlite_store_read_blob(struct query query, int first_column, const uint8_t **blob,
                                   size_t *n_reports, struct dpot_error *error)
{
    size_t len = 0;
    const int64_t format = query_integer(query, first_column);
    const int64_t n = query_integer(query, first_column + 1);
    *blob = query_bytes(query, first_column + 2, &len);
    *n_reports = len / PACKED_REPORT_LEN;
    if (format != PACKED_FORMAT_INDEX || !*blob || n != (int64_t)*n_reports ||
        len != *n_reports * PACKED_REPORT_LEN) {
        return sqlite_store_fail_corrupt("a block of reports", error);
    }
    return DPOT_OK;
}

/* Where a reader of a pool stands: commits are read one by one, so that writers wait for none of
 * it. */
struct pool_cursor {
    uint8_t hash[DPOT_HASH_LEN];
    int64_t round;
    int64_t seq;
    int64_t last_seq; /* later commits came after the reading began */
    struct dpot_buf blob;
};

static dpot_status find_last(struct sqlite_store *s, int64_t *last_seq, struct dpot_error *error)
{
    struct query q =
        query_start(s->database, STATEMENT_LAST_COMMIT, "SELECT max(seq) FROM commits");
    dpot_status status = DPOT_OK;
    if (query_step(q) == QUERY_ROW) {
        *last_seq = query_integer(q, 0);
    } else {
        status = database_fail(s->database, "reading reports", error);
    }
    query_finish(q);
    return status;
}

static dpot_status load_commit(struct pool_cursor *cursor, struct query q, struct dpot_error *error)
{
    const uint8_t *blob = NULL;
    size_t n = 0;
    cursor->round = query_integer(q, 0);
    cursor->seq = query_integer(q, 1);
    dpot_status status = sqlite_store_read_blob(q, 2, &blob, &n, error);
    if (status == DPOT_OK) {
        status = dpot_buf_append(&cursor->blob, blob, n * PACKED_REPORT_LEN);
    }
    return status;
}

/* Loads the commit after the cursor; an empty blob means that there is none. */
static dpot_status next_commit(struct sqlite_store *s, struct pool_cursor *cursor,
                               struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_NEXT_COMMIT,
                                 "SELECT round, seq, format, n_reports, reports FROM commits"
                                 " WHERE hash = ?1 AND (round, seq) > (?2, ?3) AND seq <= ?4"
                                 " ORDER BY round, seq LIMIT 1");
    query_bind_bytes(q, 1, cursor->hash, sizeof cursor->hash);
    query_bind_integer(q, 2, cursor->round);
    query_bind_integer(q, 3, cursor->seq);
    query_bind_integer(q, 4, cursor->last_seq);
    dpot_buf_reset(&cursor->blob);
    dpot_status status = DPOT_OK;
    switch (query_step(q)) {
    case QUERY_ROW:
        status = load_commit(cursor, q, error);
        break;
    case QUERY_DONE:
        break;
    case QUERY_FAILED:
        status = database_fail(s->database, "reading reports", error);
        break;
    }
    query_finish(q);
    return status;
}

/* True when `each` wants no more. */
static bool visit(const struct pool_cursor *cursor, store_each_report each, void *ctx)
{
    for (size_t i = 0; i < cursor->blob.len / PACKED_REPORT_LEN; i++) {
        struct dpot_report report;
        packed_read(cursor->blob.data, i, &report);
        if (each(ctx, (uint32_t)cursor->round, &report) != 0) {
            return true;
        }
    }
    return false;
}

dpot_status sqlite_store_read_pool(struct store *store, const uint8_t *hash, store_each_report each,
                                   void *ctx, struct dpot_error *error)
{
    struct pool_cursor cursor = {.seq = 0};
    memcpy(cursor.hash, hash, sizeof cursor.hash);
    dpot_buf_init(&cursor.blob, SIZE_MAX, NULL);
    struct sqlite_store *s = sqlite_store_lock(store);
    dpot_status status = find_last(s, &cursor.last_seq, error);
    if (status == DPOT_OK) {
        status = next_commit(s, &cursor, error);
    }
    sqlite_store_unlock(s);
    while (status == DPOT_OK && cursor.blob.len > 0 && !visit(&cursor, each, ctx)) {
        s = sqlite_store_lock(store);
        status = next_commit(s, &cursor, error);
        sqlite_store_unlock(s);
    }
    dpot_buf_release(&cursor.blob);
    return status;
}
