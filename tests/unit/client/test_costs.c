/* What a campaign may cost a device, what an app expects, and how often data are read. */
#include "simulation.h"
#include "storage/journal.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <string.h>

static struct authority authority;
static struct world world;

static void set_up(void)
{
    authority_init(&authority, 30);
    world_init(&world, &authority, 1);
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(costs, .init = set_up, .fini = tear_down);

static void assert_refused(dpot_client *client, dpot_status status, const char *word)
{
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), status, "%s",
                 dpot_client_last_error(client));
    cr_assert_not_null(strstr(dpot_client_last_error(client), word), "%s",
                       dpot_client_last_error(client));
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_NOT_FOUND, "it was stored");
}

/* ---- work and memory ---- */

Test(costs, a_campaign_that_takes_too_long_is_refused_before_it_is_stored)
{
    dpot_client *client = world_open(&world);
    dpot_client_set_work_time(client, 16384);
    assert_refused(client, DPOT_ERR_TOO_LARGE, "work_max_ms");
    dpot_client_close(client);
}

Test(costs, a_campaign_that_needs_too_much_memory_is_refused_before_it_is_stored)
{
    world.config.memory_max_bytes = 1000;
    dpot_client *client = world_open(&world);
    assert_refused(client, DPOT_ERR_TOO_LARGE, "memory_max_bytes");
    dpot_client_close(client);
}

Test(costs, a_cap_that_was_lowered_later_refuses_submits_uncharged)
{
    dpot_client_close(world_enroll(&world));
    world.config.work_max_ms = WORK_MS - 1;
    dpot_client *client = world_open(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(world_status(client).n_submitted, 0);
    dpot_client_close(client);
}

/* The longest work that a campaign may ask for: measuring runs only a part of it. */
Test(costs, a_hostile_campaign_is_refused_in_a_moment)
{
    authority.campaign.iterations = DPOT_ITERATIONS_MAX;
    authority.campaign.n_max = DPOT_N_MAX_MAX;
    authority_sign(&authority);
    world.config.work_max_ms = 64;
    dpot_client *client = world_open(&world);
    dpot_client_set_work_time(client, 0); /* as on a device */
    assert_refused(client, DPOT_ERR_TOO_LARGE, "work_max_ms");
    dpot_client_close(client);
}

Test(costs, the_host_learns_what_a_campaign_costs)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    dpot_client *client = world_open(&world);
    dpot_client_set_work_time(client, 0);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(dpot_client_get_campaign(client, authority.campaign.id, &info), DPOT_OK);
    cr_assert_eq(info.n_numbers, authority.campaign.domain.size);
    cr_assert_gt(info.steps, 0);
    cr_assert_gt(info.memory_bytes, 0);
    cr_assert_geq(info.work_ms, WORK_MS);
    const uint32_t work_ms = info.work_ms;
    dpot_client_close(client);
    client = world_open(&world);
    dpot_client_set_work_time(client, 0);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK); /* not again */
    cr_assert_eq(dpot_client_get_campaign(client, authority.campaign.id, &info), DPOT_OK);
    cr_assert_eq(info.work_ms, work_ms);
    dpot_client_close(client);
}

/* The work time is that of a run without data: no submit changes the file. */
Test(costs, no_submit_changes_the_work_time)
{
    char name[64] = "work-";
    size_t len = 0, len_after = 0;
    uint8_t before[256];
    dpot_hex_encode(name + 5, authority.campaign.id, DPOT_CAMPAIGN_ID_LEN);
    dpot_client *client = world_open(&world);
    dpot_client_set_work_time(client, 0);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    const uint8_t *file = test_filesystem_cached(&world.files, name, &len);
    cr_assert(len > 0 && len <= sizeof before);
    memcpy(before, file, len);
    for (uint32_t round = 0; round < 3; round++) {
        world.clock.now_ms = OPENS_MS + round * DAY_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    }
    file = test_filesystem_cached(&world.files, name, &len_after);
    cr_assert_eq(len_after, len);
    cr_assert_arr_eq(file, before, len);
    dpot_client_close(client);
}

/* A campaign without its file is measured inside the submit: the horizon is later by that. */
Test(costs, measuring_inside_a_submit_moves_the_horizon)
{
    char name[64] = "work-";
    dpot_hex_encode(name + 5, authority.campaign.id, DPOT_CAMPAIGN_ID_LEN);
    dpot_client *client = world_open(&world);
    dpot_client_set_work_time(client, 0);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    test_filesystem_delete(&world.files, name);
    const int64_t start_ms = world.clock.now_ms;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    cr_assert_eq(dpot_client_get_campaign(client, authority.campaign.id, &info), DPOT_OK);
    size_t len = 0;
    const uint8_t *ledger = test_filesystem_cached(&world.files, DPOT_LEDGER_NAME, &len);
    const int64_t horizon_ms = (int64_t)dpot_load_u64(ledger + len - DPOT_LEDGER_RECORD_LEN + 152);
    cr_assert_gt(horizon_ms, start_ms + info.work_ms);
    dpot_client_close(client);
}

/* ---- readings ---- */

/* The records of this type in the ledger. */
static size_t count_records(const char type[4])
{
    size_t len = 0, n = 0;
    const uint8_t *ledger = test_filesystem_durable(&world.files, DPOT_LEDGER_NAME, &len);
    for (size_t at = DPOT_HEADER_LEN; at < len; at += DPOT_LEDGER_RECORD_LEN) {
        n += memcmp(ledger + at, type, 4) == 0;
    }
    return n;
}

/* A submit that is cut off when its n-th write of the disk is done and its data may have been
 * read. */
static void crash_while_working(size_t n)
{
    dpot_client *client = world_open(&world);
    test_filesystem_cut_at(&world.files, n, false);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_POISONED);
    dpot_client_close(client);
    test_filesystem_restart(&world.files, TEST_LOSE_ALL);
}

Test(costs, data_are_read_twice_at_most_and_then_the_report_is_of_the_default)
{
    enum dpot_submit_outcome outcome = 0;
    /* The default of the ring is uniform: at epsilon 20 place 3 would be named nearly always. */
    authority_extend(&authority, 30, 20 * DPOT_EPSILON_ONE);
    size_t n_place = 0;
    enum { N = 24 };
    for (uint64_t i = 0; i < N; i++) {
        world_release(&world);
        world_init(&world, &authority, i);
        dpot_client_close(world_enroll(&world));
        crash_while_working(7); /* after slot and charge: three calls each */
        crash_while_working(4); /* after the repair of opening and RESUME */
        cr_assert_eq(count_records("CHRG"), 1);
        cr_assert_eq(count_records("RSMU"), 1);
        dpot_client *client = world_open(&world);
        cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK);
        cr_assert_eq(outcome, DPOT_SUBMIT_RESUMED);
        cr_assert_eq(count_records("RSMU"), 1, "read a third time");
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world.n_received, 1);
        n_place += world.received[0].report.index == 3;
        cr_assert_float_eq(world_status(client).spent_epsilon, 20, 1e-9);
        dpot_client_close(client);
    }
    cr_assert_lt(n_place, N / 2, "of the data, and not of the default");
}

/* ---- what an app expects ---- */

static void digest_of_keys(uint8_t digest[32])
{
    dpot_hash(digest, authority.signed_keys.data, authority.signed_keys.len);
}

Test(costs, campaigns_and_keys_that_the_app_expects_are_accepted)
{
    uint8_t digests[2][32];
    memcpy(digests[0], authority.hash, 32);
    digest_of_keys(digests[1]);
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_expect(client, (const uint8_t(*)[32])digests, 2), DPOT_OK);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(client);
}

Test(costs, another_campaign_than_was_expected_is_neither_stored_nor_charged)
{
    uint8_t digests[1][32];
    digest_of_keys(digests[0]);
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_expect(client, (const uint8_t(*)[32])digests, 1), DPOT_OK);
    assert_refused(client, DPOT_ERR_UNEXPECTED, "expects");
    cr_assert_eq(dpot_client_expect(client, NULL, 0), DPOT_OK);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(dpot_client_expect(client, (const uint8_t(*)[32])digests, 1), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_UNEXPECTED, "stored before");
    cr_assert_eq(world_status(client).n_submitted, 0);
    dpot_client_close(client);
}

Test(costs, nothing_is_charged_while_the_keys_are_not_those_expected)
{
    uint8_t digests[2][32] = {{0}};
    memcpy(digests[0], authority.hash, 32);
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_expect(client, (const uint8_t(*)[32])digests, 1), DPOT_OK);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_UNEXPECTED);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_UNEXPECTED, "no keys are here");
    dpot_client_close(client);
    client = world_enroll(&world);
    cr_assert_eq(dpot_client_expect(client, (const uint8_t(*)[32])digests, 1), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_UNEXPECTED, "others are here");
    cr_assert_eq(world_status(client).n_submitted, 0);
    digest_of_keys(digests[1]);
    cr_assert_eq(dpot_client_expect(client, (const uint8_t(*)[32])digests, 2), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
}

Test(costs, nothing_is_sealed_for_keys_that_were_not_expected)
{
    uint8_t digests[1][32];
    memcpy(digests[0], authority.hash, 32);
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(dpot_client_expect(client, (const uint8_t(*)[32])digests, 1), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_UNEXPECTED, "%s",
                 dpot_client_last_error(client));
    cr_assert_eq(world.n_received, 0);
    cr_assert_eq(world_status(client).n_pending, 1);
    dpot_client_close(client);
}
