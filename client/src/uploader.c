/* The uploader: sends what the spool holds and files the answers.
 *
 * (U1) One POST serves one (campaign hash, round), and a device has one report of it: a batch is
 *      one report. (Batches of several would be split on 400 and 413; a single one is dropped.)
 * (U2) A report is never sent before its public time, never changed, never dropped but by a row of
 *      `rows` below, by the server's receipt, or by age (dpot_journal_settle).
 * (U3) DONE is durable before the report leaves the spool.
 * (U4) No POST begins once the mark of a withdrawal is there, though it came while we held the lock.
 * (U5) Back-off lives in memory only: exponential with full jitter, and the server's Retry-After.
 *
 *            due, not backing off                    answer
 *   REPORT -----------------------> sealed, POSTed ---------> DONE, slot free
 *      ^                                  |
 *      '------ keep: back off <-----------'
 */
#include "base/clock.h"
#include "client.h"
#include "http.h"
#include "proto/wire_report.h"

#include <stdio.h>
#include <string.h>

#define BACKOFF_BASE_MS 2000
#define BACKOFF_MAX_MS ((int64_t)3600 * 1000)
#define RETRY_AFTER_MAX_S 86400u /* a server that asks for more gets a day */
#define RECEIPT_BYTES_MAX (64u << 10)

/* What the device does with an HTTP status (interfaces.md). */
enum action {
    ACTION_KEEP,    /* back off, send again */
    ACTION_RECEIPT, /* the receipt says what became of the report */
    ACTION_DROP_MALFORMED,
    ACTION_DROP_CLOSED,
    ACTION_NEW_KEYS, /* fetch the seal keys and send again, once per pump */
};

static const struct {
    int http_status;
    enum action action;
} rows[] = {
    {202, ACTION_RECEIPT},     {400, ACTION_DROP_MALFORMED}, {413, ACTION_DROP_MALFORMED},
    {409, ACTION_DROP_CLOSED}, {410, ACTION_NEW_KEYS},       {401, ACTION_KEEP},
    {403, ACTION_KEEP},        {404, ACTION_KEEP},           {408, ACTION_KEEP},
    {429, ACTION_KEEP},        {503, ACTION_KEEP},
};

/* Anything that is not in the table keeps the report. */
static enum action find_action(int http_status)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].http_status == http_status) {
            return rows[i].action;
        }
    }
    return ACTION_KEEP;
}

struct pump {
    dpot_client *client;
    int64_t started_ms; /* on the raw clock */
    uint32_t deadline_ms;
    bool has_fetched_keys;
    bool is_stopped; /* no more exchanges in this pump */
    size_t n_sent;
    dpot_status status; /* the first failure, which pump returns */
};

static void note_failure(struct pump *pump, dpot_status status)
{
    if (pump->status == DPOT_OK) {
        pump->status = status;
    }
}

/* ---- time ---- */

static uint32_t time_left_ms(const struct pump *pump)
{
    const int64_t used_ms = dpot_client_clock(pump->client) - pump->started_ms;
    if (used_ms <= 0) {
        return pump->deadline_ms;
    }
    return used_ms >= pump->deadline_ms ? 0 : pump->deadline_ms - (uint32_t)used_ms;
}

static uint32_t request_timeout_ms(const struct pump *pump)
{
    const uint32_t left_ms = time_left_ms(pump), most_ms = pump->client->config.request_timeout_ms;
    return left_ms < most_ms ? left_ms : most_ms;
}

/* When, by the clock, this slot has something to do again; INT64_MAX: never. */
static int64_t next_due_ms(const dpot_client *client, const struct dpot_slot *slot)
{
    if (slot->content == DPOT_SLOT_EMPTY) {
        /* Charged, report not made: only its round's end can change that. */
        const bool is_charged =
            dpot_ledger_find(&client->journal.ledger, &slot->name.key) != SIZE_MAX;
        return is_charged ? slot->name.closes_ms : INT64_MAX;
    }
    if (slot->content != DPOT_SLOT_REPORT) {
        return INT64_MAX;
    }
    int64_t due_ms = slot->due_ms > slot->retry_at_ms ? slot->due_ms : slot->retry_at_ms;
    due_ms = due_ms > client->quiet_until_ms ? due_ms : client->quiet_until_ms;
    return due_ms;
}

/* A clock that was set back must not make waits longer than they were meant. */
static void hold_to_clock(dpot_client *client)
{
    struct dpot_spool *spool = &client->journal.spool;
    const int64_t now_ms = dpot_client_clock(client);
    const int64_t quiet_ms = now_ms + (int64_t)RETRY_AFTER_MAX_S * 1000;
    dpot_journal_hold_to_clock(&client->journal, now_ms);
    for (size_t i = 0; i < spool->n_slots; i++) {
        struct dpot_slot *slot = &spool->slots[i];
        if (slot->retry_at_ms > now_ms + BACKOFF_MAX_MS) {
            slot->retry_at_ms = now_ms + BACKOFF_MAX_MS;
        }
    }
    if (client->quiet_until_ms > quiet_ms) {
        client->quiet_until_ms = quiet_ms;
    }
}

/* Full jitter: a uniform time below base * 2^failures, bounded. */
static int64_t draw_backoff_ms(uint32_t n_failures)
{
    int64_t most_ms = BACKOFF_BASE_MS;
    for (uint32_t i = 1; i < n_failures && most_ms < BACKOFF_MAX_MS; i++) {
        most_ms *= 2;
    }
    most_ms = most_ms < BACKOFF_MAX_MS ? most_ms : BACKOFF_MAX_MS;
    uint8_t bytes[8];
    dpot_random_bytes(bytes, sizeof bytes);
    return 1 + (int64_t)(dpot_load_u64(bytes) % (uint64_t)most_ms);
}

static void keep(struct pump *pump, struct dpot_slot *slot, uint32_t retry_after_s)
{
    const int64_t now_ms = dpot_client_clock(pump->client);
    slot->n_failures += slot->n_failures < UINT32_MAX;
    slot->retry_at_ms = now_ms + draw_backoff_ms(slot->n_failures);
    if (retry_after_s > 0) {
        const uint32_t wait_s =
            retry_after_s < RETRY_AFTER_MAX_S ? retry_after_s : RETRY_AFTER_MAX_S;
        pump->client->quiet_until_ms = now_ms + (int64_t)wait_s * 1000;
        pump->is_stopped = true;
    }
}

/* ---- one report ---- */

static dpot_status fetch_keys(struct pump *pump)
{
    pump->has_fetched_keys = true;
    return dpot_http_fetch_keys(pump->client, request_timeout_ms(pump));
}

/* Most often it is our clock that is wrong. */
static dpot_status refuse_keys(dpot_client *client)
{
    char now[DPOT_RFC3339_SIZE];
    dpot_time_format(dpot_client_clock(client), now);
    return dpot_error_set(&client->error, DPOT_ERR_SERVER,
                          "the server publishes no seal key that is valid now: the clock says %s, "
                          "is it right?",
                          now);
}

/* The stored key that is valid now; fetched once per pump when there is none. */
static dpot_status find_seal_key(struct pump *pump, struct dpot_keys *keys,
                                 const struct dpot_seal_key **seal_key)
{
    dpot_client *client = pump->client;
    *seal_key = NULL;
    for (;;) {
        const dpot_status status = dpot_campaigns_load_keys(&client->campaigns, keys, NULL);
        if (status == DPOT_OK) {
            *seal_key = dpot_keys_current(keys, dpot_client_clock(client));
        } else if (status == DPOT_ERR_IO || status == DPOT_ERR_MEMORY) {
            return status;
        }
        if (*seal_key) {
            return DPOT_OK;
        }
        if (pump->has_fetched_keys) {
            return refuse_keys(client);
        }
        const dpot_status fetched = fetch_keys(pump);
        if (fetched != DPOT_OK) {
            return fetched;
        }
    }
}

static dpot_status seal(struct pump *pump, const struct dpot_slot *slot, struct dpot_buf *body)
{
    struct dpot_keys keys;
    const struct dpot_seal_key *seal_key = NULL;
    struct dpot_report report = slot->report;
    struct dpot_batch batch = {.round = slot->name.key.round,
                               .n_reports = 1,
                               .reports = &report,
                               .allocator = pump->client->config.allocator};
    memcpy(batch.campaign_hash, slot->name.key.campaign_hash, sizeof batch.campaign_hash);
    const dpot_status status = find_seal_key(pump, &keys, &seal_key);
    return status == DPOT_OK ? dpot_wire_batch_seal(&batch, seal_key, body) : status;
}

static dpot_status post(struct pump *pump, const struct dpot_slot *slot, struct dpot_buf *receipt,
                        struct dpot_http_answer *answer)
{
    char path[80];
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    struct dpot_buf body;
    dpot_hex_encode(hex, slot->name.campaign_id, DPOT_CAMPAIGN_ID_LEN);
    (void)snprintf(path, sizeof path, "/v1/campaigns/%s/reports", hex);
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, pump->client->config.allocator);
    dpot_status status = seal(pump, slot, &body);
    if (status == DPOT_OK) {
        status = dpot_client_look_for_withdrawal(pump->client); /* (U4): last of all */
    }
    if (status == DPOT_OK) {
        status = dpot_http_post(pump->client, path, body.data, body.len, request_timeout_ms(pump),
                                receipt, answer);
    }
    dpot_buf_release(&body);
    return status;
}

/* (U3) */
static dpot_status finish(struct pump *pump, const struct dpot_slot *slot, uint8_t done)
{
    const struct dpot_key key = slot->name.key;
    const dpot_status status =
        dpot_journal_finish(&pump->client->journal, &key, done, dpot_client_time(pump->client));
    pump->n_sent += status == DPOT_OK;
    return status;
}

/* A receipt that does not parse is no answer: the report is kept, and the server's exact set of ids
 * makes the next try a duplicate. */
static dpot_status file_receipt(struct pump *pump, struct dpot_slot *slot,
                                const struct dpot_buf *receipt)
{
    enum dpot_report_status answer = DPOT_REPORT_ACCEPTED;
    const dpot_status status = dpot_wire_receipt_decode(receipt->data, receipt->len,
                                                        pump->client->config.allocator, &answer, 1);
    if (status == DPOT_OK) {
        return finish(pump, slot, (uint8_t)answer);
    }
    keep(pump, slot, 0);
    note_failure(pump, dpot_error_set(&pump->client->error,
                                      status == DPOT_ERR_MEMORY ? status : DPOT_ERR_SERVER,
                                      "the server's receipt cannot be read"));
    return DPOT_OK;
}

static void keep_refused(struct pump *pump, struct dpot_slot *slot,
                         const struct dpot_http_answer *answer)
{
    keep(pump, slot, answer->retry_after_s);
    note_failure(pump, dpot_error_set(&pump->client->error, dpot_http_failure(answer->status),
                                      "the server answered with HTTP status %d: the report is kept",
                                      answer->status));
}

/* One exchange about one report. Returns a failure of the disk only, which ends the pump; sets
 * *again when new keys make another exchange worth it. */
static dpot_status send_once(struct pump *pump, struct dpot_slot *slot, bool *again)
{
    struct dpot_http_answer answer = {0};
    struct dpot_buf receipt;
    dpot_status result = DPOT_OK;
    *again = false;
    dpot_buf_init(&receipt, RECEIPT_BYTES_MAX, pump->client->config.allocator);
    const dpot_status status = post(pump, slot, &receipt, &answer);
    if (status == DPOT_ERR_CONSENT) {
        pump->is_stopped = true;
        dpot_buf_release(&receipt);
        return dpot_client_load_consent(pump->client); /* the slot is gone after this */
    }
    if (status != DPOT_OK) {
        note_failure(pump, status);
        keep(pump, slot, 0);
        pump->is_stopped = status == DPOT_ERR_NETWORK || pump->is_stopped;
        dpot_buf_release(&receipt);
        return DPOT_OK;
    }
    switch (find_action(answer.status)) {
    case ACTION_RECEIPT:
        result = file_receipt(pump, slot, &receipt);
        break;
    case ACTION_DROP_MALFORMED:
        result = finish(pump, slot, DPOT_DONE_DROPPED_MALFORMED);
        break;
    case ACTION_DROP_CLOSED:
        result = finish(pump, slot, DPOT_DONE_DROPPED_CLOSED);
        break;
    case ACTION_NEW_KEYS:
        *again = !pump->has_fetched_keys && fetch_keys(pump) == DPOT_OK;
        if (!*again) {
            keep_refused(pump, slot, &answer);
        }
        break;
    case ACTION_KEEP:
        keep_refused(pump, slot, &answer);
        break;
    }
    dpot_buf_release(&receipt);
    return result;
}

/* ---- the pump ---- */

static dpot_status send_due(struct pump *pump)
{
    dpot_client *client = pump->client;
    struct dpot_spool *spool = &client->journal.spool;
    hold_to_clock(client);
    for (size_t i = 0; i < spool->n_slots; i++) {
        struct dpot_slot *slot = &spool->slots[i];
        bool again = slot->content == DPOT_SLOT_REPORT &&
                     next_due_ms(client, slot) <= dpot_client_clock(client);
        while (again && !pump->is_stopped && time_left_ms(pump) > 0) {
            const dpot_status status = send_once(pump, slot, &again);
            if (status != DPOT_OK) {
                return status;
            }
        }
    }
    const dpot_status status = dpot_journal_compact(&client->journal);
    return status == DPOT_ERR_MEMORY ? DPOT_OK : status;
}

static void put_ends(const size_t *n_ended, struct dpot_pump_result *full)
{
    full->n_accepted = n_ended[DPOT_REPORT_ACCEPTED];
    full->n_duplicate = n_ended[DPOT_REPORT_DUPLICATE];
    full->n_rejected_malformed = n_ended[DPOT_REPORT_REJECTED_MALFORMED];
    full->n_rejected_range = n_ended[DPOT_REPORT_REJECTED_RANGE];
    full->n_rejected_group = n_ended[DPOT_REPORT_REJECTED_GROUP];
    full->n_rejected_test = n_ended[DPOT_REPORT_REJECTED_TEST];
    full->n_rejected_token = n_ended[DPOT_REPORT_REJECTED_TOKEN];
    full->n_rejected_closed = n_ended[DPOT_REPORT_REJECTED_CLOSED];
    full->n_dropped_closed = n_ended[DPOT_DONE_DROPPED_CLOSED];
    full->n_dropped_age = n_ended[DPOT_DONE_DROPPED_AGE];
    full->n_dropped_malformed = n_ended[DPOT_DONE_DROPPED_MALFORMED];
    full->n_dropped_lost = n_ended[DPOT_DONE_DROPPED_LOST];
}

static void put_result(const struct pump *pump, struct dpot_pump_result *result)
{
    const struct dpot_client *client = pump->client;
    const struct dpot_journal *journal = &client->journal;
    if (!result) {
        return;
    }
    struct dpot_pump_result full = {
        .struct_size = result->struct_size, .n_sent = pump->n_sent, .next_due_ms = INT64_MAX};
    for (size_t i = 0; i < journal->ledger.n_charges; i++) {
        full.n_pending +=
            !client->is_withdrawn && journal->ledger.charges[i].done == DPOT_DONE_NOT_YET;
    }
    put_ends(journal->n_ended, &full);
    for (size_t i = 0; i < journal->spool.n_slots; i++) {
        const int64_t due_ms = next_due_ms(client, &journal->spool.slots[i]);
        full.next_due_ms = due_ms < full.next_due_ms ? due_ms : full.next_due_ms;
    }
    memcpy(result, &full, result->struct_size < sizeof full ? result->struct_size : sizeof full);
}

dpot_status dpot_client_pump(dpot_client *client, uint32_t deadline_ms,
                             struct dpot_pump_result *result)
{
    if (!client || (result && result->struct_size == 0)) {
        return DPOT_ERR_ARGUMENT;
    }
    struct pump pump = {
        .client = client, .started_ms = dpot_client_clock(client), .deadline_ms = deadline_ms};
    dpot_client_forget_error(client);
    dpot_status status = dpot_http_check(client);
    if (status == DPOT_OK) {
        status = dpot_client_lock(client);
    }
    if (status == DPOT_OK) {
        status = send_due(&pump);
        dpot_client_unlock(client);
    }
    status = status == DPOT_OK ? pump.status : status;
    put_result(&pump, result);
    memset(client->journal.n_ended, 0, sizeof client->journal.n_ended);
    return dpot_client_end(client, status);
}
