#include "picture/picture.h"

#include "drawn.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(picture, .init = folder_make, .fini = drawn_clean_up);

static const struct picture_stroke stroke = {.colour = {10, 20, 30}, .width = 2, .opacity = 0.5};
static const struct picture_font font = {12, true};

static struct picture *open_picture(const char *name, double width, double height, double scale)
{
    struct picture *picture = NULL;
    struct dpot_error error = {""};
    const struct picture_page page = {folder_path(name), "a <title> & more", width, height, scale};
    cr_assert_eq(picture_open(&page, &picture, &error), DPOT_OK, "%s", error.text);
    return picture;
}

/* Calls every drawing function once. */
static void draw_everything(struct picture *picture)
{
    static const uint8_t levels[6] = {0, 1, 255, 3, 3, 3};
    const struct picture_box box = {10, 10, 60, 40};
    const double points[8] = {5, 5, 50, 80, 90, 10, 5, 5};
    struct colour palette[COLOUR_LEVELS];
    colour_fill_palette(COLOUR_PALETTE_HEAT, palette);
    picture_fill(picture, &box, (struct colour){200, 100, 50});
    picture_clip(picture, &box);
    picture_line(picture, points, 4, &stroke);
    picture_unclip(picture);
    picture_dot(picture, 30, 30, 5, (struct colour){1, 2, 3}, 0.5);
    picture_cells(picture, &box, 2, 3, levels, palette);
    picture_text(picture, 50, 90, PICTURE_MIDDLE, &font, "x < y & z");
    picture_text_up(picture, 95, 50, &font, "up");
}

static struct picture_size draw(const char *name, double scale)
{
    struct picture_size size = {0, 0};
    struct dpot_error error = {""};
    struct picture *picture = open_picture(name, 100, 100, scale);
    draw_everything(picture);
    cr_assert_eq(picture_commit(picture, &size, &error), DPOT_OK, "%s", error.text);
    return size;
}

Test(picture, the_extension_chooses_the_format)
{
    struct picture_size size = draw("a.png", 1);
    expect_png("a.png", &size);
    size = draw("a.SVG", 1);
    char *text = expect_svg("a.SVG", &size);
    cr_assert_not_null(strstr(text, "<title>a &lt;title&gt; &amp; more</title>"));
    cr_assert_not_null(strstr(text, ">x &lt; y &amp; z</text>"));
    free(text);
}

Test(picture, the_scale_multiplies_pixels)
{
    struct picture_size size = draw("a.png", 2.5);
    cr_assert(size.width == 250 && size.height == 250);
    expect_png("a.png", &size);
    size = draw("a.svg", 2.5);
    cr_assert(size.width == 250 && size.height == 250);
    char *text = expect_svg("a.svg", &size);
    cr_assert_not_null(strstr(text, "viewBox=\"0 0 100 100\""));
    free(text);
}

Test(picture, the_same_calls_give_the_same_bytes)
{
    static const char *const names[2][2] = {{"a.png", "b.png"}, {"a.svg", "b.svg"}};
    for (size_t i = 0; i < 2; i++) {
        size_t len_a = 0, len_b = 0;
        (void)draw(names[i][0], 1);
        (void)draw(names[i][1], 1);
        char *a = drawn_read(names[i][0], &len_a), *b = drawn_read(names[i][1], &len_b);
        cr_assert(len_a == len_b && memcmp(a, b, len_a) == 0, "%s", names[i][0]);
        free(a);
        free(b);
    }
}

Test(picture, an_abandoned_picture_leaves_no_file)
{
    struct picture *picture = open_picture("a.svg", 100, 100, 1);
    draw_everything(picture);
    picture_abandon(picture);
    expect_no_file("a.svg");
    picture_abandon(open_picture("a.png", 100, 100, 1));
    expect_no_file("a.png");
    picture_abandon(NULL);
}

static void expect_refused(const char *name, double width, double height, dpot_status expected,
                           const char *sentence)
{
    struct picture *picture = NULL;
    struct dpot_error error = {""};
    const struct picture_page page = {folder_path(name), NULL, width, height, 1};
    cr_assert_eq(picture_open(&page, &picture, &error), expected, "%s", error.text);
    cr_assert_not_null(strstr(error.text, sentence), "%s", error.text);
    cr_assert_null(picture);
    expect_no_file(name);
}

Test(picture, unknown_formats_are_refused)
{
    expect_refused("a.gif", 10, 10, DPOT_ERR_ARGUMENT, "ends in .png or .svg");
    expect_refused("png", 10, 10, DPOT_ERR_ARGUMENT, "ends in .png or .svg");
}

Test(picture, a_scale_beyond_the_limits_is_refused_with_the_largest_width)
{
    struct picture *picture = NULL;
    struct dpot_error error = {""};
    struct picture_page page = {folder_path("a.svg"), NULL, 900, 900, 20000. / 900};
    cr_assert_eq(picture_open(&page, &picture, &error), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "this one may be 11585 wide"), "%s", error.text);
    page.scale = 11585. / 900;
    cr_assert_eq(picture_open(&page, &picture, &error), DPOT_OK, "%s", error.text);
    picture_abandon(picture);
    page.scale = 11586. / 900;
    cr_assert_eq(picture_open(&page, &picture, &error), DPOT_ERR_ARGUMENT);
}

Test(picture, sizes_beyond_the_limits_are_refused)
{
    expect_refused("a.png", 20001, 10, DPOT_ERR_TOO_LARGE, "20001 x 10 pixels");
    expect_refused("a.svg", 10, 20001, DPOT_ERR_TOO_LARGE, "10 x 20001 pixels");
    expect_refused("a.png", 20000, 20000, DPOT_ERR_TOO_LARGE, "in all");
    expect_refused("a.png", NAN, 10, DPOT_ERR_TOO_LARGE, "pixels");
    expect_refused("a.png", 10, 0, DPOT_ERR_TOO_LARGE, "pixels");
    expect_refused("nowhere/a.png", 10, 10, DPOT_ERR_IO, "failed");
}

Test(picture, too_many_marks_fail_at_the_end_and_leave_no_file)
{
    struct dpot_error error = {""};
    struct picture *picture = open_picture("a.svg", 100, 100, 1);
    for (size_t i = 0; i < 2 * PICTURE_SVG_MARKS_MAX + 20000; i++) {
        picture_dot(picture, 1, 1, 1, colour_ink, 1);
    }
    cr_assert_eq(picture_commit(picture, NULL, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "marks"), "%s", error.text);
    expect_no_file("a.svg");
}

Test(picture, marks_without_a_place_are_not_drawn)
{
    static const char *const names[] = {"a.png", "a.svg"};
    const struct picture_box empty = {0, 0, 0, 5}, nowhere = {NAN, 0, 5, 5};
    const double points[4] = {0, 0, INFINITY, 1};
    static const uint8_t levels[1] = {1};
    struct colour palette[COLOUR_LEVELS];
    colour_fill_palette(COLOUR_PALETTE_GREY, palette);
    for (size_t i = 0; i < 2; i++) {
        struct dpot_error error = {""};
        struct picture *picture = open_picture(names[i], 100, 100, 1);
        picture_fill(picture, &empty, colour_ink);
        picture_fill(picture, &nowhere, colour_ink);
        picture_line(picture, points, 2, &stroke);
        picture_line(picture, points, 1, &stroke);
        picture_dot(picture, NAN, 1, 1, colour_ink, 1);
        picture_text(picture, INFINITY, 1, PICTURE_END, &font, "x");
        picture_cells(picture, &empty, 1, 1, levels, palette);
        picture_clip(picture, &empty);
        picture_unclip(picture);
        cr_assert_eq(picture_commit(picture, NULL, &error), DPOT_OK, "%s", error.text);
    }
    cr_assert_eq(drawn_find("a.png", colour_paper).n, 10000);
    free(expect_svg("a.svg", NULL));
}

Test(picture, a_full_disk_is_reported)
{
    static const char *const names[] = {"full.png", "full.svg"};
    if (access("/dev/full", W_OK) != 0) {
        cr_skip_test("there is no /dev/full");
    }
    for (size_t i = 0; i < 2; i++) {
        struct dpot_error error = {""};
        cr_assert_eq(symlink("/dev/full", folder_path(names[i])), 0);
        struct picture *picture = open_picture(names[i], 100, 100, 1);
        draw_everything(picture);
        cr_assert_eq(picture_commit(picture, NULL, &error), DPOT_ERR_IO, "%s", error.text);
        cr_assert_neq(error.text[0], '\0');
    }
}

Test(picture, lines_longer_than_one_stroke_have_no_gap)
{
    enum { N = 5000 };
    static double points[2 * N];
    struct dpot_error error = {""};
    const struct picture_stroke solid = {.colour = {255, 0, 0}, .width = 4, .opacity = 1};
    struct picture *picture = open_picture("a.png", 1000, 20, 1);
    for (size_t i = 0; i < N; i++) {
        points[2 * i] = 1000.0 * (double)i / (N - 1);
        points[2 * i + 1] = 10;
    }
    picture_line(picture, points, N, &solid);
    cr_assert_eq(picture_commit(picture, NULL, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(drawn_find("a.png", solid.colour).n, 4000);
}
