#include "base/buf.h"
#include "unit/client/http_server.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LONG_MS 60000 /* no exchange that ends takes that long, on whatever machine */

/* The server's answer, by path. */
static void server(void *ctx, const struct dpot_http_request *request, struct test_answer *answer)
{
    (void)ctx;
    answer->status = 200;
    if (strcmp(request->url, "/echo") == 0) {
        answer->body_len =
            (size_t)snprintf((char *)answer->body, sizeof answer->body, "%s|%s|%s|%.*s",
                             request->method, request->content_type, request->authorization,
                             (int)request->body_len, (const char *)request->body);
    } else if (strcmp(request->url, "/big") == 0) {
        memset(answer->body, 'x', 50000);
        answer->body_len = 50000;
    } else if (strcmp(request->url, "/busy") == 0) {
        answer->status = 503;
        answer->retry_after_s = 17;
    } else if (strcmp(request->url, "/very-busy") == 0) {
        answer->status = 503; /* the server writes what is here as the lines of the head */
        answer->content_type = "text/plain\r\nRetry-After: 99999999999999999999999";
    } else if (strcmp(request->url, "/page") == 0) {
        answer->status = 409;
        answer->content_type = "text/html; charset=utf-8; and much more than there is any room for";
        answer->body_len = 6;
        memcpy(answer->body, "<html>", 6);
    } else if (strcmp(request->url, "/moved") == 0) {
        answer->status = 307;
    } else if (strcmp(request->url, "/hangup") == 0) {
        answer->status = -1;
    } else if (strcmp(request->url, "/slow") == 0) {
        (void)sleep(120);
    } else {
        answer->status = 404;
    }
}

static struct http_server http;
static struct dpot_transport *transport;
static struct dpot_buf body;

static void set_up(void)
{
    http_server_start(&http, server, NULL);
    cr_assert_eq(dpot_transport_curl_new(NULL, &transport), DPOT_OK);
    dpot_buf_init(&body, 100000, NULL);
}

static void tear_down(void)
{
    dpot_transport_curl_free(transport);
    dpot_transport_curl_free(NULL);
    dpot_buf_release(&body);
    http_server_stop(&http);
}

TestSuite(curl, .init = set_up, .fini = tear_down);

static dpot_status take(void *sink, const void *data, size_t len)
{
    return dpot_buf_append(sink, data, len);
}

static dpot_status get_within(uint32_t timeout_ms, const char *path,
                              struct dpot_http_response *response)
{
    char url[256];
    (void)snprintf(url, sizeof url, "%s%s", http.url, path);
    const struct dpot_http_request request = {.struct_size = sizeof request,
                                              .method = "GET",
                                              .url = url,
                                              .timeout_ms = timeout_ms,
                                              .body_max = 60000,
                                              .on_body = take,
                                              .sink = &body};
    *response = (struct dpot_http_response){.struct_size = sizeof *response};
    dpot_buf_reset(&body);
    return transport->perform(transport->ctx, &request, response);
}

static dpot_status get(const char *path, struct dpot_http_response *response)
{
    return get_within(LONG_MS, path, response);
}

Test(curl, a_post_carries_body_and_headers_and_the_next_get_carries_none)
{
    char url[256];
    struct dpot_http_response response = {.struct_size = sizeof response};
    (void)snprintf(url, sizeof url, "%s/echo", http.url);
    const struct dpot_http_request request = {.struct_size = sizeof request,
                                              .method = "POST",
                                              .url = url,
                                              .content_type = "application/x-protobuf",
                                              .authorization = "Bearer x",
                                              .body = "hello",
                                              .body_len = 5,
                                              .timeout_ms = LONG_MS,
                                              .body_max = 1000,
                                              .on_body = take,
                                              .sink = &body};
    cr_assert_eq(transport->perform(transport->ctx, &request, &response), DPOT_OK);
    cr_assert_eq(response.status, 200);
    cr_assert_eq(dpot_buf_append(&body, "", 1), DPOT_OK);
    cr_assert_str_eq((char *)body.data, "POST|application/x-protobuf|Bearer x|hello");
    cr_assert_eq(get("/echo", &response), DPOT_OK);
    cr_assert_eq(dpot_buf_append(&body, "", 1), DPOT_OK);
    cr_assert_str_eq((char *)body.data, "GET|||");
}

Test(curl, any_http_status_is_an_answer)
{
    struct dpot_http_response response;
    cr_assert_eq(get("/nowhere", &response), DPOT_OK);
    cr_assert_eq(response.status, 404);
    cr_assert_eq(response.retry_after_s, 0);
    cr_assert_eq(get("/busy", &response), DPOT_OK);
    cr_assert_eq(response.status, 503);
    cr_assert_eq(response.retry_after_s, 17);
    cr_assert_eq(get("/very-busy", &response), DPOT_OK);
    cr_assert_eq(response.retry_after_s, UINT32_MAX);
}

Test(curl, a_redirect_is_not_followed)
{
    struct dpot_http_response response;
    cr_assert_eq(get("/moved", &response), DPOT_OK);
    cr_assert_eq(response.status, 307);
}

Test(curl, a_body_above_the_bound_is_refused)
{
    struct dpot_http_response response = {.struct_size = sizeof response};
    char url[256];
    (void)snprintf(url, sizeof url, "%s/big", http.url);
    struct dpot_http_request request = {.struct_size = sizeof request,
                                        .method = "GET",
                                        .url = url,
                                        .timeout_ms = LONG_MS,
                                        .body_max = 49999,
                                        .on_body = take,
                                        .sink = &body};
    cr_assert_eq(transport->perform(transport->ctx, &request, &response), DPOT_ERR_TOO_LARGE);
    request.body_max = 50000;
    dpot_buf_reset(&body);
    cr_assert_eq(transport->perform(transport->ctx, &request, &response), DPOT_OK);
    cr_assert_eq(body.len, 50000);
}

Test(curl, a_sink_that_refuses_ends_the_exchange_with_its_status)
{
    struct dpot_http_response response;
    dpot_buf_release(&body);
    dpot_buf_init(&body, 10, NULL);
    cr_assert_eq(get("/big", &response), DPOT_ERR_TOO_LARGE);
}

Test(curl, a_connection_that_breaks_hangs_or_is_refused_is_a_network_error)
{
    struct dpot_http_response response;
    cr_assert_eq(get("/hangup", &response), DPOT_ERR_NETWORK);
    cr_assert_eq(get_within(1000, "/slow", &response), DPOT_ERR_NETWORK);
    memcpy(http.url, "http://127.0.0.1:1", 19);
    cr_assert_eq(get("/", &response), DPOT_ERR_NETWORK);
}

Test(curl, other_protocols_are_refused)
{
    struct dpot_http_response response;
    memcpy(http.url, "file:///etc", 12);
    cr_assert_eq(get("/hostname", &response), DPOT_ERR_NETWORK);
    cr_assert_eq(body.len, 0);
}

Test(curl, two_transports_and_their_ends_do_not_disturb_each_other)
{
    struct dpot_transport *other = NULL;
    struct dpot_http_response response;
    cr_assert_eq(dpot_transport_curl_new("/nonexistent.pem", &other), DPOT_OK);
    dpot_transport_curl_free(other);
    cr_assert_eq(get("/echo", &response), DPOT_OK);
}

Test(curl, the_content_type_is_cut_to_fit)
{
    struct dpot_http_response response;
    cr_assert_eq(get("/page", &response), DPOT_OK);
    cr_assert_eq(response.status, 409);
    cr_assert_eq(strncmp(response.content_type, "text/html; charset=utf-8", 24), 0);
    cr_assert_eq(strlen(response.content_type), sizeof response.content_type - 1);
    cr_assert_eq(get("/echo", &response), DPOT_OK);
    cr_assert_str_eq(response.content_type, "");
}

/* An older caller has a shorter struct: nothing is written behind it. */
Test(curl, a_response_without_room_for_the_type_gets_none)
{
    char url[256];
    struct dpot_http_response response;
    memset(&response, 0x5a, sizeof response);
    response.struct_size = offsetof(struct dpot_http_response, content_type);
    (void)snprintf(url, sizeof url, "%s/page", http.url);
    const struct dpot_http_request request = {.struct_size = sizeof request,
                                              .method = "GET",
                                              .url = url,
                                              .timeout_ms = LONG_MS,
                                              .body_max = 60000};
    cr_assert_eq(transport->perform(transport->ctx, &request, &response), DPOT_OK);
    cr_assert_eq(response.status, 409);
    for (size_t i = 0; i < sizeof response.content_type; i++) {
        cr_assert_eq(response.content_type[i], 0x5a);
    }
}

/* An invalid file of certificates fails before anything is sent. */
Test(curl, the_reason_of_a_failure_is_given_where_a_person_can_fix_it)
{
    struct dpot_http_response response;
    struct dpot_transport *first = transport;
    memmove(http.url + 5, http.url + 4, strlen(http.url) - 3); /* https://... */
    http.url[4] = 's';
    cr_assert_eq(dpot_transport_curl_new("/nonexistent.pem", &transport), DPOT_OK);
    cr_assert_eq(get("/echo", &response), DPOT_ERR_NETWORK);
    cr_assert_not_null(strstr(response.reason, "--ca-file"), "%s", response.reason);
    dpot_transport_curl_free(transport);
    transport = first;
    memcpy(http.url, "http://127.0.0.1:1", 19);
    cr_assert_eq(get("/", &response), DPOT_ERR_NETWORK);
    cr_assert_not_null(strstr(response.reason, "nothing accepts"), "%s", response.reason);
}

/* An older caller has no room for it. */
Test(curl, a_response_without_room_for_a_reason_gets_none)
{
    char url[256];
    struct dpot_http_response response;
    struct dpot_transport *other = NULL;
    memset(&response, 0x5a, sizeof response);
    response.struct_size = offsetof(struct dpot_http_response, reason);
    (void)snprintf(url, sizeof url, "https%.50s/echo", http.url + strlen("http"));
    const struct dpot_http_request request = {.struct_size = sizeof request,
                                              .method = "GET",
                                              .url = url,
                                              .timeout_ms = LONG_MS,
                                              .body_max = 60000};
    cr_assert_eq(dpot_transport_curl_new("/nonexistent.pem", &other), DPOT_OK);
    cr_assert_eq(other->perform(other->ctx, &request, &response), DPOT_ERR_NETWORK);
    dpot_transport_curl_free(other);
    for (size_t i = 0; i < sizeof response.reason; i++) {
        cr_assert_eq(response.reason[i], 0x5a);
    }
}

static int is_asked_twice(void *canceller)
{
    size_t *n_asked = canceller;
    return ++*n_asked >= 2;
}

Test(curl, an_exchange_ends_when_it_is_cancelled)
{
    char url[256];
    size_t n_asked = 0;
    struct dpot_http_response response = {.struct_size = sizeof response};
    (void)snprintf(url, sizeof url, "%s/slow", http.url);
    const struct dpot_http_request request = {.struct_size = sizeof request,
                                              .method = "GET",
                                              .url = url,
                                              .timeout_ms = LONG_MS,
                                              .is_cancelled = is_asked_twice,
                                              .canceller = &n_asked};
    cr_assert_eq(transport->perform(transport->ctx, &request, &response), DPOT_ERR_NETWORK);
    cr_assert_eq(n_asked, 2);
    cr_assert_str_eq(response.reason, "cancelled");
}
