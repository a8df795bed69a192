#include "store/commit_sum.h"
#include "store/packed.h"
#include "store/sqlite_store.h"

#include <stdio.h>
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

static dpot_status sum_counts(struct database *reader, struct query q, struct pool_count *count,
                              struct dpot_error *error)
{
    *count = (struct pool_count){0};
    enum query_outcome outcome = query_step(q);
    while (outcome == QUERY_ROW) {
        set_count(count, query_integer(q, 0), (uint64_t)query_integer(q, 1));
        outcome = query_step(q);
    }
    const dpot_status status =
        outcome == QUERY_DONE ? DPOT_OK : database_fail(reader, "counting reports", error);
    query_finish(q);
    return status;
}

dpot_status sqlite_store_count_pool(struct store *store, const uint8_t *hash,
                                    struct pool_count *count, struct dpot_error *error)
{
    struct database *reader = sqlite_store_lock_reader(store);
    struct query q = query_start(reader, STATEMENT_COUNT_POOL,
                                 "SELECT status, n FROM pool_count WHERE hash = ?1");
    query_bind_bytes(q, 1, hash, DPOT_HASH_LEN);
    const dpot_status status = sum_counts(reader, q, count, error);
    sqlite_store_unlock_reader(reader);
    return status;
}

static dpot_status count_drops(struct database *reader, uint64_t *n_dropped,
                               struct dpot_error *error)
{
    struct query q = query_start(reader, STATEMENT_COUNT_DROPS, "SELECT reason, n FROM drop_count");
    enum query_outcome outcome = query_step(q);
    memset(n_dropped, 0, DROP_REASONS * sizeof *n_dropped);
    while (outcome == QUERY_ROW) {
        const uint64_t reason = (uint64_t)query_integer(q, 0);
        if (reason < DROP_REASONS) {
            n_dropped[reason] = (uint64_t)query_integer(q, 1);
        }
        outcome = query_step(q);
    }
    const dpot_status status =
        outcome == QUERY_DONE ? DPOT_OK : database_fail(reader, "counting reports", error);
    query_finish(q);
    return status;
}

dpot_status sqlite_store_count_all(struct store *store, struct pool_count *count,
                                   uint64_t *n_dropped, struct dpot_error *error)
{
    struct database *reader = sqlite_store_lock_reader(store);
    struct query q = query_start(reader, STATEMENT_COUNT_ALL,
                                 "SELECT status, sum(n) FROM pool_count GROUP BY status");
    dpot_status status = sum_counts(reader, q, count, error);
    if (status == DPOT_OK) {
        status = count_drops(reader, n_dropped, error);
    }
    sqlite_store_unlock_reader(reader);
    return status;
}

static dpot_status add_drop(struct sqlite_store *s, size_t reason, uint64_t n,
                            struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_ADD_DROPS,
                                 "INSERT INTO drop_count (reason, n) VALUES (?1, ?2)"
                                 " ON CONFLICT (reason) DO UPDATE SET n = n + excluded.n");
    query_bind_integer(q, 1, (int64_t)reason);
    query_bind_integer(q, 2, (int64_t)n);
    return query_run(q) ? DPOT_OK : database_fail(s->database, "counting reports", error);
}

dpot_status sqlite_store_add_drops(struct store *store, const uint64_t *n, struct dpot_error *error)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    dpot_status status = database_begin(s->database, error);
    if (status == DPOT_OK) {
        for (size_t i = 0; status == DPOT_OK && i < DROP_REASONS; i++) {
            status = n[i] > 0 ? add_drop(s, i, n[i], error) : DPOT_OK;
        }
        status = database_end(s->database, status, error);
    }
    sqlite_store_unlock(s);
    return status;
}

/* SQLite keeps in a column of integers whatever is put there, and reads it as some integer. */
static bool has_numbers(struct query query)
{
    static const struct {
        int column;
        int64_t min, max;
    } ranges[] = {
        {COLUMN_ROUND, 0, UINT32_MAX},
        {COLUMN_SEQ, 1, INT64_MAX},
        {COLUMN_FORMAT, 0, INT64_MAX},    /* which there are is packed_open's to know, */
        {COLUMN_N_REPORTS, 1, INT64_MAX}, /* and how many fit */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (!query_is_integer(query, ranges[i].column) ||
            query_integer(query, ranges[i].column) < ranges[i].min ||
            query_integer(query, ranges[i].column) > ranges[i].max) {
            return false;
        }
    }
    return true;
}

/* The seq is an integer whatever the others are: it is the number of the row. */
static dpot_status refuse_numbers(struct query query, struct dpot_error *error)
{
    char what[120];
    (void)snprintf(
        what, sizeof what,
        "a block of reports (commit %lld, whose round, format or count is no such number)",
        (long long)query_integer(query, COLUMN_SEQ));
    return sqlite_store_fail_corrupt(what, error);
}

static bool has_sum(struct query query, const struct commit_row *row)
{
    uint8_t written[COMMIT_SUM_LEN], sum[COMMIT_SUM_LEN];
    commit_sum(row, sum);
    return sqlite_store_read_bytes(query, COLUMN_SUM, written, sizeof written) &&
           memcmp(sum, written, sizeof sum) == 0;
}

dpot_status sqlite_store_read_block(struct query query, const uint8_t *hash,
                                    struct packed_block *block, struct dpot_error *error)
{
    char what[80];
    if (!has_numbers(query)) {
        return refuse_numbers(query, error);
    }
    struct commit_row row = {.hash = hash,
                             .hash_len = DPOT_HASH_LEN,
                             .round = query_integer(query, COLUMN_ROUND),
                             .seq = query_integer(query, COLUMN_SEQ),
                             .format = query_integer(query, COLUMN_FORMAT),
                             .n_reports = query_integer(query, COLUMN_N_REPORTS)};
    row.reports = query_bytes(query, COLUMN_REPORTS, &row.len);
    if (has_sum(query, &row) &&
        packed_open(row.format, row.n_reports, row.reports, row.len, block) == DPOT_OK) {
        return DPOT_OK;
    }
    (void)snprintf(what, sizeof what, "a block of reports (commit %lld, round %lld)",
                   (long long)row.seq, (long long)row.round);
    return sqlite_store_fail_corrupt(what, error);
}

/* Where a reader of a pool stands: commits are read one by one, so that writers wait for none of
 * it. */
struct pool_cursor {
    uint8_t hash[DPOT_HASH_LEN];
    int64_t round;
    int64_t seq;
    int64_t last_seq;   /* later commits came after the reading began */
    uint64_t n_counted; /* accepted reports up to there, by the counter */
    uint64_t n_read;
    struct packed_block block; /* of `blob` */
    struct dpot_buf blob;      /* a copy: the row dies with its query */
    int64_t *values;           /* (n_values) of the report being shown */
    size_t n_values;
};

/* Where the reading ends, and how many reports are to be found until there: one statement, because
 * commits and counter move together. */
static dpot_status find_last(struct database *reader, struct pool_cursor *cursor,
                             struct dpot_error *error)
{
    struct query q = query_start(reader, STATEMENT_LAST_COMMIT,
                                 "SELECT (SELECT max(seq) FROM commits),"
                                 " (SELECT n FROM pool_count WHERE hash = ?1 AND status = ?2)");
    query_bind_bytes(q, 1, cursor->hash, sizeof cursor->hash);
    query_bind_integer(q, 2, DPOT_REPORT_ACCEPTED);
    dpot_status status = DPOT_OK;
    if (query_step(q) == QUERY_ROW) {
        cursor->last_seq = query_integer(q, 0);
        cursor->n_counted = (uint64_t)query_integer(q, 1);
    } else {
        status = database_fail(reader, "reading reports", error);
    }
    query_finish(q);
    return status;
}

/* Room for the values of one report. */
static dpot_status reserve_values(struct pool_cursor *cursor, size_t n)
{
    if (n <= cursor->n_values) {
        return DPOT_OK;
    }
    int64_t *values = dpot_resize_array(NULL, cursor->values, cursor->n_values, n, sizeof *values);
    if (!values) {
        return DPOT_ERR_MEMORY;
    }
    cursor->values = values;
    cursor->n_values = n;
    return DPOT_OK;
}

/* Moves on to the commit that was found. One that is not behind the cursor would be found for ever: only an
 * index that is not of its table gives such. */
static dpot_status advance(struct pool_cursor *cursor, struct query q, struct dpot_error *error)
{
    const int64_t round = query_integer(q, COLUMN_ROUND), seq = query_integer(q, COLUMN_SEQ);
    const bool is_later = round == cursor->round ? seq > cursor->seq : round > cursor->round;
    cursor->round = round;
    cursor->seq = seq;
    return is_later ? DPOT_OK : sqlite_store_fail_corrupt("the order of commits", error);
}

static dpot_status load_commit(struct pool_cursor *cursor, struct query q, struct dpot_error *error)
{
    size_t len = 0;
    dpot_status status = sqlite_store_read_block(q, cursor->hash, &cursor->block, error);
    if (status == DPOT_OK) {
        status = advance(cursor, q, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    (void)query_bytes(q, COLUMN_REPORTS, &len);
    status = dpot_buf_append(&cursor->blob, cursor->block.data, len);
    if (status == DPOT_OK) {
        status = reserve_values(cursor, cursor->block.layout.dim);
    }
    cursor->block.data = cursor->blob.data;
    return status == DPOT_OK
               ? status
               : dpot_error_set(error, status, "out of memory for a commit of %zu bytes", len);
}

#define COMMITS "SELECT " SQLITE_COMMIT_COLUMNS " FROM commits "

/* In the cursor's round, or in the next one that has a commit: two questions, each of which the index
 * commits_pool answers in one step. One question about (round, seq) makes SQLite walk over all that is
 * before it in the round, and a pool of n commits takes n^2 steps. */
static struct query ask_next(struct database *reader, const struct pool_cursor *cursor,
                             bool in_round)
{
    struct query q = in_round ? query_start(reader, STATEMENT_NEXT_COMMIT,
                                            COMMITS "WHERE hash = ?1 AND round = ?2 AND seq > ?4"
                                                    " AND seq <= ?3 ORDER BY seq LIMIT 1")
                              : query_start(reader, STATEMENT_NEXT_ROUND,
                                            COMMITS "WHERE hash = ?1 AND round > ?2"
                                                    " AND seq <= ?3 ORDER BY round, seq LIMIT 1");
    query_bind_bytes(q, 1, cursor->hash, sizeof cursor->hash);
    query_bind_integer(q, 2, cursor->round);
    query_bind_integer(q, 3, cursor->last_seq);
    if (in_round) {
        query_bind_integer(q, 4, cursor->seq);
    }
    return q;
}

static dpot_status load_next(struct database *reader, struct pool_cursor *cursor, bool in_round,
                             struct dpot_error *error)
{
    struct query q = ask_next(reader, cursor, in_round);
    dpot_status status = DPOT_OK;
    switch (query_step(q)) {
    case QUERY_ROW:
        status = load_commit(cursor, q, error);
        break;
    case QUERY_DONE:
        break;
    case QUERY_FAILED:
        status = database_fail(reader, "reading reports", error);
        break;
    }
    query_finish(q);
    return status;
}

/* Loads the commit after the cursor; an empty blob means that there is none. */
static dpot_status next_commit(struct database *reader, struct pool_cursor *cursor,
                               struct dpot_error *error)
{
    dpot_buf_reset(&cursor->blob);
    dpot_status status = load_next(reader, cursor, true, error);
    if (status == DPOT_OK && cursor->blob.len == 0) {
        status = load_next(reader, cursor, false, error);
    }
    return status;
}

/* True when `each` wants no more. */
static bool visit(struct pool_cursor *cursor, store_each_report each, void *ctx)
{
    for (size_t i = 0; i < cursor->block.n_reports; i++) {
        struct dpot_report report;
        packed_read(&cursor->block, i, cursor->values, &report);
        cursor->n_read++;
        if (each(ctx, (uint32_t)cursor->round, &report) != 0) {
            return true;
        }
    }
    return false;
}

/* (T3): rows of commits that are gone, or came from elsewhere, are seen by the counter alone. */
static dpot_status check_count(const struct pool_cursor *cursor, struct dpot_error *error)
{
    return cursor->n_read == cursor->n_counted
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_CORRUPT,
                                "the store holds %llu report%s and counted %llu: restore it from a "
                                "backup",
                                (unsigned long long)cursor->n_read, DPOT_S(cursor->n_read),
                                (unsigned long long)cursor->n_counted);
}

static dpot_status start(struct database *reader, struct pool_cursor *cursor,
                         struct dpot_error *error)
{
    const dpot_status status = find_last(reader, cursor, error);
    return status == DPOT_OK ? next_commit(reader, cursor, error) : status;
}

dpot_status sqlite_store_read_pool(struct store *store, const uint8_t *hash, store_each_report each,
                                   void *ctx, struct dpot_error *error)
{
    struct pool_cursor cursor = {.seq = 0};
    bool is_ended = false;
    memcpy(cursor.hash, hash, sizeof cursor.hash);
    dpot_buf_init(&cursor.blob, SIZE_MAX, NULL);
    struct database *reader = sqlite_store_lock_reader(store);
    dpot_status status = start(reader, &cursor, error);
    sqlite_store_unlock_reader(reader);
    while (status == DPOT_OK && cursor.blob.len > 0 && !is_ended) {
        is_ended = visit(&cursor, each, ctx);
        reader = sqlite_store_lock_reader(store);
        status = is_ended ? DPOT_OK : next_commit(reader, &cursor, error);
        sqlite_store_unlock_reader(reader);
    }
    if (status == DPOT_OK && !is_ended) {
        status = check_count(&cursor, error);
    }
    dpot_free_array(NULL, cursor.values, cursor.n_values, sizeof *cursor.values);
    dpot_buf_release(&cursor.blob);
    return status;
}
