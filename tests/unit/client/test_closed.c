/* Revisions that the server has closed, and clocks that ran ahead: what a device may still do. */
#include "model/report.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HOUR_MS ((int64_t)3600 * 1000)

static struct authority authority;
static struct world world;
static dpot_client *client;

static void set_up(void)
{
    authority_init(&authority, 5);
    world_init(&world, &authority, 1);
    client = world_enroll(&world);
}

static void tear_down(void)
{
    dpot_client_close(client);
    world_release(&world);
    authority_release(&authority);
}

TestSuite(closed, .init = set_up, .fini = tear_down);

/* A report of round `round`, answered when the clock says `at_ms` after the round opened. */
static void report_and_pump(uint32_t round, int64_t at_ms, int http_status,
                            struct dpot_pump_result *result)
{
    world.clock.now_ms = OPENS_MS + round * DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    if (http_status != 0) {
        test_transport_script(&world.network,
                              (struct test_script){.status = http_status, .is_refusal = true});
    }
    world.clock.now_ms = OPENS_MS + round * DAY_MS + at_ms - DUE_MS;
    cr_assert_eq(world_pump(&world, client, result), DPOT_OK, "%s", dpot_client_last_error(client));
}

static void assert_refused(uint32_t round, uint64_t n_submitted)
{
    world.clock.now_ms = OPENS_MS + round * DAY_MS + HOUR_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_CLOSED);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "enroll again"), "%s",
                       dpot_client_last_error(client));
    cr_assert_eq(world_status(client).n_submitted, n_submitted, "charged for nothing");
}

Test(closed, a_revision_that_the_server_has_closed_is_not_charged_again)
{
    report_and_pump(0, HOUR_MS, 409, NULL);
    assert_refused(0, 1);
    assert_refused(1, 1);
    dpot_client_close(client);
    client = world_open(&world);
    assert_refused(2, 1); /* the ledger remembers */
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    assert_refused(2, 1); /* the same revision: it never opens again */
}

static void put_back(const struct dpot_buf *old)
{
    char name[64], hex[33];
    dpot_hex_encode(hex, authority.campaign.id, 16);
    (void)snprintf(name, sizeof name, "campaign-%s", hex);
    test_filesystem_put(&world.files, name, old->data, old->len);
}

Test(closed, an_old_revision_put_back_after_a_report_to_a_newer_one_is_not_charged)
{
    struct dpot_buf old = authority.signed_campaign;
    dpot_buf_init(&authority.signed_campaign, old.max, NULL);
    authority.campaign.revision = 2;
    authority_sign(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    put_back(&old);
    for (int i = 0; i < 2; i++) { /* this handle, and one that has only the disk */
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_EXISTS);
        cr_assert_not_null(strstr(dpot_client_last_error(client), "revision 1 is refused"), "%s",
                           dpot_client_last_error(client));
        cr_assert_eq(dpot_client_import(client, old.data, old.len, NULL), DPOT_ERR_EXISTS);
        cr_assert_eq(world_status(client).n_submitted, 1);
        dpot_client_close(client);
        client = world_open(&world);
    }
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    dpot_buf_release(&old);
}

Test(closed, enrolling_again_takes_part_in_the_newer_revision)
{
    report_and_pump(0, HOUR_MS, 409, NULL);
    authority.campaign.revision = 2;
    authority_sign(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    report_and_pump(1, HOUR_MS, 0, NULL);
    cr_assert_eq(world_status(client).n_submitted, 2);
    cr_assert_eq(world_status(client).n_accepted, 1);
}

/* The server answers the same for a round that is over: the revision goes on. */
Test(closed, a_report_that_came_too_late_says_nothing_about_the_revision)
{
    report_and_pump(0, DAY_MS + HOUR_MS, 409, NULL);
    report_and_pump(1, DAY_MS - HOUR_MS + 1, 409, NULL); /* the server's clock may be ahead */
    report_and_pump(2, HOUR_MS, 0, NULL);
    cr_assert_eq(world_status(client).n_accepted, 1);
    cr_assert_eq(world_status(client).n_dropped_closed, 2);
}

Test(closed, the_last_answer_counts)
{
    const char rejected_closed[] = {0x0a, 0x01, DPOT_REPORT_REJECTED_CLOSED, 0};
    world.clock.now_ms = OPENS_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.clock.now_ms = OPENS_MS + DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    test_transport_script(&world.network, (struct test_script){.status = 404});
    test_transport_script(&world.network,
                          (struct test_script){.status = 202,
                                               .content_type = "application/x-protobuf",
                                               .body = rejected_closed});
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NOT_FOUND);
    assert_refused(2, 2);
    test_transport_script(&world.network,
                          (struct test_script){.status = 202,
                                               .content_type = "application/x-protobuf",
                                               .body = "\n\1\1"});
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    world.clock.now_ms = OPENS_MS + 2 * DAY_MS + HOUR_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
}

Test(closed, a_pump_reports_how_every_report_ended_once)
{
    struct dpot_pump_result result;
    report_and_pump(0, HOUR_MS, 409, &result);
    cr_assert_eq(result.n_sent, 1);
    cr_assert_eq(result.n_dropped_closed, 1);
    cr_assert_eq(result.n_accepted, 0);
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(result.n_dropped_closed, 0, "told already");
}

Test(closed, a_pump_reports_what_it_drops_for_its_age)
{
    struct dpot_pump_result result;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
    world.clock.now_ms += 400 * DAY_MS;
    client = world_open(&world);
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(result.n_sent, 0);
    cr_assert_eq(result.n_dropped_age, 1);
    cr_assert_eq(result.n_pending, 0);
}

/* ---- clocks ---- */

static const char *round_over(const char *server_time)
{
    static char body[256];
    (void)snprintf(body, sizeof body, "\"closed\":\"round\",\"server_time\":\"%s\"", server_time);
    return body;
}

static void refuse_once(const char *body)
{
    test_transport_script(&world.network,
                          (struct test_script){.status = 409, .is_refusal = true, .body = body});
}

Test(closed, a_round_that_is_over_by_the_servers_clock_alone_keeps_its_report)
{
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    refuse_once(round_over("2023-11-17T00:00:00Z"));
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_CLOSED);
    const char *text = dpot_client_last_error(client);
    cr_assert_not_null(strstr(text, "server's clock (2023-11-17T00:00:00Z)"), "%s", text);
    cr_assert_not_null(strstr(text, "this device (2023-11-14T22:13:23Z)"), "%s", text);
    cr_assert_not_null(strstr(text, "round 0"), "%s", text);
    cr_assert_eq(world_status(client).n_pending, 1);
    world.clock.now_ms += HOUR_MS; /* the server's clock was set right */
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "the revision is not closed");
}

Test(closed, a_round_that_is_over_by_both_clocks_drops_its_report)
{
    struct dpot_pump_result result;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.clock.now_ms = OPENS_MS + DAY_MS - 1 - DUE_MS;
    refuse_once(round_over("2023-11-17T00:00:00Z"));
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_CLOSED);
    world.clock.now_ms += HOUR_MS;
    refuse_once(round_over("2023-11-17T00:00:00Z"));
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(result.n_dropped_closed, 1);
}

Test(closed, a_revision_that_somebody_closed_drops_its_report_at_once)
{
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    refuse_once("\"closed\":\"revision\"");
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_dropped_closed, 1);
}

Test(closed, a_server_time_that_is_none_is_not_repeated)
{
    static const char *const times[] = {"", "\xc2\x9b<now>",
                                        "2023-11-17T00:00:00Z2023-11-17T00:00:00Z"};
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        refuse_once(round_over(times[i]));
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_CLOSED);
        cr_assert_not_null(strstr(dpot_client_last_error(client), "(no time given)"), "%s",
                           dpot_client_last_error(client));
        world.clock.now_ms += HOUR_MS;
    }
}

Test(closed, a_round_over_at_the_server_delays_no_other_campaign)
{
    struct dpot_buf bytes;
    uint8_t id[DPOT_CAMPAIGN_ID_LEN];
    const double place = 1;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    authority.campaign.id[15] ^= 0xff;
    authority_sign_campaign(&authority, &authority.campaign, &bytes);
    cr_assert_eq(dpot_client_import(client, bytes.data, bytes.len, id), DPOT_OK);
    cr_assert_eq(dpot_client_submit_points(client, id, &place, NULL, 1, 1, NULL), DPOT_OK);
    refuse_once(round_over("2023-11-17T00:00:00Z"));
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_CLOSED);
    cr_assert_eq(world_status(client).n_accepted, 1);
    cr_assert_eq(world_status(client).n_pending, 1);
    dpot_buf_release(&bytes);
}

Test(closed, a_clock_ten_years_ahead_in_a_pump_does_not_shut_the_install)
{
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.clock.now_ms += 3650 * DAY_MS;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_dropped_age, 1);
    for (size_t i = 0; i < 2; i++) {
        world.clock.now_ms = OPENS_MS + (int64_t)(i + 1) * DAY_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s",
                     dpot_client_last_error(client));
        cr_assert_eq(world_status(client).device_time_ms, world.clock.now_ms);
        dpot_client_close(client);
        client = world_open(&world);
    }
}

/* Status, grant, and a submit to another campaign, under a clock that is centuries ahead. */
Test(closed, a_clock_ahead_drops_nothing_outside_a_pump)
{
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
    world.clock.now_ms += 100000 * DAY_MS;
    client = world_open(&world);
    cr_assert_eq(world_status(client).n_pending, 1);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_CLOSED);
    cr_assert_eq(dpot_client_grant(client), DPOT_OK);
    cr_assert_eq(world_status(client).n_pending, 1);
    dpot_client_close(client);
    world.clock.now_ms -= 100000 * DAY_MS;
    client = world_open(&world);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
}

Test(closed, a_charge_under_a_clock_ahead_is_explained_with_both_times)
{
    world.clock.now_ms = OPENS_MS + 4 * DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    authority.campaign.revision = 2;
    authority.campaign.closes_ms = OPENS_MS + 3 * DAY_MS;
    authority.campaign.rounds = 3;
    authority_sign(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    world.clock.now_ms = OPENS_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_CLOSED);
    const char *text = dpot_client_last_error(client);
    cr_assert_not_null(strstr(text, "device_time is 2023-11-18T22:13:20Z"), "%s", text);
    cr_assert_not_null(strstr(text, "present 2023-11-14T22:13:20Z"), "%s", text);
    cr_assert_not_null(strstr(text, "new folder"), "%s", text);
    cr_assert_eq(world_status(client).n_submitted, 1);
}

Test(closed, keys_that_are_not_valid_now_name_the_time)
{
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    for (size_t i = 0; i < 2; i++) {
        authority.keys.seal_keys[i].not_after_ms = OPENS_MS;
    }
    authority_sign_keys(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_SERVER);
    cr_assert_not_null(
        strstr(dpot_client_last_error(client), "the clock of this device says 2023-"), "%s",
        dpot_client_last_error(client));
}

Test(closed, an_answer_that_is_too_long_is_the_servers_fault)
{
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    test_transport_script(&world.network, (struct test_script){.failure = DPOT_ERR_TOO_LARGE});
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_SERVER);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "longer than 65536 bytes"), "%s",
                       dpot_client_last_error(client));
    cr_assert_eq(world_status(client).n_pending, 1);
}
