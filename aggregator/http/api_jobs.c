#include "http/revisions.h"
#include "json/fields.h"

#define RETRY_QUEUE_S 60 /* when too many jobs wait */

/* A row that was altered must not hide the others: what is not JSON, or not UTF-8, becomes null. */
static json_t *or_null(json_t *value)
{
    return value ? value : json_null();
}

static json_t *describe_job(const struct job_record *record)
{
    const bool has_revision = record->revision != 0;
    json_t *progress = json_pack("{s:I,s:I}", "done", (json_int_t)record->n_done, "total",
                                 (json_int_t)record->n_total);
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "id",
        api_hex(record->id, sizeof record->id), "kind", or_null(json_string(record->kind)),
        "campaign", api_hex(record->campaign_id, sizeof record->campaign_id), "campaign_hash",
        api_hex(record->hash, sizeof record->hash), "revision",
        has_revision ? json_integer((json_int_t)record->revision) : json_null(), "revision_state",
        or_null(has_revision ? json_string(revision_state_name(record->revision_state)) : NULL),
        "parameters", or_null(json_loads(record->parameters, 0, NULL)), "state",
        job_state_name(record->state), "progress", progress, "created",
        api_time(record->created_ms), "started", api_time(record->started_ms), "ended",
        api_time(record->ended_ms), "error",
        or_null(record->sentence[0] ? json_string(record->sentence) : NULL), "artifact",
        record->state == JOB_DONE ? api_hex(record->artifact, sizeof record->artifact)
                                  : json_null());
}

/* 202 while the job is queued or runs. */
static void answer_job(struct http_response *response, const struct job_record *record,
                       json_t *body)
{
    const bool is_waiting = record->state == JOB_QUEUED || record->state == JOB_RUNNING;
    http_response_json(response, is_waiting ? 202 : 200, body);
    response->level = LOG_LEVEL_INFO;
}

/* The body of a start; the members are borrowed from it. */
struct start {
    const char *kind, *campaign;
    uint32_t revision; /* 0: not given */
    const json_t *parameters;
};

static const struct json_field start_fields[] = {
    FIELD_TEXT("kind", struct start, kind, FIELD_REQUIRED("a job needs kind and campaign")),
    FIELD_TEXT("campaign", struct start, campaign, FIELD_REQUIRED("a job needs kind and campaign")),
    FIELD_INTEGER("revision", struct start, revision, 1, UINT32_MAX, .otherwise = 0),
    FIELD_VALUE("parameters", struct start, parameters, .remedy = NULL),
    {.key = NULL},
};

static dpot_status read_start(const json_t *body, struct start *start,
                              uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN], struct dpot_error *error)
{
    const dpot_status status = json_read_fields(body, "", start_fields, NULL, start, error);
    return status == DPOT_OK &&
                   dpot_hex_decode(start->campaign, campaign_id, DPOT_CAMPAIGN_ID_LEN) != DPOT_OK
               ? dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "campaign is \"%.40s\": give an id of 32 hex digits",
                                start->campaign)
               : status;
}

static void answer_started(const struct http_app *app, struct http_response *response,
                           const struct job_record *record)
{
    json_t *job = describe_job(record);
    json_t *body = json_pack("{s:o}", "other_revisions",
                             revisions_others(app, record->campaign_id, record->revision));
    (void)json_object_update(body, job);
    json_decref(job);
    answer_job(response, record, body);
}

void api_jobs_start(const struct http_app *app, const struct http_request *request,
                    struct http_response *response)
{
    struct dpot_error error = {{0}};
    struct job_record record;
    struct start start = {.revision = 0};
    uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN];
    json_t *body = NULL;
    dpot_status status = api_parse(request, &body, &error);
    if (status == DPOT_OK) {
        status = read_start(body, &start, campaign_id, &error);
    }
    if (status == DPOT_OK) {
        status = runner_start(app->runner, start.kind, campaign_id, start.revision,
                              start.parameters, &record, &error);
        if (status == DPOT_ERR_STATE) { /* too few reports here; there may be enough elsewhere */
            revisions_add_hint(app, campaign_id, start.revision, &error);
        }
    }
    json_decref(body);
    if (status == DPOT_OK) {
        answer_started(app, response, &record);
    } else if (status == DPOT_ERR_BUSY) { /* too many jobs wait */
        http_response_refuse(response, request->path, 429, status, error.text);
        response->retry_after_s = RETRY_QUEUE_S;
    } else {
        api_refuse(request, response, status, &error);
    }
}

static int append_job(void *ctx, const struct job_record *record)
{
    return api_page_add(ctx, describe_job(record));
}

void api_jobs_list(const struct http_app *app, const struct http_request *request,
                   struct http_response *response)
{
    struct dpot_error error = {{0}};
    struct api_page page;
    api_page_init(&page, request);
    const uint8_t *after = request->after_len > 0 ? request->after : NULL;
    const dpot_status status = runner_list(app->runner, after, append_job, &page, &error);
    api_page_answer(&page, "jobs", "id", request, response, status, &error);
}

void api_jobs_show(const struct http_app *app, const struct http_request *request,
                   struct http_response *response)
{
    struct dpot_error error = {{0}};
    struct job_record record;
    const dpot_status status = runner_get(app->runner, request->id, &record, &error);
    if (status == DPOT_OK) {
        http_response_json(response, 200, describe_job(&record));
    } else {
        api_refuse(request, response, status, &error);
    }
}

void api_jobs_cancel(const struct http_app *app, const struct http_request *request,
                     struct http_response *response)
{
    struct dpot_error error = {{0}};
    struct job_record record;
    const dpot_status status = runner_cancel(app->runner, request->id, &record, &error);
    if (status == DPOT_OK) {
        answer_job(response, &record, describe_job(&record));
    } else {
        api_refuse(request, response, status, &error);
    }
}

void api_jobs_artifact(const struct http_app *app, const struct http_request *request,
                       struct http_response *response)
{
    struct dpot_error error = {{0}};
    const dpot_status status =
        store_get_artifact(app->store, request->digest, &response->body, &error);
    if (status != DPOT_OK) {
        api_refuse(request, response, status, &error);
        return;
    }
    response->status = 200;
    response->content_type = "application/x-protobuf";
    response->level = LOG_LEVEL_INFO;
}
