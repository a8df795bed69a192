/* The server on loopback against attackers and slow peers. */
#include "http/linger.h"
#include "unit/aggregator/http/rig.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FAR_TOO_LONG_S 30 /* for what takes a second or two on an idle machine */

TestSuite(http_hostile, .init = http_set_up, .fini = http_tear_down);

static void expect_raw(const char *head, const void *body, size_t len, int status)
{
    struct http_reply reply;
    const int fd = http_connect(server_url(server));
    cr_assert_geq(fd, 0);
    cr_assert(http_send(fd, head, strlen(head)));
    (void)http_send(fd, body, len);
    (void)http_receive(fd, true, &reply);
    cr_assert_eq(reply.status, status, "%.60s: %d", head, reply.status);
    http_reply_release(&reply);
    (void)close(fd);
}

Test(http_hostile, a_body_above_the_limit_is_413_by_its_announced_length)
{
    char head[512];
    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000000\r\n\r\n",
                   reports_path);
    expect_raw(head, "", 0, 413);
    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: "
                   "9000000\r\n\r\n",
                   reports_path);
    expect_raw(head, "", 0, 413);
}

/* Without Expect, within what a server may read, and nothing of the body follows. */
Test(http_hostile, a_refused_head_is_answered_before_its_body_comes)
{
    static const struct {
        const char *head;
        int status;
    } rows[] = {
        {"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n", 413},
        {"POST %s HTTP/1.0\r\nContent-Length: 9000000\r\n\r\n", 413},
        {"POST %sx HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n", 404},
        {"PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n", 405},
        {"POST %s HTTP/1.1\r\nHost: x\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\n", 415},
    };
    char head[512];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(head, sizeof head, rows[i].head, reports_path);
        expect_raw(head, "", 0, rows[i].status);
    }
    expect_raw("POST /v1/admin/campaigns HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", "", 0,
               401);
    cr_assert_eq(get("/healthz"), 200);
}

/* Closing on unread bytes would reset the connection, and the answer would be lost. */
Test(http_hostile, a_sender_that_does_not_look_still_reads_why_it_was_refused)
{
    static uint8_t body[9000000];
    struct http_reply reply;
    char head[512], after;
    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n", reports_path);
    for (int i = 0; i < 5; i++) {
        const int fd = http_connect(server_url(server));
        cr_assert(http_send(fd, head, strlen(head)));
        cr_assert(http_send(fd, body, sizeof body), "all of it is taken");
        cr_assert(http_receive(fd, true, &reply));
        cr_assert_eq(reply.status, 413);
        cr_assert_not_null(http_header(&reply, "Connection"));
        cr_assert_eq(dpot_buf_append(&reply.body, "", 1), DPOT_OK);
        cr_assert_not_null(strstr((const char *)reply.body.data, "\"batch\":\"\""));
        http_reply_release(&reply);
        cr_assert_eq(recv(fd, &after, 1, 0), 0, "the end, not a reset");
        (void)close(fd);
    }
}

/* More peers than are waited for, none of which closes: the server goes on and stops. */
Test(http_hostile, refused_peers_that_stay_hold_nobody_up)
{
    enum { N = 3 * LINGER_MAX };
    int fds[N];
    char head[512];
    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n", reports_path);
    for (size_t i = 0; i < N; i++) {
        struct http_reply reply;
        fds[i] = http_connect(server_url(server));
        cr_assert(http_send(fds[i], head, strlen(head)));
        cr_assert(http_receive(fds[i], true, &reply), "%zu", i);
        cr_assert_eq(reply.status, 413);
        http_reply_release(&reply);
    }
    cr_assert_eq(get("/healthz"), 200);
    server_close(server, 60000);
    http_start();
    for (size_t i = 0; i < N; i++) {
        (void)close(fds[i]);
    }
}

Test(http_hostile, a_body_of_ambiguous_length_is_400_and_ends_the_connection)
{
    static const char *const lengths[] = {"Content-Length: 4\r\nContent-Length: 5",
                                          "Content-Length: 5\r\nContent-Length: 4",
                                          "Content-Length: 4\r\nTransfer-Encoding: chunked"};
    char head[512];
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        (void)snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", reports_path,
                       lengths[i]);
        expect_raw(head, "abcde", 5, 400);
    }
}

Test(http_hostile, an_escaped_path_is_not_another_path)
{
    expect_raw("GET /healthz%00 HTTP/1.1\r\nHost: x\r\n\r\n", "", 0, 404);
    expect_raw("GET /%68ealthz HTTP/1.1\r\nHost: x\r\n\r\n", "", 0, 404);
}

Test(http_hostile, a_body_above_the_limit_is_413_when_it_was_sent)
{
    static uint8_t body[DPOT_BATCH_BYTES_MAX + 1];
    cr_assert_eq(request("POST", reports_path, NULL, body, sizeof body), 413);
    cr_assert_eq(request("GET", "/v1/keys", NULL, body, 5000), 413);
    cr_assert_eq(get("/healthz"), 200);
}

#define BODY_LEN ((size_t)4 << 20) /* a power of two, as the capacity of a buffer */
#define N_BODIES 4                 /* that fit in max_body_memory */

static int start_body(const void *body, size_t len)
{
    char head[POST_HEAD_SIZE];
    const int fd = http_connect(server_url(server));
    cr_assert(http_send(fd, head, post_head(head, BODY_LEN)));
    cr_assert(http_send(fd, body, len));
    return fd;
}

static void expect_status(int fd, int status)
{
    struct http_reply reply;
    cr_assert(http_receive(fd, true, &reply));
    cr_assert_eq(reply.status, status, "%d", reply.status);
    http_reply_release(&reply);
    (void)close(fd);
}

Test(http_hostile, the_memory_of_all_bodies_is_bounded)
{
    static uint8_t body[BODY_LEN];
    int fds[N_BODIES];
    const struct timespec pause = {.tv_nsec = 5000000};
    struct server_traffic traffic = {.body_memory = 0};
    server_close(server, 60000);
    config.max_body_memory = N_BODIES * BODY_LEN;
    http_start();
    for (size_t i = 0; i < N_BODIES; i++) {
        fds[i] = start_body(body, sizeof body - 1);
    }
    for (int i = 0; i < 12000 && traffic.body_memory < N_BODIES * BODY_LEN; i++) {
        (void)nanosleep(&pause, NULL);
        server_get_traffic(server, &traffic);
    }
    cr_assert_eq(traffic.body_memory, N_BODIES * BODY_LEN);
    for (size_t i = 0; i < N_BODIES; i++) {
        expect_status(start_body(body, sizeof body), 503);
    }
    for (size_t i = 0; i < N_BODIES; i++) {
        cr_assert(http_send(fds[i], "", 1));
        expect_status(fds[i], 400);
    }
    expect_status(start_body(body, sizeof body), 400);
}

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Sends one byte every 50 ms until the connection ends; returns the seconds that took. */
static double drip(const char *request_text)
{
    const double started = seconds_now();
    const struct timespec pause = {.tv_nsec = 50000000};
    char ignored[256];
    const int fd = http_connect(server_url(server));
    cr_assert_geq(fd, 0);
    for (size_t i = 0; seconds_now() - started < FAR_TOO_LONG_S; i++) {
        const char byte = request_text[i] ? request_text[i] : 'x';
        const bool is_dead =
            !http_send(fd, &byte, 1) || recv(fd, ignored, sizeof ignored, MSG_DONTWAIT) == 0;
        if (is_dead) {
            break;
        }
        (void)nanosleep(&pause, NULL);
    }
    (void)close(fd);
    return seconds_now() - started;
}

Test(http_hostile, a_sender_of_one_byte_at_a_time_is_cut)
{
    char head[512];
    http_use_short_timeout();
    cr_assert_lt(drip("GET /healthz HTTP/1.1\r\nX-Slow: "), FAR_TOO_LONG_S);
    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", reports_path);
    const int fd = http_connect(server_url(server));
    cr_assert(http_send(fd, head, strlen(head)));
    const double started = seconds_now();
    const struct timespec pause = {.tv_nsec = 50000000};
    char ignored;
    while (seconds_now() - started < FAR_TOO_LONG_S && http_send(fd, "x", 1) &&
           recv(fd, &ignored, 1, MSG_DONTWAIT) != 0) {
        (void)nanosleep(&pause, NULL);
    }
    cr_assert_lt(seconds_now() - started, FAR_TOO_LONG_S);
    (void)close(fd);
    http_expect_health();
}

/* Waits until some requests were answered and none was for a second. */
static void wait_for_silence(void)
{
    const struct timespec pause = {.tv_sec = 1};
    struct server_traffic now = {.n_running = 0}, before;
    do {
        before = now;
        (void)nanosleep(&pause, NULL);
        server_get_traffic(server, &now);
    } while (now.n_running > 0 || now.n_answers[2] == 0 || now.n_answers[2] != before.n_answers[2]);
}

Test(http_hostile, a_reader_that_does_not_read_is_cut)
{
    static char block[1 << 16];
    char head[512];
    struct dpot_buf body = sealed(0, DPOT_BATCH_REPORTS_MAX);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    dpot_buf_release(&body);
    (void)snprintf(head, sizeof head,
                   "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " TOKEN "\r\n\r\n",
                   campaign_path("/v1/admin/campaigns", "/pool/export"));
    const size_t n_asked = 1000, n_promised = n_asked * 4 * DPOT_BATCH_REPORTS_MAX;
    http_use_short_timeout();
    const int fd = http_connect(server_url(server));
    for (size_t i = 0; i < n_asked; i++) {
        (void)http_send(fd, head, strlen(head)); /* it may be disconnected already */
    }
    wait_for_silence();
    size_t n_read = 0;
    for (ssize_t n = 1; n > 0; n_read += n > 0 ? (size_t)n : 0) {
        n = recv(fd, block, sizeof block, 0);
    }
    cr_assert_lt(n_read, n_promised);
    (void)close(fd);
}

Test(http_hostile, a_connection_serves_several_requests)
{
    const int fd = http_connect(server_url(server));
    static const char head[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    for (int i = 0; i < 3; i++) {
        struct http_reply reply;
        cr_assert(http_send(fd, head, sizeof head - 1));
        cr_assert(http_receive(fd, true, &reply));
        cr_assert_eq(reply.status, 200);
        http_reply_release(&reply);
    }
    (void)close(fd);
}

Test(http_hostile, garbage_never_stops_the_server)
{
    static const char *const garbage[] = {
        "GARBAGE\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "POST /v1/keys HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        "POST /v1/keys HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST /v1/keys HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET /%00%ff%2e%2e/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /v1/admin/campaigns HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer\r\n\r\n",
        "GET /v1/admin/campaigns HTTP/1.1\r\nHost: x\r\nAuthorization: \xff\xfe\r\n\r\n",
        "\r\n\r\n\r\n",
    };
    http_use_short_timeout(); /* some of it is an incomplete head */
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        const int fd = http_connect(server_url(server));
        (void)http_send(fd, garbage[i], strlen(garbage[i]));
        (void)shutdown(fd, SHUT_WR);
        char ignored[512];
        while (recv(fd, ignored, sizeof ignored, 0) > 0) {
        }
        (void)close(fd);
    }
    static char long_head[200000];
    memset(long_head, 'a', sizeof long_head - 1);
    memcpy(long_head, "GET /", 5);
    const int fd = http_connect(server_url(server));
    (void)http_send(fd, long_head, strlen(long_head));
    (void)close(fd);
    http_expect_health();
}

#define N_POSTERS 4
#define N_SHARED 300

struct poster {
    pthread_t thread;
    const struct dpot_buf *body;
    int status;
    enum dpot_report_status statuses[N_SHARED];
};

static void *post_shared(void *ctx)
{
    struct poster *poster = ctx;
    struct http_reply reply;
    http_exchange(server_url(server), "POST", reports_path, NULL, poster->body->data,
                  poster->body->len, &reply);
    poster->status = reply.status;
    if (reply.status == 202 && dpot_wire_receipt_decode(reply.body.data, reply.body.len, NULL, NULL,
                                                        poster->statuses, N_SHARED) != DPOT_OK) {
        poster->status = -1;
    }
    http_reply_release(&reply);
    return NULL;
}

Test(http_hostile, the_same_batch_from_four_threads_is_accepted_exactly_once)
{
    struct poster posters[N_POSTERS];
    struct dpot_buf body = sealed(0, N_SHARED);
    for (size_t i = 0; i < N_POSTERS; i++) {
        posters[i].body = &body;
        cr_assert_eq(pthread_create(&posters[i].thread, NULL, post_shared, &posters[i]), 0);
    }
    for (size_t i = 0; i < N_POSTERS; i++) {
        cr_assert_eq(pthread_join(posters[i].thread, NULL), 0);
        cr_assert_eq(posters[i].status, 202);
    }
    for (size_t r = 0; r < N_SHARED; r++) {
        int n_accepted = 0;
        for (size_t i = 0; i < N_POSTERS; i++) {
            n_accepted += posters[i].statuses[r] == DPOT_REPORT_ACCEPTED;
        }
        cr_assert_eq(n_accepted, 1);
    }
    cr_assert_eq(rig_count(&rig).n_accepted, N_SHARED);
    dpot_buf_release(&body);
}

/* Holds every answer for a while after its commit. */
static void hold_commit(void *ctx, size_t n)
{
    const struct timespec pause = {.tv_nsec = 400000000};
    (void)ctx;
    (void)n;
    atomic_store(&has_committed, true);
    (void)nanosleep(&pause, NULL);
}

static void close_while_it_runs(unsigned drain_ms)
{
    struct poster poster;
    struct dpot_buf body = sealed(0, N_SHARED);
    http_use_writer(hold_commit, NULL);
    poster.body = &body;
    cr_assert_eq(pthread_create(&poster.thread, NULL, post_shared, &poster), 0);
    wait_for(&has_committed);
    cr_assert(atomic_load(&has_committed));
    server_close(server, drain_ms);
    cr_assert_eq(pthread_join(poster.thread, NULL), 0);
    cr_assert(poster.status == 202 || (poster.status == 0 && drain_ms == 0));
    http_start();
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    cr_assert_eq(rig_count(&rig).n_accepted, N_SHARED);
    cr_assert_eq(rig_count(&rig).n_duplicate, N_SHARED);
    dpot_buf_release(&body);
}

Test(http_hostile, a_running_request_is_finished_before_the_server_closes)
{
    close_while_it_runs(60000);
}

/* The batch is committed and not acknowledged: sent again, it is a duplicate. */
Test(http_hostile, a_server_without_patience_waits_for_the_writer_all_the_same)
{
    close_while_it_runs(0);
}

Test(http_hostile, requests_that_wait_for_a_commit_hold_no_thread)
{
    enum { N = 12 };
    struct poster posters[N];
    struct dpot_buf body = sealed(0, N_SHARED);
    http_use_writer(hold_until_released, NULL);
    for (size_t i = 0; i < N; i++) {
        posters[i].body = &body;
        cr_assert_eq(pthread_create(&posters[i].thread, NULL, post_shared, &posters[i]), 0);
    }
    wait_for(&has_committed);
    cr_assert(atomic_load(&has_committed));
    cr_assert_eq(get("/healthz"), 200, "it does not wait behind a commit");
    atomic_store(&may_answer, true);
    for (size_t i = 0; i < N; i++) {
        cr_assert_eq(pthread_join(posters[i].thread, NULL), 0);
        cr_assert_eq(posters[i].status, 202);
    }
    cr_assert_eq(rig_count(&rig).n_accepted, N_SHARED);
    cr_assert_eq(rig_count(&rig).n_duplicate, (N - 1) * N_SHARED);
    dpot_buf_release(&body);
}

Test(http_hostile, a_device_that_hangs_up_before_its_answer_is_stored_once)
{
    struct dpot_buf body = sealed(0, N_SHARED);
    char head[POST_HEAD_SIZE];
    http_use_writer(hold_commit, NULL);
    const size_t n = post_head(head, body.len);
    const int fd = http_connect(server_url(server));
    cr_assert_eq(write(fd, head, n), (ssize_t)n);
    cr_assert_eq(write(fd, body.data, body.len), (ssize_t)body.len);
    wait_for(&has_committed);
    cr_assert(atomic_load(&has_committed));
    (void)close(fd);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    cr_assert_eq(rig_count(&rig).n_accepted, N_SHARED);
    cr_assert_eq(rig_count(&rig).n_duplicate, N_SHARED);
    dpot_buf_release(&body);
}

Test(http_hostile, a_closing_server_does_not_wait_for_idle_connections)
{
    const int idle = http_connect(server_url(server));
    const double started = seconds_now();
    server_close(server, 60000);
    cr_assert_lt(seconds_now() - started, FAR_TOO_LONG_S);
    (void)close(idle);
    http_start();
}

Test(http_hostile, logs_hold_no_token_no_body_and_no_id)
{
    static char content[100000];
    struct dpot_buf body = sealed(0, 2);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    cr_assert_eq(request("GET", "/v1/admin/campaigns", TOKEN, "", 0), 200);
    cr_assert_eq(request("GET", "/v1/admin/campaigns", "wrong-secret", "", 0), 403);
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, "{\"private\":1}", 13), 400);
    cr_assert_not_null(strstr(text, "private"));
    dpot_buf_release(&body);
    server_close(server, 60000);
    server = NULL;
    log_sink_close(logger.sink, LOG_PATIENCE_MS);
    logger.sink = NULL;
    rewind(log_stream);
    const size_t len = fread(content, 1, sizeof content - 1, log_stream);
    content[len] = '\0';
    cr_assert_not_null(strstr(content, "status=202"));
    cr_assert_null(strstr(content, TOKEN));
    cr_assert_null(strstr(content, "wrong-secret"));
    cr_assert_null(strstr(content, "private"));
    const struct dpot_report report = fixture_report(0);
    char hex[2 * DPOT_REPORT_ID_LEN + 1];
    dpot_hex_encode(hex, report.id, sizeof report.id);
    cr_assert_null(strstr(content, hex));
}
