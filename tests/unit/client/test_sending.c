/* When reports leave: at times that do not depend on the work, the process, or an earlier clock. */
#include "base/rng_seeded.h"
#include "simulation.h"
#include "storage/journal.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

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

/* Nothing is sent before it is due, and then it is. Returns when that was. */
static int64_t assert_sent_when_due(dpot_client *client)
{
    struct dpot_pump_result result;
    cr_assert_eq(pump(client, &result), 0, "sent at once");
    const int64_t due_ms = result.next_due_ms;
    world.clock.now_ms = due_ms - 1;
    cr_assert_eq(pump(client, &result), 0, "sent too early");
    cr_assert_eq(result.next_due_ms, due_ms);
    world.clock.now_ms = due_ms;
    cr_assert_eq(pump(client, &result), 1, "not sent");
    return due_ms;
}

static int64_t due_of(dpot_client *client)
{
    return world_status(client).next_due_ms;
}

/* ---- start + W + U ---- */

Test(sending, a_report_is_due_a_drawn_delay_after_its_work_time)
{
    int64_t least_ms = INT64_MAX, most_ms = 0, sum_ms = 0;
    enum { N = 150 };
    authority_extend(&authority, N, DPOT_EPSILON_ONE / 8);
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < N; round++) {
        world.clock.now_ms = OPENS_MS + round * DAY_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s",
                     dpot_client_last_error(client));
        const int64_t delay_ms = due_of(client) - world.clock.now_ms - WORK_MS;
        least_ms = delay_ms < least_ms ? delay_ms : least_ms;
        most_ms = delay_ms > most_ms ? delay_ms : most_ms;
        sum_ms += delay_ms;
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    }
    cr_assert_geq(least_ms, 1);
    cr_assert_leq(most_ms, SEND_DELAY_MS);
    /* Of a uniform law each of these fails once in 10^7 runs: (7/8)^150, and 5.3 deviations. */
    cr_assert_lt(least_ms, SEND_DELAY_MS / 8);
    cr_assert_gt(most_ms, SEND_DELAY_MS - SEND_DELAY_MS / 8);
    cr_assert(llabs(sum_ms / N - SEND_DELAY_MS / 2) < 250);
    dpot_client_close(client);
}

Test(sending, long_work_lengthens_the_delay)
{
    struct dpot_rng_seeded seeded;
    const int64_t work_ms = 1 << 18, start_ms = world.clock.now_ms;
    world.config.work_max_ms = 1 << 18;
    dpot_rng_seeded_init(&seeded, 1, 0);
    dpot_client *client = world_enroll(&world);
    dpot_client_set_rng_source(client, &seeded.source);
    dpot_client_set_work_time(client, (uint32_t)work_ms);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    const int64_t delay_ms = due_of(client) - start_ms - work_ms;
    cr_assert(delay_ms > SEND_DELAY_MS && delay_ms <= 8 * work_ms);
    dpot_client_close(client);
}

Test(sending, the_next_process_sends_when_the_first_would_have)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    const int64_t due_ms = due_of(client);
    dpot_client *other = world_open(&world);
    dpot_client_close(client);
    cr_assert_eq(due_of(other), due_ms);
    cr_assert_eq(assert_sent_when_due(other), due_ms);
    dpot_client_close(other);
}

/* ---- submits in a row ---- */

#define N_ROW 3

/* Submits to N_ROW campaigns, the clock advancing at each reading; their times of sending after the
 * first start. A submit reads the clock once for the lock, then for its start. */
#define LOOKS_TO_START 2
static void submit_row(int64_t step_ms, int64_t due_ms[N_ROW])
{
    struct dpot_rng_seeded seeded;
    dpot_rng_seeded_init(&seeded, 7, 0);
    world_release(&world);
    world_init(&world, &authority, 1);
    dpot_client *client = world_enroll(&world);
    dpot_client_set_rng_source(client, &seeded.source);
    for (size_t i = 0; i < N_ROW; i++) {
        struct dpot_campaign another = authority.campaign;
        struct dpot_buf bytes;
        uint8_t id[DPOT_CAMPAIGN_ID_LEN];
        const double place = 3;
        another.id[0] ^= (uint8_t)(i + 1);
        authority_sign_campaign(&authority, &another, &bytes);
        cr_assert_eq(dpot_client_import(client, bytes.data, bytes.len, id), DPOT_OK);
        dpot_buf_release(&bytes);
        if (i == 0) {
            world.clock.now_ms = OPENS_MS + 5000; /* the first start is public */
        }
        world.clock.step_ms = step_ms;
        cr_assert_eq(dpot_client_submit_points(client, id, &place, NULL, 1, 1, NULL), DPOT_OK);
        world.clock.step_ms = 0;
    }
    for (size_t i = 0; i < N_ROW; i++) {
        struct dpot_pump_result result = {.struct_size = sizeof result};
        const int64_t start_ms = OPENS_MS + 5000 + LOOKS_TO_START * step_ms;
        due_ms[i] = due_of(client) - start_ms;
        world.clock.now_ms = due_ms[i] + start_ms;
        cr_assert_eq(pump(client, &result), 1);
    }
    dpot_client_close(client);
}

Test(sending, in_a_row_of_submits_no_time_depends_on_how_long_they_took)
{
    static const int64_t steps_ms[] = {1, 2, 5, 9};
    int64_t due_ms[2][N_ROW];
    submit_row(0, due_ms[0]);
    for (size_t k = 0; k < sizeof steps_ms / sizeof steps_ms[0]; k++) {
        submit_row(steps_ms[k], due_ms[1]);
        cr_assert_arr_eq(due_ms[0], due_ms[1], sizeof due_ms[0], "step %d", (int)steps_ms[k]);
    }
}

Test(sending, nothing_is_sent_between_a_submit_and_its_horizon)
{
    struct dpot_pump_result result;
    authority_extend(&authority, 3, DPOT_EPSILON_ONE);
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.clock.now_ms = OPENS_MS + DAY_MS; /* the first is long due */
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    for (int64_t after_ms = 0; after_ms < WORK_MS; after_ms += 9) {
        world.clock.now_ms = OPENS_MS + DAY_MS + after_ms;
        cr_assert_eq(pump(client, &result), 0);
        cr_assert_eq(result.next_due_ms, OPENS_MS + DAY_MS + WORK_MS);
    }
    world.clock.now_ms = OPENS_MS + DAY_MS + WORK_MS;
    cr_assert_eq(pump(client, &result), 1);
    dpot_client_close(client);
}

Test(sending, work_beyond_its_time_is_counted_on_the_device)
{
    dpot_client *client = world_enroll(&world);
    world.clock.step_ms = WORK_MS + 1;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.clock.step_ms = 0;
    cr_assert_eq(world_status(client).n_late, 1);
    dpot_client_close(client);
}

/* ---- a crash ---- */

/* The last report that the server received. */
static const struct dpot_report *last_report(void)
{
    return &world.received[world.n_received - 1].report;
}

Test(sending, what_a_slot_has_drawn_survives_a_crash_and_the_delay_counts_from_the_new_horizon)
{
    enum dpot_submit_outcome outcome = 0;
    dpot_client *client = world_enroll(&world);
    world_stop_before_report(&world, client, TEST_KILL);
    size_t len = 0;
    const uint8_t *spool = test_filesystem_cached(&world.files, DPOT_SPOOL_NAME, &len);
    const uint8_t *draws = spool + DPOT_HEADER_LEN + 216; /* id, delay */
    uint8_t id[DPOT_REPORT_ID_LEN];
    memcpy(id, draws, sizeof id);
    const int64_t delay_ms = dpot_load_u32(draws + sizeof id);
    world.clock.now_ms += 7200000;
    const int64_t start_ms = world.clock.now_ms;
    client = world_open(&world);
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_RESUMED);
    cr_assert_eq(assert_sent_when_due(client), start_ms + WORK_MS + delay_ms);
    cr_assert_arr_eq(last_report()->id, id, sizeof id);
    dpot_client_close(client);
}

/* ---- a clock that was ahead ---- */

static void assert_sent_within_a_delay(dpot_client *client, int64_t now_ms)
{
    const int64_t due_ms = assert_sent_when_due(client);
    cr_assert_gt(due_ms, now_ms);
    cr_assert_leq(due_ms, now_ms + DUE_MS);
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
        assert_sent_within_a_delay(client, now_ms);
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
    struct dpot_pump_result result;
    (void)pump(client, &result);
    assert_sent_within_a_delay(client, now_ms);
    dpot_client_close(client);
}

Test(sending, a_retry_after_under_a_clock_ahead_ends_within_a_day)
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
    world.files.is_locked = true; /* another handle has the lock: what was seen last */
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
