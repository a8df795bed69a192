#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <string.h>

#define HOUR_MS ((int64_t)3600 * 1000)

static struct authority authority;
static struct world world;

static void set_up(void)
{
    authority_init(&authority, 3);
    world_init(&world, &authority, 1);
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(uploader, .init = set_up, .fini = tear_down);

/* Enrolled, with one report that is due. */
static dpot_client *with_report(void)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    return client;
}

/* ---- the table of actions ---- */

Test(uploader, every_status_that_is_no_final_answer_keeps_the_report)
{
    static const struct {
        int status;
        dpot_status expected;
    } rows[] = {
        {401, DPOT_ERR_DENIED}, {403, DPOT_ERR_DENIED}, {404, DPOT_ERR_NOT_FOUND},
        {408, DPOT_ERR_SERVER}, {429, DPOT_ERR_SERVER}, {500, DPOT_ERR_SERVER},
        {502, DPOT_ERR_SERVER}, {503, DPOT_ERR_SERVER}, {504, DPOT_ERR_SERVER},
        {200, DPOT_ERR_SERVER}, {204, DPOT_ERR_SERVER}, {301, DPOT_ERR_SERVER},
        {418, DPOT_ERR_SERVER},
    };
    dpot_client *client = with_report();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dpot_pump_result result;
        test_transport_script(&world.network, (struct test_script){.status = rows[i].status});
        world.clock.now_ms += HOUR_MS;
        cr_assert_eq(world_pump(&world, client, &result), rows[i].expected, "HTTP %d",
                     rows[i].status);
        cr_assert_neq(dpot_client_last_error(client)[0], '\0');
        cr_assert_eq(result.n_sent, 0);
        cr_assert_eq(result.n_pending, 1);
        cr_assert_gt(result.next_due_ms, world.clock.now_ms);
        cr_assert_leq(result.next_due_ms, world.clock.now_ms + HOUR_MS + 1);
    }
    world.clock.now_ms += HOUR_MS;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_accepted, 1);
    assert_conserved(&status);
    dpot_client_close(client);
}

Test(uploader, without_a_network_the_report_is_kept_and_backs_off)
{
    dpot_client *client = with_report();
    struct dpot_pump_result result;
    for (size_t i = 0; i < 12; i++) {
        test_transport_script(&world.network, (struct test_script){.failure = DPOT_ERR_NETWORK});
        world.clock.now_ms += HOUR_MS;
        cr_assert_eq(world_pump(&world, client, &result), DPOT_ERR_NETWORK);
        const size_t n_posts = world.network.n_posts;
        world.clock.now_ms = result.next_due_ms - DUE_MS - 1;
        cr_assert_eq(world_pump(&world, client, &result), DPOT_OK); /* not before its time */
        cr_assert_eq(world.network.n_posts, n_posts);
    }
    dpot_client_close(client);
}

static dpot_status pump_with(dpot_client *client, struct test_script row)
{
    test_transport_script(&world.network, row);
    world.clock.now_ms += HOUR_MS;
    return world_pump(&world, client, NULL);
}

Test(uploader, retry_after_is_honoured_for_the_whole_server)
{
    dpot_client *client = with_report();
    struct dpot_pump_result result;
    cr_assert_eq(pump_with(client, (struct test_script){.status = 503, .retry_after_s = 7200}),
                 DPOT_ERR_SERVER);
    const int64_t asked_ms = world.clock.now_ms;
    world.clock.now_ms = asked_ms + 7200 * 1000 - 1 - DUE_MS;
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(world.n_received, 0);
    cr_assert_geq(result.next_due_ms, asked_ms + 7200 * 1000);
    world.clock.now_ms = asked_ms + 7200 * 1000;
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(client);
}

Test(uploader, a_server_that_asks_for_a_century_gets_a_day)
{
    dpot_client *client = with_report();
    cr_assert_eq(
        pump_with(client, (struct test_script){.status = 429, .retry_after_s = UINT32_MAX}),
        DPOT_ERR_SERVER);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(client);
}

Test(uploader, a_single_report_that_is_refused_as_malformed_is_dropped)
{
    static const int statuses[] = {400, 413};
    dpot_client *client = world_enroll(&world);
    for (size_t i = 0; i < 2; i++) {
        world.clock.now_ms = OPENS_MS + (int64_t)i * DAY_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        cr_assert_eq(
            pump_with(client, (struct test_script){.status = statuses[i], .is_refusal = true}),
            DPOT_OK);
        const struct dpot_client_status status = world_status(client);
        cr_assert_eq(status.n_dropped_malformed, i + 1);
        cr_assert_eq(status.n_pending, 0);
        assert_conserved(&status);
    }
    dpot_client_close(client);
}

Test(uploader, a_closed_round_drops_the_report_as_closed)
{
    dpot_client *client = with_report();
    cr_assert_eq(pump_with(client, (struct test_script){.status = 409, .is_refusal = true}),
                 DPOT_OK);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_dropped_closed, 1);
    assert_conserved(&status);
    dpot_client_close(client);
}

Test(uploader, a_withdrawn_key_is_replaced_and_the_same_report_sealed_again)
{
    dpot_client *client = with_report();
    world.withdraws_key = true;
    world.serves_second_key = true;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(world.network.n_posts, 2);
    cr_assert_eq(world.n_received, 1);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

Test(uploader, keys_are_fetched_again_at_most_once_in_a_pump)
{
    dpot_client *client = with_report();
    const size_t n_gets = world.network.n_gets;
    world.withdraws_key = true; /* and the server goes on publishing it */
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_SERVER);
    cr_assert_eq(world.network.n_gets, n_gets + 1);
    cr_assert_eq(world.network.n_posts, 2);
    cr_assert_eq(world_status(client).n_pending, 1);
    dpot_client_close(client);
}

Test(uploader, keys_of_another_signer_are_not_trusted)
{
    dpot_client *client = with_report();
    struct authority other;
    authority_init(&other, 1);
    struct dpot_buf keys = authority.signed_keys;
    authority.signed_keys = other.signed_keys;
    world.withdraws_key = true;
    cr_assert_neq(world_pump(&world, client, NULL), DPOT_OK);
    authority.signed_keys = keys;
    world.withdraws_key = false;
    world.clock.now_ms += HOUR_MS;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    authority_release(&other);
    dpot_client_close(client);
}

Test(uploader, without_a_valid_key_they_are_fetched_first)
{
    struct dpot_client_status status;
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_import(client, authority.signed_campaign.data,
                                    authority.signed_campaign.len, NULL),
                 DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    status = world_status(client);
    cr_assert_eq(status.n_accepted, 1);
    dpot_client_close(client);
}

/* ---- receipts ---- */

Test(uploader, every_status_of_a_receipt_is_counted_under_its_name)
{
    authority_extend(&authority, 9, DPOT_EPSILON_ONE);
    dpot_client *client = world_enroll(&world);
    for (char answer = 1; answer < DPOT_REPORT_STATUS_END; answer++) {
        const char receipt[] = {0x0a, 0x01, answer, 0};
        world.clock.now_ms = OPENS_MS + answer * DAY_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        cr_assert_eq(
            pump_with(client, (struct test_script){.status = 202,
                                                   .content_type = "application/x-protobuf",
                                                   .body = receipt}),
            DPOT_OK, "%s", dpot_client_last_error(client));
    }
    const struct dpot_client_status s = world_status(client);
    const uint64_t counts[] = {s.n_accepted,       s.n_duplicate,      s.n_rejected_malformed,
                               s.n_rejected_range, s.n_rejected_group, s.n_rejected_test,
                               s.n_rejected_token, s.n_rejected_closed};
    for (size_t i = 0; i < 8; i++) {
        cr_assert_eq(counts[i], 1, "status %zu", i + 1);
    }
    assert_conserved(&s);
    dpot_client_close(client);
}

Test(uploader, a_receipt_that_does_not_parse_keeps_the_report)
{
    static const char *const bodies[] = {NULL, "\x0a", "\x0a\x02\x01\x01", "\x0a\x01\x7f",
                                         "<html>"};
    dpot_client *client = with_report();
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        cr_assert_eq(
            pump_with(client, (struct test_script){.status = 202,
                                                   .content_type = "application/x-protobuf",
                                                   .body = bodies[i],
                                                   .reaches_server = true}),
            i == 4 ? DPOT_ERR_NETWORK : DPOT_ERR_SERVER, "body %zu", i);
        cr_assert_eq(world_status(client).n_pending, 1);
    }
    world.clock.now_ms += HOUR_MS;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_duplicate, 1);
    cr_assert_eq(world.n_received, 6);
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
}

Test(uploader, an_answer_that_was_lost_makes_a_duplicate_not_a_second_report)
{
    dpot_client *client = with_report();
    cr_assert_eq(pump_with(client, (struct test_script){.failure = DPOT_ERR_NETWORK,
                                                        .reaches_server = true}),
                 DPOT_ERR_NETWORK);
    dpot_client_close(client);
    client = world_open(&world);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_duplicate, 1);
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
}

/* ---- age, time, several reports ---- */

Test(uploader, a_report_is_kept_for_thirty_days_after_its_round_and_then_dropped)
{
    dpot_client *client = with_report();
    world.clock.now_ms = OPENS_MS + DAY_MS + 30 * DAY_MS - 1 - DUE_MS;
    test_transport_script(&world.network, (struct test_script){.status = 500});
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_SERVER);
    cr_assert_eq(world_status(client).n_pending, 1);
    world.clock.now_ms = OPENS_MS + DAY_MS + 30 * DAY_MS;
    const size_t n_posts = world.network.n_posts;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.network.n_posts, n_posts);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_dropped_age, 1);
    assert_conserved(&status);
    dpot_client_close(client);
}

Test(uploader, reports_of_several_rounds_go_in_posts_of_their_own)
{
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < 3; round++) {
        world.clock.now_ms = OPENS_MS + round * DAY_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    }
    struct dpot_pump_result result;
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(result.n_sent, 3);
    cr_assert_eq(world.network.n_posts, 3);
    for (uint32_t round = 0; round < 3; round++) {
        cr_assert_eq(world.received[round].round, round);
    }
    dpot_client_close(client);
}

Test(uploader, one_refused_report_does_not_delay_the_others)
{
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < 2; round++) {
        world.clock.now_ms = OPENS_MS + round * DAY_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    }
    cr_assert_eq(pump_with(client, (struct test_script){.status = 404}), DPOT_ERR_NOT_FOUND);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_accepted, 1);
    cr_assert_eq(status.n_pending, 1);
    dpot_client_close(client);
}

Test(uploader, a_deadline_of_0_sends_nothing)
{
    dpot_client *client = with_report();
    world.clock.now_ms += HOUR_MS;
    cr_assert_eq(dpot_client_pump(client, 0, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 0);
    world.clock.step_ms = 400; /* the deadline passes while reports are sent */
    cr_assert_eq(dpot_client_pump(client, 1, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 0);
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(client);
}

Test(uploader, a_handle_without_a_network_fails)
{
    world.config.transport = NULL;
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_pump(client, 1000, NULL), DPOT_ERR_STATE);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_STATE);
    dpot_client_close(client);
}

Test(uploader, pumping_an_empty_spool_succeeds)
{
    dpot_client *client = world_open(&world);
    struct dpot_pump_result result;
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(result.n_sent, 0);
    cr_assert_eq(result.n_pending, 0);
    cr_assert_eq(result.next_due_ms, INT64_MAX);
    dpot_client_close(client);
}

Test(uploader, an_old_revision_that_counts_losses_gets_zeros)
{
    authority.campaign.loss_counts = true;
    authority_sign(&authority);
    dpot_client *client = with_report();
    world.clock.now_ms += HOUR_MS;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    cr_assert(world.received[0].has_losses);
    dpot_client_close(client);
}
