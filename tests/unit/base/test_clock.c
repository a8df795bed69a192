#include "base/clock.h"

#include <criterion/criterion.h>

Test(time, known_moments_have_their_milliseconds)
{
    static const struct {
        const char *text;
        int64_t time_ms;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2000-02-29T12:34:56Z", INT64_C(951827696000)},
        {"2026-12-01T00:00:00Z", INT64_C(1796083200000)},
        {"2100-03-01T00:00:00Z", INT64_C(4107542400000)},
        {"9999-12-31T23:59:59Z", INT64_C(253402300799000)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t time_ms = -1;
        char text[DPOT_RFC3339_SIZE];
        cr_assert_eq(dpot_time_parse(cases[i].text, &time_ms), DPOT_OK);
        cr_assert_eq(time_ms, cases[i].time_ms, "%s is %lld", cases[i].text, (long long)time_ms);
        dpot_time_format(time_ms, text);
        cr_assert_str_eq(text, cases[i].text);
    }
}

Test(time, every_day_of_eight_centuries_comes_back_from_its_text)
{
    const int64_t day_ms = 86400000;
    for (int64_t day = 0; day < 365 * 800; day++) {
        const int64_t time_ms = day * day_ms + (day * 7919000) % day_ms / 1000 * 1000;
        char text[DPOT_RFC3339_SIZE];
        int64_t again = -1;
        dpot_time_format(time_ms, text);
        cr_assert_eq(dpot_time_parse(text, &again), DPOT_OK, "%s", text);
        cr_assert_eq(again, time_ms, "%s", text);
    }
}

Test(time, what_is_not_a_utc_second_is_refused)
{
    static const char *const texts[] = {
        "",
        "2026-12-01",
        "2026-12-01T00:00:00",
        "2026-12-01 00:00:00Z",
        "2026-12-01T00:00:00z",
        "2026-12-01T00:00:00.0Z",
        "2026-12-01T00:00:00+00:00",
        "1969-12-31T23:59:59Z",
        "2026-00-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-12-00T00:00:00Z",
        "2026-12-01T24:00:00Z",
        "2026-12-01T00:60:00Z",
        "2026-12-01T00:00:60Z",
        "2026-12-0aT00:00:00Z",
        "+026-12-01T00:00:00Z",
        "2026-12-01T00:00:00Zx",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t time_ms = 42;
        cr_assert_eq(dpot_time_parse(texts[i], &time_ms), DPOT_ERR_MALFORMED, "%s", texts[i]);
        cr_assert_eq(time_ms, 42, "a refused text leaves the time alone");
    }
}

Test(time, formatting_rounds_down_and_clamps)
{
    char text[DPOT_RFC3339_SIZE];
    dpot_time_format(1999, text);
    cr_assert_str_eq(text, "1970-01-01T00:00:01Z");
    dpot_time_format(INT64_MIN, text);
    cr_assert_str_eq(text, "1970-01-01T00:00:00Z");
    dpot_time_format(INT64_MAX, text);
    cr_assert_str_eq(text, "9999-12-31T23:59:59Z");
}

Test(time, the_system_clock_is_after_this_was_written)
{
    const struct dpot_clock *clock = dpot_clock_system();
    cr_assert_gt(clock->now(clock->ctx), INT64_C(1700000000000));
}
