#include "picture/points.h"

#include "drawn.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(points, .init = folder_make, .fini = drawn_clean_up);

static struct picture_size expect_drawn(const struct points *p)
{
    struct picture_size size = {0, 0};
    struct dpot_error error = {""};
    cr_assert_eq(points_draw(p, &size, &error), DPOT_OK, "%s", error.text);
    return size;
}

static void expect_refused(const struct points *p, dpot_status expected, const char *sentence)
{
    struct dpot_error error = {""};
    struct points again = *p;
    again.caption.path = folder_path("a.png");
    cr_assert_eq(points_draw(&again, NULL, &error), expected, "%s", error.text);
    cr_assert_not_null(strstr(error.text, sentence), "%s", error.text);
    expect_no_file("a.");
}

Test(points, a_map_has_north_on_top_and_is_drawn_to_scale)
{
    static const double xy[] = {40, -100, 30, -80};
    const struct points p = {
        .caption = {.path = folder_path("a.svg")}, .n = 2, .points = xy, .is_map = true};
    const struct picture_size size = expect_drawn(&p);
    char *text = expect_svg("a.svg", &size);
    const double x0 = drawn_number(text, " cx=\"", 0), y0 = drawn_number(text, " cy=\"", 0);
    const double x1 = drawn_number(text, " cx=\"", 1), y1 = drawn_number(text, " cy=\"", 1);
    cr_assert(x0 < x1 && y0 < y1, "the first is in the north-west");
    cr_assert_float_eq((x1 - x0) / (y1 - y0), 2 * cos(35 * 0.017453292519943295), 0.001);
    free(text);
}

Test(points, the_plane_has_x_first_and_both_in_one_scale)
{
    static const double xy[] = {0, 0, 3, 1};
    const struct points p = {.caption = {.path = folder_path("a.svg"),
                                         .title = "two",
                                         .x_label = "x (m)",
                                         .y_label = "y (m)"},
                             .n = 2,
                             .points = xy};
    const struct picture_size size = expect_drawn(&p);
    char *text = expect_svg("a.svg", &size);
    const double dx = drawn_number(text, " cx=\"", 1) - drawn_number(text, " cx=\"", 0);
    const double dy = drawn_number(text, " cy=\"", 1) - drawn_number(text, " cy=\"", 0);
    cr_assert_float_eq(dx / -dy, 3, 0.001);
    cr_assert(strstr(text, ">two</text>") && strstr(text, ">x (m)</text>") &&
              strstr(text, ">y (m)</text>"));
    free(text);
}

Test(points, heavy_points_lie_on_top_and_weights_have_a_legend)
{
    static const double xy[] = {0, 0, 1, 1, 2, 0}, weights[] = {5, 0, 2};
    const struct points p = {.caption = {.path = folder_path("a.svg"), .value_label = "people"},
                             .n = 3,
                             .points = xy,
                             .weights = weights};
    const struct picture_size size = expect_drawn(&p);
    char *text = expect_svg("a.svg", &size);
    cr_assert_gt(drawn_number(text, " cx=\"", 2), 0);
    cr_assert_lt(drawn_number(text, " cx=\"", 2), drawn_number(text, " cx=\"", 1));
    cr_assert_lt(drawn_number(text, " cx=\"", 2), drawn_number(text, " cx=\"", 0));
    cr_assert(strstr(text, ">people</text>") && strstr(text, ">zero</text>"));
    free(text);
}

Test(points, single_and_aligned_points_are_drawn)
{
    static const double sets[][6] = {{1, 2, 1, 2, 1, 2},          {1, 2, 1, 5, 1, 9},
                                     {1, 2, 3, 2, 9, 2},          {0, 0, 1e-9, 1e300, -5, -1e300},
                                     {1e300, 0, -1e300, 0, 0, 0}, {1e-320, 0, 0, 1e-320, 0, 0}};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        for (size_t n = 1; n <= 3; n += 2) {
            struct points p = {
                .caption = {.path = folder_path("a.svg")}, .n = n, .points = sets[i]};
            struct picture_size size = expect_drawn(&p);
            free(expect_svg("a.svg", &size));
            p.is_map = i < 3;
            size = expect_drawn(&p);
            char *text = expect_svg("a.svg", &size);
            cr_assert_eq(drawn_count(text, "<circle"), n);
            free(text);
        }
    }
}

Test(points, both_poles_are_on_a_map)
{
    static const double xy[] = {90, 0, -90, 0, 90, 360, 89.999, -360};
    struct points p = {
        .caption = {.path = folder_path("a.svg")}, .n = 4, .points = xy, .is_map = true};
    struct picture_size size = expect_drawn(&p);
    free(expect_svg("a.svg", &size));
    p.n = 1;
    size = expect_drawn(&p);
    free(expect_svg("a.svg", &size));
}

Test(points, many_points_make_a_small_png)
{
    enum { N = 200000 };
    double *xy = malloc(2 * N * sizeof *xy);
    cr_assert_not_null(xy);
    for (size_t i = 0; i < N; i++) {
        xy[2 * i] = sin((double)i);
        xy[2 * i + 1] = cos(1.3 * (double)i);
    }
    struct points p = {.caption = {.path = folder_path("a.png")}, .n = N, .points = xy};
    const struct picture_size size = expect_drawn(&p);
    expect_png("a.png", &size);
    p.caption.path = folder_path("b.svg");
    p.n = PICTURE_SVG_MARKS_MAX + 1;
    struct dpot_error error = {""};
    cr_assert_eq(points_draw(&p, NULL, &error), DPOT_ERR_TOO_LARGE, "before a point is read");
    free(xy);
}

Test(points, points_that_cannot_be_drawn_are_refused)
{
    static const double bad[] = {1, 2, NAN, 4}, fine[] = {1, 2, 100, 4};
    static const double weights[2][2] = {{1, -1}, {1, NAN}};
    struct points p = {.caption = {.path = folder_path("a.png")}, .n = 2, .points = bad};
    expect_refused(&p, DPOT_ERR_RANGE, "point 2");
    p.points = fine;
    p.is_map = true;
    expect_refused(&p, DPOT_ERR_RANGE, "latitude 100");
    p.is_map = false;
    for (size_t i = 0; i < 2; i++) {
        p.weights = weights[i];
        expect_refused(&p, DPOT_ERR_RANGE, "weight 2");
    }
    p.n = 0;
    expect_refused(&p, DPOT_ERR_SHAPE, "no points");
}
