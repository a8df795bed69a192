/* When reports leave: at public times, whatever process looks, and whatever the clock was. */
#include "journal.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>

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

TestSuite(sending, .init = set_up, .fini = tear_down);

static size_t pump(dpot_client *client, struct dpot_pump_result *result)
{
    *result = (struct dpot_pump_result){.struct_size = sizeof *result};
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, result), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    return result->n_sent;
}

/* Nothing is sent before `due_ms`, and then it is. */
static void assert_sent_at(dpot_client *client, int64_t due_ms)
{
    struct dpot_pump_result result;
    cr_assert_eq(pump(client, &result), 0, "sent at once");
    cr_assert_eq(result.next_due_ms, due_ms, "%lld ms off",
                 (long long)(result.next_due_ms - due_ms));
    world.clock.now_ms = due_ms - 1;
    cr_assert_eq(pump(client, &result), 0, "sent too early");
    world.clock.now_ms = due_ms;
    cr_assert_eq(pump(client, &result), 1, "not sent");
}

Test(sending, the_next_process_sends_on_the_grid_and_not_when_the_work_ended)
{
    static const int64_t works_ms[] = {0, 1, 1999, 2000, 2001, 3999, 4500, 5999, 60001};
    for (size_t i = 0; i < sizeof works_ms / sizeof works_ms[0]; i++) {
        struct world *w = &world;
        world_release(w);
        world_init(w, &authority, i);
        dpot_client *client = world_enroll(w);
        const int64_t start_ms = w->clock.now_ms;
        cr_assert_eq(world_submit(w, client, NULL), DPOT_OK);
        dpot_client_close(client);
        w->clock.now_ms = start_ms + works_ms[i];
        client = world_open(w);
        assert_sent_at(client, start_ms + (works_ms[i] / SEND_DELAY_MS + 1) * SEND_DELAY_MS);
        dpot_client_close(client);
    }
}

Test(sending, a_handle_that_finds_the_report_of_another_waits_for_the_grid_too)
{
    dpot_client *maker = world_enroll(&world), *sender = world_open(&world);
    const int64_t start_ms = world.clock.now_ms;
    cr_assert_eq(world_submit(&world, maker, NULL), DPOT_OK);
    world.clock.now_ms = start_ms + 4570;
    assert_sent_at(sender, start_ms + 6000);
    dpot_client_close(sender);
    dpot_client_close(maker);
}

Test(sending, opening_again_and_again_needs_one_delay_of_one_handle)
{
    struct dpot_pump_result result;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    for (size_t i = 0; i < 5; i++) {
        dpot_client_close(client);
        world.clock.now_ms += DAY_MS / 24 + 333;
        client = world_open(&world);
        cr_assert_eq(pump(client, &result), 0);
        cr_assert_leq(result.next_due_ms, world.clock.now_ms + SEND_DELAY_MS);
    }
    world.clock.now_ms = result.next_due_ms + 777; /* late is early enough */
    cr_assert_eq(pump(client, &result), 1);
    dpot_client_close(client);
}

/* ---- a clock that was ahead ---- */

static void assert_sent_within_two_delays(dpot_client *client)
{
    struct dpot_pump_result result;
    const int64_t now_ms = world.clock.now_ms;
    cr_assert_eq(pump(client, &result), 0);
    cr_assert_gt(result.next_due_ms, now_ms + SEND_DELAY_MS);
    cr_assert_leq(result.next_due_ms, now_ms + 2 * SEND_DELAY_MS);
    assert_sent_at(client, result.next_due_ms);
}

Test(sending, a_report_made_under_a_clock_ahead_leaves_when_the_clock_is_right_again)
{
    static const int64_t days_ahead[] = {5, 3650};
    authority_extend(&authority, 4000, DPOT_EPSILON_ONE);
    for (int i = 0; i < 4; i++) {
        world_release(&world);
        world_init(&world, &authority, (uint64_t)i);
        dpot_client *client = world_enroll(&world);
        const int64_t now_ms = world.clock.now_ms;
        world.clock.now_ms += days_ahead[i / 2] * DAY_MS + 1234;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s",
                     dpot_client_last_error(client));
        world.clock.now_ms = now_ms;
        if (i % 2 == 0) {
            dpot_client_close(client);
            client = world_open(&world);
        }
        assert_sent_within_two_delays(client);
        cr_assert_eq(world_status(client).n_accepted, 1);
        dpot_client_close(client);
    }
}

Test(sending, a_submit_behind_a_charge_of_the_future_is_sent_by_the_clock)
{
    authority_extend(&authority, 4000, DPOT_EPSILON_ONE);
    dpot_client *client = world_enroll(&world);
    const int64_t now_ms = world.clock.now_ms;
    world.clock.now_ms += 3650 * DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.clock.now_ms = now_ms;
    authority.campaign.revision = 2;
    authority_sign(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    assert_sent_at(client, now_ms + SEND_DELAY_MS);
    dpot_client_close(client);
}

Test(sending, a_wait_that_was_asked_for_under_a_clock_ahead_ends_within_a_day)
{
    struct dpot_pump_result result = {.struct_size = sizeof result};
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    test_transport_script(&world.network, (struct test_script){.status = 503, .retry_after_s = 60});
    world.clock.now_ms += 20 * DAY_MS;
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, NULL), DPOT_ERR_SERVER);
    world.clock.now_ms -= 20 * DAY_MS;
    cr_assert_eq(pump(client, &result), 0);
    cr_assert_leq(result.next_due_ms, world.clock.now_ms + DAY_MS);
    world.clock.now_ms = result.next_due_ms;
    cr_assert_eq(pump(client, &result), 1);
    dpot_client_close(client);
}

/* ---- two handles ---- */

Test(sending, the_status_of_a_second_handle_is_that_of_the_folder)
{
    dpot_client *client = world_enroll(&world), *other = world_open(&world);
    struct dpot_spending spending = {.struct_size = sizeof spending};
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(other).n_pending, 1);
    cr_assert_eq(dpot_client_get_campaign_spending(other, authority.campaign.id, &spending),
                 DPOT_OK);
    cr_assert_float_eq(spending.epsilon, 1, 1e-12);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    world.files.is_locked = true; /* somebody is at work: what was seen last */
    cr_assert_eq(world_status(other).n_pending, 1);
    world.files.is_locked = false;
    cr_assert_eq(world_status(other).n_accepted, 1);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    const struct dpot_client_status status = world_status(other);
    cr_assert_eq(status.n_dropped_withdrawn, 1);
    cr_assert_eq(status.next_due_ms, INT64_MAX);
    dpot_client_close(other);
    dpot_client_close(client);
}

/* ---- the grid ---- */

Test(sending, every_time_of_sending_is_later_near_and_on_the_grid)
{
    static const int64_t starts_ms[] = {0, 7, -5, OPENS_MS, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof starts_ms / sizeof starts_ms[0]; i++) {
        for (int64_t now_ms = -4100; now_ms < 4100; now_ms += 41) {
            const int64_t start_ms = starts_ms[i];
            const int64_t due_ms = dpot_journal_sending_time(start_ms, now_ms, 1000);
            const int64_t least_ms = now_ms < start_ms ? now_ms + 1000 : now_ms;
            cr_assert_gt(due_ms, least_ms);
            cr_assert_leq(due_ms, least_ms + 1000);
            const uint64_t apart_ms = due_ms > start_ms ? (uint64_t)due_ms - (uint64_t)start_ms
                                                        : (uint64_t)start_ms - (uint64_t)due_ms;
            cr_assert_eq(apart_ms % 1000, 0);
            cr_assert(now_ms < start_ms || due_ms > start_ms);
        }
    }
}
