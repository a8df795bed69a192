#include "files/colour_bar.h"

#include <math.h>

#define BAR_WIDTH 16
#define SWATCH 16
#define TICK 4

static bool has_swatch(const struct colour_bar *bar)
{
    return bar->scale->has_zero && bar->palette[0].red != bar->palette[1].red;
}

static double bar_height(const struct colour_bar *bar)
{
    return has_swatch(bar) ? bar->height - SWATCH - FRAME_GAP : bar->height;
}

void colour_bar_init(struct colour_bar *bar, const struct colour_scale *scale,
                     const struct colour *palette, const char *label, double height)
{
    *bar = (struct colour_bar){.scale = scale, .palette = palette, .height = height};
    label_wrap(&frame_label_font, label, height, LABEL_LINES_MAX, &bar->label);
    axis_init(&bar->axis, AXIS_NUMBER, scale->is_log, scale->lo, scale->hi, 0);
    axis_choose_ticks(&bar->axis, bar_height(bar), false, &frame_number_font);
}

/* From the left of the bar to the right of its numbers. */
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
    const double corners[10] = {b->x,
                                b->y,
                                b->x + b->width,
                                b->y,
                                b->x + b->width,
                                b->y + b->height,
                                b->x,
                                b->y + b->height,
                                b->x,
                                b->y};
    picture_line(picture, corners, 5, &stroke);
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
