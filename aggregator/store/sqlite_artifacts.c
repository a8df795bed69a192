#include "store/sqlite_store.h"

#include <string.h>

/* (T5): the row of `q`, checked against its name. */
static dpot_status read_row(struct query q, const uint8_t *digest, struct dpot_buf *out,
                            struct dpot_error *error)
{
    uint8_t found[DPOT_HASH_LEN];
    size_t len = 0;
    const uint8_t *data = query_bytes(q, 0, &len);
    dpot_hash(found, data ? data : found, data ? len : 0);
    if (memcmp(found, digest, sizeof found) != 0) {
        return sqlite_store_fail_corrupt("an artifact", error);
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

dpot_status sqlite_store_get_artifact(struct store *store, const uint8_t *digest,
                                      struct dpot_buf *out, struct dpot_error *error)
{
    struct sqlite_store *s = sqlite_store_lock(store);
    const dpot_status status = read_artifact(s, digest, out, error);
    sqlite_store_unlock(s);
    return status;
}

static dpot_status insert(struct sqlite_store *s, const uint8_t *digest, const void *data,
                          size_t len, struct dpot_error *error)
{
    struct query q = query_start(s->database, STATEMENT_ADD_ARTIFACT,
                                 "INSERT INTO artifact (digest, bytes) VALUES (?1, ?2)");
    query_bind_bytes(q, 1, digest, DPOT_HASH_LEN);
    query_bind_bytes(q, 2, data, len);
    return query_run(q) ? DPOT_OK : database_fail(s->database, "storing an artifact", error);
}

dpot_status sqlite_store_add_artifact(struct sqlite_store *s, const uint8_t *digest,
                                      const void *data, size_t len, struct dpot_error *error)
{
    struct dpot_buf found;
    dpot_buf_init(&found, SIZE_MAX, NULL);
    dpot_status status = read_artifact(s, digest, &found, error);
    dpot_buf_release(&found);
    if (status == DPOT_ERR_NOT_FOUND) {
        status = insert(s, digest, data, len, error);
    }
    return status;
}
