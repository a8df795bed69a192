/* The log of a server: of requests that strangers may send as often as they like. */
#include "unit/aggregator/http/rig.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

TestSuite(http_log, .init = http_set_up, .fini = http_tear_down);

static void end_log(int64_t patience_ms)
{
    server_close(server, 60000);
    server = NULL;
    log_sink_close(logger.sink, patience_ms);
    logger.sink = NULL;
}

/* More lines than a pipe and the buffer of the log hold. */
Test(http_log, a_log_that_nobody_reads_stops_neither_answers_nor_the_end)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    server_close(server, 60000);
    log_sink_close(logger.sink, LOG_PATIENCE_MS);
    cr_assert_eq(log_sink_open(ends[1], logger.clock, &logger.sink), DPOT_OK);
    http_start();
    for (int i = 0; log_sink_get_counts(logger.sink).n_lost == 0; i++) {
        cr_assert_eq(get("/nowhere"), 404, "request %d", i);
    }
    cr_assert_eq(get("/healthz"), 200);
    cr_assert_eq(request("GET", "/metrics", TOKEN, "", 0), 200);
    cr_assert_not_null(strstr(text, "\ndpotd_log_lines_lost_total "));
    cr_assert_null(strstr(text, "\ndpotd_log_lines_lost_total 0\n"));
    end_log(1);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

Test(http_log, refusals_are_folded_so_that_strangers_do_not_choose_the_log)
{
    static char content[100000];
    logger.level = LOG_LEVEL_INFO;
    for (int i = 0; i < 200; i++) {
        cr_assert_eq(request(i % 2 ? "GET" : "BREW", "/nowhere", NULL, "", 0), 404);
    }
    cr_assert_eq(request("GET", "/metrics", TOKEN, "", 0), 200);
    cr_assert_not_null(strstr(text, "\ndpotd_log_lines_folded_total 180\n"), "%s", text);
    end_log(LOG_PATIENCE_MS);
    rewind(log_stream);
    content[fread(content, 1, sizeof content - 1, log_stream)] = '\0';
    cr_assert_not_null(strstr(content, "method=GET route=- status=404 n_folded=90\n"));
    cr_assert_not_null(strstr(content, "method=- route=- status=404 n_folded=90\n"));
}
