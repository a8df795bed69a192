#include "support/batch_schema.h"

#include "proto/message.h"
#include "proto/wire_inner.h"
#include "report.pb-c.h"

#include <string.h>

#define CEILING (SIZE_MAX / 2)

static bool is_vector(const Dpot__V1__Report *message)
{
    return message->payload_case == DPOT__V1__REPORT__PAYLOAD_VECTOR;
}

static bool is_malformed(const Dpot__V1__Report *message)
{
    const bool has_payload =
        is_vector(message)
            ? message->vector->n_y >= 1 && message->vector->n_y <= DPOT_VECTOR_DIM_MAX
            : message->payload_case == DPOT__V1__REPORT__PAYLOAD_INDEX;
    return message->id.len != DPOT_REPORT_ID_LEN || !has_payload ||
           dpot_message_refuse_unknown(&message->base, NULL) != DPOT_OK;
}

static bool is_same_report(const Dpot__V1__Report *message, const struct dpot_report *report)
{
    const size_t n = is_vector(message) ? message->vector->n_y : 0;
    return memcmp(message->id.data, report->id, DPOT_REPORT_ID_LEN) == 0 &&
           (is_vector(message) || message->index == report->index) &&
           message->group == report->group && message->test == report->test &&
           n == report->n_values &&
           (n == 0 || memcmp(message->vector->y, report->values, n * sizeof *report->values) == 0);
}

static bool is_same_batch(const Dpot__V1__ReportBatch *message, const struct dpot_batch *batch)
{
    bool is_same = memcmp(message->campaign_hash.data, batch->campaign_hash, DPOT_HASH_LEN) == 0 &&
                   message->round == batch->round && message->n_reports == batch->n_reports &&
                   (message->losses.len > 0) == batch->has_losses;
    for (size_t i = 0; is_same && i < batch->n_reports; i++) {
        const bool is_bad = is_malformed(message->reports[i]);
        is_same = is_bad == batch->is_malformed[i] &&
                  (is_bad || is_same_report(message->reports[i], &batch->reports[i]));
    }
    return is_same;
}

static bool are_losses(const ProtobufCBinaryData *losses)
{
    bool are = losses->len == 0 || losses->len == DPOT_BATCH_LOSSES_LEN;
    for (size_t i = 0; are && i < losses->len; i++) {
        are = losses->data[i] < DPOT_BATCH_LOSSES_END;
    }
    return are;
}

static bool is_batch(const Dpot__V1__ReportBatch *message, const void *data, size_t len)
{
    return message->base.n_unknown_fields == 0 && message->campaign_hash.len == DPOT_HASH_LEN &&
           message->n_reports >= 1 && message->n_reports <= DPOT_BATCH_REPORTS_MAX &&
           are_losses(&message->losses) && dpot_message_packs_to(&message->base, data, len);
}

bool batch_schema_agrees(const void *data, size_t len, dpot_status status,
                         const struct dpot_batch *batch)
{
    struct dpot_arena arena;
    ProtobufCMessage *base = NULL;
    dpot_arena_init(&arena, CEILING, NULL);
    const dpot_status unpacked =
        dpot_message_unpack(&dpot__v1__report_batch__descriptor, data, len, &arena, &base, NULL);
    const Dpot__V1__ReportBatch *message = (const Dpot__V1__ReportBatch *)base;
    const bool is_read = unpacked == DPOT_OK && is_batch(message, data, len);
    const bool agrees =
        is_read == (status == DPOT_OK) && (!is_read || is_same_batch(message, batch));
    dpot_arena_release(&arena);
    return agrees;
}
