#include "store/packed.h"

#include <string.h>

#define FLAG_TEST 1u

dpot_status packed_append(struct dpot_buf *out, const struct dpot_report *report)
{
    uint8_t row[PACKED_REPORT_LEN];
    memcpy(row, report->id, DPOT_REPORT_ID_LEN);
    dpot_store_u32(row + 16, report->index);
    dpot_store_u32(row + 20, report->group);
    dpot_store_u32(row + 24, report->test ? FLAG_TEST : 0);
    return dpot_buf_append(out, row, sizeof row);
}

void packed_read(const uint8_t *blob, size_t i, struct dpot_report *report)
{
    const uint8_t *row = blob + i * PACKED_REPORT_LEN;
    *report = (struct dpot_report){
        .index = dpot_load_u32(row + 16),
        .group = dpot_load_u32(row + 20),
        .test = (dpot_load_u32(row + 24) & FLAG_TEST) != 0,
    };
    memcpy(report->id, row, DPOT_REPORT_ID_LEN);
}
