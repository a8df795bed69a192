/* A Receipt for as many reports as the first byte says. */
#include "fuzz.h"
#include "proto/wire_report.h"

#define N_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct test_allocator heap;
    enum dpot_report_status statuses[N_MAX];
    struct dpot_buf again;
    if (len == 0) {
        return 0;
    }
    require(dpot_init() == DPOT_OK);
    uint8_t digest[DPOT_HASH_LEN];
    dpot_wire_batch_digest(data, 1, digest);
    const size_t n = data[0];
    dpot_buf_init(&again, DPOT_BATCH_BYTES_MAX, NULL);
    if (dpot_wire_receipt_decode(data + 1, len - 1, NULL, NULL, statuses, n) == DPOT_OK) {
        require(dpot_wire_receipt_encode(statuses, n, NULL, &again) == DPOT_OK);
    }
    dpot_buf_release(&again);
    make_failing_allocator(&heap, len);
    any_status(dpot_wire_receipt_decode(data + 1, len - 1, NULL, &heap.allocator, statuses, n));
    any_status(dpot_wire_receipt_decode(data + 1, len - 1, digest, NULL, statuses, n));
    require(heap.bytes == 0);
    return 0;
}
