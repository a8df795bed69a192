/* Blocks of reports as rows, validated when read and with a checksum when written. */
#include "store/commit_sum.h"
#include "store/sqlite_store.h"

#include <stdio.h>
#include <string.h>

/* SQLite stores any type in an integer column and converts it when it is read. */
static bool has_numbers(struct query query)
{
    static const struct {
        int column;
        int64_t min, max;
    } ranges[] = {
        {COLUMN_ROUND, 0, UINT32_MAX},
        {COLUMN_FORMAT, 0, INT64_MAX},    /* packed_open checks it */
        {COLUMN_N_REPORTS, 1, INT64_MAX}, /* likewise */
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

static bool has_sum(struct query query, const struct commit_row *row)
{
    uint8_t written[COMMIT_SUM_LEN], sum[COMMIT_SUM_LEN];
    commit_sum(row, sum);
    return sqlite_store_read_bytes(query, COLUMN_SUM, written, sizeof written) &&
           memcmp(sum, written, sizeof sum) == 0;
}

/* The key of a row is its first id, or its number in older schemas. */
static bool has_first(struct query query, const struct packed_block *block)
{
    uint8_t first[DPOT_REPORT_ID_LEN];
    return query_is_integer(query, COLUMN_FIRST) ||
           (sqlite_store_read_bytes(query, COLUMN_FIRST, first, sizeof first) &&
            memcmp(first, packed_id(block, 0), sizeof first) == 0);
}

static dpot_status refuse_block(struct query query, const char *why, struct dpot_error *error)
{
    char what[160], name[2 * DPOT_REPORT_ID_LEN + 1] = "?";
    uint8_t first[DPOT_REPORT_ID_LEN];
    if (query_is_integer(query, COLUMN_FIRST)) {
        (void)snprintf(name, sizeof name, "%lld", (long long)query_integer(query, COLUMN_FIRST));
    } else if (sqlite_store_read_bytes(query, COLUMN_FIRST, first, sizeof first)) {
        dpot_hex_encode(name, first, sizeof first);
    }
    (void)snprintf(what, sizeof what, "a block of reports (block %s of round %lld%s)", name,
                   (long long)query_integer(query, COLUMN_ROUND), why);
    return sqlite_store_fail_corrupt(what, error);
}

dpot_status sqlite_store_read_block(struct query query, const uint8_t *hash,
                                    struct packed_block *block, struct dpot_error *error)
{
    if (!has_numbers(query)) {
        return refuse_block(query, ", whose round, format or count is no such number", error);
    }
    struct commit_row row = {.hash = hash,
                             .hash_len = DPOT_HASH_LEN,
                             .round = query_integer(query, COLUMN_ROUND),
                             .format = query_integer(query, COLUMN_FORMAT),
                             .n_reports = query_integer(query, COLUMN_N_REPORTS)};
    row.reports = query_bytes(query, COLUMN_REPORTS, &row.len);
    return has_sum(query, &row) &&
                   packed_open(row.format, row.n_reports, row.reports, row.len, block) == DPOT_OK &&
                   has_first(query, block)
               ? DPOT_OK
               : refuse_block(query, "", error);
}

static bool insert_block(struct database *database, const struct sqlite_block *block,
                         const uint8_t sum[COMMIT_SUM_LEN], int64_t number)
{
    struct query q = query_start(database, STATEMENT_ADD_BLOCK,
                                 "INSERT INTO block (number, hash, round, first, format, n_reports,"
                                 " is_merged, sum, reports)"
                                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
    query_bind_integer(q, 1, number);
    query_bind_bytes(q, 2, block->hash, DPOT_HASH_LEN);
    query_bind_integer(q, 3, block->round);
    query_bind_bytes(q, 4, block->first, DPOT_REPORT_ID_LEN);
    query_bind_integer(q, 5, block->format);
    query_bind_integer(q, 6, (int64_t)block->n_reports);
    query_bind_integer(q, 7, block->is_merged);
    query_bind_bytes(q, 8, sum, COMMIT_SUM_LEN);
    query_bind_bytes(q, 9, block->reports->data, block->reports->len);
    return query_run(q);
}

static int64_t number_of(const uint8_t bytes[8])
{
    return (int64_t)(dpot_load_u64(bytes) & INT64_MAX);
}

/* The row number is taken from the checksum, so that it reveals nothing else (T7); if it is in use,
 * it is drawn. */
static bool insert_anywhere(struct database *database, const struct sqlite_block *block,
                            const uint8_t sum[COMMIT_SUM_LEN])
{
    uint8_t other[8];
    dpot_random_bytes(other, sizeof other);
    return insert_block(database, block, sum, number_of(sum)) ||
           (database_fail(database, "", NULL) == DPOT_ERR_EXISTS &&
            insert_block(database, block, sum, number_of(other)));
}

dpot_status sqlite_store_add_block(struct database *database, const struct sqlite_block *block,
                                   struct dpot_error *error)
{
    const struct commit_row row = {.hash = block->hash,
                                   .hash_len = DPOT_HASH_LEN,
                                   .round = block->round,
                                   .format = block->format,
                                   .n_reports = (int64_t)block->n_reports,
                                   .reports = block->reports->data,
                                   .len = block->reports->len};
    uint8_t sum[COMMIT_SUM_LEN];
    commit_sum(&row, sum);
    if (insert_anywhere(database, block, sum)) {
        return DPOT_OK;
    }
    const dpot_status status = database_fail(database, "storing reports", error);
    return status == DPOT_ERR_EXISTS
               ? sqlite_store_fail_corrupt("a round (an id that its blocks have is not known)",
                                           error)
               : status;
}
