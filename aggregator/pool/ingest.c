#include "pool/ingest.h"

#include "pool/judge.h"

#include <string.h>

#define RETRY_STORE_S 5  /* the store may be back by then */
#define RETRY_MAX_S 3600 /* a device asks again at least this often */

/* What one call works on. */
struct work {
    const struct ingest *ingest;
    const uint8_t *id;
    int64_t now_ms;
    struct dpot_batch batch;
    struct registry_revision revision;
    enum dpot_report_status *statuses; /* (batch.n_reports) */
    uint8_t *is_refused;               /* (batch.n_reports) */
    struct ingest_result *result;
};

/* Every refusal ends here; false, so that a check can be `return refuse(...)`. */
static bool refuse(struct work *w, enum ingest_verdict verdict, dpot_status status)
{
    w->result->verdict = verdict;
    w->result->status = status;
    return false;
}

static bool refuse_with(struct work *w, enum ingest_verdict verdict, dpot_status status,
                        const char *sentence)
{
    return refuse(w, verdict, dpot_error_set(&w->result->error, status, "%s", sentence));
}

/* The environment failed (store, memory): nothing is known to be stored, the device keeps its
 * reports. */
static bool refuse_for_now(struct work *w, dpot_status status)
{
    w->result->retry_after_s = RETRY_STORE_S;
    return refuse(w, INGEST_NOT_YET, status);
}

/* The pair the body is sealed for. Ids and times are public. */
static const struct seal_secret *find_secret(const struct ingest *ingest, const uint8_t *id,
                                             int64_t now_ms)
{
    for (size_t i = 0; i < ingest->n_seal_secrets; i++) {
        const struct seal_secret *secret = &ingest->seal_secrets[i];
        if (memcmp(secret->key.id, id, DPOT_SEAL_KEY_ID_LEN) == 0 &&
            now_ms < secret->key.not_after_ms) {
            return secret;
        }
    }
    return NULL;
}

static bool open_body(struct work *w, const void *body, size_t len)
{
    uint8_t key_id[DPOT_SEAL_KEY_ID_LEN];
    struct dpot_error *error = &w->result->error;
    dpot_status status = dpot_wire_batch_key_id(body, len, key_id, error);
    const struct seal_secret *secret = NULL;
    if (status == DPOT_OK) {
        secret = find_secret(w->ingest, key_id, w->now_ms);
        if (!secret) {
            return refuse_with(w, INGEST_KEY_EXPIRED, DPOT_ERR_SIGNATURE,
                               "the seal key is unknown or expired: fetch /v1/keys and seal again");
        }
        status = dpot_wire_batch_open(body, len, secret->key.public_key, secret->secret_key, NULL,
                                      &w->batch, error);
    }
    switch (status) {
    case DPOT_OK:
        return true;
    case DPOT_ERR_TOO_LARGE:
        return refuse(w, INGEST_TOO_LARGE, status);
    case DPOT_ERR_MEMORY:
        return refuse_for_now(w, status);
    default:
        return refuse(w, INGEST_MALFORMED, status);
    }
}

/* The revision the batch names, which must be of the campaign in the path. A draft is nobody's
 * business. */
static bool find_revision(struct work *w)
{
    static const char unknown[] = "no such campaign, or the batch is for another one";
    const dpot_status status =
        registry_get(w->ingest->registry, w->batch.campaign_hash, &w->revision, &w->result->error);
    if (status == DPOT_ERR_NOT_FOUND) {
        return refuse_with(w, INGEST_UNKNOWN, DPOT_ERR_NOT_FOUND, unknown);
    }
    if (status != DPOT_OK) {
        return refuse_for_now(w, status);
    }
    if (memcmp(w->revision.campaign->id, w->id, DPOT_CAMPAIGN_ID_LEN) != 0 ||
        w->revision.record.state == REVISION_DRAFT) {
        return refuse_with(w, INGEST_UNKNOWN, DPOT_ERR_NOT_FOUND, unknown);
    }
    return true;
}

/* Is this revision's round open by our clock? */
static bool check_window(struct work *w)
{
    const struct dpot_campaign *campaign = w->revision.campaign;
    const uint32_t round = w->batch.round;
    if (round >= campaign->rounds) {
        const dpot_status status =
            dpot_error_set(&w->result->error, DPOT_ERR_RANGE,
                           "the batch is for round %u and the campaign has %u rounds, from 0",
                           round, campaign->rounds);
        return refuse(w, INGEST_MALFORMED, status);
    }
    if (w->revision.record.state == REVISION_CLOSED) {
        return refuse_with(w, INGEST_CLOSED, DPOT_ERR_CLOSED,
                           "this revision of the campaign is closed");
    }
    if (w->now_ms >= dpot_campaign_round_closes(campaign, round)) {
        return refuse_with(w, INGEST_CLOSED, DPOT_ERR_CLOSED, "this round is over");
    }
    const int64_t opens_ms = dpot_campaign_round_opens(campaign, round);
    if (w->now_ms < opens_ms) {
        const int64_t wait_s = (opens_ms - w->now_ms + 999) / 1000;
        w->result->retry_after_s = wait_s < RETRY_MAX_S ? (uint32_t)wait_s : RETRY_MAX_S;
        return refuse_with(w, INGEST_NOT_YET, DPOT_ERR_NOT_OPEN, "this round has not opened yet");
    }
    return true;
}

/* (G2) */
static bool judge_reports(struct work *w)
{
    const size_t n = w->batch.n_reports;
    w->statuses = dpot_alloc_array(NULL, n, sizeof *w->statuses);
    w->is_refused = dpot_alloc_array(NULL, n, sizeof *w->is_refused);
    if (!w->statuses || !w->is_refused) {
        return refuse_for_now(w, DPOT_ERR_MEMORY);
    }
    for (size_t i = 0; i < n; i++) {
        w->statuses[i] =
            judge_report(w->revision.campaign, &w->batch.reports[i], w->batch.is_malformed[i]);
        w->is_refused[i] = w->statuses[i] != DPOT_REPORT_ACCEPTED;
    }
    return true;
}

static bool store_reports(struct work *w)
{
    struct store_append append = {.round = w->batch.round,
                                  .n_reports = w->batch.n_reports,
                                  .reports = w->batch.reports,
                                  .is_refused = w->is_refused,
                                  .statuses = w->statuses};
    memcpy(append.hash, w->batch.campaign_hash, sizeof append.hash);
    const dpot_status status = store_append_reports(w->ingest->store, &append, &w->result->error);
    if (status == DPOT_ERR_CLOSED) {
        return refuse_with(w, INGEST_CLOSED, DPOT_ERR_CLOSED,
                           "this revision of the campaign is closed");
    }
    if (status != DPOT_OK) {
        return refuse_for_now(w, status);
    }
    if (w->ingest->on_committed) {
        w->ingest->on_committed(w->ingest->ctx, w->batch.n_reports);
    }
    return true;
}

/* (G1): after the commit. Without memory for it the device asks again and learns of duplicates. */
static bool write_receipt(struct work *w, struct dpot_buf *receipt)
{
    if (dpot_wire_receipt_encode(w->statuses, w->batch.n_reports, receipt) != DPOT_OK) {
        return refuse_for_now(w, DPOT_ERR_MEMORY);
    }
    w->result->verdict = INGEST_ACCEPTED;
    return true;
}

void ingest_batch(const struct ingest *ingest, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                  const void *body, size_t len, struct dpot_buf *receipt,
                  struct ingest_result *result)
{
    struct work w = {.ingest = ingest,
                     .id = id,
                     .now_ms = ingest->clock->now(ingest->clock->ctx),
                     .result = result};
    *result = (struct ingest_result){.verdict = INGEST_MALFORMED, .status = DPOT_OK};
    if (open_body(&w, body, len) && find_revision(&w) && check_window(&w) && judge_reports(&w) &&
        store_reports(&w)) {
        (void)write_receipt(&w, receipt); /* the result holds what became of it */
    }
    dpot_free_array(NULL, w.is_refused, w.batch.n_reports, sizeof *w.is_refused);
    dpot_free_array(NULL, w.statuses, w.batch.n_reports, sizeof *w.statuses);
    dpot_batch_release(&w.batch);
}
