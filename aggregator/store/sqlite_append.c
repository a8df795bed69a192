#include "store/packed.h"
#include "store/sqlite_store.h"

/* Adds the ids of one block; one that is there already means that (T2) was broken on disk. */
static dpot_status add_ids(struct id_set *set, const struct packed_block *block,
                           struct dpot_error *error)
{
    if (id_set_reserve(set, block->n_reports) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the ids of reports");
    }
    for (size_t i = 0; i < block->n_reports; i++) {
        if (!id_set_insert(set, packed_id(block, i))) {
            return sqlite_store_fail_corrupt("a block of reports (an id is there twice)", error);
        }
    }
    return DPOT_OK;
}

static dpot_status add_block(struct id_cache_entry *entry, struct query q, struct dpot_error *error)
{
    struct packed_block block;
    const dpot_status status = sqlite_store_read_block(q, 1, &block, error);
    entry->last_seq = query_integer(q, 0);
    return status == DPOT_OK ? add_ids(&entry->set, &block, error) : status;
}

/* Brings the set up to the last commit. On failure the entry is dropped. */
static dpot_status catch_up(struct sqlite_store *s, struct id_cache_entry *entry,
                            struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_CATCH_UP,
                                 "SELECT seq, format, n_reports, reports FROM commits"
                                 " WHERE hash = ?1 AND round = ?2 AND seq > ?3 ORDER BY seq");
    query_bind_bytes(q, 1, entry->hash, sizeof entry->hash);
    query_bind_integer(q, 2, entry->round);
    query_bind_integer(q, 3, entry->last_seq);
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
    if (status != DPOT_OK) {
        id_cache_drop(entry);
    }
    return status;
}

/* Sorts a batch into new and duplicate. */
static dpot_status classify(struct id_set *set, const struct store_append *append,
                            struct dpot_error *error)
{
    if (id_set_reserve(set, append->n_reports) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu reports",
                              append->n_reports);
    }
    for (size_t i = 0; i < append->n_reports; i++) {
        if (!append->is_refused[i]) {
            append->statuses[i] = id_set_insert(set, append->reports[i].id) ? DPOT_REPORT_ACCEPTED
                                                                            : DPOT_REPORT_DUPLICATE;
        }
    }
    return DPOT_OK;
}

/* Takes the ids of a batch that was not committed out of the set again. */
static void undo_ids(struct id_set *set, const struct store_append *append)
{
    for (size_t i = append->n_reports; i-- > 0;) {
        if (!append->is_refused[i] && append->statuses[i] == DPOT_REPORT_ACCEPTED) {
            id_set_undo(set, append->reports[i].id);
        }
    }
}

static dpot_status bump_count(struct sqlite_store *s, const uint8_t *hash, int status, int64_t n,
                              struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_BUMP_COUNT,
                                 "INSERT INTO pool_count (hash, status, n) VALUES (?1, ?2, ?3)"
                                 " ON CONFLICT (hash, status) DO UPDATE SET n = n + excluded.n");
    query_bind_bytes(q, 1, hash, DPOT_HASH_LEN);
    query_bind_integer(q, 2, status);
    query_bind_integer(q, 3, n);
    return query_run(q) ? DPOT_OK : database_fail(s->database, "counting reports", error);
}

static dpot_status bump_counts(struct sqlite_store *s, const struct store_append *append,
                               struct dpot_error *error)
{
    int64_t n[DPOT_REPORT_STATUS_END] = {0};
    for (size_t i = 0; i < append->n_reports; i++) {
        const unsigned status = (unsigned)append->statuses[i];
        if (status < DPOT_REPORT_STATUS_END) {
            n[status]++;
        }
    }
    dpot_status status = DPOT_OK;
    for (int i = 1; status == DPOT_OK && i < DPOT_REPORT_STATUS_END; i++) {
        if (n[i] > 0) {
            status = bump_count(s, append->hash, i, n[i], error);
        }
    }
    return status;
}

/* The block of what is new. */
static dpot_status pack(const struct store_append *append, struct packed_layout *layout, size_t *n,
                        struct dpot_buf *packed, struct dpot_error *error)
{
    dpot_status status = packed_plan(append, layout, n);
    if (status == DPOT_ERR_SHAPE) {
        return dpot_error_set(error, status,
                              "a batch holds indices or vectors of different lengths: a revision "
                              "has one mechanism");
    }
    if (*n > 0) {
        status = packed_append(layout, append, *n, packed);
    }
    if (status == DPOT_ERR_TOO_LARGE) {
        return dpot_error_set(error, status,
                              "%zu reports of %zu bytes do not fit one commit of %zu: split them",
                              *n, layout->row_len, PACKED_BLOCK_MAX);
    }
    return status == DPOT_OK ? status
                             : dpot_error_set(error, status, "out of memory for %zu reports", *n);
}

static dpot_status add_commit(struct sqlite_store *s, const struct store_append *append,
                              struct dpot_buf *packed, struct dpot_error *error)
{
    struct packed_layout layout;
    size_t n = 0;
    const dpot_status status = pack(append, &layout, &n, packed, error);
    if (status != DPOT_OK || n == 0) {
        return status;
    }
    struct query q = query_start(s->database, STATEMENT_ADD_COMMIT,
                                 "INSERT INTO commits (hash, round, format, n_reports, reports)"
                                 " VALUES (?1, ?2, ?3, ?4, ?5)");
    query_bind_bytes(q, 1, append->hash, sizeof append->hash);
    query_bind_integer(q, 2, append->round);
    query_bind_integer(q, 3, layout.format);
    query_bind_integer(q, 4, (int64_t)n);
    query_bind_bytes(q, 5, packed->data, packed->len);
    return query_run(q) ? DPOT_OK : database_fail(s->database, "storing reports", error);
}

/* (T3): a pool grows only while its revision is open, and that is known only inside the
 * transaction. */
static dpot_status check_open(struct sqlite_store *s, const uint8_t *hash, struct dpot_error *error)
{
    enum revision_state state = REVISION_DRAFT;
    const dpot_status status = sqlite_store_get_state(s, hash, &state, error);
    if (status == DPOT_OK && state != REVISION_OPEN) {
        return dpot_error_set(error, DPOT_ERR_CLOSED, "the revision is %s: it takes no reports",
                              revision_state_name(state));
    }
    return status;
}

/* Inside the transaction: what of the batch is new is stored and counted; then the commit. */
static dpot_status store_batch(struct sqlite_store *s, struct id_cache_entry *entry,
                               const struct store_append *append, struct dpot_buf *packed,
                               struct dpot_error *error)
{
    dpot_status status = classify(&entry->set, append, error);
    if (status != DPOT_OK) {
        return database_end(s->database, status, error);
    }
    status = add_commit(s, append, packed, error);
    const int64_t seq = database_last_row(s->database);
    if (status == DPOT_OK) {
        status = bump_counts(s, append, error);
    }
    status = database_end(s->database, status, error);
    if (status != DPOT_OK) {
        undo_ids(&entry->set, append);
    } else if (packed->len > 0) {
        entry->last_seq = seq;
    }
    return status;
}

static dpot_status append_locked(struct sqlite_store *s, const struct store_append *append,
                                 struct dpot_buf *packed, struct dpot_error *error)
{
    dpot_status status = database_begin(s->database, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct id_cache_entry *entry = NULL;
    status = check_open(s, append->hash, error);
    if (status == DPOT_OK) {
        entry = id_cache_get(&s->ids, append->hash, append->round);
        status = catch_up(s, entry, error);
    }
    return status == DPOT_OK ? store_batch(s, entry, append, packed, error)
                             : database_end(s->database, status, error);
}

dpot_status sqlite_store_append_reports(struct store *store, const struct store_append *append,
                                        struct dpot_error *error)
{
    struct dpot_buf packed;
    dpot_buf_init(&packed, PACKED_BLOCK_MAX, NULL);
    struct sqlite_store *s = sqlite_store_lock(store);
    const dpot_status status = append_locked(s, append, &packed, error);
    if (status != DPOT_ERR_NOT_FOUND && status != DPOT_ERR_CLOSED) {
        s->has_write_failed = status != DPOT_OK;
    }
    sqlite_store_unlock(s);
    dpot_buf_release(&packed);
    return status;
}
