#include "store/sqlite_store.h"

#include <string.h>

static dpot_status add_revision(struct sqlite_store *s, const struct revision_record *record,
                                const void *signed_bytes, size_t len, struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_ADD_REVISION,
                                 "INSERT INTO revision (hash, campaign_id, revision, name, state,"
                                 " created_ms, signed) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6)");
    query_bind_bytes(q, 1, record->hash, sizeof record->hash);
    query_bind_bytes(q, 2, record->campaign_id, sizeof record->campaign_id);
    query_bind_integer(q, 3, record->revision);
    query_bind_text(q, 4, record->name);
    query_bind_integer(q, 5, record->created_ms);
    query_bind_bytes(q, 6, signed_bytes, len);
    if (query_run(q)) {
        return DPOT_OK;
    }
    const dpot_status status = database_fail(s->database, "adding a revision", error);
    return status == DPOT_ERR_EXISTS
               ? dpot_error_set(error, status,
                                "revision %u of this campaign is stored already: make a new one",
                                record->revision)
               : status;
}

dpot_status sqlite_store_add_revision(struct store *store, const struct revision_record *record,
                                      const void *signed_bytes, size_t len,
                                      struct dpot_error *error)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    dpot_status status = database_begin(s->database, error);
    if (status == DPOT_OK) {
        status =
            database_end(s->database, add_revision(s, record, signed_bytes, len, error), error);
    }
    sqlite_store_unlock(s);
    return status;
}

dpot_status sqlite_store_get_state(struct sqlite_store *s, const uint8_t *hash,
                                   enum revision_state *state, struct dpot_error *error)
{
    struct query q =
        query_start(s->database, STATEMENT_GET_STATE, "SELECT state FROM revision WHERE hash = ?1");
    query_bind_bytes(q, 1, hash, DPOT_HASH_LEN);
    dpot_status status = DPOT_OK;
    switch (query_step(q)) {
    case QUERY_ROW:
        *state = (enum revision_state)query_integer(q, 0); /* 1..3: the table's own CHECK */
        break;
    case QUERY_DONE:
        status = dpot_error_set(error, DPOT_ERR_NOT_FOUND,
                                "no revision has this campaign hash: check it");
        break;
    case QUERY_FAILED:
        status = database_fail(s->database, "reading a state", error);
        break;
    }
    query_finish(q);
    return status;
}

static dpot_status close_others(struct sqlite_store *s, const uint8_t *hash,
                                struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_CLOSE_OTHERS,
                                 "UPDATE revision SET state = 3 WHERE state = 2 AND hash <> ?1"
                                 " AND campaign_id ="
                                 " (SELECT campaign_id FROM revision WHERE hash = ?1)");
    query_bind_bytes(q, 1, hash, DPOT_HASH_LEN);
    return query_run(q) ? DPOT_OK
                        : database_fail(s->database, "closing the former revision", error);
}

/* Inside the transaction. */
static dpot_status change_state(struct sqlite_store *s, const uint8_t *hash,
                                enum revision_state state, struct dpot_error *error)
{
    enum revision_state now = REVISION_DRAFT;
    dpot_status status = sqlite_store_get_state(s, hash, &now, error);
    if (status == DPOT_OK && now == REVISION_CLOSED && state == REVISION_OPEN) {
        return dpot_error_set(error, DPOT_ERR_CLOSED,
                              "the revision is closed and never opens again: create a new one");
    }
    if (status == DPOT_OK && state == REVISION_OPEN) {
        status = close_others(s, hash, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    struct query q = query_start(s->database, STATEMENT_SET_STATE,
                                 "UPDATE revision SET state = ?2 WHERE hash = ?1");
    query_bind_bytes(q, 1, hash, DPOT_HASH_LEN);
    query_bind_integer(q, 2, (int64_t)state);
    return query_run(q) ? DPOT_OK : database_fail(s->database, "changing a state", error);
}

dpot_status sqlite_store_set_state(struct store *store, const uint8_t *hash,
                                   enum revision_state state, struct dpot_error *error)
{
    if (state != REVISION_OPEN && state != REVISION_CLOSED) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "a revision cannot become a draft: open or close it");
    }
    struct sqlite_store *s = sqlite_store_lock(store);
    dpot_status status = database_begin(s->database, error);
    if (status == DPOT_OK) {
        status = database_end(s->database, change_state(s, hash, state, error), error);
    }
    if (status == DPOT_OK && state == REVISION_CLOSED) {
        id_cache_drop_revision(&s->ids, hash);
        sqlite_store_update_id_usage(s);
    }
    sqlite_store_unlock(s);
    return status;
}

#define RECORD_COLUMNS "hash, campaign_id, revision, name, state, created_ms"
#define N_RECORD_COLUMNS 6

static dpot_status read_record(struct query q, struct revision_record *record,
                               struct dpot_error *error)
{
    *record = (struct revision_record){.created_ms = query_integer(q, 5)};
    const int64_t revision = query_integer(q, 2), state = query_integer(q, 4);
    const char *name = query_text(q, 3);
    const size_t name_len = name ? strlen(name) : 0;
    if (!sqlite_store_read_bytes(q, 0, record->hash, sizeof record->hash) ||
        !sqlite_store_read_bytes(q, 1, record->campaign_id, sizeof record->campaign_id) ||
        revision < 1 || revision > UINT32_MAX || name_len == 0 ||
        name_len > DPOT_CAMPAIGN_NAME_MAX || state < REVISION_DRAFT || state > REVISION_CLOSED) {
        return sqlite_store_fail_corrupt("a revision", error);
    }
    record->revision = (uint32_t)revision;
    record->state = (enum revision_state)state;
    memcpy(record->name, name, name_len);
    return DPOT_OK;
}

/* The row of `q`: its record, and its signed bytes unless `out` is NULL. */
static dpot_status read_row(struct query q, struct revision_record *record, struct dpot_buf *out,
                            struct dpot_error *error)
{
    const dpot_status status = read_record(q, record, error);
    if (status != DPOT_OK || !out) {
        return status;
    }
    size_t len = 0;
    const uint8_t *data = query_bytes(q, N_RECORD_COLUMNS, &len);
    return data ? dpot_buf_append(out, data, len)
                : sqlite_store_fail_corrupt("a signed campaign", error);
}

static dpot_status read_one(struct database *database, struct query q,
                            struct revision_record *record, struct dpot_buf *out,
                            const char *not_found, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    switch (query_step(q)) {
    case QUERY_ROW:
        status = read_row(q, record, out, error);
        break;
    case QUERY_DONE:
        status = dpot_error_set(error, DPOT_ERR_NOT_FOUND, "%s: check it", not_found);
        break;
    case QUERY_FAILED:
        status = database_fail(database, "reading a revision", error);
        break;
    }
    query_finish(q);
    return status;
}

/* The signed bytes, which may be long, are read only if `out` is given: ingest calls this for every
 * batch. */
dpot_status sqlite_store_get_revision(struct store *store, const uint8_t *hash,
                                      struct revision_record *record, struct dpot_buf *out,
                                      struct dpot_error *error)
{
    struct database *reader = sqlite_store_lock_reader(store);
    struct query q =
        out ? query_start(reader, STATEMENT_GET_REVISION,
                          "SELECT " RECORD_COLUMNS ", signed FROM revision WHERE hash = ?1")
            : query_start(reader, STATEMENT_GET_RECORD,
                          "SELECT " RECORD_COLUMNS " FROM revision WHERE hash = ?1");
    query_bind_bytes(q, 1, hash, DPOT_HASH_LEN);
    const dpot_status status =
        read_one(reader, q, record, out, "no revision has this campaign hash", error);
    sqlite_store_unlock_reader(reader);
    return status;
}

dpot_status sqlite_store_find_campaign(struct store *store, const uint8_t *campaign_id,
                                       struct revision_record *record, struct dpot_buf *out,
                                       struct dpot_error *error)
{
    struct database *reader = sqlite_store_lock_reader(store);
    struct query q = query_start(
        reader, STATEMENT_FIND_CAMPAIGN,
        "SELECT " RECORD_COLUMNS ", signed FROM revision WHERE campaign_id = ?1"
        " ORDER BY CASE state WHEN 2 THEN 0 WHEN 3 THEN 1 ELSE 2 END, revision DESC LIMIT 1");
    query_bind_bytes(q, 1, campaign_id, DPOT_CAMPAIGN_ID_LEN);
    const dpot_status status = read_one(reader, q, record, out, "no campaign has this id", error);
    sqlite_store_unlock_reader(reader);
    return status;
}

/* Appends every record to `out`, as structs. */
static dpot_status gather_records(struct database *reader, struct dpot_buf *out,
                                  struct dpot_error *error)
{
    struct query q =
        query_start(reader, STATEMENT_LIST,
                    "SELECT " RECORD_COLUMNS " FROM revision"
                    " ORDER BY min(seq) OVER (PARTITION BY campaign_id) DESC, revision DESC");
    dpot_status status = DPOT_OK;
    enum query_outcome outcome = query_step(q);
    while (status == DPOT_OK && outcome == QUERY_ROW) {
        struct revision_record record;
        status = read_record(q, &record, error);
        if (status == DPOT_OK) {
            status = dpot_buf_append(out, &record, sizeof record);
        }
        outcome = query_step(q);
    }
    if (status == DPOT_OK && outcome == QUERY_FAILED) {
        status = database_fail(reader, "listing revisions", error);
    }
    query_finish(q);
    return status;
}

dpot_status sqlite_store_list_revisions(struct store *store, store_each_revision each, void *ctx,
                                        struct dpot_error *error)
{
    struct dpot_buf records;
    dpot_buf_init(&records, SIZE_MAX, NULL);
    struct database *reader = sqlite_store_lock_reader(store);
    const dpot_status status = gather_records(reader, &records, error);
    sqlite_store_unlock_reader(reader);
    struct revision_record record;
    for (size_t at = 0; status == DPOT_OK && at < records.len; at += sizeof record) {
        memcpy(&record, records.data + at, sizeof record);
        if (each(ctx, &record) != 0) {
            break;
        }
    }
    dpot_buf_release(&records);
    return status;
}
