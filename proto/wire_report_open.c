#include "proto/wire_inner.h"

#include <string.h>

/* The first byte is 0 and each equals the one before it, at the speed of memcmp. */
static bool are_zeros(const uint8_t *data, size_t len)
{
    return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

/* Finds where the batch ends and the padding begins. */
static dpot_status find_padding(const uint8_t *data, size_t len, size_t *at,
                                struct dpot_error *error)
{
    const size_t n_most = len < DPOT_BATCH_LENGTH_LEN ? 0 : len - DPOT_BATCH_LENGTH_LEN;
    const uint32_t n_batch = n_most > 0 ? dpot_load_u32(data) : 0;
    *at = DPOT_BATCH_LENGTH_LEN + (size_t)n_batch;
    if (n_batch == 0 || n_batch > n_most) {
        return dpot_error_set(
            error, DPOT_ERR_MALFORMED,
            "the box says that its batch has %u bytes: there is space for 1 to %zu", n_batch,
            n_most);
    }
    return are_zeros(data + *at, len - *at)
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the padding behind the batch is not zeros");
}

/* The length to which each report was padded. */
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
