/* Reports as they lie in the store: fixed-width rows, packed into blocks. All integers are
 * little-endian.
 *
 * Format 1 (index reports), 28 bytes a row: id[16], index u32, group u32, flags u32 (bit 0: test; others
 * 0).
 *
 * Format 2 (vector reports): a head of 8 bytes (dim u32, width u32), then rows of 24 + dim width bytes:
 * id[16], group u32, flags u32, and dim values of `width` bytes each in two's complement, the fewest
 * (1..8) that hold every value of the block.
 *
 * In both the id begins a row and rows have one length, so ids are read without the rest. A block has at
 * least one row, and its rows are in the order of ids (store/id_order.h). What is read from a store may be anything: packed_open is the only way in, and looks at
 * every number before it is used. */
#ifndef DPOT_STORE_PACKED_H
#define DPOT_STORE_PACKED_H

#include "store/store.h"

#define PACKED_FORMAT_INDEX 1
#define PACKED_FORMAT_VECTOR 2
#define PACKED_BLOCK_MAX ((size_t)256 << 20) /* bytes; the values of one POST take at most 64 MiB */

/* How the rows of one block lie. */
struct packed_layout {
    int format;
    uint32_t dim;   /* values of a row; 0: an index */
    unsigned width; /* bytes of a value */
    size_t head_len;
    size_t row_len;
};

/* The layout of rows of `dim` values (0: an index) of `width` bytes. */
struct packed_layout packed_lay_out(uint32_t dim, unsigned width);

/* The layout of those reports of a batch that are accepted (not refused, and statuses[i] says so), and how
 * many there are (none: the layout means nothing). DPOT_ERR_SHAPE: they do not all hold an index, or all
 * a vector of one dim in 1..DPOT_VECTOR_DIM_MAX. */
DPOT_WARN_UNUSED dpot_status packed_plan(const struct store_append *append,
                                         struct packed_layout *layout, size_t *n_accepted);

/* Makes `layout` hold the reports of `other` too: both laid out by packed_plan. DPOT_ERR_SHAPE: an index
 * and a vector, or vectors of two lengths; nothing changed. */
DPOT_WARN_UNUSED dpot_status packed_join(struct packed_layout *layout,
                                         const struct packed_layout *other);

/* Begins a block of `n_rows` rows: its head, and room for all of it. DPOT_ERR_TOO_LARGE above the buf's
 * ceiling, DPOT_ERR_MEMORY; `out` is as before then. */
DPOT_WARN_UNUSED dpot_status packed_begin(const struct packed_layout *layout, size_t n_rows,
                                          struct dpot_buf *out);

/* Appends the row of a report that packed_plan counted; there is room for it. */
void packed_append(const struct packed_layout *layout, const struct dpot_report *report,
                   struct dpot_buf *out);

/* A block of `n_reports` rows that was checked as a whole. */
struct packed_block {
    struct packed_layout layout;
    size_t n_reports;
    const uint8_t *data; /* borrowed */
};

/* DPOT_ERR_CORRUPT: format, head, count and length do not go together. */
DPOT_WARN_UNUSED dpot_status packed_open(int64_t format, int64_t n_reports, const uint8_t *data,
                                         size_t len, struct packed_block *block);

/* The id of row `i` < n_reports, inside the block. */
const uint8_t *packed_id(const struct packed_block *block, size_t i);

/* Reads row `i` < n_reports. The report's values are put into `values` (layout.dim; NULL for dim 0) and
 * point there. */
void packed_read(const struct packed_block *block, size_t i, int64_t *values,
                 struct dpot_report *report);

#endif
