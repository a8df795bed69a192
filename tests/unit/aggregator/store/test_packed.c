/* Writing and validating blocks of reports. */
#include "store/packed.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_LEN 8
#define ROW_HEADER_LEN 24

static struct dpot_buf block_bytes;
static size_t n_rows;

static void set_up(void)
{
    dpot_buf_init(&block_bytes, PACKED_BLOCK_MAX, NULL);
}

static void tear_down(void)
{
    dpot_buf_release(&block_bytes);
}

TestSuite(packed, .init = set_up, .fini = tear_down);

/* Packs reports, all accepted. */
static struct packed_layout pack(const struct dpot_report *reports, size_t n)
{
    struct packed_layout layout;
    uint8_t *is_refused = calloc(n, 1);
    enum dpot_report_status *statuses = calloc(n, sizeof *statuses);
    const struct store_append append = {
        .n_reports = n, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    for (size_t i = 0; i < n; i++) {
        statuses[i] = DPOT_REPORT_ACCEPTED;
    }
    dpot_buf_reset(&block_bytes);
    cr_assert_eq(packed_plan(&append, &layout, &n_rows), DPOT_OK);
    cr_assert_eq(n_rows, n);
    cr_assert_eq(packed_begin(&layout, n, &block_bytes), DPOT_OK);
    for (size_t i = 0; i < n; i++) {
        packed_append(&layout, &reports[i], &block_bytes);
    }
    free(statuses);
    free(is_refused);
    return layout;
}

static struct packed_layout pack_one(int64_t *values, uint32_t dim)
{
    const struct dpot_report report = {.n_values = dim, .values = values};
    return pack(&report, 1);
}

static dpot_status open_as(int64_t format, int64_t n)
{
    struct packed_block block;
    return packed_open(format, n, block_bytes.data, block_bytes.len, &block);
}

Test(packed, a_commit_is_as_wide_as_its_largest_number)
{
    static const struct {
        int64_t value;
        unsigned width;
    } cases[] = {
        {0, 1},         {-1, 1},        {127, 1},          {-128, 1},        {128, 2},
        {-129, 2},      {32767, 2},     {-32769, 3},       {INT32_MAX, 4},   {INT32_MIN, 4},
        {1LL << 31, 5}, {1LL << 46, 6}, {-(1LL << 55), 7}, {(1LL << 55), 8}, {INT64_MIN, 8},
        {INT64_MAX, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t values[] = {0, cases[i].value, 1};
        const struct packed_layout layout = pack_one(values, 3);
        cr_assert_eq(layout.width, cases[i].width, "%lld: %u", (long long)cases[i].value,
                     layout.width);
        cr_assert_eq(block_bytes.len, HEADER_LEN + ROW_HEADER_LEN + 3 * cases[i].width);
    }
}

Test(packed, the_widest_report_of_a_commit_decides_for_all)
{
    int64_t small[] = {1, 2}, large[] = {3, -70000}, back[2];
    const struct dpot_report reports[] = {{.id = {1}, .n_values = 2, .values = small},
                                          {.id = {2}, .n_values = 2, .values = large}};
    struct packed_block block;
    struct dpot_report report;
    cr_assert_eq(pack(reports, 2).width, 3);
    cr_assert_eq(packed_open(PACKED_FORMAT_VECTOR, 2, block_bytes.data, block_bytes.len, &block),
                 DPOT_OK);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(packed_id(&block, i)[0], i + 1);
        packed_read(&block, i, back, &report);
        cr_assert_eq(report.values, back);
        cr_assert_eq(report.n_values, 2);
        cr_assert_eq(memcmp(back, reports[i].values, sizeof back), 0);
    }
}

Test(packed, index_reports_keep_the_first_format)
{
    const struct dpot_report report = {.id = {9}, .index = 77, .group = 5, .test = true};
    static const uint8_t expected[28] = {9, [16] = 77, [20] = 5, [24] = 1};
    cr_assert_eq(pack(&report, 1).format, PACKED_FORMAT_INDEX);
    cr_assert_eq(block_bytes.len, sizeof expected);
    cr_assert_arr_eq(block_bytes.data, expected, sizeof expected);
}

Test(packed, a_vector_block_has_the_documented_bytes)
{
    int64_t values[] = {1, -2, 300};
    const struct dpot_report report = {
        .id = {9}, .group = 5, .test = true, .n_values = 3, .values = values};
    static const uint8_t expected[] = {3, 0, 0, 0, 2, 0,    [8] = 9, [24] = 5, [28] = 1,
                                       0, 0, 0, 1, 0, 0xfe, 0xff,    0x2c,     1};
    cr_assert_eq(pack(&report, 1).format, PACKED_FORMAT_VECTOR);
    cr_assert_eq(block_bytes.len, sizeof expected);
    cr_assert_arr_eq(block_bytes.data, expected, sizeof expected);
}

Test(packed, vectors_beyond_the_longest_are_refused)
{
    struct packed_layout layout;
    const uint8_t is_refused[1] = {0};
    enum dpot_report_status status = DPOT_REPORT_ACCEPTED;
    struct dpot_report report = {.n_values = DPOT_VECTOR_DIM_MAX + 1};
    const struct store_append append = {
        .n_reports = 1, .reports = &report, .is_refused = is_refused, .statuses = &status};
    cr_assert_eq(packed_plan(&append, &layout, &n_rows), DPOT_ERR_SHAPE);
}

Test(packed, a_block_above_the_limit_is_too_large_and_changes_nothing)
{
    int64_t values[10] = {0};
    const struct dpot_report report = {.n_values = 10, .values = values};
    const struct packed_layout layout = pack(&report, 1);
    struct dpot_buf small;
    dpot_buf_init(&small, HEADER_LEN + ROW_HEADER_LEN + 9, NULL);
    cr_assert_eq(packed_begin(&layout, 1, &small), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(small.len, 0);
    struct packed_layout huge = layout;
    huge.row_len = SIZE_MAX / 2;
    cr_assert_eq(packed_begin(&huge, 3, &small), DPOT_ERR_TOO_LARGE);
    dpot_buf_release(&small);
}

/* ---- damaged blocks ---- */

Test(packed, an_invalid_header_is_corrupt)
{
    static const struct {
        uint32_t dim, width;
    } heads[] = {
        {0, 1},          {3, 0}, {3, 9}, {3, UINT32_MAX}, {DPOT_VECTOR_DIM_MAX + 1, 1},
        {UINT32_MAX, 8}, {2, 1}, {4, 1}, {3, 2},          {1, 3 + 24},
    };
    int64_t values[] = {1, 2, 3};
    (void)pack_one(values, 3);
    cr_assert_eq(open_as(PACKED_FORMAT_VECTOR, 1), DPOT_OK);
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        dpot_store_u32(block_bytes.data, heads[i].dim);
        dpot_store_u32(block_bytes.data + 4, heads[i].width);
        cr_assert_eq(open_as(PACKED_FORMAT_VECTOR, 1), DPOT_ERR_CORRUPT, "dim %u width %u",
                     heads[i].dim, heads[i].width);
    }
}

Test(packed, a_count_or_format_that_does_not_match_the_length_is_corrupt)
{
    static const int64_t counts[] = {0, -1, 2, INT64_MAX, INT64_MIN, (int64_t)1 << 32 | 1};
    int64_t values[] = {1, 2, 3};
    (void)pack_one(values, 3);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        cr_assert_eq(open_as(PACKED_FORMAT_VECTOR, counts[i]), DPOT_ERR_CORRUPT);
    }
    for (int64_t format = -1; format < 5; format++) {
        cr_assert_eq(open_as(format, 1) == DPOT_OK, format == PACKED_FORMAT_VECTOR);
    }
    struct packed_block block;
    cr_assert_eq(packed_open(PACKED_FORMAT_VECTOR, 1, NULL, 0, &block), DPOT_ERR_CORRUPT);
}

/* 2^20 numbers of 8 bytes, and a count whose product with the row length overflows to the
 * length. */
Test(packed, a_product_that_overflows_is_corrupt)
{
    const uint64_t row_len = ROW_HEADER_LEN + UINT64_C(8) * DPOT_VECTOR_DIM_MAX;
    int64_t values[] = {1, 2, 3};
    (void)pack_one(values, 3);
    dpot_store_u32(block_bytes.data, DPOT_VECTOR_DIM_MAX);
    dpot_store_u32(block_bytes.data + 4, 8);
    for (uint64_t n = 1; n < 70; n++) {
        const uint64_t wrapping = UINT64_MAX / row_len * n;
        cr_assert_eq(open_as(PACKED_FORMAT_VECTOR, (int64_t)(wrapping & INT64_MAX)),
                     DPOT_ERR_CORRUPT);
        cr_assert_eq(open_as(PACKED_FORMAT_VECTOR, (int64_t)(n << 57)), DPOT_ERR_CORRUPT);
    }
}

/* Each cut block has memory of exactly its length, so that sanitizers find a read beyond it. */
Test(packed, no_cut_and_no_altered_header_is_read_beyond_its_end)
{
    int64_t values[3][5];
    struct dpot_report reports[3];
    for (uint32_t i = 0; i < 3; i++) {
        reports[i] = vectors_report(i, 5, 1000, values[i]);
    }
    (void)pack(reports, 3);
    size_t n_opened = 0;
    for (size_t len = 0; len <= block_bytes.len; len++) {
        for (uint32_t dim = 0; dim < 12; dim++) {
            for (uint32_t width = 0; width < 12; width++) {
                struct packed_block block;
                struct dpot_report report;
                int64_t back[12];
                uint8_t *copy = malloc(len > 0 ? len : 1);
                memcpy(copy, block_bytes.data, len);
                if (len >= HEADER_LEN) {
                    dpot_store_u32(copy, dim);
                    dpot_store_u32(copy + 4, width);
                }
                for (int64_t n = 1; n < 5; n++) {
                    if (packed_open(PACKED_FORMAT_VECTOR, n, copy, len, &block) == DPOT_OK) {
                        packed_read(&block, (size_t)n - 1, back, &report);
                        n_opened++;
                    }
                }
                free(copy);
            }
        }
    }
    cr_assert_gt(n_opened, 100);
}
