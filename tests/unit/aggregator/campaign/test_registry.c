#include "store/database.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void create_draft(const struct rig *rig, struct revision_record *record)
{
    json_t *spec = fixture_spec();
    cr_assert_eq(registry_create(rig->registry, spec, record, NULL), DPOT_OK);
    json_decref(spec);
}

Test(registry, a_new_campaign_is_a_signed_draft)
{
    struct rig rig;
    struct revision_record record;
    struct registry_revision revision;
    struct dpot_signed_campaign content;
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    create_draft(&rig, &record);
    cr_assert_eq(record.state, REVISION_DRAFT);
    cr_assert_eq(record.revision, 1);
    cr_assert_str_eq(record.name, "ring");
    cr_assert_eq(record.created_ms, FIXTURE_NOW_MS);
    cr_assert_eq(registry_get(rig.registry, record.hash, &revision, NULL), DPOT_OK);
    cr_assert_eq(memcmp(revision.campaign->id, record.campaign_id, DPOT_CAMPAIGN_ID_LEN), 0);
    cr_assert_eq(dpot_wire_campaign_open(revision.signed_bytes->data, revision.signed_bytes->len,
                                         registry_pin(rig.registry), NULL, &content, NULL),
                 DPOT_OK);
    cr_assert_eq(memcmp(content.hash, record.hash, DPOT_HASH_LEN), 0);
    dpot_signed_campaign_release(&content);
    rig_release(&rig);
}

Test(registry, two_campaigns_of_one_spec_have_different_ids)
{
    struct rig rig;
    struct revision_record record;
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    create_draft(&rig, &record);
    cr_assert_neq(memcmp(record.campaign_id, rig.record.campaign_id, DPOT_CAMPAIGN_ID_LEN), 0);
    rig_release(&rig);
}

Test(registry, a_refused_spec_leaves_nothing_behind)
{
    struct rig rig;
    struct revision_record record;
    struct dpot_error error = {{0}};
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    json_t *spec = fixture_spec();
    (void)json_object_set_new(spec, "typo", json_true());
    cr_assert_eq(registry_create(rig.registry, spec, &record, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "typo"));
    json_decref(spec);
    rig_release(&rig);
}

Test(registry, states_go_from_draft_to_open_to_closed)
{
    struct rig rig;
    struct revision_record record;
    struct registry_revision revision;
    struct dpot_error error = {{0}};
    const uint8_t *id = rig.record.campaign_id;
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    cr_assert_eq(rig.record.state, REVISION_OPEN);
    cr_assert_eq(registry_open_campaign(rig.registry, id, &record, NULL, NULL), DPOT_OK);
    cr_assert_eq(record.state, REVISION_OPEN);
    cr_assert_eq(registry_close_campaign(rig.registry, id, 0, &record, NULL), DPOT_OK);
    cr_assert_eq(record.state, REVISION_CLOSED);
    cr_assert_eq(registry_close_campaign(rig.registry, id, 0, &record, NULL), DPOT_OK);
    cr_assert_eq(registry_open_campaign(rig.registry, id, &record, NULL, &error), DPOT_ERR_CLOSED);
    cr_assert_not_null(strstr(error.text, "create a new campaign"));
    cr_assert_eq(registry_find(rig.registry, id, &revision, NULL), DPOT_OK);
    cr_assert_eq(revision.record.state, REVISION_CLOSED);
    rig_release(&rig);
}

static enum revision_state state_of(const struct rig *rig, const struct revision_record *record)
{
    struct registry_revision revision;
    cr_assert_eq(registry_get(rig->registry, record->hash, &revision, NULL), DPOT_OK);
    return revision.record.state;
}

Test(registry, a_cached_revision_has_its_present_state)
{
    struct rig rig;
    struct revision_record next, ignored;
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    const struct revision_record first = rig.record;
    cr_assert_eq(state_of(&rig, &first), REVISION_OPEN);
    json_t *change =
        fixture_json("{\"base_measure\":[0.12,0.06,0.18,0.12,0.12,0.12,0.06,0.18,0.12,0.12]}");
    cr_assert_eq(registry_revise(rig.registry, first.campaign_id, change, &next, NULL), DPOT_OK);
    json_decref(change);
    cr_assert_eq(state_of(&rig, &next), REVISION_DRAFT);
    cr_assert_eq(registry_open_campaign(rig.registry, first.campaign_id, &ignored, NULL, NULL),
                 DPOT_OK);
    cr_assert_eq(state_of(&rig, &next), REVISION_OPEN);
    cr_assert_eq(state_of(&rig, &first), REVISION_CLOSED);
    cr_assert_eq(registry_close_campaign(rig.registry, first.campaign_id, 0, &ignored, NULL),
                 DPOT_OK);
    cr_assert_eq(state_of(&rig, &next), REVISION_CLOSED);
    rig_release(&rig);
}

Test(registry, a_draft_can_be_abandoned)
{
    struct rig rig;
    struct revision_record record;
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    create_draft(&rig, &record);
    cr_assert_eq(registry_close_campaign(rig.registry, record.campaign_id, 0, &record, NULL),
                 DPOT_OK);
    cr_assert_eq(record.state, REVISION_CLOSED);
    cr_assert_eq(registry_close_campaign(rig.registry, record.campaign_id, 0, &record, NULL),
                 DPOT_OK);
    cr_assert_eq(record.state, REVISION_CLOSED, "and again, with the same answer");
    cr_assert_eq(registry_open_campaign(rig.registry, record.campaign_id, &record, NULL, NULL),
                 DPOT_ERR_CLOSED);
    rig_release(&rig);
}

Test(registry, an_unknown_campaign_is_not_found)
{
    struct rig rig;
    struct revision_record record;
    struct registry_revision revision;
    const uint8_t nobody[DPOT_HASH_LEN] = {1};
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    cr_assert_eq(registry_open_campaign(rig.registry, nobody, &record, NULL, NULL),
                 DPOT_ERR_NOT_FOUND);
    cr_assert_eq(registry_close_campaign(rig.registry, nobody, 0, &record, NULL),
                 DPOT_ERR_NOT_FOUND);
    cr_assert_eq(registry_get(rig.registry, nobody, &revision, NULL), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(registry_find(rig.registry, nobody, &revision, NULL), DPOT_ERR_NOT_FOUND);
    rig_release(&rig);
}

/* Changes the stored campaign and expects DPOT_ERR_CORRUPT. */
static void expect_corrupt(const char *sql)
{
    char folder[FIXTURE_PATH_SIZE], path[FIXTURE_PATH_SIZE], url[FIXTURE_PATH_SIZE + 16];
    struct rig rig;
    struct database *database = NULL;
    struct registry_revision revision;
    struct dpot_error error = {{0}};
    fixture_folder(folder);
    fixture_path(path, folder, "dpot.db");
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    rig_init(&rig, url, fixture_spec());
    cr_assert_eq(database_open(path, &database, NULL), DPOT_OK);
    cr_assert(query_run(query_start(database, STATEMENT_PROBE, sql)));
    database_close(database);
    const dpot_status status =
        registry_find(rig.registry, rig.record.campaign_id, &revision, &error);
    cr_assert_eq(status, DPOT_ERR_CORRUPT, "%s: %s: %s", sql, dpot_status_name(status), error.text);
    cr_assert_gt(strlen(error.text), 0);
    rig_release(&rig);
    fixture_remove(folder);
}

Test(registry, an_altered_store_is_corrupt)
{
    expect_corrupt("UPDATE revision SET signed = substr(signed, 1, length(signed) - 1)");
    expect_corrupt("UPDATE revision SET signed = zeroblob(length(signed))");
    /* The tenth byte is random: X, or Y where it was X already. */
    expect_corrupt("UPDATE revision SET signed = CAST(substr(signed, 1, 9) ||"
                   " iif(substr(signed, 10, 1) = x'58', 'Y', 'X') ||"
                   " substr(signed, 11) AS BLOB)");
    expect_corrupt("UPDATE revision SET revision = 2");
    expect_corrupt("UPDATE revision SET name = 'other'");
    expect_corrupt("UPDATE revision SET hash = zeroblob(32)");
    expect_corrupt("UPDATE revision SET hash = zeroblob(31)");
}

Test(registry, a_campaign_signed_by_another_key_is_corrupt)
{
    char folder[FIXTURE_PATH_SIZE], path[FIXTURE_PATH_SIZE], url[FIXTURE_PATH_SIZE + 16];
    struct rig rig;
    struct registry_revision revision;
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN];
    fixture_folder(folder);
    fixture_path(path, folder, "dpot.db");
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    rig_init(&rig, url, fixture_spec());
    dpot_sign_keypair(public_key, rig.secret_key);
    rig_reopen(&rig, url);
    cr_assert_eq(registry_get(rig.registry, rig.record.hash, &revision, NULL), DPOT_ERR_CORRUPT);
    rig_release(&rig);
    fixture_remove(folder);
}

Test(registry, seal_keys_are_signed_for_the_pin)
{
    struct rig rig;
    struct dpot_buf bytes;
    struct dpot_keys keys = {.n_seal_keys = 1}, opened;
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    dpot_buf_init(&bytes, DPOT_KEYS_BYTES_MAX, NULL);
    keys.seal_keys[0] = rig.secret.key;
    cr_assert_eq(registry_sign_keys(rig.registry, &keys, &bytes, NULL), DPOT_OK);
    cr_assert_eq(
        dpot_wire_keys_open(bytes.data, bytes.len, registry_pin(rig.registry), NULL, &opened, NULL),
        DPOT_OK);
    cr_assert_eq(opened.n_seal_keys, 1);
    dpot_buf_release(&bytes);
    rig_release(&rig);
}
