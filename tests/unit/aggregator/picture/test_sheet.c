#include "picture/sheet.h"

#include "drawn.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(sheet, .init = folder_make, .fini = drawn_clean_up);

#define N 12
#define SIDE 8

static double pixels[N * SIDE * SIDE];

static struct sheet gradients(const char *name)
{
    for (size_t i = 0; i < N * SIDE * SIDE; i++) {
        pixels[i] = (double)(i % SIDE) / (SIDE - 1);
    }
    return (struct sheet){.caption = {.path = folder_path(name), .title = "samples"},
                          .n = N,
                          .height = SIDE,
                          .width = SIDE,
                          .images = pixels};
}

static struct picture_size expect_drawn(const struct sheet *s)
{
    struct picture_size size = {0, 0};
    struct dpot_error error = {""};
    cr_assert_eq(sheet_draw(s, &size, &error), DPOT_OK, "%s", error.text);
    return size;
}

static void expect_refused(const struct sheet *s, dpot_status expected, const char *sentence)
{
    struct dpot_error error = {""};
    cr_assert_eq(sheet_draw(s, NULL, &error), expected, "%s", error.text);
    cr_assert_not_null(strstr(error.text, sentence), "%s", error.text);
    expect_no_file("a.");
}

Test(sheet, every_image_is_there_and_the_greys_have_a_legend)
{
    struct sheet s = gradients("a.svg");
    struct picture_size size = expect_drawn(&s);
    char *text = expect_svg("a.svg", &size);
    cr_assert_eq(drawn_count(text, "<g shape-rendering"), N + 1);
    cr_assert(strstr(text, ">samples</text>") && strstr(text, ">pixel value</text>") &&
              strstr(text, ">0.0</text>") && strstr(text, ">1.0</text>"));
    free(text);
    s.caption.path = folder_path("a.png");
    size = expect_drawn(&s);
    expect_png("a.png", &size);
}

Test(sheet, the_number_of_columns_can_be_chosen)
{
    for (size_t n = 1; n <= N; n++) {
        struct sheet s = gradients("a.svg");
        s.n_columns = n;
        const struct picture_size size = expect_drawn(&s);
        char *text = expect_svg("a.svg", &size);
        const double y = drawn_number(text, "translate(", 0); /* x of the first */
        size_t in_first_column = 0;
        for (size_t i = 0; i < N; i++) {
            in_first_column += fabs(drawn_number(text, "translate(", i) - y) < 0.01;
        }
        cr_assert_eq(in_first_column, (N + n - 1) / n);
        free(text);
    }
}

Test(sheet, the_first_row_is_on_top_and_white_is_the_largest)
{
    struct sheet s = gradients("a.png");
    s.n = 1;
    memset(pixels, 0, sizeof pixels);
    for (size_t i = 0; i < SIDE; i++) {
        pixels[i] = 3;
    }
    s.caption.title = NULL;
    (void)expect_drawn(&s);
    const struct patch black = drawn_find("a.png", (struct colour){0, 0, 0});
    cr_assert_gt(black.n, 20 * 20 * SIDE * (SIDE - 1) - 100);
    cr_assert_gt(black.y, 0.5);
}

/* Black and white are at the ends of the range. 0 between them is the middle grey, also if no pixel
 * is negative, and values beyond are black or white. */
Test(sheet, a_range_fixes_black_and_white)
{
    static const double range[2] = {-1, 1};
    static const double values[4] = {-7, 0, 0, 9};
    struct sheet s = {.caption = {.path = folder_path("a.png")},
                      .n = 1,
                      .height = 2,
                      .width = 2,
                      .images = values,
                      .range = range};
    (void)expect_drawn(&s);
    const size_t n_black = drawn_find("a.png", (struct colour){0, 0, 0}).n;
    const size_t n_grey = drawn_find("a.png", (struct colour){128, 128, 128}).n;
    cr_assert(n_black > 1000 && n_grey > 2 * 1000);
    s.images = values + 1;
    s.n = 1;
    s.height = 1;
    (void)expect_drawn(&s);
    cr_assert_gt(drawn_find("a.png", (struct colour){128, 128, 128}).n, 2 * 1000);
}

Test(sheet, constant_negative_and_single_pixels_are_drawn)
{
    static const double values[] = {0, 1, -1, 1e300, -1e300, 1e-320};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct sheet s = {.caption = {.path = folder_path("a.svg")},
                                .n = 1,
                                .height = 1,
                                .width = 1,
                                .images = values + i};
        const struct picture_size size = expect_drawn(&s);
        free(expect_svg("a.svg", &size));
    }
}

Test(sheet, images_of_any_proportion_stay_on_the_page)
{
    static double many[4000];
    static const size_t shapes[][3] = {
        {1, 4000, 1}, {1, 1, 4000}, {4000, 1, 1}, {400, 1, 10}, {400, 10, 1}};
    for (size_t i = 0; i < 5; i++) {
        const struct sheet s = {.caption = {.path = folder_path("a.svg"), .title = "odd"},
                                .n = shapes[i][0],
                                .height = shapes[i][1],
                                .width = shapes[i][2],
                                .images = many};
        struct picture_size size = {0, 0};
        struct dpot_error error = {""};
        const dpot_status status = sheet_draw(&s, &size, &error);
        cr_assert(status == DPOT_OK || status == DPOT_ERR_TOO_LARGE, "%s", error.text);
        if (status == DPOT_OK) {
            free(expect_svg("a.svg", &size));
        }
    }
}

Test(sheet, images_that_cannot_be_drawn_are_refused)
{
    struct sheet s = gradients("a.png");
    pixels[SIDE * SIDE + 2] = NAN;
    expect_refused(&s, DPOT_ERR_RANGE, "pixel 3 of image 2");
    s = gradients("a.png");
    s.n = 0;
    expect_refused(&s, DPOT_ERR_SHAPE, "no images");
    s = gradients("a.png");
    s.height = 0;
    expect_refused(&s, DPOT_ERR_SHAPE, "0 x 8");
    s = gradients("a.png");
    s.width = 20001;
    expect_refused(&s, DPOT_ERR_SHAPE, "20001");
    s = gradients("a.png");
    s.n = SIZE_MAX;
    expect_refused(&s, DPOT_ERR_TOO_LARGE, "images are too many");
    s = gradients("a.png");
    s.n = PICTURE_MARKS_MAX / 10;
    expect_refused(&s, DPOT_ERR_TOO_LARGE, "pixels are too many");
    s = gradients("a.png");
    s.caption.scale = 22;
    s.n_columns = 1;
    expect_refused(&s, DPOT_ERR_TOO_LARGE, "more columns");
}
