#include "fixture.h"
#include "handmade.h"
#include "proto/wire_inner.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(batch_wire, .init = start_proto_suite);

static void expect_same_batch(const struct dpot_batch *a, const struct dpot_batch *b)
{
    cr_assert_arr_eq(a->campaign_hash, b->campaign_hash, sizeof a->campaign_hash);
    cr_assert_eq(a->round, b->round);
    cr_assert_eq(a->n_reports, b->n_reports);
    cr_assert_eq(a->report_len_max, b->report_len_max);
    for (size_t i = 0; i < a->n_reports; i++) {
        cr_assert_arr_eq(a->reports[i].id, b->reports[i].id, DPOT_REPORT_ID_LEN);
        cr_assert_eq(a->reports[i].index, b->reports[i].index);
        cr_assert_eq(a->reports[i].group, b->reports[i].group);
        cr_assert_eq(a->reports[i].test, b->reports[i].test);
        cr_assert_not(b->is_malformed[i]);
    }
}

/* A sealed batch of n reports and the keys to open it. */
struct sealed {
    struct dpot_batch batch;
    struct dpot_seal_key seal_key;
    uint8_t secret_key[DPOT_SEAL_SECRET_LEN];
    struct dpot_buf body;
};

/* Long enough for the reports of make_batch; 0: the old form without padding. */
enum { NOT_PADDED = 0, PADDED = 40 };

static void seal(struct sealed *sealed, size_t n, size_t report_len_max)
{
    make_batch(&sealed->batch, n, NULL);
    sealed->batch.report_len_max = report_len_max;
    make_seal_key(&sealed->seal_key, sealed->secret_key, 0, 1000);
    dpot_buf_init(&sealed->body, DPOT_BATCH_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_batch_seal(&sealed->batch, &sealed->seal_key, &sealed->body), DPOT_OK);
}

static void sealed_release(struct sealed *sealed)
{
    dpot_batch_release(&sealed->batch);
    dpot_buf_release(&sealed->body);
}

static dpot_status open_body(const struct sealed *sealed, size_t len, struct dpot_batch *batch,
                             struct dpot_error *error)
{
    return dpot_wire_batch_open(sealed->body.data, len, sealed->seal_key.public_key,
                                sealed->secret_key, NULL, batch, error);
}

Test(batch_wire, one_and_five_thousand_reports_survive_seal_and_open_padded_and_not)
{
    const size_t counts[] = {1, 2, DPOT_BATCH_REPORTS_MAX};
    const size_t n_counts = sizeof counts / sizeof counts[0];
    for (size_t i = 0; i < 2 * n_counts; i++) {
        struct sealed sealed;
        struct dpot_batch opened;
        struct dpot_error error = {""};
        uint8_t id[DPOT_SEAL_KEY_ID_LEN];
        seal(&sealed, counts[i % n_counts], i < n_counts ? NOT_PADDED : PADDED);
        cr_assert_eq(dpot_wire_batch_key_id(sealed.body.data, sealed.body.len, id, NULL), DPOT_OK);
        cr_assert_arr_eq(id, sealed.seal_key.id, sizeof id);
        cr_assert_eq(open_body(&sealed, sealed.body.len, &opened, &error), DPOT_OK, "%s",
                     error.text);
        expect_same_batch(&sealed.batch, &opened);
        dpot_batch_release(&opened);
        sealed_release(&sealed);
    }
}

Test(batch_wire, an_empty_batch_and_one_too_many_are_not_sealed)
{
    struct dpot_batch batch;
    struct dpot_seal_key seal_key;
    uint8_t secret_key[DPOT_SEAL_SECRET_LEN];
    struct dpot_buf body;
    make_seal_key(&seal_key, secret_key, 0, 1000);
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, NULL);
    make_batch(&batch, 0, NULL);
    cr_assert_eq(dpot_wire_batch_seal(&batch, &seal_key, &body), DPOT_ERR_ARGUMENT);
    dpot_batch_release(&batch);
    make_batch(&batch, DPOT_BATCH_REPORTS_MAX + 1, NULL);
    cr_assert_eq(dpot_wire_batch_seal(&batch, &seal_key, &body), DPOT_ERR_TOO_LARGE);
    dpot_batch_release(&batch);
    cr_assert_eq(body.len, 0);
}

Test(batch_wire, an_altered_or_cut_body_does_not_open)
{
    static const struct dpot_batch empty;
    struct sealed sealed;
    struct dpot_batch opened;
    seal(&sealed, 2, PADDED);
    for (size_t i = 0; i < sealed.body.len; i++) {
        const bool is_key_id = i >= 4 && i < 4 + DPOT_SEAL_KEY_ID_LEN; /* only names the key */
        sealed.body.data[i] ^= 0x40;
        const dpot_status status = open_body(&sealed, sealed.body.len, &opened, NULL);
        cr_assert_eq(status == DPOT_OK, is_key_id, "byte %zu: %s", i, dpot_status_name(status));
        dpot_batch_release(&opened);
        sealed.body.data[i] ^= 0x40;
        cr_assert_neq(open_body(&sealed, i, &opened, NULL), DPOT_OK, "%zu bytes", i);
        cr_assert_arr_eq(&opened, &empty, sizeof empty);
    }
    sealed_release(&sealed);
}

Test(batch_wire, another_seal_key_does_not_open_it)
{
    struct sealed sealed;
    struct dpot_batch opened;
    struct dpot_seal_key other;
    struct dpot_error error = {""};
    seal(&sealed, 3, PADDED);
    make_seal_key(&other, sealed.secret_key, 0, 1000);
    cr_assert_eq(open_body(&sealed, sealed.body.len, &opened, &error), DPOT_ERR_SIGNATURE);
    cr_assert_not_null(strstr(error.text, "another key"));
    sealed_release(&sealed);
}

Test(batch_wire, a_body_of_the_wrong_length_or_magic_has_no_key_id)
{
    uint8_t body[100] = "DPB1", id[DPOT_SEAL_KEY_ID_LEN];
    struct dpot_error error = {""};
    cr_assert_eq(dpot_wire_batch_key_id(body, 60, id, NULL), DPOT_OK);
    cr_assert_eq(dpot_wire_batch_key_id(body, 59, id, &error), DPOT_ERR_MALFORMED);
    cr_assert_eq(dpot_wire_batch_key_id(body, 0, id, &error), DPOT_ERR_MALFORMED);
    cr_assert_eq(dpot_wire_batch_key_id(body, DPOT_BATCH_BYTES_MAX + 1, id, &error),
                 DPOT_ERR_TOO_LARGE);
    body[3] = '2';
    cr_assert_eq(dpot_wire_batch_key_id(body, 60, id, NULL), DPOT_OK);
    body[3] = '3';
    cr_assert_eq(dpot_wire_batch_key_id(body, 60, id, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "DPB2 or DPB1"));
}

Test(batch_wire, sealing_and_opening_survive_every_failed_allocation)
{
    struct sealed sealed;
    seal(&sealed, 40, PADDED);
    for (size_t n = 1;; n++) {
        struct test_allocator heap;
        struct dpot_batch opened = {0};
        struct dpot_buf body;
        test_allocator_init(&heap);
        test_allocator_fail_at(&heap, n);
        dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, &heap.allocator);
        dpot_status status = dpot_wire_batch_seal(&sealed.batch, &sealed.seal_key, &body);
        if (status == DPOT_OK) {
            status = dpot_wire_batch_open(body.data, body.len, sealed.seal_key.public_key,
                                          sealed.secret_key, &heap.allocator, &opened, NULL);
        }
        dpot_batch_release(&opened);
        dpot_buf_release(&body);
        cr_assert_eq(heap.bytes, 0);
        if (status == DPOT_OK) {
            break;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
    }
    sealed_release(&sealed);
}

/* Reports encoded by hand. */

enum report_twist {
    GOOD,
    GOOD_ZEROS, /* index 0, written as the oneof requires */
    SHORT_ID,
    LONG_ID,
    NO_ID,
    NO_PAYLOAD,
    VECTOR,
    FIELD_16,
    FIELD_31,
    FIELD_6,
    UNKNOWN_IN_VECTOR,
    EMPTY,
    N_REPORT_TWISTS
};

static void put_vector(struct dpot_buf *buf, bool with_unknown)
{
    struct dpot_buf inner;
    dpot_buf_init(&inner, BYTES_MAX, NULL);
    put_bytes(&inner, 1, "\x01\x02\x03", 3);
    if (with_unknown) {
        put_number(&inner, 2, 1);
    }
    put_bytes(buf, 3, inner.data, inner.len);
    dpot_buf_release(&inner);
}

static void put_report(struct dpot_buf *buf, enum report_twist twist)
{
    static const uint8_t id[DPOT_REPORT_ID_LEN + 1] = {7, 7, 7};
    struct dpot_buf inner;
    dpot_buf_init(&inner, BYTES_MAX, NULL);
    if (twist != NO_ID && twist != EMPTY) {
        put_bytes(&inner, 1, id, twist == SHORT_ID ? 15 : twist == LONG_ID ? 17 : 16);
    }
    if (twist == VECTOR || twist == UNKNOWN_IN_VECTOR) {
        put_vector(&inner, twist == UNKNOWN_IN_VECTOR);
    } else if (twist != NO_PAYLOAD && twist != EMPTY) {
        put_number(&inner, 2, twist == GOOD_ZEROS ? 0 : 5);
    }
    if (twist == FIELD_6 || twist == FIELD_16 || twist == FIELD_31) {
        put_bytes(&inner, twist == FIELD_6 ? 6 : twist == FIELD_16 ? 16 : 31, "token", 5);
    }
    put_bytes(buf, 3, inner.data, inner.len);
    dpot_buf_release(&inner);
}

static void put_head(struct dpot_buf *buf, size_t hash_len)
{
    const uint8_t hash[DPOT_HASH_LEN + 1] = {1, 2, 3};
    put_bytes(buf, 1, hash, hash_len);
    put_number(buf, 2, 4);
}

static dpot_status decode(const struct dpot_buf *bytes, struct dpot_batch *batch,
                          struct dpot_error *error)
{
    return dpot_wire_batch_decode(bytes->data, bytes->len, NULL, batch, error);
}

Test(batch_wire, a_report_malformed_alone_keeps_its_place_among_good_ones)
{
    struct dpot_buf bytes;
    struct dpot_batch batch;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    put_head(&bytes, DPOT_HASH_LEN);
    for (int twist = 0; twist < N_REPORT_TWISTS; twist++) {
        put_report(&bytes, (enum report_twist)twist);
        put_report(&bytes, GOOD);
    }
    cr_assert_eq(decode(&bytes, &batch, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(batch.n_reports, 2 * N_REPORT_TWISTS);
    for (size_t i = 0; i < batch.n_reports; i++) {
        const bool is_good = i % 2 == 1 || i / 2 == GOOD || i / 2 == GOOD_ZEROS || i / 2 == VECTOR;
        cr_assert_eq(batch.is_malformed[i], !is_good, "report %zu", i);
        if (is_good && i == 2 * VECTOR) {
            cr_assert_gt(batch.reports[i].n_values, 0);
        } else if (is_good) {
            cr_assert_eq(batch.reports[i].index, i / 2 == GOOD_ZEROS && i % 2 == 0 ? 0 : 5);
        }
    }
    dpot_batch_release(&batch);
    dpot_buf_release(&bytes);
}

Test(batch_wire, five_thousand_empty_reports_are_each_malformed)
{
    struct dpot_buf bytes;
    struct dpot_batch batch;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    put_head(&bytes, DPOT_HASH_LEN);
    for (int i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
        put_report(&bytes, EMPTY);
    }
    cr_assert_eq(decode(&bytes, &batch, NULL), DPOT_OK);
    for (size_t i = 0; i < batch.n_reports; i++) {
        cr_assert(batch.is_malformed[i]);
    }
    dpot_batch_release(&batch);
    put_report(&bytes, EMPTY);
    cr_assert_eq(decode(&bytes, &batch, NULL), DPOT_ERR_TOO_LARGE);
    dpot_buf_release(&bytes);
}

/* A batch of one report, from its encoded numbers. */
static void put_numbers(struct dpot_buf *buf, uint64_t round, uint64_t index, uint64_t group,
                        uint64_t test)
{
    static const uint8_t hash[DPOT_HASH_LEN] = {1}, id[DPOT_REPORT_ID_LEN] = {7};
    struct dpot_buf inner;
    dpot_buf_init(&inner, BYTES_MAX, NULL);
    put_bytes(&inner, 1, id, sizeof id);
    put_number(&inner, 2, index);
    if (group != 0) {
        put_number(&inner, 4, group);
    }
    if (test != 0) {
        put_number(&inner, 5, test);
    }
    put_bytes(buf, 1, hash, sizeof hash);
    put_number(buf, 2, round);
    put_bytes(buf, 3, inner.data, inner.len);
    dpot_buf_release(&inner);
}

Test(batch_wire, a_number_of_more_bits_than_its_field_is_not_taken_for_another)
{
    static const uint64_t wrap = UINT64_C(1) << 32;
    static const struct {
        uint64_t round, index, group, test;
        dpot_status expected;
    } rows[] = {{4, 5, 6, 1, DPOT_OK},
                {UINT32_MAX, UINT32_MAX, UINT32_MAX, 1, DPOT_OK},
                {wrap + 4, 5, 6, 1, DPOT_ERR_MALFORMED},
                {4, wrap + 5, 6, 1, DPOT_ERR_MALFORMED},
                {4, wrap, 6, 1, DPOT_ERR_MALFORMED},
                {4, 5, wrap + 6, 1, DPOT_ERR_MALFORMED},
                {4, 5, wrap, 0, DPOT_ERR_MALFORMED},
                {4, 5, 6, 2, DPOT_ERR_MALFORMED},
                {0, 5, 6, 1, DPOT_ERR_MALFORMED}, /* a default written out */
                {UINT64_MAX, 5, 6, 1, DPOT_ERR_MALFORMED}};
    struct dpot_buf bytes;
    struct dpot_batch batch;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dpot_buf_reset(&bytes);
        put_numbers(&bytes, rows[i].round, rows[i].index, rows[i].group, rows[i].test);
        cr_assert_eq(decode(&bytes, &batch, &error), rows[i].expected, "row %zu: %s", i,
                     error.text);
        if (rows[i].expected != DPOT_OK) {
            cr_assert_not_null(strstr(error.text, "canonical"), "%s", error.text);
        }
        dpot_batch_release(&batch);
    }
    dpot_buf_release(&bytes);
}

Test(batch_wire, a_field_given_twice_or_late_is_another_spelling)
{
    struct dpot_buf bytes;
    struct dpot_batch batch;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    put_numbers(&bytes, 4, 5, 6, 1);
    put_number(&bytes, 2, 4);
    cr_assert_eq(decode(&bytes, &batch, NULL), DPOT_ERR_MALFORMED);
    dpot_buf_release(&bytes);
}

Test(batch_wire, losses_are_three_classes_or_absent)
{
    static const struct {
        const char *bytes;
        size_t len;
        dpot_status expected;
    } rows[] = {{"", 0, DPOT_OK},
                {"\0\0\0", 3, DPOT_OK},
                {"\4\4\4", 3, DPOT_OK},
                {"\1\2\3", 3, DPOT_OK},
                {"\1", 1, DPOT_ERR_MALFORMED},
                {"\1\2", 2, DPOT_ERR_MALFORMED},
                {"\1\2\3\0", 4, DPOT_ERR_MALFORMED},
                {"\5\0\0", 3, DPOT_ERR_MALFORMED},
                {"\0\0\377", 3, DPOT_ERR_MALFORMED}};
    struct dpot_buf bytes;
    struct dpot_batch batch;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dpot_buf_reset(&bytes);
        put_head(&bytes, DPOT_HASH_LEN);
        put_report(&bytes, GOOD);
        if (rows[i].len > 0) {
            put_bytes(&bytes, 4, (const uint8_t *)rows[i].bytes, rows[i].len);
        }
        cr_assert_eq(decode(&bytes, &batch, &error), rows[i].expected, "row %zu: %s", i,
                     error.text);
        if (rows[i].expected == DPOT_OK) {
            cr_assert_eq(batch.has_losses, rows[i].len > 0);
            dpot_batch_release(&batch);
        } else {
            cr_assert_not_null(strstr(error.text, "losses"), "%s", error.text);
        }
    }
    dpot_buf_release(&bytes);
}

Test(batch_wire, no_loss_is_ever_reported)
{
    static const uint8_t zeros[] = {0x22, 3, 0, 0, 0};
    struct dpot_batch batch;
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    make_batch(&batch, 1, NULL);
    cr_assert_eq(dpot_wire_batch_encode(&batch, &bytes), DPOT_OK);
    const size_t len = bytes.len;
    dpot_buf_reset(&bytes);
    batch.has_losses = true;
    cr_assert_eq(dpot_wire_batch_encode(&batch, &bytes), DPOT_OK);
    cr_assert_eq(bytes.len, len + sizeof zeros);
    cr_assert_arr_eq(bytes.data + len, zeros, sizeof zeros);
    dpot_batch_release(&batch);
    dpot_buf_release(&bytes);
}

Test(batch_wire, a_batch_wrong_as_a_whole_is_refused)
{
    const size_t hash_lens[] = {0, 31, 33};
    struct dpot_buf bytes;
    struct dpot_batch batch;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    put_head(&bytes, DPOT_HASH_LEN);
    cr_assert_eq(decode(&bytes, &batch, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "no reports"));
    for (size_t i = 0; i < 3; i++) {
        dpot_buf_reset(&bytes);
        put_head(&bytes, hash_lens[i]);
        put_report(&bytes, GOOD);
        cr_assert_eq(decode(&bytes, &batch, &error), DPOT_ERR_MALFORMED);
    }
    for (uint32_t field = 5; field < 40; field += 6) {
        dpot_buf_reset(&bytes);
        put_head(&bytes, DPOT_HASH_LEN);
        put_report(&bytes, GOOD);
        put_number(&bytes, field, 1);
        cr_assert_eq(decode(&bytes, &batch, &error), DPOT_ERR_VERSION);
        cr_assert_not_null(strstr(error.text, "ReportBatch has field"), "%s", error.text);
    }
    cr_assert_eq(dpot_wire_batch_decode("", 0, NULL, &batch, NULL), DPOT_ERR_MALFORMED);
    dpot_buf_release(&bytes);
}

Test(batch_wire, a_batch_cut_anywhere_is_refused_or_shorter)
{
    struct dpot_batch batch, cut;
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    make_batch(&batch, 4, NULL);
    cr_assert_eq(dpot_wire_batch_encode(&batch, &bytes), DPOT_OK);
    for (size_t len = 0; len < bytes.len; len++) {
        if (dpot_wire_batch_decode(bytes.data, len, NULL, &cut, NULL) == DPOT_OK) {
            cr_assert_lt(cut.n_reports, 4);
        }
        dpot_batch_release(&cut);
    }
    dpot_batch_release(&batch);
    dpot_buf_release(&bytes);
}
