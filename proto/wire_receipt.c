#include "proto/message.h"
#include "proto/wire_report.h"
#include "report.pb-c.h"

#include <string.h>

void dpot_wire_batch_digest(const void *body, size_t len, uint8_t digest[DPOT_HASH_LEN])
{
    dpot_hash(digest, body, len);
}

static bool is_known(int status)
{
    return status >= DPOT_REPORT_ACCEPTED && status < DPOT_REPORT_STATUS_END;
}

dpot_status dpot_wire_receipt_encode(const enum dpot_report_status *statuses, size_t n,
                                     const uint8_t *batch, struct dpot_buf *out)
{
    uint8_t digest[DPOT_HASH_LEN];
    if (n > DPOT_BATCH_REPORTS_MAX) {
        return DPOT_ERR_TOO_LARGE;
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_known((int)statuses[i])) {
            return DPOT_ERR_ARGUMENT;
        }
    }
    Dpot__V1__Status *copies = dpot_alloc_array(out->allocator, n, sizeof *copies);
    if (!copies) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        copies[i] = (Dpot__V1__Status)statuses[i];
    }
    Dpot__V1__Receipt message;
    dpot__v1__receipt__init(&message);
    message.n_status = n;
    message.status = copies;
    if (batch) {
        memcpy(digest, batch, sizeof digest);
        message.batch = (ProtobufCBinaryData){sizeof digest, digest};
    }
    const dpot_status status = dpot_message_append(&message.base, out);
    dpot_free_array(out->allocator, copies, n, sizeof *copies);
    return status;
}

/* Old servers leave the digest out. */
static dpot_status check_batch(const ProtobufCBinaryData *digest, const uint8_t *batch)
{
    if (digest->len == 0) {
        return DPOT_OK;
    }
    if (digest->len != DPOT_HASH_LEN) {
        return DPOT_ERR_MALFORMED;
    }
    return batch && memcmp(digest->data, batch, DPOT_HASH_LEN) != 0 ? DPOT_ERR_SIGNATURE : DPOT_OK;
}

/* A receipt must be canonical, like every message: a number that is cut to a status, or a repeated
 * field, is refused. */
static dpot_status check_canonical(const Dpot__V1__Receipt *message, const void *data, size_t len)
{
    return dpot_message_packs_to(&message->base, data, len) ? DPOT_OK : DPOT_ERR_MALFORMED;
}

static dpot_status read_receipt(const Dpot__V1__Receipt *message, const uint8_t *batch,
                                enum dpot_report_status *statuses, size_t n)
{
    dpot_status status = check_batch(&message->batch, batch);
    if (status == DPOT_OK && message->n_status != n) {
        status = DPOT_ERR_MALFORMED;
    }
    for (size_t i = 0; i < n && status == DPOT_OK; i++) {
        status = is_known((int)message->status[i]) ? DPOT_OK : DPOT_ERR_MALFORMED;
    }
    for (size_t i = 0; i < n && status == DPOT_OK; i++) {
        statuses[i] = (enum dpot_report_status)message->status[i];
    }
    return status;
}

dpot_status dpot_wire_receipt_decode(const void *data, size_t len, const uint8_t *batch,
                                     const struct dpot_allocator *allocator,
                                     enum dpot_report_status *statuses, size_t n)
{
    if (len > DPOT_BATCH_BYTES_MAX) {
        return DPOT_ERR_TOO_LARGE;
    }
    struct dpot_arena arena;
    ProtobufCMessage *base = NULL;
    dpot_arena_init(&arena, DPOT_MESSAGE_CEILING(len), allocator);
    dpot_status status =
        dpot_message_unpack(&dpot__v1__receipt__descriptor, data, len, &arena, &base, NULL);
    const Dpot__V1__Receipt *message = (const Dpot__V1__Receipt *)base;
    if (status == DPOT_OK) {
        status = dpot_message_refuse_unknown(base, NULL);
    }
    if (status == DPOT_OK) {
        status = check_canonical(message, data, len);
    }
    if (status == DPOT_OK) {
        status = read_receipt(message, batch, statuses, n);
    }
    dpot_arena_release(&arena);
    return status;
}
