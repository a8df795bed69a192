#include "base/clock.h"
#include "campaign/spec.h"
#include "http/revisions.h"
#include "pool/describe.h"
#include "pool/export.h"

#include <string.h>

static json_t *describe_record(const struct http_app *app, const struct revision_record *record)
{
    char created[DPOT_RFC3339_SIZE];
    dpot_time_format(record->created_ms, created);
    return json_pack("{s:o,s:I,s:o,s:s,s:s,s:s,s:o}", "id",
                     api_hex(record->campaign_id, sizeof record->campaign_id), "revision",
                     (json_int_t)record->revision, "hash",
                     api_hex(record->hash, sizeof record->hash), "name", record->name, "state",
                     revision_state_name(record->state), "created", created, "damage",
                     revisions_damage(app, record->hash));
}

/* Makes a revision from the body. */
typedef dpot_status (*maker)(const struct http_app *app, const struct http_request *request,
                             const json_t *body, struct revision_record *record,
                             struct dpot_error *error);

static void make_revision(const struct http_app *app, const struct http_request *request,
                          struct http_response *response, maker make)
{
    struct dpot_error error = {{0}};
    struct revision_record record;
    json_t *body = NULL;
    dpot_status status = api_parse(request, &body, &error);
    if (status == DPOT_OK) {
        status = make(app, request, body, &record, &error);
    }
    json_decref(body);
    if (status != DPOT_OK) {
        api_refuse(request, response, status, &error);
        return;
    }
    http_response_json(response, 201, describe_record(app, &record));
    response->level = LOG_LEVEL_INFO;
}

static dpot_status create(const struct http_app *app, const struct http_request *request,
                          const json_t *body, struct revision_record *record,
                          struct dpot_error *error)
{
    (void)request;
    return registry_create(app->registry, body, record, error);
}

static dpot_status revise(const struct http_app *app, const struct http_request *request,
                          const json_t *body, struct revision_record *record,
                          struct dpot_error *error)
{
    return registry_revise(app->registry, request->id, body, record, error);
}

void api_admin_create(const struct http_app *app, const struct http_request *request,
                      struct http_response *response)
{
    make_revision(app, request, response, create);
}

void api_admin_revise(const struct http_app *app, const struct http_request *request,
                      struct http_response *response)
{
    make_revision(app, request, response, revise);
}

/* The page begins behind the revision `after`, in the order of the store. */
struct campaign_list {
    const struct http_app *app;
    const uint8_t *after; /* NULL: it has begun */
    struct api_page page;
};

static int append_record(void *ctx, const struct revision_record *record)
{
    struct campaign_list *list = ctx;
    if (!list->after) {
        return api_page_add(&list->page, describe_record(list->app, record));
    }
    if (memcmp(list->after, record->hash, sizeof record->hash) == 0) {
        list->after = NULL;
    }
    return 0;
}

void api_admin_list(const struct http_app *app, const struct http_request *request,
                    struct http_response *response)
{
    struct dpot_error error = {{0}};
    struct campaign_list list = {.app = app,
                                 .after = request->after_len > 0 ? request->after : NULL};
    api_page_init(&list.page, request);
    dpot_status status = store_list_revisions(app->store, append_record, &list, &error);
    if (status == DPOT_OK && list.after) {
        status = dpot_error_set(&error, DPOT_ERR_NOT_FOUND,
                                "no revision has the hash that is given as after: check it");
    }
    api_page_answer(&list.page, "campaigns", "hash", request, response, status, &error);
}

/* Loads the revision that path and query name, and the counts of its pool. False: the answer is a
 * refusal. */
static bool load_pool(const struct http_app *app, const struct http_request *request,
                      struct http_response *response, struct registry_revision *revision,
                      struct pool_count *count)
{
    struct dpot_error error = {{0}};
    dpot_status status =
        registry_select(app->registry, request->id, request->revision, revision, &error);
    if (status == DPOT_OK) {
        status = store_count_pool(app->store, revision->record.hash, count, &error);
    }
    if (status != DPOT_OK) {
        api_refuse(request, response, status, &error);
        return false;
    }
    return true;
}

void api_admin_show(const struct http_app *app, const struct http_request *request,
                    struct http_response *response)
{
    struct dpot_error error = {{0}};
    struct registry_revision revision;
    struct pool_count count;
    json_t *revisions = NULL;
    if (!load_pool(app, request, response, &revision, &count)) {
        return;
    }
    const dpot_status status = revisions_list(app, request->id, &revisions, &error);
    if (status != DPOT_OK) {
        api_refuse(request, response, status, &error);
        return;
    }
    json_t *record = describe_record(app, &revision.record);
    json_t *body = json_pack("{s:o}", "revisions", revisions);
    (void)json_object_update(body, record);
    json_decref(record);
    (void)json_object_set_new(body, "spec",
                              spec_describe(revision.campaign, revision.record.hash, 0));
    (void)json_object_set_new(body, "pool",
                              describe_pool(revision.campaign, revision.record.hash, &count));
    http_response_json(response, 200, body);
}

/* The revision, its pool, and the other revisions with reports. */
static json_t *describe_selected(const struct http_app *app, const struct http_request *request,
                                 const struct registry_revision *revision,
                                 const struct pool_count *count)
{
    const struct revision_record *record = &revision->record;
    json_t *body =
        json_pack("{s:o,s:I,s:s,s:o}", "other_revisions",
                  revisions_others(app, request->id, record->revision), "revision",
                  (json_int_t)record->revision, "state", revision_state_name(record->state),
                  "damage", revisions_damage(app, record->hash));
    json_t *pool = describe_pool(revision->campaign, record->hash, count);
    if (json_object_update(body, pool) != 0) {
        json_decref(body);
        body = NULL;
    }
    json_decref(pool);
    return body;
}

void api_admin_pool(const struct http_app *app, const struct http_request *request,
                    struct http_response *response)
{
    struct registry_revision revision;
    struct pool_count count;
    if (load_pool(app, request, response, &revision, &count)) {
        http_response_json(response, 200, describe_selected(app, request, &revision, &count));
    }
}

void api_admin_signed(const struct http_app *app, const struct http_request *request,
                      struct http_response *response)
{
    struct dpot_error error = {{0}};
    struct registry_revision revision;
    const dpot_status status =
        registry_select(app->registry, request->id, request->revision, &revision, &error);
    if (status != DPOT_OK) {
        api_refuse(request, response, status, &error);
        return;
    }
    response->status = 200;
    response->content_type = "application/x-protobuf";
    response->borrowed = revision.signed_bytes;
}

/* The revision that was closed by opening another, null for none. */
static json_t *describe_former(const struct http_app *app, const struct revision_record *former)
{
    struct pool_count count = {.n_accepted = 0};
    if (former->revision == 0) {
        return json_null();
    }
    const bool is_counted = store_count_pool(app->store, former->hash, &count, NULL) == DPOT_OK;
    json_t *body = describe_record(app, former);
    (void)json_object_set_new(
        body, "reports", is_counted ? json_integer((json_int_t)count.n_accepted) : json_null());
    return body;
}

void api_admin_open(const struct http_app *app, const struct http_request *request,
                    struct http_response *response)
{
    struct dpot_error error = {{0}};
    struct revision_record record, former;
    const dpot_status status =
        registry_open_campaign(app->registry, request->id, &record, &former, &error);
    if (status != DPOT_OK) {
        api_refuse(request, response, status, &error);
        return;
    }
    json_t *opened = describe_record(app, &record);
    json_t *body = json_pack("{s:o}", "closed", describe_former(app, &former));
    (void)json_object_update(body, opened);
    json_decref(opened);
    http_response_json(response, 200, body);
    response->level = LOG_LEVEL_INFO;
}

void api_admin_close(const struct http_app *app, const struct http_request *request,
                     struct http_response *response)
{
    struct dpot_error error = {{0}};
    struct revision_record record;
    const dpot_status status =
        registry_close_campaign(app->registry, request->id, request->revision, &record, &error);
    if (status != DPOT_OK) {
        api_refuse(request, response, status, &error);
        return;
    }
    http_response_json(response, 200, describe_record(app, &record));
    response->level = LOG_LEVEL_INFO;
}

/* The part of a pool to export. */
enum export_part { EXPORT_DATA, EXPORT_COEFFICIENTS, EXPORT_GROUPS };

static dpot_status export_part(const struct http_app *app, const struct registry_revision *revision,
                               enum export_part part, FILE *file, struct dpot_error *error)
{
    const uint8_t *hash = revision->record.hash;
    return part == EXPORT_GROUPS
               ? export_groups(app->store, hash, revision->campaign, file, error)
               : export_pool(app->store, hash, revision->campaign,
                             part == EXPORT_DATA ? DECODE_DATA : DECODE_COEFFICIENTS, file, error);
}

/* A pool may be larger than memory, so it goes through an unlinked file. */
static dpot_status write_file(const struct http_app *app, const struct registry_revision *revision,
                              enum export_part part, struct http_response *response,
                              struct dpot_error *error)
{
    response->file = tmpfile();
    const dpot_status status =
        response->file ? export_part(app, revision, part, response->file, error) : DPOT_OK;
    if (status == DPOT_OK && (!response->file || fflush(response->file) != 0)) {
        return dpot_error_set(error, DPOT_ERR_IO,
                              "the export needs a temporary file: free space in /tmp");
    }
    return status;
}

static void answer_export(const struct http_app *app, const struct http_request *request,
                          enum export_part part, struct http_response *response)
{
    struct dpot_error error = {{0}};
    struct registry_revision revision;
    dpot_status status =
        registry_select(app->registry, request->id, request->revision, &revision, &error);
    if (status == DPOT_OK) {
        status = write_file(app, &revision, part, response, &error);
    }
    if (status != DPOT_OK) {
        http_response_release(response);
        api_refuse(request, response, status, &error);
        return;
    }
    response->status = 200;
    response->content_type = "application/octet-stream";
    response->level = LOG_LEVEL_INFO;
}

void api_admin_export(const struct http_app *app, const struct http_request *request,
                      struct http_response *response)
{
    answer_export(app, request, EXPORT_DATA, response);
}

void api_admin_coefficients(const struct http_app *app, const struct http_request *request,
                            struct http_response *response)
{
    answer_export(app, request, EXPORT_COEFFICIENTS, response);
}

void api_admin_groups(const struct http_app *app, const struct http_request *request,
                      struct http_response *response)
{
    answer_export(app, request, EXPORT_GROUPS, response);
}
