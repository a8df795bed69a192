/* Stored reports: blocks of fixed-width rows. All integers are little-endian.
 *
 * Format 1 (index reports), 28 bytes a row: id[16], index u32, group u32, flags u32 (bit 0: test;
 * others 0).
 *
 * Format 2 (vector reports): a header of 8 bytes (dim u32, width u32), then rows of 24 + dim width
 * bytes: id[16], group u32, flags u32, and dim values in two's complement of `width` bytes each,
 * the smallest width (1..8) that holds every value of the block.
 *
 * In both formats a row begins with the id and all rows have one length, so that ids can be read
 * alone. A block has at least one row, in the order of ids (store/id_order.h). Bytes from a store
 * may be anything: packed_open, the only way to read them, validates every number. */
#ifndef DPOT_STORE_PACKED_H
#define DPOT_STORE_PACKED_H

#include "store/store.h"

#define PACKED_FORMAT_INDEX 1
#define PACKED_FORMAT_VECTOR 2
#define PACKED_BLOCK_MAX ((size_t)256 << 20) /* bytes; one POST has at most 64 MiB of values */

/* The layout of the rows of a block. */
struct packed_layout {
    int format;
    uint32_t dim;   /* values of a row; 0: index reports */
    unsigned width; /* of a value in bytes */
    size_t header_len;
    size_t row_len;
};

/* The layout of rows of `dim` values (0: index reports) of `width` bytes each. */
struct packed_layout packed_lay_out(uint32_t dim, unsigned width);

/* The layout and number of the accepted reports of a batch: not refused, and statuses[i] accepted.
 * The layout is undefined if there are none.
 * DPOT_ERR_SHAPE: not all indices, nor all vectors of one dim in 1..DPOT_VECTOR_DIM_MAX. */
DPOT_WARN_UNUSED dpot_status packed_plan(const struct store_append *append,
                                         struct packed_layout *layout, size_t *n_accepted);

/* Extends `layout` to fit the reports of `other`; both come from packed_plan.
 * DPOT_ERR_SHAPE: an index and a vector, or vectors of two lengths; nothing changed. */
DPOT_WARN_UNUSED dpot_status packed_join(struct packed_layout *layout,
                                         const struct packed_layout *other);

/* Begins a block of `n_rows` rows: writes its header and reserves memory for all of it.
 * DPOT_ERR_TOO_LARGE: above the limit of `out`; DPOT_ERR_MEMORY; `out` is unchanged then. */
DPOT_WARN_UNUSED dpot_status packed_begin(const struct packed_layout *layout, size_t n_rows,
                                          struct dpot_buf *out);

/* Appends the row of a report; packed_begin has reserved its memory. */
void packed_append(const struct packed_layout *layout, const struct dpot_report *report,
                   struct dpot_buf *out);

/* A validated block. */
struct packed_block {
    struct packed_layout layout;
    size_t n_reports;
    const uint8_t *data; /* borrowed */
};

/* Validates a block. DPOT_ERR_CORRUPT: format, header, count and length do not match. */
DPOT_WARN_UNUSED dpot_status packed_open(int64_t format, int64_t n_reports, const uint8_t *data,
                                         size_t len, struct packed_block *block);

/* The id of row `i` < n_reports, with the rest of its row behind it. Borrowed from the block. */
const uint8_t *packed_id(const struct packed_block *block, size_t i);

/* Reads row `i` < n_reports. `values` (layout.dim; NULL for dim 0) receives the values of the
 * report, which points to it. */
void packed_read(const struct packed_block *block, size_t i, int64_t *values,
                 struct dpot_report *report);

#endif
