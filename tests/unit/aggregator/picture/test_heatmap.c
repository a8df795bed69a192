#include "picture/heatmap.h"

#include "drawn.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(heatmap, .init = folder_make, .fini = drawn_clean_up);

#define ROWS 16
#define COLS 24

static double cells[ROWS * COLS];

static struct heatmap one_hot(const char *name, size_t row, size_t col)
{
    struct heatmap h = {.n_rows = ROWS, .n_cols = COLS, .n_panels = 1, .values = {cells}};
    h.caption.path = folder_path(name);
    memset(cells, 0, sizeof cells);
    cells[row * COLS + col] = 1;
    return h;
}

static void set_map(struct heatmap *h)
{
    h->has_box = h->is_map = true;
    h->lo[0] = 24.5;
    h->lo[1] = -125;
    h->hi[0] = 49.4;
    h->hi[1] = -66.9;
}

static struct picture_size expect_drawn(const struct heatmap *h)
{
    struct picture_size size = {0, 0};
    struct dpot_error error = {""};
    cr_assert_eq(heatmap_draw(h, &size, &error), DPOT_OK, "%s", error.text);
    return size;
}

static void expect_refused(const struct heatmap *h, dpot_status expected, const char *sentence)
{
    struct dpot_error error = {""};
    cr_assert_eq(heatmap_draw(h, NULL, &error), expected, "%s", error.text);
    cr_assert_not_null(strstr(error.text, sentence), "%s", error.text);
    expect_no_file("a.");
}

/* The hot cell, without the end of the colour bar. */
static struct patch find_hot(const char *name)
{
    struct colour palette[COLOUR_LEVELS];
    colour_fill_palette(COLOUR_PALETTE_HEAT, palette);
    const struct patch patch = drawn_find(name, palette[COLOUR_LEVELS - 1]);
    cr_assert_gt(patch.n, 300);
    return patch;
}

Test(heatmap, a_map_has_north_on_top_and_east_to_the_right)
{
    struct heatmap h = one_hot("a.png", ROWS - 1, 0);
    set_map(&h);
    const struct picture_size size = expect_drawn(&h);
    expect_png("a.png", &size);
    struct patch hot = find_hot("a.png");
    cr_assert(hot.x < 0.2 && hot.y < 0.2, "%g %g", hot.x, hot.y);
    h = one_hot("a.png", 0, COLS - 2);
    set_map(&h);
    (void)expect_drawn(&h);
    hot = find_hot("a.png");
    cr_assert(hot.x > 0.7 && hot.y > 0.7, "%g %g", hot.x, hot.y);
}

Test(heatmap, a_matrix_has_its_first_row_on_top)
{
    const struct heatmap h = one_hot("a.png", 0, 0);
    (void)expect_drawn(&h);
    const struct patch hot = find_hot("a.png");
    cr_assert(hot.x < 0.2 && hot.y < 0.2, "%g %g", hot.x, hot.y);
}

Test(heatmap, a_map_is_drawn_to_scale_at_its_middle_latitude)
{
    struct heatmap h = one_hot("a.svg", 3, 3);
    set_map(&h);
    const struct picture_size size = expect_drawn(&h);
    char *text = expect_svg("a.svg", &size);
    const double across = drawn_number(text, " scale(", 0);
    const char *second = strchr(strstr(text, " scale(") + 7, ' ');
    const double down = strtod(second, NULL);
    const double ratio =
        ((66.9 - 125) / -COLS * cos(36.95 * 0.017453292519943295)) / ((49.4 - 24.5) / ROWS);
    cr_assert_float_eq(across / down, ratio, 1e-6);
    cr_assert_not_null(strstr(text, ">latitude</text>"));
    cr_assert_not_null(strstr(text, ">longitude</text>"));
    cr_assert_not_null(strstr(text, ">100\xC2\xB0 W</text>"));
    free(text);
}

Test(heatmap, zero_cells_have_their_own_colour_and_a_legend)
{
    struct heatmap h = one_hot("a.png", 3, 3);
    (void)expect_drawn(&h);
    cr_assert_gt(drawn_find("a.png", colour_zero).n, 100000);
    h.caption.path = folder_path("a.svg");
    (void)expect_drawn(&h);
    char *text = expect_svg("a.svg", NULL);
    cr_assert_not_null(strstr(text, ">zero</text>"));
    free(text);
    for (size_t i = 0; i < ROWS * COLS; i++) {
        cells[i] = 1e-3 + (double)i;
    }
    (void)expect_drawn(&h);
    text = expect_svg("a.svg", NULL);
    cr_assert_null(strstr(text, ">zero</text>"));
    free(text);
}

Test(heatmap, several_heat_maps_share_one_scale_and_have_titles)
{
    static double twice[ROWS * COLS];
    static const char *const titles[HEATMAP_PANELS_MAX] = {"truth",  "estimate", "third one",
                                                           "fourth", "fifth",    "sixth"};
    for (size_t n = 1; n <= HEATMAP_PANELS_MAX; n++) {
        struct heatmap h = one_hot("a.svg", 2, 2);
        set_map(&h);
        h.caption.title = "Where people live & work";
        h.caption.value_label = "share of people per cell";
        h.n_panels = n;
        for (size_t p = 0; p < n; p++) {
            h.values[p] = p ? twice : cells;
            h.panel_titles[p] = titles[p];
        }
        twice[5] = 2;
        const struct picture_size size = expect_drawn(&h);
        cr_assert_leq(size.width, PICTURE_WIDTH);
        char *text = expect_svg("a.svg", &size);
        cr_assert_not_null(strstr(text, ">Where people live &amp; work</text>"));
        for (size_t p = 0; p < n; p++) {
            cr_assert_not_null(strstr(text, titles[p]), "%s", titles[p]);
        }
        cr_assert_eq(drawn_count(text, "<g shape-rendering"), n + 1, "one colour bar");
        cr_assert_eq(drawn_count(text, ">zero</text>"), 1);
        free(text);
    }
}

Test(heatmap, panels_above_each_other_share_their_numbers)
{
    for (size_t n = 4; n <= 6; n++) { /* 2 x 2, then 3 and 2: the third column ends earlier */
        struct heatmap h = one_hot("a.svg", 2, 2);
        set_map(&h);
        h.n_panels = n;
        for (size_t p = 0; p < n; p++) {
            h.values[p] = cells;
        }
        const struct picture_size size = expect_drawn(&h);
        char *text = expect_svg("a.svg", &size);
        cr_assert_eq(drawn_count(text, ">longitude</text>"), n == 4 ? 2 : 3);
        cr_assert_eq(drawn_count(text, ">latitude</text>"), 2);
        free(text);
    }
}

Test(heatmap, a_logarithmic_bar_is_labelled_and_has_numbers_at_both_ends)
{
    struct heatmap h = one_hot("a.svg", 2, 2);
    h.caption.value_label = "mean distance (km)";
    for (size_t i = 0; i < ROWS * COLS; i++) {
        cells[i] = 613 + 6 * (double)i;
    }
    h.is_log = true;
    (void)expect_drawn(&h);
    char *text = expect_svg("a.svg", NULL);
    cr_assert_not_null(strstr(text, ">mean distance (km), log scale</text>"));
    cr_assert_not_null(strstr(text, ">600</text>"));
    cr_assert_not_null(strstr(text, ">3000</text>"));
    free(text);
    h.is_log = false;
    (void)expect_drawn(&h);
    text = expect_svg("a.svg", NULL);
    cr_assert_not_null(strstr(text, ">mean distance (km)</text>"));
    free(text);
}

Test(heatmap, a_range_fixes_the_scale_and_its_bar_marks_values_beyond)
{
    static const double wide[] = {0.5, 3}, narrow[] = {0.5, 0.75}, wrong[] = {2, 2},
                        zero[] = {0, 1}, endless[] = {0, HUGE_VAL};
    struct heatmap h = one_hot("a.svg", 2, 2);
    h.range = wide;
    (void)expect_drawn(&h);
    char *text = expect_svg("a.svg", NULL);
    cr_assert_not_null(strstr(text, ">0.5</text>"));
    cr_assert_not_null(strstr(text, ">3</text>"));
    free(text);
    h.range = narrow;
    (void)expect_drawn(&h);
    text = expect_svg("a.svg", NULL);
    cr_assert_not_null(strstr(text, ">\xE2\x89\xA5 0.75</text>"), "at least");
    cr_assert_null(strstr(text, "\xE2\x89\xA4"), "zeros are no values below");
    free(text);
    folder_remove();
    folder_make();
    h = one_hot("a.svg", 2, 2);
    h.range = wrong;
    expect_refused(&h, DPOT_ERR_RANGE, "goes from 2 to 2");
    h.range = endless;
    expect_refused(&h, DPOT_ERR_RANGE, "goes from 0 to inf");
    h.range = zero;
    h.is_log = true;
    expect_refused(&h, DPOT_ERR_RANGE, "above 0");
}

Test(heatmap, the_border_that_ships_is_drawn)
{
    struct array border;
    struct dpot_error error = {""};
    struct heatmap h = one_hot("a.svg", 2, 2);
    cr_assert_eq(array_read(DPOT_TEST_DATA "/data/conus_border.csv", &border, &error), DPOT_OK,
                 "%s", error.text);
    cr_assert(border.n_cols == 2 && border.n_rows >= 300 && border.n_rows <= 500);
    set_map(&h);
    for (size_t i = 0; i < border.n_rows; i++) {
        const double lat = border.values[2 * i], lon = border.values[2 * i + 1];
        cr_assert(lat > 24.5 && lat < 49.4 && lon > -125 && lon < -66.9);
    }
    (void)expect_drawn(&h);
    char *without = expect_svg("a.svg", NULL);
    h.border = border.values;
    h.n_border = border.n_rows;
    (void)expect_drawn(&h);
    char *with = expect_svg("a.svg", NULL);
    cr_assert_gt(strlen(with), strlen(without) + 4000);
    free(without);
    free(with);
    array_release(&border);
}

Test(heatmap, rows_of_nan_end_a_line_of_the_border)
{
    static const double border[] = {30, -100, 31, -101, NAN, NAN, 40, -80, 41, -81, NAN, NAN};
    struct heatmap h = one_hot("a.svg", 2, 2);
    set_map(&h);
    (void)expect_drawn(&h);
    char *text = expect_svg("a.svg", NULL);
    const size_t before = drawn_count(text, "stroke-linecap=\"round\"");
    free(text);
    h.border = border;
    h.n_border = 6;
    (void)expect_drawn(&h);
    text = expect_svg("a.svg", NULL);
    cr_assert_eq(drawn_count(text, "stroke-linecap=\"round\""), before + 4, "halo and core each");
    free(text);
}

Test(heatmap, constant_zero_and_single_cells_are_drawn)
{
    static const double values[] = {0, 0.25, 1e300, 1e-320, -1};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        for (int is_log = 0; is_log < (values[i] < 0 ? 1 : 2); is_log++) {
            const struct heatmap h = {.caption = {.path = folder_path("a.svg"), .title = "one"},
                                      .n_rows = 1,
                                      .n_cols = 1,
                                      .n_panels = 1,
                                      .values = {values + i},
                                      .is_log = is_log};
            const struct picture_size size = expect_drawn(&h);
            free(expect_svg("a.svg", &size));
        }
    }
}

Test(heatmap, grids_of_any_proportion_stay_on_the_page)
{
    static double many[2000];
    static const size_t shapes[][2] = {{1, 2000}, {2000, 1}, {3, 4}, {40, 50}, {1, 7}};
    for (size_t i = 0; i < 5; i++) {
        struct heatmap h = {.caption = {.path = folder_path("a.svg"),
                                        .title = "a title that is longer than a narrow page is "
                                                 "wide, so that it needs more lines"},
                            .n_rows = shapes[i][0],
                            .n_cols = shapes[i][1],
                            .n_panels = 2,
                            .values = {many, many},
                            .panel_titles = {"the first of the two heat maps", "second"}};
        for (size_t j = 0; j < 2000; j++) {
            many[j] = (double)j / 1e7;
        }
        struct picture_size size = expect_drawn(&h);
        free(expect_svg("a.svg", &size));
        h.has_box = true;
        h.lo[0] = h.lo[1] = 1000000000;
        h.hi[0] = h.hi[1] = 1000000005;
        size = expect_drawn(&h);
        free(expect_svg("a.svg", &size));
    }
}

Test(heatmap, values_that_cannot_be_drawn_are_refused)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e301};
    for (size_t i = 0; i < 4; i++) {
        const struct heatmap h = one_hot("a.png", 0, 0);
        cells[7] = bad[i];
        expect_refused(&h, DPOT_ERR_RANGE, "cell 8 of heat map 1");
    }
    struct heatmap h = one_hot("a.png", 0, 0);
    h.is_log = true;
    cells[7] = -1;
    expect_refused(&h, DPOT_ERR_RANGE, "logarithmic");
}

Test(heatmap, invalid_shapes_and_boxes_are_refused)
{
    struct heatmap h = one_hot("a.png", 0, 0);
    h.n_panels = 0;
    expect_refused(&h, DPOT_ERR_SHAPE, "0 heat maps");
    h = one_hot("a.png", 0, 0);
    h.n_rows = 0;
    expect_refused(&h, DPOT_ERR_SHAPE, "0 x 24");
    h = one_hot("a.png", 0, 0);
    h.n_cols = 20001;
    expect_refused(&h, DPOT_ERR_SHAPE, "20001");
    h = one_hot("a.png", 0, 0);
    h.n_rows = h.n_cols = 10000;
    expect_refused(&h, DPOT_ERR_TOO_LARGE, "cells are too many");
    h = one_hot("a.svg", 0, 0);
    h.n_rows = h.n_cols = 1000;
    expect_refused(&h, DPOT_ERR_TOO_LARGE, "or write a .png");
    h = one_hot("a.png", 0, 0);
    h.is_map = true;
    expect_refused(&h, DPOT_ERR_SHAPE, "box");
    h = one_hot("a.png", 0, 0);
    set_map(&h);
    h.hi[0] = 91;
    expect_refused(&h, DPOT_ERR_RANGE, "latitude 91");
    h = one_hot("a.png", 0, 0);
    set_map(&h);
    h.hi[1] = h.lo[1];
    expect_refused(&h, DPOT_ERR_RANGE, "coordinate 2");
    h = one_hot("a.jpg", 0, 0);
    expect_refused(&h, DPOT_ERR_ARGUMENT, ".png or .svg");
    h = one_hot("a.png", 0, 0);
    h.caption.scale = 100;
    expect_refused(&h, DPOT_ERR_ARGUMENT, "pixels");
}
