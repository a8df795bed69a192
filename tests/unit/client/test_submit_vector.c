#include "base/rng_seeded.h"
#include "simulation.h"
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

/* With step_ms the clock advances at each reading: a submit reads it once for the lock, then for
 * its start. */
#define LOOKS_TO_START 2

/* When a report is due after its submit, under the same random stream. */
static int64_t due_after(enum dpot_mechanism_id mechanism, const double *vector, int64_t step_ms)
{
    struct dpot_rng_seeded seeded;
    dpot_rng_seeded_init(&seeded, 3, 1);
    world_release(&world);
    init_world();
    authority_ask_for_vectors(&authority, mechanism);
    dpot_client *client = world_enroll(&world);
    dpot_client_set_rng_source(client, &seeded.source);
    const int64_t start_ms = world.clock.now_ms + LOOKS_TO_START * step_ms;
    world.clock.step_ms = step_ms;
    submit(client, vector);
    world.clock.step_ms = 0;
    const int64_t due_ms = world_status(client).next_due_ms;
    world.clock.now_ms = due_ms;
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    cr_assert_eq(world.received[0].report.n_values, VECTOR_DIM);
    cr_assert_eq(world.n_uncharged, 0);
    dpot_client_close(client);
    return due_ms - start_ms;
}

static const double usual[VECTOR_DIM] = {1, -2, 3.25, 100, 0, -0.125};
static const double garbage[VECTOR_DIM] = {NAN, INFINITY, -INFINITY, 1e300, 5e-324, -0.0};

/* Only the start of the submit decides: not the data, the number of trials of noise, or how long
 * the work takes. */
Test(submit_vector, the_time_of_sending_depends_on_nothing_but_the_start)
{
    static const enum dpot_mechanism_id mechanisms[] = {DPOT_MECHANISM_LAPLACE,
                                                        DPOT_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++) {
        const int64_t due_ms = due_after(mechanisms[i], usual, 0);
        cr_assert(due_ms > WORK_MS && due_ms <= DUE_MS);
        cr_assert_eq(due_after(mechanisms[i], garbage, 0), due_ms);
        cr_assert_eq(due_after(mechanisms[i], NULL, 0), due_ms);
        cr_assert_eq(due_after(mechanisms[i], usual, 7), due_ms);
        cr_assert_eq(due_after(mechanisms[i], garbage, SEND_DELAY_MS + 37), due_ms);
    }
}
