/* Counts of reports, and reading them. */
#include "store/id_sorter.h"
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

/* ---- reading a pool ---- */

/* A round with reports. */
struct pool_round {
    int64_t round, n_merges;
};

/* The lock is released between two blocks. */
struct pool_reading {
    struct store *store;
    const uint8_t *hash;
    store_each_report each;
    void *ctx;
    struct id_sorter sorter; /* of one round */
    uint64_t n_counted;      /* accepted reports when reading began */
    uint64_t n_read;
    int64_t *values; /* (n_values) of one report, for `each` */
    size_t n_values;
    bool is_ended; /* `each` has returned non-zero */
    struct dpot_error *error;
};

static dpot_status count_accepted(struct pool_reading *reading, uint64_t *n)
{
    struct database *reader = sqlite_store_lock_reader(reading->store);
    struct query q = query_start(reader, STATEMENT_COUNT_ACCEPTED,
                                 "SELECT n FROM pool_count WHERE hash = ?1 AND status = ?2");
    query_bind_bytes(q, 1, reading->hash, DPOT_HASH_LEN);
    query_bind_integer(q, 2, DPOT_REPORT_ACCEPTED);
    const enum query_outcome outcome = query_step(q);
    *n = outcome == QUERY_ROW ? (uint64_t)query_integer(q, 0) : 0;
    const dpot_status status = outcome == QUERY_FAILED
                                   ? database_fail(reader, "reading reports", reading->error)
                                   : DPOT_OK;
    query_finish(q);
    sqlite_store_unlock_reader(reader);
    return status;
}

/* Reads the round after `round`; *is_found: there is one. */
static dpot_status next_round(struct pool_reading *reading, struct pool_round *round,
                              bool *is_found)
{
    struct database *reader = sqlite_store_lock_reader(reading->store);
    struct query q = query_start(reader, STATEMENT_LIST_ROUNDS,
                                 "SELECT round, n_merges FROM round WHERE hash = ?1 AND round > ?2"
                                 " ORDER BY round LIMIT 1");
    dpot_status status = DPOT_OK;
    query_bind_bytes(q, 1, reading->hash, DPOT_HASH_LEN);
    query_bind_integer(q, 2, round->round);
    const enum query_outcome outcome = query_step(q);
    *is_found = outcome == QUERY_ROW;
    if (*is_found && !query_is_integer(q, 0)) {
        status = sqlite_store_fail_corrupt("a round", reading->error);
    } else if (*is_found) {
        *round = (struct pool_round){query_integer(q, 0), query_integer(q, 1)};
    } else if (outcome == QUERY_FAILED) {
        status = database_fail(reader, "reading reports", reading->error);
    }
    query_finish(q);
    sqlite_store_unlock_reader(reader);
    return status;
}

/* The key of the last block that was read: its first id, or its number in older schemas. */
struct block_place {
    uint8_t first[DPOT_REPORT_ID_LEN];
    int64_t number;
    bool has_first;
};

static bool read_place(struct query q, struct block_place *place)
{
    place->number = query_integer(q, COLUMN_FIRST);
    place->has_first = !query_is_integer(q, COLUMN_FIRST);
    return !place->has_first ||
           sqlite_store_read_bytes(q, COLUMN_FIRST, place->first, sizeof place->first);
}

/* Adds the block after `place` to the sorter. In SQLite's order integers precede all ids. */
static dpot_status load_block(struct pool_reading *reading, const struct pool_round *round,
                              struct block_place *place, bool *is_found)
{
    struct database *reader = sqlite_store_lock_reader(reading->store);
    struct query q = query_start(reader, STATEMENT_NEXT_BLOCK,
                                 "SELECT " SQLITE_BLOCK_COLUMNS " FROM block WHERE hash = ?1"
                                 " AND round = ?2 AND first > ?3 ORDER BY first LIMIT 1");
    query_bind_bytes(q, 1, reading->hash, DPOT_HASH_LEN);
    query_bind_integer(q, 2, round->round);
    if (place->has_first) {
        query_bind_bytes(q, 3, place->first, sizeof place->first);
    } else {
        query_bind_integer(q, 3, place->number);
    }
    struct packed_block block;
    dpot_status status = DPOT_OK;
    const enum query_outcome outcome = query_step(q);
    *is_found = outcome == QUERY_ROW;
    if (*is_found) {
        status = sqlite_store_read_block(q, reading->hash, &block, reading->error);
        if (status == DPOT_OK && !read_place(q, place)) {
            status = sqlite_store_fail_corrupt("the key of a block", reading->error);
        }
        if (status == DPOT_OK) {
            status = id_sorter_add(&reading->sorter, &block, reading->error);
        }
    } else if (outcome == QUERY_FAILED) {
        status = database_fail(reader, "reading reports", reading->error);
    }
    query_finish(q);
    sqlite_store_unlock_reader(reader);
    return status;
}

static dpot_status load_blocks(struct pool_reading *reading, const struct pool_round *round)
{
    struct block_place place = {.number = INT64_MIN};
    bool is_found = true;
    dpot_status status = DPOT_OK;
    id_sorter_release(&reading->sorter);
    id_sorter_init(&reading->sorter, ID_SORTER_MEMORY);
    while (status == DPOT_OK && is_found) {
        status = load_block(reading, round, &place, &is_found);
    }
    return status;
}

/* A merge meanwhile may have moved reports to blocks that were read already: all are read again. */
static dpot_status load_round(struct pool_reading *reading, struct pool_round *round)
{
    dpot_status status = DPOT_OK;
    bool is_moved = true;
    while (status == DPOT_OK && is_moved) {
        struct pool_round now = {.round = round->round - 1};
        bool is_found = false;
        status = load_blocks(reading, round);
        if (status == DPOT_OK) {
            status = next_round(reading, &now, &is_found);
        }
        is_moved = is_found && now.round == round->round && now.n_merges != round->n_merges;
        round->n_merges = now.n_merges;
    }
    return status == DPOT_OK ? id_sorter_end(&reading->sorter, reading->error) : status;
}

/* Makes reading->values hold at least `n`. */
static dpot_status reserve_values(struct pool_reading *reading, size_t n)
{
    if (n <= reading->n_values) {
        return DPOT_OK;
    }
    int64_t *values =
        dpot_resize_array(NULL, reading->values, reading->n_values, n, sizeof *values);
    if (!values) {
        return dpot_error_set(reading->error, DPOT_ERR_MEMORY,
                              "out of memory for a report of %zu numbers", n);
    }
    reading->values = values;
    reading->n_values = n;
    return DPOT_OK;
}

static dpot_status show_round(struct pool_reading *reading, const struct pool_round *round)
{
    struct packed_block row;
    dpot_status status = DPOT_OK;
    while (status == DPOT_OK && !reading->is_ended && id_sorter_next(&reading->sorter, &row)) {
        status = reserve_values(reading, row.layout.dim);
        if (status == DPOT_OK) {
            struct dpot_report report;
            packed_read(&row, 0, reading->values, &report);
            reading->n_read++;
            reading->is_ended = reading->each(reading->ctx, (uint32_t)round->round, &report) != 0;
        }
    }
    return status;
}

/* (T3): missing or foreign blocks are found only by comparing with the count. */
static dpot_status check_count(struct pool_reading *reading)
{
    uint64_t n_now = 0;
    const dpot_status status = count_accepted(reading, &n_now);
    if (status != DPOT_OK || (reading->n_read >= reading->n_counted && reading->n_read <= n_now)) {
        return status;
    }
    return dpot_error_set(reading->error, DPOT_ERR_CORRUPT,
                          "the store holds %llu report%s and counted %llu: restore it from a "
                          "backup",
                          (unsigned long long)reading->n_read, DPOT_S(reading->n_read),
                          (unsigned long long)reading->n_counted);
}

static dpot_status read_rounds(struct pool_reading *reading)
{
    struct pool_round round = {.round = INT64_MIN};
    bool is_found = true;
    dpot_status status = count_accepted(reading, &reading->n_counted);
    while (status == DPOT_OK && is_found && !reading->is_ended) {
        status = next_round(reading, &round, &is_found);
        if (status == DPOT_OK && is_found) {
            status = load_round(reading, &round);
        }
        if (status == DPOT_OK && is_found) {
            status = show_round(reading, &round);
        }
    }
    return status == DPOT_OK && !reading->is_ended ? check_count(reading) : status;
}

dpot_status sqlite_store_read_pool(struct store *store, const uint8_t *hash, store_each_report each,
                                   void *ctx, struct dpot_error *error)
{
    struct dpot_error own = {{0}};
    struct pool_reading reading = {
        .store = store, .hash = hash, .each = each, .ctx = ctx, .error = &own};
    id_sorter_init(&reading.sorter, ID_SORTER_MEMORY);
    dpot_status status = read_rounds(&reading);
    if (!reading.is_ended) { /* else not all was read */
        sqlite_store_note_read((struct sqlite_store *)store, hash, SQLITE_ALL_ROUNDS, 0, status,
                               &own);
    }
    if (status != DPOT_OK) {
        status = dpot_error_set(error, status, "%s", own.text);
    }
    id_sorter_release(&reading.sorter);
    dpot_free_array(NULL, reading.values, reading.n_values, sizeof *reading.values);
    return status;
}
