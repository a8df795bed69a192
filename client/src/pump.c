/* (U5) of uploader.c: a kept report backs off, and one sentence says why. */
#include "pump.h"

#include "backoff.h"
#include "base/clock.h"
#include "http.h"

static void note_failure(struct pump *pump, dpot_status status)
{
    if (pump->status == DPOT_OK) {
        pump->status = status;
        pump->error = pump->client->error;
    }
    dpot_client_clear_error(pump->client); /* a failure of the disk that follows has its own */
}

/* (U5) */
static void defer(struct pump *pump, struct dpot_slot *slot, bool is_server)
{
    dpot_backoff_report(pump->client, slot, is_server ? 0 : pump->retry_after_s);
    if (is_server) {
        dpot_backoff_server(pump->client, pump->retry_after_s);
        pump->is_stopped = true;
    }
}

void dpot_pump_defer_without_receipt(struct pump *pump, struct dpot_slot *slot, dpot_status why)
{
    struct dpot_error *error = &pump->client->error;
    defer(pump, slot, why != DPOT_ERR_MEMORY);
    if (why == DPOT_ERR_SIGNATURE) {
        note_failure(pump, dpot_error_set(error, DPOT_ERR_NETWORK,
                                          "the receipt is for another batch than was sent: "
                                          "something between this device and the server answers "
                                          "in its place. The report is kept"));
    } else {
        note_failure(pump,
                     dpot_error_set(error, why == DPOT_ERR_MEMORY ? why : DPOT_ERR_SERVER,
                                    "the server's receipt cannot be read: the report is kept"));
    }
}

/* One of the two clocks is wrong: this concerns the round, not the server. */
void dpot_pump_defer_until_open(struct pump *pump, struct dpot_slot *slot)
{
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1], now[DPOT_RFC3339_SIZE];
    dpot_hex_encode(hex, slot->name.campaign_id, DPOT_CAMPAIGN_ID_LEN);
    dpot_time_format(dpot_client_clock(pump->client), now);
    defer(pump, slot, false);
    note_failure(pump,
                 dpot_error_set(&pump->client->error, DPOT_ERR_NOT_OPEN,
                                "campaign %s: round %u has not opened at the server (the first "
                                "is 0), and the clock of this device says %s: set it if that is "
                                "not the time. The report is kept until the round opens",
                                hex, (unsigned)slot->name.key.round, now));
}

/* 400..499 may concern this report alone. */
void dpot_pump_defer_foreign(struct pump *pump, struct dpot_slot *slot, int http_status,
                             const char *foreign)
{
    defer(pump, slot, http_status < 400 || http_status >= 500);
    note_failure(pump, dpot_error_set(&pump->client->error, DPOT_ERR_NETWORK,
                                      "%s came in place of the server's answer (HTTP status %d): "
                                      "the login page of a network, or a proxy? The report is kept",
                                      foreign, http_status));
}

void dpot_pump_defer_refused(struct pump *pump, struct dpot_slot *slot, int http_status,
                             bool is_server)
{
    defer(pump, slot, is_server);
    note_failure(pump, dpot_error_set(&pump->client->error, dpot_http_failure(http_status),
                                      "the server answered with HTTP status %d%s: the report is "
                                      "kept",
                                      http_status, dpot_http_hint(http_status)));
}

static bool is_local_failure(dpot_status status)
{
    return status == DPOT_ERR_MEMORY || status == DPOT_ERR_IO || status == DPOT_ERR_NO_SPACE;
}

void dpot_pump_defer_unanswered(struct pump *pump, struct dpot_slot *slot, dpot_status status)
{
    if (pump->is_out_of_time) {
        pump->is_stopped = true; /* not a failure: the next pump goes on */
        return;
    }
    note_failure(pump, status);
    defer(pump, slot, !is_local_failure(status));
}

void dpot_pump_defer_until_over(struct pump *pump, struct dpot_slot *slot, const char *server_time)
{
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1], now[DPOT_RFC3339_SIZE];
    dpot_hex_encode(hex, slot->name.campaign_id, DPOT_CAMPAIGN_ID_LEN);
    dpot_time_format(dpot_client_clock(pump->client), now);
    defer(pump, slot, false);
    note_failure(pump,
                 dpot_error_set(&pump->client->error, DPOT_ERR_CLOSED,
                                "campaign %s: round %u is over by the server's clock (%s) and "
                                "not by the clock of this device (%s): one of them is wrong. "
                                "The report is kept until it is over by both",
                                hex, (unsigned)slot->name.key.round,
                                server_time[0] ? server_time : "no time given", now));
}

void dpot_pump_defer_unread(struct pump *pump, struct dpot_slot *slot, int http_status)
{
    defer(pump, slot, false);
    note_failure(pump, dpot_error_set(&pump->client->error, DPOT_ERR_SERVER,
                                      "the server refused the report unread (HTTP status %d): it "
                                      "is kept, and sent again later",
                                      http_status));
}

void dpot_pump_defer_other_batch(struct pump *pump, struct dpot_slot *slot, int http_status)
{
    defer(pump, slot, true);
    note_failure(pump, dpot_error_set(&pump->client->error, DPOT_ERR_NETWORK,
                                      "the refusal (HTTP status %d) is for another batch than was "
                                      "sent: something between this device and the server changes "
                                      "what it passes on. The report is kept",
                                      http_status));
}
