#include "store/packed.h"

#include <string.h>

#define FLAG_TEST 1u
#define VECTOR_HEADER_LEN 8u
#define INDEX_ROW_LEN 28u       /* id, index, group, flags */
#define VECTOR_ROW_HEAD_LEN 24u /* id, group, flags */
#define WIDTH_MAX 8u

static void lay_out_index(struct packed_layout *layout)
{
    *layout = (struct packed_layout){.format = PACKED_FORMAT_INDEX, .row_len = INDEX_ROW_LEN};
}

/* dim <= DPOT_VECTOR_DIM_MAX and width <= WIDTH_MAX: a row has at most 8 MiB and 24 bytes. */
static void lay_out_vector(struct packed_layout *layout, uint32_t dim, unsigned width)
{
    *layout = (struct packed_layout){.format = PACKED_FORMAT_VECTOR,
                                     .dim = dim,
                                     .width = width,
                                     .header_len = VECTOR_HEADER_LEN,
                                     .row_len = VECTOR_ROW_HEAD_LEN + (size_t)dim * width};
}

/* ---- writing ---- */

/* The OR of all magnitudes: of y when y >= 0, of ~y when y < 0. */
static uint64_t spread_of(const struct dpot_report *report)
{
    uint64_t spread = 0;
    for (uint32_t j = 0; j < report->n_values; j++) {
        const uint64_t bits = (uint64_t)report->values[j];
        spread |= report->values[j] < 0 ? ~bits : bits;
    }
    return spread;
}

/* The smallest w with -2^(8w-1) <= y < 2^(8w-1) for all y. */
static unsigned width_of(uint64_t spread)
{
    unsigned width = 1;
    while (width < WIDTH_MAX && spread >> (8 * width - 1) != 0) {
        width++;
    }
    return width;
}

struct packed_layout packed_lay_out(uint32_t dim, unsigned width)
{
    struct packed_layout layout;
    if (dim == 0) {
        lay_out_index(&layout);
    } else {
        lay_out_vector(&layout, dim, width);
    }
    return layout;
}

static bool is_accepted(const struct store_append *append, size_t i)
{
    return !append->is_refused[i] && append->statuses[i] == DPOT_REPORT_ACCEPTED;
}

dpot_status packed_plan(const struct store_append *append, struct packed_layout *layout,
                        size_t *n_accepted)
{
    uint64_t spread = 0;
    uint32_t dim = 0;
    lay_out_index(layout);
    *n_accepted = 0;
    for (size_t i = 0; i < append->n_reports; i++) {
        const struct dpot_report *report = &append->reports[i];
        if (!is_accepted(append, i)) {
            continue;
        }
        dim = *n_accepted == 0 ? report->n_values : dim;
        if (report->n_values != dim || dim > DPOT_VECTOR_DIM_MAX) {
            return DPOT_ERR_SHAPE;
        }
        spread |= spread_of(report);
        ++*n_accepted;
    }
    if (dim > 0) {
        lay_out_vector(layout, dim, width_of(spread));
    }
    return DPOT_OK;
}

static uint32_t flags_of(const struct dpot_report *report)
{
    return report->test ? FLAG_TEST : 0;
}

static void write_vector(uint8_t *row, const struct packed_layout *layout,
                         const struct dpot_report *report)
{
    uint8_t *out = row + VECTOR_ROW_HEAD_LEN;
    dpot_store_u32(row + 16, report->group);
    dpot_store_u32(row + 20, flags_of(report));
    for (uint32_t j = 0; j < layout->dim && layout->width == 1; j++) {
        out[j] = (uint8_t)report->values[j]; /* the most frequent width */
    }
    for (uint32_t j = 0; j < layout->dim && layout->width > 1; j++) {
        uint8_t bytes[WIDTH_MAX];
        dpot_store_u64(bytes, (uint64_t)report->values[j]);
        memcpy(out, bytes, layout->width);
        out += layout->width;
    }
}

static void write_row(uint8_t *row, const struct packed_layout *layout,
                      const struct dpot_report *report)
{
    memcpy(row, report->id, DPOT_REPORT_ID_LEN);
    if (layout->dim > 0) {
        write_vector(row, layout, report);
        return;
    }
    dpot_store_u32(row + 16, report->index);
    dpot_store_u32(row + 20, report->group);
    dpot_store_u32(row + 24, flags_of(report));
}

dpot_status packed_join(struct packed_layout *layout, const struct packed_layout *other)
{
    if (layout->dim != other->dim) {
        return DPOT_ERR_SHAPE;
    }
    if (layout->dim > 0 && other->width > layout->width) {
        lay_out_vector(layout, layout->dim, other->width);
    }
    return DPOT_OK;
}

dpot_status packed_begin(const struct packed_layout *layout, size_t n_rows, struct dpot_buf *out)
{
    if (n_rows > (SIZE_MAX - layout->header_len) / layout->row_len) {
        return DPOT_ERR_TOO_LARGE;
    }
    const dpot_status status = dpot_buf_reserve(out, layout->header_len + n_rows * layout->row_len);
    if (status == DPOT_OK && layout->dim > 0) {
        dpot_store_u32(out->data + out->len, layout->dim);
        dpot_store_u32(out->data + out->len + 4, layout->width);
        out->len += layout->header_len;
    }
    return status;
}

void packed_append(const struct packed_layout *layout, const struct dpot_report *report,
                   struct dpot_buf *out)
{
    write_row(out->data + out->len, layout, report);
    out->len += layout->row_len;
}

/* ---- reading ---- */

static dpot_status read_layout(int64_t format, const uint8_t *data, size_t len,
                               struct packed_layout *layout)
{
    if (format == PACKED_FORMAT_INDEX) {
        lay_out_index(layout);
        return DPOT_OK;
    }
    if (format != PACKED_FORMAT_VECTOR || len < VECTOR_HEADER_LEN) {
        return DPOT_ERR_CORRUPT;
    }
    const uint32_t dim = dpot_load_u32(data), width = dpot_load_u32(data + 4);
    if (dim < 1 || dim > DPOT_VECTOR_DIM_MAX || width < 1 || width > WIDTH_MAX) {
        return DPOT_ERR_CORRUPT;
    }
    lay_out_vector(layout, dim, width);
    return DPOT_OK;
}

dpot_status packed_open(int64_t format, int64_t n_reports, const uint8_t *data, size_t len,
                        struct packed_block *block)
{
    *block = (struct packed_block){.data = data};
    if (!data || n_reports < 1 || read_layout(format, data, len, &block->layout) != DPOT_OK) {
        return DPOT_ERR_CORRUPT;
    }
    /* By division: the product of unvalidated numbers may overflow. */
    const size_t rows_len = len - block->layout.header_len, row_len = block->layout.row_len;
    if (rows_len % row_len != 0 || (uint64_t)n_reports != rows_len / row_len) {
        return DPOT_ERR_CORRUPT;
    }
    block->n_reports = (size_t)n_reports;
    return DPOT_OK;
}

const uint8_t *packed_id(const struct packed_block *block, size_t i)
{
    return block->data + block->layout.header_len + i * block->layout.row_len;
}

/* Sign-extends `width` bytes in two's complement. */
static int64_t load_value(const uint8_t *in, unsigned width)
{
    const uint64_t sign = UINT64_C(1) << (8 * width - 1);
    uint64_t bits = 0;
    int64_t value;
    for (unsigned b = 0; b < width; b++) {
        bits |= (uint64_t)in[b] << (8 * b);
    }
    bits = (bits ^ sign) - sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void packed_read(const struct packed_block *block, size_t i, int64_t *values,
                 struct dpot_report *report)
{
    const struct packed_layout *layout = &block->layout;
    const uint8_t *row = packed_id(block, i);
    const bool is_vector = layout->dim > 0;
    const uint8_t *tail = row + (is_vector ? 16 : 20); /* group, flags */
    *report = (struct dpot_report){
        .index = is_vector ? 0 : dpot_load_u32(row + 16),
        .group = dpot_load_u32(tail),
        .test = (dpot_load_u32(tail + 4) & FLAG_TEST) != 0,
        .n_values = layout->dim,
        .values = is_vector ? values : NULL,
    };
    memcpy(report->id, row, DPOT_REPORT_ID_LEN);
    for (uint32_t j = 0; j < layout->dim; j++) {
        values[j] =
            load_value(row + VECTOR_ROW_HEAD_LEN + (size_t)j * layout->width, layout->width);
    }
}
