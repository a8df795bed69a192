/* Folders of older releases: slots without draws, charges without a horizon, reports without
 * padding. */
#include "simulation.h"
#include "storage/journal.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <string.h>

static struct authority authority;
static struct world world;
static struct dpot_journal journal; /* of the older release: the same files */

static void set_up(void)
{
    authority_init(&authority, 3);
    world_init(&world, &authority, 1);
    dpot_client_close(world_enroll(&world));
    dpot_journal_init(&journal, &world.files.filesystem, NULL, NULL, &world.clock.clock, NULL, 0,
                      SEND_DELAY_MS, DPOT_ACCOUNTANT_BASIC);
}

static void tear_down(void)
{
    dpot_journal_release(&journal);
    world_release(&world);
    authority_release(&authority);
}

TestSuite(takeover, .init = set_up, .fini = tear_down);

static struct dpot_key key_of(uint32_t round)
{
    struct dpot_key key = {.round = round};
    memcpy(key.campaign_hash, authority.hash, sizeof key.campaign_hash);
    return key;
}

static void charge_as_before(uint32_t round)
{
    struct dpot_slot_name name = {.key = key_of(round),
                                  .closes_ms = OPENS_MS + (round + 1) * DAY_MS};
    struct dpot_charge charge = {.key = key_of(round),
                                 .revision = 1,
                                 .cost = dpot_privacy_pure(DPOT_EPSILON_ONE),
                                 .time_ms = OPENS_MS + round * DAY_MS + 1000};
    memcpy(name.campaign_id, authority.campaign.id, sizeof name.campaign_id);
    memcpy(charge.campaign_id, authority.campaign.id, sizeof charge.campaign_id);
    memcpy(charge.signer, authority.pin, sizeof charge.signer);
    cr_assert_eq(dpot_journal_preallocate(&journal, &name), DPOT_OK);
    cr_assert_eq(dpot_journal_charge(&journal, &charge), DPOT_OK);
}

static void report_as_before(uint32_t round, uint8_t id)
{
    const struct dpot_report report = {.id = {id}, .index = 5};
    const struct dpot_key key = key_of(round);
    charge_as_before(round);
    cr_assert_eq(dpot_journal_spool(&journal, &key, &report), DPOT_OK);
}

static void lock(void)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_journal_lock(&journal, &error), DPOT_OK, "%s", error.text);
}

Test(takeover, reports_that_wait_leave_at_a_fresh_time_as_they_were)
{
    struct dpot_pump_result result = {.struct_size = sizeof result};
    lock();
    report_as_before(0, 7);
    dpot_journal_unlock(&journal);
    world.clock.now_ms += 3600000;
    const int64_t now_ms = world.clock.now_ms;
    dpot_client *client = world_open(&world);
    const int64_t due_ms = world_status(client).next_due_ms;
    cr_assert(due_ms > now_ms && due_ms <= now_ms + SEND_DELAY_MS);
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    cr_assert_eq(result.n_accepted, 1);
    cr_assert_eq(world.received[0].report.id[0], 7);
    cr_assert_eq(world.received[0].report.index, 5);
    dpot_client_close(client);
}

Test(takeover, a_charge_that_was_cut_off_is_resumed)
{
    enum dpot_submit_outcome outcome = 0;
    lock();
    charge_as_before(0);
    dpot_journal_unlock(&journal);
    dpot_client *client = world_open(&world);
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    cr_assert_eq(outcome, DPOT_SUBMIT_RESUMED);
    cr_assert_eq(world_status(client).n_submitted, 1);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

Test(takeover, a_slot_without_a_charge_is_replaced)
{
    struct dpot_slot_name name = {.key = key_of(0), .closes_ms = OPENS_MS + DAY_MS};
    memcpy(name.campaign_id, authority.campaign.id, sizeof name.campaign_id);
    lock();
    cr_assert_eq(dpot_journal_preallocate(&journal, &name), DPOT_OK);
    dpot_journal_unlock(&journal);
    dpot_client *client = world_open(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(client);
}

Test(takeover, submits_go_on_beside_what_waits_and_the_sums_count_both)
{
    lock();
    report_as_before(0, 7);
    dpot_journal_unlock(&journal);
    world.clock.now_ms = OPENS_MS + DAY_MS + 5000;
    dpot_client *client = world_open(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_pending, 2);
    cr_assert_float_eq(status.spent_epsilon, 2, 1e-9);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 2);
    dpot_client_close(client);
}

Test(takeover, a_campaign_enrolled_before_is_measured_by_the_first_submit)
{
    char name[64] = "work-";
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    dpot_hex_encode(name + 5, authority.campaign.id, DPOT_CAMPAIGN_ID_LEN);
    dpot_client *client = world_open(&world);
    dpot_client_set_work_time(client, 0); /* as on a device */
    cr_assert_eq(dpot_client_get_campaign(client, authority.campaign.id, &info), DPOT_OK);
    cr_assert_eq(info.work_ms, 0);
    cr_assert_gt(info.steps, 0);
    cr_assert_gt(info.memory_bytes, 0);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(dpot_client_get_campaign(client, authority.campaign.id, &info), DPOT_OK);
    cr_assert_geq(info.work_ms, WORK_MS);
    cr_assert_eq(info.work_ms & (info.work_ms - 1), 0);
    cr_assert_geq(info.work_ms * UINT64_C(500), info.measured_us);
    size_t len = 0;
    cr_assert_not_null(test_filesystem_cached(&world.files, name, &len));
    dpot_client_close(client);
}
