/* An app that carries requests itself: dpot_client_next_request and dpot_client_take_response. */
#include "client.h"
#include "unit/client/delivery.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK_LEN ((size_t)72) /* of the file "sending" */

static void set_up(void)
{
    delivery_set_up();
    world.config.transport = NULL;
}

TestSuite(by_hand, .init = set_up, .fini = delivery_tear_down);

/* ---- the app ---- */

static dpot_client *enroll(void)
{
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_import(client, authority.signed_campaign.data,
                                    authority.signed_campaign.len, NULL),
                 DPOT_OK, "%s", dpot_client_last_error(client));
    return client;
}

static dpot_status next(dpot_client *client, struct dpot_http_request *request)
{
    *request = (struct dpot_http_request){.struct_size = sizeof *request};
    return dpot_client_next_request(client, request, NULL);
}

/* The next request, which is there. */
static struct dpot_http_request ask(dpot_client *client)
{
    struct dpot_http_request request;
    cr_assert_eq(next(client, &request), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_not_null(request.method, "nothing is due");
    return request;
}

static bool is_idle(dpot_client *client)
{
    struct dpot_http_request request;
    return next(client, &request) == DPOT_OK && !request.method;
}

/* Asks the server, or what says what it says; files its answer. */
static dpot_status carry(dpot_client *client, const struct dpot_http_request *request)
{
    struct test_answer *answer = calloc(1, sizeof *answer);
    struct dpot_http_response response = {.struct_size = sizeof response};
    cr_assert_not_null(answer);
    world.network.server(&world, request, answer);
    response.status = answer->status;
    response.retry_after_s = answer->retry_after_s;
    (void)snprintf(response.content_type, sizeof response.content_type, "%s",
                   answer->content_type ? answer->content_type : "");
    const dpot_status status =
        dpot_client_take_response(client, &response, answer->body, answer->body_len, NULL);
    free(answer);
    return status;
}

/* A client with the seal keys and a report that is due. */
static dpot_client *with_due_report(void)
{
    dpot_client *client = enroll();
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.clock.now_ms += DUE_MS;
    const struct dpot_http_request request = ask(client);
    cr_assert_eq(carry(client, &request), DPOT_OK);
    return client;
}

/* A client whose first report was accepted, with another one that is due. */
static dpot_client *with_later_report(void)
{
    dpot_client *client = with_due_report();
    const struct dpot_http_request request = ask(client);
    cr_assert_eq(carry(client, &request), DPOT_OK);
    cr_assert(is_idle(client));
    submit_late(client, 1);
    return client;
}

static dpot_client *reopen_quietly(dpot_client *client)
{
    dpot_client_close(client);
    return world_open(&world);
}

/* ---- what is asked for ---- */

Test(by_hand, the_keys_come_first_and_then_the_report)
{
    dpot_client *client = enroll();
    cr_assert(is_idle(client));
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert(is_idle(client), "not before it is due");
    world.clock.now_ms += DUE_MS;
    struct dpot_http_request request = ask(client);
    cr_assert_str_eq(request.method, "GET");
    cr_assert_str_eq(request.url, "https://pool.example.org/v1/keys");
    cr_assert_eq(request.body_len, 0);
    cr_assert_null(request.content_type);
    cr_assert_null(request.authorization);
    cr_assert_eq(request.timeout_ms, world.config.request_timeout_ms);
    cr_assert_eq(carry(client, &request), DPOT_OK);
    request = ask(client);
    cr_assert_str_eq(request.method, "POST");
    cr_assert_str_eq(request.content_type, "application/x-protobuf");
    cr_assert_str_eq(request.url, "https://pool.example.org/v1/campaigns/"
                                  "c0ffee01020304050607080909090909/reports");
    cr_assert_gt(request.body_len, 0);
    cr_assert_eq(carry(client, &request), DPOT_OK);
    cr_assert(is_idle(client));
    cr_assert_eq(world.n_received, 1);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

Test(by_hand, without_a_server_url_the_url_is_a_path)
{
    world.config.server_url = NULL;
    dpot_client *client = enroll();
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.clock.now_ms += DUE_MS;
    cr_assert_str_eq(ask(client).url, "/v1/keys");
    cr_assert_eq(dpot_client_take_response(client, NULL, NULL, 0, NULL), DPOT_ERR_NETWORK);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "GET /v1/keys"), "%s",
                       dpot_client_last_error(client));
    dpot_client_close(client);
}

Test(by_hand, the_result_says_when_to_ask_again)
{
    struct dpot_http_request request = {.struct_size = sizeof request};
    struct dpot_pump_result result = {.struct_size = sizeof result};
    dpot_client *client = enroll();
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(dpot_client_next_request(client, &request, &result), DPOT_OK);
    cr_assert_null(request.method);
    cr_assert_eq(result.n_pending, 1);
    cr_assert_eq(result.next_due_ms, world_status(client).next_due_ms);
    world.clock.now_ms = result.next_due_ms - 1;
    cr_assert(is_idle(client));
    world.clock.now_ms = result.next_due_ms;
    cr_assert_not(is_idle(client));
    dpot_client_close(client);
}

Test(by_hand, the_same_request_is_given_until_its_answer_is_filed)
{
    dpot_client *client = with_due_report();
    const struct dpot_http_request first = ask(client);
    uint8_t body[4096];
    cr_assert_leq(first.body_len, sizeof body);
    memcpy(body, first.body, first.body_len);
    world.clock.now_ms += first.timeout_ms - 1;
    const struct dpot_http_request second = ask(client);
    cr_assert_eq(second.body_len, first.body_len);
    cr_assert_eq(memcmp(second.body, body, first.body_len), 0);
    cr_assert_eq(carry(client, &first), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

Test(by_hand, a_request_without_an_answer_in_time_backs_off_and_is_sealed_anew)
{
    dpot_client *client = with_later_report();
    struct dpot_http_request lost = ask(client);
    world.clock.now_ms += lost.timeout_ms;
    cr_assert_eq(next(client, &lost), DPOT_ERR_NETWORK);
    cr_assert_null(lost.method);
    cr_assert_gt(world_status(client).next_due_ms, world.clock.now_ms);
    world.clock.now_ms += 2001;
    const struct dpot_http_request again = ask(client);
    cr_assert_eq(carry(client, &again), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 2);
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
}

Test(by_hand, an_expired_key_is_fetched_and_the_same_report_sealed_again)
{
    dpot_client *client = with_later_report();
    world.withdraws_key = world.serves_second_key = true;
    const struct dpot_http_request refused = ask(client);
    cr_assert_eq(carry(client, &refused), DPOT_OK);
    const struct dpot_http_request keys = ask(client);
    cr_assert_str_eq(keys.method, "GET");
    cr_assert_eq(carry(client, &keys), DPOT_OK);
    const struct dpot_http_request again = ask(client);
    cr_assert_eq(carry(client, &again), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 2);
    dpot_client_close(client);
}

Test(by_hand, a_server_that_refuses_every_key_is_left_alone_for_a_while)
{
    dpot_client *client = with_later_report();
    world.withdraws_key = true;
    for (size_t i = 0; i < 2; i++) {
        const struct dpot_http_request request = ask(client);
        cr_assert_eq(carry(client, &request), DPOT_OK, "%zu", i);
    }
    const struct dpot_http_request request = ask(client);
    cr_assert_str_eq(request.method, "POST");
    cr_assert_eq(carry(client, &request), DPOT_ERR_SERVER);
    cr_assert(is_idle(client));
    dpot_client_close(client);
}

Test(by_hand, keys_that_the_app_expects_are_asked_for_before_the_first_submit)
{
    uint8_t expected[2][32];
    dpot_client *client = enroll();
    memcpy(expected[0], authority.hash, 32);
    dpot_hash(expected[1], authority.signed_keys.data, authority.signed_keys.len);
    cr_assert_eq(dpot_client_expect(client, (const uint8_t(*)[32])expected, 2), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_UNEXPECTED);
    const struct dpot_http_request request = ask(client);
    cr_assert_str_eq(request.url, "https://pool.example.org/v1/keys");
    cr_assert_eq(carry(client, &request), DPOT_OK);
    cr_assert(is_idle(client));
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
}

Test(by_hand, other_keys_than_the_app_expects_are_not_asked_for_again_at_once)
{
    static const uint8_t expected[1][32] = {{1}};
    dpot_client *client = enroll();
    cr_assert_eq(dpot_client_expect(client, expected, 1), DPOT_OK);
    const struct dpot_http_request request = ask(client);
    cr_assert_eq(carry(client, &request), DPOT_ERR_UNEXPECTED);
    cr_assert(is_idle(client));
    world.clock.now_ms += 2001;
    cr_assert_not(is_idle(client));
    dpot_client_close(client);
}

/* ---- answers ---- */

Test(by_hand, every_answer_does_what_the_pump_does_with_it)
{
    static const struct {
        int status;
        dpot_status expected;
    } rows[] = {{0, DPOT_ERR_NETWORK},  {401, DPOT_ERR_DENIED}, {404, DPOT_ERR_NOT_FOUND},
                {429, DPOT_ERR_SERVER}, {500, DPOT_ERR_SERVER}, {200, DPOT_ERR_SERVER},
                {-1, DPOT_ERR_SERVER},  {301, DPOT_ERR_SERVER}, {70000, DPOT_ERR_SERVER},
                {202, DPOT_ERR_SERVER}};
    dpot_client *client = with_due_report();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct dpot_http_response response = {.struct_size = sizeof response,
                                                    .status = rows[i].status,
                                                    .content_type = "application/x-protobuf"};
        (void)ask(client);
        cr_assert_eq(dpot_client_take_response(client, &response, NULL, 0, NULL), rows[i].expected,
                     "%d", rows[i].status);
        cr_assert_neq(dpot_client_last_error(client)[0], '\0');
        cr_assert(is_idle(client), "it backs off");
        world.clock.now_ms += HOUR_MS + 1;
    }
    const struct dpot_http_request request = ask(client);
    cr_assert_eq(carry(client, &request), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

Test(by_hand, a_retry_after_is_honoured)
{
    static const struct dpot_http_response busy = {
        .struct_size = sizeof busy, .status = 503, .retry_after_s = 600};
    dpot_client *client = with_due_report();
    (void)ask(client);
    cr_assert_eq(dpot_client_take_response(client, &busy, NULL, 0, NULL), DPOT_ERR_SERVER);
    world.clock.now_ms += 599999;
    cr_assert(is_idle(client));
    world.clock.now_ms += 2001;
    cr_assert_not(is_idle(client));
    dpot_client_close(client);
}

Test(by_hand, an_answer_is_filed_once)
{
    dpot_client *client = with_due_report();
    const struct dpot_http_request request = ask(client);
    cr_assert_eq(carry(client, &request), DPOT_OK);
    cr_assert_eq(dpot_client_take_response(client, NULL, NULL, 0, NULL), DPOT_ERR_STATE);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "no request is under way"));
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

Test(by_hand, an_answer_that_is_late_counts_while_nothing_else_was_asked_for)
{
    dpot_client *client = with_due_report();
    const struct dpot_http_request request = ask(client);
    world.clock.now_ms += HOUR_MS;
    cr_assert_eq(carry(client, &request), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

Test(by_hand, an_answer_to_another_request_drops_nothing)
{
    static const struct dpot_http_response accepted = {
        .struct_size = sizeof accepted, .status = 202, .content_type = "application/x-protobuf"};
    struct test_answer *first = calloc(1, sizeof *first);
    cr_assert_not_null(first);
    dpot_client *client = with_due_report();
    struct dpot_http_request request = ask(client);
    world_server(&world, &request, first);
    cr_assert_eq(dpot_client_take_response(client, NULL, NULL, 0, NULL), DPOT_ERR_NETWORK);
    world.clock.now_ms += 2001;
    (void)ask(client); /* the same report, sealed again */
    cr_assert_eq(dpot_client_take_response(client, &accepted, first->body, first->body_len, NULL),
                 DPOT_ERR_NETWORK);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "another batch"));
    cr_assert_eq(world_status(client).n_pending, 1);
    dpot_client_close(client);
    free(first);
}

Test(by_hand, an_answer_that_is_too_long_is_none)
{
    static const uint8_t body[128 * 1024];
    static const struct dpot_http_response accepted = {.struct_size = sizeof accepted,
                                                       .status = 202};
    dpot_client *client = with_due_report();
    const struct dpot_http_request request = ask(client);
    cr_assert_lt(request.body_max, sizeof body);
    cr_assert_eq(dpot_client_take_response(client, &accepted, body, request.body_max + 1, NULL),
                 DPOT_ERR_SERVER);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "longer than"), "%s",
                       dpot_client_last_error(client));
    cr_assert_eq(world_status(client).n_pending, 1);
    dpot_client_close(client);
}

Test(by_hand, the_result_of_an_answer_counts_how_reports_ended)
{
    struct dpot_pump_result result = {.struct_size = sizeof result};
    static const struct dpot_http_response closed = {
        .struct_size = sizeof closed, .status = 409, .content_type = "application/json"};
    dpot_client *client = with_due_report();
    const struct dpot_http_request request = ask(client);
    struct test_answer *answer = calloc(1, sizeof *answer);
    cr_assert_not_null(answer);
    test_answer_refuse(answer, 409, &request);
    cr_assert_eq(
        dpot_client_take_response(client, &closed, answer->body, answer->body_len, &result),
        DPOT_OK);
    free(answer);
    cr_assert_eq(result.n_sent, 1);
    cr_assert_eq(result.n_dropped_closed, 1);
    cr_assert_eq(result.n_pending, 0);
    dpot_client_close(client);
}

Test(by_hand, wrong_arguments_change_nothing)
{
    struct dpot_http_response bad = {.status = 202};
    struct dpot_http_request unset = {0};
    dpot_client *client = with_due_report();
    const struct dpot_http_request request = ask(client);
    cr_assert_eq(dpot_client_next_request(NULL, &unset, NULL), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_next_request(client, NULL, NULL), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_next_request(client, &unset, NULL), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_take_response(NULL, NULL, NULL, 0, NULL), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_take_response(client, &bad, NULL, 0, NULL), DPOT_ERR_ARGUMENT);
    bad.struct_size = sizeof bad;
    cr_assert_eq(dpot_client_take_response(client, &bad, NULL, 1, NULL), DPOT_ERR_ARGUMENT);
    cr_assert_eq(carry(client, &request), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

/* ---- the process ends, or another one is there ---- */

Test(by_hand, a_process_that_ends_before_the_answer_sends_the_same_report_later)
{
    dpot_client *client = with_due_report();
    struct dpot_http_request request = ask(client);
    struct test_answer *answer = calloc(1, sizeof *answer);
    cr_assert_not_null(answer);
    world_server(&world, &request, answer); /* it arrived */
    free(answer);
    const uint32_t timeout_ms = request.timeout_ms;
    client = reopen_quietly(client);
    cr_assert_eq(next(client, &request), DPOT_ERR_BUSY, "the mark of the one that has ended");
    world.clock.now_ms += timeout_ms;
    request = ask(client);
    cr_assert_eq(carry(client, &request), DPOT_OK);
    cr_assert_eq(world_status(client).n_duplicate, 1);
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
}

Test(by_hand, a_report_that_is_on_its_way_is_not_sent_by_another_handle)
{
    struct dpot_http_request request;
    dpot_client *client = with_due_report(), *other = world_open(&world);
    const struct dpot_http_request first = ask(client);
    cr_assert_eq(next(other, &request), DPOT_ERR_BUSY);
    cr_assert_null(request.method);
    cr_assert_eq(world_status(other).n_pending, 1);
    cr_assert_eq(carry(client, &first), DPOT_OK);
    cr_assert(is_idle(other));
    cr_assert_eq(world.n_received, 1);
    cr_assert_eq(world_status(other).n_accepted, 1);
    dpot_client_close(other);
    dpot_client_close(client);
}

Test(by_hand, a_clock_that_was_set_back_does_not_keep_the_mark_longer_than_its_time)
{
    struct dpot_http_request request;
    dpot_client *client = with_due_report(), *other = world_open(&world);
    const uint32_t timeout_ms = ask(client).timeout_ms;
    world.clock.now_ms -= 30 * MINUTE_MS;
    (void)next(other, &request); /* due again, after DPOT_LEAD_MAX_MS */
    world.clock.now_ms += SEND_DELAY_MS;
    cr_assert_eq(next(other, &request), DPOT_ERR_BUSY);
    world.clock.now_ms += timeout_ms;
    cr_assert_eq(next(other, &request), DPOT_OK);
    cr_assert_not_null(request.method);
    dpot_client_close(other);
    dpot_client_close(client);
}

Test(by_hand, others_submit_and_look_while_a_report_is_on_its_way)
{
    enum dpot_submit_outcome outcome;
    dpot_client *client = with_due_report(), *other = world_open(&world);
    const struct dpot_http_request request = ask(client);
    cr_assert_eq(world_submit(&world, other, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_PENDING);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(world_submit(&world, other, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_REPORTED);
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK, "itself, too");
    cr_assert_eq(world_status(other).n_pending, 2);
    cr_assert_eq(carry(client, &request), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    cr_assert_eq(world_status(client).n_pending, 1);
    dpot_client_close(other);
    dpot_client_close(client);
}

Test(by_hand, an_answer_that_comes_during_a_submit_is_filed_as_if_it_had_been_filed_then)
{
    static const struct dpot_http_response failed = {.struct_size = sizeof failed, .status = 500};
    dpot_client *client = with_due_report();
    (void)ask(client);
    const int64_t answered_ms = world.clock.now_ms;
    world.files.is_locked = true;
    cr_assert_eq(dpot_client_take_response(client, &failed, NULL, 0, NULL), DPOT_ERR_BUSY);
    world.clock.now_ms += 1500;
    cr_assert_eq(dpot_client_take_response(client, NULL, NULL, 0, NULL), DPOT_ERR_BUSY);
    world.files.is_locked = false;
    cr_assert_eq(dpot_client_take_response(client, NULL, NULL, 0, NULL), DPOT_ERR_SERVER);
    cr_assert_leq(world_status(client).next_due_ms, answered_ms + 2000);
    dpot_client_close(client);
}

Test(by_hand, an_answer_that_waits_is_filed_by_the_next_request)
{
    dpot_client *client = with_due_report();
    const struct dpot_http_request request = ask(client);
    world.files.is_locked = true;
    cr_assert_eq(carry(client, &request), DPOT_ERR_BUSY);
    struct dpot_http_request next_one;
    cr_assert_eq(next(client, &next_one), DPOT_ERR_BUSY);
    world.files.is_locked = false;
    cr_assert(is_idle(client));
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

Test(by_hand, a_report_that_ended_meanwhile_is_not_ended_twice)
{
    world.config.spool_max_bytes = 8 * 256 + 256;
    dpot_client *client = with_due_report();
    const struct dpot_http_request request = ask(client);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK); /* drops the one on its way */
    cr_assert_eq(world_status(client).n_dropped_spool, 1);
    cr_assert_eq(carry(client, &request), DPOT_OK);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_accepted, 0);
    cr_assert_eq(status.n_pending, 1);
    assert_conserved(&status);
    dpot_client_close(client);
}

/* ---- consent ---- */

Test(by_hand, a_withdrawal_tells_that_a_report_may_still_arrive)
{
    dpot_client *client = with_due_report(), *other = world_open(&world);
    const struct dpot_http_request request = ask(client);
    cr_assert_eq(dpot_client_withdraw(other), DPOT_ERR_BUSY);
    cr_assert_not_null(strstr(dpot_client_last_error(other), "may still arrive"), "%s",
                       dpot_client_last_error(other));
    cr_assert_eq(dpot_client_withdraw(client), DPOT_ERR_BUSY, "its own handle knows no more");
    cr_assert_eq(world_status(other).n_dropped_withdrawn, 1, "what waits is wiped at once");
    cr_assert_eq(carry(client, &request), DPOT_OK);
    cr_assert(is_idle(client));
    cr_assert_eq(dpot_client_withdraw(other), DPOT_OK);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_dropped_withdrawn, 1);
    cr_assert_eq(status.n_accepted, 0);
    assert_conserved(&status);
    dpot_client_close(other);
    dpot_client_close(client);
}

Test(by_hand, a_withdrawal_is_sure_once_the_time_of_the_request_is_over)
{
    dpot_client *client = with_due_report(), *other = world_open(&world);
    const uint32_t timeout_ms = ask(client).timeout_ms;
    dpot_client_close(client);
    cr_assert_eq(dpot_client_withdraw(other), DPOT_ERR_BUSY);
    world.clock.now_ms += timeout_ms;
    cr_assert_eq(dpot_client_withdraw(other), DPOT_OK);
    dpot_client_close(other);
}

Test(by_hand, after_a_withdrawal_there_is_no_request)
{
    dpot_client *client = with_due_report();
    cr_assert_eq(dpot_folder_withdraw(&world.files.filesystem, NULL, 0), DPOT_OK);
    cr_assert(is_idle(client));
    cr_assert_eq(world_status(client).n_dropped_withdrawn, 1);
    dpot_client_close(client);
}

/* ---- with a pump ---- */

Test(by_hand, a_pump_carries_the_request_that_was_left)
{
    world.config.transport = &world.network.transport;
    dpot_client *client = with_due_report();
    (void)ask(client);
    cr_assert_eq(pump(client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    cr_assert_eq(world_status(client).n_accepted, 1);
    cr_assert(is_idle(client));
    dpot_client_close(client);
}

/* ---- the disk ---- */

Test(by_hand, a_mark_that_cannot_be_written_sends_nothing)
{
    struct dpot_http_request request;
    dpot_client *client = with_due_report();
    world.files.is_full = true;
    cr_assert_eq(next(client, &request), DPOT_ERR_NO_SPACE);
    cr_assert_null(request.method);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "\"sending\""), "%s",
                       dpot_client_last_error(client));
    world.files.is_full = false;
    world.clock.now_ms += 2001;
    cr_assert_not(is_idle(client));
    dpot_client_close(client);
}

Test(by_hand, a_damaged_mark_is_none)
{
    for (size_t i = 0; i < 4; i++) {
        delivery_tear_down();
        set_up();
        dpot_client *client = with_due_report(), *other = world_open(&world);
        (void)ask(client);
        size_t len = 0;
        uint8_t bytes[256];
        memcpy(bytes, test_filesystem_cached(&world.files, "sending", &len), MARK_LEN);
        cr_assert_eq(len, MARK_LEN);
        bytes[i == 0 ? 0 : i == 1 ? 30 : MARK_LEN - 1] ^= 1;
        test_filesystem_put(&world.files, "sending", bytes, i == 3 ? MARK_LEN + 1 : MARK_LEN);
        cr_assert_not(is_idle(other), "case %zu", i);
        dpot_client_close(other);
        dpot_client_close(client);
    }
}

/* One life cut at operation n, between which and the end the app carries what it is given. */
static bool live_with_cut(size_t n, enum test_loss loss)
{
    struct dpot_http_request request;
    delivery_tear_down();
    set_up();
    dpot_client *client = with_due_report();
    test_filesystem_cut_at(&world.files, n, n % 2);
    for (size_t i = 0; i < 3 && next(client, &request) == DPOT_OK && request.method; i++) {
        (void)!carry(client, &request);
    }
    const bool was_cut = world.files.is_down;
    dpot_client_close(client);
    test_filesystem_restart(&world.files, was_cut ? loss : TEST_KILL);
    client = world_open(&world);
    world.clock.now_ms += HOUR_MS;
    while (next(client, &request) == DPOT_OK && request.method) {
        cr_assert_eq(carry(client, &request), DPOT_OK, "cut %zu: %s", n,
                     dpot_client_last_error(client));
    }
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_accepted + status.n_duplicate, 1, "cut %zu", n);
    cr_assert_eq(status.n_pending, 0, "cut %zu", n);
    cr_assert_eq(world_count_contradictions(&world), 0);
    assert_conserved(&status);
    dpot_client_close(client);
    return was_cut;
}

Test(by_hand, no_cut_loses_or_changes_a_report)
{
    static const enum test_loss losses[] = {TEST_KILL, TEST_LOSE_ALL, TEST_LOSE_RANDOM};
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        size_t n = 1;
        while (live_with_cut(n, losses[i])) {
            n++;
        }
        cr_assert_geq(n, 5);
    }
}
