#include "store/store.h"

#include "store/backend.h"

#include <string.h>

static const struct store_backend *const table[] = {&store_sqlite};

const char *revision_state_name(enum revision_state state)
{
    switch (state) {
    case REVISION_DRAFT:
        return "draft";
    case REVISION_OPEN:
        return "open";
    case REVISION_CLOSED:
        return "closed";
    }
    return "unknown";
}

const char *job_state_name(enum job_state state)
{
    switch (state) {
    case JOB_QUEUED:
        return "queued";
    case JOB_RUNNING:
        return "running";
    case JOB_DONE:
        return "done";
    case JOB_FAILED:
        return "failed";
    case JOB_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}

const char *drop_reason_name(enum drop_reason reason)
{
    static const char *const names[] = {"unknown", "round", "not_open", "closed", "store"};
    return (unsigned)reason < DROP_REASONS ? names[reason] : "unknown";
}

/* The backend of a URL, and the rest of the URL. */
static dpot_status find_backend(const char *url, const struct store_backend **backend,
                                const char **location, struct dpot_error *error)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const size_t scheme_len = strlen(table[i]->scheme);
        if (strncmp(url, table[i]->scheme, scheme_len) == 0) {
            *backend = table[i];
            *location = url + scheme_len;
            return DPOT_OK;
        }
    }
    return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                          "store is \"%s\": this build knows sqlite:PATH and sqlite::memory:", url);
}

static dpot_status open_as(const char *url, enum store_use use,
                           const struct store_validator *validator, struct store **store,
                           struct dpot_error *error)
{
    const struct store_backend *backend = NULL;
    const char *location = NULL;
    *store = NULL;
    const dpot_status status = find_backend(url, &backend, &location, error);
    return status == DPOT_OK ? backend->open(location, use, validator, store, error) : status;
}

dpot_status store_open(const char *url, struct store **store, struct dpot_error *error)
{
    return open_as(url, STORE_SHARED, NULL, store, error);
}

dpot_status store_open_owned(const char *url, const struct store_validator *validator,
                             struct store **store, struct dpot_error *error)
{
    return open_as(url, STORE_OWNED, validator, store, error);
}

dpot_status store_open_existing(const char *url, struct store **store, struct dpot_error *error)
{
    return open_as(url, STORE_EXISTING, NULL, store, error);
}

dpot_status store_open_old(const char *url, struct store **store, struct dpot_error *error)
{
    return open_as(url, STORE_OLD, NULL, store, error);
}

void store_watch(struct store *store, store_watcher watch, void *ctx)
{
    store->backend->watch(store, watch, ctx);
}

void store_close(struct store *store)
{
    if (store) {
        store->backend->close(store);
    }
}

void store_get_schema(struct store *store, int *found, int *current)
{
    store->backend->get_schema(store, found, current);
}

dpot_status store_backup(struct store *store, const char *path,
                         const struct store_validator *validator, struct dpot_error *error)
{
    return store->backend->backup(store, path, validator, error);
}

dpot_status store_save(struct store *store, const char *what,
                       const struct store_validator *validator, char name[STORE_PATH_SIZE],
                       struct dpot_error *error)
{
    return store->backend->save(store, what, validator, name, STORE_PATH_SIZE, error);
}

dpot_status store_replace(const char *url, const char *from, char kept[STORE_PATH_SIZE],
                          struct dpot_error *error)
{
    const struct store_backend *backend = NULL;
    const char *location = NULL;
    kept[0] = '\0';
    const dpot_status status = find_backend(url, &backend, &location, error);
    return status == DPOT_OK ? backend->replace(location, from, kept, STORE_PATH_SIZE, error)
                             : status;
}

dpot_status store_check(struct store *store, struct dpot_error *error)
{
    return store->backend->check(store, error);
}

dpot_status store_try_write(struct store *store, struct dpot_error *error)
{
    return store->backend->try_write(store, error);
}

dpot_status store_check_structure(struct store *store, struct dpot_error *error)
{
    return store->backend->check_structure(store, error);
}

dpot_status store_check_tables(struct store *store, enum store_tables which, store_each_fault each,
                               void *ctx, struct dpot_error *error)
{
    return store->backend->check_tables(store, which, each, ctx, error);
}

dpot_status store_add_revision(struct store *store, const struct revision_record *record,
                               const void *signed_bytes, size_t len, struct dpot_error *error)
{
    return store->backend->add_revision(store, record, signed_bytes, len, error);
}

dpot_status store_set_state(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                            enum revision_state state, struct dpot_error *error)
{
    return store->backend->set_state(store, hash, state, error);
}

dpot_status store_list_revisions(struct store *store, store_each_revision each, void *ctx,
                                 struct dpot_error *error)
{
    return store->backend->list_revisions(store, each, ctx, error);
}

dpot_status store_get_revision(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                               struct revision_record *record, struct dpot_buf *out,
                               struct dpot_error *error)
{
    return store->backend->get_revision(store, hash, record, out, error);
}

dpot_status store_find_campaign(struct store *store,
                                const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN],
                                struct revision_record *record, struct dpot_buf *out,
                                struct dpot_error *error)
{
    return store->backend->find_campaign(store, campaign_id, record, out, error);
}

dpot_status store_append_group(struct store *store, const struct store_append *const *appends,
                               size_t n, dpot_status *outcomes, struct dpot_error *error)
{
    return store->backend->append_group(store, appends, n, outcomes, error);
}

dpot_status store_append_reports(struct store *store, const struct store_append *append,
                                 struct dpot_error *error)
{
    dpot_status outcome = DPOT_OK;
    const dpot_status status = store_append_group(store, &append, 1, &outcome, error);
    return status == DPOT_OK ? outcome : status;
}

dpot_status store_merge(struct store *store, const uint8_t hash[DPOT_HASH_LEN], uint32_t n_rounds,
                        bool *has_merged, struct dpot_error *error)
{
    return store->backend->merge(store, hash, n_rounds, has_merged, error);
}

dpot_status store_load_ids(struct store *store, struct dpot_error *error)
{
    return store->backend->load_ids(store, error);
}

void store_get_id_usage(struct store *store, struct store_id_usage *usage)
{
    store->backend->get_id_usage(store, usage);
}

size_t store_count_damaged(struct store *store)
{
    return store->backend->count_damaged(store);
}

bool store_is_damaged(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                      struct dpot_error *sentence)
{
    return store->backend->is_damaged(store, hash, sentence);
}

dpot_status store_count_pool(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                             struct pool_count *count, struct dpot_error *error)
{
    return store->backend->count_pool(store, hash, count, error);
}

dpot_status store_count_all(struct store *store, struct pool_count *count,
                            uint64_t n_dropped[DROP_REASONS], struct dpot_error *error)
{
    return store->backend->count_all(store, count, n_dropped, error);
}

dpot_status store_add_drops(struct store *store, const uint64_t n[DROP_REASONS],
                            struct dpot_error *error)
{
    return store->backend->add_drops(store, n, error);
}

dpot_status store_read_pool(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                            store_each_report each, void *ctx, struct dpot_error *error)
{
    return store->backend->read_pool(store, hash, each, ctx, error);
}

dpot_status store_add_job(struct store *store, const struct job_record *record,
                          struct dpot_error *error)
{
    return store->backend->add_job(store, record, error);
}

dpot_status store_get_job(struct store *store, const uint8_t id[JOB_ID_LEN],
                          struct job_record *record, struct dpot_error *error)
{
    return store->backend->get_job(store, id, record, error);
}

dpot_status store_next_job(struct store *store, struct job_record *record, struct dpot_error *error)
{
    return store->backend->next_job(store, record, error);
}

dpot_status store_list_jobs(struct store *store, const uint8_t *after, store_each_job each,
                            void *ctx, struct dpot_error *error)
{
    return store->backend->list_jobs(store, after, each, ctx, error);
}

dpot_status store_update_job(struct store *store, const struct job_record *record,
                             struct dpot_error *error)
{
    return store->backend->update_job(store, record, error);
}

dpot_status store_finish_job(struct store *store, struct job_record *record, const void *artifact,
                             size_t len, struct dpot_error *error)
{
    return store->backend->finish_job(store, record, artifact, len, error);
}

dpot_status store_requeue_jobs(struct store *store, int64_t now_ms, struct dpot_error *error)
{
    return store->backend->requeue_jobs(store, now_ms, error);
}

dpot_status store_get_artifact(struct store *store, const uint8_t digest[DPOT_HASH_LEN],
                               struct dpot_buf *out, struct dpot_error *error)
{
    return store->backend->get_artifact(store, digest, out, error);
}

dpot_status store_check_artifacts(struct store *store, store_each_damage each, void *ctx,
                                  struct dpot_error *error)
{
    return store->backend->check_artifacts(store, each, ctx, error);
}
