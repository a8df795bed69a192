/* From one revision to the next. */
#include "campaign/content.h"
#include "campaign/spec.h"
#include "mechanism/sampler.h"
#include "proto/wire_artifact.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct rig rig;

static void set_up(void)
{
    rig_init(&rig, "sqlite::memory:", fixture_spec());
}

static void tear_down(void)
{
    rig_release(&rig);
}

TestSuite(revise, .init = set_up, .fini = tear_down);

/* Ten masses that are not equal, of total mass 1.2. */
static const char change_text[] =
    "{\"base_measure\":[0.12,0.06,0.18,0.12,0.12,0.12,0.06,0.18,0.12,0.12]}";

static dpot_status try_revise(const char *text, struct revision_record *record,
                              struct dpot_error *error)
{
    json_t *change = fixture_json(text);
    const dpot_status status =
        registry_revise(rig.registry, rig.record.campaign_id, change, record, error);
    json_decref(change);
    return status;
}

static struct revision_record revise(const char *text)
{
    struct revision_record record;
    struct dpot_error error = {{0}};
    cr_assert_eq(try_revise(text, &record, &error), DPOT_OK, "%s", error.text);
    return record;
}

static const struct dpot_campaign *campaign_of(const struct revision_record *record)
{
    struct registry_revision revision;
    struct dpot_error error = {{0}};
    cr_assert_eq(registry_get(rig.registry, record->hash, &revision, &error), DPOT_OK, "%s",
                 error.text);
    return revision.campaign;
}

static void refuse(const char *text, dpot_status expected, const char *word)
{
    struct revision_record record;
    struct registry_revision found;
    struct dpot_error error = {{0}};
    const dpot_status status = try_revise(text, &record, &error);
    cr_assert_eq(status, expected, "%s: %s %s", text, dpot_status_name(status), error.text);
    cr_assert_not_null(strstr(error.text, word), "%s says: %s", text, error.text);
    cr_assert_eq(registry_open_campaign(rig.registry, rig.record.campaign_id, &record, NULL, NULL),
                 DPOT_OK);
    cr_assert_eq(record.revision, 1, "a refused change must leave nothing behind");
    cr_assert_eq(registry_find(rig.registry, rig.record.campaign_id, &found, NULL), DPOT_OK);
}

Test(revise, the_next_revision_is_a_draft_with_another_base_measure_and_nothing_else_changed)
{
    const struct revision_record record = revise(change_text);
    cr_assert_eq(record.revision, 2);
    cr_assert_eq(record.state, REVISION_DRAFT);
    cr_assert_str_eq(record.name, "ring");
    cr_assert_arr_eq(record.campaign_id, rig.record.campaign_id, sizeof record.campaign_id);
    const struct dpot_campaign *old = campaign_of(&rig.record), *new = campaign_of(&record);
    double m[FIXTURE_RING_SIZE];
    dpot_base_measure_decode(&new->base_measure, new->epsilon_q32, m);
    cr_assert_float_eq(m[1], 0.06, 1e-8);
    cr_assert_float_eq(m[7], 0.18, 1e-8);
    cr_assert_eq(new->epsilon_q32, old->epsilon_q32);
    cr_assert_eq(new->lambda, old->lambda);
    cr_assert_eq(new->iterations, old->iterations);
    cr_assert_eq(new->n_max, old->n_max);
    cr_assert_eq(new->min_pool, old->min_pool);
    cr_assert_eq(new->opens_ms, old->opens_ms);
    cr_assert_eq(new->closes_ms, old->closes_ms);
    cr_assert(dpot_domain_equal(&new->domain, &old->domain));
}

Test(revise, new_times_may_be_given)
{
    const struct revision_record record =
        revise("{\"base_measure\":[0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1],"
               "\"opens\":\"2026-07-01T00:00:00Z\",\"closes\":\"2026-07-08T00:00:00Z\"}");
    const struct dpot_campaign *campaign = campaign_of(&record);
    cr_assert_eq(campaign->closes_ms - campaign->opens_ms, INT64_C(7) * 86400000);
}

Test(revise, opening_the_next_revision_closes_the_former_for_good)
{
    struct revision_record record, again;
    const struct revision_record second = revise(change_text);
    cr_assert_eq(registry_open_campaign(rig.registry, second.campaign_id, &record, NULL, NULL),
                 DPOT_OK);
    cr_assert_eq(record.revision, 2);
    cr_assert_eq(store_get_revision(rig.store, rig.record.hash, &again, NULL, NULL), DPOT_OK);
    cr_assert_eq(again.state, REVISION_CLOSED);
    const struct dpot_report report = fixture_report(1);
    cr_assert_eq(rig_post(&rig, 0, &report, 1, NULL), INGEST_CLOSED);
    rig.record = second;
    cr_assert_eq(rig_post(&rig, 0, &report, 1, NULL), INGEST_ACCEPTED);
}

/* A revision that was signed when campaigns could ask for loss counts. */
static void open_with_loss_counts(void)
{
    struct dpot_campaign campaign = *campaign_of(&rig.record);
    campaign.id[0] ^= 1;
    campaign.loss_counts = true;
    vectors_open(rig.store, &campaign, rig.secret_key, &rig.record);
}

Test(revise, an_old_revision_with_loss_counts_stays_valid_and_the_next_has_none)
{
    uint8_t digest[DPOT_HASH_LEN], next_digest[DPOT_HASH_LEN];
    struct revision_record record;
    struct dpot_error error = {{0}};
    const struct dpot_report report = fixture_report(1);
    cr_assert_eq(content_digest(campaign_of(&rig.record), next_digest, &error), DPOT_OK);
    open_with_loss_counts();
    cr_assert(campaign_of(&rig.record)->loss_counts);
    cr_assert_eq(content_digest(campaign_of(&rig.record), digest, &error), DPOT_OK);
    cr_assert_arr_eq(digest, next_digest, sizeof digest, "the law of a report is the same");
    cr_assert_eq(rig_post(&rig, 0, &report, 1, NULL), INGEST_ACCEPTED);
    json_t *spec = spec_describe(campaign_of(&rig.record), rig.record.hash, 1);
    cr_assert_null(json_object_get(spec, "loss_counts"), "the description is a SPEC again");
    json_decref(spec);
    const struct revision_record next = revise(change_text);
    cr_assert_not(campaign_of(&next)->loss_counts);
    cr_assert_eq(registry_open_campaign(rig.registry, next.campaign_id, &record, NULL, &error),
                 DPOT_OK);
    cr_assert_eq(record.revision, 2);
}

Test(revise, a_closed_campaign_and_a_draft_can_be_revised)
{
    struct revision_record record;
    const uint8_t *id = rig.record.campaign_id;
    cr_assert_eq(registry_close_campaign(rig.registry, id, 0, &record, NULL), DPOT_OK);
    cr_assert_eq(revise(change_text).revision, 2);
    cr_assert_eq(revise(change_text).revision, 3);
    cr_assert_eq(registry_open_campaign(rig.registry, id, &record, NULL, NULL), DPOT_OK);
    cr_assert_eq(record.revision, 3);
}

Test(revise, a_campaign_never_goes_back_to_an_older_draft)
{
    struct revision_record record;
    struct dpot_error error = {{0}};
    const uint8_t *id = rig.record.campaign_id;
    (void)revise(change_text); /* revision 2 stays a draft */
    (void)revise(change_text);
    cr_assert_eq(registry_open_campaign(rig.registry, id, &record, NULL, NULL), DPOT_OK);
    cr_assert_eq(registry_close_campaign(rig.registry, id, 0, &record, NULL), DPOT_OK);
    cr_assert_eq(record.revision, 3);
    cr_assert_eq(registry_open_campaign(rig.registry, id, &record, NULL, &error), DPOT_ERR_CLOSED);
    cr_assert_not_null(strstr(error.text, "revision 3"), "%s", error.text);
}

static int count_one(void *ctx, const struct revision_record *record)
{
    (void)record;
    ++*(size_t *)ctx;
    return 0;
}

static size_t count_revisions(void)
{
    size_t n = 0;
    cr_assert_eq(store_list_revisions(rig.store, count_one, &n, NULL), DPOT_OK);
    return n;
}

Test(revise, an_infeasible_total_mass_is_refused_before_anything_is_stored)
{
    const size_t n = count_revisions();
    refuse("{\"base_measure\":[1e-301,1e-301,1e-301,1e-301,1e-301,1e-301,1e-301,1e-301,1e-301,"
           "1e-301]}",
           DPOT_ERR_INFEASIBLE, "total mass 1e-300");
    refuse("{\"base_measure\":[1e300,1,1,1,1,1,1,1,1,1]}", DPOT_ERR_INFEASIBLE, "total mass");
    cr_assert_eq(count_revisions(), n);
}

Test(revise, a_zero_mass_is_refused_with_its_point_the_reason_and_the_remedy)
{
    static const char change[] = "{\"base_measure\":[0.2,0.1,0.1,0,0.1,0.1,0.1,0.1,0.1,0.1]}";
    refuse(change, DPOT_ERR_RANGE, "output point 3");
    refuse(change, DPOT_ERR_RANGE, "never output");
    refuse(change, DPOT_ERR_RANGE, "give it at least");
    refuse(change, DPOT_ERR_RANGE, "leave the point out");
}

Test(revise, a_wrong_base_measure_is_refused_with_its_value)
{
    refuse("{\"base_measure\":[0,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1]}", DPOT_ERR_RANGE, "0");
    refuse("{\"base_measure\":[0.1,-0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1]}", DPOT_ERR_RANGE, "-0.1");
    refuse("{\"base_measure\":[0.5,0.5]}", DPOT_ERR_SHAPE,
           "base_measure has 2 entries: give 10 numbers");
    refuse("{\"base_measure\":[9,9,9,9,9,9,9,9,9,9]}", DPOT_ERR_INFEASIBLE, "total mass 90");
    refuse("{\"base_measure\":[0.1,\"x\",0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1]}", DPOT_ERR_MALFORMED,
           "base_measure");
    refuse("{\"base_measure\":\"uniform\"}", DPOT_ERR_MALFORMED, "array of 10 numbers");
}

Test(revise, a_wrong_change_is_refused_by_key)
{
    refuse("{}", DPOT_ERR_MALFORMED, "one of them is needed");
    refuse("{\"base_measure\":[1],\"artifact\":\"00\"}", DPOT_ERR_MALFORMED, "not both");
    refuse("{\"epsilon\":3}", DPOT_ERR_MALFORMED, "epsilon");
    refuse("[]", DPOT_ERR_MALFORMED, "object");
    refuse("{\"base_measure\":[0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1],\"opens\":\"today\"}",
           DPOT_ERR_MALFORMED, "opens is \"today\"");
    refuse("{\"base_measure\":[0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1],"
           "\"closes\":\"2020-01-01T00:00:00Z\"}",
           DPOT_ERR_RANGE, "closes");
    refuse("{\"artifact\":\"xyz\"}", DPOT_ERR_MALFORMED, "64 hex digits");
    refuse("{\"artifact\":\"00000000000000000000000000000000"
           "00000000000000000000000000000000\"}",
           DPOT_ERR_NOT_FOUND, "no artifact");
}

Test(revise, the_baselines_can_have_another_base_measure_too)
{
    static const char *const mechanisms[] = {"{\"type\":\"kpm\",\"epsilon\":1}",
                                             "{\"type\":\"exponential\",\"epsilon\":1}"};
    for (size_t i = 0; i < 2; i++) {
        struct revision_record first, second;
        struct dpot_error error = {{0}};
        json_t *spec = fixture_spec(), *change = fixture_json(change_text);
        (void)json_object_set_new(spec, "mechanism", fixture_json(mechanisms[i]));
        cr_assert_eq(registry_create(rig.registry, spec, &first, &error), DPOT_OK, "%s",
                     error.text);
        cr_assert_eq(registry_revise(rig.registry, first.campaign_id, change, &second, &error),
                     DPOT_OK, "%s", error.text);
        const struct dpot_campaign *campaign = campaign_of(&second);
        double m[FIXTURE_RING_SIZE];
        dpot_base_measure_decode(&campaign->base_measure, campaign->epsilon_q32, m);
        cr_assert_float_eq(m[7], 0.18, 1e-8);
        cr_assert_eq(campaign->mechanism, campaign_of(&first)->mechanism);
        json_decref(change);
        json_decref(spec);
    }
}

Test(revise, an_unknown_campaign_is_not_found)
{
    struct revision_record record;
    const uint8_t nobody[DPOT_CAMPAIGN_ID_LEN] = {0};
    json_t *change = fixture_json(change_text);
    cr_assert_eq(registry_revise(rig.registry, nobody, change, &record, NULL), DPOT_ERR_NOT_FOUND);
    json_decref(change);
}

/* ---- artifacts ---- */

/* Stores an artifact as a job does; the change that names it in `text`. */
static void store_artifact(const char *kind, const uint8_t *hash, size_t n_values, char text[128])
{
    double values[64];
    struct dpot_artifact artifact = {.parameters = "{}", .n_values = n_values, .values = values};
    struct job_record job = {.kind = "any", .parameters = "{}"};
    struct dpot_buf bytes;
    struct dpot_error error = {{0}};
    char digest[2 * DPOT_HASH_LEN + 1];
    for (size_t j = 0; j < n_values; j++) {
        values[j] = (j % 2 ? 1.5 : 0.5) / (double)n_values;
    }
    (void)snprintf(artifact.kind, sizeof artifact.kind, "%s", kind);
    memcpy(artifact.campaign_hash, hash, sizeof artifact.campaign_hash);
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_artifact_encode(&artifact, &bytes, &error), DPOT_OK, "%s", error.text);
    dpot_random_bytes(job.id, sizeof job.id);
    cr_assert_eq(store_add_job(rig.store, &job, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(store_finish_job(rig.store, &job, bytes.data, bytes.len, &error), DPOT_OK);
    dpot_hex_encode(digest, job.artifact, sizeof job.artifact);
    (void)snprintf(text, 128, "{\"artifact\":\"%s\"}", digest);
    dpot_buf_release(&bytes);
}

Test(revise, the_artifact_of_a_job_becomes_the_base_measure)
{
    char text[128];
    double m[FIXTURE_RING_SIZE];
    store_artifact("base-measure", rig.record.hash, FIXTURE_RING_SIZE, text);
    const struct revision_record record = revise(text);
    const struct dpot_campaign *campaign = campaign_of(&record);
    dpot_base_measure_decode(&campaign->base_measure, campaign->epsilon_q32, m);
    cr_assert_float_eq(m[0], 0.05, 1e-8);
    cr_assert_float_eq(m[9], 0.15, 1e-8);
}

Test(revise, an_artifact_of_another_kind_campaign_or_length_is_refused)
{
    struct revision_record other;
    char text[128];
    json_t *spec = fixture_spec();
    cr_assert_eq(registry_create(rig.registry, spec, &other, NULL), DPOT_OK);
    json_decref(spec);
    store_artifact("estimate", rig.record.hash, FIXTURE_RING_SIZE, text);
    refuse(text, DPOT_ERR_RANGE, "of kind estimate");
    store_artifact("base-measure", other.hash, FIXTURE_RING_SIZE, text);
    refuse(text, DPOT_ERR_RANGE, "of another campaign");
    memset(other.hash, 0, sizeof other.hash);
    store_artifact("base-measure", other.hash, FIXTURE_RING_SIZE, text);
    refuse(text, DPOT_ERR_RANGE, "of another campaign");
    store_artifact("base-measure", rig.record.hash, 9, text);
    refuse(text, DPOT_ERR_SHAPE, "9 masses for 10 output points");
}

/* ---- naming a revision ---- */

Test(revise, every_revision_is_found_by_its_number)
{
    struct registry_revision found;
    struct revision_record record;
    const uint8_t *id = rig.record.campaign_id;
    const struct revision_record second = revise(change_text);
    cr_assert_eq(registry_open_campaign(rig.registry, id, &record, NULL, NULL), DPOT_OK);
    const struct revision_record third = revise(change_text); /* a draft */
    const struct {
        const struct revision_record *record;
        enum revision_state state;
    } expected[] = {
        {&second, REVISION_OPEN}, /* by 0: the open one */
        {&rig.record, REVISION_CLOSED},
        {&second, REVISION_OPEN},
        {&third, REVISION_DRAFT},
    };
    for (uint32_t number = 0; number <= 3; number++) {
        cr_assert_eq(registry_select(rig.registry, id, number, &found, NULL), DPOT_OK);
        cr_assert_arr_eq(found.record.hash, expected[number].record->hash, DPOT_HASH_LEN);
        cr_assert_eq(found.record.state, expected[number].state);
        cr_assert_eq(found.campaign->revision, number == 0 ? 2 : number);
    }
}

Test(revise, a_number_that_does_not_exist_is_refused_with_those_that_do)
{
    struct registry_revision found;
    struct revision_record record;
    struct dpot_error error = {{0}};
    const uint8_t nobody[DPOT_CAMPAIGN_ID_LEN] = {0};
    const uint8_t *id = rig.record.campaign_id;
    (void)revise(change_text);
    cr_assert_eq(registry_open_campaign(rig.registry, id, &record, NULL, NULL), DPOT_OK);
    cr_assert_eq(registry_select(rig.registry, id, 9, &found, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_str_eq(error.text,
                     "the campaign has no revision 9: choose from 2 (open), 1 (closed)");
    cr_assert_eq(registry_select(rig.registry, nobody, 1, &found, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "no campaign has this id"), "%s", error.text);
    for (int i = 0; i < 20; i++) {
        (void)revise(change_text);
    }
    cr_assert_eq(registry_select(rig.registry, id, UINT32_MAX, &found, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "22 (draft), 21 (draft)"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "15 (draft) and older ones"), "%s", error.text);
}

Test(revise, opening_returns_the_revision_that_it_closed)
{
    struct revision_record record, former;
    const uint8_t *id = rig.record.campaign_id;
    cr_assert_eq(registry_open_campaign(rig.registry, id, &record, &former, NULL), DPOT_OK);
    cr_assert_eq(record.revision, 1);
    cr_assert_eq(former.revision, 0, "it was open already");
    (void)revise(change_text);
    cr_assert_eq(registry_open_campaign(rig.registry, id, &record, &former, NULL), DPOT_OK);
    cr_assert_eq(record.revision, 2);
    cr_assert_eq(former.revision, 1);
    cr_assert_eq(former.state, REVISION_CLOSED);
    cr_assert_arr_eq(former.hash, rig.record.hash, DPOT_HASH_LEN);
    cr_assert_eq(registry_close_campaign(rig.registry, id, 0, &record, NULL), DPOT_OK);
    (void)revise(change_text);
    cr_assert_eq(registry_open_campaign(rig.registry, id, &record, &former, NULL), DPOT_OK);
    cr_assert_eq(former.revision, 0, "none was open");
}

static enum revision_state state_of(uint32_t number)
{
    struct registry_revision found;
    struct dpot_error error = {{0}};
    cr_assert_eq(registry_select(rig.registry, rig.record.campaign_id, number, &found, &error),
                 DPOT_OK, "%s", error.text);
    return found.record.state;
}

/* Closes and expects this revision in the answer. */
static void close_and_expect(uint32_t number, uint32_t answered)
{
    struct revision_record record;
    struct dpot_error error = {{0}};
    cr_assert_eq(
        registry_close_campaign(rig.registry, rig.record.campaign_id, number, &record, &error),
        DPOT_OK, "%s", error.text);
    cr_assert_eq(record.revision, answered, "revision %u", record.revision);
    cr_assert_eq(record.state, REVISION_CLOSED);
}

Test(revise, closing_again_leaves_a_waiting_draft)
{
    struct revision_record record;
    (void)revise(change_text);
    close_and_expect(0, 1);
    for (int i = 0; i < 3; i++) {
        close_and_expect(0, 1);
        cr_assert_eq(state_of(2), REVISION_DRAFT);
    }
    cr_assert_eq(registry_open_campaign(rig.registry, rig.record.campaign_id, &record, NULL, NULL),
                 DPOT_OK);
    cr_assert_eq(record.revision, 2, "a draft that waited opens");
}

Test(revise, a_draft_is_abandoned_by_its_number)
{
    struct revision_record record;
    struct dpot_error error = {{0}};
    (void)revise(change_text);
    close_and_expect(2, 2);
    cr_assert_eq(state_of(1), REVISION_OPEN, "only the one that was named");
    close_and_expect(2, 2);
    (void)revise(change_text);
    close_and_expect(1, 1);
    cr_assert_eq(state_of(3), REVISION_DRAFT);
    cr_assert_eq(registry_close_campaign(rig.registry, rig.record.campaign_id, 7, &record, &error),
                 DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "choose from 3 (draft), 2 (closed), 1 (closed)"), "%s",
                       error.text);
}
