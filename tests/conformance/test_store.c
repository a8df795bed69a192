/* Revisions and reports, in every backend. A new backend adds a row in bench.c. */
#include "conformance/bench.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Revision `revision` of campaign number `campaign`; its hash begins with both numbers. */
static struct revision_record record_of(uint8_t campaign, uint32_t revision)
{
    struct revision_record record = {.revision = revision, .created_ms = FIXTURE_NOW_MS};
    memset(record.campaign_id, campaign, sizeof record.campaign_id);
    record.hash[0] = campaign;
    record.hash[1] = (uint8_t)revision;
    (void)snprintf(record.name, sizeof record.name, "campaign-%u", campaign);
    return record;
}

static struct revision_record add(struct bench *b, uint8_t campaign, uint32_t revision)
{
    const struct revision_record record = record_of(campaign, revision);
    struct dpot_error error = {{0}};
    cr_assert_eq(store_add_revision(b->store, &record, record.hash, 2, &error), DPOT_OK, "%s",
                 error.text);
    return record;
}

static struct revision_record add_open(struct bench *b, uint8_t campaign, uint32_t revision)
{
    const struct revision_record record = add(b, campaign, revision);
    cr_assert_eq(store_set_state(b->store, record.hash, REVISION_OPEN, NULL), DPOT_OK);
    return record;
}

static enum revision_state state_of(struct bench *b, const struct revision_record *record)
{
    struct revision_record found;
    cr_assert_eq(store_get_revision(b->store, record->hash, &found, NULL, NULL), DPOT_OK);
    return found.state;
}

#define BATCH_MAX 64

/* Reports first, first + 1, ... of one batch. */
static dpot_status append(struct bench *b, const uint8_t *hash, uint32_t round, uint32_t first,
                          size_t n, enum dpot_report_status *statuses)
{
    struct dpot_report reports[BATCH_MAX];
    const uint8_t is_refused[BATCH_MAX] = {0};
    for (size_t i = 0; i < n; i++) {
        reports[i] = fixture_report(first + (uint32_t)i);
    }
    struct store_append a = {.round = round,
                             .n_reports = n,
                             .reports = reports,
                             .is_refused = is_refused,
                             .statuses = statuses};
    memcpy(a.hash, hash, sizeof a.hash);
    return store_append_reports(b->store, &a, NULL);
}

static size_t n_accepted(const enum dpot_report_status *statuses, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        cr_assert(statuses[i] == DPOT_REPORT_ACCEPTED || statuses[i] == DPOT_REPORT_DUPLICATE);
        count += statuses[i] == DPOT_REPORT_ACCEPTED;
    }
    return count;
}

static struct pool_count count_of(struct bench *b, const uint8_t *hash)
{
    struct pool_count count;
    cr_assert_eq(store_count_pool(b->store, hash, &count, NULL), DPOT_OK);
    return count;
}

STORE_TEST(an_unknown_scheme_is_refused_by_name)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open("oracle:x", &store, &error), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "oracle:x"));
    cr_assert_null(store);
    (void)b;
}

STORE_TEST(a_new_store_is_ready_and_empty)
{
    struct revision_record record;
    const uint8_t nobody[DPOT_HASH_LEN] = {0};
    cr_assert_eq(store_check(b->store, NULL), DPOT_OK);
    cr_assert_eq(store_get_revision(b->store, nobody, &record, NULL, NULL), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(store_find_campaign(b->store, nobody, &record, NULL, NULL), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(count_of(b, nobody).n_accepted, 0);
}

STORE_TEST(a_revision_comes_back_as_it_was_added)
{
    const struct revision_record added = add(b, 1, 1);
    struct revision_record found;
    struct dpot_buf bytes;
    bench_reopen(b);
    dpot_buf_init(&bytes, 100, NULL);
    cr_assert_eq(store_get_revision(b->store, added.hash, &found, &bytes, NULL), DPOT_OK);
    cr_assert_eq(found.state, REVISION_DRAFT);
    cr_assert_eq(found.revision, 1);
    cr_assert_eq(found.created_ms, FIXTURE_NOW_MS);
    cr_assert_str_eq(found.name, "campaign-1");
    cr_assert_eq(memcmp(found.campaign_id, added.campaign_id, DPOT_CAMPAIGN_ID_LEN), 0);
    cr_assert_eq(bytes.len, 2);
    cr_assert_eq(memcmp(bytes.data, added.hash, 2), 0);
    dpot_buf_release(&bytes);
}

STORE_TEST(a_hash_or_a_revision_number_exists_once)
{
    struct revision_record record = add(b, 1, 1);
    cr_assert_eq(store_add_revision(b->store, &record, "x", 1, NULL), DPOT_ERR_EXISTS);
    record.hash[5] = 9;
    cr_assert_eq(store_add_revision(b->store, &record, "x", 1, NULL), DPOT_ERR_EXISTS);
    record.revision = 2;
    cr_assert_eq(store_add_revision(b->store, &record, "x", 1, NULL), DPOT_OK);
}

STORE_TEST(opening_a_revision_closes_the_former_and_no_other_campaign)
{
    const struct revision_record first = add_open(b, 1, 1), other = add_open(b, 2, 1);
    const struct revision_record second = add_open(b, 1, 2);
    cr_assert_eq(state_of(b, &first), REVISION_CLOSED);
    cr_assert_eq(state_of(b, &second), REVISION_OPEN);
    cr_assert_eq(state_of(b, &other), REVISION_OPEN);
}

STORE_TEST(a_closed_revision_never_opens_again)
{
    const struct revision_record record = add_open(b, 1, 1);
    struct dpot_error error = {{0}};
    cr_assert_eq(store_set_state(b->store, record.hash, REVISION_CLOSED, NULL), DPOT_OK);
    cr_assert_eq(store_set_state(b->store, record.hash, REVISION_CLOSED, NULL), DPOT_OK);
    cr_assert_eq(store_set_state(b->store, record.hash, REVISION_OPEN, &error), DPOT_ERR_CLOSED);
    cr_assert_not_null(strstr(error.text, "never opens again"));
    cr_assert_eq(state_of(b, &record), REVISION_CLOSED);
}

STORE_TEST(a_revision_never_becomes_a_draft_again)
{
    const struct revision_record record = add_open(b, 1, 1);
    cr_assert_eq(store_set_state(b->store, record.hash, REVISION_DRAFT, NULL), DPOT_ERR_ARGUMENT);
    cr_assert_eq(state_of(b, &record), REVISION_OPEN);
}

STORE_TEST(the_state_of_an_unknown_revision_cannot_change)
{
    const struct revision_record record = record_of(9, 9);
    cr_assert_eq(store_set_state(b->store, record.hash, REVISION_OPEN, NULL), DPOT_ERR_NOT_FOUND);
}

STORE_TEST(a_campaign_is_found_by_its_open_revision_then_closed_then_draft)
{
    struct revision_record found;
    const struct revision_record first = add(b, 1, 1);
    const uint8_t *id = first.campaign_id;
    cr_assert_eq(store_find_campaign(b->store, id, &found, NULL, NULL), DPOT_OK);
    cr_assert_eq(found.revision, 1);
    cr_assert_eq(store_set_state(b->store, first.hash, REVISION_CLOSED, NULL), DPOT_OK);
    (void)add(b, 1, 2);
    cr_assert_eq(store_find_campaign(b->store, id, &found, NULL, NULL), DPOT_OK);
    cr_assert_eq(found.revision, 1);
    (void)add_open(b, 1, 3);
    (void)add(b, 1, 4);
    cr_assert_eq(store_find_campaign(b->store, id, &found, NULL, NULL), DPOT_OK);
    cr_assert_eq(found.revision, 3);
}

static int note_order(void *ctx, const struct revision_record *record)
{
    char *order = ctx;
    const size_t len = strlen(order);
    (void)snprintf(order + len, 64 - len, "%u.%u ", record->campaign_id[0], record->revision);
    return len > 40;
}

STORE_TEST(revisions_are_listed_newest_campaign_first_and_revisions_descending)
{
    char order[64] = "";
    (void)add(b, 1, 1);
    (void)add(b, 2, 1);
    (void)add(b, 1, 2);
    cr_assert_eq(store_list_revisions(b->store, note_order, order, NULL), DPOT_OK);
    cr_assert_str_eq(order, "2.1 1.2 1.1 ");
}

static int stop_at_once(void *ctx, const struct revision_record *record)
{
    (void)record;
    ++*(int *)ctx;
    return 1;
}

STORE_TEST(a_listing_stops_when_asked)
{
    int n = 0;
    (void)add(b, 1, 1);
    (void)add(b, 2, 1);
    cr_assert_eq(store_list_revisions(b->store, stop_at_once, &n, NULL), DPOT_OK);
    cr_assert_eq(n, 1);
}

STORE_TEST(a_report_is_accepted_once_within_its_round)
{
    const struct revision_record record = add_open(b, 1, 1);
    enum dpot_report_status statuses[BATCH_MAX];
    cr_assert_eq(append(b, record.hash, 0, 0, 10, statuses), DPOT_OK);
    cr_assert_eq(n_accepted(statuses, 10), 10);
    cr_assert_eq(append(b, record.hash, 0, 5, 10, statuses), DPOT_OK);
    cr_assert_eq(n_accepted(statuses, 10), 5);
    cr_assert_eq(statuses[4], DPOT_REPORT_DUPLICATE);
    cr_assert_eq(statuses[5], DPOT_REPORT_ACCEPTED);
    const struct pool_count count = count_of(b, record.hash);
    cr_assert_eq(count.n_accepted, 15);
    cr_assert_eq(count.n_duplicate, 5);
}

STORE_TEST(a_report_sent_twice_in_one_batch_is_accepted_once)
{
    const struct revision_record record = add_open(b, 1, 1);
    const struct dpot_report reports[] = {fixture_report(1), fixture_report(2), fixture_report(1)};
    const uint8_t is_refused[3] = {0};
    enum dpot_report_status statuses[3];
    struct store_append a = {
        .n_reports = 3, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    memcpy(a.hash, record.hash, sizeof a.hash);
    cr_assert_eq(store_append_reports(b->store, &a, NULL), DPOT_OK);
    cr_assert_eq(statuses[0], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(statuses[1], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(statuses[2], DPOT_REPORT_DUPLICATE);
    cr_assert_eq(count_of(b, record.hash).n_accepted, 2);
}

STORE_TEST(a_report_is_a_duplicate_after_the_store_was_opened_again)
{
    const struct revision_record record = add_open(b, 1, 1);
    enum dpot_report_status statuses[BATCH_MAX];
    cr_assert_eq(append(b, record.hash, 0, 0, 20, statuses), DPOT_OK);
    bench_reopen(b);
    cr_assert_eq(append(b, record.hash, 0, 10, 20, statuses), DPOT_OK);
    cr_assert_eq(n_accepted(statuses, 20), 10);
    bench_reopen(b);
    cr_assert_eq(count_of(b, record.hash).n_accepted, 30);
    cr_assert_eq(count_of(b, record.hash).n_duplicate, 10);
}

STORE_TEST(the_same_id_counts_anew_in_another_round_or_revision)
{
    const struct revision_record one = add_open(b, 1, 1), two = add_open(b, 2, 1);
    enum dpot_report_status statuses[BATCH_MAX];
    cr_assert_eq(append(b, one.hash, 0, 0, 5, statuses), DPOT_OK);
    cr_assert_eq(append(b, one.hash, 1, 0, 5, statuses), DPOT_OK);
    cr_assert_eq(n_accepted(statuses, 5), 5);
    cr_assert_eq(append(b, two.hash, 0, 0, 5, statuses), DPOT_OK);
    cr_assert_eq(n_accepted(statuses, 5), 5);
    cr_assert_eq(count_of(b, one.hash).n_accepted, 10);
    cr_assert_eq(count_of(b, two.hash).n_accepted, 5);
}

STORE_TEST(rounds_may_come_in_any_order)
{
    const struct revision_record record = add_open(b, 1, 1);
    enum dpot_report_status statuses[BATCH_MAX];
    static const uint32_t rounds[] = {0, 7, 0, 3, 7, 99, 0};
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        cr_assert_eq(append(b, record.hash, rounds[i], 0, 8, statuses), DPOT_OK);
    }
    cr_assert_eq(count_of(b, record.hash).n_accepted, 4 * 8);
    cr_assert_eq(count_of(b, record.hash).n_duplicate, 3 * 8);
}

STORE_TEST(an_id_of_zeros_is_an_id_like_any_other)
{
    const struct revision_record record = add_open(b, 1, 1);
    const struct dpot_report zero = {.index = 1};
    const uint8_t is_refused[1] = {0};
    enum dpot_report_status status;
    struct store_append a = {
        .n_reports = 1, .reports = &zero, .is_refused = is_refused, .statuses = &status};
    memcpy(a.hash, record.hash, sizeof a.hash);
    cr_assert_eq(store_append_reports(b->store, &a, NULL), DPOT_OK);
    cr_assert_eq(status, DPOT_REPORT_ACCEPTED);
    bench_reopen(b);
    cr_assert_eq(store_append_reports(b->store, &a, NULL), DPOT_OK);
    cr_assert_eq(status, DPOT_REPORT_DUPLICATE);
}

STORE_TEST(refused_reports_are_counted_and_not_stored)
{
    const struct revision_record record = add_open(b, 1, 1);
    const struct dpot_report reports[] = {fixture_report(1), fixture_report(2), fixture_report(3)};
    const uint8_t is_refused[] = {1, 0, 1};
    enum dpot_report_status statuses[] = {DPOT_REPORT_REJECTED_RANGE, 0, DPOT_REPORT_REJECTED_TEST};
    struct store_append a = {
        .n_reports = 3, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    memcpy(a.hash, record.hash, sizeof a.hash);
    cr_assert_eq(store_append_reports(b->store, &a, NULL), DPOT_OK);
    cr_assert_eq(statuses[0], DPOT_REPORT_REJECTED_RANGE);
    cr_assert_eq(statuses[1], DPOT_REPORT_ACCEPTED);
    bench_reopen(b);
    const struct pool_count count = count_of(b, record.hash);
    cr_assert_eq(count.n_accepted, 1);
    cr_assert_eq(count.n_rejected[DPOT_REPORT_REJECTED_RANGE], 1);
    cr_assert_eq(count.n_rejected[DPOT_REPORT_REJECTED_TEST], 1);
    cr_assert_eq(count.n_rejected[DPOT_REPORT_REJECTED_GROUP], 0);
}

STORE_TEST(only_an_open_revision_takes_reports)
{
    enum dpot_report_status statuses[BATCH_MAX];
    const struct revision_record unknown = record_of(9, 9), record = add(b, 1, 1);
    cr_assert_eq(append(b, unknown.hash, 0, 0, 1, statuses), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(append(b, record.hash, 0, 0, 1, statuses), DPOT_ERR_CLOSED);
    cr_assert_eq(store_set_state(b->store, record.hash, REVISION_OPEN, NULL), DPOT_OK);
    cr_assert_eq(append(b, record.hash, 0, 0, 1, statuses), DPOT_OK);
    cr_assert_eq(store_set_state(b->store, record.hash, REVISION_CLOSED, NULL), DPOT_OK);
    cr_assert_eq(append(b, record.hash, 0, 1, 1, statuses), DPOT_ERR_CLOSED);
    cr_assert_eq(count_of(b, record.hash).n_accepted, 1);
}

struct seen {
    size_t n;
    size_t stop_after;
    uint32_t rounds[BATCH_MAX];
    struct dpot_report reports[BATCH_MAX];
};

static int note_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct seen *seen = ctx;
    seen->rounds[seen->n] = round;
    seen->reports[seen->n++] = *report;
    return seen->n == seen->stop_after;
}

STORE_TEST(a_pool_is_read_by_round_and_then_in_the_order_of_ids)
{
    const struct revision_record record = add_open(b, 1, 1), other = add_open(b, 2, 1);
    enum dpot_report_status statuses[BATCH_MAX];
    struct seen seen = {.n = 0};
    cr_assert_eq(append(b, record.hash, 1, 100, 2, statuses), DPOT_OK);
    cr_assert_eq(append(b, other.hash, 0, 300, 2, statuses), DPOT_OK);
    cr_assert_eq(append(b, record.hash, 0, 200, 2, statuses), DPOT_OK);
    cr_assert_eq(append(b, record.hash, 1, 102, 1, statuses), DPOT_OK);
    bench_reopen(b);
    cr_assert_eq(store_read_pool(b->store, record.hash, note_report, &seen, NULL), DPOT_OK);
    static const uint32_t numbers[] = {200, 201, 100, 101, 102}, rounds[] = {0, 0, 1, 1, 1};
    struct dpot_report expected[5];
    for (size_t i = 0; i < 5; i++) {
        expected[i] = fixture_report(numbers[i]);
    }
    fixture_sort(expected, 2);
    fixture_sort(expected + 2, 3);
    cr_assert_eq(seen.n, 5);
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(seen.rounds[i], rounds[i]);
        cr_assert_eq(seen.reports[i].index, expected[i].index);
        cr_assert_eq(memcmp(seen.reports[i].id, expected[i].id, DPOT_REPORT_ID_LEN), 0);
    }
}

STORE_TEST(reading_a_pool_stops_when_asked)
{
    const struct revision_record record = add_open(b, 1, 1);
    enum dpot_report_status statuses[BATCH_MAX];
    struct seen seen = {.stop_after = 3};
    cr_assert_eq(append(b, record.hash, 0, 0, 5, statuses), DPOT_OK);
    cr_assert_eq(store_read_pool(b->store, record.hash, note_report, &seen, NULL), DPOT_OK);
    cr_assert_eq(seen.n, 3);
}

struct growing {
    struct bench *bench;
    const uint8_t *hash;
    size_t n;
};

static int append_while_reading(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct growing *g = ctx;
    enum dpot_report_status status;
    (void)round;
    (void)report;
    g->n++;
    cr_assert_eq(append(g->bench, g->hash, 0, 1000 + (uint32_t)g->n, 1, &status), DPOT_OK);
    return 0;
}

STORE_TEST(reports_that_come_while_a_pool_is_read_wait_for_the_next_reading)
{
    const struct revision_record record = add_open(b, 1, 1);
    enum dpot_report_status statuses[BATCH_MAX];
    struct growing growing = {.bench = b, .hash = record.hash};
    cr_assert_eq(append(b, record.hash, 0, 0, 4, statuses), DPOT_OK);
    cr_assert_eq(store_read_pool(b->store, record.hash, append_while_reading, &growing, NULL),
                 DPOT_OK);
    cr_assert_eq(growing.n, 4);
    cr_assert_eq(count_of(b, record.hash).n_accepted, 8);
}

STORE_TEST(groups_and_test_marks_are_stored)
{
    const struct revision_record record = add_open(b, 1, 1);
    struct dpot_report report = fixture_report(7);
    const uint8_t is_refused[1] = {0};
    enum dpot_report_status status;
    struct seen seen = {.n = 0};
    report.group = 3;
    report.test = true;
    report.index = UINT32_MAX;
    struct store_append a = {
        .n_reports = 1, .reports = &report, .is_refused = is_refused, .statuses = &status};
    memcpy(a.hash, record.hash, sizeof a.hash);
    cr_assert_eq(store_append_reports(b->store, &a, NULL), DPOT_OK);
    bench_reopen(b);
    cr_assert_eq(store_read_pool(b->store, record.hash, note_report, &seen, NULL), DPOT_OK);
    cr_assert_eq(seen.reports[0].group, 3);
    cr_assert(seen.reports[0].test);
    cr_assert_eq(seen.reports[0].index, UINT32_MAX);
}

STORE_TEST(many_batches_keep_exact_counts)
{
    const struct revision_record record = add_open(b, 1, 1);
    enum dpot_report_status statuses[BATCH_MAX];
    size_t accepted = 0;
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(append(b, record.hash, 0, i * 40, BATCH_MAX, statuses), DPOT_OK);
        accepted += n_accepted(statuses, BATCH_MAX);
    }
    cr_assert_eq(accepted, 99 * 40 + BATCH_MAX);
    cr_assert_eq(count_of(b, record.hash).n_accepted, accepted);
    cr_assert_eq(count_of(b, record.hash).n_duplicate, 100 * BATCH_MAX - accepted);
}
