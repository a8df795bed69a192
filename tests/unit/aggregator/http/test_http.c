/* The server over loopback, as devices, analysts and attackers meet it. */
#include "http/server.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/http_client.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TOKEN "let-me-in"
#define TIMEOUT_S 1

static struct rig rig;
static struct tokens tokens;
static struct http_app app;
static struct server_config config;
static struct server *server;
static FILE *log_stream;
static struct log logger;
static char hex_id[2 * DPOT_CAMPAIGN_ID_LEN + 1];
static char reports_path[128];

static void set_up_tokens(void)
{
    char line[200];
    tokens_format("admin", TOKEN, line, sizeof line);
    line[strlen(line) - 1] = '\0';
    tokens.n = 1;
    cr_assert_eq(dpot_hex_decode(strchr(line, ' ') + 1, tokens.entries[0].hash, DPOT_HASH_LEN),
                 DPOT_OK);
}

static void start(void)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(server_open(&config, &server, &error), DPOT_OK, "%s", error.text);
}

static void set_up(void)
{
    struct dpot_keys keys = {.n_seal_keys = 1};
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    set_up_tokens();
    keys.seal_keys[0] = rig.secret.key;
    log_stream = tmpfile();
    logger = (struct log){LOG_LEVEL_DEBUG, log_stream, &rig.clock.clock};
    app = (struct http_app){.store = rig.store,
                            .registry = rig.registry,
                            .ingest = &rig.ingest,
                            .tokens = &tokens,
                            .body_max = DPOT_BATCH_BYTES_MAX};
    dpot_buf_init(&app.signed_keys, DPOT_KEYS_BYTES_MAX, NULL);
    cr_assert_eq(registry_sign_keys(rig.registry, &keys, &app.signed_keys, NULL), DPOT_OK);
    config = (struct server_config){.listen = "127.0.0.1:0",
                                    .threads = 4,
                                    .max_connections = 64,
                                    .request_timeout_s = TIMEOUT_S,
                                    .max_body_memory = (size_t)64 << 20,
                                    .app = &app,
                                    .log = &logger};
    dpot_hex_encode(hex_id, rig.record.campaign_id, sizeof rig.record.campaign_id);
    (void)snprintf(reports_path, sizeof reports_path, "/v1/campaigns/%s/reports", hex_id);
    start();
}

static void tear_down(void)
{
    server_close(server, 5000);
    dpot_buf_release(&app.signed_keys);
    rig_release(&rig);
    (void)fclose(log_stream);
}

TestSuite(http, .init = set_up, .fini = tear_down);

/* The status of one request; the reply's text, cut, in `text`. */
static char text[4096];
static struct http_reply last;
static int request(const char *method, const char *path, const char *token, const void *body,
                   size_t len)
{
    http_exchange(server_url(server), method, path, token, body, len, &last);
    const size_t n = last.body.len < sizeof text - 1 ? last.body.len : sizeof text - 1;
    if (n > 0) {
        memcpy(text, last.body.data, n);
    }
    text[n] = '\0';
    http_reply_release(&last);
    return last.status;
}

static int get(const char *path)
{
    return request("GET", path, NULL, "", 0);
}

static const char *campaign_path(const char *prefix, const char *tail)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s%s", prefix, hex_id, tail);
    return path;
}

/* A sealed body of reports first .. first + n - 1. */
static struct dpot_buf sealed(uint32_t first, size_t n)
{
    static struct dpot_report reports[DPOT_BATCH_REPORTS_MAX];
    struct dpot_buf body;
    for (size_t i = 0; i < n; i++) {
        reports[i] = fixture_report(first + (uint32_t)i);
    }
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, NULL);
    fixture_seal(&rig.secret.key, rig.record.hash, 0, reports, n, &body);
    return body;
}

Test(http, a_living_process_is_healthy_and_a_store_that_answers_is_ready)
{
    cr_assert_eq(get("/healthz"), 200);
    cr_assert_str_eq(text, "ok\n");
    cr_assert_eq(get("/readyz"), 200);
}

Test(http, keys_are_served_signed)
{
    struct dpot_keys keys;
    cr_assert_eq(get("/v1/keys"), 200);
    cr_assert_eq(strncmp(http_header(&last, "Content-Type"), "application/x-protobuf", 22), 0);
    cr_assert_eq(dpot_wire_keys_open(app.signed_keys.data, app.signed_keys.len,
                                     registry_pin(rig.registry), NULL, &keys, NULL),
                 DPOT_OK);
    cr_assert_eq(memcmp(text, app.signed_keys.data, app.signed_keys.len), 0);
}

Test(http, a_campaign_is_served_as_signed_open_or_closed_but_not_as_a_draft)
{
    struct dpot_signed_campaign content;
    struct http_reply reply;
    http_exchange(server_url(server), "GET", campaign_path("/v1/campaigns", ""), NULL, "", 0,
                  &reply);
    cr_assert_eq(reply.status, 200);
    cr_assert_eq(dpot_wire_campaign_open(reply.body.data, reply.body.len,
                                         registry_pin(rig.registry), NULL, &content, NULL),
                 DPOT_OK);
    cr_assert_eq(memcmp(content.campaign.id, rig.record.campaign_id, DPOT_CAMPAIGN_ID_LEN), 0);
    dpot_signed_campaign_release(&content);
    http_reply_release(&reply);
    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/close"), TOKEN, "", 0),
                 200);
    cr_assert_eq(get(campaign_path("/v1/campaigns", "")), 200);

    struct revision_record draft;
    json_t *spec = fixture_spec();
    cr_assert_eq(registry_create(rig.registry, spec, &draft, NULL), DPOT_OK);
    json_decref(spec);
    dpot_hex_encode(hex_id, draft.campaign_id, sizeof draft.campaign_id);
    cr_assert_eq(get(campaign_path("/v1/campaigns", "")), 404);
}

Test(http, unknown_paths_are_404_and_other_methods_405)
{
    cr_assert_eq(get("/"), 404);
    cr_assert_eq(get("/v1/campaigns/00000000000000000000000000000000"), 404);
    cr_assert_eq(get("/v1/campaigns/zz000000000000000000000000000000"), 404);
    cr_assert_eq(get("/v1/campaigns/00"), 404);
    cr_assert_eq(get("/v1/keys/"), 404);
    cr_assert_eq(request("DELETE", "/v1/keys", NULL, "", 0), 405);
    cr_assert_eq(strncmp(http_header(&last, "Allow"), "GET, HEAD\r\n", 11), 0);
    cr_assert_eq(get(reports_path), 405);
    cr_assert_eq(strncmp(http_header(&last, "Allow"), "POST\r\n", 6), 0);
    cr_assert_eq(request("PUT", "/v1/admin/campaigns", NULL, "", 0), 405);
    cr_assert_eq(strncmp(http_header(&last, "Allow"), "GET, HEAD, POST\r\n", 17), 0);
    cr_assert_not_null(strstr(text, "DPOT_ERR_ARGUMENT"));
}

Test(http, head_is_get_without_the_body)
{
    cr_assert_eq(request("HEAD", "/v1/keys", NULL, "", 0), 200);
    cr_assert_eq(strtoul(http_header(&last, "Content-Length"), NULL, 10), app.signed_keys.len);
    cr_assert_eq(request("HEAD", "/nowhere", NULL, "", 0), 404);
}

Test(http, reports_are_accepted_once_over_http)
{
    enum dpot_report_status statuses[2];
    struct dpot_buf body = sealed(0, 2);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    cr_assert_eq(strncmp(http_header(&last, "Content-Type"), "application/x-protobuf", 22), 0);
    cr_assert_eq(dpot_wire_receipt_decode(text,
                                          strtoul(http_header(&last, "Content-Length"), NULL, 10),
                                          NULL, statuses, 2),
                 DPOT_OK);
    cr_assert_eq(statuses[0], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    cr_assert_eq(dpot_wire_receipt_decode(text,
                                          strtoul(http_header(&last, "Content-Length"), NULL, 10),
                                          NULL, statuses, 2),
                 DPOT_OK);
    cr_assert_eq(statuses[0], DPOT_REPORT_DUPLICATE);
    cr_assert_eq(rig_count(&rig).n_accepted, 2);
    dpot_buf_release(&body);
}

Test(http, every_verdict_of_ingest_is_a_status)
{
    struct dpot_buf body = sealed(0, 1);
    cr_assert_eq(request("POST", reports_path, NULL, "junk", 4), 400);
    cr_assert_eq(strncmp(http_header(&last, "Content-Type"), "text/plain", 10), 0);
    cr_assert_eq(request("POST", reports_path, NULL, "", 0), 400);
    body.data[4] ^= 1;
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 410);
    body.data[4] ^= 1;
    rig.clock.now_ms -= INT64_C(86400000) * 365;
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 503);
    cr_assert_not_null(http_header(&last, "Retry-After"));
    rig.clock.now_ms += INT64_C(86400000) * 365;
    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/close"), TOKEN, "", 0),
                 200);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 409);
    reports_path[14] ^= 1;
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 404);
    dpot_buf_release(&body);
}

Test(http, the_admin_api_asks_for_a_token)
{
    static const char *const paths[] = {"/v1/admin/campaigns",
                                        "/v1/admin/campaigns/00000000000000000000000000000000"};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(request("GET", paths[i], NULL, "", 0), 401);
        cr_assert_not_null(http_header(&last, "WWW-Authenticate"));
        cr_assert_not_null(strstr(text, "DPOT_ERR_DENIED"));
        cr_assert_eq(request("GET", paths[i], "wrong", "", 0), 403);
        cr_assert_eq(request("GET", paths[i], TOKEN "x", "", 0), 403);
        cr_assert_eq(request("GET", paths[i], TOKEN, "", 0), i == 0 ? 200 : 404);
    }
}

Test(http, a_campaign_lives_through_the_admin_api)
{
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, fixture_census_spec,
                         strlen(fixture_census_spec)),
                 201);
    json_t *record = fixture_json(text);
    cr_assert_str_eq(json_string_value(json_object_get(record, "state")), "draft");
    cr_assert_str_eq(json_string_value(json_object_get(record, "name")), "census");
    cr_assert_eq(json_integer_value(json_object_get(record, "revision")), 1);
    cr_assert_eq(strlen(json_string_value(json_object_get(record, "hash"))), 64);
    (void)snprintf(hex_id, sizeof hex_id, "%s", json_string_value(json_object_get(record, "id")));
    json_decref(record);

    cr_assert_eq(request("GET", "/v1/admin/campaigns", TOKEN, "", 0), 200);
    json_t *list = fixture_json(text);
    const json_t *rows = json_object_get(list, "campaigns");
    cr_assert_eq(json_array_size(rows), 2);
    cr_assert_str_eq(json_string_value(json_object_get(json_array_get(rows, 0), "id")), hex_id);
    cr_assert_str_eq(json_string_value(json_object_get(json_array_get(rows, 0), "created")),
                     "2026-06-01T00:00:00Z");
    json_decref(list);

    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/open"), TOKEN, "", 0), 200);
    cr_assert_not_null(strstr(text, "\"open\""));
    cr_assert_eq(request("GET", campaign_path("/v1/admin/campaigns", ""), TOKEN, "", 0), 200);
    json_t *shown = fixture_json(text);
    cr_assert_str_eq(json_string_value(json_object_get(json_object_get(shown, "spec"), "metric")),
                     "haversine");
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(shown, "pool"), "min_pool")),
                 1000);
    json_decref(shown);
    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/close"), TOKEN, "", 0),
                 200);
    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/open"), TOKEN, "", 0), 409);
    cr_assert_not_null(strstr(text, "DPOT_ERR_CLOSED"));
}

Test(http, a_refused_spec_is_answered_with_its_key)
{
    static const char unknown[] = "{\"typo\":1}", broken[] = "{\"name\":";
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, unknown, sizeof unknown - 1), 400);
    cr_assert_not_null(strstr(text, "typo"));
    cr_assert_not_null(strstr(text, "DPOT_ERR_MALFORMED"));
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, broken, sizeof broken - 1), 400);
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, "", 0), 400);
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, "\xff\xfe", 2), 400);
    cr_assert_eq(rig.record.state, REVISION_OPEN);
}

Test(http, the_pool_is_counted_and_exported_in_order)
{
    struct dpot_buf body = sealed(0, 25);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    dpot_buf_release(&body);
    cr_assert_eq(request("GET", campaign_path("/v1/admin/campaigns", "/pool"), TOKEN, "", 0), 200);
    json_t *pool = fixture_json(text);
    cr_assert_eq(json_integer_value(json_object_get(pool, "n")), 25);
    cr_assert_eq(json_integer_value(json_object_get(pool, "accepted")), 25);
    cr_assert_eq(json_integer_value(json_object_get(pool, "duplicate")), 25);
    cr_assert_eq(
        json_integer_value(json_object_get(json_object_get(pool, "rejected"), "malformed")), 0);
    cr_assert(json_is_true(json_object_get(pool, "is_ready")));
    cr_assert(json_is_null(json_object_get(pool, "scale")));
    cr_assert_str_eq(json_string_value(json_object_get(pool, "mechanism")), "wpm");
    json_decref(pool);
    cr_assert_eq(request("GET", campaign_path("/v1/admin/campaigns", "/pool/export"), TOKEN, "", 0),
                 200);
    cr_assert_eq(strtoul(http_header(&last, "Content-Length"), NULL, 10), 100);
    for (uint32_t i = 0; i < 25; i++) {
        cr_assert_eq(dpot_load_u32((const uint8_t *)text + 4 * (size_t)i), i % FIXTURE_RING_SIZE);
    }
}

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

Test(http, a_body_above_the_limit_is_413_by_its_announced_length)
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

Test(http, a_body_of_ambiguous_length_is_400_and_ends_the_connection)
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

Test(http, an_escaped_path_is_not_another_path)
{
    expect_raw("GET /healthz%00 HTTP/1.1\r\nHost: x\r\n\r\n", "", 0, 404);
    expect_raw("GET /%68ealthz HTTP/1.1\r\nHost: x\r\n\r\n", "", 0, 404);
}

Test(http, a_body_above_the_limit_is_413_when_it_was_sent)
{
    static uint8_t body[DPOT_BATCH_BYTES_MAX + 1];
    cr_assert_eq(request("POST", reports_path, NULL, body, sizeof body), 413);
    cr_assert_eq(request("GET", "/v1/keys", NULL, body, 5000), 413);
    cr_assert_eq(get("/healthz"), 200);
}

/* One chunk of a chunked body. */
static bool send_chunk(int fd, const void *data, size_t len)
{
    char head[32];
    (void)snprintf(head, sizeof head, "%zx\r\n", len);
    return http_send(fd, head, strlen(head)) && http_send(fd, data, len) &&
           http_send(fd, "\r\n", 2);
}

Test(http, a_chunked_body_is_cut_at_the_limit_and_an_endless_one_is_cut_off)
{
    static uint8_t block[1 << 20];
    char head[512];
    struct http_reply reply;
    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
                   reports_path);
    int fd = http_connect(server_url(server));
    cr_assert(http_send(fd, head, strlen(head)));
    for (int i = 0; i < 9; i++) {
        cr_assert(send_chunk(fd, block, sizeof block));
    }
    cr_assert(http_send(fd, "0\r\n\r\n", 5));
    cr_assert(http_receive(fd, true, &reply));
    cr_assert_eq(reply.status, 413);
    http_reply_release(&reply);
    (void)close(fd);

    fd = http_connect(server_url(server));
    cr_assert(http_send(fd, head, strlen(head)));
    int n_sent = 0;
    while (n_sent < 200 && send_chunk(fd, block, sizeof block)) {
        n_sent++;
    }
    cr_assert_lt(n_sent, 100);
    (void)close(fd);
}

Test(http, the_memory_of_all_bodies_is_bounded)
{
    static uint8_t half[4 << 20];
    char head[512];
    int fds[8];
    int n_busy = 0;
    server_close(server, 1000);
    config.max_body_memory = (size_t)16 << 20;
    config.request_timeout_s = 20;
    start();
    (void)snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                   reports_path, sizeof half + 1);
    for (size_t i = 0; i < 8; i++) {
        fds[i] = http_connect(server_url(server));
        cr_assert(http_send(fds[i], head, strlen(head)));
        cr_assert(http_send(fds[i], half, sizeof half));
    }
    const struct timespec pause = {.tv_nsec = 300000000};
    (void)nanosleep(&pause, NULL); /* all of it has arrived */
    for (size_t i = 0; i < 8; i++) {
        struct http_reply reply;
        cr_assert(http_send(fds[i], "x", 1));
        cr_assert(http_receive(fds[i], true, &reply));
        cr_assert(reply.status == 503 || reply.status == 400);
        n_busy += reply.status == 503;
        http_reply_release(&reply);
        (void)close(fds[i]);
    }
    cr_assert_geq(n_busy, 3);
    cr_assert_eq(request("POST", reports_path, NULL, half, sizeof half), 400);
}

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Sends one byte every 50 ms until the connection dies; returns after how many seconds. */
static double drip(const char *request_text)
{
    const double started = seconds_now();
    const struct timespec pause = {.tv_nsec = 50000000};
    char ignored[256];
    const int fd = http_connect(server_url(server));
    cr_assert_geq(fd, 0);
    for (size_t i = 0; seconds_now() - started < 10; i++) {
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

Test(http, a_sender_of_one_byte_at_a_time_is_cut)
{
    char head[512];
    cr_assert_lt(drip("GET /healthz HTTP/1.1\r\nX-Slow: "), TIMEOUT_S + 2);
    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", reports_path);
    const int fd = http_connect(server_url(server));
    cr_assert(http_send(fd, head, strlen(head)));
    const double started = seconds_now();
    const struct timespec pause = {.tv_nsec = 50000000};
    char ignored;
    while (seconds_now() - started < 10 && http_send(fd, "x", 1) &&
           recv(fd, &ignored, 1, MSG_DONTWAIT) != 0) {
        (void)nanosleep(&pause, NULL);
    }
    cr_assert_lt(seconds_now() - started, TIMEOUT_S + 2);
    (void)close(fd);
    cr_assert_eq(get("/healthz"), 200);
}

Test(http, a_reader_that_does_not_read_is_cut)
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
    const int fd = http_connect(server_url(server));
    for (size_t i = 0; i < n_asked; i++) {
        cr_assert(http_send(fd, head, strlen(head)));
    }
    const struct timespec pause = {.tv_sec = TIMEOUT_S + 2};
    (void)nanosleep(&pause, NULL);
    size_t n_read = 0;
    for (ssize_t n = 1; n > 0; n_read += n > 0 ? (size_t)n : 0) {
        n = recv(fd, block, sizeof block, 0);
    }
    cr_assert_lt(n_read, n_promised);
    (void)close(fd);
}

Test(http, a_connection_serves_several_requests)
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

Test(http, garbage_never_stops_the_server)
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
    cr_assert_eq(get("/healthz"), 200);
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
    if (reply.status == 202 && dpot_wire_receipt_decode(reply.body.data, reply.body.len, NULL,
                                                        poster->statuses, N_SHARED) != DPOT_OK) {
        poster->status = -1;
    }
    http_reply_release(&reply);
    return NULL;
}

Test(http, the_same_batch_from_four_threads_is_accepted_exactly_once)
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

static void hold_commit(void *ctx, size_t n)
{
    const struct timespec pause = {.tv_nsec = 400000000};
    (void)n;
    *(volatile int *)ctx = 1;
    (void)nanosleep(&pause, NULL);
}

Test(http, a_running_request_is_finished_before_the_server_closes)
{
    static volatile int has_committed;
    struct poster poster;
    struct dpot_buf body = sealed(0, N_SHARED);
    const struct timespec pause = {.tv_nsec = 10000000};
    rig.ingest.on_committed = hold_commit;
    rig.ingest.ctx = (void *)&has_committed;
    poster.body = &body;
    cr_assert_eq(pthread_create(&poster.thread, NULL, post_shared, &poster), 0);
    while (!has_committed) {
        (void)nanosleep(&pause, NULL);
    }
    server_close(server, 5000);
    cr_assert_eq(pthread_join(poster.thread, NULL), 0);
    cr_assert_eq(poster.status, 202);
    start();
    dpot_buf_release(&body);
}

Test(http, a_closing_server_does_not_wait_for_idle_connections)
{
    const int idle = http_connect(server_url(server));
    const double started = seconds_now();
    server_close(server, 5000);
    cr_assert_lt(seconds_now() - started, 2);
    (void)close(idle);
    start();
}

Test(http, logs_hold_no_token_no_body_and_no_id)
{
    static char content[100000];
    struct dpot_buf body = sealed(0, 2);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    cr_assert_eq(request("GET", "/v1/admin/campaigns", TOKEN, "", 0), 200);
    cr_assert_eq(request("GET", "/v1/admin/campaigns", "wrong-secret", "", 0), 403);
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, "{\"private\":1}", 13), 400);
    cr_assert_not_null(strstr(text, "private"));
    dpot_buf_release(&body);
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
