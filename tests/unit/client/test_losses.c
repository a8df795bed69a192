/* What a device tells of reports it lost: only if the signed campaign asks, in classes, once, and the same
 * at every try. */
#include "client.h"
#include "losses.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <string.h>

static struct authority authority;
static struct world world;

static void set_up(void)
{
    authority_init(&authority, 3);
    authority.campaign.loss_counts = true;
    authority_extend(&authority, 250, DPOT_EPSILON_ONE / 16);
    world_init(&world, &authority, 1);
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(losses, .init = set_up, .fini = tear_down, .timeout = 60);

static void submit_round(dpot_client *client, uint32_t round)
{
    world.clock.now_ms = OPENS_MS + round * DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
}

static void pump(dpot_client *client)
{
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
}

static void assert_told(size_t received, uint8_t age, uint8_t lost, uint8_t spool)
{
    const struct received *r = &world.received[received];
    cr_assert_gt(world.n_received, received);
    cr_assert(r->has_losses);
    cr_assert_eq(r->losses.class_of[DPOT_LOSS_AGE], age);
    cr_assert_eq(r->losses.class_of[DPOT_LOSS_LOST], lost);
    cr_assert_eq(r->losses.class_of[DPOT_LOSS_SPOOL], spool);
}

Test(losses, are_not_told_to_a_campaign_that_does_not_ask)
{
    char text[2048];
    authority.campaign.loss_counts = false;
    authority_sign(&authority);
    world.config.spool_max_bytes = 1;
    dpot_client *client = world_enroll(&world);
    submit_round(client, 0);
    submit_round(client, 1);
    pump(client);
    cr_assert_eq(world_status(client).n_dropped_spool, 1);
    cr_assert_eq(world.n_received, 1);
    cr_assert(!world.received[0].has_losses);
    cr_assert_eq(dpot_client_get_statement(client, text, sizeof text), DPOT_OK);
    cr_assert_null(strstr(text, "lost"), "%s", text);
    dpot_client_close(client);
}

Test(losses, are_told_by_the_next_report_once_in_classes_and_in_the_statement)
{
    static const uint8_t classes[] = {0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
    char text[2048];
    uint32_t round = 0;
    world.config.spool_max_bytes = 1;
    dpot_client *client = world_enroll(&world);
    for (size_t n = 0; n < sizeof classes; n++) {
        for (size_t i = 0; i <= n; i++) {
            submit_round(client, round++); /* each drops the one before */
        }
        pump(client);
        assert_told(n, 0, 0, classes[n]);
    }
    cr_assert_eq(dpot_client_get_statement(client, text, sizeof text), DPOT_OK);
    cr_assert_not_null(strstr(text, "\"test\" tell the server how many"), "%s", text);
    dpot_client_close(client);
}

Test(losses, of_age_and_by_accident_have_their_own_counts)
{
    dpot_client *client = world_enroll(&world);
    submit_round(client, 0);
    submit_round(client, 1);
    submit_round(client, 40); /* both are too old for the next pump */
    dpot_client_close(client);
    size_t len = 0;
    uint8_t broken[8 * DPOT_SPOOL_UNIT_LEN];
    const uint8_t *spool = test_filesystem_cached(&world.files, DPOT_SPOOL_NAME, &len);
    cr_assert_leq(len, sizeof broken);
    memcpy(broken, spool, len);
    broken[len - 1 - 60] ^= 1; /* the report of round 40 is damaged */
    test_filesystem_put(&world.files, DPOT_SPOOL_NAME, broken, len);
    client = world_open(&world);
    pump(client);
    submit_round(client, 41);
    pump(client);
    const struct dpot_client_status s = world_status(client);
    cr_assert_eq(s.n_dropped_age, 2);
    cr_assert_eq(s.n_dropped_lost, 1);
    assert_told(0, 2, 1, 0); /* those of the report that was lost itself as well */
    dpot_client_close(client);
}

Test(losses, are_the_same_at_every_try_and_after_every_restart)
{
    world.config.spool_max_bytes = 1;
    dpot_client *client = world_enroll(&world);
    submit_round(client, 0);
    submit_round(client, 1);
    for (size_t i = 0; i < 3; i++) {
        test_transport_script(&world.network, (struct test_script){.failure = DPOT_ERR_NETWORK,
                                                                   .reaches_server = true});
        world.clock.now_ms += DAY_MS / 4;
        cr_assert_eq(dpot_client_pump(client, PUMP_MS, NULL), DPOT_ERR_NETWORK);
        assert_told(i, 0, 0, 1);
        dpot_client_close(client);
        client = world_open(&world);
    }
    world.clock.now_ms += DAY_MS / 4;
    pump(client);
    assert_told(3, 0, 0, 1);
    submit_round(client, 5);
    pump(client);
    assert_told(4, 0, 0, 0);
    dpot_client_close(client);
}

Test(losses, that_the_server_or_the_owner_brought_about_are_not_told)
{
    static const int statuses[] = {400, 409, 413};
    dpot_client *client = world_enroll(&world);
    for (uint32_t i = 0; i < 3; i++) {
        submit_round(client, i);
        test_transport_script(&world.network, (struct test_script){.status = statuses[i]});
        world.clock.now_ms += DAY_MS - DAY_MS / 48;
        pump(client);
    }
    submit_round(client, 3);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    cr_assert_eq(dpot_client_grant(client), DPOT_OK);
    submit_round(client, 4);
    pump(client);
    const struct dpot_client_status s = world_status(client);
    cr_assert_eq(s.n_dropped_malformed + s.n_dropped_closed + s.n_dropped_withdrawn, 4);
    assert_told(0, 0, 0, 0);
    dpot_client_close(client);
}

Test(losses, of_another_campaign_are_nobodys_business)
{
    world.config.spool_max_bytes = 1;
    dpot_client *client = world_enroll(&world);
    submit_round(client, 0);
    authority.campaign.id[0] ^= 1;
    authority_sign(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    submit_round(client, 1); /* drops the report of the first campaign */
    pump(client);
    cr_assert_eq(world_status(client).n_dropped_spool, 1);
    assert_told(0, 0, 0, 0);
    dpot_client_close(client);
}

/* The length of what is sent is seen by whoever sees the network. */
Test(losses, do_not_change_the_length_of_a_post)
{
    world.config.spool_max_bytes = 1;
    dpot_client *client = world_enroll(&world);
    submit_round(client, 1);
    pump(client);
    for (uint32_t round = 2; round < 20; round++) {
        submit_round(client, round);
    }
    pump(client);
    assert_told(0, 0, 0, 0);
    assert_told(1, 0, 0, 4);
    cr_assert_eq(world.received[0].body_len, world.received[1].body_len);
    dpot_client_close(client);
}

Test(losses, are_in_classes_that_cover_every_count)
{
    cr_assert_eq(dpot_loss_class(0), 0);
    cr_assert_eq(dpot_loss_class(1), 1);
    cr_assert_eq(dpot_loss_class(3), 2);
    cr_assert_eq(dpot_loss_class(7), 3);
    cr_assert_eq(dpot_loss_class(8), 4);
    cr_assert_eq(dpot_loss_class(UINT64_MAX), 4);
    cr_assert_str_eq(dpot_loss_class_name(4), "8+");
    cr_assert_null(dpot_loss_class_name(5));
    cr_assert_str_eq(dpot_loss_reason_name(DPOT_LOSS_SPOOL), "spool");
    cr_assert_null(dpot_loss_reason_name(3));
}
