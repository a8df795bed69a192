/* libcurl against servers that never end: an exchange lasts its time-out at most. The servers would
 * go on for minutes; the bound of the tests is wide, so that a slow machine does not fail them. */
#include "base/alloc.h"
#include "base/clock.h"
#include "unit/client/raw_server.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS 300
#define FAR_TOO_LONG_MS 20000
#define BODY_LEN ((size_t)8 << 20)

static struct http_server http;
static struct dpot_transport *transport;
static size_t n_received;

static void set_up(void)
{
    cr_assert_eq(dpot_transport_curl_new(NULL, &transport), DPOT_OK);
}

static void tear_down(void)
{
    dpot_transport_curl_free(transport);
}

TestSuite(curl_bounds, .init = set_up, .fini = tear_down);

static dpot_status take(void *sink, const void *data, size_t len)
{
    (void)sink;
    (void)data;
    n_received += len;
    return DPOT_OK;
}

static dpot_status exchange(const char *method, const void *body, size_t len, uint32_t timeout_ms,
                            struct dpot_http_response *response)
{
    const struct dpot_http_request request = {.struct_size = sizeof request,
                                              .method = method,
                                              .url = http.url,
                                              .content_type = "application/x-protobuf",
                                              .body = body,
                                              .body_len = len,
                                              .timeout_ms = timeout_ms,
                                              .body_max = 65536,
                                              .on_body = take};
    *response = (struct dpot_http_response){.struct_size = sizeof *response};
    n_received = 0;
    return transport->perform(transport->ctx, &request, response);
}

static void assert_ends_within(uint32_t timeout_ms, void (*serve)(int connection),
                               const char *method, const void *body, size_t len,
                               dpot_status expected)
{
    struct dpot_http_response response;
    raw_server_start(&http, serve);
    const int64_t start_ms = dpot_clock_monotonic_ms();
    const dpot_status status = exchange(method, body, len, timeout_ms, &response);
    const int64_t took_ms = dpot_clock_monotonic_ms() - start_ms;
    raw_server_stop(&http);
    cr_assert_eq(status, expected, "%s", dpot_status_name(status));
    cr_assert_lt(took_ms, FAR_TOO_LONG_MS);
}

static void assert_ends(void (*serve)(int connection), const char *method, const void *body,
                        size_t len, dpot_status expected)
{
    assert_ends_within(TIMEOUT_MS, serve, method, body, len, expected);
}

/* ---- servers ---- */

static void never_answers(int connection)
{
    raw_read_head(connection);
    raw_rest_ms(120000);
}

static void never_reads(int connection)
{
    (void)connection;
    raw_rest_ms(120000);
}

static void drip(int connection, const char *piece, long every_ms)
{
    while (raw_say(connection, piece)) {
        raw_rest_ms(every_ms);
    }
}

static void drips_its_head(int connection)
{
    raw_read_head(connection);
    (void)raw_say(connection, "HTTP/1.1 202 Accepted\r\nX-Long: ");
    drip(connection, "x", 20);
}

static void drips_its_status(int connection)
{
    raw_read_head(connection);
    drip(connection, "H", 100);
}

static void drips_its_body(int connection)
{
    raw_read_head(connection);
    (void)raw_say(connection, "HTTP/1.1 202 Accepted\r\nContent-Length: 60000\r\n\r\n");
    drip(connection, "x", 20);
}

static void drips_chunks(int connection)
{
    raw_read_head(connection);
    (void)raw_say(connection, "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n");
    drip(connection, "1\r\nx\r\n", 20);
}

static void continues_for_ever(int connection)
{
    raw_read_head(connection);
    drip(connection, "HTTP/1.1 100 Continue\r\n\r\n", 20);
}

static void sends_heads_without_end(int connection)
{
    raw_read_head(connection);
    (void)raw_say(connection, "HTTP/1.1 202 Accepted\r\n");
    drip(connection, "X-One-More: 0123456789012345678901234567890123456789\r\n", 0);
}

static void sends_a_body_without_end(int connection)
{
    raw_read_head(connection);
    (void)raw_say(connection, "HTTP/1.1 202 Accepted\r\n\r\n");
    drip(connection, "0123456789012345678901234567890123456789012345678901234567890123456789", 0);
}

static void talks_nonsense(int connection)
{
    raw_read_head(connection);
    (void)raw_say(connection, "\1\2\3 SSH-2.0 220 ready\r\n\r\n");
    raw_rest_ms(120000);
}

static void promises_more_than_it_sends(int connection)
{
    raw_read_head(connection);
    (void)raw_say(connection, "HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nabc");
}

/* Above libcurl's limits of a header, which it reports as a lack of memory. */
static void sends_a_header_without_end(int connection)
{
    static char piece[65536];
    memset(piece, 'x', sizeof piece - 1);
    raw_read_head(connection);
    (void)raw_say(connection, "HTTP/1.1 202 Accepted\r\nX-Long: ");
    drip(connection, piece, 0);
}

static void hangs_up(int connection)
{
    (void)connection;
}

Test(curl_bounds, a_server_that_never_answers_drips_or_goes_on_for_ever_ends_with_the_timeout)
{
    static void (*const servers[])(int) = {never_answers,  drips_its_head, drips_its_status,
                                           drips_its_body, drips_chunks,   continues_for_ever};
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        assert_ends(servers[i], "GET", NULL, 0, DPOT_ERR_NETWORK);
        assert_ends(servers[i], "POST", "hello", 5, DPOT_ERR_NETWORK);
    }
}

Test(curl_bounds, a_server_that_does_not_read_ends_with_the_timeout)
{
    char *body = dpot_alloc_array(NULL, BODY_LEN, 1);
    cr_assert_not_null(body);
    assert_ends(never_reads, "POST", body, BODY_LEN, DPOT_ERR_NETWORK);
    dpot_free_array(NULL, body, BODY_LEN, 1);
}

Test(curl_bounds, answers_without_end_that_are_cut_short_or_no_http_are_refused)
{
    assert_ends_within(FAR_TOO_LONG_MS, sends_a_body_without_end, "POST", "hello", 5,
                       DPOT_ERR_TOO_LARGE);
    cr_assert_leq(n_received, 65536);
    assert_ends_within(FAR_TOO_LONG_MS, sends_a_header_without_end, "POST", "hello", 5,
                       DPOT_ERR_NETWORK);
    assert_ends(sends_heads_without_end, "POST", "hello", 5, DPOT_ERR_NETWORK);
    assert_ends(talks_nonsense, "POST", "hello", 5, DPOT_ERR_NETWORK);
    assert_ends(promises_more_than_it_sends, "POST", "hello", 5, DPOT_ERR_NETWORK);
    assert_ends(hangs_up, "POST", "hello", 5, DPOT_ERR_NETWORK);
}

/* ---- Retry-After ---- */

static char retry_after[128];

static void asks_to_wait(int connection)
{
    char head[256];
    raw_read_head(connection);
    (void)snprintf(head, sizeof head,
                   "HTTP/1.1 503 Unavailable\r\nRetry-After:%s\r\nContent-Length: 0\r\n\r\n",
                   retry_after);
    (void)raw_say(connection, head);
    raw_hear_out(connection);
}

/* The transport's reading of the header's value. */
static uint32_t hear(const char *value)
{
    struct dpot_http_response response;
    (void)snprintf(retry_after, sizeof retry_after, "%s", value);
    raw_server_start(&http, asks_to_wait);
    const dpot_status status = exchange("POST", "hello", 5, FAR_TOO_LONG_MS, &response);
    raw_server_stop(&http);
    cr_assert_eq(status, DPOT_OK);
    cr_assert_eq(response.status, 503);
    return response.retry_after_s;
}

static const char *date_of(time_t when)
{
    static char text[64];
    struct tm parts;
    cr_assert_not_null(gmtime_r(&when, &parts));
    cr_assert_gt(strftime(text, sizeof text, " %a, %d %b %Y %H:%M:%S GMT", &parts), 0);
    return text;
}

Test(curl_bounds, retry_after_is_read_as_seconds_or_as_a_date_and_never_as_less_than_nothing)
{
    static const struct {
        const char *value;
        uint32_t expected;
    } rows[] = {{" 17", 17},  {"17", 17},      {" 0", 0},
                {"", 0},      {" -5", 0},      {" soon", 0},
                {" \1\2", 0}, {" 3600", 3600}, {" -99999999999999999999999", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(hear(rows[i].value), rows[i].expected, "\"%s\": %u", rows[i].value,
                     (unsigned)hear(rows[i].value));
    }
    const uint32_t later = hear(date_of(time(NULL) + 1000));
    cr_assert(later > 500 && later <= 1000, "%u", (unsigned)later);
    cr_assert_eq(hear(date_of(time(NULL) - 1000)), 0);
    cr_assert_eq(hear(date_of(0)), 0);
    /* Some versions of libcurl limit absurd values to hours, and ignore those above 64 bits. */
    cr_assert_gt(hear(" 4294967296"), 3600);
    cr_assert_gt(hear(" Fri, 31 Dec 2200 23:59:59 GMT"), 3600);
    (void)hear(" 99999999999999999999999");
    cr_assert_eq(hear(" Fri, 99 Foo 2200 99:99:99 GMT"), 0);
}
