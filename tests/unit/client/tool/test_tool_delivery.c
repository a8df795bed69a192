/* dpot-device against failing servers: it ends in time, keeps its reports and prints the counts. */
#include "base/clock.h"
#include "unit/client/raw_server.h"
#include "unit/client/tool/tool.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FAR_TOO_LONG_MS 25000

TestSuite(tool_delivery, .init = tool_set_up, .fini = tool_tear_down);

static void assert_counts(double submitted, double pending)
{
    static const char *const names[] = {
        "accepted",          "duplicate",         "rejected_malformed",
        "rejected_range",    "rejected_group",    "rejected_test",
        "rejected_token",    "rejected_closed",   "dropped_closed",
        "dropped_age",       "dropped_malformed", "dropped_lost",
        "dropped_withdrawn", "dropped_spool",     "pending"};
    double sum = 0;
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0, "%s", err);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sum += json_number_of(names[i]);
    }
    cr_assert_eq(json_number_of("submitted"), submitted);
    cr_assert_eq(json_number_of("pending"), pending);
    cr_assert_eq(sum, submitted);
}

static void never_answers(int connection)
{
    raw_read_head(connection);
    raw_rest_ms(120000);
}

static void drips(int connection)
{
    raw_read_head(connection);
    (void)raw_say(connection, "HTTP/1.1 202 Accepted\r\nContent-Length: 60000\r\n\r\n");
    while (raw_say(connection, "\n")) {
        raw_rest_ms(1000);
    }
}

/* Moves the folder to another server, with older settings, which have no checksum. */
static void move_to(const char *url)
{
    write_settings_of_before(url, "");
}

static void flush_against(void (*serve)(int connection))
{
    struct http_server silent;
    report_once();
    raw_server_start(&silent, serve);
    move_to(silent.url);
    const int64_t start_ms = dpot_clock_monotonic_ms();
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--wait-seconds", "6", "--json"), 6, "%s%s", out,
                 err);
    const int64_t took_ms = dpot_clock_monotonic_ms() - start_ms;
    raw_server_stop(&silent);
    cr_assert_lt(took_ms, FAR_TOO_LONG_MS);
    assert_json_text("outcome", "failed");
    assert_json_text("status", "DPOT_ERR_NETWORK");
    cr_assert_null(strstr(err, "could not be reached"), "it was: %s", err);
    cr_assert_not_null(strstr(err, "came in time"), "%s", err);
    cr_assert_not_null(strstr(err, "it counts once"), "%s", err);
    assert_counts(1, 1);
}

Test(tool_delivery, a_server_that_never_answers_holds_a_flush_no_longer_than_it_was_told)
{
    flush_against(never_answers);
}

Test(tool_delivery, nor_does_one_that_sends_a_byte_a_second)
{
    flush_against(drips);
}

Test(tool_delivery, a_full_queue_says_what_it_dropped_and_counts_it)
{
    report_once();
    authority.campaign.revision = 2;
    authority_sign(&authority);
    http_server_stop(&http);
    start_serving();
    cr_assert_eq(RUN(NULL, "enroll", "--server", http.url, "--campaign", campaign, "--pin", pin,
                     "--dir", dir, "--campaign-cap", "4", "--window-cap", "4", "--window-seconds",
                     "86400", "--lifetime-cap", "20", "--max-spool", "2400"),
                 0, "%s", err);
    cr_assert_eq(RUN("3\n", "report", "--dir", dir, "--points", "-"), 0, "%s", err);
    cr_assert_not_null(strstr(err, "--max-spool 2400"), "%s", err);
    cr_assert_not_null(strstr(err, "dropped: 1"), "%s", err);
    assert_counts(2, 1);
    cr_assert_eq(json_number_of("dropped_spool"), 1);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0);
    cr_assert_not_null(strstr(out, "reports dropped_spool: 1"), "%s", out);
}

Test(tool_delivery, a_cap_that_is_no_number_of_bytes_is_refused)
{
    static const char *const values[] = {"-1", "1k", "1e6", "", "9999999999999999999"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        cr_assert_eq(RUN(NULL, "enroll", "--server", http.url, "--campaign", campaign, "--pin", pin,
                         "--dir", dir, "--campaign-cap", "4", "--window-cap", "4",
                         "--window-seconds", "86400", "--lifetime-cap", "20", "--max-spool",
                         values[i]),
                     2, "%s", values[i]);
        cr_assert_not_null(strstr(err, "--max-spool"), "%s", err);
    }
}

static void asks_for_an_hour(int connection)
{
    raw_read_head(connection);
    (void)raw_say(connection,
                  "HTTP/1.1 503 Unavailable\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n");
    raw_hear_out(connection);
}

Test(tool_delivery, what_the_server_asks_for_is_waited_for_by_the_next_flush_too)
{
    struct http_server busy;
    char path[128];
    report_once();
    raw_server_start(&busy, asks_for_an_hour);
    move_to(busy.url);
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--wait-seconds", "60", "--quiet"), 6, "%s", err);
    raw_server_stop(&busy);
    move_to(http.url);
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--wait-seconds", "3", "--json"), 7, "%s", err);
    assert_json_text("outcome", "pending");
    cr_assert_not_null(strstr(err, "reports still pending: 1. Flush again in "), "%s", err);
    assert_counts(1, 1);
    (void)snprintf(path, sizeof path, "%s/pause", dir);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--json"), 0, "%s", err);
    cr_assert_eq(json_number_of("accepted"), 1);
}
