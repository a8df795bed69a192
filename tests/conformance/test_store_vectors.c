/* What every store does with vector reports: as test_store.c, with values. */
#include "conformance/bench.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define DIM_MAX 5000
#define REPORTS_MAX 8

/* An open revision whose hash begins with `number`. */
static struct revision_record open_revision(struct bench *b, uint8_t number)
{
    struct revision_record record = {.revision = 1, .name = "vectors"};
    memset(record.campaign_id, number, sizeof record.campaign_id);
    record.hash[0] = number;
    cr_assert_eq(store_add_revision(b->store, &record, record.hash, 2, NULL), DPOT_OK);
    cr_assert_eq(store_set_state(b->store, record.hash, REVISION_OPEN, NULL), DPOT_OK);
    return record;
}

static dpot_status append(struct bench *b, const uint8_t *hash, const struct dpot_report *reports,
                          size_t n, enum dpot_report_status *statuses)
{
    const uint8_t is_refused[REPORTS_MAX] = {0};
    struct store_append a = {
        .n_reports = n, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    memcpy(a.hash, hash, sizeof a.hash);
    return store_append_reports(b->store, &a, NULL);
}

/* Everything that a reader received; values are copied, since they are valid during the call only.
 */
struct seen {
    size_t n;
    struct dpot_report reports[REPORTS_MAX];
    int64_t *values; /* (REPORTS_MAX, DIM_MAX) */
};

static int note_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct seen *seen = ctx;
    (void)round;
    cr_assert_lt(seen->n, REPORTS_MAX);
    cr_assert_leq(report->n_values, DIM_MAX);
    int64_t *values = seen->values + seen->n * DIM_MAX;
    seen->reports[seen->n] = *report;
    seen->reports[seen->n++].values = values;
    if (report->n_values > 0) {
        memcpy(values, report->values, report->n_values * sizeof *values);
    } else {
        cr_assert_null(report->values);
    }
    return 0;
}

static void read_pool(struct bench *b, const uint8_t *hash, struct seen *seen)
{
    struct dpot_error error = {{0}};
    *seen = (struct seen){.values = calloc((size_t)REPORTS_MAX * DIM_MAX, sizeof(int64_t))};
    cr_assert_not_null(seen->values);
    cr_assert_eq(store_read_pool(b->store, hash, note_report, seen, &error), DPOT_OK, "%s",
                 error.text);
}

static void expect_same(const struct dpot_report *a, const struct dpot_report *b)
{
    cr_assert_eq(memcmp(a->id, b->id, DPOT_REPORT_ID_LEN), 0);
    cr_assert(a->index == b->index && a->group == b->group && a->test == b->test);
    cr_assert_eq(a->n_values, b->n_values);
    for (uint32_t j = 0; j < a->n_values; j++) {
        cr_assert_eq(a->values[j], b->values[j], "value %u: %lld and %lld", j,
                     (long long)a->values[j], (long long)b->values[j]);
    }
}

STORE_TEST(vectors_come_back_as_they_were_whatever_their_length)
{
    static const uint32_t dims[] = {1, 2, 785, DIM_MAX};
    static int64_t values[3][DIM_MAX];
    for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++) {
        const struct revision_record record = open_revision(b, (uint8_t)(d + 1));
        struct dpot_report reports[3];
        enum dpot_report_status statuses[3];
        struct seen seen;
        for (uint32_t i = 0; i < 3; i++) {
            reports[i] = vectors_report(i, dims[d], 3000, values[i]);
        }
        reports[1].group = 7;
        reports[2].test = true;
        cr_assert_eq(append(b, record.hash, reports, 2, statuses), DPOT_OK);
        cr_assert_eq(append(b, record.hash, reports + 2, 1, statuses + 2), DPOT_OK);
        bench_reopen(b);
        read_pool(b, record.hash, &seen);
        fixture_sort(reports, 3);
        cr_assert_eq(seen.n, 3);
        for (size_t i = 0; i < 3; i++) {
            cr_assert_eq(statuses[i], DPOT_REPORT_ACCEPTED);
            expect_same(&seen.reports[i], &reports[i]);
        }
        free(seen.values);
    }
}

STORE_TEST(numbers_of_every_width_up_to_the_extremes_are_kept)
{
    uint8_t number = 0;
    for (unsigned bits = 0; bits < 64; bits++) {
        const int64_t high = bits < 63 ? ((int64_t)1 << bits) - 1 : INT64_MAX;
        int64_t values[] = {high, -high - 1, 0, -1};
        struct dpot_report report = fixture_report(bits);
        enum dpot_report_status status;
        struct seen seen;
        const struct revision_record record = open_revision(b, ++number);
        report.index = 0;
        report.n_values = 4;
        report.values = values;
        cr_assert_eq(append(b, record.hash, &report, 1, &status), DPOT_OK);
        read_pool(b, record.hash, &seen);
        cr_assert_eq(seen.n, 1);
        expect_same(&seen.reports[0], &report);
        free(seen.values);
    }
}

STORE_TEST(a_vector_is_a_duplicate_by_its_id_before_and_after_a_restart)
{
    const struct revision_record record = open_revision(b, 1);
    int64_t values[5][3];
    struct dpot_report reports[5];
    enum dpot_report_status statuses[5];
    struct pool_count count;
    struct seen seen;
    for (uint32_t i = 0; i < 5; i++) {
        reports[i] = vectors_report(i, 3, i == 4 ? INT64_C(1) << 40 : 100, values[i]);
    }
    cr_assert_eq(append(b, record.hash, reports, 3, statuses), DPOT_OK);
    bench_reopen(b);
    cr_assert_eq(append(b, record.hash, reports + 1, 4, statuses + 1), DPOT_OK);
    cr_assert_eq(statuses[2], DPOT_REPORT_DUPLICATE);
    cr_assert_eq(statuses[3], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(append(b, record.hash, reports, 5, statuses), DPOT_OK);
    cr_assert_eq(store_count_pool(b->store, record.hash, &count, NULL), DPOT_OK);
    cr_assert_eq(count.n_accepted, 5);
    cr_assert_eq(count.n_duplicate, 7);
    read_pool(b, record.hash, &seen);
    fixture_sort(reports, 5);
    cr_assert_eq(seen.n, 5);
    for (size_t i = 0; i < 5; i++) {
        expect_same(&seen.reports[i], &reports[i]);
    }
    free(seen.values);
}

STORE_TEST(a_batch_of_mixed_shapes_is_refused_whole)
{
    const struct revision_record record = open_revision(b, 1);
    int64_t values[3][4];
    struct dpot_report reports[] = {vectors_report(0, 4, 9, values[0]),
                                    vectors_report(1, 3, 9, values[1]),
                                    vectors_report(2, 4, 9, values[2])};
    enum dpot_report_status statuses[3];
    struct pool_count count;
    struct seen seen;
    cr_assert_eq(append(b, record.hash, reports, 3, statuses), DPOT_ERR_SHAPE);
    reports[1] = fixture_report(1);
    cr_assert_eq(append(b, record.hash, reports, 3, statuses), DPOT_ERR_SHAPE);
    cr_assert_eq(store_count_pool(b->store, record.hash, &count, NULL), DPOT_OK);
    cr_assert_eq(count.n_accepted + count.n_duplicate, 0);
    cr_assert_eq(store_check(b->store, NULL), DPOT_OK);

    /* Nothing of a refused batch is stored: the same ids are new afterwards. */
    reports[1] = vectors_report(1, 4, 9, values[1]);
    cr_assert_eq(append(b, record.hash, reports, 3, statuses), DPOT_OK);
    cr_assert_eq(statuses[0], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(statuses[2], DPOT_REPORT_ACCEPTED);
    read_pool(b, record.hash, &seen);
    cr_assert_eq(seen.n, 3);
    free(seen.values);
}

STORE_TEST(refused_reports_need_not_have_the_shape_of_the_others)
{
    const struct revision_record record = open_revision(b, 1);
    int64_t values[2][4];
    const struct dpot_report reports[] = {vectors_report(0, 2, 9, values[0]), fixture_report(1),
                                          vectors_report(2, 4, 9, values[1])};
    const uint8_t is_refused[] = {1, 1, 0};
    enum dpot_report_status statuses[] = {DPOT_REPORT_REJECTED_MALFORMED,
                                          DPOT_REPORT_REJECTED_MALFORMED, 0};
    struct store_append a = {
        .n_reports = 3, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    struct seen seen;
    memcpy(a.hash, record.hash, sizeof a.hash);
    cr_assert_eq(store_append_reports(b->store, &a, NULL), DPOT_OK);
    read_pool(b, record.hash, &seen);
    cr_assert_eq(seen.n, 1);
    expect_same(&seen.reports[0], &reports[2]);
    free(seen.values);
}
