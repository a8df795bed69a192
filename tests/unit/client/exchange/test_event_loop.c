/* The example of libdpot(3), doc/examples/event_loop.c, over a loop of the test. */
#include "unit/client/delivery.h"

#include <criterion/criterion.h>
#include <stdlib.h>

void on_timer(dpot_client *client);
void on_answer(dpot_client *client, int status, uint32_t retry_after_s, const char *content_type,
               const void *body, size_t body_len);
void begin_sending(dpot_client *client, const struct dpot_http_request *request);
void set_timer(dpot_client *client, int64_t due_ms);

static struct dpot_http_request sending; /* method NULL: nothing */
static int64_t timer_ms;

void begin_sending(dpot_client *client, const struct dpot_http_request *request)
{
    (void)client;
    sending = *request;
}

void set_timer(dpot_client *client, int64_t due_ms)
{
    (void)client;
    const int64_t least_ms = world.clock.now_ms + 1000;
    timer_ms = due_ms > least_ms ? due_ms : least_ms;
}

/* Runs the loop until nothing waits, at most n turns; every third exchange has no answer. */
static void run_loop(dpot_client *client, size_t n)
{
    struct test_answer *answer = calloc(1, sizeof *answer);
    cr_assert_not_null(answer);
    on_timer(client);
    for (size_t i = 0; i < n && world_status(client).n_pending > 0; i++) {
        const struct dpot_http_request request = sending;
        sending.method = NULL;
        if (request.method) {
            answer->status = 0;
            world_server(&world, &request, answer);
            on_answer(client, i % 3 == 2 ? 0 : answer->status, answer->retry_after_s,
                      answer->content_type ? answer->content_type : "", answer->body,
                      answer->body_len);
        } else {
            world.clock.now_ms = timer_ms;
            on_timer(client);
        }
    }
    free(answer);
}

TestSuite(event_loop, .init = delivery_set_up, .fini = delivery_tear_down);

Test(event_loop, the_example_delivers_every_report_once)
{
    world.config.transport = NULL;
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_import(client, authority.signed_campaign.data,
                                    authority.signed_campaign.len, NULL),
                 DPOT_OK);
    for (uint32_t round = 0; round < 5; round++) {
        submit_late(client, round);
    }
    run_loop(client, 200);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_accepted + status.n_duplicate, 5);
    cr_assert_gt(status.n_duplicate, 0);
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
}
