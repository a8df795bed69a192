#include "fixture.h"
#include "handmade.h"
#include "support/allocator.h"

#include <criterion/criterion.h>

TestSuite(receipt_wire, .init = start_proto_suite);

#define N_STATUSES 8
static const enum dpot_report_status all[N_STATUSES] = {
    DPOT_REPORT_ACCEPTED,       DPOT_REPORT_DUPLICATE,      DPOT_REPORT_REJECTED_MALFORMED,
    DPOT_REPORT_REJECTED_RANGE, DPOT_REPORT_REJECTED_GROUP, DPOT_REPORT_REJECTED_TEST,
    DPOT_REPORT_REJECTED_TOKEN, DPOT_REPORT_REJECTED_CLOSED};

Test(receipt_wire, every_status_survives_in_request_order)
{
    struct dpot_buf out;
    enum dpot_report_status statuses[N_STATUSES] = {0};
    dpot_buf_init(&out, BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_receipt_encode(all, N_STATUSES, NULL, &out), DPOT_OK);
    cr_assert_eq(out.len, 2 + N_STATUSES);
    cr_assert_eq(dpot_wire_receipt_decode(out.data, out.len, NULL, NULL, statuses, N_STATUSES),
                 DPOT_OK);
    cr_assert_arr_eq(statuses, all, sizeof all);
    dpot_buf_release(&out);
}

Test(receipt_wire, has_one_length_whatever_became_of_the_reports)
{
    const uint8_t digest[DPOT_HASH_LEN] = {1};
    for (int i = DPOT_REPORT_ACCEPTED; i < DPOT_REPORT_STATUS_END; i++) {
        const enum dpot_report_status statuses[2] = {DPOT_REPORT_ACCEPTED,
                                                     (enum dpot_report_status)i};
        struct dpot_buf out;
        dpot_buf_init(&out, 100, NULL);
        cr_assert_eq(dpot_wire_receipt_encode(statuses, 2, digest, &out), DPOT_OK);
        cr_assert_eq(out.len, 2 + 2 + 2 + DPOT_HASH_LEN);
        dpot_buf_release(&out);
    }
}

Test(receipt_wire, a_receipt_for_another_number_of_reports_is_refused)
{
    struct dpot_buf out;
    enum dpot_report_status statuses[N_STATUSES + 1] = {0};
    dpot_buf_init(&out, BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_receipt_encode(all, N_STATUSES, NULL, &out), DPOT_OK);
    for (size_t n = 0; n <= N_STATUSES + 1; n++) {
        cr_assert_eq(dpot_wire_receipt_decode(out.data, out.len, NULL, NULL, statuses, n),
                     n == N_STATUSES ? DPOT_OK : DPOT_ERR_MALFORMED);
    }
    dpot_buf_release(&out);
}

Test(receipt_wire, a_receipt_names_the_post_it_answers)
{
    uint8_t ours[DPOT_HASH_LEN], another[DPOT_HASH_LEN];
    const uint8_t cut[] = {0x0a, 1, 1, 0x12, 2, 0xab, 0xcd};
    enum dpot_report_status status = DPOT_REPORT_DUPLICATE;
    struct dpot_buf out;
    dpot_buf_init(&out, BYTES_MAX, NULL);
    dpot_wire_batch_digest("DPB1 ours", 9, ours);
    dpot_wire_batch_digest("DPB1 ourS", 9, another);
    cr_assert_eq(dpot_wire_receipt_encode(all, 1, ours, &out), DPOT_OK);
    cr_assert_eq(out.len, 3 + 2 + DPOT_HASH_LEN);
    cr_assert_arr_eq(out.data + 5, ours, sizeof ours);
    cr_assert_eq(dpot_wire_receipt_decode(out.data, out.len, another, NULL, &status, 1),
                 DPOT_ERR_SIGNATURE);
    cr_assert_eq(status, DPOT_REPORT_DUPLICATE);
    cr_assert_eq(dpot_wire_receipt_decode(out.data, out.len, ours, NULL, &status, 1), DPOT_OK);
    cr_assert_eq(status, DPOT_REPORT_ACCEPTED);
    cr_assert_eq(dpot_wire_receipt_decode(out.data, 3, ours, NULL, &status, 1), DPOT_OK,
                 "a server of before names none");
    cr_assert_eq(dpot_wire_receipt_decode(cut, sizeof cut, NULL, NULL, &status, 1),
                 DPOT_ERR_MALFORMED);
    dpot_buf_release(&out);
}

Test(receipt_wire, unknown_statuses_are_neither_written_nor_read)
{
    const enum dpot_report_status bad[] = {(enum dpot_report_status)0,
                                           (enum dpot_report_status)DPOT_REPORT_STATUS_END};
    const uint8_t zero[] = {0x0a, 1, 0}, nine[] = {0x0a, 1, 9};
    const uint8_t negative[] = {0x0a, 10,   0xff, 0xff, 0xff, 0xff,
                                0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    enum dpot_report_status status = DPOT_REPORT_ACCEPTED;
    struct dpot_buf out;
    dpot_buf_init(&out, BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_receipt_encode(&bad[0], 1, NULL, &out), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_wire_receipt_encode(&bad[1], 1, NULL, &out), DPOT_ERR_ARGUMENT);
    cr_assert_eq(out.len, 0);
    cr_assert_eq(dpot_wire_receipt_decode(zero, sizeof zero, NULL, NULL, &status, 1),
                 DPOT_ERR_MALFORMED);
    cr_assert_eq(dpot_wire_receipt_decode(nine, sizeof nine, NULL, NULL, &status, 1),
                 DPOT_ERR_MALFORMED);
    cr_assert_eq(dpot_wire_receipt_decode(negative, sizeof negative, NULL, NULL, &status, 1),
                 DPOT_ERR_MALFORMED);
    cr_assert_eq(status, DPOT_REPORT_ACCEPTED);
}

Test(receipt_wire, a_receipt_has_one_spelling)
{
    static const struct {
        const char *bytes;
        size_t len;
    } rows[] = {
        {"\x0a\x05\x81\x80\x80\x80\x10", 7}, /* 2^32 + 1 */
        {"\x0a\x02\x81\x00", 4},             /* 1 in two bytes */
        {"\x08\x01", 2},                     /* not packed */
        {"\x0a\x01\x01\x0a\x00", 5},         /* the field twice */
        {"\x0a\x01\x01\x12\x00", 5},         /* a batch of no bytes */
        {"\x0a\x81\x00\x01", 4},             /* its length in two bytes */
    };
    enum dpot_report_status status = DPOT_REPORT_DUPLICATE;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(dpot_wire_receipt_decode(rows[i].bytes, rows[i].len, NULL, NULL, &status, 1),
                     DPOT_ERR_MALFORMED, "row %zu", i);
    }
    cr_assert_eq(status, DPOT_REPORT_DUPLICATE);
    cr_assert_eq(dpot_wire_receipt_decode("\x0a\x01\x01", 3, NULL, NULL, &status, 1), DPOT_OK);
}

Test(receipt_wire, an_unknown_field_or_garbage_is_refused)
{
    const uint8_t unknown[] = {0x0a, 1, 1, 0x18, 1}, garbage[] = {0x0a, 5, 1};
    enum dpot_report_status status = DPOT_REPORT_DUPLICATE;
    cr_assert_eq(dpot_wire_receipt_decode(unknown, sizeof unknown, NULL, NULL, &status, 1),
                 DPOT_ERR_VERSION);
    cr_assert_eq(dpot_wire_receipt_decode(garbage, sizeof garbage, NULL, NULL, &status, 1),
                 DPOT_ERR_MALFORMED);
    cr_assert_eq(
        dpot_wire_receipt_decode(garbage, DPOT_BATCH_BYTES_MAX + 1, NULL, NULL, &status, 1),
        DPOT_ERR_TOO_LARGE);
    cr_assert_eq(status, DPOT_REPORT_DUPLICATE);
}

Test(receipt_wire, more_statuses_than_a_batch_can_have_are_not_written)
{
    struct dpot_buf out;
    dpot_buf_init(&out, BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_receipt_encode(all, DPOT_BATCH_REPORTS_MAX + 1, NULL, &out),
                 DPOT_ERR_TOO_LARGE);
}

Test(receipt_wire, writing_and_reading_survive_every_failed_allocation)
{
    for (size_t n = 1;; n++) {
        struct test_allocator heap;
        struct dpot_buf out;
        enum dpot_report_status statuses[N_STATUSES];
        test_allocator_init(&heap);
        test_allocator_fail_at(&heap, n);
        dpot_buf_init(&out, BYTES_MAX, &heap.allocator);
        dpot_status status = dpot_wire_receipt_encode(all, N_STATUSES, NULL, &out);
        if (status == DPOT_OK) {
            status = dpot_wire_receipt_decode(out.data, out.len, NULL, &heap.allocator, statuses,
                                              N_STATUSES);
        }
        dpot_buf_release(&out);
        cr_assert_eq(heap.bytes, 0);
        if (status == DPOT_OK) {
            break;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
    }
}
