#include "pool/ingest.h"

#include "pool/validate.h"

#include <semaphore.h>
#include <string.h>

#define RETRY_STORE_S 5  /* after a failure of the store */
#define RETRY_MAX_S 3600 /* longest, for a round that has not opened */

struct ingest_call {
    const struct ingest *ingest;
    const uint8_t *id; /* of the path; valid in ingest_begin only */
    int64_t now_ms;
    struct dpot_batch batch;
    struct registry_revision revision;
    enum dpot_report_status *statuses; /* (batch.n_reports) */
    uint8_t *is_refused;               /* (batch.n_reports) */
    struct ingest_result result;
    struct writer_task task;
    bool is_stored; /* the task is done */
    void (*on_stored)(void *ctx);
    void *ctx;
};

/* Returns false, so that a check can end with `return refuse(...)`. */
static bool refuse(struct ingest_call *w, enum ingest_verdict verdict, dpot_status status)
{
    w->result.verdict = verdict;
    w->result.status = status;
    return false;
}

static bool refuse_with(struct ingest_call *w, enum ingest_verdict verdict, dpot_status status,
                        const char *sentence)
{
    return refuse(w, verdict, dpot_error_set(&w->result.error, status, "%s", sentence));
}

/* The environment failed (store, memory): nothing is known to be stored, and the device keeps its
 * reports. */
static bool refuse_for_now(struct ingest_call *w, dpot_status status)
{
    w->result.retry_after_s = RETRY_STORE_S;
    return refuse(w, INGEST_NOT_YET, status);
}

/* The key pair of an id, if it has not expired. Ids and times are public. */
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

static bool open_body(struct ingest_call *w, const void *body, size_t len)
{
    uint8_t key_id[DPOT_SEAL_KEY_ID_LEN];
    struct dpot_error *error = &w->result.error;
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

/* The revision that the batch names, which must belong to the campaign of the path. Drafts are
 * unknown to devices. */
static bool find_revision(struct ingest_call *w)
{
    static const char unknown[] = "no such campaign, or the batch is for another one";
    const dpot_status status =
        registry_get(w->ingest->registry, w->batch.campaign_hash, &w->revision, &w->result.error);
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

/* A padded body is as long as every other of its campaign with as many reports. Older devices do
 * not pad. */
static bool check_length(struct ingest_call *w)
{
    const size_t len = w->batch.report_len_max;
    const size_t len_max = dpot_wire_report_len_max(w->revision.campaign);
    if (len == 0 || len == len_max) {
        return true;
    }
    return refuse(
        w, INGEST_MALFORMED,
        dpot_error_set(&w->result.error, DPOT_ERR_MALFORMED,
                       "the batch is padded to %zu bytes a report: this campaign's reports "
                       "take %zu",
                       len, len_max));
}

/* Checks that the round is open by our clock. */
static bool check_window(struct ingest_call *w)
{
    const struct dpot_campaign *campaign = w->revision.campaign;
    const uint32_t round = w->batch.round;
    if (round >= campaign->rounds) {
        const dpot_status status =
            dpot_error_set(&w->result.error, DPOT_ERR_RANGE,
                           "the batch is for round %u and the campaign has %u rounds, from 0",
                           round, campaign->rounds);
        return refuse(w, INGEST_MALFORMED, status);
    }
    if (w->revision.record.state == REVISION_CLOSED) {
        return refuse_with(w, INGEST_CLOSED, DPOT_ERR_CLOSED,
                           "this revision of the campaign is closed");
    }
    if (w->now_ms >= dpot_campaign_round_closes(campaign, round)) {
        w->result.over_ms = w->now_ms;
        return refuse_with(w, INGEST_CLOSED, DPOT_ERR_CLOSED, "this round is over");
    }
    const int64_t opens_ms = dpot_campaign_round_opens(campaign, round);
    if (w->now_ms < opens_ms) {
        const int64_t wait_s = (opens_ms - w->now_ms + 999) / 1000;
        w->result.retry_after_s = wait_s < RETRY_MAX_S ? (uint32_t)wait_s : RETRY_MAX_S;
        return refuse_with(w, INGEST_NOT_YET, DPOT_ERR_NOT_OPEN, "this round has not opened yet");
    }
    return true;
}

/* (G2) */
static bool validate_reports(struct ingest_call *w)
{
    const size_t n = w->batch.n_reports;
    w->statuses = dpot_alloc_array(NULL, n, sizeof *w->statuses);
    w->is_refused = dpot_alloc_array(NULL, n, sizeof *w->is_refused);
    if (!w->statuses || !w->is_refused) {
        return refuse_for_now(w, DPOT_ERR_MEMORY);
    }
    for (size_t i = 0; i < n; i++) {
        w->statuses[i] =
            validate_report(w->revision.campaign, &w->batch.reports[i], w->batch.is_malformed[i]);
        w->is_refused[i] = w->statuses[i] != DPOT_REPORT_ACCEPTED;
    }
    return true;
}

/* ---- storing ---- */

/* The memory of the reports while they wait. */
static size_t weigh(const struct dpot_batch *batch)
{
    return batch->n_reports *
               (sizeof *batch->reports + sizeof(enum dpot_report_status) + sizeof(uint8_t)) +
           batch->n_values * sizeof *batch->values;
}

static void prepare_task(struct ingest_call *w)
{
    w->task.append = (struct store_append){.round = w->batch.round,
                                           .n_reports = w->batch.n_reports,
                                           .reports = w->batch.reports,
                                           .is_refused = w->is_refused,
                                           .statuses = w->statuses};
    memcpy(w->task.append.hash, w->batch.campaign_hash, sizeof w->task.append.hash);
    w->task.n_bytes = weigh(&w->batch);
}

/* On the writer's thread. */
static void take_back(struct writer_task *task)
{
    struct ingest_call *w = task->ctx;
    w->is_stored = true;
    w->on_stored(w->ctx);
}

void ingest_submit(struct ingest_call *const *calls, size_t n, void (*on_stored)(void *ctx),
                   void *ctx)
{
    struct ingest_call *first = NULL;
    for (size_t i = n; i-- > 0;) {
        struct ingest_call *w = calls[i];
        if (w) {
            w->on_stored = on_stored;
            w->ctx = ctx;
            w->task.done = take_back;
            w->task.ctx = w;
            w->task.next = first ? &first->task : NULL;
            first = w;
        }
    }
    if (first) {
        writer_submit(first->ingest->writer, &first->task);
    }
}

/* ---- the steps ---- */

static enum drop_reason drop_of(const struct ingest_result *result)
{
    switch (result->verdict) {
    case INGEST_UNKNOWN:
        return DROP_UNKNOWN;
    case INGEST_CLOSED:
        return DROP_CLOSED;
    case INGEST_NOT_YET:
        return result->status == DPOT_ERR_NOT_OPEN ? DROP_NOT_OPEN : DROP_STORE;
    default:
        return DROP_ROUND;
    }
}

static void release(struct ingest_call *w)
{
    dpot_free_array(NULL, w->is_refused, w->batch.n_reports, sizeof *w->is_refused);
    dpot_free_array(NULL, w->statuses, w->batch.n_reports, sizeof *w->statuses);
    dpot_batch_release(&w->batch);
    dpot_free_array(NULL, w, 1, sizeof *w);
}

/* Ends a call without a receipt; n_reports is 0 if the batch could not be read. */
static void end_refused(struct ingest_call *w, struct ingest_result *result)
{
    struct tally *tally = w->ingest->tally;
    if (w->batch.n_reports > 0) {
        tally_drop(tally, drop_of(&w->result), w->batch.n_reports);
    }
    tally_answer(tally, (unsigned)w->result.verdict);
    *result = w->result;
    release(w);
}

/* Memory is out before the body was read. */
static void refuse_unread(const struct ingest *ingest, const void *body, size_t len,
                          struct ingest_result *result)
{
    *result = (struct ingest_result){
        .verdict = INGEST_NOT_YET, .status = DPOT_ERR_MEMORY, .retry_after_s = RETRY_STORE_S};
    dpot_wire_batch_digest(body, len, result->digest);
    tally_answer(ingest->tally, INGEST_NOT_YET);
}

/* Reports that could be read count as submitted, whatever becomes of them. */
static bool open_and_count(struct ingest_call *w, const void *body, size_t len)
{
    const bool is_open = open_body(w, body, len);
    if (is_open) {
        tally_submit(w->ingest->tally, w->batch.n_reports);
    }
    return is_open;
}

struct ingest_call *ingest_begin(const struct ingest *ingest,
                                 const uint8_t id[DPOT_CAMPAIGN_ID_LEN], const void *body,
                                 size_t len, struct ingest_result *result)
{
    struct ingest_call *w = dpot_alloc_array(NULL, 1, sizeof *w);
    if (!w) {
        refuse_unread(ingest, body, len, result);
        return NULL;
    }
    w->ingest = ingest;
    w->id = id;
    w->now_ms = ingest->clock->now(ingest->clock->ctx);
    w->result.verdict = INGEST_MALFORMED;
    dpot_wire_batch_digest(body, len, w->result.digest);
    if (!open_and_count(w, body, len) || !find_revision(w) || !check_length(w) ||
        !check_window(w) || !validate_reports(w)) {
        end_refused(w, result);
        return NULL;
    }
    prepare_task(w);
    return w;
}

/* Checks the outcome of the commit. */
static bool check_stored(struct ingest_call *w)
{
    if (!w->is_stored) {
        return refuse_for_now(w, dpot_error_set(&w->result.error, DPOT_ERR_BUSY,
                                                "the server is stopping: try again"));
    }
    if (w->task.status == DPOT_ERR_CLOSED) {
        return refuse_with(w, INGEST_CLOSED, DPOT_ERR_CLOSED,
                           "this revision of the campaign is closed");
    }
    if (w->task.status != DPOT_OK) {
        w->result.error = w->task.error;
        return refuse_for_now(w, w->task.status);
    }
    return true;
}

void ingest_finish(struct ingest_call *call, struct dpot_buf *receipt, struct ingest_result *result)
{
    struct ingest_call *w = call;
    if (!check_stored(w)) {
        end_refused(w, result);
        return;
    }
    tally_commit(w->ingest->tally, w->statuses, w->batch.n_reports);
    w->result.verdict = INGEST_ACCEPTED;
    /* (G1): after the commit. Without memory for the receipt the device sends again and gets
     * duplicates. */
    if (dpot_wire_receipt_encode(w->statuses, w->batch.n_reports, w->result.digest, receipt) !=
        DPOT_OK) {
        (void)refuse_for_now(w, DPOT_ERR_MEMORY);
    }
    tally_answer(w->ingest->tally, (unsigned)w->result.verdict);
    *result = w->result;
    release(w);
}

static void wake(void *ctx)
{
    (void)sem_post(ctx);
}

/* Waits for the writer. */
static void store_and_wait(struct ingest_call *w)
{
    sem_t stored;
    (void)sem_init(&stored, 0, 0);
    ingest_submit(&w, 1, wake, &stored);
    while (sem_wait(&stored) != 0) {
    }
    (void)sem_destroy(&stored);
}

static void store_here(struct ingest_call *w)
{
    w->task.status = store_append_reports(w->ingest->store, &w->task.append, &w->task.error);
    w->is_stored = true;
}

void ingest_batch(const struct ingest *ingest, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                  const void *body, size_t len, struct dpot_buf *receipt,
                  struct ingest_result *result)
{
    struct ingest_call *w = ingest_begin(ingest, id, body, len, result);
    if (!w) {
        return;
    }
    if (ingest->writer) {
        store_and_wait(w);
    } else {
        store_here(w);
    }
    ingest_finish(w, receipt, result);
}
