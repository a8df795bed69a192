#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct authority authority;
static struct world world;

static void init_world(void)
{
    world_init(&world, &authority, 1);
    world.config.campaign_delta_cap = 1e-4;
    world.config.window_delta_cap = 1e-4;
    world.config.lifetime_delta_cap = 1e-4;
}

static void set_up(void)
{
    authority_init(&authority, 3);
    init_world();
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(submit_vector, .init = set_up, .fini = tear_down);

static void submit(dpot_client *client, const double *vector)
{
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(
        dpot_client_submit_vector(client, authority.campaign.id, vector, VECTOR_DIM, &outcome),
        DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(outcome, DPOT_SUBMIT_REPORTED);
}

/* With step_ms the clock goes on at each look. A submit looks at it once for the lock, then for its start,
 * and last for its end. */
#define LOOKS_TO_START 2

static const enum dpot_mechanism_id mechanisms[] = {DPOT_MECHANISM_LAPLACE,
                                                    DPOT_MECHANISM_GAUSSIAN};

/* Nothing but the start of the submit decides: neither the data nor the number of trials of noise. */
static void assert_leaves_at_its_time(const double *vector)
{
    dpot_client *client = world_enroll(&world);
    struct dpot_pump_result result = {.struct_size = sizeof result};
    const int64_t start_ms = world.clock.now_ms;
    submit(client, vector);
    world.clock.now_ms = start_ms + SEND_DELAY_MS - 1;
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, &result), DPOT_OK);
    cr_assert_eq(world.n_received, 0);
    cr_assert_eq(result.n_pending, 1);
    cr_assert_eq(result.next_due_ms, start_ms + SEND_DELAY_MS);
    world.clock.now_ms++;
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, &result), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    cr_assert_eq(world.received[0].report.n_values, VECTOR_DIM);
    cr_assert_eq(world.n_uncharged, 0);
    dpot_client_close(client);
}

static const double usual[VECTOR_DIM] = {1, -2, 3.25, 100, 0, -0.125};
static const double garbage[VECTOR_DIM] = {NAN, INFINITY, -INFINITY, 1e300, 5e-324, -0.0};

Test(submit_vector, a_laplace_report_waits_for_its_public_time)
{
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    assert_leaves_at_its_time(usual);
}

Test(submit_vector, a_gaussian_report_waits_for_its_public_time)
{
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_GAUSSIAN);
    assert_leaves_at_its_time(usual);
}

Test(submit_vector, garbage_leaves_when_data_would)
{
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    assert_leaves_at_its_time(garbage);
}

Test(submit_vector, a_device_without_data_sends_when_one_with_data_would)
{
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_GAUSSIAN);
    assert_leaves_at_its_time(NULL);
}

Test(submit_vector, the_delay_counts_from_the_start_and_not_from_the_end)
{
    for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++) {
        authority_ask_for_vectors(&authority, mechanisms[i]);
        dpot_client *client = world_enroll(&world);
        struct dpot_pump_result result = {.struct_size = sizeof result};
        const int64_t step_ms = 37, start_ms = world.clock.now_ms + LOOKS_TO_START * step_ms;
        world.clock.step_ms = step_ms;
        submit(client, usual);
        world.clock.step_ms = 0;
        cr_assert_geq(world.clock.now_ms, start_ms + step_ms, "the submit did not look at its end");
        cr_assert_eq(dpot_client_pump(client, PUMP_MS, &result), DPOT_OK);
        cr_assert_eq(result.next_due_ms, start_ms + SEND_DELAY_MS);
        dpot_client_close(client);
        world_release(&world);
        init_world();
    }
}

Test(submit_vector, work_that_took_longer_than_the_delay_is_sent_at_a_later_multiple)
{
    for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++) {
        authority_ask_for_vectors(&authority, mechanisms[i]);
        dpot_client *client = world_enroll(&world);
        struct dpot_pump_result result = {.struct_size = sizeof result};
        const int64_t step_ms = SEND_DELAY_MS + 37;
        const int64_t start_ms = world.clock.now_ms + LOOKS_TO_START * step_ms;
        world.clock.step_ms = step_ms;
        submit(client, usual);
        world.clock.step_ms = 0;
        cr_assert_eq(dpot_client_pump(client, PUMP_MS, &result), DPOT_OK);
        cr_assert_eq(result.n_pending, 1);
        const int64_t due_ms = result.next_due_ms;
        cr_assert_eq((due_ms - start_ms) % SEND_DELAY_MS, 0);
        cr_assert_gt(due_ms, start_ms + SEND_DELAY_MS);
        cr_assert_gt(due_ms, world.clock.now_ms);
        cr_assert_leq(due_ms, world.clock.now_ms + SEND_DELAY_MS);
        dpot_client_close(client);
        world_release(&world);
        init_world();
    }
}
