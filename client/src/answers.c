/* What an answer to a report does: the table of actions, and what proves that it is dpotd's. */
#include "answers.h"

#include "proto/wire_refusal.h"
#include "proto/wire_report.h"

#include <string.h>

/* What the device does with an HTTP status: doc/libdpot.3, DELIVERY. */
enum action {
    ACTION_DEFER,   /* the report backs off */
    ACTION_PAUSE,   /* the server failed: everything backs off */
    ACTION_RECEIPT, /* the receipt says what became of the report */
    ACTION_DROP_MALFORMED,
    ACTION_DROP_CLOSED,
    ACTION_NEW_KEYS, /* fetch the seal keys and send again, once */
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

/* Device time of the answer. */
static int64_t answer_time(const dpot_client *client)
{
    return dpot_journal_time(&client->journal, dpot_client_answer_clock(client));
}

/* (U3). An answer ends the server's row of failures. */
static dpot_status finish(struct upload *upload, const struct dpot_slot *slot, uint8_t done)
{
    const struct dpot_key key = slot->name.key;
    const dpot_status status =
        dpot_journal_finish(&upload->client->journal, &key, done, answer_time(upload->client));
    upload->n_sent += status == DPOT_OK;
    upload->client->n_failures = 0;
    return status;
}

static dpot_status process_receipt(struct upload *upload, struct dpot_slot *slot,
                                   const struct dpot_buf *receipt)
{
    enum dpot_report_status answer = DPOT_REPORT_ACCEPTED;
    const dpot_status status =
        dpot_wire_receipt_decode(receipt->data, receipt->len, upload->client->exchange.digest,
                                 upload->client->config.allocator, &answer, 1);
    if (status == DPOT_OK) {
        return finish(upload, slot, (uint8_t)answer);
    }
    dpot_defer_without_receipt(upload, slot, status);
    return DPOT_OK;
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
static bool keep_unproven(struct upload *upload, struct dpot_slot *slot,
                          const struct dpot_http_answer *answer, const struct dpot_refusal *refusal)
{
    const struct row *row = find_row(answer->status);
    if (!answer->is_json || !is_status_of(row, refusal)) {
        dpot_defer_foreign(upload, slot, answer->status, "something else");
    } else if (refusal->batch[0] == '\0') {
        dpot_defer_unread(upload, slot, answer->status);
    } else if (!dpot_wire_refusal_names(refusal, upload->client->exchange.digest)) {
        dpot_defer_other_batch(upload, slot, answer->status);
    } else if (row->action == ACTION_DROP_CLOSED && strcmp(refusal->closed, "revision") != 0 &&
               strcmp(refusal->closed, "round") != 0) {
        dpot_defer_foreign(upload, slot, answer->status, "something else");
    } else {
        return false;
    }
    return true;
}

/* An answer that would drop the report. */
static dpot_status handle_drop(struct upload *upload, struct dpot_slot *slot,
                               const struct dpot_http_answer *answer,
                               const struct dpot_refusal *refusal)
{
    const bool is_closed = find_row(answer->status)->action == ACTION_DROP_CLOSED;
    if (keep_unproven(upload, slot, answer, refusal)) {
        return DPOT_OK;
    }
    if (is_closed && strcmp(refusal->closed, "round") == 0 &&
        answer_time(upload->client) < slot->name.closes_ms) {
        /* One of the two clocks is wrong: it is kept until the round is over by ours, too. */
        dpot_defer_until_over(upload, slot, refusal->server_time);
        return DPOT_OK;
    }
    return finish(upload, slot, is_closed ? DPOT_DONE_DROPPED_CLOSED : DPOT_DONE_DROPPED_MALFORMED);
}

/* The keys are fetched and the same report is sent again, unless that was done already. */
static void ask_for_keys(struct upload *upload, struct dpot_slot *slot)
{
    struct exchange *exchange = &upload->client->exchange;
    if (exchange->has_fetched_keys) {
        dpot_defer_refused(upload, slot, exchange->answer.status, true);
    } else {
        exchange->needs_keys = true;
    }
}

dpot_status dpot_answer_process(struct upload *upload, struct dpot_slot *slot)
{
    const struct dpot_http_answer *answer = &upload->client->exchange.answer;
    const struct dpot_buf *body = &upload->client->exchange.received;
    const int http_status = answer->status;
    struct dpot_refusal refusal;
    (void)dpot_wire_refusal_decode(body->data, body->len, &refusal);
    if (answer->is_web_page || is_stray_receipt(answer, body->len)) {
        dpot_defer_foreign(upload, slot, http_status,
                           answer->is_web_page ? "a web page" : "something else");
        return DPOT_OK;
    }
    if (http_status == 503 && strcmp(refusal.status, "DPOT_ERR_NOT_OPEN") == 0) {
        dpot_defer_until_open(upload, slot);
        return DPOT_OK;
    }
    switch (find_row(http_status)->action) {
    case ACTION_RECEIPT:
        return process_receipt(upload, slot, body);
    case ACTION_DROP_MALFORMED:
    case ACTION_DROP_CLOSED:
        return handle_drop(upload, slot, answer, &refusal);
    case ACTION_NEW_KEYS:
        ask_for_keys(upload, slot);
        break;
    case ACTION_PAUSE:
        dpot_defer_refused(upload, slot, http_status, true);
        break;
    case ACTION_DEFER:
        dpot_defer_refused(upload, slot, http_status, false);
        break;
    }
    return DPOT_OK;
}
