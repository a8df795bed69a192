#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define MS_PER_DAY 86400000

bool dpot_clock_is_steady(const struct dpot_clock *clock)
{
    const size_t end = offsetof(struct dpot_clock, monotonic) + sizeof clock->monotonic;
    return clock->struct_size >= end && clock->monotonic;
}

#if DPOT_WITH_POSIX

static int64_t now_system(void *ctx)
{
    (void)ctx;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return 0;
    }
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t dpot_clock_monotonic_us(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t dpot_clock_monotonic_ms(void)
{
    return dpot_clock_monotonic_us() / 1000;
}

int64_t dpot_clock_steady_us(const struct dpot_clock *clock)
{
    return dpot_clock_is_steady(clock) ? clock->monotonic(clock->ctx) * 1000
                                       : dpot_clock_monotonic_us();
}

static const struct dpot_clock system_clock = {.struct_size = sizeof(struct dpot_clock),
                                               .now = now_system};

const struct dpot_clock *dpot_clock_system(void)
{
    return &system_clock;
}

#else

int64_t dpot_clock_steady_us(const struct dpot_clock *clock)
{
    return clock->monotonic(clock->ctx) * 1000;
}

const struct dpot_clock *dpot_clock_system(void)
{
    return NULL;
}

#endif

/* Days from 1970-01-01 to a date, Gregorian calendar, from 1970 on. Years start in March, so that
 * the leap day is the last one. */
static int64_t days_from_date(int year, int month, int day)
{
    const int64_t y = month <= 2 ? year - 1 : year;
    const int64_t m = month <= 2 ? month + 9 : month - 3;
    const int64_t era_day = y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1;
    return era_day - 719468;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 ? 28 + is_leap : days[month - 1];
}

/* Two digits at `text`, or -1. */
static int two_digits(const char *text)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') {
        return -1;
    }
    return (text[0] - '0') * 10 + (text[1] - '0');
}

dpot_status dpot_time_parse(const char *text, int64_t *time_ms)
{
    if (strlen(text) != DPOT_RFC3339_SIZE - 1 || text[4] != '-' || text[7] != '-' ||
        text[10] != 'T' || text[13] != ':' || text[16] != ':' || text[19] != 'Z') {
        return DPOT_ERR_MALFORMED;
    }
    const int century = two_digits(text), rest = two_digits(text + 2);
    const int month = two_digits(text + 5), day = two_digits(text + 8);
    const int hour = two_digits(text + 11), minute = two_digits(text + 14);
    const int second = two_digits(text + 17);
    const int year = century * 100 + rest;
    if (century < 0 || rest < 0 || year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > days_in_month(year, month) || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
        second < 0 || second > 59) {
        return DPOT_ERR_MALFORMED;
    }
    *time_ms = days_from_date(year, month, day) * MS_PER_DAY +
               ((int64_t)(hour * 60 + minute) * 60 + second) * 1000;
    return DPOT_OK;
}

void dpot_time_format(int64_t time_ms, char out[DPOT_RFC3339_SIZE])
{
    const int64_t last = days_from_date(9999, 12, 31) * MS_PER_DAY + MS_PER_DAY - 1;
    const int64_t t = time_ms < 0 ? 0 : time_ms > last ? last : time_ms;
    const int64_t days = t / MS_PER_DAY, second_of_day = t % MS_PER_DAY / 1000;
    int year = (int)(1970 + days / 366);
    while (days_from_date(year + 1, 1, 1) <= days) {
        year++;
    }
    int month = 1;
    int day = (int)(days - days_from_date(year, 1, 1)) + 1;
    while (day > days_in_month(year, month)) {
        day -= days_in_month(year, month);
        month++;
    }
    const unsigned s = (unsigned)second_of_day;
    char text[64];
    (void)snprintf(text, sizeof text, "%04d-%02d-%02dT%02u:%02u:%02uZ", year, month, day, s / 3600,
                   s / 60 % 60, s % 60);
    memcpy(out, text, DPOT_RFC3339_SIZE - 1);
    out[DPOT_RFC3339_SIZE - 1] = '\0';
}
