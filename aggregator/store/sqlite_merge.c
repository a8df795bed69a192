/* Merging: the blocks of a closed round become blocks of one size in the order of ids, so that the
 * file does not show which reports were committed together (T7).
 *
 * A round may be larger than memory, and reports of other rounds arrive meanwhile. So blocks are
 * merged in windows of limited size, each in one transaction: a crash leaves a round with fewer
 * blocks to merge. A window takes blocks in the order of their first ids, which does not depend on
 * the order of arrival. */
#include "store/id_sorter.h"
#include "store/sqlite_store.h"

#include <string.h>

#define WINDOW_BYTES ((int64_t)8 << 20) /* commits wait while one is merged */
#define BLOCK_BYTES ((size_t)256 << 10)

/* Of one round. */
struct merge {
    struct database *database;
    uint8_t hash[DPOT_HASH_LEN];
    uint32_t round;
    struct dpot_buf firsts; /* first ids of the blocks of the window */
    struct id_sorter sorter;
    struct dpot_error *error;
};

/* The next round below `n_rounds` with blocks to merge, of revision `hash` or (NULL) of any. */
static dpot_status find_round(struct merge *m, const uint8_t *hash, uint32_t n_rounds,
                              bool *is_found)
{
    struct query q = query_start(m->database, STATEMENT_FIND_ARRIVED,
                                 "SELECT hash, round FROM round WHERE n_arrived > 0 AND round < ?2"
                                 " AND (?1 IS NULL OR hash = ?1) LIMIT 1");
    if (hash) {
        query_bind_bytes(q, 1, hash, DPOT_HASH_LEN);
    }
    query_bind_integer(q, 2, n_rounds);
    dpot_status status = DPOT_OK;
    const enum query_outcome outcome = query_step(q);
    *is_found = outcome == QUERY_ROW;
    if (outcome == QUERY_FAILED) {
        status = database_fail(m->database, "merging reports", m->error);
    } else if (*is_found && (!sqlite_store_read_bytes(q, 0, m->hash, sizeof m->hash) ||
                             !query_is_integer(q, 1) || query_integer(q, 1) < 0)) {
        status = sqlite_store_fail_corrupt("a round", m->error);
    } else if (*is_found) {
        m->round = (uint32_t)query_integer(q, 1);
    }
    query_finish(q);
    return status;
}

/* Takes at least two blocks if there are two. */
static dpot_status choose_window(struct merge *m)
{
    struct query q = query_start(m->database, STATEMENT_LIST_ARRIVED,
                                 "SELECT first, length(reports) FROM block WHERE hash = ?1"
                                 " AND round = ?2 AND is_merged = 0 ORDER BY first");
    query_bind_bytes(q, 1, m->hash, sizeof m->hash);
    query_bind_integer(q, 2, m->round);
    dpot_status status = DPOT_OK;
    int64_t n_bytes = 0;
    enum query_outcome outcome = query_step(q);
    while (status == DPOT_OK && outcome == QUERY_ROW) {
        uint8_t first[DPOT_REPORT_ID_LEN];
        n_bytes += query_integer(q, 1);
        if (n_bytes > WINDOW_BYTES && m->firsts.len >= 2 * sizeof first) {
            break;
        }
        status = sqlite_store_read_bytes(q, 0, first, sizeof first)
                     ? dpot_buf_append(&m->firsts, first, sizeof first)
                     : sqlite_store_fail_corrupt("the key of a block", m->error);
        outcome = query_step(q);
    }
    if (status == DPOT_OK && outcome == QUERY_FAILED) {
        status = database_fail(m->database, "merging reports", m->error);
    }
    query_finish(q);
    return status;
}

static struct query ask_block(struct merge *m, enum statement slot, const char *sql, size_t at)
{
    struct query q = query_start(m->database, slot, sql);
    query_bind_bytes(q, 1, m->hash, sizeof m->hash);
    query_bind_integer(q, 2, m->round);
    query_bind_bytes(q, 3, m->firsts.data + at, DPOT_REPORT_ID_LEN);
    return q;
}

static dpot_status take_block(struct merge *m, size_t at)
{
    struct packed_block block;
    struct query q = ask_block(m, STATEMENT_READ_BLOCK,
                               "SELECT " SQLITE_BLOCK_COLUMNS " FROM block"
                               " WHERE hash = ?1 AND round = ?2 AND first = ?3",
                               at);
    dpot_status status = query_step(q) == QUERY_ROW
                             ? sqlite_store_read_block(q, m->hash, &block, m->error)
                             : database_fail(m->database, "merging reports", m->error);
    if (status == DPOT_OK) {
        status = id_sorter_add(&m->sorter, &block, m->error);
    }
    query_finish(q);
    if (status == DPOT_OK &&
        !query_run(ask_block(m, STATEMENT_DROP_BLOCK,
                             "DELETE FROM block WHERE hash = ?1 AND round = ?2 AND first = ?3",
                             at))) {
        status = database_fail(m->database, "merging reports", m->error);
    }
    return status;
}

static dpot_status take_window(struct merge *m)
{
    dpot_status status = DPOT_OK;
    for (size_t at = 0; status == DPOT_OK && at < m->firsts.len; at += DPOT_REPORT_ID_LEN) {
        status = take_block(m, at);
    }
    return status == DPOT_OK ? id_sorter_end(&m->sorter, m->error) : status;
}

/* The block that is being written. */
struct joined {
    struct packed_layout layout;
    struct dpot_buf rows; /* with the header of the block */
    size_t n;
};

static dpot_status write_joined(struct merge *m, struct joined *joined)
{
    if (joined->n == 0) {
        return DPOT_OK;
    }
    const struct sqlite_block block = {.hash = m->hash,
                                       .first = joined->rows.data + joined->layout.header_len,
                                       .round = m->round,
                                       .is_merged = true,
                                       .format = joined->layout.format,
                                       .n_reports = joined->n,
                                       .reports = &joined->rows};
    const dpot_status status = sqlite_store_add_block(m->database, &block, m->error);
    dpot_buf_reset(&joined->rows);
    joined->n = 0;
    return status;
}

static dpot_status join_row(struct merge *m, const struct packed_block *row, struct joined *joined,
                            int64_t *values)
{
    struct dpot_report report;
    dpot_status status = DPOT_OK;
    if (joined->rows.len + joined->layout.row_len > BLOCK_BYTES) {
        status = write_joined(m, joined);
    }
    if (status == DPOT_OK && joined->n == 0) {
        const size_t room = BLOCK_BYTES / joined->layout.row_len;
        status = packed_begin(&joined->layout, room > 0 ? room : 1, &joined->rows);
    }
    if (status == DPOT_OK) {
        packed_read(row, 0, values, &report);
        packed_append(&joined->layout, &report, &joined->rows);
        joined->n++;
    }
    return status;
}

/* All rows of a round are indices or vectors of one length; blocks get the largest width. */
static dpot_status write_window(struct merge *m, struct packed_layout layout)
{
    struct joined joined = {.layout = layout};
    struct packed_block row;
    int64_t *values = dpot_alloc_array(NULL, layout.dim + (size_t)1, sizeof *values);
    dpot_status status = values ? DPOT_OK : DPOT_ERR_MEMORY;
    dpot_buf_init(&joined.rows, PACKED_BLOCK_MAX, NULL);
    while (status == DPOT_OK && id_sorter_next(&m->sorter, &row)) {
        status = row.layout.dim == layout.dim
                     ? join_row(m, &row, &joined, values)
                     : sqlite_store_fail_corrupt("a round (indices and vectors)", m->error);
    }
    if (status == DPOT_OK) {
        status = write_joined(m, &joined);
    }
    dpot_buf_release(&joined.rows);
    dpot_free_array(NULL, values, layout.dim + (size_t)1, sizeof *values);
    return status;
}

static dpot_status note_merge(struct merge *m)
{
    struct query q = query_start(m->database, STATEMENT_NOTE_MERGE,
                                 "UPDATE round SET n_arrived = n_arrived - ?3,"
                                 " n_merges = n_merges + 1 WHERE hash = ?1 AND round = ?2");
    query_bind_bytes(q, 1, m->hash, sizeof m->hash);
    query_bind_integer(q, 2, m->round);
    query_bind_integer(q, 3, (int64_t)(m->firsts.len / DPOT_REPORT_ID_LEN));
    return query_run(q) ? DPOT_OK : database_fail(m->database, "merging reports", m->error);
}

/* Inside a transaction. */
static dpot_status merge_window(struct merge *m)
{
    dpot_status status = choose_window(m);
    if (status == DPOT_OK && m->firsts.len == 0) {
        return sqlite_store_fail_corrupt("a round (it has fewer blocks than it counts)", m->error);
    }
    if (status == DPOT_OK) {
        status = take_window(m);
    }
    if (status == DPOT_OK) {
        status = write_window(m, id_sorter_layout(&m->sorter));
    }
    return status == DPOT_OK ? note_merge(m) : status;
}

/* Merges one window, under the lock. *is_found: there was one and it is merged. */
static dpot_status merge_next(struct database *database, const uint8_t *hash, uint32_t n_rounds,
                              bool *is_found, struct dpot_error *error)
{
    struct merge m = {.database = database, .error = error};
    *is_found = false;
    dpot_buf_init(&m.firsts, SIZE_MAX, NULL);
    id_sorter_init(&m.sorter, SIZE_MAX);
    dpot_status status = database_begin(database, error);
    if (status == DPOT_OK) {
        status = find_round(&m, hash, n_rounds, is_found);
        if (status == DPOT_OK && *is_found) {
            status = merge_window(&m);
        }
        if (status == DPOT_OK && !*is_found) {
            database_roll_back(database);
        } else {
            status = database_end(database, status, error);
        }
    }
    *is_found = *is_found && status == DPOT_OK;
    id_sorter_release(&m.sorter);
    dpot_buf_release(&m.firsts);
    return status;
}

dpot_status sqlite_store_merge(struct store *store, const uint8_t *hash, uint32_t n_rounds,
                               bool *has_merged, struct dpot_error *error)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    const dpot_status status = merge_next(s->database, hash, n_rounds, has_merged, error);
    if (status == DPOT_ERR_CORRUPT) {
        sqlite_store_note_read(s, hash, SQLITE_ALL_ROUNDS, 0, status, error);
    }
    sqlite_store_unlock(s);
    return status;
}

dpot_status sqlite_store_merge_all(struct database *database, struct dpot_error *error)
{
    bool is_found = true;
    dpot_status status = DPOT_OK;
    while (status == DPOT_OK && is_found) {
        status = merge_next(database, NULL, UINT32_MAX, &is_found, error);
    }
    return status;
}
