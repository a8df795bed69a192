/* Blocks of reports as they are stored. Two bytes for the format, four for the count. */
#include "base/buf.h"
#include "fuzz.h"
#include "model/vector.h"
#include "store/packed.h"

#define HEAD 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static int64_t values[DPOT_VECTOR_DIM_MAX];
    struct packed_block block;
    if (len < HEAD) {
        return 0;
    }
    const int64_t format = data[0], n = (int64_t)dpot_load_u32(data + 2) - 2;
    if (packed_open(format, n, data + HEAD, len - HEAD, &block) != DPOT_OK) {
        return 0;
    }
    require(block.n_reports == (size_t)n && block.layout.dim <= DPOT_VECTOR_DIM_MAX);
    for (size_t i = 0; i < block.n_reports; i++) {
        struct dpot_report report;
        const uint8_t *id = packed_id(&block, i);
        require(id >= data + HEAD && id + sizeof report.id <= data + len);
        packed_read(&block, i, block.layout.dim > 0 ? values : NULL, &report);
        require(report.n_values == block.layout.dim);
    }
    return 0;
}
