/* The pump: carries what is due, one exchange after the other, until its deadline.
 *
 * (U6) It lasts its deadline at most, whatever the server and the clock do: each exchange gets what
 *      remains, by the steady clock and by config.clock, whichever has gone further.
 * (U7) It sends what was due when it began: a report that backs off in it waits for the next. */
#include "arguments.h"
#include "base/clock.h"
#include "uploader.h"

struct pump {
    dpot_client *client;
    int64_t started_ms;  /* by the steady clock */
    int64_t due_ms;      /* by config.clock, when it began */
    int64_t clock_ms;    /* config.clock when it was last read */
    int64_t advanced_ms; /* how far config.clock has gone forward since the start */
    uint32_t deadline_ms;
};

static uint32_t time_left_ms(struct pump *pump)
{
    const int64_t now_ms = dpot_client_clock(pump->client);
    const int64_t steady_ms = dpot_client_steady_us(pump->client) / 1000 - pump->started_ms;
    pump->advanced_ms += now_ms > pump->clock_ms ? now_ms - pump->clock_ms : 0;
    pump->clock_ms = now_ms;
    const int64_t used_ms = pump->advanced_ms > steady_ms ? pump->advanced_ms : steady_ms;
    return used_ms >= pump->deadline_ms ? 0 : pump->deadline_ms - (uint32_t)used_ms;
}

/* What one exchange may take; 0: there is no time for one. */
static uint32_t request_timeout_ms(struct pump *pump)
{
    const uint32_t left_ms = time_left_ms(pump), most_ms = pump->client->config.request_timeout_ms;
    return left_ms < most_ms ? left_ms : most_ms;
}

/* Sends the client's exchange, under no lock. */
static void carry(dpot_client *client, uint32_t timeout_ms)
{
    struct exchange *exchange = &client->exchange;
    struct dpot_http_request request;
    dpot_upload_request(client, &request);
    request.timeout_ms = timeout_ms < request.timeout_ms ? timeout_ms : request.timeout_ms;
    dpot_buf_reset(&exchange->received);
    dpot_upload_set_answered(
        client, dpot_http_perform(client, &request, &exchange->received, &exchange->answer));
}

static dpot_status send_due(struct pump *pump, struct upload *upload)
{
    dpot_client *client = pump->client;
    for (;;) {
        const uint32_t timeout_ms = request_timeout_ms(pump);
        const int64_t due_ms = pump->clock_ms < pump->due_ms ? pump->clock_ms : pump->due_ms;
        const dpot_status status = dpot_upload_next(upload, due_ms, timeout_ms);
        if (status != DPOT_OK || client->exchange.kind == EXCHANGE_NONE || timeout_ms == 0) {
            return status;
        }
        carry(client, timeout_ms);
        const dpot_status filed = dpot_upload_file(upload);
        if (filed != DPOT_OK) {
            return filed;
        }
    }
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
    const int64_t now_ms = dpot_client_clock(client);
    struct upload upload = {.client = client};
    struct pump pump = {.client = client,
                        .started_ms = dpot_client_steady_us(client) / 1000,
                        .due_ms = now_ms,
                        .clock_ms = now_ms,
                        .deadline_ms = deadline_ms};
    dpot_client_clear_error(client);
    client->exchange.has_fetched_keys = false;
    dpot_status status = dpot_http_check(client);
    if (status == DPOT_OK) {
        status = send_due(&pump, &upload);
    }
    return dpot_upload_end(&upload, status, result);
}
