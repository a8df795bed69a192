#include "jobs/check.h"

#include "jobs/job.h"
#include "proto/wire_artifact.h"

#include <string.h>

struct checking {
    struct store *store;
    jobs_each_fault each;
    void *ctx;
    struct dpot_error *error;
    dpot_status status; /* the first failure to read, which ends the check */
};

/* Names what differs between row and artifact; NULL: nothing. */
static const char *find_difference(const struct job_record *job,
                                   const struct dpot_artifact *artifact)
{
    return strcmp(job->kind, artifact->kind) != 0                              ? "kind"
           : strcmp(job->parameters, artifact->parameters) != 0                ? "parameters"
           : memcmp(job->hash, artifact->campaign_hash, sizeof job->hash) != 0 ? "revision"
                                                                               : NULL;
}

static void report_difference(const struct checking *checking, const struct job_record *job,
                              const char *difference)
{
    char id[2 * JOB_ID_LEN + 1];
    struct dpot_error fault;
    dpot_hex_encode(id, job->id, sizeof job->id);
    (void)dpot_error_set(&fault, DPOT_ERR_CORRUPT,
                         "the %s of job %s %s from its artifact: restore the store from a backup",
                         difference, id,
                         strcmp(difference, "parameters") == 0 ? "differ" : "differs");
    checking->each(checking->ctx, DPOT_ERR_CORRUPT, fault.text);
}

/* Without an artifact, only the kind can be checked. */
static void note_kind(const struct checking *checking, const struct job_record *job)
{
    char id[2 * JOB_ID_LEN + 1];
    struct dpot_error note;
    const struct job_kind *kind = NULL;
    if (job_kind_find(job->kind, &kind, NULL) == DPOT_OK) {
        return;
    }
    dpot_hex_encode(id, job->id, sizeof job->id);
    (void)dpot_error_set(&note, DPOT_OK,
                         "job %s has the kind \"%.40s\", which this program does not know: use "
                         "the version that started it, or, when there is none, restore the store "
                         "from a backup",
                         id, job->kind);
    checking->each(checking->ctx, DPOT_OK, note.text);
}

/* An artifact of an unknown format version cannot be compared. */
static dpot_status compare(const struct checking *checking, const struct job_record *job,
                           const struct dpot_buf *bytes)
{
    struct dpot_artifact artifact;
    const dpot_status status =
        dpot_wire_artifact_decode(bytes->data, bytes->len, NULL, &artifact, checking->error);
    const char *difference = status == DPOT_OK ? find_difference(job, &artifact) : "result";
    dpot_artifact_release(&artifact);
    if (status == DPOT_ERR_MEMORY) {
        return status;
    }
    if (status != DPOT_ERR_VERSION && difference) {
        report_difference(checking, job, difference);
    }
    return DPOT_OK;
}

static int check_job(void *ctx, const struct job_record *job)
{
    struct checking *checking = ctx;
    struct dpot_buf bytes;
    if (job->state != JOB_DONE) {
        note_kind(checking, job);
        return 0;
    }
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    dpot_status status =
        store_get_artifact(checking->store, job->artifact, &bytes, checking->error);
    if (status == DPOT_OK) {
        status = compare(checking, job, &bytes);
    }
    dpot_buf_release(&bytes);
    if (status != DPOT_ERR_CORRUPT && status != DPOT_ERR_NOT_FOUND) {
        checking->status = status;
    }
    return checking->status != DPOT_OK;
}

dpot_status jobs_check(struct store *store, jobs_each_fault each, void *ctx,
                       struct dpot_error *error)
{
    struct dpot_error own = {{0}};
    struct checking checking = {
        .store = store, .each = each, .ctx = ctx, .error = &own, .status = DPOT_OK};
    const dpot_status status = store_list_jobs(store, NULL, check_job, &checking, error);
    if (status == DPOT_OK && checking.status != DPOT_OK) {
        return dpot_error_set(error, checking.status, "%s", own.text);
    }
    return status;
}
