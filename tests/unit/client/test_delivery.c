/* What the device does with every answer: the rows of the table of actions, receipts of every kind,
 * keys, deadlines, over restarts and clocks that step. */
#include "client.h"
#include "unit/client/delivery.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(delivery, .init = delivery_set_up, .fini = delivery_tear_down);

/* ---- every status ---- */

/* The contract (libdpot.3, DELIVERY), a second time. */
static dpot_status expected_of(int status, uint64_t *malformed, uint64_t *closed)
{
    switch (status) {
    case 400:
    case 413:
        ++*malformed;
        return DPOT_OK;
    case 409:
        ++*closed;
        return DPOT_OK;
    case 401:
    case 403:
        return DPOT_ERR_DENIED;
    case 404:
        return DPOT_ERR_NOT_FOUND;
    default:
        return DPOT_ERR_SERVER;
    }
}

/* One status: its failure, the wait, and the end of the report. */
static dpot_client *live_through(dpot_client *client, int status, uint32_t round)
{
    uint64_t malformed = 0, closed = 0;
    struct dpot_pump_result result;
    submit_late(client, round);
    says.status = status;
    says.reaches_server = status % 2 == 1;
    const size_t n_exchanges = says.n_exchanges;
    cr_assert_eq(pump(client, &result), expected_of(status, &malformed, &closed), "HTTP %d",
                 status);
    cr_assert_eq(says.n_exchanges - n_exchanges, status == 410 ? 3 : 1, "HTTP %d", status);
    cr_assert_eq(result.n_dropped_malformed, malformed, "HTTP %d", status);
    cr_assert_eq(result.n_dropped_closed, closed, "HTTP %d", status);
    cr_assert_eq(result.n_pending, 1 - malformed - closed, "HTTP %d", status);
    client = status % 3 == 0 ? reopen(client) : client;
    says.status = 0;
    cr_assert(result.n_pending == 0 || (result.next_due_ms > world.clock.now_ms &&
                                        result.next_due_ms <= world.clock.now_ms + 2000));
    world.clock.now_ms += 3 * DUE_MS;
    cr_assert_eq(pump(client, &result), DPOT_OK, "HTTP %d: %s", status,
                 dpot_client_last_error(client));
    cr_assert_eq(result.n_accepted + result.n_duplicate, 1 - malformed - closed, "HTTP %d", status);
    cr_assert_eq(result.n_duplicate, (1 - malformed - closed) * says.reaches_server);
    return client;
}

Test(delivery, every_http_status_does_what_the_table_says)
{
    dpot_client *client = world_enroll(&world);
    uint32_t round = 0;
    for (int status = 200; status < 600; status++) {
        if (status != 202) {
            client = live_through(client, status, round++);
            world.n_received = 0;
        }
    }
    const struct dpot_client_status s = world_status(client);
    cr_assert_eq(s.n_submitted, 399);
    cr_assert_eq(s.n_dropped_malformed, 2);
    cr_assert_eq(s.n_dropped_closed, 1);
    cr_assert_eq(s.n_accepted + s.n_duplicate, 396);
    cr_assert_eq(s.n_pending, 0);
    assert_conserved(&s);
    dpot_client_close(client);
}

Test(delivery, numbers_that_are_no_http_status_keep_the_report)
{
    static const int statuses[] = {-1, 1, 100, 101, 103, 199, 600, 999, 70000};
    dpot_client *client = with_report();
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        says.status = statuses[i];
        cr_assert_eq(pump(client, NULL), DPOT_ERR_SERVER);
        cr_assert_eq(world_status(client).n_pending, 1);
        world.clock.now_ms += HOUR_MS + 1;
    }
    says.status = 0;
    cr_assert_eq(pump(client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

/* ---- receipts ---- */

Test(delivery, a_receipt_that_is_not_for_exactly_this_report_is_no_answer)
{
    static uint8_t huge[65536 + 1024];
    static const struct {
        const char *bytes;
        size_t len;
    } rows[] = {
        {"", 0},                         /* nothing */
        {"\x0a\x00", 2},                 /* the report is left out */
        {"\x0a\x02\x01\x01", 4},         /* another report beside it */
        {"\x08\x01\x08\x02\x08\x03", 6}, /* two, not packed */
        {"\x0a\x01\x00", 3},             /* a status that is none */
        {"\x0a\x01\x09", 3},
        {"\x0a\x01\x7f", 3},
        {"\x0a\x02\xff\x01", 4},
        {"\x08\x01", 2},                     /* another spelling */
        {"\x0a\x05\x81\x80\x80\x80\x10", 7}, /* 2^32 + 1 */
        {"\x0a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12},
        {"\x0a\x01\x01\x10\x01", 5}, /* a field from the future */
        {"\x0a\x05\x01", 3},         /* cut off */
        {"\x0a", 1},
        {"<html>202</html>", 16},
        {"{\"status\":[1]}", 14},
        {(const char *)huge, 65536},
        {(const char *)huge, 65537},
        {(const char *)huge, sizeof huge},
    };
    dpot_client *client = with_report();
    says.status = 202;
    says.reaches_server = true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        says.body = rows[i].bytes;
        says.body_len = rows[i].len;
        cr_assert_eq(pump(client, NULL), i == 14 ? DPOT_ERR_NETWORK : DPOT_ERR_SERVER, "row %zu",
                     i);
        client = reopen(client);
        cr_assert_eq(world_status(client).n_pending, 1, "row %zu", i);
        world.clock.now_ms += HOUR_MS + 1;
    }
    says.status = 0;
    cr_assert_eq(pump(client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_duplicate, 1);
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
}

/* ---- failures ---- */

Test(delivery, a_server_that_fails_gets_one_request_per_pump_whatever_waits)
{
    static const int statuses[] = {408, 429, 500, 502, 503, 504, 599};
    struct dpot_pump_result result;
    dpot_client *client = with_reports(5);
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        const size_t n = says.n_exchanges;
        says.status = statuses[i];
        cr_assert_eq(pump(client, &result), DPOT_ERR_SERVER);
        cr_assert_eq(says.n_exchanges, n + 1, "HTTP %d", statuses[i]);
        cr_assert_eq(result.n_pending, 5);
        world.clock.now_ms = result.next_due_ms;
    }
    says.status = 0;
    world.clock.now_ms += HOUR_MS;
    cr_assert_eq(pump(client, &result), DPOT_OK);
    cr_assert_eq(result.n_accepted, 5);
    dpot_client_close(client);
}

/* Each time one of the others is due first with a probability of at least one half: 100 tries fail
 * with less than 2^-90. */
Test(delivery, a_report_that_makes_the_server_fail_does_not_block_the_others_for_ever)
{
    struct dpot_pump_result result;
    dpot_client *client = with_reports(3);
    const size_t spool =
        dpot_spool_find(&client->journal.spool, &client->journal.ledger.charges[0].key);
    uint8_t id[DPOT_REPORT_ID_LEN];
    memcpy(id, client->journal.spool.slots[spool].report.id, sizeof id);
    says.hates = id;
    for (size_t i = 0; i < 100 && world_status(client).n_pending > 1; i++) {
        (void)!pump(client, &result);
        world.clock.now_ms = result.next_due_ms;
    }
    cr_assert_eq(world_status(client).n_accepted, 2);
    cr_assert_eq(world_status(client).n_pending, 1);
    dpot_client_close(client);
}

/* ---- keys ---- */

Test(delivery, an_expired_key_seals_the_very_same_report_again_also_after_a_restart)
{
    dpot_client *client = with_report();
    world.withdraws_key = true;
    says.keys_status = 500; /* the new keys do not come at once */
    cr_assert_eq(pump(client, NULL), DPOT_ERR_SERVER);
    const size_t slot =
        dpot_spool_find(&client->journal.spool, &client->journal.ledger.charges[0].key);
    uint8_t id[DPOT_REPORT_ID_LEN];
    memcpy(id, client->journal.spool.slots[slot].report.id, sizeof id);
    const uint32_t index = client->journal.spool.slots[slot].report.index;
    client = reopen(client);
    world.serves_second_key = true;
    says.keys_status = 0;
    world.clock.now_ms += 2 * DUE_MS;
    cr_assert_eq(pump(client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(world.n_received, 1);
    cr_assert_eq(memcmp(world.received[0].report.id, id, sizeof id), 0);
    cr_assert_eq(world.received[0].report.index, index);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

/* ---- deadlines ---- */

Test(delivery, a_slow_server_gets_what_is_left_of_the_deadline_and_no_more)
{
    dpot_client *client = with_reports(9);
    world.config.request_timeout_ms = 30000;
    says.n_exchanges = 0;
    says.takes_ms = 24000;
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, NULL), DPOT_OK);
    cr_assert_eq(says.n_exchanges, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_gt(says.timeouts_ms[i], 0);
        cr_assert_leq(says.timeouts_ms[i], PUMP_MS - 24000 * i);
    }
    dpot_client_close(client);
}

Test(delivery, a_deadline_that_is_over_does_not_count_as_a_server_failure)
{
    struct dpot_pump_result result = {.struct_size = sizeof result};
    dpot_client *client = with_reports(3);
    says.takes_ms = PUMP_MS + 1000;
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, &result), DPOT_OK);
    cr_assert_eq(result.n_accepted, 1);
    cr_assert_eq(result.n_pending, 2);
    cr_assert_leq(result.next_due_ms, world.clock.now_ms); /* nothing backs off */
    dpot_client_close(client);
}

/* A clock that steps back in every exchange buys no time: 20 reports of 50 ms do not fit 200 ms. */
Test(delivery, a_clock_that_steps_back_does_not_stretch_a_deadline)
{
    dpot_client *client = with_reports(20);
    says.n_exchanges = 0;
    says.takes_ms = -HOUR_MS;
    says.sleeps_ms = 50;
    cr_assert_eq(dpot_client_pump(client, 200, NULL), DPOT_OK);
    cr_assert_leq(says.n_exchanges, 4);
    for (size_t i = 0; i < says.n_exchanges; i++) {
        cr_assert_leq(says.timeouts_ms[i], 200 - 50 * i);
    }
    dpot_client_close(client);
}

/* A steady clock of the app that goes forward by 25 s whenever it is read. */
static int64_t read_steady(void *ctx)
{
    struct test_clock *clock = ctx;
    return clock->steady_ms += 25000;
}

Test(delivery, the_steady_clock_of_the_app_bounds_a_pump)
{
    dpot_client *client = with_reports(9);
    world.clock.clock.monotonic = read_steady;
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 2);
    dpot_client_close(client);
}

Test(delivery, a_clock_that_steps_forward_ends_a_pump_early_and_costs_nothing)
{
    dpot_client *client = with_reports(4);
    says.takes_ms = DAY_MS;
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    says.takes_ms = 0;
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 4);
    dpot_client_close(client);
}
