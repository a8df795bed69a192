/* A ReportBatch after its box is opened, padded and not, and the head of a body. */
#include "fuzz.h"
#include "proto/canonical_batch.h"
#include "proto/wire_inner.h"

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

static void require_same(const struct dpot_batch *first, const struct dpot_batch *second)
{
    require(second->n_reports == first->n_reports && second->round == first->round);
    require(memcmp(second->campaign_hash, first->campaign_hash, DPOT_HASH_LEN) == 0);
    require(second->has_losses == first->has_losses);
    for (size_t i = 0; i < second->n_reports; i++) {
        const struct dpot_report *a = &first->reports[i], *b = &second->reports[i];
        require(memcmp(a->id, b->id, sizeof a->id) == 0 && a->index == b->index);
        require(a->group == b->group && a->test == b->test && !second->is_malformed[i]);
        require(a->n_values == b->n_values);
        require(a->n_values == 0 ||
                memcmp(a->values, b->values, a->n_values * sizeof *a->values) == 0);
    }
}

/* A decoded batch is unchanged after encoding and decoding. */
static void check_again(const struct dpot_batch *batch)
{
    struct dpot_batch second;
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_BATCH_BYTES_MAX, NULL);
    require(dpot_wire_batch_encode(batch, &bytes) == DPOT_OK);
    require(dpot_wire_batch_decode(bytes.data, bytes.len, NULL, &second, NULL) == DPOT_OK);
    require_same(batch, &second);
    dpot_batch_release(&second);
    dpot_buf_release(&bytes);
}

/* The fast reader accepts exactly what the general reader finds well formed, and reads the same. */
static void check_readers(const uint8_t *data, size_t len)
{
    struct dpot_batch quick = {0}, any;
    const bool is_quick = dpot_canonical_batch_read(data, len, &quick) == DPOT_OK;
    const bool is_plain =
        dpot_wire_batch_decode_any(data, len, NULL, &any, NULL) == DPOT_OK && all_well_formed(&any);
    require(is_quick == is_plain);
    if (is_plain) {
        require_same(&any, &quick);
    }
    dpot_batch_release(&quick);
    dpot_batch_release(&any);
}

static void check_decode(const uint8_t *data, size_t len)
{
    struct dpot_batch batch;
    struct dpot_error error = {""};
    if (dpot_wire_batch_decode(data, len, NULL, &batch, &error) == DPOT_OK) {
        require(batch.n_reports >= 1 && batch.n_reports <= DPOT_BATCH_REPORTS_MAX);
        if (all_well_formed(&batch)) {
            check_again(&batch);
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
    check_readers(data, len);
    check_padded(data, len);
    make_failing_allocator(&heap, len);
    any_status(dpot_wire_batch_decode(data, len, &heap.allocator, &batch, NULL));
    dpot_batch_release(&batch);
    require(heap.bytes == 0);
    any_status(dpot_wire_batch_key_id(data, len, id, NULL));
    return 0;
}
