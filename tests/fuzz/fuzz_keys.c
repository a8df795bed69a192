/* A Keys message, and a SignedKeys. */
#include "fuzz.h"
#include "proto/wire_inner.h"

#include <string.h>

static void check_decode(const uint8_t *data, size_t len)
{
    struct dpot_keys keys;
    struct dpot_error error = {""};
    struct dpot_buf again;
    dpot_buf_init(&again, DPOT_KEYS_BYTES_MAX, NULL);
    if (dpot_wire_keys_decode(data, len, NULL, &keys, &error) == DPOT_OK) {
        require(keys.n_seal_keys <= DPOT_SEAL_KEYS_MAX);
        require(dpot_wire_keys_encode(&keys, &again, &error) == DPOT_OK);
        require(again.len == len && memcmp(again.data, data, len) == 0);
        (void)dpot_keys_current(&keys, 0);
    } else {
        require(error.text[0] != '\0' && keys.n_seal_keys == 0);
    }
    dpot_buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const uint8_t pin[DPOT_SIGN_PUBLIC_LEN];
    struct test_allocator heap;
    struct dpot_keys keys;
    require(dpot_init() == DPOT_OK);
    check_decode(data, len);
    make_failing_allocator(&heap, len);
    any_status(dpot_wire_keys_decode(data, len, &heap.allocator, &keys, NULL));
    require(heap.bytes == 0);
    require(dpot_wire_keys_open(data, len, pin, NULL, &keys, NULL) != DPOT_OK);
    return 0;
}
