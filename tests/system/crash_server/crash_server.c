/* Nothing acknowledged is lost and nothing is counted twice, whenever the server is killed.
 *
 * The server is a process of its own that runs the service as dpotd does; the client is a raw
 * socket and a sealed batch, without libdpot. */
#include "base/clock.h"
#include "dpotd/init.h"
#include "dpotd/service.h"
#include "support/child.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/http_client.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char spec[] =
    "{\"name\":\"crash\",\"domain\":{\"type\":\"ring\",\"size\":10},\"metric\":\"ring\","
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,\"lambda\":0.5},"
    "\"opens\":\"2020-01-01T00:00:00Z\",\"closes\":\"2100-01-01T00:00:00Z\"}";

static char folder[FIXTURE_PATH_SIZE];
static struct init_result installation;
static pid_t server;
static char url[128];

/* The campaign, as a device knows it. */
static char hex_id[2 * DPOT_CAMPAIGN_ID_LEN + 1];
static uint8_t campaign_hash[DPOT_HASH_LEN];
static struct dpot_keys keys;

static void die(void *ctx, size_t n_reports)
{
    (void)ctx;
    (void)n_reports;
    _exit(9);
}

/* The server process: writes its URL into the pipe and serves until SIGKILL or SIGTERM. */
static volatile sig_atomic_t is_asked_to_stop;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    is_asked_to_stop = 1;
}

static void serve(int out, bool dies_after_commit)
{
    sigset_t stopping, before;
    const struct sigaction action = {.sa_handler = ask_to_stop};
    struct config config;
    struct service *service = NULL;
    const struct service_hooks hooks = {.on_committed = dies_after_commit ? die : NULL};
    (void)sigemptyset(&stopping);
    (void)sigaddset(&stopping, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &stopping, &before); /* also in the threads of the service */
    (void)sigaction(SIGTERM, &action, NULL);
    if (config_read(installation.config_path, &config, NULL) != DPOT_OK ||
        service_open(&config, "127.0.0.1:0", &hooks, &service, NULL) != DPOT_OK) {
        _exit(1);
    }
    const char *bound = service_url(service);
    if (write(out, bound, strlen(bound)) < 0) {
        _exit(1);
    }
    (void)close(out);
    while (!is_asked_to_stop) {
        (void)sigsuspend(&before);
    }
    service_close(service);
    _exit(0);
}

static void start(bool dies_after_commit)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    server = child_fork();
    cr_assert_geq(server, 0);
    if (server == 0) {
        (void)close(ends[0]);
        serve(ends[1], dies_after_commit);
    }
    (void)close(ends[1]);
    const ssize_t n = read(ends[0], url, sizeof url - 1);
    cr_assert_gt(n, 0, "the server did not start");
    url[n] = '\0';
    (void)close(ends[0]);
}

static void stop(void)
{
    (void)kill(server, SIGKILL);
    cr_assert_eq(waitpid(server, NULL, 0), server);
}

static json_t *admin(const char *method, const char *path, const char *body, int status)
{
    struct http_reply reply;
    http_exchange(url, method, path, installation.token, body, strlen(body), &reply);
    cr_assert_eq(reply.status, status);
    cr_assert_eq(dpot_buf_append(&reply.body, "", 1), DPOT_OK);
    json_t *value = fixture_json((const char *)reply.body.data);
    http_reply_release(&reply);
    return value;
}

static const char *campaign_path(const char *prefix, const char *tail)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s%s", prefix, hex_id, tail);
    return path;
}

static void enroll(void)
{
    struct http_reply reply;
    http_exchange(url, "GET", "/v1/keys", NULL, "", 0, &reply);
    cr_assert_eq(
        dpot_wire_keys_open(reply.body.data, reply.body.len, installation.pin, NULL, &keys, NULL),
        DPOT_OK);
    http_reply_release(&reply);
    struct dpot_signed_campaign content;
    http_exchange(url, "GET", campaign_path("/v1/campaigns", ""), NULL, "", 0, &reply);
    cr_assert_eq(dpot_wire_campaign_open(reply.body.data, reply.body.len, installation.pin, NULL,
                                         &content, NULL),
                 DPOT_OK);
    memcpy(campaign_hash, content.hash, sizeof campaign_hash);
    dpot_signed_campaign_release(&content);
    http_reply_release(&reply);
}

static void set_up(void)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_init(), DPOT_OK);
    fixture_folder(folder);
    cr_assert_eq(init_run(folder, "127.0.0.1:0", dpot_clock_system(), &installation, &error),
                 DPOT_OK, "%s", error.text);
    start(false);
    json_t *record = admin("POST", "/v1/admin/campaigns", spec, 201);
    (void)snprintf(hex_id, sizeof hex_id, "%s", json_string_value(json_object_get(record, "id")));
    json_decref(record);
    json_decref(admin("POST", campaign_path("/v1/admin/campaigns", "/open"), "", 200));
    enroll();
    stop();
}

static void tear_down(void)
{
    fixture_remove(folder);
}

TestSuite(crash_server, .init = set_up, .fini = tear_down);

/* Seals and posts reports first, ...; returns the HTTP status, or 0 if the connection failed. */
static int post(uint32_t first, size_t n, enum dpot_report_status *statuses)
{
    struct dpot_report reports[64];
    struct dpot_buf body;
    struct http_reply reply;
    for (size_t i = 0; i < n; i++) {
        reports[i] = fixture_report(first + (uint32_t)i);
    }
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, NULL);
    fixture_seal(&keys.seal_keys[0], campaign_hash, 0, reports, n, &body);
    http_exchange(url, "POST", campaign_path("/v1/campaigns", "/reports"), NULL, body.data,
                  body.len, &reply);
    if (reply.status == 202) {
        cr_assert_eq(
            dpot_wire_receipt_decode(reply.body.data, reply.body.len, NULL, NULL, statuses, n),
            DPOT_OK);
    }
    http_reply_release(&reply);
    dpot_buf_release(&body);
    return reply.status;
}

static void expect_pool(int64_t accepted, int64_t duplicate)
{
    json_t *pool = admin("GET", campaign_path("/v1/admin/campaigns", "/pool"), "", 200);
    cr_assert_eq(json_integer_value(json_object_get(pool, "accepted")), accepted);
    if (duplicate >= 0) {
        cr_assert_eq(json_integer_value(json_object_get(pool, "duplicate")), duplicate);
    }
    json_decref(pool);
    struct http_reply reply;
    http_exchange(url, "GET", campaign_path("/v1/admin/campaigns", "/pool/export"),
                  installation.token, "", 0, &reply);
    cr_assert_eq(reply.body.len, 4 * (size_t)accepted);
    http_reply_release(&reply);
}

Test(crash_server, a_report_committed_before_the_crash_is_a_duplicate_after_it)
{
    enum dpot_report_status status;
    int state = 0;
    start(true);
    cr_assert_eq(post(1, 1, &status), 0, "the answer must not have come");
    cr_assert_eq(waitpid(server, &state, 0), server);
    cr_assert(WIFEXITED(state) && WEXITSTATUS(state) == 9);

    start(false);
    expect_pool(1, 0);
    cr_assert_eq(post(1, 1, &status), 202);
    cr_assert_eq(status, DPOT_REPORT_DUPLICATE);
    cr_assert_eq(post(1, 1, &status), 202);
    cr_assert_eq(status, DPOT_REPORT_DUPLICATE);
    expect_pool(1, 2);
    stop();
}

Test(crash_server, a_crash_in_the_middle_of_many_batches_loses_and_doubles_nothing)
{
    enum dpot_report_status statuses[20];
    for (uint32_t batch = 0; batch < 6; batch++) {
        start(batch % 2 == 0);
        const int status = post(batch * 20, 20, statuses);
        cr_assert_eq(status, batch % 2 == 0 ? 0 : 202);
        stop();
    }
    start(false);
    for (uint32_t batch = 0; batch < 6; batch++) {
        cr_assert_eq(post(batch * 20, 20, statuses), 202);
        cr_assert_eq(statuses[19], DPOT_REPORT_DUPLICATE);
    }
    expect_pool(120, 120);
    stop();
}

/* Kills the server after some milliseconds, from another process. */
static pid_t kill_after(long ms)
{
    const pid_t victim = server;
    const pid_t killer = child_fork();
    cr_assert_geq(killer, 0);
    if (killer == 0) {
        const struct timespec wait = {.tv_sec = 0, .tv_nsec = ms * 1000000};
        (void)nanosleep(&wait, NULL);
        (void)kill(victim, SIGKILL);
        _exit(0);
    }
    return killer;
}

Test(crash_server, a_server_killed_at_any_moment_keeps_what_it_acknowledged)
{
    enum { N_BATCHES = 200, BATCH = 5 };
    static bool is_acknowledged[N_BATCHES];
    enum dpot_report_status statuses[BATCH];
    uint32_t next = 0;
    for (long life = 0; life < 12 && next < N_BATCHES; life++) {
        start(false);
        const pid_t killer = kill_after(3 + 7 * life);
        for (; next < N_BATCHES; next++) {
            is_acknowledged[next] = post(next * BATCH, BATCH, statuses) == 202;
            if (!is_acknowledged[next]) {
                next++; /* sent again only at the end: it may be stored or not */
                break;
            }
        }
        (void)waitpid(killer, NULL, 0);
        stop();
    }
    start(false);
    for (uint32_t batch = 0; batch < next; batch++) {
        cr_assert_eq(post(batch * BATCH, BATCH, statuses), 202);
        for (size_t i = 0; i < BATCH; i++) {
            cr_assert(!is_acknowledged[batch] || statuses[i] == DPOT_REPORT_DUPLICATE);
        }
    }
    expect_pool((int64_t)next * BATCH, -1);
    stop();
}

/* ---- many clients at once ---- */

#define N_CLIENTS 8
#define N_POSTS 40
#define POST_REPORTS 4

/* The answers to the posts of one client; the last may be unknown. */
struct client {
    pthread_t thread;
    uint32_t first;
    size_t n_sent, n_acknowledged;
};

/* The same without assertions, which must not be used in threads. */
static int post_quietly(uint32_t first, enum dpot_report_status *statuses)
{
    struct dpot_report reports[POST_REPORTS];
    struct dpot_buf body;
    struct http_reply reply;
    for (size_t i = 0; i < POST_REPORTS; i++) {
        reports[i] = fixture_report(first + (uint32_t)i);
    }
    char path[256];
    (void)snprintf(path, sizeof path, "/v1/campaigns/%s/reports", hex_id);
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, NULL);
    fixture_seal(&keys.seal_keys[0], campaign_hash, 0, reports, POST_REPORTS, &body);
    http_exchange(url, "POST", path, NULL, body.data, body.len, &reply);
    if (reply.status == 202 && dpot_wire_receipt_decode(reply.body.data, reply.body.len, NULL, NULL,
                                                        statuses, POST_REPORTS) != DPOT_OK) {
        reply.status = 0;
    }
    const int status = reply.status;
    http_reply_release(&reply);
    dpot_buf_release(&body);
    return status;
}

static void *run_client(void *ctx)
{
    struct client *client = ctx;
    enum dpot_report_status statuses[POST_REPORTS];
    bool is_alive = true;
    while (is_alive && client->n_sent < N_POSTS) {
        const uint32_t first = client->first + (uint32_t)client->n_sent++ * POST_REPORTS;
        is_alive = post_quietly(first, statuses) == 202;
        client->n_acknowledged += is_alive;
    }
    return NULL;
}

/* Sends everything again: what was acknowledged is stored, and a batch is stored whole or not at
 * all.
 * Returns the number of reports. */
static size_t send_again(const struct client *client)
{
    enum dpot_report_status statuses[POST_REPORTS];
    for (size_t j = 0; j < client->n_sent; j++) {
        cr_assert_eq(post_quietly(client->first + (uint32_t)j * POST_REPORTS, statuses), 202);
        for (size_t r = 0; r < POST_REPORTS; r++) {
            cr_assert(j >= client->n_acknowledged || statuses[r] == DPOT_REPORT_DUPLICATE);
            cr_assert_eq(statuses[r], statuses[0]);
        }
    }
    return client->n_sent * POST_REPORTS;
}

Test(crash_server, a_server_killed_under_many_clients_keeps_what_it_acknowledged)
{
    enum { N_LIVES = 5 };
    static struct client clients[N_LIVES * N_CLIENTS];
    size_t n_reports = 0;
    for (uint32_t life = 0; life < N_LIVES; life++) {
        struct client *mine = clients + life * N_CLIENTS;
        const struct timespec wait = {.tv_nsec = 5000000 + 20000000 * (long)life};
        start(false);
        for (uint32_t i = 0; i < N_CLIENTS; i++) {
            mine[i].first = (life * N_CLIENTS + i) * N_POSTS * POST_REPORTS;
            cr_assert_eq(pthread_create(&mine[i].thread, NULL, run_client, &mine[i]), 0);
        }
        (void)nanosleep(&wait, NULL);
        stop();
        for (size_t i = 0; i < N_CLIENTS; i++) {
            cr_assert_eq(pthread_join(mine[i].thread, NULL), 0);
        }
    }
    start(false);
    for (size_t i = 0; i < N_LIVES * N_CLIENTS; i++) {
        n_reports += send_again(&clients[i]);
    }
    expect_pool((int64_t)n_reports, -1);
    stop();
}

/* On SIGTERM the server closes the service as dpotd does. */
Test(crash_server, a_server_stopped_under_many_clients_acknowledges_all_stored_reports)
{
    static struct client clients[N_CLIENTS];
    const struct timespec wait = {.tv_nsec = 60000000};
    size_t n_acknowledged = 0;
    start(false);
    for (uint32_t i = 0; i < N_CLIENTS; i++) {
        clients[i].first = i * N_POSTS * POST_REPORTS;
        cr_assert_eq(pthread_create(&clients[i].thread, NULL, run_client, &clients[i]), 0);
    }
    (void)nanosleep(&wait, NULL);
    cr_assert_eq(kill(server, SIGTERM), 0);
    int state = 0;
    cr_assert_eq(waitpid(server, &state, 0), server);
    cr_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    for (size_t i = 0; i < N_CLIENTS; i++) {
        cr_assert_eq(pthread_join(clients[i].thread, NULL), 0);
        n_acknowledged += clients[i].n_acknowledged * POST_REPORTS;
    }
    start(false);
    expect_pool((int64_t)n_acknowledged, 0);
    stop();
}
