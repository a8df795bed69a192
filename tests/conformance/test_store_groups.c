/* Several batches in one commit, in every backend. */
#include "conformance/bench.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define REPORTS_MAX 16
#define GROUP_MAX 200

static struct revision_record add_open(struct bench *b, uint8_t campaign)
{
    struct revision_record record = {.revision = 1, .created_ms = FIXTURE_NOW_MS};
    memset(record.campaign_id, campaign, sizeof record.campaign_id);
    record.hash[0] = campaign;
    (void)snprintf(record.name, sizeof record.name, "campaign-%u", campaign);
    cr_assert_eq(store_add_revision(b->store, &record, record.hash, 2, NULL), DPOT_OK);
    cr_assert_eq(store_set_state(b->store, record.hash, REVISION_OPEN, NULL), DPOT_OK);
    return record;
}

/* One append and its arrays. */
struct batch {
    struct store_append append;
    struct dpot_report reports[REPORTS_MAX];
    uint8_t is_refused[REPORTS_MAX];
    enum dpot_report_status statuses[REPORTS_MAX];
    int64_t values[3];
};

static struct batch batches[GROUP_MAX];
static const struct store_append *appends[GROUP_MAX];
static dpot_status outcomes[GROUP_MAX];

/* Sets batch `at` of the group: reports first, first + 1, ... */
static void fill(size_t at, const uint8_t *hash, uint32_t round, uint32_t first, size_t n)
{
    struct batch *batch = &batches[at];
    memset(batch, 0, sizeof *batch);
    for (size_t i = 0; i < n; i++) {
        batch->reports[i] = fixture_report(first + (uint32_t)i);
    }
    batch->append = (struct store_append){.round = round,
                                          .n_reports = n,
                                          .reports = batch->reports,
                                          .is_refused = batch->is_refused,
                                          .statuses = batch->statuses};
    memcpy(batch->append.hash, hash, sizeof batch->append.hash);
    appends[at] = &batch->append;
}

static void commit(struct bench *b, size_t n)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(store_append_group(b->store, appends, n, outcomes, &error), DPOT_OK, "%s",
                 error.text);
}

static uint64_t n_stored(struct bench *b, const struct revision_record *record)
{
    struct pool_count count;
    cr_assert_eq(store_count_pool(b->store, record->hash, &count, NULL), DPOT_OK);
    return count.n_accepted;
}

/* The pool that was read. */
struct seen {
    uint8_t ids[64][DPOT_REPORT_ID_LEN];
    int64_t widest[3]; /* the sums of the vectors */
    size_t n;
};

static int note_id(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct seen *seen = ctx;
    (void)round;
    memcpy(seen->ids[seen->n++], report->id, DPOT_REPORT_ID_LEN);
    return 0;
}

static int note_values(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct seen *seen = ctx;
    (void)round;
    for (size_t j = 0; j < 3; j++) {
        seen->widest[j] += report->values[j];
    }
    seen->n++;
    return 0;
}

STORE_TEST(a_group_is_read_in_the_order_of_ids)
{
    const struct revision_record one = add_open(b, 1), two = add_open(b, 2);
    struct seen seen = {.n = 0};
    fill(0, one.hash, 0, 10, 3);
    fill(1, two.hash, 0, 0, 2);
    fill(2, one.hash, 0, 0, 3);
    commit(b, 3);
    bench_reopen(b);
    cr_assert_eq(store_read_pool(b->store, one.hash, note_id, &seen, NULL), DPOT_OK);
    cr_assert_eq(seen.n, 6);
    for (size_t i = 1; i < seen.n; i++) {
        cr_assert_lt(memcmp(seen.ids[i - 1], seen.ids[i], sizeof seen.ids[i]), 0);
    }
}

STORE_TEST(a_report_in_two_batches_of_a_group_is_accepted_once)
{
    const struct revision_record record = add_open(b, 1);
    fill(0, record.hash, 0, 0, 4);
    fill(1, record.hash, 0, 2, 4);
    fill(2, record.hash, 1, 2, 4);
    commit(b, 3);
    cr_assert_eq(batches[1].statuses[1], DPOT_REPORT_DUPLICATE);
    cr_assert_eq(batches[1].statuses[2], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(batches[2].statuses[0], DPOT_REPORT_ACCEPTED, "another round is another set");
    cr_assert_eq(n_stored(b, &record), 10);
}

STORE_TEST(a_batch_that_is_refused_costs_the_others_of_its_group_nothing)
{
    const struct revision_record open = add_open(b, 1), closed = add_open(b, 2);
    const uint8_t unknown[DPOT_HASH_LEN] = {9};
    cr_assert_eq(store_set_state(b->store, closed.hash, REVISION_CLOSED, NULL), DPOT_OK);
    fill(0, closed.hash, 0, 0, 2);
    fill(1, open.hash, 0, 0, 2);
    fill(2, unknown, 0, 0, 2);
    fill(3, open.hash, 0, 2, 2);
    fill(4, open.hash, 0, 4, 2); /* one of its reports is a vector */
    batches[4].reports[1].n_values = 3;
    batches[4].reports[1].values = batches[4].values;
    fill(5, open.hash, 0, 6, 1); /* all of them */
    batches[5].reports[0].n_values = 3;
    batches[5].reports[0].values = batches[5].values;
    fill(6, open.hash, 0, 4, 2);
    commit(b, 7);
    cr_assert_eq(outcomes[0], DPOT_ERR_CLOSED);
    cr_assert_eq(outcomes[2], DPOT_ERR_NOT_FOUND);
    cr_assert_eq(outcomes[4], DPOT_ERR_SHAPE);
    cr_assert_eq(outcomes[5], DPOT_ERR_SHAPE);
    for (size_t i = 1; i < 7; i += i == 3 ? 3 : 2) {
        cr_assert_eq(outcomes[i], DPOT_OK);
        cr_assert_eq(batches[i].statuses[0], DPOT_REPORT_ACCEPTED);
    }
    cr_assert_eq(n_stored(b, &open), 6);
    cr_assert_eq(n_stored(b, &closed), 0);
}

STORE_TEST(a_vector_group_is_as_wide_as_its_widest_batch)
{
    const struct revision_record record = add_open(b, 1);
    const int64_t widest[3] = {-3, INT64_MAX, 70000};
    for (size_t i = 0; i < 3; i++) {
        fill(i, record.hash, 0, (uint32_t)i, 1);
        batches[i].values[i] = widest[i];
        batches[i].reports[0].n_values = 3;
        batches[i].reports[0].values = batches[i].values;
    }
    commit(b, 3);
    struct seen seen = {.n = 0};
    cr_assert_eq(store_read_pool(b->store, record.hash, note_values, &seen, NULL), DPOT_OK);
    cr_assert_eq(seen.n, 3);
    cr_assert_eq(memcmp(seen.widest, widest, sizeof widest), 0);
}

/* More sets than are kept, each used twice: an id is known whether its set was kept or not. */
STORE_TEST(a_group_over_many_campaigns_keeps_every_id_once)
{
    enum { N = 100 };
    struct revision_record records[N];
    for (uint8_t i = 0; i < N; i++) {
        records[i] = add_open(b, i);
    }
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < 2 * (size_t)N; i++) {
            fill(i, records[i % N].hash, 0, (uint32_t)(turn * 2), 4);
        }
        commit(b, 2 * (size_t)N);
        for (size_t i = 0; i < N; i++) {
            cr_assert_eq(n_stored(b, &records[i]), 4 + 2 * (uint64_t)turn);
            cr_assert_eq(batches[N + i].statuses[3], DPOT_REPORT_DUPLICATE);
        }
    }
}

STORE_TEST(ids_that_were_loaded_at_the_start_are_duplicates)
{
    const struct revision_record record = add_open(b, 1);
    struct store_id_usage usage;
    for (uint32_t round = 0; round < 4; round++) {
        fill(0, record.hash, round, 0, REPORTS_MAX);
        commit(b, 1);
    }
    bench_reopen(b);
    cr_assert_eq(store_load_ids(b->store, NULL), DPOT_OK);
    store_get_id_usage(b->store, &usage);
    cr_assert_eq(usage.n_ids, 2 * REPORTS_MAX, "the two newest rounds are kept");
    cr_assert_gt(usage.n_bytes, 16 * 2 * REPORTS_MAX);
    commit(b, 1);
    cr_assert_eq(batches[0].statuses[0], DPOT_REPORT_DUPLICATE);
}
