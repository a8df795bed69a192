#include "http/revisions.h"

#include <stdio.h>
#include <string.h>

json_t *revisions_damage(const struct http_app *app, const uint8_t hash[DPOT_HASH_LEN])
{
    struct dpot_error sentence;
    return store_is_damaged(app->store, hash, &sentence) ? json_string(sentence.text) : json_null();
}

/* A list of revisions in the making. */
struct listing {
    const struct http_app *app;
    const uint8_t *id;
    bool has_times;  /* all revisions, with their times; else those with reports */
    uint32_t except; /* 0: none */
    json_t *list;
    dpot_status status;
    struct dpot_error *error;
};

static void add_times(const struct listing *listing, const uint8_t *hash, json_t *row)
{
    struct registry_revision revision;
    const bool is_readable = registry_get(listing->app->registry, hash, &revision, NULL) == DPOT_OK;
    (void)json_object_set_new(row, "opens",
                              is_readable ? api_time(revision.campaign->opens_ms) : json_null());
    (void)json_object_set_new(row, "closes",
                              is_readable ? api_time(revision.campaign->closes_ms) : json_null());
}

static int list_revision(void *ctx, const struct revision_record *record)
{
    struct listing *listing = ctx;
    struct pool_count count;
    if (memcmp(record->campaign_id, listing->id, DPOT_CAMPAIGN_ID_LEN) != 0 ||
        record->revision == listing->except) {
        return 0;
    }
    listing->status = store_count_pool(listing->app->store, record->hash, &count, listing->error);
    if (listing->status != DPOT_OK || (!listing->has_times && count.n_accepted == 0)) {
        return listing->status != DPOT_OK;
    }
    json_t *row =
        json_pack("{s:I,s:o,s:s,s:I,s:o}", "revision", (json_int_t)record->revision, "hash",
                  api_hex(record->hash, sizeof record->hash), "state",
                  revision_state_name(record->state), "reports", (json_int_t)count.n_accepted,
                  "damage", revisions_damage(listing->app, record->hash));
    if (listing->has_times) {
        add_times(listing, record->hash, row);
    }
    if (json_array_append_new(listing->list, row) != 0) {
        listing->status = DPOT_ERR_MEMORY;
    }
    return listing->status != DPOT_OK;
}

static dpot_status run(struct listing *listing)
{
    listing->list = json_array();
    const dpot_status status =
        store_list_revisions(listing->app->store, list_revision, listing, listing->error);
    return status == DPOT_OK ? listing->status : status;
}

dpot_status revisions_list(const struct http_app *app, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                           json_t **list, struct dpot_error *error)
{
    struct listing listing = {.app = app, .id = id, .has_times = true, .error = error};
    const dpot_status status = run(&listing);
    *list = listing.list;
    if (status != DPOT_OK) {
        json_decref(listing.list);
        *list = NULL;
    }
    return status;
}

json_t *revisions_others(const struct http_app *app, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                         uint32_t except)
{
    struct listing listing = {.app = app, .id = id, .except = except};
    if (run(&listing) != DPOT_OK) {
        (void)json_array_clear(listing.list);
    }
    return listing.list;
}

void revisions_add_hint(const struct http_app *app, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                        uint32_t number, struct dpot_error *error)
{
    struct registry_revision revision;
    if (registry_select(app->registry, id, number, &revision, NULL) != DPOT_OK) {
        return;
    }
    json_t *others = revisions_others(app, id, revision.record.revision);
    for (size_t i = 0; i < json_array_size(others); i++) {
        const json_t *row = json_array_get(others, i);
        const size_t len = strlen(error->text);
        const int added = snprintf(error->text + len, sizeof error->text - len,
                                   "; revision %lld (%s) holds %lld reports",
                                   (long long)json_integer_value(json_object_get(row, "revision")),
                                   json_string_value(json_object_get(row, "state")),
                                   (long long)json_integer_value(json_object_get(row, "reports")));
        if (added < 0 || (size_t)added >= sizeof error->text - len) {
            error->text[len] = '\0'; /* only whole hints */
            break;
        }
    }
    json_decref(others);
}
