/* (U5) of uploader.c. */
#include "defer.h"

#include "backoff.h"
#include "base/clock.h"
#include "http.h"

static void note_failure(struct upload *upload, dpot_status status)
{
    if (upload->status == DPOT_OK) {
        upload->status = status;
        upload->error = upload->client->error;
    }
    dpot_client_clear_error(upload->client); /* a failure of the disk that follows has its own */
}

/* (U5) */
static void defer(struct upload *upload, struct dpot_slot *slot, bool is_server)
{
    dpot_client *client = upload->client;
    const uint32_t retry_after_s = client->exchange.answer.retry_after_s;
    if (slot) {
        dpot_backoff_report(client, slot, is_server ? 0 : retry_after_s);
    }
    if (is_server) {
        dpot_backoff_server(client, retry_after_s);
    }
}

void dpot_defer_without_receipt(struct upload *upload, struct dpot_slot *slot, dpot_status why)
{
    struct dpot_error *error = &upload->client->error;
    defer(upload, slot, why != DPOT_ERR_MEMORY);
    if (why == DPOT_ERR_SIGNATURE) {
        note_failure(upload, dpot_error_set(error, DPOT_ERR_NETWORK,
                                            "the receipt is for another batch than was sent: "
                                            "something between this device and the server answers "
                                            "in its place. The report is kept"));
    } else {
        note_failure(upload,
                     dpot_error_set(error, why == DPOT_ERR_MEMORY ? why : DPOT_ERR_SERVER,
                                    "the server's receipt cannot be read: the report is kept"));
    }
}

/* One of the two clocks is wrong: this concerns the round, not the server. */
void dpot_defer_until_open(struct upload *upload, struct dpot_slot *slot)
{
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1], now[DPOT_RFC3339_SIZE];
    dpot_hex_encode(hex, slot->name.campaign_id, DPOT_CAMPAIGN_ID_LEN);
    dpot_time_format(dpot_client_clock(upload->client), now);
    defer(upload, slot, false);
    note_failure(upload,
                 dpot_error_set(&upload->client->error, DPOT_ERR_NOT_OPEN,
                                "campaign %s: round %u has not opened at the server (the first "
                                "is 0), and the clock of this device says %s: set it if that is "
                                "not the time. The report is kept until the round opens",
                                hex, (unsigned)slot->name.key.round, now));
}

/* 400..499 may concern this report alone. */
void dpot_defer_foreign(struct upload *upload, struct dpot_slot *slot, int http_status,
                        const char *foreign)
{
    defer(upload, slot, http_status < 400 || http_status >= 500);
    note_failure(upload,
                 dpot_error_set(&upload->client->error, DPOT_ERR_NETWORK,
                                "%s came in place of the server's answer (HTTP status %d): "
                                "the login page of a network, or a proxy? The report is kept",
                                foreign, http_status));
}

void dpot_defer_refused(struct upload *upload, struct dpot_slot *slot, int http_status,
                        bool is_server)
{
    defer(upload, slot, is_server);
    note_failure(upload, dpot_error_set(&upload->client->error, dpot_http_failure(http_status),
                                        "the server answered with HTTP status %d%s: the report is "
                                        "kept",
                                        http_status, dpot_http_hint(http_status)));
}

static bool is_local_failure(dpot_status status)
{
    return status == DPOT_ERR_MEMORY || status == DPOT_ERR_IO || status == DPOT_ERR_NO_SPACE ||
           status == DPOT_ERR_RANDOM;
}

void dpot_defer_unanswered(struct upload *upload, struct dpot_slot *slot, dpot_status status)
{
    note_failure(upload, status);
    defer(upload, slot, !is_local_failure(status));
}

void dpot_defer_until_over(struct upload *upload, struct dpot_slot *slot, const char *server_time)
{
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1], now[DPOT_RFC3339_SIZE];
    dpot_hex_encode(hex, slot->name.campaign_id, DPOT_CAMPAIGN_ID_LEN);
    dpot_time_format(dpot_client_clock(upload->client), now);
    defer(upload, slot, false);
    note_failure(upload,
                 dpot_error_set(&upload->client->error, DPOT_ERR_CLOSED,
                                "campaign %s: round %u is over by the server's clock (%s) and "
                                "not by the clock of this device (%s): one of them is wrong. "
                                "The report is kept until it is over by both",
                                hex, (unsigned)slot->name.key.round,
                                server_time[0] ? server_time : "no time given", now));
}

void dpot_defer_unread(struct upload *upload, struct dpot_slot *slot, int http_status)
{
    defer(upload, slot, false);
    note_failure(upload, dpot_error_set(&upload->client->error, DPOT_ERR_SERVER,
                                        "the server refused the report unread (HTTP status %d): it "
                                        "is kept, and sent again later",
                                        http_status));
}

void dpot_defer_other_batch(struct upload *upload, struct dpot_slot *slot, int http_status)
{
    defer(upload, slot, true);
    note_failure(upload,
                 dpot_error_set(&upload->client->error, DPOT_ERR_NETWORK,
                                "the refusal (HTTP status %d) is for another batch than was "
                                "sent: something between this device and the server changes "
                                "what it passes on. The report is kept",
                                http_status));
}
