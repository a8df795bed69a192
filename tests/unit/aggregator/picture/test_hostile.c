/* Any input gives a valid picture, or a refusal with a message and no file. */
#include "picture/curves.h"
#include "picture/heatmap.h"
#include "picture/points.h"
#include "picture/sheet.h"

#include "drawn.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(hostile_picture, .init = folder_make, .fini = drawn_clean_up);

#define ROUNDS 150
#define VALUES 400
#define TITLE 120

static uint64_t state = 88172645463325252u;

/* xorshift64 (Marsaglia 2003). */
static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % n);
}

static double nasty_number(void)
{
    static const double nasty[] = {0,     -0.0,   1e300,  -1e300, 1e301, 1e-320,
                                   NAN,   1e-300, 179.99, -90,    90,    INFINITY,
                                   1e299, 360,    0.1,    -1e-9,  1};
    const size_t kind = below(100);
    if (kind < 2) {
        return nasty[below(sizeof nasty / sizeof nasty[0])];
    }
    return kind < 30 ? (double)below(5) : ((double)below(2000001) - 1e6) / 1e4;
}

static double values[VALUES];
static char texts[4][TITLE];

static void fill(void)
{
    const bool is_positive = below(2);
    for (size_t i = 0; i < VALUES; i++) {
        values[i] = nasty_number();
        values[i] = is_positive ? fabs(values[i]) : values[i];
        if (below(4) && !isfinite(values[i])) {
            values[i] = 1;
        }
    }
    for (size_t t = 0; t < 4; t++) {
        const size_t len = below(TITLE);
        for (size_t i = 0; i < len; i++) {
            texts[t][i] = (char)(below(3) ? 'a' + (int)below(26) : 1 + (int)below(255));
        }
        texts[t][len] = '\0';
    }
}

static const char *text_or_null(size_t i)
{
    return below(3) ? texts[i] : NULL;
}

static struct picture_caption caption_of(const char *path)
{
    return (struct picture_caption){.path = path,
                                    .title = text_or_null(0),
                                    .x_label = text_or_null(1),
                                    .y_label = text_or_null(2),
                                    .value_label = text_or_null(3),
                                    .scale = below(3) ? 0 : 0.1 + (double)below(30) / 10};
}

static void check_result(dpot_status status, const struct dpot_error *error)
{
    if (status == DPOT_OK) {
        free(expect_svg("a.svg", NULL));
        cr_assert_eq(unlink(folder_path("a.svg")), 0);
        return;
    }
    cr_assert_neq(error->text[0], '\0');
    expect_no_file("a.svg");
}

Test(hostile_picture, heat_maps)
{
    for (size_t round = 0; round < ROUNDS; round++) {
        struct dpot_error error = {""};
        fill();
        struct heatmap h = {.caption = caption_of(folder_path("a.svg")),
                            .n_rows = 1 + below(10),
                            .n_cols = 1 + below(10),
                            .n_panels = 1 + below(3),
                            .values = {values, values + 100, values + 200},
                            .panel_titles = {texts[1], texts[2], texts[3]},
                            .has_box = below(2),
                            .lo = {nasty_number(), nasty_number()},
                            .hi = {fabs(nasty_number()) + 200, fabs(nasty_number()) + 200},
                            .is_log = below(2)};
        h.is_map = below(2);
        if (h.is_map && below(4)) {
            h.has_box = true;
            h.lo[0] = -(double)below(91);
            h.hi[0] = h.lo[0] + (double)below(90) / 7;
            h.lo[1] = -(double)below(361);
            h.hi[1] = h.lo[1] + (double)below(361) / 3;
            h.border = values + 300;
            h.n_border = below(3) ? 0 : 50;
        }
        if (below(3) == 0) {
            h.range = values + 350;
        }
        check_result(heatmap_draw(&h, NULL, &error), &error);
    }
}

Test(hostile_picture, points)
{
    for (size_t round = 0; round < ROUNDS; round++) {
        struct dpot_error error = {""};
        fill();
        const struct points p = {.caption = caption_of(folder_path("a.svg")),
                                 .n = below(50),
                                 .points = values,
                                 .weights = below(2) ? values + 100 : NULL,
                                 .is_map = below(2),
                                 .is_log = below(2),
                                 .border = below(2) ? values + 200 : NULL,
                                 .n_border = below(100)};
        check_result(points_draw(&p, NULL, &error), &error);
    }
}

Test(hostile_picture, curves)
{
    for (size_t round = 0; round < ROUNDS; round++) {
        struct dpot_error error = {""};
        const char *names[5] = {texts[0], texts[1], NULL, texts[2], texts[3]};
        fill();
        const struct curves c = {.caption = caption_of(folder_path("a.svg")),
                                 .n_rows = below(80),
                                 .n_cols = 1 + below(5),
                                 .values = values,
                                 .names = below(2) ? names : NULL,
                                 .is_log_x = below(2),
                                 .is_log_y = below(2),
                                 .has_error_bars = below(2),
                                 .is_from_zero = below(2)};
        size_t n_left_out = 0;
        check_result(curves_draw(&c, NULL, &n_left_out, &error), &error);
    }
}

Test(hostile_picture, sheets)
{
    for (size_t round = 0; round < ROUNDS; round++) {
        struct dpot_error error = {""};
        fill();
        const struct sheet s = {.caption = caption_of(folder_path("a.svg")),
                                .n = below(11),
                                .height = below(6),
                                .width = below(7),
                                .images = values,
                                .n_columns = below(14)};
        check_result(sheet_draw(&s, NULL, &error), &error);
    }
}
