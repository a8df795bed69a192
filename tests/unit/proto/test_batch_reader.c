/* The reader of batches against protobuf-c, for every small change of what devices send. */
#include "base/splitmix.h"
#include "fixture.h"
#include "handmade.h"
#include "proto/wire_inner.h"
#include "support/allocator.h"
#include "support/batch_schema.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(batch_reader, .init = start_proto_suite);

#define N_RANDOM 2000
#define REPORTS_MAX 9
#define DIM_MAX 40

/* A random batch as a device may send it, with its numbers; every shape and width of number comes
 * up. */
struct sample {
    struct dpot_batch batch;
    struct dpot_report reports[REPORTS_MAX];
    int64_t values[REPORTS_MAX * DIM_MAX];
};

static uint64_t draw_bits(uint64_t *state, unsigned most)
{
    const uint64_t word = splitmix_next(state);
    const unsigned n_bits = (unsigned)splitmix_below(state, most + 1);
    return n_bits == 0 ? 0 : word >> (64 - n_bits);
}

static int64_t draw_value(uint64_t *state, unsigned most)
{
    const uint64_t bits = draw_bits(state, most);
    int64_t value;
    const uint64_t folded = splitmix_below(state, 2) == 0 ? bits : ~bits;
    memcpy(&value, &folded, sizeof value);
    return value;
}

static void draw_report(uint64_t *state, struct dpot_report *report, int64_t *values,
                        unsigned n_bits)
{
    *report =
        (struct dpot_report){.group = (uint32_t)(splitmix_below(state, 2) * draw_bits(state, 32)),
                             .test = splitmix_below(state, 2) == 1};
    dpot_store_u64(report->id, splitmix_next(state));
    if (splitmix_below(state, 3) == 0) {
        report->index = (uint32_t)draw_bits(state, 32);
        return;
    }
    report->n_values = 1 + (uint32_t)splitmix_below(state, DIM_MAX);
    report->values = values;
    for (uint32_t j = 0; j < report->n_values; j++) {
        values[j] = draw_value(state, n_bits);
    }
}

static void draw_sample(uint64_t *state, struct sample *sample)
{
    const unsigned n_bits = splitmix_below(state, 2) == 0 ? 6 : (unsigned)splitmix_below(state, 65);
    memset(sample, 0, sizeof *sample);
    sample->batch.n_reports = 1 + splitmix_below(state, REPORTS_MAX);
    sample->batch.reports = sample->reports;
    sample->batch.round = (uint32_t)draw_bits(state, 32);
    dpot_store_u64(sample->batch.campaign_hash, splitmix_next(state));
    for (size_t i = 0; i < sample->batch.n_reports; i++) {
        draw_report(state, &sample->reports[i], sample->values + i * DIM_MAX, n_bits);
    }
    sample->batch.has_losses = splitmix_below(state, 2) == 1;
}

static bool is_same_report(const struct dpot_report *a, const struct dpot_report *b)
{
    return memcmp(a->id, b->id, sizeof a->id) == 0 && a->index == b->index &&
           a->group == b->group && a->test == b->test && a->n_values == b->n_values &&
           (a->n_values == 0 || memcmp(a->values, b->values, a->n_values * sizeof *a->values) == 0);
}

static bool is_same_batch(const struct dpot_batch *a, const struct dpot_batch *b)
{
    bool is_same = memcmp(a->campaign_hash, b->campaign_hash, sizeof a->campaign_hash) == 0 &&
                   a->round == b->round && a->n_reports == b->n_reports &&
                   a->has_losses == b->has_losses;
    for (size_t i = 0; is_same && i < a->n_reports; i++) {
        is_same = is_same_report(&a->reports[i], &b->reports[i]);
    }
    return is_same;
}

static dpot_status decode(const struct dpot_buf *bytes, struct dpot_batch *read)
{
    return dpot_wire_batch_decode(bytes->data, bytes->len, NULL, read, NULL);
}

/* Says what the schema says. True: it is a batch. */
static bool expect_agreement(const uint8_t *data, size_t len)
{
    struct dpot_batch read;
    struct dpot_error error = {""};
    const dpot_status status = dpot_wire_batch_decode(data, len, NULL, &read, &error);
    cr_assert(batch_schema_agrees(data, len, status, &read), "%s: %s", dpot_status_name(status),
              error.text);
    dpot_batch_release(&read);
    return status == DPOT_OK;
}

static void encode(const struct dpot_batch *batch, struct dpot_buf *bytes)
{
    dpot_buf_reset(bytes);
    cr_assert_eq(dpot_wire_batch_encode(batch, bytes), DPOT_OK);
}

Test(batch_reader, what_devices_send_is_read)
{
    uint64_t state = 1;
    struct sample sample;
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    for (int i = 0; i < N_RANDOM; i++) {
        struct dpot_batch read;
        draw_sample(&state, &sample);
        encode(&sample.batch, &bytes);
        cr_assert_eq(decode(&bytes, &read), DPOT_OK, "sample %d", i);
        cr_assert(is_same_batch(&sample.batch, &read), "sample %d", i);
        dpot_batch_release(&read);
        cr_assert(expect_agreement(bytes.data, bytes.len));
    }
    dpot_buf_release(&bytes);
}

Test(batch_reader, the_widest_numbers_keep_every_bit)
{
    int64_t values[] = {0, -1, 1, 63, -64, 64, -65, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 5};
    struct dpot_report report = {.id = {9},
                                 .group = UINT32_MAX,
                                 .n_values = sizeof values / sizeof values[0],
                                 .values = values};
    struct dpot_batch batch = {.n_reports = 1, .reports = &report, .round = UINT32_MAX}, read;
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    encode(&batch, &bytes);
    cr_assert_eq(decode(&bytes, &read), DPOT_OK);
    cr_assert(is_same_batch(&batch, &read));
    dpot_batch_release(&read);
    dpot_buf_release(&bytes);
}

/* Every byte of short batches replaced by every other. */
Test(batch_reader, every_byte_replaced_is_read_as_the_schema_says)
{
    uint64_t state = 2;
    struct sample sample;
    struct dpot_buf bytes;
    size_t n_taken = 0, n_left = 0;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    for (int i = 0; i < 12; i++) {
        draw_sample(&state, &sample);
        sample.batch.n_reports = sample.batch.n_reports < 3 ? sample.batch.n_reports : 2;
        encode(&sample.batch, &bytes);
        for (size_t at = 0; at < bytes.len; at++) {
            const uint8_t kept = bytes.data[at];
            for (unsigned byte = 0; byte < 256; byte++) {
                bytes.data[at] = (uint8_t)byte;
                const bool is_taken = expect_agreement(bytes.data, bytes.len);
                n_taken += is_taken;
                n_left += !is_taken;
            }
            bytes.data[at] = kept;
        }
    }
    cr_assert_gt(n_taken, 10000);
    cr_assert_gt(n_left, 10000);
    dpot_buf_release(&bytes);
}

Test(batch_reader, bytes_put_in_or_taken_out_are_read_as_the_schema_says)
{
    uint64_t state = 3;
    struct sample sample;
    struct dpot_buf bytes, other;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    dpot_buf_init(&other, BYTES_MAX, NULL);
    for (int i = 0; i < N_RANDOM; i++) {
        draw_sample(&state, &sample);
        encode(&sample.batch, &bytes);
        const size_t at = splitmix_below(&state, bytes.len);
        const uint8_t byte = (uint8_t)splitmix_below(&state, 256);
        (void)expect_agreement(bytes.data, at);
        dpot_buf_reset(&other);
        put_raw(&other, bytes.data, at);
        put_raw(&other, bytes.data + at + 1, bytes.len - at - 1);
        (void)expect_agreement(other.data, other.len);
        dpot_buf_reset(&other);
        put_raw(&other, bytes.data, at);
        put_raw(&other, &byte, 1);
        put_raw(&other, bytes.data + at, bytes.len - at);
        (void)expect_agreement(other.data, other.len);
    }
    dpot_buf_release(&other);
    dpot_buf_release(&bytes);
}

Test(batch_reader, five_thousand_reports_are_read_and_one_more_is_not)
{
    struct dpot_batch batch, read;
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    make_batch(&batch, DPOT_BATCH_REPORTS_MAX, NULL);
    encode(&batch, &bytes);
    cr_assert_eq(decode(&bytes, &read), DPOT_OK);
    cr_assert(is_same_batch(&batch, &read));
    dpot_batch_release(&read);
    dpot_batch_release(&batch);
    put_bytes(&bytes, 3,
              "\x0a\x10"
              "0123456789abcdef"
              "\x10\x05",
              20);
    cr_assert_eq(decode(&bytes, &read), DPOT_ERR_TOO_LARGE);
    dpot_batch_release(&read);
    dpot_buf_release(&bytes);
}

Test(batch_reader, without_memory_nothing_is_kept)
{
    uint64_t state = 5;
    struct sample sample;
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    do {
        draw_sample(&state, &sample);
    } while (sample.reports[0].n_values == 0);
    encode(&sample.batch, &bytes);
    for (size_t i = 1; i <= 3; i++) {
        struct test_allocator heap;
        struct dpot_error error = {""};
        struct dpot_batch read;
        test_allocator_init(&heap);
        test_allocator_fail_at(&heap, i);
        cr_assert_eq(dpot_wire_batch_decode(bytes.data, bytes.len, &heap.allocator, &read, &error),
                     DPOT_ERR_MEMORY, "allocation %zu", i);
        cr_assert_not_null(strstr(error.text, "no memory"), "%s", error.text);
        cr_assert_eq(heap.bytes, 0);
    }
    dpot_buf_release(&bytes);
}
