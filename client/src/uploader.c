/* The uploader: sends what the spool holds and records the answers.
 *
 *            due, not backing off                    answer
 *   REPORT -----------------------> sealed, POSTed ---------> DONE, slot free
 *      ^                                  |
 *      '---- deferred: back off <---------'
 *
 * (U1) One POST serves one (campaign hash, round), and a device has one report of it: a batch is
 *      one report.
 * (U2) Reports are sent in the order of the spool, unchanged, never before they are due and never
 *      between the start of a submit and its horizon (journal.h). A report is dropped only by the
 *      server's receipt, by a refusal of a row of `rows` below that names this very POST, by age
 *      (dpot_journal_settle_old), or for a newer one when the spool is full
 *      (dpot_journal_make_room).
 * (U3) DONE is durable before the report leaves the spool.
 * (U4) No POST begins once the mark of a withdrawal exists, also if it came while we held the lock.
 * (U5) A report that is kept backs off (backoff.h). A failure of the server, not of the report,
 *      ends the pump: the other reports would meet it again.
 * (U6) A pump lasts its deadline at most, whatever the server and the clock do: each exchange gets
 *      what remains, by the steady clock and by config.clock, whichever has gone further. */
#include "arguments.h"
#include "backoff.h"
#include "base/clock.h"
#include "client.h"
#include "http.h"
#include "proto/wire_refusal.h"
#include "proto/wire_report.h"
#include "pump.h"

#include <stdio.h>
#include <string.h>

#define RECEIPT_BYTES_MAX (64u << 10)

/* What the device does with an HTTP status: doc/libdpot.3, DELIVERY. */
enum action {
    ACTION_DEFER,   /* the report backs off */
    ACTION_PAUSE,   /* the server failed: everything backs off */
    ACTION_RECEIPT, /* the receipt says what became of the report */
    ACTION_DROP_MALFORMED,
    ACTION_DROP_CLOSED,
    ACTION_NEW_KEYS, /* fetch the seal keys and send again, once per pump */
};

struct row {
    int http_status;
    enum action action;
    const char *dropping[4]; /* "status" in dpotd's refusals that drop; none: no answer does */
};
static const struct row rows[] = {
    {202, ACTION_RECEIPT, {NULL}},
    {400,
     ACTION_DROP_MALFORMED,
     {"DPOT_ERR_MALFORMED", "DPOT_ERR_VERSION", "DPOT_ERR_SIGNATURE", "DPOT_ERR_RANGE"}},
    {413, ACTION_DROP_MALFORMED, {"DPOT_ERR_TOO_LARGE"}},
    {409, ACTION_DROP_CLOSED, {"DPOT_ERR_CLOSED"}},
    {410, ACTION_NEW_KEYS, {NULL}},
    {401, ACTION_DEFER, {NULL}},
    {403, ACTION_DEFER, {NULL}},
    {404, ACTION_DEFER, {NULL}},
    {408, ACTION_PAUSE, {NULL}},
    {429, ACTION_PAUSE, {NULL}},
};

/* A status that is not in the table keeps the report; from 500 on the server backs off. */
static const struct row *find_row(int http_status)
{
    static const struct row server = {0, ACTION_PAUSE, {NULL}}, other = {0, ACTION_DEFER, {NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].http_status == http_status) {
            return &rows[i];
        }
    }
    return http_status >= 500 ? &server : &other;
}

/* ---- time ---- */

static uint32_t time_left_ms(struct pump *pump)
{
    const int64_t now_ms = dpot_client_clock(pump->client);
    const int64_t steady_ms = dpot_clock_monotonic_ms() - pump->started_ms;
    pump->advanced_ms += now_ms > pump->clock_ms ? now_ms - pump->clock_ms : 0;
    pump->clock_ms = now_ms;
    const int64_t used_ms = pump->advanced_ms > steady_ms ? pump->advanced_ms : steady_ms;
    return used_ms >= pump->deadline_ms ? 0 : pump->deadline_ms - (uint32_t)used_ms;
}

/* What one exchange may take; 0: there is no time for one. */
static uint32_t request_timeout_ms(struct pump *pump)
{
    const uint32_t left_ms = time_left_ms(pump), most_ms = pump->client->config.request_timeout_ms;
    pump->is_out_of_time = left_ms == 0;
    return left_ms < most_ms ? left_ms : most_ms;
}

/* ---- one report ---- */

static dpot_status fetch_keys(struct pump *pump)
{
    const uint32_t timeout_ms = request_timeout_ms(pump);
    if (timeout_ms == 0) {
        return DPOT_ERR_NETWORK;
    }
    pump->has_fetched_keys = true;
    return dpot_http_fetch_keys(pump->client, timeout_ms, &pump->retry_after_s);
}

/* The usual cause is a wrong clock on the device. */
static dpot_status refuse_keys(dpot_client *client)
{
    char now[DPOT_RFC3339_SIZE];
    dpot_time_format(dpot_client_clock(client), now);
    return dpot_error_set(&client->error, DPOT_ERR_SERVER,
                          "the server publishes no seal key that is valid now: the clock of this "
                          "device says %s, set it if that is not the time",
                          now);
}

/* The stored key that is valid now; fetched once per pump when there is none. */
static dpot_status find_seal_key(struct pump *pump, struct dpot_keys *keys,
                                 const struct dpot_seal_key **seal_key)
{
    dpot_client *client = pump->client;
    *seal_key = NULL;
    for (;;) {
        struct dpot_error why = {{0}};
        const dpot_status status = dpot_campaigns_load_keys(&client->campaigns, keys, &why);
        if (status == DPOT_OK) {
            *seal_key = dpot_keys_current(keys, dpot_client_clock(client));
        } else if (status == DPOT_ERR_IO || status == DPOT_ERR_MEMORY) {
            client->error = why;
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
                               .report_len_max = slot->name.report_len_max,
                               .has_losses = slot->name.has_losses, /* zeros */
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
    const uint32_t timeout_ms = status == DPOT_OK ? request_timeout_ms(pump) : 0;
    if (status == DPOT_OK && timeout_ms == 0) {
        status = DPOT_ERR_NETWORK;
    }
    if (status == DPOT_OK) {
        status = dpot_client_check_withdrawal(pump->client); /* (U4): the last check */
    }
    if (status == DPOT_OK) {
        dpot_wire_batch_digest(body.data, body.len, pump->digest);
        status =
            dpot_http_post(pump->client, path, body.data, body.len, timeout_ms, receipt, answer);
        pump->retry_after_s = answer->retry_after_s;
    }
    dpot_buf_release(&body);
    return status;
}

/* (U3). An answer ends the server's row of failures. */
static dpot_status finish(struct pump *pump, const struct dpot_slot *slot, uint8_t done)
{
    const struct dpot_key key = slot->name.key;
    const dpot_status status =
        dpot_journal_finish(&pump->client->journal, &key, done, dpot_client_time(pump->client));
    pump->n_sent += status == DPOT_OK;
    pump->client->n_failures = 0;
    return status;
}

static dpot_status process_receipt(struct pump *pump, struct dpot_slot *slot,
                                   const struct dpot_buf *receipt)
{
    enum dpot_report_status answer = DPOT_REPORT_ACCEPTED;
    const dpot_status status = dpot_wire_receipt_decode(receipt->data, receipt->len, pump->digest,
                                                        pump->client->config.allocator, &answer, 1);
    if (status == DPOT_OK) {
        return finish(pump, slot, (uint8_t)answer);
    }
    dpot_pump_defer_without_receipt(pump, slot, status);
    return DPOT_OK;
}

/* True when new keys make another exchange worthwhile; once per pump. */
static bool find_new_keys(struct pump *pump, struct dpot_slot *slot)
{
    if (pump->has_fetched_keys) {
        dpot_pump_defer_refused(pump, slot, 410, true);
        return false;
    }
    const dpot_status status = fetch_keys(pump);
    if (status != DPOT_OK) {
        dpot_pump_defer_unanswered(pump, slot, status);
    }
    return status == DPOT_OK;
}

/* A receipt that names no POST, as older servers write it, is three bytes, which anything may be:
 * it must have the type that dpotd gives it. */
static bool is_stray_receipt(const struct dpot_http_answer *answer, size_t len)
{
    return find_row(answer->status)->action == ACTION_RECEIPT && !answer->is_protobuf &&
           len <= DPOT_HASH_LEN;
}

/* Whether dpotd gives this "status" with this HTTP status. */
static bool is_status_of(const struct row *row, const struct dpot_refusal *refusal)
{
    bool is_found = false;
    for (size_t i = 0; i < sizeof row->dropping / sizeof row->dropping[0]; i++) {
        is_found |= row->dropping[i] && strcmp(refusal->status, row->dropping[i]) == 0;
    }
    return is_found;
}

/* Defers unless the answer is dpotd's refusal of the POST that was sent: JSON, with a status that
 * goes with the HTTP status, the digest, which nobody knows who has not seen the POST, and with 409
 * what was closed. True: the report is kept. */
static bool keep_unproven(struct pump *pump, struct dpot_slot *slot,
                          const struct dpot_http_answer *answer, const struct dpot_refusal *refusal)
{
    const struct row *row = find_row(answer->status);
    if (!answer->is_json || !is_status_of(row, refusal)) {
        dpot_pump_defer_foreign(pump, slot, answer->status, "something else");
    } else if (refusal->batch[0] == '\0') {
        dpot_pump_defer_unread(pump, slot, answer->status);
    } else if (!dpot_wire_refusal_names(refusal, pump->digest)) {
        dpot_pump_defer_other_batch(pump, slot, answer->status);
    } else if (row->action == ACTION_DROP_CLOSED && strcmp(refusal->closed, "revision") != 0 &&
               strcmp(refusal->closed, "round") != 0) {
        dpot_pump_defer_foreign(pump, slot, answer->status, "something else");
    } else {
        return false;
    }
    return true;
}

/* An answer that would drop the report. */
static dpot_status handle_drop(struct pump *pump, struct dpot_slot *slot,
                               const struct dpot_http_answer *answer,
                               const struct dpot_refusal *refusal)
{
    const bool is_closed = find_row(answer->status)->action == ACTION_DROP_CLOSED;
    if (keep_unproven(pump, slot, answer, refusal)) {
        return DPOT_OK;
    }
    if (is_closed && strcmp(refusal->closed, "round") == 0 &&
        dpot_client_time(pump->client) < slot->name.closes_ms) {
        /* One of the two clocks is wrong: it is kept until the round is over by ours, too. */
        dpot_pump_defer_until_over(pump, slot, refusal->server_time);
        return DPOT_OK;
    }
    return finish(pump, slot, is_closed ? DPOT_DONE_DROPPED_CLOSED : DPOT_DONE_DROPPED_MALFORMED);
}

/* Does what the table says. Returns disk failures only. */
static dpot_status handle_answer(struct pump *pump, struct dpot_slot *slot,
                                 const struct dpot_http_answer *answer, const struct dpot_buf *body,
                                 bool *again)
{
    const int http_status = answer->status;
    struct dpot_refusal refusal;
    (void)dpot_wire_refusal_decode(body->data, body->len, &refusal);
    if (answer->is_web_page || is_stray_receipt(answer, body->len)) {
        dpot_pump_defer_foreign(pump, slot, http_status,
                                answer->is_web_page ? "a web page" : "something else");
        return DPOT_OK;
    }
    if (http_status == 503 && strcmp(refusal.status, "DPOT_ERR_NOT_OPEN") == 0) {
        dpot_pump_defer_until_open(pump, slot);
        return DPOT_OK;
    }
    switch (find_row(http_status)->action) {
    case ACTION_RECEIPT:
        return process_receipt(pump, slot, body);
    case ACTION_DROP_MALFORMED:
    case ACTION_DROP_CLOSED:
        return handle_drop(pump, slot, answer, &refusal);
    case ACTION_NEW_KEYS:
        *again = find_new_keys(pump, slot);
        break;
    case ACTION_PAUSE:
        dpot_pump_defer_refused(pump, slot, http_status, true);
        break;
    case ACTION_DEFER:
        dpot_pump_defer_refused(pump, slot, http_status, false);
        break;
    }
    return DPOT_OK;
}

/* One exchange about one report. Returns disk failures only, which end the pump. Sets *again when
 * new keys make another exchange worthwhile. */
static dpot_status send_once(struct pump *pump, struct dpot_slot *slot, bool *again)
{
    struct dpot_http_answer answer = {0};
    struct dpot_buf receipt;
    dpot_status result = DPOT_OK;
    *again = false;
    pump->retry_after_s = 0;
    dpot_buf_init(&receipt, RECEIPT_BYTES_MAX, pump->client->config.allocator);
    const dpot_status status = post(pump, slot, &receipt, &answer);
    if (status == DPOT_ERR_CONSENT) {
        pump->is_stopped = true;
        result = dpot_client_load_consent(pump->client); /* the slot is gone after this */
    } else if (status != DPOT_OK) {
        dpot_pump_defer_unanswered(pump, slot, status);
    } else {
        result = handle_answer(pump, slot, &answer, &receipt, again);
    }
    dpot_buf_release(&receipt);
    return result;
}

/* ---- the pump ---- */

/* Only a pump drops by age: other calls under a clock far ahead drop nothing. */
static dpot_status drop_old(dpot_client *client)
{
    return client->is_withdrawn
               ? DPOT_OK
               : dpot_journal_settle_old(&client->journal, dpot_client_time(client));
}

static dpot_status send_due(struct pump *pump)
{
    dpot_client *client = pump->client;
    struct dpot_spool *spool = &client->journal.spool;
    dpot_backoff_begin(client);
    for (size_t i = 0; i < spool->n_slots; i++) {
        struct dpot_slot *slot = &spool->slots[i];
        bool again = slot->content == DPOT_SLOT_REPORT &&
                     dpot_backoff_next_due(client, slot) <= dpot_client_clock(client);
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

dpot_status dpot_client_pump(dpot_client *client, uint32_t deadline_ms,
                             struct dpot_pump_result *result)
{
    if (!client) {
        return DPOT_ERR_ARGUMENT;
    }
    const dpot_status fillable =
        result ? dpot_client_check_filled(client, result, sizeof *result, "result") : DPOT_OK;
    if (fillable != DPOT_OK) {
        return fillable;
    }
    struct pump pump = {.client = client,
                        .started_ms = dpot_clock_monotonic_ms(),
                        .clock_ms = dpot_client_clock(client),
                        .deadline_ms = deadline_ms};
    dpot_client_clear_error(client);
    dpot_status status = dpot_http_check(client);
    if (status == DPOT_OK) {
        status = dpot_client_lock(client);
    }
    if (status == DPOT_OK) {
        status = drop_old(client);
        status = status == DPOT_OK ? send_due(&pump) : status;
        dpot_client_unlock(client);
    }
    if (status == DPOT_OK && pump.status != DPOT_OK) {
        status = pump.status;
        client->error = pump.error;
    }
    dpot_client_fill_pump_result(client, pump.n_sent, result);
    return dpot_client_end(client, status);
}
