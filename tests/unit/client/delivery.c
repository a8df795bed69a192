/* See the header. */
#include "unit/client/delivery.h"

#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

#define N_ROUNDS 800

struct authority authority;
struct world world;
struct says says;

static void replace(const struct dpot_http_request *request, struct test_answer *answer)
{
    answer->status = says.status;
    answer->retry_after_s = says.retry_after_s;
    answer->body_len = says.body_len;
    answer->content_type = says.status == 202 ? "application/x-protobuf" : NULL;
    if (says.body_len > 0) {
        memcpy(answer->body, says.body, says.body_len);
    } else if (says.status == 400 || says.status == 409 || says.status == 413) {
        test_answer_refuse(answer, says.status, request);
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
        replace(request, answer);
    }
    if (says.hates && world.n_received > n_before &&
        memcmp(world.received[n_before].report.id, says.hates, DPOT_REPORT_ID_LEN) == 0) {
        world.n_received = n_before;
        answer->status = 500;
    }
}

void delivery_set_up(void)
{
    authority_init(&authority, 3);
    authority_extend(&authority, N_ROUNDS, DPOT_EPSILON_ONE / 64);
    world_init(&world, &authority, 1);
    test_transport_init(&world.network, serve, &world);
    memset(&says, 0, sizeof says);
}

void delivery_tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

dpot_client *reopen(dpot_client *client)
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

void submit_late(dpot_client *client, uint32_t round)
{
    world.clock.now_ms = OPENS_MS + round * DAY_MS + DAY_MS - 30 * MINUTE_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    world.clock.now_ms += DUE_MS;
}

dpot_status pump(dpot_client *client, struct dpot_pump_result *result)
{
    struct dpot_pump_result own;
    struct dpot_pump_result *r = result ? result : &own;
    *r = (struct dpot_pump_result){.struct_size = sizeof *r};
    return dpot_client_pump(client, PUMP_MS, r);
}

dpot_client *with_report(void)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.clock.now_ms += DUE_MS;
    return client;
}

dpot_client *with_reports(uint32_t n)
{
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < n; round++) {
        submit_late(client, round);
    }
    return client;
}
