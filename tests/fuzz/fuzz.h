/* Shared by the fuzz targets.
 *
 * A target is one file with LLVMFuzzerTestOneInput. libFuzzer drives it in the preset "fuzz";
 * replay.c runs it over tests/fuzz/corpus/ in every other build. A violated guarantee aborts. */
#ifndef DPOT_TESTS_FUZZ_FUZZ_H
#define DPOT_TESTS_FUZZ_FUZZ_H

#include "dpot/status.h"
#include "support/allocator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Aborts if a guarantee of the decoder does not hold. */
static inline void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* For calls whose result may be anything: they must return. */
static inline void any_status(dpot_status status)
{
    require(status <= DPOT_OK);
}

/* An allocator that fails at a place chosen by the input, so that the error paths are fuzzed too.
 */
static inline void make_failing_allocator(struct test_allocator *heap, size_t len)
{
    test_allocator_init(heap);
    test_allocator_fail_at(heap, 1 + len % 6);
}

#endif
