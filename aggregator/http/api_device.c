#include "base/clock.h"
#include "http/api.h"
#include "http/server.h"

static const char protobuf_type[] = "application/x-protobuf";

void api_device_health(const struct http_app *app, const struct http_request *request,
                       struct http_response *response)
{
    (void)app;
    (void)request;
    http_response_text(response, 200, "ok");
}

/* The paths are public, and the reason may name files, counts and ids: it goes to the log only. */
static void refuse_for_now(struct http_response *response, const char *path, dpot_status status,
                           const struct dpot_error *error)
{
    http_response_refuse(response, path, 503, status,
                         status == DPOT_ERR_BUSY
                             ? "the server is busy or being stopped: try again"
                             : "the server takes no reports now: its log says why");
    response->note = *error;
}

/* The first open revision whose reports are damaged. */
struct damage_search {
    struct store *store;
    bool is_found;
    struct dpot_error *error;
};

static int find_damaged(void *ctx, const struct revision_record *record)
{
    struct damage_search *search = ctx;
    char id[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    search->is_found = record->state == REVISION_OPEN &&
                       store_is_damaged(search->store, record->hash, search->error);
    if (search->is_found) {
        dpot_hex_encode(id, record->campaign_id, sizeof record->campaign_id);
        (void)dpot_error_prefix(search->error, DPOT_ERR_CORRUPT, "revision %u of campaign %s",
                                record->revision, id);
    }
    return search->is_found;
}

/* Damage of a revision that is not open costs no report: the metrics count it. */
static dpot_status check_damage(const struct http_app *app, struct dpot_error *error)
{
    struct damage_search search = {.store = app->store, .error = error};
    if (store_count_damaged(app->store) == 0) {
        return DPOT_OK;
    }
    const dpot_status status = store_list_revisions(app->store, find_damaged, &search, error);
    return status == DPOT_OK && search.is_found ? DPOT_ERR_CORRUPT : status;
}

/* Devices can seal reports, and the store takes them in every open campaign. */
static dpot_status check_ready(const struct http_app *app, const struct http_request *request,
                               struct dpot_error *error)
{
    const struct ingest *ingest = app->ingest;
    if (server_is_closing(request->server)) {
        return dpot_error_set(error, DPOT_ERR_BUSY, "the server is being stopped");
    }
    dpot_status status = seal_secrets_check(ingest->seal_secrets, ingest->n_seal_secrets,
                                            ingest->clock->now(ingest->clock->ctx), NULL, error);
    if (status == DPOT_OK) {
        status = check_damage(app, error);
    }
    return status == DPOT_OK ? server_check_store(request->server, error) : status;
}

void api_device_ready(const struct http_app *app, const struct http_request *request,
                      struct http_response *response)
{
    struct dpot_error error = {{0}};
    const dpot_status status = check_ready(app, request, &error);
    if (status == DPOT_OK) {
        http_response_text(response, 200, "ok");
    } else {
        refuse_for_now(response, request->path, status, &error);
    }
}

/* The bytes must outlive the server. */
static void answer_bytes(struct http_response *response, const struct dpot_buf *bytes)
{
    response->borrowed = bytes;
    response->status = 200;
    response->content_type = protobuf_type;
}

void api_device_keys(const struct http_app *app, const struct http_request *request,
                     struct http_response *response)
{
    (void)request;
    answer_bytes(response, &app->signed_keys);
}

void api_device_campaign(const struct http_app *app, const struct http_request *request,
                         struct http_response *response)
{
    struct dpot_error error = {{0}};
    struct registry_revision revision;
    const dpot_status status = registry_find(app->registry, request->id, &revision, &error);
    if (status == DPOT_ERR_NOT_FOUND ||
        (status == DPOT_OK && revision.record.state == REVISION_DRAFT)) {
        http_response_refuse(response, request->path, 404, DPOT_ERR_NOT_FOUND,
                             "no such campaign: check its id");
    } else if (status != DPOT_OK) {
        refuse_for_now(response, request->path, status, &error);
        response->retry_after_s = 5;
    } else {
        answer_bytes(response, revision.signed_bytes);
        /* 409 still serves analysts, and tells devices not to charge for a report. */
        response->status = revision.record.state == REVISION_OPEN ? 200 : 409;
    }
}

/* Names the refused POST, so that a refusal of a damaged or exchanged one deletes nothing on a
 * device. */
static void add_batch(struct http_response *response, const struct ingest_result *result)
{
    char hex[2 * DPOT_HASH_LEN + 1];
    dpot_hex_encode(hex, result->digest, sizeof result->digest);
    http_response_add(response, "batch", hex);
}

/* Says what closed it: an administrator, for good, or our clock, which may be wrong. */
static void add_closed(struct http_response *response, const struct ingest_result *result)
{
    char now[DPOT_RFC3339_SIZE];
    http_response_add(response, "closed", result->over_ms != 0 ? "round" : "revision");
    if (result->over_ms != 0) {
        dpot_time_format(result->over_ms, now);
        http_response_add(response, "server_time", now);
    }
}

void api_answer_batch(const struct http_request *request, struct http_response *response,
                      const struct ingest_result *result)
{
    if (result->verdict == INGEST_ACCEPTED) {
        response->status = 202;
        response->content_type = protobuf_type;
        response->level = LOG_LEVEL_DEBUG;
        return;
    }
    if (result->verdict == INGEST_NOT_YET && result->status != DPOT_ERR_NOT_OPEN) {
        refuse_for_now(response, request->path, result->status, &result->error);
    } else {
        http_response_refuse(response, request->path, (unsigned)result->verdict, result->status,
                             result->error.text);
    }
    add_batch(response, result);
    if (result->verdict == INGEST_CLOSED) {
        add_closed(response, result);
    }
    response->retry_after_s = result->retry_after_s;
    if (result->status == DPOT_ERR_NOT_OPEN) {
        response->level = LOG_LEVEL_DEBUG; /* not a failure of the server */
    }
}

static void finish_batch(void *work, struct http_response *response,
                         const struct http_request *request)
{
    struct ingest_result result;
    ingest_finish(work, &response->body, &result);
    api_answer_batch(request, response, &result);
}

/* The device has disconnected; its reports are stored and counted nevertheless. */
static void abandon_batch(void *work)
{
    struct http_response nobody;
    struct ingest_result result;
    http_response_init(&nobody);
    ingest_finish(work, &nobody.body, &result);
    http_response_release(&nobody);
}

static void resume(void *ctx)
{
    struct http_pause *pause = ctx;
    pause->resume(pause);
}

void api_device_reports(const struct http_app *app, const struct http_request *request,
                        struct http_response *response)
{
    struct http_pause *pause = request->pause;
    struct ingest_result result;
    struct ingest_call *call =
        ingest_begin(app->ingest, request->id, request->body, request->body_len, &result);
    if (!call) {
        api_answer_batch(request, response, &result);
        return;
    }
    pause->work = call;
    pause->finish = finish_batch;
    pause->abandon = abandon_batch;
    if (!pause->suspend(pause)) {
        pause->work = NULL;
        finish_batch(call, response, request);
        return;
    }
    ingest_submit(&call, 1, resume, pause); /* the request may have ended */
}
