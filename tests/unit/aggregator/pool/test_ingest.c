#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <string.h>

static struct rig rig;
static struct dpot_buf body, receipt;
static struct ingest_result result;

static size_t n_committed;
static void note_commit(void *ctx, size_t n)
{
    (void)ctx;
    n_committed += n;
}

/* Opens a campaign of this SPEC, which it takes, with a tally. */
static void start(json_t *spec)
{
    struct writer_config config = {.max_reports = 5000, .on_committed = note_commit};
    rig_init(&rig, "sqlite::memory:", spec);
    cr_assert_eq(tally_new(rig.store, &rig.ingest.tally, NULL), DPOT_OK);
    config.store = rig.store;
    config.tally = rig.ingest.tally;
    cr_assert_eq(writer_open(&config, &rig.ingest.writer, NULL), DPOT_OK);
}

/* The counts add up whatever a test did. */
static void stop(void)
{
    struct tally_counts counts;
    tally_get(rig.ingest.tally, &counts);
    uint64_t n = counts.committed.n_accepted + counts.committed.n_duplicate + counts.n_pending;
    for (size_t i = 0; i < DPOT_REPORT_STATUS_END; i++) {
        n += counts.committed.n_rejected[i];
    }
    for (size_t i = 0; i < DROP_REASONS; i++) {
        n += counts.n_dropped[i];
    }
    cr_assert_eq(counts.n_submitted, n);
    cr_assert_eq(counts.n_pending, 0);
    writer_close(rig.ingest.writer);
    tally_free(rig.ingest.tally);
    rig_release(&rig);
}

static void set_up(void)
{
    start(fixture_spec());
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX + 100, NULL);
    dpot_buf_init(&receipt, DPOT_BATCH_BYTES_MAX, NULL);
}

static void tear_down(void)
{
    dpot_buf_release(&receipt);
    dpot_buf_release(&body);
    stop();
}

TestSuite(ingest, .init = set_up, .fini = tear_down);

/* Ingests the body for campaign `id`. */
static enum ingest_verdict post_to(const uint8_t *id)
{
    dpot_buf_reset(&receipt);
    ingest_batch(&rig.ingest, id, body.data, body.len, &receipt, &result);
    cr_assert_eq(result.verdict == INGEST_ACCEPTED, receipt.len > 0);
    cr_assert_eq(result.verdict == INGEST_ACCEPTED, result.status == DPOT_OK);
    return result.verdict;
}

static enum ingest_verdict post(void)
{
    return post_to(rig.record.campaign_id);
}

static void seal_one(uint32_t round, uint32_t n)
{
    const struct dpot_report report = fixture_report(n);
    dpot_buf_reset(&body);
    rig_seal(&rig, &rig.secret.key, round, &report, 1, &body);
}

/* Opens a campaign of this SPEC instead, which it takes. */
static void use(json_t *spec)
{
    stop();
    start(spec);
}

static json_t *spec_with(const char *key, json_t *value)
{
    json_t *spec = fixture_spec();
    cr_assert_eq(json_object_set_new(spec, key, value), 0);
    return spec;
}

Test(ingest, a_good_batch_is_accepted_with_a_receipt_in_request_order)
{
    enum dpot_report_status statuses[3];
    const struct dpot_report reports[] = {fixture_report(1), fixture_report(2), fixture_report(1)};
    cr_assert_eq(rig_post(&rig, 0, reports, 3, statuses), INGEST_ACCEPTED);
    cr_assert_eq(statuses[0], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(statuses[1], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(statuses[2], DPOT_REPORT_DUPLICATE);
    cr_assert_eq(n_committed, 3);
}

Test(ingest, a_body_is_padded_for_its_campaign_or_not_at_all_as_devices_of_before_send_it)
{
    const struct dpot_report reports[] = {fixture_report(1), fixture_report(2)};
    const size_t right = rig.report_len_max;
    rig.report_len_max = 0;
    rig_seal(&rig, &rig.secret.key, 0, reports, 2, &body);
    cr_assert_eq(post(), INGEST_ACCEPTED);
    for (size_t len_max = right - 1; len_max <= right + 1; len_max++) {
        rig.report_len_max = len_max;
        dpot_buf_reset(&body);
        rig_seal(&rig, &rig.secret.key, 0, reports, 2, &body);
        cr_assert_eq(post(), len_max == right ? INGEST_ACCEPTED : INGEST_MALFORMED);
        cr_assert(len_max == right || strstr(result.error.text, "this campaign's reports take 24"),
                  "%s", result.error.text);
    }
    struct tally_counts counts;
    tally_get(rig.ingest.tally, &counts);
    cr_assert_eq(counts.n_dropped[DROP_ROUND], 4);
    cr_assert_eq(rig_count(&rig).n_accepted, 2);
}

Test(ingest, sending_again_is_answered_with_duplicates)
{
    enum dpot_report_status statuses[2];
    const struct dpot_report reports[] = {fixture_report(1), fixture_report(2)};
    cr_assert_eq(rig_post(&rig, 0, reports, 2, statuses), INGEST_ACCEPTED);
    cr_assert_eq(rig_post(&rig, 0, reports, 2, statuses), INGEST_ACCEPTED);
    cr_assert_eq(statuses[0], DPOT_REPORT_DUPLICATE);
    cr_assert_eq(statuses[1], DPOT_REPORT_DUPLICATE);
    cr_assert_eq(rig_count(&rig).n_accepted, 2);
}

Test(ingest, one_bad_report_never_costs_a_good_one)
{
    enum dpot_report_status statuses[5];
    struct dpot_report reports[5];
    for (uint32_t i = 0; i < 5; i++) {
        reports[i] = fixture_report(i);
    }
    reports[1].index = FIXTURE_RING_SIZE;
    reports[2].group = 1;
    reports[3].test = true;
    cr_assert_eq(rig_post(&rig, 0, reports, 5, statuses), INGEST_ACCEPTED);
    cr_assert_eq(statuses[0], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(statuses[1], DPOT_REPORT_REJECTED_RANGE);
    cr_assert_eq(statuses[2], DPOT_REPORT_REJECTED_GROUP);
    cr_assert_eq(statuses[3], DPOT_REPORT_REJECTED_TEST);
    cr_assert_eq(statuses[4], DPOT_REPORT_ACCEPTED);
    const struct pool_count count = rig_count(&rig);
    cr_assert_eq(count.n_accepted, 2);
    cr_assert_eq(count.n_rejected[DPOT_REPORT_REJECTED_RANGE], 1);
    cr_assert_eq(count.n_rejected[DPOT_REPORT_REJECTED_GROUP], 1);
    cr_assert_eq(count.n_rejected[DPOT_REPORT_REJECTED_TEST], 1);
}

/* ReportBatch in bytes: hash, round 0, and the packed reports given. */
static void seal_raw(const void *reports, size_t len)
{
    uint8_t plain[512] = {0x0a, DPOT_HASH_LEN};
    memcpy(plain + 2, rig.record.hash, DPOT_HASH_LEN);
    memcpy(plain + 2 + DPOT_HASH_LEN, reports, len);
    const size_t plain_len = 2 + DPOT_HASH_LEN + len;
    dpot_buf_reset(&body);
    cr_assert_eq(dpot_buf_append(&body, "DPB1", 4), DPOT_OK);
    cr_assert_eq(dpot_buf_append(&body, rig.secret.key.id, DPOT_SEAL_KEY_ID_LEN), DPOT_OK);
    cr_assert_eq(dpot_buf_reserve(&body, plain_len + DPOT_SEAL_OVERHEAD), DPOT_OK);
    cr_assert_eq(dpot_seal(body.data + body.len, plain, plain_len, rig.secret.key.public_key),
                 DPOT_OK);
    body.len += plain_len + DPOT_SEAL_OVERHEAD;
}

Test(ingest, malformed_reports_are_answered_in_place)
{
    /* A good report (id of 16, index 3), one without payload, one whose id has 2 bytes. */
    static const uint8_t reports[] = {
        0x1a, 0x14, 0x0a, 0x10, 1,  2,    3,    4,    5,    6,    7,    8,    9, 10, 11,   12, 13,
        14,   15,   16,   0x10, 3,  0x1a, 0x12, 0x0a, 0x10, 2,    2,    3,    4, 5,  6,    7,  8,
        9,    10,   11,   12,   13, 14,   15,   16,   0x1a, 0x06, 0x0a, 0x02, 1, 2,  0x10, 3};
    enum dpot_report_status statuses[3];
    seal_raw(reports, sizeof reports);
    cr_assert_eq(post(), INGEST_ACCEPTED, "%s", result.error.text);
    cr_assert_eq(dpot_wire_receipt_decode(receipt.data, receipt.len, NULL, NULL, statuses, 3),
                 DPOT_OK);
    cr_assert_eq(statuses[0], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(statuses[1], DPOT_REPORT_REJECTED_MALFORMED);
    cr_assert_eq(statuses[2], DPOT_REPORT_REJECTED_MALFORMED);
    cr_assert_eq(rig_count(&rig).n_rejected[DPOT_REPORT_REJECTED_MALFORMED], 2);
}

Test(ingest, what_devices_of_before_told_of_losses_is_checked_and_not_counted)
{
    uint8_t reports[] = {0x1a, 0x14, 0x0a, 0x10, 1,  2,  3,    4, 5,    6,    7, 8, 9, 10,
                         11,   12,   13,   14,   15, 16, 0x10, 3, 0x22, 0x03, 4, 0, 1};
    seal_raw(reports, sizeof reports);
    cr_assert_eq(post(), INGEST_ACCEPTED, "%s", result.error.text);
    cr_assert_eq(rig_count(&rig).n_accepted, 1);
    reports[sizeof reports - 1] = 5;
    seal_raw(reports, sizeof reports);
    cr_assert_eq(post(), INGEST_MALFORMED);
    cr_assert_not_null(strstr(result.error.text, "losses has a byte 5"), "%s", result.error.text);
}

Test(ingest, a_batch_without_reports_is_malformed)
{
    seal_raw("", 0);
    cr_assert_eq(post(), INGEST_MALFORMED);
}

Test(ingest, every_truncation_of_a_body_is_refused)
{
    seal_one(0, 1);
    const size_t len = body.len;
    for (size_t cut = 0; cut < len; cut++) {
        body.len = cut;
        cr_assert_eq(post(), INGEST_MALFORMED, "%zu of %zu", cut, len);
    }
    cr_assert_eq(rig_count(&rig).n_accepted, 0);
}

Test(ingest, every_flipped_bit_is_refused)
{
    seal_one(0, 1);
    for (size_t i = 0; i < body.len * 8; i++) {
        body.data[i / 8] ^= (uint8_t)(1u << i % 8);
        const enum ingest_verdict verdict = post();
        cr_assert(verdict == INGEST_MALFORMED || verdict == INGEST_KEY_EXPIRED);
        body.data[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    cr_assert_eq(rig_count(&rig).n_accepted, 0);
    cr_assert_eq(post(), INGEST_ACCEPTED);
}

Test(ingest, an_unknown_seal_key_asks_for_fresh_keys)
{
    struct dpot_seal_key other = rig.secret.key;
    const struct dpot_report report = fixture_report(1);
    other.id[0] ^= 1;
    rig_seal(&rig, &other, 0, &report, 1, &body);
    cr_assert_eq(post(), INGEST_KEY_EXPIRED);
}

Test(ingest, a_box_for_another_key_under_our_key_id_is_malformed)
{
    uint8_t secret_key[DPOT_SEAL_SECRET_LEN];
    struct dpot_seal_key other = rig.secret.key;
    const struct dpot_report report = fixture_report(1);
    dpot_seal_keypair(other.public_key, secret_key);
    rig_seal(&rig, &other, 0, &report, 1, &body);
    cr_assert_eq(post(), INGEST_MALFORMED);
}

Test(ingest, an_expired_seal_key_asks_for_fresh_keys)
{
    seal_one(0, 1);
    rig.secret.key.not_after_ms = FIXTURE_NOW_MS + 1;
    cr_assert_eq(post(), INGEST_ACCEPTED);
    rig.secret.key.not_after_ms = FIXTURE_NOW_MS;
    cr_assert_eq(post(), INGEST_KEY_EXPIRED);
}

Test(ingest, the_batch_must_be_of_the_campaign_in_the_path)
{
    uint8_t id[DPOT_CAMPAIGN_ID_LEN];
    memcpy(id, rig.record.campaign_id, sizeof id);
    id[3] ^= 1;
    seal_one(0, 1);
    cr_assert_eq(post_to(id), INGEST_UNKNOWN);
    rig.record.hash[0] ^= 1;
    seal_one(0, 1);
    cr_assert_eq(post(), INGEST_UNKNOWN);
}

Test(ingest, a_draft_is_unknown_to_devices)
{
    json_t *spec = fixture_spec();
    cr_assert_eq(registry_create(rig.registry, spec, &rig.record, NULL), DPOT_OK);
    json_decref(spec);
    seal_one(0, 1);
    cr_assert_eq(post(), INGEST_UNKNOWN);
}

Test(ingest, a_closed_revision_takes_nothing)
{
    seal_one(0, 1);
    cr_assert_eq(post(), INGEST_ACCEPTED);
    cr_assert_eq(
        registry_close_campaign(rig.registry, rig.record.campaign_id, 0, &rig.record, NULL),
        DPOT_OK);
    cr_assert_eq(post(), INGEST_CLOSED);
    seal_one(0, 2);
    cr_assert_eq(post(), INGEST_CLOSED);
    cr_assert_eq(rig_count(&rig).n_accepted, 1);
    cr_assert_eq(rig_count(&rig).n_duplicate, 0);
}

Test(ingest, a_round_is_served_in_its_window_by_our_clock)
{
    use(spec_with("rounds", json_integer(12)));
    struct registry_revision revision;
    cr_assert_eq(registry_get(rig.registry, rig.record.hash, &revision, NULL), DPOT_OK);
    const int64_t opens = dpot_campaign_round_opens(revision.campaign, 5);
    const int64_t closes = dpot_campaign_round_closes(revision.campaign, 5);
    seal_one(5, 1);
    rig.clock.now_ms = opens - 7001;
    cr_assert_eq(post(), INGEST_NOT_YET);
    cr_assert_eq(result.retry_after_s, 8);
    cr_assert_eq(result.status, DPOT_ERR_NOT_OPEN);
    rig.clock.now_ms = opens - INT64_C(86400000) * 20;
    cr_assert_eq(post(), INGEST_NOT_YET);
    cr_assert_eq(result.retry_after_s, 3600);
    rig.clock.now_ms = closes;
    cr_assert_eq(post(), INGEST_CLOSED);
    rig.clock.now_ms = opens;
    cr_assert_eq(post(), INGEST_ACCEPTED);
    rig.clock.now_ms = closes - 1;
    cr_assert_eq(post(), INGEST_ACCEPTED);
    seal_one(12, 1);
    cr_assert_eq(post(), INGEST_MALFORMED);
}

Test(ingest, groups_are_those_of_the_campaign)
{
    enum dpot_report_status statuses[3];
    struct dpot_report reports[] = {fixture_report(0), fixture_report(1), fixture_report(2)};
    use(spec_with("groups", json_pack("[s,s]", "north", "south")));
    reports[1].group = 1;
    reports[2].group = 2;
    cr_assert_eq(rig_post(&rig, 0, reports, 3, statuses), INGEST_ACCEPTED);
    cr_assert_eq(statuses[0], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(statuses[1], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(statuses[2], DPOT_REPORT_REJECTED_GROUP);
}

Test(ingest, test_marks_count_in_a_simulation_only)
{
    enum dpot_report_status statuses[2];
    struct dpot_report reports[] = {fixture_report(0), fixture_report(1)};
    reports[1].test = true;
    use(spec_with("simulation", json_true()));
    cr_assert_eq(rig_post(&rig, 0, reports, 2, statuses), INGEST_ACCEPTED);
    cr_assert_eq(statuses[0], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(statuses[1], DPOT_REPORT_ACCEPTED);
}

Test(ingest, the_largest_batch_is_taken_and_one_more_report_is_not)
{
    static struct dpot_report reports[DPOT_BATCH_REPORTS_MAX];
    static enum dpot_report_status statuses[DPOT_BATCH_REPORTS_MAX];
    for (uint32_t i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
        reports[i] = fixture_report(i);
    }
    cr_assert_eq(rig_post(&rig, 0, reports, DPOT_BATCH_REPORTS_MAX, statuses), INGEST_ACCEPTED);
    for (size_t i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
        cr_assert_eq(statuses[i], DPOT_REPORT_ACCEPTED);
    }
    /* 5,001 empty reports, which the encoder would not write. */
    static uint8_t plain[2 + DPOT_HASH_LEN + 2 * (DPOT_BATCH_REPORTS_MAX + 1)] = {0x0a,
                                                                                  DPOT_HASH_LEN};
    memcpy(plain + 2, rig.record.hash, DPOT_HASH_LEN);
    for (size_t i = 2 + DPOT_HASH_LEN; i < sizeof plain; i += 2) {
        plain[i] = 0x1a;
    }
    cr_assert_eq(dpot_buf_append(&body, "DPB1", 4), DPOT_OK);
    cr_assert_eq(dpot_buf_append(&body, rig.secret.key.id, DPOT_SEAL_KEY_ID_LEN), DPOT_OK);
    cr_assert_eq(dpot_buf_reserve(&body, sizeof plain + DPOT_SEAL_OVERHEAD), DPOT_OK);
    cr_assert_eq(dpot_seal(body.data + body.len, plain, sizeof plain, rig.secret.key.public_key),
                 DPOT_OK);
    body.len += sizeof plain + DPOT_SEAL_OVERHEAD;
    cr_assert_eq(post(), INGEST_TOO_LARGE);
}

Test(ingest, a_body_above_the_limit_is_too_large)
{
    seal_one(0, 1);
    cr_assert_eq(dpot_buf_reserve(&body, DPOT_BATCH_BYTES_MAX + 1 - body.len), DPOT_OK);
    memset(body.data + body.len, 0, DPOT_BATCH_BYTES_MAX + 1 - body.len);
    body.len = DPOT_BATCH_BYTES_MAX + 1;
    cr_assert_eq(post(), INGEST_TOO_LARGE);
}

Test(ingest, a_sentence_goes_with_every_refusal)
{
    cr_assert_eq(dpot_buf_append(&body, "DPB9", 4), DPOT_OK);
    cr_assert_eq(post(), INGEST_MALFORMED);
    cr_assert_gt(strlen(result.error.text), 5);
    seal_one(99, 1);
    cr_assert_eq(post(), INGEST_MALFORMED);
    cr_assert_not_null(strstr(result.error.text, "99"));
}
