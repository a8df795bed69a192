/* The length of a body is public: it is the same for all reports that a campaign allows. */
#include "fixture.h"
#include "mechanism/mechanism.h"
#include "proto/wire_inner.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define BODY_BESIDE_LEN (4 + DPOT_SEAL_KEY_ID_LEN + DPOT_SEAL_OVERHEAD)

TestSuite(lengths, .init = start_proto_suite);

/* A campaign and the memory of one of its reports. */
struct subject {
    struct dpot_campaign campaign;
    int64_t *values; /* (dim) */
};

static void make_subject(struct subject *subject, const struct dpot_campaign *campaign)
{
    subject->campaign = *campaign;
    subject->values = calloc(campaign->vector.dim + 1, sizeof *subject->values);
    cr_assert_not_null(subject->values);
}

enum extreme { SMALLEST, LARGEST };

/* The values are the extremes that a device can draw, or 0, which has the shortest encoding. */
static struct dpot_report report_at(const struct subject *subject, enum extreme extreme)
{
    const struct dpot_campaign *campaign = &subject->campaign;
    struct dpot_report report = {.group = 0};
    if (extreme == LARGEST) {
        memset(report.id, 0xff, sizeof report.id);
        report.group = campaign->n_groups > 0 ? campaign->n_groups - 1 : 0;
        report.test = campaign->simulation;
    }
    if (!dpot_mechanism_is_vector(campaign->mechanism)) {
        report.index = extreme == LARGEST ? campaign->output.size - 1 : 0;
        return report;
    }
    report.n_values = campaign->vector.dim;
    report.values = subject->values;
    for (uint32_t j = 0; j < report.n_values; j++) {
        int64_t lo = 0, hi = 0;
        dpot_mechanism_value_range(campaign, j, &lo, &hi);
        report.values[j] = extreme == SMALLEST ? 0 : lo + hi > 0 ? hi : lo;
    }
    return report;
}

static struct dpot_batch batch_of(const struct subject *subject, struct dpot_report *reports,
                                  size_t n)
{
    struct dpot_batch batch = {.n_reports = n,
                               .reports = reports,
                               .report_len_max = dpot_wire_report_len_max(&subject->campaign)};
    return batch;
}

static dpot_status seal(const struct dpot_batch *batch, struct dpot_buf *body)
{
    struct dpot_seal_key seal_key;
    uint8_t secret_key[DPOT_SEAL_SECRET_LEN];
    make_seal_key(&seal_key, secret_key, 0, 1000);
    dpot_buf_init(body, DPOT_BATCH_BYTES_MAX, NULL);
    return dpot_wire_batch_seal(batch, &seal_key, body);
}

static size_t body_len(const struct dpot_batch *batch)
{
    struct dpot_buf body;
    cr_assert_eq(seal(batch, &body), DPOT_OK);
    const size_t len = body.len;
    dpot_buf_release(&body);
    return len;
}

static size_t batch_len(const struct dpot_batch *batch)
{
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_BATCH_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_batch_encode(batch, &bytes), DPOT_OK);
    const size_t len = bytes.len;
    dpot_buf_release(&bytes);
    return len;
}

/* One length for the smallest and the largest report, in the first round and the last, which is
 * exactly what the largest batch takes, with losses. */
static void expect_one_length(const struct subject *subject)
{
    for (size_t n = 1; n <= 3; n++) {
        struct dpot_report least[3], most[3];
        for (size_t i = 0; i < 3; i++) {
            least[i] = report_at(subject, SMALLEST);
            most[i] = report_at(subject, i == 0 ? LARGEST : SMALLEST);
        }
        struct dpot_batch batch = batch_of(subject, least, n);
        const size_t len = body_len(&batch);
        cr_assert_eq(len, BODY_BESIDE_LEN + dpot_wire_batch_plain_len(n, batch.report_len_max));
        batch.reports = most;
        batch.round = UINT32_MAX;
        batch.has_losses = true;
        cr_assert_eq(body_len(&batch), len, "%s, %zu reports", subject->campaign.name, n);
    }
    struct dpot_report most = report_at(subject, LARGEST);
    most.test = true;
    struct dpot_batch largest = batch_of(subject, &most, 1);
    largest.round = UINT32_MAX;
    largest.has_losses = true;
    cr_assert_eq(batch_len(&largest) + DPOT_BATCH_LENGTH_LEN,
                 dpot_wire_batch_plain_len(1, largest.report_len_max), "%s",
                 subject->campaign.name);
}

static void expect_one_length_of(void (*make)(struct dpot_campaign *,
                                              const struct dpot_allocator *))
{
    struct subject subject;
    struct dpot_campaign campaign;
    make(&campaign, NULL);
    make_subject(&subject, &campaign);
    expect_one_length(&subject);
    free(subject.values);
    dpot_campaign_release(&campaign);
}

Test(lengths, do_not_reveal_an_index_whatever_mechanism_drew_it)
{
    expect_one_length_of(make_grid_campaign);
    expect_one_length_of(make_points_campaign);
    expect_one_length_of(make_ring_campaign);
    expect_one_length_of(make_sphere_campaign);
    expect_one_length_of(make_kpm_campaign);
    expect_one_length_of(make_exponential_campaign);
}

Test(lengths, as_many_groups_and_points_as_there_can_be_have_one_length)
{
    const uint32_t sizes[] = {1, 2, 127, 128, 129, 16384, 16385, DPOT_DOMAIN_SIZE_MAX};
    const uint32_t groups[] = {0, 1, 2, 128, 129, DPOT_GROUPS_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t j = 0; j < sizeof groups / sizeof groups[0]; j++) {
            struct subject subject = {.campaign = {.mechanism = DPOT_MECHANISM_WPM,
                                                   .output = {.size = sizes[i]},
                                                   .n_groups = groups[j]}};
            expect_one_length(&subject);
        }
    }
}

static struct dpot_campaign vector_campaign(enum dpot_mechanism_id mechanism, uint32_t scale_log2,
                                            uint32_t dim)
{
    struct dpot_campaign campaign = {.name = "vectors", .mechanism = mechanism};
    campaign.noise.scale_log2 = scale_log2;
    campaign.vector.dim = dim;
    return campaign;
}

Test(lengths, do_not_reveal_the_numbers_of_a_vector)
{
    const uint32_t dims[] = {1, 2, 17, 18, 60, 200, 3000};
    const uint32_t laplace[] = {1, 2, 7, 8, 40}, gaussian[] = {2, 3, 12, 24};
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        for (size_t j = 0; j < 9; j++) {
            struct subject subject;
            struct dpot_campaign campaign =
                j < 5 ? vector_campaign(DPOT_MECHANISM_LAPLACE, laplace[j], dims[i])
                      : vector_campaign(DPOT_MECHANISM_GAUSSIAN, gaussian[j - 5], dims[i]);
            campaign.vector.set = j % 2 == 0 ? DPOT_VECTOR_L1_BALL : DPOT_VECTOR_L2_BALL;
            campaign.vector.radius = 1000;
            make_subject(&subject, &campaign);
            expect_one_length(&subject);
            free(subject.values);
        }
    }
}

Test(lengths, each_side_of_a_box_counts_by_itself)
{
    int64_t lo[] = {0, -((int64_t)1 << 40), 0, -3}, hi[] = {1, 0, (int64_t)1 << 40, 3};
    struct subject subject;
    struct dpot_campaign campaign = vector_campaign(DPOT_MECHANISM_GAUSSIAN, 2, 4);
    campaign.vector.set = DPOT_VECTOR_BOX;
    campaign.vector.n_sides = 4;
    campaign.vector.lo = lo;
    campaign.vector.hi = hi;
    make_subject(&subject, &campaign);
    expect_one_length(&subject);
    const size_t uneven = dpot_wire_report_len_max(&campaign);
    subject.campaign.vector.n_sides = 1;
    expect_one_length(&subject);
    cr_assert_eq(dpot_wire_report_len_max(&subject.campaign), uneven - 2 * (6 - 1),
                 "two sides of 2^40 grid units are 5 bytes longer each");
    free(subject.values);
}

Test(lengths, the_largest_campaign_that_there_can_be_fits_a_body)
{
    int64_t lo = -DPOT_VECTOR_SIDE_MAX, hi = DPOT_VECTOR_SIDE_MAX;
    struct subject subject;
    struct dpot_campaign campaign =
        vector_campaign(DPOT_MECHANISM_LAPLACE, DPOT_LAPLACE_SCALE_LOG2_MAX, DPOT_VECTOR_DIM_MAX);
    campaign.vector.set = DPOT_VECTOR_BOX;
    campaign.vector.n_sides = 1;
    campaign.vector.lo = &lo;
    campaign.vector.hi = &hi;
    campaign.n_groups = DPOT_GROUPS_MAX;
    make_subject(&subject, &campaign);
    struct dpot_report report = report_at(&subject, LARGEST);
    struct dpot_batch batch = batch_of(&subject, &report, 1);
    cr_assert_lt(body_len(&batch), 7 * (DPOT_VECTOR_DIM_MAX + 100));
    struct dpot_report two[] = {report, report};
    struct dpot_buf body;
    batch = batch_of(&subject, two, 2);
    cr_assert_eq(seal(&batch, &body), DPOT_ERR_TOO_LARGE);
    dpot_buf_release(&body);
    free(subject.values);
}

Test(lengths, a_report_that_no_device_can_send_is_not_padded)
{
    struct subject subject = {
        .campaign = {.mechanism = DPOT_MECHANISM_WPM, .output = {.size = 10}}};
    int64_t values[40] = {0};
    struct dpot_report report = {.n_values = 40, .values = values};
    struct dpot_batch batch = batch_of(&subject, &report, 1);
    struct dpot_buf body;
    cr_assert_eq(seal(&batch, &body), DPOT_ERR_ARGUMENT);
    cr_assert_eq(body.len, 0);
    dpot_buf_release(&body);
}

/* The formula in report.proto, by hand: other implementations have only that. */
Test(lengths, are_those_of_the_schema)
{
    int64_t lo = 0, hi = 1;
    struct dpot_campaign ring = {.mechanism = DPOT_MECHANISM_WPM, .output = {.size = 300}};
    cr_assert_eq(dpot_wire_report_len_max(&ring), 2 + 18 + 3 + 2);
    ring.n_groups = 200;
    cr_assert_eq(dpot_wire_report_len_max(&ring), 2 + 18 + 3 + 3 + 2);
    cr_assert_eq(dpot_wire_batch_plain_len(2, 28), 49 + 2 * 28);
    struct dpot_campaign box = vector_campaign(DPOT_MECHANISM_GAUSSIAN, 2, 60);
    box.vector.set = DPOT_VECTOR_BOX;
    box.vector.n_sides = 1;
    box.vector.lo = &lo;
    box.vector.hi = &hi;
    cr_assert_eq(dpot_wire_report_len_max(&box), 2 + 18 + 2 + 2 + 60 + 2, "-47 and 48: a byte");
    box.noise.scale_log2 = 3;
    cr_assert_eq(dpot_wire_report_len_max(&box), 3 + 18 + 2 + 2 + 120 + 2, "-95: two");
    box.mechanism = DPOT_MECHANISM_LAPLACE;
    box.noise.scale_log2 = 1;
    hi = 0;
    cr_assert_eq(dpot_wire_report_len_max(&box), 2 + 18 + 2 + 2 + 60 + 2, "-63 and 63");
    box.noise.scale_log2 = 2;
    cr_assert_eq(dpot_wire_report_len_max(&box), 3 + 18 + 2 + 2 + 120 + 2, "-127 and 127");
}

/* ---- reading ---- */

/* The plain text of three reports of a ring of 300. */
static struct dpot_buf plain_of(struct dpot_batch *batch, struct dpot_report reports[3])
{
    struct subject subject = {
        .campaign = {.mechanism = DPOT_MECHANISM_WPM, .output = {.size = 300}}};
    struct dpot_buf body, plain;
    struct dpot_seal_key seal_key;
    uint8_t secret_key[DPOT_SEAL_SECRET_LEN];
    for (uint32_t i = 0; i < 3; i++) {
        reports[i] = (struct dpot_report){.id = {(uint8_t)i}, .index = 100 * i};
    }
    *batch = batch_of(&subject, reports, 3);
    batch->round = 2;
    make_seal_key(&seal_key, secret_key, 0, 1000);
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, NULL);
    dpot_buf_init(&plain, DPOT_BATCH_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_batch_seal(batch, &seal_key, &body), DPOT_OK);
    plain.len = body.len - BODY_BESIDE_LEN;
    cr_assert_eq(dpot_buf_reserve(&plain, 0), DPOT_OK);
    plain.data = realloc(plain.data, plain.len + 3);
    plain.cap = plain.len + 3;
    cr_assert_eq(dpot_seal_open(plain.data, body.data + DPOT_BATCH_HEAD_LEN,
                                body.len - DPOT_BATCH_HEAD_LEN, seal_key.public_key, secret_key),
                 DPOT_OK);
    dpot_buf_release(&body);
    return plain;
}

static void expect_padded(const struct dpot_buf *plain, dpot_status expected, const char *part)
{
    struct dpot_batch batch;
    struct dpot_error error = {""};
    cr_assert_eq(dpot_wire_batch_decode_padded(plain->data, plain->len, NULL, &batch, &error),
                 expected, "%s", error.text);
    cr_assert(expected == DPOT_OK || strstr(error.text, part), "%s", error.text);
    cr_assert(expected == DPOT_OK || (batch.n_reports == 0 && !batch.reports));
    dpot_batch_release(&batch);
}

Test(lengths, every_byte_of_the_padding_is_zero)
{
    struct dpot_batch batch;
    struct dpot_report reports[3];
    struct dpot_buf plain = plain_of(&batch, reports);
    const size_t end = DPOT_BATCH_LENGTH_LEN + dpot_load_u32(plain.data);
    cr_assert_lt(end, plain.len);
    expect_padded(&plain, DPOT_OK, "");
    for (size_t i = end; i < plain.len; i++) {
        plain.data[i] = 1;
        expect_padded(&plain, DPOT_ERR_MALFORMED, "not zeros");
        plain.data[i] = 0;
    }
    dpot_buf_release(&plain);
}

Test(lengths, the_length_of_the_batch_is_its_length)
{
    struct dpot_batch batch;
    struct dpot_report reports[3];
    struct dpot_buf plain = plain_of(&batch, reports);
    const uint32_t len = dpot_load_u32(plain.data), room = (uint32_t)plain.len - 4;
    for (uint32_t wrong = 0; wrong <= room + 2; wrong++) {
        struct dpot_batch read;
        dpot_store_u32(plain.data, wrong);
        const dpot_status status =
            dpot_wire_batch_decode_padded(plain.data, plain.len, NULL, &read, NULL);
        cr_assert_eq(status == DPOT_OK, wrong == len, "%u", wrong);
        dpot_batch_release(&read);
    }
    const uint32_t outside[] = {0, room + 1, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        dpot_store_u32(plain.data, outside[i]);
        expect_padded(&plain, DPOT_ERR_MALFORMED, "there is space for");
    }
    dpot_buf_release(&plain);
}

Test(lengths, a_body_is_padded_by_the_same_length_for_each_report)
{
    struct dpot_batch batch;
    struct dpot_report reports[3];
    struct dpot_buf plain = plain_of(&batch, reports);
    for (size_t more = 1; more < 3; more++) {
        plain.data[plain.len++] = 0;
        expect_padded(&plain, DPOT_ERR_MALFORMED, "for each of 3 reports");
    }
    plain.data[plain.len++] =
        0; /* valid for a campaign of longer reports: ingest knows the campaign */
    expect_padded(&plain, DPOT_OK, "");
    for (plain.len = 0; plain.len < DPOT_BATCH_LENGTH_LEN + 1; plain.len++) {
        expect_padded(&plain, DPOT_ERR_MALFORMED, "there is space for");
    }
    dpot_buf_release(&plain);
}
