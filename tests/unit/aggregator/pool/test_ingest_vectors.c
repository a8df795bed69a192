/* Ingest of vector reports. */
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>
#include <string.h>

#define DIM 3

static struct rig rig;
static int64_t values[DPOT_BATCH_REPORTS_MAX][DIM];

static void set_up(void)
{
    const struct dpot_campaign campaign = vectors_laplace(DIM);
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    vectors_open(rig.store, &campaign, rig.secret_key, &rig.record);
    rig_find_length(&rig);
}

static void tear_down(void)
{
    rig_release(&rig);
}

TestSuite(ingest_vectors, .init = set_up, .fini = tear_down);

struct seen {
    size_t n;
    int64_t values[8][DIM];
};

static int note_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct seen *seen = ctx;
    (void)round;
    cr_assert_eq(report->n_values, DIM);
    cr_assert_lt(seen->n, 8);
    memcpy(seen->values[seen->n++], report->values, sizeof seen->values[0]);
    return 0;
}

Test(ingest_vectors, each_is_validated_alone_and_the_good_ones_are_stored_as_sent)
{
    enum dpot_report_status statuses[6];
    struct dpot_report reports[6];
    int64_t longer[DIM + 1] = {0};
    struct seen seen = {.n = 0};
    for (uint32_t i = 0; i < 6; i++) {
        reports[i] = vectors_report(i, DIM, 200, values[i]);
    }
    reports[1] = fixture_report(1);
    reports[2].values = longer;
    reports[2].n_values = DIM + 1;
    reports[3].n_values = DIM - 1;
    values[4][1] = 251; /* lo + M - 1 is -5 + 255 */
    cr_assert_eq(rig_post(&rig, 0, reports, 6, statuses), INGEST_ACCEPTED);
    cr_assert_eq(statuses[0], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(statuses[1], DPOT_REPORT_REJECTED_MALFORMED);
    cr_assert_eq(statuses[2], DPOT_REPORT_REJECTED_MALFORMED);
    cr_assert_eq(statuses[3], DPOT_REPORT_REJECTED_MALFORMED);
    cr_assert_eq(statuses[4], DPOT_REPORT_REJECTED_RANGE);
    cr_assert_eq(statuses[5], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(store_read_pool(rig.store, rig.record.hash, note_report, &seen, NULL), DPOT_OK);
    cr_assert_eq(seen.n, 2);
    cr_assert_eq(memcmp(seen.values[0], values[0], sizeof values[0]), 0);
    cr_assert_eq(memcmp(seen.values[1], values[5], sizeof values[5]), 0);
    cr_assert_eq(rig_count(&rig).n_rejected[DPOT_REPORT_REJECTED_MALFORMED], 3);
    cr_assert_eq(rig_count(&rig).n_rejected[DPOT_REPORT_REJECTED_RANGE], 1);
}

Test(ingest_vectors, a_full_batch_is_taken_once)
{
    static struct dpot_report reports[DPOT_BATCH_REPORTS_MAX];
    for (uint32_t i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
        reports[i] = vectors_report(i, DIM, 200, values[i]);
    }
    cr_assert_eq(rig_post(&rig, 0, reports, DPOT_BATCH_REPORTS_MAX, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_post(&rig, 0, reports, DPOT_BATCH_REPORTS_MAX, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_accepted, DPOT_BATCH_REPORTS_MAX);
    cr_assert_eq(rig_count(&rig).n_duplicate, DPOT_BATCH_REPORTS_MAX);
}

Test(ingest_vectors, a_vector_to_a_campaign_of_points_is_malformed)
{
    enum dpot_report_status statuses[2];
    json_t *spec = fixture_spec();
    cr_assert_eq(registry_create(rig.registry, spec, &rig.record, NULL), DPOT_OK);
    json_decref(spec);
    cr_assert_eq(
        registry_open_campaign(rig.registry, rig.record.campaign_id, &rig.record, NULL, NULL),
        DPOT_OK);
    rig_find_length(&rig);
    const struct dpot_report reports[] = {vectors_report(0, DIM, 200, values[0]),
                                          fixture_report(1)};
    cr_assert_eq(rig_post(&rig, 0, reports, 2, statuses), INGEST_ACCEPTED);
    cr_assert_eq(statuses[0], DPOT_REPORT_REJECTED_MALFORMED);
    cr_assert_eq(statuses[1], DPOT_REPORT_ACCEPTED);
}
