/* The uploader: sends what the spool holds and records the answers.
 *
 *            due, not backing off                    answer
 *   REPORT -----------------------> sealed, POSTed ---------> DONE, slot free
 *      ^                                  |
 *      '---- deferred: back off <---------'
 *
 * The folder's lock is held twice: to choose and seal a report, and to file its answer; not in
 * between, where the exchange is known by its key (exchange.h) and by its mark (sending.h).
 *
 * (U1) One POST serves one (campaign hash, round), and a device has one report of it: a batch is
 *      one report. At most one is on its way from a folder.
 * (U2) Reports are sent in the order of the spool, unchanged, never before they are due, and none
 *      leaves between the start of a submit and its horizon (journal.h). A report is dropped only
 *      by the server's receipt, by a refusal of a row of answers.c that names this very POST, by
 *      age (dpot_journal_settle_old), or for a newer one when the spool is full
 *      (dpot_journal_make_room).
 * (U3) DONE is durable before the report leaves the spool.
 * (U4) No POST begins once the mark of a withdrawal exists. One that began before is known to the
 *      withdrawal by the mark of sending.h, which is set under the lock after this check.
 * (U5) A report that is kept backs off (backoff.h), from the time of its answer on. A failure of
 *      the server, not of the report, delays all: the other reports would meet it again. */
#include "uploader.h"

#include "answers.h"
#include "arguments.h"
#include "backoff.h"
#include "base/clock.h"
#include "proto/wire_report.h"
#include "sending.h"

#include <stdio.h>
#include <string.h>

#define RECEIPT_BYTES_MAX (64u << 10)

/* ---- the exchange ---- */

void dpot_upload_drop(dpot_client *client)
{
    struct exchange *exchange = &client->exchange;
    dpot_buf_release(&exchange->url);
    dpot_buf_release(&exchange->body);
    dpot_buf_release(&exchange->received);
    *exchange = (struct exchange){.needs_keys = exchange->needs_keys,
                                  .has_fetched_keys = exchange->has_fetched_keys};
}

void dpot_upload_request(const dpot_client *client, struct dpot_http_request *request)
{
    const struct exchange *exchange = &client->exchange;
    const bool is_post = exchange->kind == EXCHANGE_REPORT;
    *request = (struct dpot_http_request){
        .struct_size = sizeof *request,
        .method = is_post ? "POST" : "GET",
        .url = (const char *)exchange->url.data,
        .content_type = is_post ? "application/x-protobuf" : NULL,
        .body = exchange->body.data,
        .body_len = exchange->body.len,
        .timeout_ms = exchange->timeout_ms,
        .body_max = exchange->received.max,
    };
}

static dpot_status begin(dpot_client *client, enum exchange_kind kind, const struct dpot_key *key,
                         const char *path, uint32_t timeout_ms)
{
    struct exchange *exchange = &client->exchange;
    const struct dpot_allocator *allocator = client->config.allocator;
    dpot_buf_init(&exchange->url, DPOT_URL_SIZE, allocator);
    dpot_buf_init(&exchange->received,
                  kind == EXCHANGE_KEYS ? DPOT_SIGNED_KEYS_BYTES_MAX : RECEIPT_BYTES_MAX,
                  allocator);
    const dpot_status status = dpot_http_put_url(client, path, &exchange->url);
    if (status == DPOT_OK) {
        exchange->kind = kind;
        exchange->key = *key;
        exchange->timeout_ms = timeout_ms;
        exchange->until_ms = dpot_client_clock(client) + timeout_ms;
    }
    return status;
}

void dpot_upload_set_answered(dpot_client *client, dpot_status failure)
{
    struct exchange *exchange = &client->exchange;
    exchange->is_answered = true;
    exchange->failure = failure;
    exchange->answered_ms = dpot_client_clock(client);
}

/* By a clock that was set back as well. */
static bool is_out_of_time(const dpot_client *client)
{
    const struct exchange *exchange = &client->exchange;
    const int64_t now_ms = dpot_client_clock(client);
    return now_ms >= exchange->until_ms || now_ms < exchange->until_ms - exchange->timeout_ms;
}

/* Also if another handle cannot be told: its mark runs out. */
void dpot_upload_abandon(dpot_client *client)
{
    const struct dpot_filesystem *fs = client->journal.filesystem;
    if (client->exchange.kind == EXCHANGE_REPORT && fs->lock(fs->ctx) == DPOT_OK) {
        dpot_sending_end(client);
        fs->unlock(fs->ctx);
    }
    dpot_upload_drop(client);
}

/* ---- keys ---- */

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

/* The stored key that is valid now; NULL: they must be fetched. DPOT_ERR_SERVER: they were, and
 * none is valid. */
static dpot_status find_seal_key(dpot_client *client, struct dpot_keys *keys,
                                 const struct dpot_seal_key **seal_key)
{
    struct exchange *exchange = &client->exchange;
    struct dpot_error why = {{0}};
    *seal_key = NULL;
    if (exchange->needs_keys) {
        return DPOT_OK;
    }
    const dpot_status status = dpot_campaigns_load_keys(&client->campaigns, keys, &why);
    if (status == DPOT_OK) {
        *seal_key = dpot_keys_current(keys, dpot_client_clock(client));
    } else if (status == DPOT_ERR_IO || status == DPOT_ERR_MEMORY) {
        client->error = why;
        return status;
    }
    return *seal_key || !exchange->has_fetched_keys ? DPOT_OK : refuse_keys(client);
}

static dpot_status begin_keys(dpot_client *client, const struct dpot_key *key, uint32_t timeout_ms)
{
    client->exchange.needs_keys = false;
    client->exchange.has_fetched_keys = true;
    return begin(client, EXCHANGE_KEYS, key, DPOT_KEYS_PATH, timeout_ms);
}

/* ---- one report ---- */

static dpot_status seal(dpot_client *client, const struct dpot_slot *slot,
                        const struct dpot_seal_key *seal_key)
{
    struct exchange *exchange = &client->exchange;
    struct dpot_report report = slot->report;
    struct dpot_batch batch = {.round = slot->name.key.round,
                               .n_reports = 1,
                               .reports = &report,
                               .report_len_max = slot->name.report_len_max,
                               .has_losses = slot->name.has_losses, /* zeros */
                               .allocator = client->config.allocator};
    memcpy(batch.campaign_hash, slot->name.key.campaign_hash, sizeof batch.campaign_hash);
    dpot_buf_init(&exchange->body, DPOT_BATCH_BYTES_MAX, client->config.allocator);
    dpot_status status = dpot_wire_batch_seal(&batch, seal_key, &exchange->body);
    if (status == DPOT_OK) {
        status = dpot_random_check(&client->error);
    }
    if (status == DPOT_OK) {
        dpot_wire_batch_digest(exchange->body.data, exchange->body.len, exchange->digest);
    }
    return status;
}

static dpot_status begin_post(dpot_client *client, const struct dpot_slot *slot,
                              const struct dpot_seal_key *seal_key, uint32_t timeout_ms)
{
    char path[80];
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    dpot_hex_encode(hex, slot->name.campaign_id, DPOT_CAMPAIGN_ID_LEN);
    (void)snprintf(path, sizeof path, "/v1/campaigns/%s/reports", hex);
    dpot_status status = seal(client, slot, seal_key);
    if (status == DPOT_OK) {
        status = begin(client, EXCHANGE_REPORT, &slot->name.key, path, timeout_ms);
    }
    if (status == DPOT_OK) {
        status = dpot_client_check_withdrawal(client); /* (U4): the last check */
    }
    return status == DPOT_OK ? dpot_sending_begin(client) : status;
}

/* Begins the exchange that this report needs. On failure there is none. */
static dpot_status begin_for(dpot_client *client, const struct dpot_slot *slot, uint32_t timeout_ms)
{
    struct dpot_keys keys;
    const struct dpot_seal_key *seal_key = NULL;
    dpot_status status = find_seal_key(client, &keys, &seal_key);
    if (status == DPOT_OK) {
        status = seal_key ? begin_post(client, slot, seal_key, timeout_ms)
                          : begin_keys(client, &slot->name.key, timeout_ms);
    }
    if (status != DPOT_OK) {
        dpot_upload_drop(client);
    }
    return status;
}

/* ---- the next request ---- */

static struct dpot_slot *find_due(dpot_client *client, int64_t due_ms)
{
    struct dpot_spool *spool = &client->journal.spool;
    for (size_t i = 0; i < spool->n_slots; i++) {
        struct dpot_slot *slot = &spool->slots[i];
        if (slot->content == DPOT_SLOT_REPORT && dpot_backoff_next_due(client, slot) <= due_ms) {
            return slot;
        }
    }
    return NULL;
}

/* Submits are refused without the keys that the app expects; enrolling fetches them. */
static bool lacks_expected_keys(const struct upload *upload)
{
    const dpot_client *client = upload->client;
    struct dpot_keys keys;
    struct dpot_error why;
    if (!upload->is_by_hand || client->campaigns.n_expected == 0 || client->is_withdrawn ||
        client->paused_until_ms > dpot_client_clock(client)) {
        return false;
    }
    const dpot_status status = dpot_campaigns_load_keys(&client->campaigns, &keys, &why);
    return status == DPOT_ERR_NOT_FOUND || status == DPOT_ERR_UNEXPECTED;
}

/* A report that cannot be sent now backs off, and the next one is tried. */
static dpot_status begin_due(struct upload *upload, int64_t due_ms, uint32_t timeout_ms)
{
    dpot_client *client = upload->client;
    static const struct dpot_key no_report;
    struct dpot_slot *slot = NULL;
    while (client->exchange.kind == EXCHANGE_NONE && (slot = find_due(client, due_ms)) != NULL) {
        const dpot_status status = begin_for(client, slot, timeout_ms);
        if (status == DPOT_ERR_CONSENT) {
            return dpot_client_load_consent(client); /* the slots are gone after this */
        }
        if (status == DPOT_ERR_BUSY) {
            return status;
        }
        if (status != DPOT_OK) {
            dpot_defer_unanswered(upload, slot, status);
        }
    }
    dpot_status status = DPOT_OK;
    if (client->exchange.kind == EXCHANGE_NONE) {
        client->exchange.has_fetched_keys = false;
        status = lacks_expected_keys(upload) ? begin_keys(client, &no_report, timeout_ms) : DPOT_OK;
    }
    return status;
}

/* Only this drops by age: other calls under a clock far ahead drop nothing. */
static dpot_status drop_old(dpot_client *client)
{
    return client->is_withdrawn
               ? DPOT_OK
               : dpot_journal_settle_old(&client->journal, dpot_client_time(client));
}

static dpot_status compact(dpot_client *client)
{
    dpot_status status = dpot_journal_fold(&client->journal);
    if (status == DPOT_OK) {
        status = dpot_journal_compact(&client->journal);
    }
    return status == DPOT_ERR_MEMORY ? DPOT_OK : status;
}

dpot_status dpot_upload_next(struct upload *upload, int64_t due_ms, uint32_t timeout_ms)
{
    dpot_client *client = upload->client;
    struct exchange *exchange = &client->exchange;
    if (exchange->kind != EXCHANGE_NONE) {
        if (!exchange->is_answered && !is_out_of_time(client)) {
            return DPOT_OK;
        }
        if (!exchange->is_answered) {
            dpot_upload_set_answered(client, DPOT_ERR_NETWORK);
        }
        const dpot_status filed = dpot_upload_file(upload);
        if (filed != DPOT_OK) {
            return filed;
        }
    }
    dpot_status status = dpot_client_lock(client);
    if (status != DPOT_OK) {
        return status;
    }
    status = drop_old(client);
    if (status == DPOT_OK) {
        dpot_backoff_begin(client);
        status = compact(client);
    }
    if (status == DPOT_OK && timeout_ms > 0) {
        status = begin_due(upload, due_ms, timeout_ms);
    }
    dpot_client_unlock(client);
    return status;
}

/* ---- the answer ---- */

static void file_keys(struct upload *upload, struct dpot_slot *slot)
{
    dpot_client *client = upload->client;
    struct exchange *exchange = &client->exchange;
    dpot_status status = exchange->failure;
    if (status == DPOT_OK) {
        status = dpot_http_check_get(client, (const char *)exchange->url.data, &exchange->answer);
    }
    if (status == DPOT_OK) {
        status = dpot_campaigns_store_keys(&client->campaigns, exchange->received.data,
                                           exchange->received.len, &client->error);
    }
    if (status != DPOT_OK) {
        dpot_defer_unanswered(upload, slot, status);
    }
}

/* The report of the exchange, unless it has ended meanwhile. */
static struct dpot_slot *find_report(dpot_client *client)
{
    struct dpot_journal *journal = &client->journal;
    const struct dpot_key *key = &client->exchange.key;
    return dpot_journal_state(journal, key) == DPOT_KEY_REPORTED
               ? &journal->spool.slots[dpot_spool_find(&journal->spool, key)]
               : NULL;
}

static dpot_status file(struct upload *upload)
{
    dpot_client *client = upload->client;
    const struct exchange *exchange = &client->exchange;
    struct dpot_slot *slot = find_report(client);
    if (client->is_withdrawn) {
        return DPOT_OK;
    }
    if (exchange->kind == EXCHANGE_KEYS) {
        file_keys(upload, slot);
    } else if (slot && exchange->failure != DPOT_OK) {
        dpot_defer_unanswered(upload, slot, exchange->failure);
    } else if (slot) {
        return dpot_answer_process(upload, slot);
    }
    return DPOT_OK;
}

dpot_status dpot_upload_file(struct upload *upload)
{
    dpot_client *client = upload->client;
    dpot_status status = dpot_client_lock(client);
    if (status != DPOT_OK) {
        return status;
    }
    status = file(upload);
    if (client->exchange.kind == EXCHANGE_REPORT) {
        dpot_sending_end(client);
    }
    dpot_upload_drop(client);
    dpot_client_unlock(client);
    return status;
}

/* ---- for an app that carries requests itself ---- */

dpot_status dpot_upload_end(struct upload *upload, dpot_status status,
                            struct dpot_pump_result *result)
{
    dpot_client *client = upload->client;
    if (status == DPOT_OK && upload->status != DPOT_OK) {
        status = upload->status;
        client->error = upload->error;
    }
    dpot_client_fill_pump_result(client, upload->n_sent, result);
    return dpot_client_end(client, status);
}

dpot_status dpot_client_next_request(dpot_client *client, struct dpot_http_request *request,
                                     struct dpot_pump_result *result)
{
    dpot_status status = dpot_client_check_filled(client, request, sizeof *request, "request");
    if (status == DPOT_OK && result) {
        status = dpot_client_check_filled(client, result, sizeof *result, "result");
    }
    if (status != DPOT_OK) {
        return status;
    }
    struct upload upload = {.client = client, .is_by_hand = true};
    struct dpot_http_request full = {.struct_size = request->struct_size};
    dpot_client_clear_error(client);
    status =
        dpot_upload_next(&upload, dpot_client_clock(client), client->config.request_timeout_ms);
    if (status == DPOT_OK && client->exchange.kind != EXCHANGE_NONE) {
        dpot_upload_request(client, &full);
        full.struct_size = request->struct_size;
        upload.status = DPOT_OK; /* of a report that backs off: this one goes on */
    }
    memcpy(request, &full, request->struct_size < sizeof full ? request->struct_size : sizeof full);
    return dpot_upload_end(&upload, status, result);
}

/* Copies the answer: it may have to wait for the lock. */
static dpot_status take(dpot_client *client, const struct dpot_http_response *response,
                        const void *body, size_t body_len)
{
    struct exchange *exchange = &client->exchange;
    struct dpot_http_response full = {.struct_size = sizeof full};
    struct dpot_http_request request;
    dpot_status status = DPOT_ERR_NETWORK;
    if (response) {
        memcpy(&full, response,
               response->struct_size < sizeof full ? response->struct_size : sizeof full);
        full.content_type[sizeof full.content_type - 1] = '\0';
        full.reason[sizeof full.reason - 1] = '\0';
    }
    if (full.status != 0) {
        status = dpot_buf_append(&exchange->received, body, body_len);
        if (status == DPOT_ERR_MEMORY) {
            return status;
        }
        dpot_http_read_answer(&full, exchange->received.data, exchange->received.len,
                              &exchange->answer);
    }
    dpot_upload_request(client, &request);
    if (status != DPOT_OK) {
        status = dpot_http_explain(client, &request, status, full.reason);
    }
    dpot_upload_set_answered(client, status);
    return DPOT_OK;
}

static dpot_status check_response(dpot_client *client, const struct dpot_http_response *response,
                                  const void *body, size_t body_len)
{
    dpot_status status =
        response ? dpot_struct_check(response, offsetof(struct dpot_http_response, content_type),
                                     sizeof *response, "response", &client->error)
                 : DPOT_OK;
    if (status == DPOT_OK && body_len > 0) {
        status = dpot_client_require(client, body, "body");
    }
    if (status == DPOT_OK && client->exchange.kind == EXCHANGE_NONE) {
        status = dpot_error_set(&client->error, DPOT_ERR_STATE,
                                "no request is under way: ask dpot_client_next_request for one");
    }
    return status;
}

dpot_status dpot_client_take_response(dpot_client *client,
                                      const struct dpot_http_response *response, const void *body,
                                      size_t body_len, struct dpot_pump_result *result)
{
    if (!client) {
        return DPOT_ERR_ARGUMENT;
    }
    dpot_status status =
        result ? dpot_client_check_filled(client, result, sizeof *result, "result") : DPOT_OK;
    if (status != DPOT_OK) {
        return status;
    }
    struct upload upload = {.client = client};
    dpot_client_clear_error(client);
    status = check_response(client, response, body, body_len);
    if (status == DPOT_OK && !client->exchange.is_answered) {
        status = take(client, response, body, body_len);
    }
    if (status == DPOT_OK) {
        status = dpot_upload_file(&upload);
    }
    return dpot_upload_end(&upload, status, result);
}
