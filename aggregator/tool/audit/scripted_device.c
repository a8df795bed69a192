#include "tool/audit/scripted_device.h"

#include "client/src/simulation.h"
#include "proto/wire_refusal.h"
#include "proto/wire_report.h"

#include <string.h>

#define SENDINGS_MAX 64
#define PUMP_MS 600000 /* longer than a pump takes on any machine */
#define STATEMENT_SIZE 8192
#define RECEIPT_BYTES_MAX 1024

/* ---- the server ---- */

static dpot_status answer_report(const struct scripted_device_answer *answer,
                                 const struct dpot_http_request *request,
                                 struct dpot_http_response *response)
{
    uint8_t batch[DPOT_HASH_LEN];
    struct dpot_buf receipt;
    if (answer->http_status == 0) {
        return DPOT_ERR_NETWORK;
    }
    response->status = answer->http_status;
    dpot_buf_init(&receipt, RECEIPT_BYTES_MAX, NULL);
    dpot_wire_batch_digest(request->body, request->body_len, batch);
    const bool is_closed = answer->http_status == 409;
    dpot_status status =
        answer->http_status == 202
            ? dpot_wire_receipt_encode(&answer->receipt, 1, batch, &receipt)
            : dpot_wire_refusal_encode(is_closed ? DPOT_ERR_CLOSED : DPOT_ERR_MALFORMED,
                                       is_closed ? "revision" : NULL, batch, &receipt);
    if (status == DPOT_OK) {
        status = request->on_body(request->sink, receipt.data, receipt.len);
    }
    dpot_buf_release(&receipt);
    return status;
}

static dpot_status perform(void *ctx, const struct dpot_http_request *request,
                           struct dpot_http_response *response)
{
    const struct scripted_device *d = ctx;
    return strcmp(request->method, "POST") == 0
               ? answer_report(&d->answer, request, response)
               : d->server->perform(d->server->ctx, request, response);
}

/* ---- a process ---- */

dpot_status scripted_device_init(struct scripted_device *d, const struct dpot_client_config *config,
                                 const struct dpot_transport *server,
                                 const struct seal_secret *seal_secret, int64_t now_ms)
{
    *d = (struct scripted_device){.config = *config, .server = server};
    const dpot_status status = dpot_filesystem_memory_new(NULL, &d->folder);
    if (status != DPOT_OK) {
        return status;
    }
    d->network = (struct dpot_transport){sizeof d->network, d, perform};
    d->answer = (struct scripted_device_answer){202, DPOT_REPORT_ACCEPTED};
    scripted_device_seed(d, 0, 0, false);
    recorder_init(&d->recorder, &d->network, d->folder, &d->source, seal_secret);
    d->recorder.now_ms = now_ms;
    d->config.transport = &d->recorder.transport;
    d->config.filesystem = &d->recorder.filesystem;
    d->config.clock = &d->recorder.clock;
    return DPOT_OK;
}

void scripted_device_release(struct scripted_device *d)
{
    scripted_device_close(d);
    recorder_release(&d->recorder);
    dpot_filesystem_memory_free(d->folder);
}

void scripted_device_seed(struct scripted_device *d, uint64_t seed, uint64_t stream, bool has_seed)
{
    dpot_rng_seeded_init(&d->stream, seed, stream);
    d->source = d->stream.source;
    d->source.is_test = has_seed;
    d->recorder.source.is_test = has_seed;
    d->has_seed = has_seed;
}

dpot_status scripted_device_open(struct scripted_device *d, struct dpot_error *error)
{
    recorder_note(&d->recorder, RECORDER_CALL "open");
    const dpot_status status =
        dpot_client_open(&d->config, &d->client, error->text, sizeof error->text);
    recorder_note(&d->recorder, "opening: %d, %s", status, status == DPOT_OK ? "" : error->text);
    if (status == DPOT_OK) {
        if (d->has_seed) {
            dpot_client_allow_simulation(d->client);
        }
        dpot_client_set_rng_source(d->client, &d->recorder.source);
        dpot_client_set_work_time(d->client, SCRIPTED_DEVICE_WORK_MS);
    }
    return status;
}

void scripted_device_close(struct scripted_device *d)
{
    dpot_client_close(d->client);
    d->client = NULL;
}

/* ---- calls of the application ---- */

static dpot_status submit(struct scripted_device *d, const uint8_t *campaign_id,
                          const struct scripted_device_data *data,
                          enum dpot_submit_outcome *outcome)
{
    if (data->is_vector) {
        return dpot_client_submit_vector(d->client, campaign_id, data->points, data->dim, outcome);
    }
    return data->histogram ? dpot_client_submit_histogram(d->client, campaign_id, data->histogram,
                                                          data->size, outcome)
                           : dpot_client_submit_points(d->client, campaign_id, data->points,
                                                       data->weights, data->n, data->dim, outcome);
}

void scripted_device_note_submit(struct scripted_device *d, dpot_status status,
                                 enum dpot_submit_outcome outcome)
{
    recorder_note(&d->recorder, "submit: %d, outcome %d, %s", status, outcome,
                  dpot_client_last_error(d->client));
}

void scripted_device_submit(struct scripted_device *d,
                            const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN],
                            const struct scripted_device_data *data, int64_t work_ms)
{
    enum dpot_submit_outcome outcome = 0;
    recorder_note(&d->recorder, RECORDER_CALL "submit");
    d->recorder.work_ms = work_ms;
    const dpot_status status = submit(d, campaign_id, data, &outcome);
    d->recorder.work_ms = 0;
    scripted_device_note_submit(d, status, outcome);
}

static int64_t pump(struct scripted_device *d)
{
    struct dpot_pump_result r = {.struct_size = sizeof r};
    recorder_note(&d->recorder, RECORDER_CALL "pump");
    const dpot_status status = dpot_client_pump(d->client, PUMP_MS, &r);
    recorder_note(&d->recorder,
                  "pump: %d, sent %zu, pending %zu, accepted %zu, duplicate %zu, rejected %zu %zu "
                  "%zu %zu %zu %zu, dropped %zu %zu %zu %zu %zu %zu, %s",
                  status, r.n_sent, r.n_pending, r.n_accepted, r.n_duplicate,
                  r.n_rejected_malformed, r.n_rejected_range, r.n_rejected_group, r.n_rejected_test,
                  r.n_rejected_token, r.n_rejected_closed, r.n_dropped_closed, r.n_dropped_age,
                  r.n_dropped_malformed, r.n_dropped_lost, r.n_dropped_withdrawn, r.n_dropped_spool,
                  dpot_client_last_error(d->client));
    recorder_note(&d->recorder, "due at %lld", (long long)r.next_due_ms);
    return r.n_pending > 0 && status == DPOT_OK ? r.next_due_ms : INT64_MAX;
}

void scripted_device_pump(struct scripted_device *d)
{
    (void)pump(d);
}

void scripted_device_send(struct scripted_device *d)
{
    int64_t due_ms = d->recorder.now_ms;
    for (int i = 0; i < SENDINGS_MAX && due_ms != INT64_MAX; i++) {
        d->recorder.now_ms = due_ms > d->recorder.now_ms ? due_ms : d->recorder.now_ms;
        due_ms = pump(d);
    }
}

void scripted_device_note_status(struct scripted_device *d,
                                 const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN])
{
    struct dpot_client_status s = {.struct_size = sizeof s};
    struct dpot_spending spent = {.struct_size = sizeof spent};
    recorder_note(&d->recorder, RECORDER_CALL "status");
    const dpot_status status = dpot_client_get_status(d->client, &s);
    (void)!dpot_client_get_campaign_spending(d->client, campaign_id, &spent);
    recorder_note(
        &d->recorder,
        "status: %d, submitted %llu, pending %llu, at %lld, paused until %lld, spent %a %a %a, in "
        "the window %a %a %a, in the campaign %a %a %a",
        status, (unsigned long long)s.n_submitted, (unsigned long long)s.n_pending,
        (long long)s.device_time_ms, (long long)s.paused_until_ms, s.spent_epsilon, s.spent_delta,
        s.spent_rho, s.window_spent_epsilon, s.window_spent_delta, s.window_spent_rho,
        spent.epsilon, spent.delta, spent.rho);
}

void scripted_device_note_statement(struct scripted_device *d)
{
    char text[STATEMENT_SIZE] = "";
    const dpot_status status = dpot_client_get_statement(d->client, text, sizeof text);
    recorder_note(&d->recorder, RECORDER_CALL "statement: %d", status);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        recorder_note(&d->recorder, "%.*s", (int)strcspn(line, "\n"), line);
    }
}
