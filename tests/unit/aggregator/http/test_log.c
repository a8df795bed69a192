#include "base/clock.h"
#include "http/log.h"
#include "support/clock.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(log, a_line_is_pairs_after_time_level_and_event)
{
    struct test_clock clock;
    char line[256] = "";
    FILE *stream = tmpfile();
    test_clock_init(&clock, INT64_C(1796083200000));
    const struct log log = {LOG_LEVEL_INFO, stream, &clock.clock};
    log_write(&log, LOG_LEVEL_WARNING, "store.check", "status=%d", 503);
    log_write(&log, LOG_LEVEL_DEBUG, "not.written", "status=%d", 1);
    rewind(stream);
    cr_assert_not_null(fgets(line, sizeof line, stream));
    cr_assert_str_eq(line, "ts=2026-12-01T00:00:00Z level=warning event=store.check status=503\n");
    cr_assert_null(fgets(line, sizeof line, stream));
    (void)fclose(stream);
}

Test(log, a_quoted_text_stays_on_its_line)
{
    char quoted[LOG_QUOTED_SIZE], text[2000];
    cr_assert_str_eq(log_quote(quoted, "a\nb\"c\\d\x1b"), "\"a b'c'd \"");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_assert_eq(strlen(log_quote(quoted, text)), LOG_QUOTED_SIZE - 1);
    cr_assert_eq(quoted[LOG_QUOTED_SIZE - 2], '"');
}

Test(log, a_line_that_is_too_long_is_cut)
{
    struct test_clock clock;
    char text[4000], line[4000] = "";
    FILE *stream = tmpfile();
    test_clock_init(&clock, 0);
    const struct log log = {LOG_LEVEL_INFO, stream, &clock.clock};
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_write(&log, LOG_LEVEL_ERROR, "event", "note=%s", text);
    rewind(stream);
    cr_assert_not_null(fgets(line, sizeof line, stream));
    cr_assert_lt(strlen(line), 1025);
    cr_assert_eq(line[strlen(line) - 1], '\n');
    (void)fclose(stream);
}
