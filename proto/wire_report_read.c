#include "proto/canonical_batch.h"
#include "proto/message.h"
#include "proto/wire_inner.h"
#include "report.pb-c.h"

#include <string.h>

/* Reports of a few bytes unpack to about 200 bytes: the constant is enough for the maximal number
 * of empty ones. */
#define BATCH_CEILING(len) (12 * (size_t)(len) + (2u << 20))

/* Copies a vector to the end of the batch's values, which are reserved. */
static bool read_vector(const Dpot__V1__IntVector *message, struct dpot_batch *batch,
                        struct dpot_report *report)
{
    const size_t n = message->n_y;
    if (n < 1 || n > DPOT_VECTOR_DIM_MAX) {
        return false;
    }
    report->values = batch->values + batch->n_values;
    report->n_values = (uint32_t)n;
    memcpy(report->values, message->y, n * sizeof *message->y);
    batch->n_values += n;
    return true;
}

/* Returns false for a malformed report, which does not affect the others. */
static bool read_report(const Dpot__V1__Report *message, struct dpot_batch *batch,
                        struct dpot_report *report)
{
    report->group = message->group;
    report->test = message->test;
    if (message->id.len != DPOT_REPORT_ID_LEN) {
        return false;
    }
    memcpy(report->id, message->id.data, DPOT_REPORT_ID_LEN);
    if (dpot_message_refuse_unknown(&message->base, NULL) != DPOT_OK) {
        return false;
    }
    switch (message->payload_case) {
    case DPOT__V1__REPORT__PAYLOAD_INDEX:
        report->index = message->index;
        return true;
    case DPOT__V1__REPORT__PAYLOAD_VECTOR:
        return read_vector(message->vector, batch, report);
    default:
        return false;
    }
}

/* Numbers in the vectors of all reports; each took at least one byte. */
static size_t count_values(const Dpot__V1__ReportBatch *message)
{
    size_t n = 0;
    for (size_t i = 0; i < message->n_reports; i++) {
        if (message->reports[i]->payload_case == DPOT__V1__REPORT__PAYLOAD_VECTOR) {
            n += message->reports[i]->vector->n_y;
        }
    }
    return n;
}

/* Allocates all values. The array keeps this size; malformed reports leave its end unused. */
static dpot_status reserve_values(const Dpot__V1__ReportBatch *message, struct dpot_batch *batch)
{
    const size_t n = count_values(message);
    batch->values = n > 0 ? dpot_alloc_array(batch->allocator, n, sizeof *batch->values) : NULL;
    return n == 0 || batch->values ? DPOT_OK : DPOT_ERR_MEMORY;
}

/* Absent, or three bytes of old devices, which are checked and ignored. */
static dpot_status check_losses(const ProtobufCBinaryData *losses, struct dpot_error *error)
{
    if (losses->len != 0 && losses->len != DPOT_BATCH_LOSSES_LEN) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "losses has %zu bytes: it needs %d",
                              losses->len, DPOT_BATCH_LOSSES_LEN);
    }
    for (size_t i = 0; i < losses->len; i++) {
        if (losses->data[i] >= DPOT_BATCH_LOSSES_END) {
            return dpot_error_set(error, DPOT_ERR_MALFORMED, "losses has a byte %u: at most %d",
                                  losses->data[i], DPOT_BATCH_LOSSES_END - 1);
        }
    }
    return DPOT_OK;
}

static dpot_status check_batch(const Dpot__V1__ReportBatch *message, struct dpot_error *error)
{
    const dpot_status status = dpot_message_refuse_unknown_here(&message->base, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (message->campaign_hash.len != DPOT_HASH_LEN) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "campaign_hash has %zu bytes: it needs %d",
                              message->campaign_hash.len, DPOT_HASH_LEN);
    }
    if (message->n_reports == 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "the batch has no reports");
    }
    if (message->n_reports > DPOT_BATCH_REPORTS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the batch has %zu reports: send at most %d", message->n_reports,
                              DPOT_BATCH_REPORTS_MAX);
    }
    return check_losses(&message->losses, error);
}

/* The batch must be canonical: another decoder could read a varint with more bits than its field as
 * another number. Packing it at once is three times as fast as dpot_message_packs_to, which needs
 * no memory. */
static dpot_status check_canonical(const Dpot__V1__ReportBatch *message, const void *data,
                                   size_t len, const struct dpot_allocator *allocator,
                                   struct dpot_error *error)
{
    struct dpot_buf again;
    dpot_buf_init(&again, len, allocator); /* longer: not the same */
    const dpot_status status = dpot_message_append(&message->base, &again);
    const bool is_same = again.len == len && memcmp(again.data, data, len) == 0;
    dpot_buf_release(&again);
    if (status == DPOT_ERR_MEMORY) {
        return dpot_error_set(error, status, "no memory for a batch of %zu bytes", len);
    }
    return is_same
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the batch is not in canonical form: each field once and in order, "
                                "none that is 0, numbers of no more bits than their field");
}

/* Reads a batch that has been checked. */
static dpot_status read_batch(const Dpot__V1__ReportBatch *message, struct dpot_batch *batch,
                              struct dpot_error *error)
{
    const size_t n = message->n_reports;
    batch->n_reports = n;
    batch->reports = dpot_alloc_array(batch->allocator, n, sizeof *batch->reports);
    batch->is_malformed = dpot_alloc_array(batch->allocator, n, sizeof *batch->is_malformed);
    if (!batch->reports || !batch->is_malformed || reserve_values(message, batch) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for %zu reports", n);
    }
    memcpy(batch->campaign_hash, message->campaign_hash.data, DPOT_HASH_LEN);
    batch->round = message->round;
    batch->has_losses = message->losses.len > 0;
    for (size_t i = 0; i < n; i++) {
        batch->is_malformed[i] = !read_report(message->reports[i], batch, &batch->reports[i]);
    }
    batch->n_values = count_values(message);
    return DPOT_OK;
}

dpot_status dpot_wire_batch_decode_any(const void *data, size_t len,
                                       const struct dpot_allocator *allocator,
                                       struct dpot_batch *batch, struct dpot_error *error)
{
    *batch = (struct dpot_batch){.allocator = allocator};
    struct dpot_arena arena;
    ProtobufCMessage *base = NULL;
    dpot_arena_init(&arena, BATCH_CEILING(len), allocator);
    dpot_status status =
        dpot_message_unpack(&dpot__v1__report_batch__descriptor, data, len, &arena, &base, error);
    const Dpot__V1__ReportBatch *message = (const Dpot__V1__ReportBatch *)base;
    if (status == DPOT_OK) {
        status = check_batch(message, error);
    }
    if (status == DPOT_OK) {
        status = check_canonical(message, data, len, allocator, error);
    }
    if (status == DPOT_OK) {
        status = read_batch(message, batch, error);
    }
    dpot_arena_release(&arena);
    if (status != DPOT_OK) {
        dpot_batch_release(batch);
    }
    return status;
}

dpot_status dpot_wire_batch_decode(const void *data, size_t len,
                                   const struct dpot_allocator *allocator, struct dpot_batch *batch,
                                   struct dpot_error *error)
{
    *batch = (struct dpot_batch){.allocator = allocator};
    const dpot_status status = dpot_canonical_batch_read(data, len, batch);
    if (status == DPOT_OK) {
        return DPOT_OK;
    }
    dpot_batch_release(batch);
    if (status == DPOT_ERR_MEMORY) {
        return dpot_error_set(error, status, "no memory for a batch of %zu bytes", len);
    }
    return dpot_wire_batch_decode_any(data, len, allocator, batch, error);
}

/* The first byte is 0 and each equals the one before: at the speed of memcmp. */
static bool are_zeros(const uint8_t *data, size_t len)
{
    return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

/* Finds the end of the batch, and checks that zeros follow. */
static dpot_status find_padding(const uint8_t *data, size_t len, size_t *at,
                                struct dpot_error *error)
{
    const size_t n_most = len < DPOT_BATCH_LENGTH_LEN ? 0 : len - DPOT_BATCH_LENGTH_LEN;
    const uint32_t n_batch = n_most > 0 ? dpot_load_u32(data) : 0;
    *at = DPOT_BATCH_LENGTH_LEN + (size_t)n_batch;
    if (n_batch == 0 || n_batch > n_most) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the box states a batch of %u bytes: there is space for 1 to %zu",
                              n_batch, n_most);
    }
    return are_zeros(data + *at, len - *at)
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the padding behind the batch is not zeros");
}

/* The length that each report was padded to. */
static dpot_status find_report_len_max(size_t len, struct dpot_batch *batch,
                                       struct dpot_error *error)
{
    const uint64_t beside = dpot_wire_batch_plain_len(batch->n_reports, 0);
    if (len <= beside || (len - beside) % batch->n_reports != 0) {
        return dpot_error_set(
            error, DPOT_ERR_MALFORMED,
            "the box of %zu bytes is not %u bytes and the same length for each of "
            "%zu reports",
            len, (unsigned)beside, batch->n_reports);
    }
    batch->report_len_max = (len - (size_t)beside) / batch->n_reports;
    return DPOT_OK;
}

dpot_status dpot_wire_batch_decode_padded(const void *data, size_t len,
                                          const struct dpot_allocator *allocator,
                                          struct dpot_batch *batch, struct dpot_error *error)
{
    *batch = (struct dpot_batch){.allocator = allocator};
    size_t end = 0;
    dpot_status status = find_padding(data, len, &end, error);
    if (status == DPOT_OK) {
        status = dpot_wire_batch_decode((const uint8_t *)data + DPOT_BATCH_LENGTH_LEN,
                                        end - DPOT_BATCH_LENGTH_LEN, allocator, batch, error);
    }
    if (status == DPOT_OK) {
        status = find_report_len_max(len, batch, error);
    }
    if (status != DPOT_OK) {
        dpot_batch_release(batch);
    }
    return status;
}

dpot_status dpot_wire_batch_open(const void *body, size_t len,
                                 const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                                 const uint8_t secret_key[DPOT_SEAL_SECRET_LEN],
                                 const struct dpot_allocator *allocator, struct dpot_batch *batch,
                                 struct dpot_error *error)
{
    *batch = (struct dpot_batch){0};
    uint8_t id[DPOT_SEAL_KEY_ID_LEN];
    dpot_status status = dpot_wire_batch_key_id(body, len, id, error);
    if (status != DPOT_OK) {
        return status;
    }
    const size_t box_len = len - DPOT_BATCH_HEAD_LEN;
    const size_t plain_len = box_len - DPOT_SEAL_OVERHEAD;
    uint8_t *plain = dpot_alloc_raw(allocator, plain_len);
    if (!plain) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for a batch of %zu bytes",
                              plain_len);
    }
    status = dpot_seal_open(plain, (const uint8_t *)body + DPOT_BATCH_HEAD_LEN, box_len, public_key,
                            secret_key);
    if (status != DPOT_OK) {
        (void)dpot_error_set(error, status, "the box was altered or sealed for another key");
    } else if (dpot_wire_batch_is_padded(body)) {
        status = dpot_wire_batch_decode_padded(plain, plain_len, allocator, batch, error);
    } else {
        status = dpot_wire_batch_decode(plain, plain_len, allocator, batch, error);
    }
    dpot_free_array(allocator, plain, plain_len, 1);
    return status;
}
