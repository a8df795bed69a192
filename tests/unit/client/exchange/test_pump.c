/* What others may do while a pump, or enrolling, waits for the network; and dpot_client_cancel. */
#include "unit/client/delivery.h"

#include <criterion/criterion.h>
#include <string.h>

static dpot_client *client, *other; /* of one folder */

static void set_up(void)
{
    delivery_set_up();
    client = with_reports(3);
    other = world_open(&world);
}

static void tear_down(void)
{
    dpot_client_close(other);
    dpot_client_close(client);
    delivery_tear_down();
}

TestSuite(pump, .init = set_up, .fini = tear_down);

/* A server in whose first exchange something else happens. */
static void (*meanwhile)(const struct dpot_http_request *request, struct test_answer *answer);
static bool loses_answer; /* of that exchange */

static void serve(void *ctx, const struct dpot_http_request *request, struct test_answer *answer)
{
    world.network.server = world_server;
    world_server(ctx, request, answer);
    meanwhile(request, answer);
    answer->failure = loses_answer ? DPOT_ERR_NETWORK : DPOT_OK;
}

static dpot_status pump_while(void (*something)(const struct dpot_http_request *request,
                                                struct test_answer *answer))
{
    meanwhile = something;
    world.network.server = serve;
    return pump(client, NULL);
}

/* ---- other handles ---- */

static void submit_and_look(const struct dpot_http_request *request, struct test_answer *answer)
{
    (void)request;
    (void)answer;
    enum dpot_submit_outcome outcome;
    world.clock.now_ms = OPENS_MS + 7 * DAY_MS;
    cr_assert_eq(world_submit(&world, other, &outcome), DPOT_OK, "%s",
                 dpot_client_last_error(other));
    cr_assert_eq(outcome, DPOT_SUBMIT_REPORTED);
    cr_assert_eq(world_status(other).n_pending, 4);
}

Test(pump, others_submit_and_look_while_it_waits_for_the_server)
{
    cr_assert_eq(pump_while(submit_and_look), DPOT_OK, "%s", dpot_client_last_error(client));
    struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_accepted, 1, "nothing more leaves before the horizon of that submit");
    cr_assert_eq(status.n_pending, 3);
    world.clock.now_ms += DUE_MS;
    cr_assert_eq(pump(client, NULL), DPOT_OK);
    status = world_status(client);
    cr_assert_eq(status.n_accepted, 4);
    assert_conserved(&status);
}

static void pump_too(const struct dpot_http_request *request, struct test_answer *answer)
{
    (void)request;
    (void)answer;
    struct dpot_pump_result result;
    const size_t n_posts = world.network.n_posts;
    cr_assert_eq(pump(other, &result), DPOT_ERR_BUSY);
    cr_assert_not_null(strstr(dpot_client_last_error(other), "sending a report"), "%s",
                       dpot_client_last_error(other));
    cr_assert_eq(result.n_pending, 3);
    cr_assert_eq(world.network.n_posts, n_posts);
}

Test(pump, a_second_one_sends_nothing_meanwhile)
{
    cr_assert_eq(pump_while(pump_too), DPOT_OK);
    cr_assert_eq(world.network.n_posts, 3);
    cr_assert_eq(world_status(other).n_accepted, 3);
}

static void take_the_lock(const struct dpot_http_request *request, struct test_answer *answer)
{
    (void)request;
    (void)answer;
    world.files.is_locked = true; /* a submit of another process, which goes on */
}

Test(pump, an_answer_that_comes_during_a_submit_is_filed_by_the_next_pump)
{
    struct dpot_pump_result result;
    cr_assert_eq(pump_while(take_the_lock), DPOT_ERR_BUSY);
    world.files.is_locked = false;
    cr_assert_eq(pump(client, &result), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(result.n_accepted, 3);
    cr_assert_eq(result.n_duplicate, 0);
    cr_assert_eq(world.network.n_posts, 3);
}

static void withdraw(const struct dpot_http_request *request, struct test_answer *answer)
{
    (void)request;
    (void)answer;
    cr_assert_eq(dpot_client_withdraw(other), DPOT_ERR_BUSY);
    cr_assert_eq(world_status(other).n_dropped_withdrawn, 3);
}

Test(pump, a_withdrawal_is_complete_but_for_the_report_on_its_way)
{
    cr_assert_eq(pump_while(withdraw), DPOT_OK);
    cr_assert_eq(world.network.n_posts, 1);
    cr_assert_eq(dpot_client_withdraw(other), DPOT_OK);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_dropped_withdrawn, 3);
    assert_conserved(&status);
}

static void submit_while_enrolling(const struct dpot_http_request *request,
                                   struct test_answer *answer)
{
    (void)answer;
    cr_assert_str_eq(request->method, "GET");
    world.clock.now_ms = OPENS_MS + 7 * DAY_MS;
    cr_assert_eq(world_submit(&world, other, NULL), DPOT_OK);
}

static void serve_keys_meanwhile(void *ctx, const struct dpot_http_request *request,
                                 struct test_answer *answer)
{
    world_server(ctx, request, answer);
    if (strstr(request->url, "/v1/keys")) {
        submit_while_enrolling(request, answer);
    }
}

Test(pump, others_submit_while_enrolling_waits_for_the_keys)
{
    world.network.server = serve_keys_meanwhile;
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(world_status(client).n_pending, 4);
}

/* ---- cancelling ---- */

static void cancel(const struct dpot_http_request *request, struct test_answer *answer)
{
    (void)answer;
    cr_assert_eq(request->is_cancelled(request->canceller), 0);
    dpot_client_cancel(client);
    cr_assert_neq(request->is_cancelled(request->canceller), 0);
}

Test(pump, a_cancel_keeps_the_rest_and_delays_nothing)
{
    loses_answer = true;
    cr_assert_eq(pump_while(cancel), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_str_eq(dpot_client_last_error(client), "");
    cr_assert_eq(world.network.n_posts, 1);
    cr_assert_eq(world_status(client).n_pending, 3);
    cr_assert_leq(world_status(client).next_due_ms, world.clock.now_ms);
    cr_assert_eq(pump(other, NULL), DPOT_OK, "nothing is marked as on its way");
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_accepted, 2);
    cr_assert_eq(status.n_duplicate, 1);
}

Test(pump, an_answer_that_came_before_the_cancel_is_filed)
{
    cr_assert_eq(pump_while(cancel), DPOT_OK);
    cr_assert_eq(world.network.n_posts, 1);
    cr_assert_eq(world_status(client).n_accepted, 1);
    cr_assert_eq(pump(client, NULL), DPOT_OK, "the next one is not cancelled");
    cr_assert_eq(world_status(client).n_accepted, 3);
}

Test(pump, a_cancel_between_two_pumps_ends_the_next_one)
{
    dpot_client_cancel(NULL);
    dpot_client_cancel(client);
    cr_assert_eq(pump(client, NULL), DPOT_OK);
    cr_assert_eq(world.network.n_posts, 0);
    cr_assert_eq(pump(client, NULL), DPOT_OK);
    cr_assert_eq(world.network.n_posts, 3);
}

static void serve_until_cancelled(void *ctx, const struct dpot_http_request *request,
                                  struct test_answer *answer)
{
    dpot_client_cancel(client);
    world_server(ctx, request, answer);
}

Test(pump, enrolling_ends_with_a_cancel)
{
    const size_t n_gets = world.network.n_gets;
    world.network.server = serve_until_cancelled;
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_NETWORK);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "cancelled"), "%s",
                       dpot_client_last_error(client));
    cr_assert_eq(world.network.n_gets, n_gets + 1);
    world.network.server = world_server;
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
}
