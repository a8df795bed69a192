#include "proto/message.h"
#include "proto/wire_report.h"
#include "report.pb-c.h"

static bool is_known(int status)
{
    return status >= DPOT_REPORT_ACCEPTED && status < DPOT_REPORT_STATUS_END;
}

dpot_status dpot_wire_receipt_encode(const enum dpot_report_status *statuses, size_t n,
                                     struct dpot_buf *out)
{
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
    const dpot_status status = dpot_message_append(&message.base, out);
    dpot_free_array(out->allocator, copies, n, sizeof *copies);
    return status;
}

static dpot_status read_receipt(const Dpot__V1__Receipt *message, enum dpot_report_status *statuses,
                                size_t n)
{
    dpot_status status = dpot_message_refuse_unknown(&message->base, NULL);
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

dpot_status dpot_wire_receipt_decode(const void *data, size_t len,
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
    if (status == DPOT_OK) {
        status = read_receipt((const Dpot__V1__Receipt *)base, statuses, n);
    }
    dpot_arena_release(&arena);
    return status;
}
