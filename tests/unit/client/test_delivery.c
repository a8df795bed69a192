/* What the device does with whatever a server answers: every row of the table of actions, receipts of every
 * kind, Retry-After, back-off, deadlines, over restarts and clocks that step. */
#include "backoff.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOUR_MS ((int64_t)3600 * 1000)
#define MINUTE_MS ((int64_t)60 * 1000)
#define N_ROUNDS 800
#define PAUSE_LEN ((size_t)456)

static struct authority authority;
static struct world world;

/* What the server does with POSTs and with GET /v1/keys; 0: what it should. */
static struct {
    int status;
    uint32_t retry_after_s;
    const void *body;
    size_t body_len;
    bool reaches_server;
    int keys_status;
    uint32_t keys_retry_after_s;
    const uint8_t *hates; /* a report id that is answered with 500 */
    int64_t takes_ms;     /* each exchange, by the device's clock; */
    int64_t sleeps_ms;    /* and really */
    uint32_t timeouts_ms[64];
    size_t n_exchanges;
} says;

static void replace(struct test_answer *answer)
{
    answer->status = says.status;
    answer->retry_after_s = says.retry_after_s;
    answer->body_len = says.body_len;
    if (says.body_len > 0) {
        memcpy(answer->body, says.body, says.body_len);
    }
}

static void serve(void *ctx, const struct dpot_http_request *request, struct test_answer *answer)
{
    const bool is_post = strcmp(request->method, "POST") == 0;
    const size_t n_before = world.n_received;
    const struct timespec rest = {.tv_nsec = (long)says.sleeps_ms * 1000000};
    says.timeouts_ms[says.n_exchanges++ % 64] = request->timeout_ms;
    world.clock.now_ms += says.takes_ms;
    (void)nanosleep(&rest, NULL);
    if (!is_post && says.keys_status != 0) {
        answer->status = says.keys_status;
        answer->retry_after_s = says.keys_retry_after_s;
        return;
    }
    if (!is_post || says.status == 0 || says.reaches_server) {
        world_server(ctx, request, answer);
    }
    if (is_post && says.status != 0) {
        replace(answer);
    }
    if (says.hates && world.n_received > n_before &&
        memcmp(world.received[n_before].report.id, says.hates, DPOT_REPORT_ID_LEN) == 0) {
        world.n_received = n_before;
        answer->status = 500;
    }
}

static void set_up(void)
{
    authority_init(&authority, 3);
    authority_extend(&authority, N_ROUNDS, DPOT_EPSILON_ONE / 64);
    world_init(&world, &authority, 1);
    test_transport_init(&world.network, serve, &world);
    memset(&says, 0, sizeof says);
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(delivery, .init = set_up, .fini = tear_down, .timeout = 120);

static dpot_client *reopen(dpot_client *client)
{
    const struct dpot_client_status before = world_status(client);
    dpot_client_close(client);
    client = world_open(&world);
    struct dpot_client_status after = world_status(client);
    assert_conserved(&after);
    after.next_due_ms = before.next_due_ms; /* that of a handle that was just opened; back-off */
    after.paused_until_ms = before.paused_until_ms;
    cr_assert_eq(memcmp(&before, &after, sizeof after), 0, "a restart changed the counts");
    return client;
}

/* A report near the end of round `round`, so that "closed" is about the round; due. */
static void submit_late(dpot_client *client, uint32_t round)
{
    world.clock.now_ms = OPENS_MS + round * DAY_MS + DAY_MS - 30 * MINUTE_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    world.clock.now_ms += SEND_DELAY_MS;
}

static dpot_status pump(dpot_client *client, struct dpot_pump_result *result)
{
    struct dpot_pump_result own;
    struct dpot_pump_result *r = result ? result : &own;
    *r = (struct dpot_pump_result){.struct_size = sizeof *r};
    return dpot_client_pump(client, PUMP_MS, r);
}

static dpot_client *with_report(void)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.clock.now_ms += SEND_DELAY_MS;
    return client;
}

/* ---- every status ---- */

/* The contract (interfaces.md), written down a second time. */
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
    world.clock.now_ms += 3 * SEND_DELAY_MS;
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
        {"\x0a\x02\x01\x01", 4},         /* a stranger beside it */
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
        cr_assert_eq(pump(client, NULL), DPOT_OK); /* just opened: it is not due */
        world.clock.now_ms += HOUR_MS + 1;
    }
    says.status = 0;
    cr_assert_eq(pump(client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_duplicate, 1);
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
}

/* ---- Retry-After ---- */

/* Nothing is sent before `from_ms`, and the report by `until_ms`. */
static void assert_sent_between(dpot_client *client, int64_t from_ms, int64_t until_ms)
{
    struct dpot_pump_result result;
    const size_t n_received = world.n_received;
    world.clock.now_ms = from_ms - 1;
    cr_assert_eq(pump(client, &result), DPOT_OK);
    cr_assert_eq(world.n_received, n_received, "sent too early");
    cr_assert_geq(result.next_due_ms, from_ms);
    cr_assert_leq(result.next_due_ms, until_ms);
    world.clock.now_ms = result.next_due_ms;
    cr_assert_eq(pump(client, &result), DPOT_OK);
    cr_assert_eq(world.n_received, n_received + 1, "not sent");
}

Test(delivery, what_the_server_asks_for_is_waited_for_and_a_little_more_drawn_at_random)
{
    static const struct {
        int status;
        uint32_t asks_s;
        int64_t waits_s;
    } rows[] = {{429, 1, 1},         {429, 3600, 3600},       {503, 5, 5},
                {503, 86400, 86400}, {503, 86401, 86400},     {429, UINT32_MAX, 86400},
                {404, 60, 60},       {500, UINT32_MAX, 86400}};
    dpot_client *client = world_enroll(&world);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        submit_late(client, 3 * i);
        says.status = rows[i].status;
        says.retry_after_s = rows[i].asks_s;
        cr_assert_neq(pump(client, NULL), DPOT_OK);
        says.status = 0;
        const int64_t end_ms = world.clock.now_ms + rows[i].waits_s * 1000;
        client = i % 2 ? reopen(client) : client; /* later processes wait as well */
        assert_sent_between(client, end_ms, end_ms + 2000 + SEND_DELAY_MS);
    }
    dpot_client_close(client);
}

Test(delivery, another_process_of_the_folder_waits_too)
{
    dpot_client *client = with_report(), *other = world_open(&world);
    says.status = 503;
    says.retry_after_s = 600;
    cr_assert_eq(pump(client, NULL), DPOT_ERR_SERVER);
    says.status = 0;
    const int64_t end_ms = world.clock.now_ms + 600 * 1000;
    assert_sent_between(other, end_ms, end_ms + 2000);
    dpot_client_close(other);
    dpot_client_close(client);
}

Test(delivery, a_wait_for_the_keys_is_honoured_as_well)
{
    dpot_client *client = with_report();
    says.keys_status = 503;
    says.keys_retry_after_s = 900;
    says.status = 410;
    cr_assert_eq(pump(client, NULL), DPOT_ERR_SERVER);
    says.status = says.keys_status = 0;
    const int64_t end_ms = world.clock.now_ms + 900 * 1000;
    assert_sent_between(client, end_ms, end_ms + 2000);
    dpot_client_close(client);
}

static void be_told_to_wait_a_day(dpot_client *client)
{
    says.status = 429;
    says.retry_after_s = 86400;
    cr_assert_eq(pump(client, NULL), DPOT_ERR_SERVER);
    says.status = 0;
}

Test(delivery, a_wait_of_a_clock_that_was_set_back_is_as_long_as_the_server_asked)
{
    struct dpot_pump_result result;
    dpot_client *client = with_report();
    world.clock.now_ms += 20 * DAY_MS;
    be_told_to_wait_a_day(client);
    world.clock.now_ms -= 20 * DAY_MS;
    client = reopen(client);
    cr_assert_eq(pump(client, &result), DPOT_OK);
    cr_assert_leq(result.next_due_ms, world.clock.now_ms + DAY_MS);
    const int64_t due_ms = result.next_due_ms;
    world.clock.now_ms += DAY_MS / 2; /* the file has it now: it does not begin again */
    client = reopen(client);
    cr_assert_eq(pump(client, &result), DPOT_OK);
    cr_assert_leq(result.next_due_ms, due_ms);
    world.clock.now_ms = due_ms;
    cr_assert_eq(pump(client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    world.clock.now_ms += 20 * DAY_MS + 3; /* nor does it come back when that time has come */
    cr_assert_eq(world_status(client).paused_until_ms, 0);
    dpot_client_close(client);
}

Test(delivery, a_clock_that_was_set_back_makes_no_wait_longer)
{
    static const int64_t back_ms[] = {1, 3000, MINUTE_MS, 300 * 1000, HOUR_MS};
    struct dpot_pump_result result;
    for (size_t i = 0; i < 4 * sizeof back_ms / sizeof back_ms[0]; i++) {
        const bool is_other = i % 2 != 0; /* a second handle that has seen the wait */
        tear_down();
        set_up();
        dpot_client *client = with_report(), *other = world_open(&world);
        says.status = i / 2 % 2 ? 404 : 503;
        says.retry_after_s = 600;
        (void)pump(client, NULL);
        says.status = 0;
        cr_assert_eq(pump(other, &result), DPOT_OK);
        world.clock.now_ms += 400 * 1000;
        cr_assert_eq(pump(client, NULL), DPOT_OK);
        cr_assert_eq(pump(other, NULL), DPOT_OK);
        world.clock.now_ms -= back_ms[i / 4];
        cr_assert_eq(pump(is_other ? other : client, &result), DPOT_OK);
        cr_assert_leq(result.next_due_ms, world.clock.now_ms + 202 * 1000, "%zu", i);
        world.clock.now_ms = result.next_due_ms;
        cr_assert_eq(pump(is_other ? other : client, &result), DPOT_OK, "%zu: %s", i,
                     dpot_client_last_error(is_other ? other : client));
        cr_assert_eq(result.n_pending, 0, "%zu", i);
        dpot_client_close(other);
        dpot_client_close(client);
    }
}

Test(delivery, back_off_under_a_clock_ahead_ends_as_soon_as_under_the_right_one)
{
    struct dpot_pump_result result;
    dpot_client *client = with_report();
    world.clock.now_ms += HOUR_MS;
    says.status = 500;
    cr_assert_eq(pump(client, NULL), DPOT_ERR_SERVER);
    says.status = 0;
    world.clock.now_ms -= HOUR_MS;
    cr_assert_leq(world_status(client).paused_until_ms, world.clock.now_ms + 2000);
    cr_assert_eq(pump(client, &result), DPOT_OK);
    cr_assert_leq(result.next_due_ms, world.clock.now_ms + 2 * SEND_DELAY_MS);
    world.clock.now_ms = result.next_due_ms;
    cr_assert_eq(pump(client, &result), DPOT_OK);
    cr_assert_eq(result.n_accepted, 1);
    dpot_client_close(client);
}

Test(delivery, a_pause_that_is_damaged_cut_or_of_another_install_is_none)
{
    for (size_t i = 0; i < 5; i++) {
        struct dpot_pump_result result;
        size_t len = 0;
        uint8_t bytes[PAUSE_LEN];
        tear_down();
        set_up();
        dpot_client *client = with_report();
        be_told_to_wait_a_day(client);
        memcpy(bytes, test_filesystem_cached(&world.files, DPOT_PAUSE_NAME, &len), PAUSE_LEN);
        cr_assert_eq(len, PAUSE_LEN);
        bytes[i == 0 ? 0 : i == 1 ? 40 : PAUSE_LEN - 1] ^= 1; /* name, time, checksum */
        test_filesystem_put(&world.files, DPOT_PAUSE_NAME, bytes,
                            i == 3   ? PAUSE_LEN - 1
                            : i == 4 ? 0
                                     : PAUSE_LEN);
        dpot_client_close(client);
        client = world_open(&world);
        cr_assert_eq(pump(client, &result), DPOT_OK);
        cr_assert_leq(result.next_due_ms, world.clock.now_ms + SEND_DELAY_MS, "case %zu", i);
        dpot_client_close(client);
    }
}

Test(delivery, a_pause_that_cannot_be_written_costs_nothing)
{
    dpot_client *client = with_report();
    world.files.is_full = true;
    be_told_to_wait_a_day(client);
    world.files.is_full = false;
    client = reopen(client);
    world.clock.now_ms += SEND_DELAY_MS;
    cr_assert_eq(pump(client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

/* Told the same, they do not come back together: 40 times of 2000 milliseconds are all the same with a
 * probability of 2000^-39. */
Test(delivery, devices_that_were_told_the_same_do_not_come_back_together)
{
    struct dpot_pump_result result;
    int64_t first_ms = 0;
    size_t n_other = 0;
    for (int i = 0; i < 40; i++) {
        tear_down();
        set_up();
        dpot_client *client = with_report();
        says.status = 503;
        says.retry_after_s = 30;
        cr_assert_eq(pump(client, &result), DPOT_ERR_SERVER);
        first_ms = i == 0 ? result.next_due_ms : first_ms;
        n_other += result.next_due_ms != first_ms;
        dpot_client_close(client);
    }
    cr_assert_gt(n_other, 0);
}

/* ---- back-off ---- */

Test(delivery, waits_double_up_to_an_hour_and_begin_anew_when_the_server_is_well)
{
    struct dpot_pump_result result;
    dpot_client *client = world_enroll(&world);
    int64_t most_ms = 2000;
    submit_late(client, 0);
    for (size_t i = 0; i < 20; i++) {
        says.status = i % 2 ? 500 : 429;
        cr_assert_eq(pump(client, &result), DPOT_ERR_SERVER);
        cr_assert_gt(result.next_due_ms, world.clock.now_ms);
        cr_assert_leq(result.next_due_ms, world.clock.now_ms + most_ms, "failure %zu", i);
        world.clock.now_ms = result.next_due_ms;
        most_ms = 2 * most_ms < HOUR_MS ? 2 * most_ms : HOUR_MS;
    }
    says.status = 0;
    cr_assert_eq(pump(client, &result), DPOT_OK);
    cr_assert_eq(result.n_accepted, 1);
    submit_late(client, 9);
    says.status = 500;
    cr_assert_eq(pump(client, &result), DPOT_ERR_SERVER);
    cr_assert_leq(result.next_due_ms, world.clock.now_ms + 2000);
    dpot_client_close(client);
}

static dpot_client *with_reports(uint32_t n)
{
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < n; round++) {
        submit_late(client, round);
    }
    return client;
}

Test(delivery, a_server_that_fails_is_asked_once_in_a_pump_whatever_waits)
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

/* Each time one of the others is due first with a probability of one half at least: 100 tries fail with less
 * than 2^-90. */
Test(delivery, a_report_that_makes_the_server_fail_does_not_hold_up_the_others_for_ever)
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
    world.clock.now_ms += 2 * SEND_DELAY_MS;
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

Test(delivery, a_deadline_that_is_over_is_no_failure_of_the_server)
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
