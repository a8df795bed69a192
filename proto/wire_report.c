#include "proto/wire_report.h"

#include "proto/message.h"
#include "proto/wire_inner.h"
#include "report.pb-c.h"

#include <string.h>

#define MAGIC_LEN 4

static const uint8_t magic[MAGIC_LEN] = {'D', 'P', 'B', '1'};
static const uint8_t padded_magic[MAGIC_LEN] = {'D', 'P', 'B', '2'};
static const uint8_t no_losses[DPOT_BATCH_LOSSES_LEN];

void dpot_batch_release(struct dpot_batch *batch)
{
    dpot_free_array(batch->allocator, batch->reports, batch->n_reports, sizeof *batch->reports);
    dpot_free_array(batch->allocator, batch->is_malformed, batch->n_reports,
                    sizeof *batch->is_malformed);
    dpot_free_array(batch->allocator, batch->values, batch->n_values, sizeof *batch->values);
    *batch = (struct dpot_batch){0};
}

/* The message of a report, which it borrows values from. */
struct report_message {
    Dpot__V1__Report report;
    Dpot__V1__IntVector vector;
};

static void fill_report(struct report_message *message, const struct dpot_report *report)
{
    Dpot__V1__Report *m = &message->report;
    dpot__v1__report__init(m);
    m->id = (ProtobufCBinaryData){sizeof report->id, (uint8_t *)report->id};
    m->group = report->group;
    m->test = report->test;
    if (report->n_values == 0) {
        m->payload_case = DPOT__V1__REPORT__PAYLOAD_INDEX;
        m->index = report->index;
        return;
    }
    dpot__v1__int_vector__init(&message->vector);
    message->vector.n_y = report->n_values;
    message->vector.y = report->values;
    m->payload_case = DPOT__V1__REPORT__PAYLOAD_VECTOR;
    m->vector = &message->vector;
}

static void fill_batch(Dpot__V1__ReportBatch *message, struct report_message *reports,
                       Dpot__V1__Report **pointers, const struct dpot_batch *batch)
{
    dpot__v1__report_batch__init(message);
    message->campaign_hash =
        (ProtobufCBinaryData){sizeof batch->campaign_hash, (uint8_t *)batch->campaign_hash};
    message->round = batch->round;
    if (batch->has_losses) {
        message->losses = (ProtobufCBinaryData){sizeof no_losses, (uint8_t *)no_losses};
    }
    message->n_reports = batch->n_reports;
    message->reports = pointers;
    for (size_t i = 0; i < batch->n_reports; i++) {
        fill_report(&reports[i], &batch->reports[i]);
        pointers[i] = &reports[i].report;
    }
}

dpot_status dpot_wire_batch_encode(const struct dpot_batch *batch, struct dpot_buf *out)
{
    const size_t n = batch->n_reports;
    if (n == 0) {
        return DPOT_ERR_ARGUMENT;
    }
    if (n > DPOT_BATCH_REPORTS_MAX) {
        return DPOT_ERR_TOO_LARGE;
    }
    const struct dpot_allocator *allocator = out->allocator;
    Dpot__V1__ReportBatch message;
    struct report_message *reports = dpot_alloc_array(allocator, n, sizeof *reports);
    Dpot__V1__Report **pointers = dpot_alloc_array(allocator, n, sizeof *pointers);
    dpot_status status = DPOT_ERR_MEMORY;
    if (reports && pointers) {
        fill_batch(&message, reports, pointers, batch);
        status = dpot_message_append(&message.base, out);
    }
    dpot_free_array(allocator, pointers, n, sizeof *pointers);
    dpot_free_array(allocator, reports, n, sizeof *reports);
    return status;
}

/* The length of the batch, the batch, zeros. */
static dpot_status encode_padded(const struct dpot_batch *batch, struct dpot_buf *plain)
{
    const uint64_t len = dpot_wire_batch_plain_len(batch->n_reports, batch->report_len_max);
    dpot_status status = dpot_buf_append_u32(plain, 0);
    if (status == DPOT_OK) {
        status = dpot_wire_batch_encode(batch, plain);
    }
    if (status == DPOT_OK && (len > plain->max || plain->len > len)) {
        status = len > plain->max ? DPOT_ERR_TOO_LARGE : DPOT_ERR_ARGUMENT;
    }
    if (status == DPOT_OK) {
        status = dpot_buf_reserve(plain, (size_t)len - plain->len);
    }
    if (status == DPOT_OK) {
        dpot_store_u32(plain->data, (uint32_t)(plain->len - DPOT_BATCH_LENGTH_LEN));
        memset(plain->data + plain->len, 0, (size_t)len - plain->len);
        plain->len = (size_t)len;
    }
    return status;
}

/* Appends magic, key id and box; `out` is unchanged on failure. */
static dpot_status append_body(const uint8_t kind[MAGIC_LEN], const struct dpot_buf *plain,
                               const struct dpot_seal_key *seal_key, struct dpot_buf *out)
{
    const size_t len = DPOT_BATCH_HEAD_LEN + plain->len + DPOT_SEAL_OVERHEAD;
    if (len > DPOT_BATCH_BYTES_MAX) {
        return DPOT_ERR_TOO_LARGE;
    }
    dpot_status status = dpot_buf_reserve(out, len);
    if (status != DPOT_OK) {
        return status;
    }
    uint8_t *body = out->data + out->len;
    memcpy(body, kind, MAGIC_LEN);
    memcpy(body + MAGIC_LEN, seal_key->id, sizeof seal_key->id);
    status = dpot_seal(body + DPOT_BATCH_HEAD_LEN, plain->data, plain->len, seal_key->public_key);
    if (status == DPOT_OK) {
        out->len += len;
    }
    return status;
}

dpot_status dpot_wire_batch_seal(const struct dpot_batch *batch,
                                 const struct dpot_seal_key *seal_key, struct dpot_buf *out)
{
    const bool is_padded = batch->report_len_max > 0;
    struct dpot_buf plain;
    dpot_buf_init(&plain, DPOT_BATCH_BYTES_MAX, out->allocator);
    dpot_status status =
        is_padded ? encode_padded(batch, &plain) : dpot_wire_batch_encode(batch, &plain);
    if (status == DPOT_OK) {
        status = append_body(is_padded ? padded_magic : magic, &plain, seal_key, out);
    }
    dpot_buf_release(&plain);
    return status;
}

dpot_status dpot_wire_batch_key_id(const void *body, size_t len, uint8_t id[DPOT_SEAL_KEY_ID_LEN],
                                   struct dpot_error *error)
{
    if (len > DPOT_BATCH_BYTES_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "the body has %zu bytes: at most %u", len,
                              DPOT_BATCH_BYTES_MAX);
    }
    if (len < DPOT_BATCH_HEAD_LEN + DPOT_SEAL_OVERHEAD) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "the body has %zu bytes: at least %zu",
                              len, (size_t)(DPOT_BATCH_HEAD_LEN + DPOT_SEAL_OVERHEAD));
    }
    if (memcmp(body, magic, MAGIC_LEN) != 0 && !dpot_wire_batch_is_padded(body)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the body does not begin with DPB2 or DPB1");
    }
    memcpy(id, (const uint8_t *)body + MAGIC_LEN, DPOT_SEAL_KEY_ID_LEN);
    return DPOT_OK;
}

bool dpot_wire_batch_is_padded(const void *body)
{
    return memcmp(body, padded_magic, MAGIC_LEN) == 0;
}
