/* The ONNX file of a generator. */
#include "fuzz.h"
#include "generator/model.h"
#include "proto/wire_onnx.h"

#include <string.h>

static void check_decode(const uint8_t *data, size_t len)
{
    struct generator_model model;
    struct dpot_error error = {""};
    struct dpot_buf again;
    const struct generator_setup setup = {.max_batch = 1};
    dpot_buf_init(&again, DPOT_ONNX_BYTES_MAX, NULL);
    if (generator_model_decode(data, len, &setup, &model, &error) == DPOT_OK) {
        require(generator_model_encode(&model, &again, &error) == DPOT_OK);
        require(again.len == len && memcmp(again.data, data, len) == 0);
    } else {
        require(error.text[0] != '\0' && !model.network && model.n_notes == 0);
    }
    generator_model_release(&model);
    dpot_buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct test_allocator heap;
    struct generator_model model;
    check_decode(data, len);
    make_failing_allocator(&heap, len);
    const struct generator_setup setup = {.max_batch = 1, .allocator = &heap.allocator};
    any_status(generator_model_decode(data, len, &setup, &model, NULL));
    generator_model_release(&model);
    require(heap.bytes == 0);
    return 0;
}
