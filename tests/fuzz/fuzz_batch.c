/* A ReportBatch after its box is opened, padded and not, and the head of a body. */
#include "fuzz.h"
#include "proto/wire_inner.h"
#include "support/batch_schema.h"

#include <string.h>

static bool all_well_formed(const struct dpot_batch *batch)
{
    for (size_t i = 0; i < batch->n_reports; i++) {
        if (batch->is_malformed[i]) {
            return false;
        }
    }
    return true;
}

/* Encodes to the same bytes, except losses, which are encoded as zeros. */
static void check_again(const struct dpot_batch *batch, const uint8_t *data, size_t len)
{
    const size_t n = len - (batch->has_losses ? DPOT_BATCH_LOSSES_LEN : 0);
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_BATCH_BYTES_MAX, NULL);
    require(dpot_wire_batch_encode(batch, &bytes) == DPOT_OK);
    require(bytes.len == len && memcmp(bytes.data, data, n) == 0);
    dpot_buf_release(&bytes);
}

static void check_decode(const uint8_t *data, size_t len)
{
    struct dpot_batch batch;
    struct dpot_error error = {""};
    const dpot_status status = dpot_wire_batch_decode(data, len, NULL, &batch, &error);
    require(batch_schema_agrees(data, len, status, &batch));
    if (status == DPOT_OK) {
        require(batch.n_reports >= 1 && batch.n_reports <= DPOT_BATCH_REPORTS_MAX);
        if (all_well_formed(&batch)) {
            check_again(&batch, data, len);
        }
    } else {
        require(error.text[0] != '\0' && batch.n_reports == 0);
    }
    dpot_batch_release(&batch);
}

/* A padded batch has the length that it states, and the same batch is read without padding. */
static void check_padded(const uint8_t *data, size_t len)
{
    struct dpot_batch batch, bare;
    struct dpot_error error = {""};
    if (dpot_wire_batch_decode_padded(data, len, NULL, &batch, &error) == DPOT_OK) {
        require(len == dpot_wire_batch_plain_len(batch.n_reports, batch.report_len_max));
        require(dpot_wire_batch_decode(data + DPOT_BATCH_LENGTH_LEN, dpot_load_u32(data), NULL,
                                       &bare, NULL) == DPOT_OK);
        require(bare.n_reports == batch.n_reports && bare.round == batch.round);
        dpot_batch_release(&bare);
    } else {
        require(error.text[0] != '\0' && batch.n_reports == 0);
    }
    dpot_batch_release(&batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct test_allocator heap;
    struct dpot_batch batch;
    uint8_t id[DPOT_SEAL_KEY_ID_LEN];
    require(dpot_init() == DPOT_OK);
    check_decode(data, len);
    check_padded(data, len);
    make_failing_allocator(&heap, len);
    any_status(dpot_wire_batch_decode(data, len, &heap.allocator, &batch, NULL));
    dpot_batch_release(&batch);
    require(heap.bytes == 0);
    any_status(dpot_wire_batch_key_id(data, len, id, NULL));
    return 0;
}
