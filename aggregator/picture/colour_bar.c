#include "picture/colour_bar.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BAR_WIDTH 16
#define SWATCH 16
#define TICK 4
#define LESS "\xE2\x89\xA4 " /* prefixes of the number at an end that values exceed */
#define MORE "\xE2\x89\xA5 "

dpot_status colour_bar_check_range(const double *range, bool is_log, struct dpot_error *error)
{
    if (!range) {
        return DPOT_OK;
    }
    const bool is_finite =
        fabs(range[0]) <= PICTURE_VALUE_MAX && fabs(range[1]) <= PICTURE_VALUE_MAX;
    if (!is_finite || !(range[0] < range[1])) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the colour scale goes from %g to %g: the first must be below the "
                              "second",
                              range[0], range[1]);
    }
    if (is_log && !(range[0] >= 1 / PICTURE_VALUE_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the colour scale begins at %g: a logarithmic one needs a number "
                              "above 0",
                              range[0]);
    }
    return DPOT_OK;
}

void colour_bar_settle(struct colour_scale *scale, bool is_log, const double *range)
{
    if (range) {
        colour_scale_fix(scale, is_log, range[0], range[1]);
    } else {
        colour_scale_settle(scale, is_log);
    }
}

static bool has_swatch(const struct colour_bar *bar)
{
    return bar->scale->has_zero && bar->palette[0].red != bar->palette[1].red;
}

static double bar_height(const struct colour_bar *bar)
{
    return has_swatch(bar) ? bar->height - SWATCH - FRAME_GAP : bar->height;
}

/* Numbers at both ends: for a fixed scale, and for a logarithmic one, where the next tick may be
 * far. */
static void number_ends(struct colour_bar *bar)
{
    struct axis_tick *ticks = bar->axis.ticks;
    char plain[AXIS_TEXT_MAX];
    axis_number_ends(&bar->axis, bar_height(bar), &frame_number_font);
    if (bar->scale->is_cut_below) {
        memcpy(plain, ticks[0].text, sizeof plain);
        (void)snprintf(ticks[0].text, AXIS_TEXT_MAX, LESS "%.40s", plain);
    }
    if (bar->scale->is_cut_above) {
        struct axis_tick *last = &ticks[bar->axis.n_ticks - 1];
        memcpy(plain, last->text, sizeof plain);
        (void)snprintf(last->text, AXIS_TEXT_MAX, MORE "%.40s", plain);
    }
}

static void set_label(struct colour_bar *bar, const char *label)
{
    char text[LABEL_BYTES_MAX];
    (void)snprintf(text, sizeof text, "%.200s, log scale", label ? label : "");
    label_wrap(&frame_label_font, label && bar->scale->is_log ? text : label, bar->height,
               LABEL_LINES_MAX, &bar->label);
}

void colour_bar_init(struct colour_bar *bar, const struct colour_scale *scale,
                     const struct colour *palette, const char *label, double height)
{
    *bar = (struct colour_bar){.scale = scale, .palette = palette, .height = height};
    set_label(bar, label);
    axis_init(&bar->axis, AXIS_NUMBER, scale->is_log, scale->lo, scale->hi, 0);
    axis_choose_ticks(&bar->axis, bar_height(bar), false, &frame_number_font);
    if (scale->is_log || scale->is_fixed) {
        number_ends(bar);
    }
}

/* Distance from the left of the bar to the right of its numbers. */
static double numbers_end(const struct colour_bar *bar)
{
    const double numbers = axis_text_width(&bar->axis, &frame_number_font);
    const double zero = has_swatch(bar) ? picture_text_width(&frame_number_font, "zero") : 0;
    return ceil(BAR_WIDTH + TICK + 4 + fmax(numbers, zero));
}

double colour_bar_width(const struct colour_bar *bar)
{
    return numbers_end(bar) + (double)bar->label.n * frame_line_height(&frame_label_font) +
           (bar->label.n ? 7 : 0);
}

static void outline(struct picture *picture, const struct picture_box *b)
{
    const struct picture_stroke stroke = {.colour = colour_ink, .width = 0.8, .opacity = 1};
    picture_outline(picture, b, &stroke);
}

static void draw_numbers(struct picture *picture, const struct colour_bar *bar,
                         const struct picture_box *box)
{
    const struct picture_stroke stroke = {.colour = colour_ink, .width = 0.8, .opacity = 1};
    const double right = box->x + box->width;
    for (size_t i = 0; i < bar->axis.n_ticks; i++) {
        const char *text = bar->axis.ticks[i].text;
        const double y = box->y + box->height * (1 - axis_tick_share(&bar->axis, i));
        const double points[4] = {right, y, right + (text[0] ? TICK : TICK / 2.0), y};
        picture_line(picture, points, 2, &stroke);
        picture_text(picture, right + TICK + 4, y + 0.36 * frame_number_font.size, PICTURE_START,
                     &frame_number_font, text);
    }
}

void colour_bar_draw(struct picture *picture, const struct colour_bar *bar, double x, double y)
{
    uint8_t levels[COLOUR_LEVELS - 1];
    const struct picture_box box = {x, y, BAR_WIDTH, bar_height(bar)};
    for (size_t i = 0; i < sizeof levels; i++) {
        levels[i] = (uint8_t)(COLOUR_LEVELS - 1 - i);
    }
    picture_cells(picture, &box, sizeof levels, 1, levels, bar->palette);
    outline(picture, &box);
    draw_numbers(picture, bar, &box);
    if (has_swatch(bar)) {
        const struct picture_box swatch = {x, y + bar->height - SWATCH, BAR_WIDTH, SWATCH};
        picture_fill(picture, &swatch, bar->palette[0]);
        outline(picture, &swatch);
        picture_text(picture, x + BAR_WIDTH + TICK + 4,
                     swatch.y + SWATCH / 2.0 + 0.36 * frame_number_font.size, PICTURE_START,
                     &frame_number_font, "zero");
    }
    for (size_t i = 0; i < bar->label.n; i++) {
        picture_text_up(picture,
                        x + numbers_end(bar) + frame_label_font.size + 6 +
                            (double)i * frame_line_height(&frame_label_font),
                        y + bar->height / 2, &frame_label_font, bar->label.lines[i]);
    }
}
