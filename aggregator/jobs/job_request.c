#include "jobs/job_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dpot_status copy_parameters(const json_t *parameters, struct job_record *record,
                                   struct dpot_error *error)
{
    char *text = json_dumps(parameters, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII |
                                            JSON_REAL_PRECISION(17));
    const int len = text ? snprintf(record->parameters, sizeof record->parameters, "%s", text) : -1;
    free(text);
    if (len < 0) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a job");
    }
    return (size_t)len < sizeof record->parameters
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                "the parameters take %d bytes: at most %zu", len,
                                sizeof record->parameters - 1);
}

/* No kind handles outputs that differ from report to report. */
static dpot_status refuse_sphere(const struct job_kind *kind, const struct dpot_campaign *campaign,
                                 struct dpot_error *error)
{
    return dpot_campaign_is_sphere(campaign)
               ? dpot_error_set(
                     error, DPOT_ERR_SHAPE,
                     "a job of the kind %s works on lists of points or on noisy vectors, and "
                     "the campaign is on a sphere: export its pool and use dpot estimate",
                     kind->name)
               : DPOT_OK;
}

/* Completes the given parameters and puts their text into the record; *complete is a new
 * reference. */
static dpot_status complete_parameters(const struct job_kind *kind,
                                       const struct dpot_campaign *campaign, const json_t *given,
                                       struct job_record *record, json_t **complete,
                                       struct dpot_error *error)
{
    json_t *empty = json_object();
    dpot_status status = refuse_sphere(kind, campaign, error);
    if (status == DPOT_OK) {
        status = kind->complete(campaign, given ? given : empty, complete, error);
    }
    if (status == DPOT_OK) {
        (void)snprintf(record->kind, sizeof record->kind, "%s", kind->name);
        status = copy_parameters(*complete, record, error);
    }
    json_decref(empty);
    return status;
}

dpot_status job_request_check_campaign(const struct job_kind *kind, const struct job_input *input,
                                       struct dpot_error *error)
{
    dpot_status status = kind->check ? kind->check(input, error) : DPOT_OK;
    if (status == DPOT_OK && kind->needs_pool) {
        status = snapshot_check_ready(input->snapshot, error);
    }
    return status;
}

static void fill_record(const struct snapshot *snapshot,
                        const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN], struct job_record *record)
{
    dpot_random_bytes(record->id, sizeof record->id);
    memcpy(record->campaign_id, campaign_id, sizeof record->campaign_id);
    memcpy(record->hash, snapshot->hash, sizeof record->hash);
    record->revision = snapshot->campaign->revision;
    record->revision_state = snapshot->state;
}

dpot_status job_request_check(const struct snapshot_source *source, const char *kind,
                              const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN], uint32_t revision,
                              const json_t *parameters, const struct job_limits *limits,
                              struct job_record *record, struct dpot_error *error)
{
    const struct job_kind *found = NULL;
    struct snapshot snapshot;
    struct job_input input = {.snapshot = &snapshot, .limits = *limits};
    json_t *complete = NULL;
    *record = (struct job_record){.state = JOB_QUEUED};
    dpot_status status = job_kind_find(kind, &found, error);
    if (status == DPOT_OK) {
        status = snapshot_find(source, campaign_id, revision, &snapshot, error);
    }
    if (status == DPOT_OK) {
        status =
            complete_parameters(found, snapshot.campaign, parameters, record, &complete, error);
    }
    input.parameters = complete;
    if (status == DPOT_OK) {
        status = job_request_check_campaign(found, &input, error);
    }
    if (status == DPOT_OK) {
        fill_record(&snapshot, campaign_id, record);
    }
    json_decref(complete);
    return status;
}

/* A stored job that this version cannot run is never changed into one that it can. */
static dpot_status refuse_stored(struct dpot_error *error, dpot_status status)
{
    return dpot_error_prefix(
        error, status,
        "the job was altered in the store, or queued by another version: start "
        "a new one");
}

dpot_status job_request_read_kind(const char *name, const struct job_kind **kind,
                                  struct dpot_error *error)
{
    const dpot_status status = job_kind_find(name, kind, error);
    return status == DPOT_OK ? status : refuse_stored(error, status);
}

/* Refuses the first parameter that is missing or not as this version writes it. */
static dpot_status compare(const json_t *stored, const json_t *complete, struct dpot_error *error)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)complete, key, value)
    {
        const json_t *found = json_object_get(stored, key);
        if (!found) {
            return dpot_error_set(error, DPOT_ERR_CORRUPT,
                                  "it has no parameters.%s, which this version needs", key);
        }
        if (!json_equal(found, value)) {
            return dpot_error_set(error, DPOT_ERR_CORRUPT,
                                  "its parameters.%s is not written as this version writes it",
                                  key);
        }
    }
    return DPOT_OK;
}

dpot_status job_request_read_parameters(const struct job_kind *kind,
                                        const struct dpot_campaign *campaign, const char *text,
                                        json_t **parameters, struct dpot_error *error)
{
    json_t *stored = NULL;
    *parameters = NULL;
    dpot_status status = json_parse(text, strlen(text), &stored, error);
    if (status == DPOT_OK) {
        status = refuse_sphere(kind, campaign, error);
    }
    if (status == DPOT_OK) {
        status = kind->complete(campaign, stored, parameters, error);
    }
    if (status == DPOT_OK) { /* `complete` has refused unknown keys */
        status = compare(stored, *parameters, error);
    }
    if (status != DPOT_OK) {
        json_decref(*parameters);
        *parameters = NULL;
    }
    json_decref(stored);
    return status == DPOT_OK ? status : refuse_stored(error, status);
}
