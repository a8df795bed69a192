#include "picture/curves.h"

#include "drawn.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(curves, .init = folder_make, .fini = drawn_clean_up);

static struct curves curves_of(const char *name, const double *values, size_t n_rows, size_t n_cols)
{
    return (struct curves){.caption = {.path = folder_path(name)},
                           .n_rows = n_rows,
                           .n_cols = n_cols,
                           .values = values};
}

static size_t expect_drawn(const struct curves *c, struct picture_size *size)
{
    size_t n_left_out = 12345;
    struct dpot_error error = {""};
    cr_assert_eq(curves_draw(c, size, &n_left_out, &error), DPOT_OK, "%s", error.text);
    return n_left_out;
}

static void expect_refused(const struct curves *c, dpot_status expected, const char *sentence)
{
    struct dpot_error error = {""};
    struct curves again = *c;
    again.caption.path = folder_path("a.png");
    cr_assert_eq(curves_draw(&again, NULL, NULL, &error), expected, "%s", error.text);
    cr_assert_not_null(strstr(error.text, sentence), "%s", error.text);
    expect_no_file("a.");
}

/* Lines of the first curve: paths in its colour. The legend adds one. */
static size_t count_lines(const char *text)
{
    return drawn_count(text, "stroke=\"#0072b2\"");
}

Test(curves, names_become_axis_and_legend)
{
    static const double values[] = {1, 3, 30, 2, 2, 20, 3, 1, 10};
    static const char *const names[] = {"iteration", "residual <L1>", "gap"};
    struct curves c = curves_of("a.svg", values, 3, 3);
    struct picture_size size;
    c.names = names;
    c.caption.title = "Convergence";
    cr_assert_eq(expect_drawn(&c, &size), 0);
    char *text = expect_svg("a.svg", &size);
    cr_assert(strstr(text, ">Convergence</text>") && strstr(text, ">iteration</text>") &&
              strstr(text, ">residual &lt;L1&gt;</text>") && strstr(text, ">gap</text>"));
    free(text);
    c.names = NULL;
    cr_assert_eq(expect_drawn(&c, &size), 0);
    text = expect_svg("a.svg", &size);
    cr_assert(strstr(text, ">x</text>") && strstr(text, ">column 2</text>") &&
              strstr(text, ">column 3</text>"));
    free(text);
    c.caption.path = folder_path("a.png");
    cr_assert_eq(expect_drawn(&c, &size), 0);
    expect_png("a.png", &size);
}

Test(curves, values_that_are_not_finite_are_gaps)
{
    static const double values[] = {1, 1, 2, 2, 3, NAN, 4, 4, 5, 5, 6, INFINITY, 7, 7};
    const struct curves c = curves_of("a.svg", values, 7, 2);
    struct picture_size size;
    cr_assert_eq(expect_drawn(&c, &size), 2);
    char *text = expect_svg("a.svg", &size);
    cr_assert_eq(count_lines(text), 2);
    cr_assert_eq(drawn_count(text, "<circle"), 5 + 1, "every row, and the lonely one twice");
    free(text);
}

Test(curves, logarithmic_axes_omit_values_that_are_not_positive)
{
    static const double values[] = {0, 1, 1, 10, 10, 0, 100, 100, 1000, -3};
    struct curves c = curves_of("a.svg", values, 5, 2);
    struct picture_size size;
    c.is_log_y = true;
    cr_assert_eq(expect_drawn(&c, &size), 2);
    free(expect_svg("a.svg", &size));
    c.is_log_x = true;
    cr_assert_eq(expect_drawn(&c, &size), 3);
    char *text = expect_svg("a.svg", &size);
    cr_assert_not_null(strstr(text, ">100</text>"));
    free(text);
}

Test(curves, long_curves_keep_their_peaks)
{
    enum { N = 400000 };
    double *values = malloc(2 * N * sizeof *values);
    cr_assert_not_null(values);
    for (size_t i = 0; i < N; i++) {
        values[2 * i] = (double)i;
        values[2 * i + 1] = i == 123456 ? 1 : 0;
    }
    const struct curves c = curves_of("a.svg", values, N, 2);
    struct picture_size size;
    cr_assert_eq(expect_drawn(&c, &size), 0);
    char *text = expect_svg("a.svg", &size);
    cr_assert_lt(strlen(text), 200000, "a pixel column needs no thousand points");
    /* Highest and lowest point are 0.04 of the range inside a box of 460. */
    const char *line = strstr(text, "stroke=\"#0072b2\"");
    double top = HUGE_VAL, bottom = 0;
    for (const char *at = strstr(line, " d=\"M") + 5; *at && *at != '"';) {
        char *end = NULL;
        (void)strtod(at, &end);
        const double y = strtod(end, &end);
        top = fmin(top, y);
        bottom = fmax(bottom, y);
        at = *end == 'L' ? end + 1 : end;
    }
    cr_assert_float_eq(bottom - top, 460 / 1.08, 0.05);
    free(text);
    free(values);
}

/* A bar is a vertical line and two caps; a value has one unless its length is 0 or not finite. */
Test(curves, error_bars_stand_around_their_values)
{
    static const double values[] = {1, 4, 0.5, 9, 0, 2, 6, 1, 9, NAN, 3, 8, INFINITY, 9, 0};
    static const char *const names[] = {"epsilon", "WPM", "sd", "uniform guess", "sd"};
    struct curves c = curves_of("a.svg", values, 3, 5);
    struct picture_size size;
    c.names = names;
    c.has_error_bars = true;
    cr_assert_eq(expect_drawn(&c, &size), 0);
    char *text = expect_svg("a.svg", &size);
    cr_assert(strstr(text, ">WPM</text>") && strstr(text, ">uniform guess</text>"));
    cr_assert_null(strstr(text, ">sd</text>"));
    cr_assert_eq(count_lines(text), 2 + 2 * 3);
    free(text);
    c.names = NULL;
    cr_assert_eq(expect_drawn(&c, &size), 0);
    text = expect_svg("a.svg", &size);
    cr_assert(strstr(text, ">column 2</text>") && strstr(text, ">column 4</text>"));
    cr_assert_null(strstr(text, ">column 3</text>"));
    free(text);
}

Test(curves, error_bars_stay_inside_the_frame)
{
    static const double values[] = {1, 10, 90};
    struct curves c = curves_of("a.svg", values, 1, 3);
    struct picture_size size;
    c.has_error_bars = true;
    cr_assert_eq(expect_drawn(&c, &size), 0);
    char *text = expect_svg("a.svg", &size);
    cr_assert(strstr(text, ">100</text>") && strstr(text, ">\xE2\x88\x92"
                                                          "80</text>"));
    free(text);
    c.is_log_y = true; /* 10 - 90 has no logarithm: the bar ends at the axis, without a cap */
    cr_assert_eq(expect_drawn(&c, &size), 0);
    text = expect_svg("a.svg", &size);
    cr_assert_eq(count_lines(text), 2);
    cr_assert(strstr(text, ">100</text>"));
    free(text);
}

Test(curves, an_axis_from_zero_begins_there)
{
    static const double values[] = {1, 70, 2, 90}, negative[] = {1, -70, 2, -90};
    struct curves c = curves_of("a.svg", values, 2, 2);
    struct picture_size size;
    for (int is_negative = 0; is_negative < 2; is_negative++) {
        c.values = is_negative ? negative : values;
        c.is_from_zero = false;
        cr_assert_eq(expect_drawn(&c, &size), 0);
        char *text = expect_svg("a.svg", &size);
        cr_assert_null(strstr(text, ">0</text>"));
        free(text);
        c.is_from_zero = true;
        cr_assert_eq(expect_drawn(&c, &size), 0);
        text = expect_svg("a.svg", &size);
        cr_assert(strstr(text, ">0</text>"));
        cr_assert_null(strstr(text, is_negative ? ">20</text>"
                                                : ">\xE2\x88\x92"
                                                  "20</text>"));
        free(text);
    }
}

Test(curves, error_bars_that_cannot_be_drawn_are_refused)
{
    static const double negative[] = {1, 2, 0.5, 2, 2, -0.5};
    struct curves c = curves_of("a.png", negative, 2, 3);
    c.has_error_bars = true;
    expect_refused(&c, DPOT_ERR_RANGE, "row 2, column 3 is -0.5");
    c.n_cols = 2;
    expect_refused(&c, DPOT_ERR_SHAPE, "two columns for every curve");
    c.n_cols = 1;
    expect_refused(&c, DPOT_ERR_SHAPE, "1 column:");
    c.n_cols = CURVES_COLUMNS_MAX + 2;
    expect_refused(&c, DPOT_ERR_SHAPE, "35 columns");
}

Test(curves, one_row_and_constant_columns_are_drawn)
{
    static const double values[] = {3, 4, 3, 4, 3, 4};
    for (size_t n = 1; n <= 3; n++) {
        struct curves c = curves_of("a.svg", values, n, 2);
        struct picture_size size;
        c.is_log_x = c.is_log_y = n == 2;
        cr_assert_eq(expect_drawn(&c, &size), 0);
        char *text = expect_svg("a.svg", &size);
        cr_assert_not_null(strstr(text, "<circle"));
        free(text);
    }
}

Test(curves, sixteen_curves_with_long_names_stay_on_the_page)
{
    static double values[3 * (CURVES_MAX + 1)];
    static const char *names[CURVES_MAX + 1];
    static const char long_name[] = "a curve whose name goes on and on, as if there were no end of "
                                    "the page to the right of it, which there is";
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        values[i] = (double)(i % 7) * 1e9;
        names[i % (CURVES_MAX + 1)] = i % 3 ? long_name : "short";
    }
    struct curves c = curves_of("a.svg", values, 3, CURVES_MAX + 1);
    struct picture_size size;
    c.names = names;
    c.caption.title = long_name;
    c.caption.y_label = long_name;
    cr_assert_eq(expect_drawn(&c, &size), 0);
    free(expect_svg("a.svg", &size));
    c.n_cols = 5;
    c.n_rows = 9;
    cr_assert_eq(expect_drawn(&c, &size), 0);
    free(expect_svg("a.svg", &size));
}

Test(curves, tables_that_cannot_be_drawn_are_refused)
{
    static const double nothing[] = {1, NAN, 2, NAN}, bad_x[] = {1, 1, NAN, 2};
    struct curves c = curves_of("a.png", nothing, 2, 2);
    expect_refused(&c, DPOT_ERR_RANGE, "no value can be drawn");
    c.values = bad_x;
    expect_refused(&c, DPOT_ERR_RANGE, "x of row 2");
    c.n_cols = 1;
    expect_refused(&c, DPOT_ERR_SHAPE, "1 column:");
    c.n_cols = CURVES_MAX + 2;
    expect_refused(&c, DPOT_ERR_SHAPE, "18 columns");
    c.n_cols = 2;
    c.n_rows = 0;
    expect_refused(&c, DPOT_ERR_SHAPE, "no rows");
    c.n_rows = PICTURE_MARKS_MAX + 1;
    expect_refused(&c, DPOT_ERR_TOO_LARGE, "values are too many");
}

Test(curves, endless_scribbles_are_refused)
{
    enum { N = 200001 };
    double *values = malloc(2 * N * sizeof *values);
    cr_assert_not_null(values);
    for (size_t i = 0; i < N; i++) {
        values[2 * i] = (double)(i % 2);
        values[2 * i + 1] = (double)(i % 3);
    }
    const struct curves c = curves_of("a.png", values, N, 2);
    expect_refused(&c, DPOT_ERR_TOO_LARGE, "sort them by x");
    free(values);
}
