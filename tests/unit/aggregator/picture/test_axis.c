#include "picture/axis.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

TestSuite(axis, .fini = picture_release_fonts);

static const struct picture_font font = {12, false};

/* The numbers of an axis, separated by bars. */
static const char *numbers_of(enum axis_kind kind, bool is_log, double lo, double hi, double length)
{
    static char text[1024];
    struct axis axis;
    size_t n = 0;
    axis_init(&axis, kind, is_log, lo, hi, 0);
    axis_choose_ticks(&axis, length, true, &font);
    text[0] = '\0';
    for (size_t i = 0; i < axis.n_ticks; i++) {
        if (axis.ticks[i].text[0]) {
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? "|" : "",
                                  axis.ticks[i].text);
        }
    }
    return text;
}

Test(axis, numbers_are_round_and_have_the_digits_they_need)
{
    cr_assert_str_eq(numbers_of(AXIS_NUMBER, false, 0, 1, 300), "0.0|0.2|0.4|0.6|0.8|1.0");
    cr_assert_str_eq(numbers_of(AXIS_NUMBER, false, -7, 12, 300), "\xE2\x88\x92"
                                                                  "5|0|5|10");
    cr_assert_str_eq(numbers_of(AXIS_NUMBER, false, 0, 40000, 250), "0|10000|20000|30000|40000");
    cr_assert_str_eq(numbers_of(AXIS_NUMBER, false, 0, 3e8, 250), "0|1\xC3\x97"
                                                                  "10\xE2\x81\xB8|2\xC3\x97"
                                                                  "10\xE2\x81\xB8|3\xC3\x97"
                                                                  "10\xE2\x81\xB8");
    cr_assert_str_eq(numbers_of(AXIS_NUMBER, false, 1000000001, 1000000003, 300),
                     "1000000001|1000000002|1000000003");
}

Test(axis, indices_are_whole_numbers)
{
    cr_assert_str_eq(numbers_of(AXIS_INDEX, false, -0.5, 2.5, 600), "0|1|2");
    cr_assert_str_eq(numbers_of(AXIS_INDEX, false, -0.5, 0.5, 600), "0");
}

Test(axis, degrees_name_their_side)
{
    cr_assert_str_eq(numbers_of(AXIS_LONGITUDE, false, -125, -66.9, 300),
                     "120\xC2\xB0 W|100\xC2\xB0 W|80\xC2\xB0 W");
    cr_assert_str_eq(numbers_of(AXIS_LATITUDE, false, -12, 12, 300),
                     "10\xC2\xB0 S|5\xC2\xB0 S|0\xC2\xB0|5\xC2\xB0 N|10\xC2\xB0 N");
}

Test(axis, logarithmic_axes_show_powers_of_ten)
{
    cr_assert_str_eq(numbers_of(AXIS_NUMBER, true, 0.1, 1000, 500), "0.1|1|10|100|1000");
    cr_assert_str_eq(numbers_of(AXIS_NUMBER, true, 1e-7, 1e-5, 500),
                     "10\xE2\x81\xBB\xE2\x81\xB7|10\xE2\x81\xBB\xE2\x81\xB6|10\xE2\x81\xBB\xE2\x81"
                     "\xB5");
    cr_assert_str_eq(numbers_of(AXIS_NUMBER, true, 0.5, 8, 500), "0.5|1|2|5");
}

Test(axis, values_that_hardly_differ_count_as_one)
{
    static const double values[] = {1e-300, 1e-6, 0.1, 1, 10, 1e300};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        for (int is_log = 0; is_log < 2; is_log++) {
            struct axis axis;
            axis_init(&axis, AXIS_NUMBER, is_log, values[i], nextafter(values[i], INFINITY), 0.05);
            axis_choose_ticks(&axis, 300, false, &font);
            cr_assert(axis.n_ticks > 0 && axis.n_ticks <= AXIS_TICKS_MAX);
            cr_assert_float_eq(axis_share(&axis, values[i]), 0.5, 1e-6, "%g", values[i]);
        }
    }
}

Test(axis, values_have_their_place)
{
    struct axis axis;
    axis_init(&axis, AXIS_NUMBER, false, 10, 20, 0);
    cr_assert_float_eq(axis_share(&axis, 15), 0.5, 1e-12);
    axis_init(&axis, AXIS_NUMBER, true, 1, 100, 0);
    cr_assert_float_eq(axis_share(&axis, 10), 0.5, 1e-12);
    cr_assert(isnan(axis_share(&axis, 0)) && isnan(axis_share(&axis, -1)));
}

Test(axis, a_single_value_gets_a_range_around_it)
{
    static const double values[] = {0, 1, -3, 1e300, -1e300, 1e-320, 1e-300};
    struct axis axis;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        axis_init(&axis, AXIS_NUMBER, false, values[i], values[i], 0.04);
        const double share = axis_share(&axis, values[i]);
        cr_assert(axis.lo < axis.hi && share > 0.4 && share < 0.6, "%g: %g", values[i], share);
    }
}

/* Any range has at least one number, at its position, and numbers do not touch. */
Test(axis, extreme_ranges_have_sound_ticks)
{
    static const double ends[] = {-1e300, -1e9, -1, -1e-9, -1e-310, 0,    1e-320, 1e-200,
                                  1e-9,   0.3,  1,  7,     1e9,     1e15, 1e299,  1e300};
    const size_t n = sizeof ends / sizeof ends[0];
    for (size_t i = 0; i < n * n * 4; i++) {
        const double lo = ends[i % n], hi = ends[i / n % n], length = i / (n * n) % 2 ? 700 : 60;
        const bool is_log = i / (n * n * 2) % 2;
        struct axis axis;
        if (lo > hi || (is_log && lo <= 0)) {
            continue;
        }
        axis_init(&axis, AXIS_NUMBER, is_log, lo, hi, 0.04);
        axis_choose_ticks(&axis, length, true, &font);
        double last_end = -HUGE_VAL;
        size_t n_numbers = 0;
        for (size_t t = 0; t < axis.n_ticks; t++) {
            const double share = axis_tick_share(&axis, t);
            cr_assert(share > -0.01 && share < 1.01, "%g..%g: %g", lo, hi, share);
            if (!axis.ticks[t].text[0]) {
                continue;
            }
            const double width = picture_text_width(&font, axis.ticks[t].text);
            cr_assert(share * length - width / 2 > last_end, "%g..%g: %s", lo, hi,
                      axis.ticks[t].text);
            last_end = share * length + width / 2;
            n_numbers++;
        }
        cr_assert_geq(n_numbers, 1, "%g..%g log %d length %g", lo, hi, is_log, length);
    }
}

/* The numbers after axis_number_ends, along `length`. */
static const char *ends_of(bool is_log, double lo, double hi, double length)
{
    static char text[1024];
    struct axis axis;
    size_t n = 0;
    axis_init(&axis, AXIS_NUMBER, is_log, lo, hi, 0);
    axis_choose_ticks(&axis, length, false, &font);
    axis_number_ends(&axis, length, &font);
    cr_assert(axis.ticks[0].value == axis.lo && axis.ticks[axis.n_ticks - 1].value == axis.hi);
    for (size_t i = 0; i < axis.n_ticks; i++) {
        if (axis.ticks[i].text[0]) {
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? "|" : "",
                                  axis.ticks[i].text);
        }
    }
    return text;
}

Test(axis, both_ends_have_numbers_where_asked)
{
    cr_assert_str_eq(ends_of(true, 0.001, 0.08, 300), "0.001|0.002|0.005|0.01|0.02|0.05|0.08");
    cr_assert_str_eq(ends_of(true, 610, 3200, 400), "610|1000|1500|2000|2500|3200");
    cr_assert_str_eq(ends_of(true, 4e-5, 0.07, 400), "4\xC3\x97"
                                                     "10\xE2\x81\xBB\xE2\x81\xB5"
                                                     "|10\xE2\x81\xBB\xE2\x81\xB4"
                                                     "|10\xE2\x81\xBB\xC2\xB3"
                                                     "|10\xE2\x81\xBB\xC2\xB2"
                                                     "|7\xC3\x97"
                                                     "10\xE2\x81\xBB\xC2\xB2");
    cr_assert_str_eq(ends_of(false, 0, 1234, 200), "0|500|1000|1234");
    cr_assert_str_eq(ends_of(false, -0.25, 1, 60), "\xE2\x88\x92"
                                                   "0.25|1");
}

Test(axis, numbered_ends_keep_their_distance)
{
    static const double ends[] = {1e-300, 1e-9, 0.3, 1, 1.03, 7, 10.2, 99, 1e4, 1e15, 1e300};
    const size_t n = sizeof ends / sizeof ends[0];
    for (size_t i = 0; i < n * n * 4; i++) {
        const double lo = ends[i % n], hi = ends[i / n % n], length = i / (n * n) % 2 ? 420 : 60;
        struct axis axis;
        if (!(lo < hi)) {
            continue;
        }
        axis_init(&axis, AXIS_NUMBER, i / (n * n * 2) % 2, lo, hi, 0);
        axis_choose_ticks(&axis, length, false, &font);
        axis_number_ends(&axis, length, &font);
        double last = -HUGE_VAL;
        for (size_t t = 0; t < axis.n_ticks; t++) {
            const double at = length * axis_tick_share(&axis, t);
            if (axis.ticks[t].text[0]) {
                cr_assert(t == 0 || t + 1 == axis.n_ticks || at - last > font.size, "%g..%g: %s",
                          lo, hi, axis.ticks[t].text);
                last = at;
            }
        }
        cr_assert(axis.ticks[0].text[0] && axis.ticks[axis.n_ticks - 1].text[0]);
    }
}
