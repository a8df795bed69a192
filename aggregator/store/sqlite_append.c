/* Storing reports: one transaction for a group of appends, and in it one block for each (hash,
 * round), its reports in the order of ids.
 *
 * Ids enter their set before the commit, so that an id that occurs twice in a group is found; those
 * that were not committed are removed again. A set that another one displaced in between is read
 * from the store again when it is needed. */
#include "store/commit_sum.h"
#include "store/id_order.h"
#include "store/packed.h"
#include "store/sqlite_store.h"

#include <string.h>

/* The appends of one (hash, round). */
struct part {
    size_t first;  /* index of the first */
    size_t n_rows; /* written reports */
};

/* The part of an append. */
struct place {
    size_t part;
    bool is_classified; /* its statuses are set, and its new ids are in the set */
};

struct group {
    struct sqlite_store *s;
    const struct store_append *const *appends; /* (n) */
    dpot_status *outcomes;                     /* (n) */
    size_t n;
    struct place *places; /* (n) */
    struct part *parts;   /* (n_parts), allocated for n */
    size_t n_parts;
    struct dpot_buf packed;             /* of one part */
    const struct dpot_report **reports; /* (n_reports_max) new reports of one part */
    struct id_place *order;             /* (n_reports_max) their order */
    size_t n_reports_max;
    struct dpot_error *error;
};

static bool is_new_report(const struct store_append *append, size_t i)
{
    return !append->is_refused[i] && append->statuses[i] == DPOT_REPORT_ACCEPTED;
}

/* ---- ids ---- */

/* Removes the new ids among the first `n` of an append from the set. */
static void undo_ids(struct id_set *set, const struct store_append *append, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (is_new_report(append, i)) {
            id_set_remove(set, append->reports[i].id);
        }
    }
}

/* Sets the status of each report to accepted or duplicate. Memory latency dominates, so the slots
 * of the next ids are prefetched. */
static dpot_status classify(struct id_set *set, const struct store_append *append,
                            struct dpot_error *error)
{
    uint64_t hashes[ID_SET_AHEAD];
    const size_t n = append->n_reports;
    for (size_t i = 0; i < n + ID_SET_AHEAD; i++) {
        const size_t at = i - ID_SET_AHEAD; /* valid from i = ID_SET_AHEAD on */
        bool is_new = false;
        if (i >= ID_SET_AHEAD && !append->is_refused[at]) {
            if (id_set_insert(set, append->reports[at].id, hashes[at % ID_SET_AHEAD], &is_new) !=
                DPOT_OK) {
                undo_ids(set, append, at);
                return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu reports", n);
            }
            append->statuses[at] = is_new ? DPOT_REPORT_ACCEPTED : DPOT_REPORT_DUPLICATE;
        }
        if (i < n) {
            hashes[i % ID_SET_AHEAD] = id_set_prefetch(set, append->reports[i].id);
        }
    }
    return DPOT_OK;
}

static bool is_of_part(const struct group *g, size_t i, size_t part)
{
    return g->places[i].part == part && g->outcomes[i] == DPOT_OK;
}

/* Nothing of a part was stored: removes its ids and sets the outcome of its appends. */
static void undo_part(struct group *g, size_t part, dpot_status outcome)
{
    const struct store_append *first = g->appends[g->parts[part].first];
    struct id_cache_entry *entry = id_cache_find(&g->s->ids, first->hash, first->round);
    for (size_t i = g->n; i-- > 0;) {
        if (is_of_part(g, i, part)) {
            if (entry && g->places[i].is_classified) {
                undo_ids(&entry->set, g->appends[i], g->appends[i]->n_reports);
            }
            g->outcomes[i] = outcome;
            g->places[i].is_classified = false;
        }
    }
    g->parts[part].n_rows = 0;
}

/* ---- one part ---- */

/* The shape of an append's reports that are not refused. DPOT_ERR_SHAPE: they have several. */
static dpot_status check_shape(const struct store_append *append, uint32_t *dim, bool *has_any)
{
    *has_any = false;
    for (size_t i = 0; i < append->n_reports; i++) {
        const uint32_t n_values = append->reports[i].n_values;
        if (append->is_refused[i]) {
            continue;
        }
        if (n_values > DPOT_VECTOR_DIM_MAX || (*has_any && n_values != *dim)) {
            return DPOT_ERR_SHAPE;
        }
        *dim = n_values;
        *has_any = true;
    }
    return DPOT_OK;
}

/* Refuses the appends whose shape differs from that of an earlier append. */
static void check_shapes(struct group *g, size_t part)
{
    uint32_t part_dim = 0;
    bool has_dim = false;
    for (size_t i = g->parts[part].first; i < g->n; i++) {
        uint32_t dim = 0;
        bool has_any = false;
        if (!is_of_part(g, i, part)) {
            continue;
        }
        dpot_status status = check_shape(g->appends[i], &dim, &has_any);
        if (status == DPOT_OK && has_any && has_dim && dim != part_dim) {
            status = DPOT_ERR_SHAPE;
        }
        if (status != DPOT_OK) {
            g->outcomes[i] =
                dpot_error_set(g->error, status,
                               "a batch holds indices or vectors of different lengths: a revision "
                               "has one mechanism");
        } else if (has_any) {
            part_dim = dim;
            has_dim = true;
        }
    }
}

static dpot_status classify_part(struct group *g, size_t part, struct id_set *set)
{
    for (size_t i = g->parts[part].first; i < g->n; i++) {
        if (!is_of_part(g, i, part)) {
            continue;
        }
        g->outcomes[i] = classify(set, g->appends[i], g->error);
        if (g->outcomes[i] != DPOT_OK) {
            return g->outcomes[i];
        }
        g->places[i].is_classified = true;
    }
    return DPOT_OK;
}

/* The layout and number of the new reports of a part. */
static dpot_status plan_part(const struct group *g, size_t part, struct packed_layout *layout,
                             size_t *n_rows)
{
    dpot_status status = DPOT_OK;
    *n_rows = 0;
    for (size_t i = g->parts[part].first; status == DPOT_OK && i < g->n; i++) {
        struct packed_layout own;
        size_t n = 0;
        if (!is_of_part(g, i, part)) {
            continue;
        }
        status = packed_plan(g->appends[i], &own, &n);
        if (status == DPOT_OK && n > 0 && *n_rows > 0) {
            status = packed_join(layout, &own);
        } else if (n > 0) {
            *layout = own;
        }
        *n_rows += n;
    }
    return status;
}

static dpot_status reserve_order(struct group *g, size_t n)
{
    if (n <= g->n_reports_max) {
        return DPOT_OK;
    }
    dpot_free_array(NULL, g->reports, g->n_reports_max, sizeof *g->reports);
    dpot_free_array(NULL, g->order, g->n_reports_max, sizeof *g->order);
    g->reports = dpot_alloc_array(NULL, n, sizeof *g->reports);
    g->order = dpot_alloc_array(NULL, n, sizeof *g->order);
    g->n_reports_max = n;
    return g->reports && g->order ? DPOT_OK : DPOT_ERR_MEMORY;
}

/* Lists the new reports of a part and sorts them by id. */
static void sort_part(struct group *g, size_t part)
{
    size_t n = 0;
    for (size_t i = g->parts[part].first; i < g->n; i++) {
        const struct store_append *append = g->appends[i];
        for (size_t j = 0; is_of_part(g, i, part) && j < append->n_reports; j++) {
            if (is_new_report(append, j)) {
                g->order[n] = id_place_make(append->reports[j].id, n);
                g->reports[n++] = &append->reports[j];
            }
        }
    }
    id_order_sort(g->order, n);
}

static dpot_status pack_part(struct group *g, size_t part, struct packed_layout *layout, size_t *n)
{
    dpot_buf_reset(&g->packed);
    dpot_status status = plan_part(g, part, layout, n);
    if (status == DPOT_OK && *n > 0) {
        status = packed_begin(layout, *n, &g->packed);
    }
    if (status == DPOT_ERR_TOO_LARGE) {
        return dpot_error_set(g->error, status,
                              "%zu reports of %zu bytes do not fit one commit of %zu: split them",
                              *n, layout->row_len, PACKED_BLOCK_MAX);
    }
    if (status == DPOT_OK) {
        status = reserve_order(g, *n);
    }
    if (status != DPOT_OK) {
        return dpot_error_set(g->error, status, "out of memory for %zu reports", *n);
    }
    sort_part(g, part);
    for (size_t i = 0; i < *n; i++) {
        packed_append(layout, g->reports[g->order[i].at], &g->packed);
    }
    return DPOT_OK;
}

/* (T3): a pool grows only while its revision is open. Its state is certain only inside the
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

/* Everything before the first write of a part: its appends are classified and packed. A failure
 * concerns this part only. */
static dpot_status prepare_part(struct group *g, size_t part, struct packed_layout *layout,
                                size_t *n)
{
    const struct store_append *first = g->appends[g->parts[part].first];
    dpot_status status = check_open(g->s, first->hash, g->error);
    if (status != DPOT_OK) {
        return status;
    }
    struct id_cache_entry *entry = id_cache_get(&g->s->ids, first->hash, first->round);
    status = sqlite_store_catch_up(g->s, entry, g->error);
    if (status != DPOT_OK) {
        return status;
    }
    check_shapes(g, part);
    status = classify_part(g, part, &entry->set);
    return status == DPOT_OK ? pack_part(g, part, layout, n) : status;
}

/* ---- rows ---- */

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

static dpot_status bump_counts(struct group *g, size_t part)
{
    const uint8_t *hash = g->appends[g->parts[part].first]->hash;
    int64_t n[DPOT_REPORT_STATUS_END] = {0};
    for (size_t i = g->parts[part].first; i < g->n; i++) {
        for (size_t j = 0; is_of_part(g, i, part) && j < g->appends[i]->n_reports; j++) {
            const unsigned status = (unsigned)g->appends[i]->statuses[j];
            n[status < DPOT_REPORT_STATUS_END ? status : 0]++;
        }
    }
    dpot_status status = DPOT_OK;
    for (int i = 1; status == DPOT_OK && i < DPOT_REPORT_STATUS_END; i++) {
        if (n[i] > 0) {
            status = bump_count(g->s, hash, i, n[i], g->error);
        }
    }
    return status;
}

static dpot_status bump_round(struct sqlite_store *s, const struct store_append *first, size_t n,
                              struct dpot_error *error)
{
    struct query q = query_start(
        s->database, STATEMENT_BUMP_ROUND,
        "INSERT INTO round (hash, round, n_reports, n_arrived, n_merges) VALUES (?1, ?2, ?3, 1, 0)"
        " ON CONFLICT (hash, round) DO UPDATE SET n_reports = n_reports + excluded.n_reports,"
        " n_arrived = n_arrived + 1");
    query_bind_bytes(q, 1, first->hash, sizeof first->hash);
    query_bind_integer(q, 2, first->round);
    query_bind_integer(q, 3, (int64_t)n);
    return query_run(q) ? DPOT_OK : database_fail(s->database, "counting reports", error);
}

static dpot_status add_row(struct group *g, size_t part, const struct packed_layout *layout,
                           size_t n)
{
    const struct store_append *first = g->appends[g->parts[part].first];
    const struct sqlite_block block = {.hash = first->hash,
                                       .round = first->round,
                                       .format = layout->format,
                                       .n_reports = n,
                                       .first = g->reports[g->order[0].at]->id,
                                       .reports = &g->packed};
    dpot_status status = sqlite_store_add_block(g->s->database, &block, g->error);
    if (status == DPOT_OK) {
        status = bump_round(g->s, first, n, g->error);
    }
    if (status == DPOT_OK) {
        g->parts[part].n_rows = n;
    }
    return status;
}

/* Returns a failure of the whole transaction; one of the part is the outcome of its appends. */
static dpot_status store_part(struct group *g, size_t part)
{
    struct packed_layout layout;
    size_t n = 0;
    const struct store_append *first = g->appends[g->parts[part].first];
    const dpot_status outcome = prepare_part(g, part, &layout, &n);
    if (outcome == DPOT_ERR_IO || outcome == DPOT_ERR_BUSY) {
        return outcome;
    }
    if (outcome != DPOT_OK) {
        undo_part(g, part, outcome);
        return DPOT_OK;
    }
    const dpot_status status = n > 0 ? add_row(g, part, &layout, n) : DPOT_OK;
    if (status == DPOT_ERR_CORRUPT) {
        sqlite_store_note_read(g->s, first->hash, first->round, 0, status, g->error);
    }
    return status == DPOT_OK ? bump_counts(g, part) : status;
}

/* ---- the group ---- */

static bool is_same(const struct store_append *a, const struct store_append *b)
{
    return a->round == b->round && memcmp(a->hash, b->hash, sizeof a->hash) == 0;
}

static void find_parts(struct group *g)
{
    for (size_t i = 0; i < g->n; i++) {
        size_t part = 0;
        while (part < g->n_parts && !is_same(g->appends[i], g->appends[g->parts[part].first])) {
            part++;
        }
        if (part == g->n_parts) {
            g->parts[g->n_parts++].first = i;
        }
        g->places[i].part = part;
        g->outcomes[i] = DPOT_OK;
    }
}

/* After the commit: entries count only reports on disk. */
static void count_rows(struct group *g)
{
    for (size_t part = 0; part < g->n_parts; part++) {
        const struct store_append *first = g->appends[g->parts[part].first];
        struct id_cache_entry *entry = id_cache_find(&g->s->ids, first->hash, first->round);
        if (entry) {
            entry->n_stored += g->parts[part].n_rows;
        }
    }
}

static dpot_status append_locked(struct group *g)
{
    struct database *database = g->s->database;
    size_t n_begun = 0;
    dpot_status status = database_begin(database, g->error);
    if (status != DPOT_OK) {
        return status;
    }
    while (status == DPOT_OK && n_begun < g->n_parts) {
        status = store_part(g, n_begun++);
    }
    status = database_end(database, status, g->error);
    if (status == DPOT_OK) {
        count_rows(g);
        return status;
    }
    while (n_begun-- > 0) {
        undo_part(g, n_begun, status);
    }
    return status;
}

/* For the next readiness check. A refusal because of the revision says nothing about the disk. */
static void note_health(struct sqlite_store *s, dpot_status status, const dpot_status *outcomes,
                        size_t n)
{
    bool has_failed = status != DPOT_OK, has_succeeded = false;
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        const bool is_refused = outcomes[i] == DPOT_ERR_NOT_FOUND || outcomes[i] == DPOT_ERR_CLOSED;
        has_succeeded = has_succeeded || outcomes[i] == DPOT_OK;
        has_failed = has_failed || (outcomes[i] != DPOT_OK && !is_refused);
    }
    if (has_failed || has_succeeded) {
        s->has_write_failed = has_failed;
    }
}

static dpot_status make_lists(struct group *g)
{
    g->places = dpot_alloc_array(NULL, g->n, sizeof *g->places);
    g->parts = dpot_alloc_array(NULL, g->n, sizeof *g->parts);
    return g->places && g->parts
               ? DPOT_OK
               : dpot_error_set(g->error, DPOT_ERR_MEMORY, "out of memory for %zu batches", g->n);
}

dpot_status sqlite_store_append_group(struct store *store,
                                      const struct store_append *const *appends, size_t n,
                                      dpot_status *outcomes, struct dpot_error *error)
{
    struct group g = {.appends = appends, .outcomes = outcomes, .n = n, .error = error};
    dpot_buf_init(&g.packed, PACKED_BLOCK_MAX, NULL);
    dpot_status status = make_lists(&g);
    if (status == DPOT_OK) {
        find_parts(&g);
        g.s = sqlite_store_lock(store);
        status = append_locked(&g);
        note_health(g.s, status, outcomes, n);
        sqlite_store_update_id_usage(g.s);
        sqlite_store_unlock(g.s);
    }
    dpot_buf_release(&g.packed);
    dpot_free_array(NULL, g.reports, g.n_reports_max, sizeof *g.reports);
    dpot_free_array(NULL, g.order, g.n_reports_max, sizeof *g.order);
    dpot_free_array(NULL, g.places, n, sizeof *g.places);
    dpot_free_array(NULL, g.parts, n, sizeof *g.parts);
    return status;
}
