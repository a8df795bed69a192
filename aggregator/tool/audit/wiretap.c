#include "tool/audit/wiretap.h"

#include <math.h>
#include <string.h>

static uint32_t n_values_of(const struct wiretap *tap)
{
    return tap->subject->campaign.vector.dim; /* 0 for an index */
}

static bool is_same(const struct wiretap *tap, const struct dpot_report *report, uint32_t index,
                    const int64_t *values)
{
    const uint32_t n = n_values_of(tap);
    return report->index == index && report->n_values == n &&
           (n == 0 || memcmp(report->values, values, n * sizeof *values) == 0);
}

uint64_t wiretap_digest(const struct dpot_report *report)
{
    uint8_t bytes[DPOT_REPORT_ID_LEN + sizeof report->index + SUBJECT_DIM_MAX * sizeof(int64_t)];
    uint8_t hash[DPOT_HASH_LEN];
    const uint32_t n = report->n_values < SUBJECT_DIM_MAX ? report->n_values : SUBJECT_DIM_MAX;
    size_t len = 0;
    memcpy(bytes, report->id, DPOT_REPORT_ID_LEN);
    len += DPOT_REPORT_ID_LEN;
    memcpy(bytes + len, &report->index, sizeof report->index);
    len += sizeof report->index;
    if (n > 0) {
        memcpy(bytes + len, report->values, n * sizeof *report->values);
        len += n * sizeof *report->values;
    }
    dpot_hash(hash, bytes, len);
    return dpot_load_u64(hash);
}

static void note_first(struct wiretap *tap, const struct dpot_report *report)
{
    const uint32_t n = report->n_values < SUBJECT_DIM_MAX ? report->n_values : SUBJECT_DIM_MAX;
    tap->sample = subject_observe(tap->subject, report);
    tap->digest += wiretap_digest(report);
    tap->index = report->index;
    memcpy(tap->id, report->id, sizeof tap->id);
    if (n > 0) {
        memcpy(tap->values, report->values, n * sizeof *tap->values);
    }
    if (tap->has_previous && is_same(tap, report, tap->previous_index, tap->previous_values)) {
        tap->trace |= WIRETAP_REPEATS;
    }
}

static void note_report(struct wiretap *tap, const struct dpot_report *report)
{
    if (report->n_values != n_values_of(tap)) {
        tap->trace |= WIRETAP_LENGTH;
        return;
    }
    if (report->group != tap->subject->group) {
        tap->trace |= WIRETAP_GROUP;
    }
    if (tap->n_reports == 0) {
        note_first(tap, report);
        tap->n_reports = 1;
    } else if (memcmp(report->id, tap->id, sizeof tap->id) != 0 ||
               !is_same(tap, report, tap->index, tap->values)) {
        tap->trace |= WIRETAP_DIFFERS;
        tap->n_reports++;
        tap->digest += wiretap_digest(report);
        if (report->n_values > 0) {
            tap->sample.number[0] += subject_observe(tap->subject, report).number[0];
        }
    }
}

static size_t length_beside_body(const struct dpot_http_request *request)
{
    return strlen(request->method) + strlen(request->url) +
           (request->content_type ? strlen(request->content_type) : 0) +
           (request->authorization ? strlen(request->authorization) : 0);
}

/* True when sealing the batch again gives a request of the same length. */
static bool has_public_length(struct wiretap *tap, const struct dpot_http_request *request,
                              const struct dpot_batch *batch)
{
    struct dpot_buf again;
    const size_t beside = length_beside_body(request);
    tap->fixed_len = tap->fixed_len == 0 ? beside : tap->fixed_len;
    dpot_buf_init(&again, DPOT_BATCH_BYTES_MAX, NULL);
    const bool is_sealed =
        dpot_wire_batch_seal(batch, &tap->server->seal_secret.key, &again) == DPOT_OK;
    const bool is_public = is_sealed && again.len == request->body_len && beside == tap->fixed_len;
    dpot_buf_release(&again);
    return is_public;
}

static void note_request(struct wiretap *tap, const struct dpot_http_request *request)
{
    struct dpot_batch batch;
    const struct seal_secret *secret = &tap->server->seal_secret;
    if (dpot_wire_batch_open(request->body, request->body_len, secret->key.public_key,
                             secret->secret_key, NULL, &batch, NULL) != DPOT_OK) {
        tap->trace |= WIRETAP_LENGTH; /* not a batch */
        return;
    }
    for (size_t i = 0; i < batch.n_reports; i++) {
        note_report(tap, &batch.reports[i]);
    }
    if (!has_public_length(tap, request, &batch)) {
        tap->trace |= WIRETAP_LENGTH;
    }
    dpot_batch_release(&batch);
}

static dpot_status perform(void *ctx, const struct dpot_http_request *request,
                           struct dpot_http_response *response)
{
    struct wiretap *tap = ctx;
    const struct dpot_transport *inner = &tap->connection.transport;
    const bool is_post = strcmp(request->method, "POST") == 0;
    if (is_post) {
        note_request(tap, request);
    }
    if (!is_post || !tap->loses_next_answer) {
        return inner->perform(inner->ctx, request, response);
    }
    tap->loses_next_answer = false;
    return transport_lose_answer(inner, request, response);
}

void wiretap_init(struct wiretap *tap, const struct subject *subject,
                  const struct in_process *server, const struct dpot_clock *clock)
{
    *tap = (struct wiretap){
        .transport = {sizeof tap->transport, tap, perform}, .subject = subject, .server = server};
    in_process_connect(server, clock, &tap->connection);
}

void wiretap_begin(struct wiretap *tap)
{
    tap->trace = 0;
    tap->n_reports = 0;
    tap->sample = (struct audit_sample){{NAN, NAN}, 0};
}

struct audit_sample wiretap_end(struct wiretap *tap)
{
    struct audit_sample sample = tap->sample;
    sample.trace = tap->trace | (tap->n_reports == 0 ? WIRETAP_MISSING : 0);
    tap->has_previous = tap->n_reports > 0;
    tap->previous_index = tap->index;
    memcpy(tap->previous_values, tap->values, sizeof tap->previous_values);
    return sample;
}
