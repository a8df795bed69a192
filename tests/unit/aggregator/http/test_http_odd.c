/* Requests that no device sends: each has one answer, and the next one is served. */
#include "unit/aggregator/http/rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(http_odd, .init = http_set_up, .fini = http_tear_down);

/* Sends the text and returns the status of the first answer, 0 without one. */
static int ask(const char *request_text)
{
    struct http_reply reply;
    const int fd = http_connect(server_url(server));
    cr_assert_geq(fd, 0);
    (void)http_send(fd, request_text, strlen(request_text));
    (void)http_receive(fd, strncmp(request_text, "HEAD", 4) != 0, &reply);
    http_reply_release(&reply);
    (void)close(fd);
    return reply.status;
}

/* ask() with a POST of reports with these headers and this body. */
static int post(const char *headers, const char *body)
{
    char message[4096];
    (void)snprintf(message, sizeof message, "POST %s HTTP/1.1\r\nHost: x\r\n%s\r\n%s", reports_path,
                   headers, body);
    return ask(message);
}

Test(http_odd, an_encoded_body_is_415_and_nothing_is_decompressed)
{
    cr_assert_eq(post("Content-Encoding: gzip\r\nContent-Length: 4\r\n", "abcd"), 415);
    cr_assert_eq(post("Content-Encoding: identity, gzip\r\nContent-Length: 4\r\n", "abcd"), 415);
    cr_assert_eq(post("Content-Encoding: identity\r\nContent-Length: 4\r\n", "abcd"), 400,
                 "as it is: no batch");
}

Test(http_odd, a_transfer_encoding_that_is_not_known_is_400)
{
    cr_assert_eq(post("Transfer-Encoding: gzip, chunked\r\n", "4\r\nabcd\r\n0\r\n\r\n"), 400);
    cr_assert_eq(post("Transfer-Encoding: xchunked\r\n", "4\r\nabcd\r\n0\r\n\r\n"), 400);
    cr_assert_eq(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
                 400);
}

Test(http_odd, a_header_that_decides_is_there_once_or_refused)
{
    cr_assert_eq(post("Content-Length: 4\r\nContent-Length: 4\r\n", "abcd"), 400);
    cr_assert_eq(ask("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
    cr_assert_eq(ask("GET /v1/admin/campaigns HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                     "wrong\r\nAuthorization: Bearer " TOKEN "\r\n\r\n"),
                 400);
    cr_assert_eq(ask("GET /v1/admin/campaigns HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " TOKEN
                     "\r\nAuthorization: Bearer wrong\r\n\r\n"),
                 400);
    cr_assert_eq(ask("GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nX-A: 2\r\n\r\n"), 200,
                 "others may be there twice");
}

/* The member "batch" of the answer must be the hash of these bytes. */
static void expect_batch(int status, const void *body, size_t len)
{
    uint8_t digest[DPOT_HASH_LEN];
    char member[2 * DPOT_HASH_LEN + 16], hex[2 * DPOT_HASH_LEN + 1];
    dpot_wire_batch_digest(body, len, digest);
    dpot_hex_encode(hex, digest, sizeof digest);
    (void)snprintf(member, sizeof member, ",\"batch\":\"%s\"", hex);
    cr_assert_eq(request("POST", reports_path, NULL, body, len), status, "%s", text);
    cr_assert_not_null(strstr(text, member), "%s", text);
}

Test(http_odd, a_refusal_of_a_batch_names_the_body_that_came)
{
    struct dpot_buf body = sealed(0, 3);
    expect_batch(400, "", 0);
    expect_batch(400, "DPB1", 4);
    expect_batch(400, body.data, body.len - 1);
    body.data[40] ^= 1;
    expect_batch(400, body.data, body.len);
    body.data[40] ^= 1;
    body.data[5] ^= 1;
    expect_batch(410, body.data, body.len);
    body.data[5] ^= 1;
    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/close"), TOKEN, "", 0),
                 200);
    expect_batch(409, body.data, body.len);
    cr_assert_not_null(strstr(text, "\"closed\":\"revision\"}"), "%s", text);
    dpot_buf_release(&body);
}

Test(http_odd, a_round_that_is_over_by_our_clock_says_so_and_what_it_shows)
{
    struct dpot_buf body = sealed(0, 3);
    rig.clock.now_ms += INT64_C(86400000) * 400;
    rig.secret.key.not_after_ms = INT64_MAX;
    expect_batch(409, body.data, body.len);
    cr_assert_not_null(
        strstr(text, "\"closed\":\"round\",\"server_time\":\"2027-07-06T00:00:00Z\"}"), "%s", text);
    dpot_buf_release(&body);
}

Test(http_odd, a_refusal_of_the_head_names_no_batch)
{
    char head[512];
    struct http_reply reply;
    const int fd = http_connect(server_url(server));
    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 0\r\n\r\n",
                   reports_path);
    cr_assert(http_send(fd, head, strlen(head)));
    cr_assert(http_receive(fd, true, &reply));
    cr_assert_eq(reply.status, 400);
    cr_assert_geq(reply.body.len, 11);
    cr_assert_eq(memcmp(reply.body.data + reply.body.len - 11, "\"batch\":\"\"}", 11), 0);
    http_reply_release(&reply);
    (void)close(fd);
}

/* Whatever the lines and trailers of the chunks are like, and whatever hides behind them. */
Test(http_odd, a_body_in_chunks_is_411_and_ends_the_connection)
{
    static const char *const bodies[] = {"4\r\nabcd\r\n0\r\n\r\n",
                                         "4\nabcd\n0\n\n",
                                         "4;a\n\r\nabcd\r\n0\r\n\r\n",
                                         "4\r\nabcd\r\n0\r\n X: a\r\n: b\r\n\r\n",
                                         "-1\r\n",
                                         "fffffffffffffffff\r\n",
                                         "0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"};
    static const char *const paths[] = {"/v1/admin/campaigns", "/healthz", "/v1/keys"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        cr_assert_eq(post("Transfer-Encoding: chunked\r\n", bodies[i]), 411, "%zu", i);
    }
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char message[512];
        (void)snprintf(message, sizeof message,
                       "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n%s",
                       paths[i], bodies[0]);
        cr_assert_eq(ask(message), 411, "%s", paths[i]);
    }
    cr_assert_eq(rig_count(&rig).n_accepted, 0);
}

Test(http_odd, pipelined_requests_are_answered_in_order_and_stored_once)
{
    char head[POST_HEAD_SIZE];
    struct http_reply reply;
    struct dpot_buf body = sealed(0, 2), all;
    static const char health[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    static const char nowhere[] = "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n";
    static const int expected[] = {200, 202, 404, 202, 200};
    const size_t len = post_head(head, body.len);
    dpot_buf_init(&all, 1 << 20, NULL);
    for (size_t i = 0; i < 5; i++) {
        const bool is_post = expected[i] == 202;
        const char *text_of = is_post ? head : expected[i] == 200 ? health : nowhere;
        cr_assert_eq(dpot_buf_append(&all, text_of, is_post ? len : strlen(text_of)), DPOT_OK);
        cr_assert(!is_post || dpot_buf_append(&all, body.data, body.len) == DPOT_OK);
    }
    const int fd = http_connect(server_url(server));
    cr_assert(http_send(fd, all.data, all.len));
    for (size_t i = 0; i < 5; i++) {
        cr_assert(http_receive(fd, true, &reply));
        cr_assert_eq(reply.status, expected[i], "answer %zu: %d", i, reply.status);
        http_reply_release(&reply);
    }
    (void)close(fd);
    dpot_buf_release(&all);
    dpot_buf_release(&body);
    cr_assert_eq(rig_count(&rig).n_accepted, 2);
    cr_assert_eq(rig_count(&rig).n_duplicate, 2);
}

Test(http_odd, a_body_shorter_than_announced_is_no_batch)
{
    char head[POST_HEAD_SIZE];
    struct dpot_buf body = sealed(0, 2);
    const size_t len = post_head(head, body.len);
    http_use_short_timeout();
    const int fd = http_connect(server_url(server));
    (void)http_send(fd, head, len); /* it may be disconnected already */
    (void)http_send(fd, body.data, body.len - 1);
    (void)shutdown(fd, SHUT_WR);
    char ignored[512];
    while (recv(fd, ignored, sizeof ignored, 0) > 0) {
    }
    (void)close(fd);
    dpot_buf_release(&body);
    cr_assert_eq(rig_count(&rig).n_accepted, 0);
    http_expect_health();
}

/* What follows a body is another request, not a part of it. */
Test(http_odd, a_body_longer_than_announced_ends_where_it_was_announced)
{
    char head[POST_HEAD_SIZE];
    struct http_reply reply;
    struct dpot_buf body = sealed(0, 2);
    const size_t len = post_head(head, body.len);
    const int fd = http_connect(server_url(server));
    cr_assert(http_send(fd, head, len));
    cr_assert(http_send(fd, body.data, body.len));
    cr_assert(http_send(fd, "surplus\r\n\r\n", 11));
    cr_assert(http_receive(fd, true, &reply));
    cr_assert_eq(reply.status, 202);
    http_reply_release(&reply);
    (void)http_receive(fd, true, &reply);
    cr_assert(reply.status == 0 || reply.status == 400);
    http_reply_release(&reply);
    (void)close(fd);
    dpot_buf_release(&body);
    cr_assert_eq(rig_count(&rig).n_accepted, 2);
}

Test(http_odd, a_length_that_is_no_number_is_refused)
{
    static const char *const lengths[] = {
        "-1", "0x4", "4, 4", "+4", "4 4", "1e3", "18446744073709551616"};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char headers[128];
        (void)snprintf(headers, sizeof headers, "Content-Length: %s\r\n", lengths[i]);
        const int status = post(headers, "abcd");
        cr_assert(status == 400 || status == 413, "%s: %d", lengths[i], status);
    }
}

Test(http_odd, http_1_0_is_answered_and_the_connection_ends)
{
    struct http_reply reply;
    char after;
    static const char head[] = "GET /healthz HTTP/1.0\r\n\r\n";
    const int fd = http_connect(server_url(server));
    cr_assert(http_send(fd, head, sizeof head - 1));
    cr_assert(http_receive(fd, true, &reply));
    cr_assert_eq(reply.status, 200);
    http_reply_release(&reply);
    cr_assert_eq(recv(fd, &after, 1, 0), 0, "it must end");
    (void)close(fd);
}

Test(http_odd, no_other_method_does_anything)
{
    static const char *const methods[] = {"PUT",     "DELETE", "TRACE",    "OPTIONS",
                                          "CONNECT", "PATCH",  "PROPFIND", "get"};
    static const char *const paths[] = {"/healthz", "/v1/keys", "/v1/admin/campaigns"};
    char message[256];
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
        for (size_t p = 0; p < 3; p++) {
            (void)snprintf(message, sizeof message, "%s %s HTTP/1.1\r\nHost: x\r\n\r\n", methods[m],
                           paths[p]);
            const int status = ask(message);
            cr_assert(status == 405 || status == 400, "%s %s: %d", methods[m], paths[p], status);
        }
        cr_assert_eq(request(methods[m], reports_path, NULL, "abcd", 4), 405);
    }
    cr_assert_eq(request("HEAD", reports_path, NULL, "", 0), 405);
    cr_assert_eq(rig_count(&rig).n_accepted, 0);
}

/* An answer to TRACE would send the token back. */
Test(http_odd, a_trace_returns_nothing_of_the_request)
{
    struct http_reply reply;
    static const char head[] =
        "TRACE /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " TOKEN "\r\n\r\n";
    const int fd = http_connect(server_url(server));
    cr_assert(http_send(fd, head, sizeof head - 1));
    cr_assert(http_receive(fd, true, &reply));
    cr_assert_eq(dpot_buf_append(&reply.body, "", 1), DPOT_OK);
    cr_assert_null(strstr((const char *)reply.body.data, TOKEN));
    cr_assert_null(strstr(reply.head, TOKEN));
    http_reply_release(&reply);
    (void)close(fd);
}

Test(http_odd, absurd_paths_are_404_or_400)
{
    static const char *const paths[] = {
        "/../../etc/passwd", "//healthz",      "/healthz/",  "/healthz;x=1",
        "/healthz#f",        "/%2e%2e/",       "*",          "http://other/nowhere",
        "/HEALTHZ",          "/v1//campaigns", "/v1/keys\t", "healthz"};
    char message[512];
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        (void)snprintf(message, sizeof message, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", paths[i]);
        const int status = ask(message);
        cr_assert(status == 404 || status == 400, "%s: %d", paths[i], status);
    }
    cr_assert_eq(get("/healthz"), 200);
}

/* RFC 9112, 3.2.2: a server must accept it; the host that it names is not compared. */
Test(http_odd, an_address_in_absolute_form_is_the_path_in_it)
{
    static const struct {
        const char *line;
        int status;
    } rows[] = {
        {"GET http://x/healthz", 200},
        {"GET HTTP://other.example:80/healthz", 200},
        {"GET https://[::1]:8443/v1/keys?a=b", 200},
        {"HEAD http://x/healthz", 200},
        {"GET http://x/v1/admin/campaigns", 401},
        {"POST http://x/healthz", 405},
        {"GET http://x", 404},
        {"GET http://x/", 404},
        {"GET http://x?healthz", 404},
        {"GET http://x//healthz", 404},
        {"GET http://x/http://x/healthz", 404},
        {"GET http:///healthz", 400},
        {"GET http://", 400},
        {"GET http://user:word@x/healthz", 400},
        {"GET ftp://x/healthz", 404},
        {"OPTIONS *", 405},
        {"OPTIONS http://x/healthz", 405},
        {"CONNECT x:443", 404},
    };
    char message[256];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(message, sizeof message, "%s HTTP/1.1\r\nHost: x\r\n\r\n", rows[i].line);
        const int status = ask(message);
        cr_assert_eq(status, rows[i].status, "%s: %d", rows[i].line, status);
    }
    cr_assert_eq(ask("GET http://x/healthz HTTP/1.1\r\n\r\n"), 400, "Host is needed all the same");
}

/* `n` bytes of `fill` between two texts. */
static int ask_long(const char *before, char fill, size_t n, const char *after)
{
    static char message[1 << 20];
    cr_assert_lt(strlen(before) + n + strlen(after), sizeof message);
    memcpy(message, before, strlen(before));
    memset(message + strlen(before), fill, n);
    (void)snprintf(message + strlen(before) + n, sizeof message - strlen(before) - n, "%s", after);
    return ask(message);
}

/* 0: the server closed while the peer was sending. */
Test(http_odd, huge_addresses_queries_and_heads_are_refused_unread)
{
    static const char end[] = " HTTP/1.1\r\nHost: x\r\n\r\n";
    static const size_t lengths[] = {40000, 900000};
    for (size_t i = 0; i < 2; i++) {
        int status = ask_long("GET /", 'a', lengths[i], end);
        cr_assert(status == 414 || status == 431 || status == 0, "path: %d", status);
        status = ask_long("GET /healthz?", 'q', lengths[i], end);
        cr_assert(status == 414 || status == 431 || status == 0, "query: %d", status);
        status = ask_long("GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ", 'v', lengths[i], "\r\n\r\n");
        cr_assert(status == 431 || status == 413 || status == 0, "header: %d", status);
    }
    cr_assert_eq(ask_long("GET /healthz?", 'q', 4000, end), 200, "a public path ignores its query");
    cr_assert_eq(get("/healthz"), 200);
}

Test(http_odd, ten_thousand_parameters_or_headers_take_no_more_than_a_head_may)
{
    static char message[200000];
    size_t len = (size_t)snprintf(message, sizeof message, "GET /healthz?");
    for (int i = 0; i < 10000; i++) {
        len += (size_t)snprintf(message + len, sizeof message - len, "a=%d&", i % 10);
    }
    (void)snprintf(message + len, sizeof message - len, " HTTP/1.1\r\nHost: x\r\n\r\n");
    int status = ask(message);
    cr_assert(status == 414 || status == 431 || status == 0, "%d", status);
    len = (size_t)snprintf(message, sizeof message, "GET /healthz HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 10000; i++) {
        len += (size_t)snprintf(message + len, sizeof message - len, "X: %d\r\n", i % 10);
    }
    (void)snprintf(message + len, sizeof message - len, "\r\n");
    status = ask(message);
    cr_assert(status == 431 || status == 413 || status == 0, "%d", status);
    cr_assert_eq(get("/healthz"), 200);
}

static uint64_t count_answers(void)
{
    struct server_traffic traffic;
    uint64_t n = 0;
    server_get_traffic(server, &traffic);
    for (size_t i = 0; i < SERVER_CLASSES; i++) {
        n += traffic.n_answers[i];
    }
    return n;
}

/* Also the library's own. */
Test(http_odd, every_answer_is_counted_once_whoever_gives_it)
{
    static const struct {
        const char *text;
        int status;
    } requests[] = {
        {"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 200},
        {"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", 404},
        {"GET /healthz HTTP/1.1\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: four\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 413},
        {"GET /healthz HTTP/3.7\r\nHost: x\r\n\r\n", 505},
        {"GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n", 505},
        {"GET /healthz NOISE\r\nHost: x\r\n\r\n", 400},
        {"GET /healthz\r\n\r\n", 400},
        {"noise noise noise noise\r\n\r\n", 400},
    };
    uint64_t n = count_answers();
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        const int status = ask(requests[i].text);
        cr_assert_eq(status, requests[i].status, "%s: %d", requests[i].text, status);
        cr_assert_eq(count_answers(), ++n, "%s", requests[i].text);
    }
}

/* The peer may lose the answer because of unread bytes, but it is counted. */
Test(http_odd, a_head_that_is_too_long_is_counted_once)
{
    static const char end[] = " HTTP/1.1\r\nHost: x\r\n\r\n";
    const uint64_t n = count_answers();
    (void)ask_long("GET /", 'a', 40000, end);
    cr_assert_eq(count_answers(), n + 1);
    (void)ask_long("GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ", 'v', 40000, "\r\n\r\n");
    cr_assert_eq(count_answers(), n + 2);
}
