/* Reports as they lie in the store: fixed-width rows, packed into one blob per commit.
 *
 * Format 1 (index reports), 28 bytes a report, little-endian: id[16], index u32, group u32, flags
 * u32 (bit 0: test; others 0). */
#ifndef DPOT_STORE_PACKED_H
#define DPOT_STORE_PACKED_H

#include "base/buf.h"
#include "model/report.h"

#define PACKED_FORMAT_INDEX 1
#define PACKED_REPORT_LEN 28

/* Appends one row. DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status packed_append(struct dpot_buf *out, const struct dpot_report *report);

/* Reads row `i` of a blob; the caller has checked the length. */
void packed_read(const uint8_t *blob, size_t i, struct dpot_report *report);

#endif
