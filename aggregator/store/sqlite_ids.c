/* The sets of ids that are stored already, kept as complete as the last commit. */
#include "base/clock.h"
#include "store/packed.h"
#include "store/sqlite_store.h"

/* Adds the ids of one block. An id that is in the set already violates (T2) on disk. */
static dpot_status add_ids(struct id_set *set, const struct packed_block *block,
                           struct dpot_error *error)
{
    uint64_t hashes[ID_SET_AHEAD];
    const size_t n = block->n_reports;
    for (size_t i = 0; i < n + ID_SET_AHEAD; i++) {
        const size_t at = i - ID_SET_AHEAD; /* valid from i = ID_SET_AHEAD on */
        bool is_new = true;
        if (i >= ID_SET_AHEAD && id_set_insert(set, packed_id(block, at), hashes[at % ID_SET_AHEAD],
                                               &is_new) != DPOT_OK) {
            return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the ids of reports");
        }
        if (!is_new) {
            return sqlite_store_fail_corrupt("a block of reports (an id is there twice)", error);
        }
        if (i < n) {
            hashes[i % ID_SET_AHEAD] = id_set_prefetch(set, packed_id(block, i));
        }
    }
    return DPOT_OK;
}

static dpot_status add_block(struct id_cache_entry *entry, struct query q, struct dpot_error *error)
{
    struct packed_block block;
    const dpot_status status = sqlite_store_read_block(q, entry->hash, &block, error);
    if (status != DPOT_OK) {
        return status;
    }
    entry->n_stored += block.n_reports;
    return add_ids(&entry->set, &block, error);
}

/* A block that is duplicated or in another round is found by comparing counts in the caller. */
static dpot_status add_blocks(struct sqlite_store *s, struct id_cache_entry *entry,
                              struct dpot_error *error)
{
    struct query q =
        query_start(s->database, STATEMENT_READ_ROUND,
                    "SELECT " SQLITE_BLOCK_COLUMNS " FROM block WHERE hash = ?1 AND round = ?2");
    query_bind_bytes(q, 1, entry->hash, sizeof entry->hash);
    query_bind_integer(q, 2, entry->round);
    dpot_status status = DPOT_OK;
    enum query_outcome outcome = query_step(q);
    while (status == DPOT_OK && outcome == QUERY_ROW) {
        status = add_block(entry, q, error);
        outcome = query_step(q);
    }
    if (status == DPOT_OK && outcome == QUERY_FAILED) {
        status = database_fail(s->database, "reading reports", error);
    }
    query_finish(q);
    return status;
}

static dpot_status count_round(struct sqlite_store *s, const struct id_cache_entry *entry,
                               uint64_t *n, struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_COUNT_ROUND,
                                 "SELECT n_reports FROM round WHERE hash = ?1 AND round = ?2");
    query_bind_bytes(q, 1, entry->hash, sizeof entry->hash);
    query_bind_integer(q, 2, entry->round);
    const enum query_outcome outcome = query_step(q);
    *n = outcome == QUERY_ROW ? (uint64_t)query_integer(q, 0) : 0;
    const dpot_status status =
        outcome == QUERY_FAILED ? database_fail(s->database, "reading reports", error) : DPOT_OK;
    query_finish(q);
    return status;
}

/* Makes room for the n ids that a round counts, if the file can hold so many: a damaged count must
 * not take the memory. */
static void reserve_ids(struct sqlite_store *s, struct id_cache_entry *entry, uint64_t n)
{
    int64_t n_bytes = 0;
    const dpot_status status = database_ask(
        s->database, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        &n_bytes, NULL, 0, NULL);
    if (status == DPOT_OK && n <= (uint64_t)n_bytes / DPOT_REPORT_ID_LEN) {
        id_set_reserve(&entry->set, n);
    }
}

/* Reads the ids of the n reports that the round counts, and notes whether they are sound. */
static dpot_status read_round_anew(struct sqlite_store *s, struct id_cache_entry *entry, uint64_t n,
                                   struct dpot_error *error)
{
    struct dpot_error own = {{0}};
    const int64_t began_ms = dpot_clock_monotonic_ms();
    dpot_status status = sqlite_store_check_known(s, entry->hash, entry->round, error);
    if (status != DPOT_OK) {
        return status;
    }
    id_cache_empty(entry);
    reserve_ids(s, entry, n);
    status = add_blocks(s, entry, &own);
    if (status == DPOT_OK && n != entry->n_stored) {
        status = sqlite_store_fail_corrupt("a round (reports are gone, or their count is)", &own);
    }
    sqlite_store_note_read(s, entry->hash, entry->round, dpot_clock_monotonic_ms() - began_ms,
                           status, &own);
    return status == DPOT_OK ? status : dpot_error_set(error, status, "%s", own.text);
}

/* Pools only grow (T3), so that the same number means the same reports. Only another process can
 * have added more. */
dpot_status sqlite_store_catch_up(struct sqlite_store *s, struct id_cache_entry *entry,
                                  struct dpot_error *error)
{
    uint64_t n = 0;
    dpot_status status = count_round(s, entry, &n, error);
    if (status == DPOT_OK && n != entry->n_stored) {
        status = read_round_anew(s, entry, n, error);
    }
    if (status != DPOT_OK) {
        id_cache_drop(entry);
    }
    return status;
}

/* ---- loading at start ---- */

#define ROUNDS_KEPT 2 /* of a revision: the newest, and the one that late reports are for */

/* A (hash, round) with reports that may receive more. */
struct open_round {
    uint8_t hash[DPOT_HASH_LEN];
    uint32_t round;
};

static bool read_round(struct query q, struct open_round *round)
{
    if (!query_is_integer(q, 1) || query_integer(q, 1) < 0 || query_integer(q, 1) > UINT32_MAX) {
        return false;
    }
    round->round = (uint32_t)query_integer(q, 1);
    return sqlite_store_read_bytes(q, 0, round->hash, sizeof round->hash);
}

/* The newest rounds of open revisions, the older first, so that the cache keeps both. Rows whose
 * round is not a valid number come first, and are refused: their ids may belong to any round. */
static dpot_status list_rounds(struct sqlite_store *s, struct open_round *rounds, size_t *n,
                               struct dpot_error *error)
{
    struct query q =
        query_start(s->database, STATEMENT_OPEN_ROUNDS,
                    "SELECT hash, round FROM (SELECT r.hash AS hash, c.round AS round,"
                    "  row_number() OVER (PARTITION BY r.hash ORDER BY c.round DESC) AS place"
                    "  FROM revision AS r JOIN round AS c"
                    "  ON c.hash = r.hash WHERE r.state = 2) WHERE place <= ?1"
                    "  OR typeof(round) <> 'integer' OR round NOT BETWEEN 0 AND 4294967295"
                    " ORDER BY typeof(round) <> 'integer' DESC, round LIMIT ?2");
    query_bind_integer(q, 1, ROUNDS_KEPT);
    query_bind_integer(q, 2, ID_CACHE_SETS_MAX);
    dpot_status status = DPOT_OK;
    enum query_outcome outcome = query_step(q);
    for (*n = 0; status == DPOT_OK && outcome == QUERY_ROW; outcome = query_step(q)) {
        if (!read_round(q, &rounds[(*n)++])) {
            status = sqlite_store_fail_corrupt("a round", error);
        }
    }
    if (status == DPOT_OK && outcome == QUERY_FAILED) {
        status = database_fail(s->database, "reading reports", error);
    }
    query_finish(q);
    return status;
}

dpot_status sqlite_store_load_ids(struct store *store, struct dpot_error *error)
{
    struct open_round rounds[ID_CACHE_SETS_MAX];
    size_t n = 0;
    struct sqlite_store *s = sqlite_store_lock(store);
    dpot_status status = list_rounds(s, rounds, &n, error), damage = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        struct id_cache_entry *entry = id_cache_get(&s->ids, rounds[i].hash, rounds[i].round);
        status = sqlite_store_catch_up(s, entry, error);
        if (status == DPOT_ERR_CORRUPT) { /* other rounds may be sound */
            damage = status;
            status = DPOT_OK;
        }
    }
    sqlite_store_update_id_usage(s);
    sqlite_store_unlock(s);
    return status == DPOT_OK ? damage : status;
}

void sqlite_store_update_id_usage(struct sqlite_store *s)
{
    struct store_id_usage usage;
    id_cache_measure(&s->ids, &usage.n_ids, &usage.n_bytes);
    (void)pthread_mutex_lock(&s->notes_mutex);
    s->usage = usage;
    (void)pthread_mutex_unlock(&s->notes_mutex);
}

void sqlite_store_get_id_usage(struct store *store, struct store_id_usage *usage)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    (void)pthread_mutex_lock(&s->notes_mutex);
    *usage = s->usage;
    (void)pthread_mutex_unlock(&s->notes_mutex);
}
