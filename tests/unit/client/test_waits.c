/* When the device tries a failed server again: Retry-After, back-off, over restarts and clocks that
 * step. */
#include "backoff.h"
#include "unit/client/delivery.h"

#include <criterion/criterion.h>
#include <string.h>

#define PAUSE_LEN ((size_t)456)

TestSuite(waits, .init = delivery_set_up, .fini = delivery_tear_down);

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

Test(waits, the_wait_is_retry_after_and_a_random_time_more)
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
        assert_sent_between(client, end_ms, end_ms + 2000 + DUE_MS);
    }
    dpot_client_close(client);
}

Test(waits, another_process_of_the_folder_waits_too)
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

Test(waits, a_wait_for_the_keys_is_honoured_as_well)
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

Test(waits, after_a_clock_was_set_back_the_wait_is_as_long_as_the_server_asked)
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

Test(waits, a_clock_that_was_set_back_makes_no_wait_longer)
{
    static const int64_t back_ms[] = {1, 3000, MINUTE_MS, 300 * 1000, HOUR_MS};
    struct dpot_pump_result result;
    for (size_t i = 0; i < 4 * sizeof back_ms / sizeof back_ms[0]; i++) {
        const bool is_other = i % 2 != 0; /* a second handle that has seen the wait */
        delivery_tear_down();
        delivery_set_up();
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

Test(waits, back_off_under_a_clock_ahead_ends_as_soon_as_under_the_right_one)
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
    cr_assert_leq(result.next_due_ms, world.clock.now_ms + 2 * DUE_MS);
    world.clock.now_ms = result.next_due_ms;
    cr_assert_eq(pump(client, &result), DPOT_OK);
    cr_assert_eq(result.n_accepted, 1);
    dpot_client_close(client);
}

Test(waits, a_pause_that_is_damaged_cut_or_of_another_install_is_ignored)
{
    for (size_t i = 0; i < 5; i++) {
        struct dpot_pump_result result;
        size_t len = 0;
        uint8_t bytes[PAUSE_LEN];
        delivery_tear_down();
        delivery_set_up();
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
        cr_assert_eq(result.n_pending, 0, "case %zu", i);
        dpot_client_close(client);
    }
}

Test(waits, a_pause_that_cannot_be_written_is_no_failure)
{
    dpot_client *client = with_report();
    cr_assert_eq(pump(client, NULL), DPOT_OK);
    submit_late(client, 1);
    world.files.is_full = true;
    be_told_to_wait_a_day(client);
    world.files.is_full = false;
    client = reopen(client);
    world.clock.now_ms += DUE_MS;
    cr_assert_eq(pump(client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 2);
    dpot_client_close(client);
}

/* After the same Retry-After: 40 times of 2000 milliseconds are all equal with a probability of
 * 2000^-39. */
Test(waits, devices_with_the_same_retry_after_do_not_come_back_together)
{
    struct dpot_pump_result result;
    int64_t first_ms = 0;
    size_t n_other = 0;
    for (int i = 0; i < 40; i++) {
        delivery_tear_down();
        delivery_set_up();
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

Test(waits, waits_double_up_to_an_hour_and_begin_anew_when_the_server_answers)
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
