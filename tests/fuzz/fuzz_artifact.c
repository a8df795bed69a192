/* An Artifact message. */
#include "fuzz.h"
#include "proto/wire_artifact.h"

#include <string.h>

static void check_decode(const uint8_t *data, size_t len)
{
    struct dpot_artifact artifact;
    struct dpot_error error = {""};
    struct dpot_buf again;
    double value = 0;
    dpot_buf_init(&again, DPOT_ARTIFACT_BYTES_MAX, NULL);
    if (dpot_wire_artifact_decode(data, len, NULL, &artifact, &error) == DPOT_OK) {
        require(artifact.n_values <= DPOT_ARTIFACT_VALUES_MAX);
        require(artifact.n_numbers <= DPOT_ARTIFACT_NUMBERS_MAX);
        require(dpot_wire_artifact_encode(&artifact, &again, &error) == DPOT_OK);
        require(again.len == len && memcmp(again.data, data, len) == 0);
        any_status(dpot_artifact_find_number(&artifact, "objective", &value));
    } else {
        require(error.text[0] != '\0' && artifact.n_values == 0 && !artifact.values);
    }
    dpot_artifact_release(&artifact);
    dpot_buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct test_allocator heap;
    struct dpot_artifact artifact;
    require(dpot_init() == DPOT_OK);
    check_decode(data, len);
    make_failing_allocator(&heap, len);
    any_status(dpot_wire_artifact_decode(data, len, &heap.allocator, &artifact, NULL));
    dpot_artifact_release(&artifact);
    require(heap.bytes == 0);
    return 0;
}
