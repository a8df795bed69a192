#include "picture/frame.h"

#include <math.h>

#define TICK 4
#define LABEL_LINES 2   /* of an axis label */
#define LINE_HEIGHT 1.3 /* relative to the font size */
#define ASCENT 0.76     /* from the top of a digit to its baseline, relative to the font size */
#define BORDER_CHUNK 512

const struct picture_font frame_title_font = {17, true};
const struct picture_font frame_panel_font = {14, true};
const struct picture_font frame_label_font = {13, false};
const struct picture_font frame_number_font = {12, false};

static const struct picture_stroke outline = {.width = 1, .opacity = 1};

static struct picture_stroke stroke_of(struct colour colour, double width)
{
    struct picture_stroke stroke = outline;
    stroke.colour = colour;
    stroke.width = width;
    return stroke;
}

double frame_line_height(const struct picture_font *font)
{
    return ceil(LINE_HEIGHT * font->size);
}

/* The label of an axis, wrapped to the side of the box. */
static struct label_lines wrap_label(const char *label, double length)
{
    struct label_lines lines;
    label_wrap(&frame_label_font, label, length, LABEL_LINES, &lines);
    return lines;
}

static double label_height(const char *label, double length)
{
    const struct label_lines lines = wrap_label(label, length);
    return lines.n ? (double)lines.n * frame_line_height(&frame_label_font) + 4 : 0;
}

/* How far a number of the x axis extends beyond the left or right end of the box. */
static double number_overhang(const struct frame *frame, size_t tick, bool is_right)
{
    const double half = picture_text_width(&frame_number_font, frame->x.ticks[tick].text) / 2;
    const double at = frame->box.width * axis_tick_share(&frame->x, tick);
    return is_right ? at + half - frame->box.width : half - at;
}

void frame_overhang(const struct frame *frame, double *left, double *right)
{
    *left = *right = 0;
    for (size_t i = 0; frame->has_x_numbers && i < frame->x.n_ticks; i++) {
        if (frame->x.ticks[i].text[0]) {
            *left = fmax(*left, number_overhang(frame, i, false));
            *right = fmax(*right, number_overhang(frame, i, true));
        }
    }
}

void frame_trim_numbers(struct frame *frame, double most)
{
    size_t n_left = 0;
    for (size_t i = 0; i < frame->x.n_ticks; i++) {
        n_left += frame->x.ticks[i].text[0] != '\0';
    }
    for (size_t i = 0; i < frame->x.n_ticks && n_left > 1; i++) {
        if (frame->x.ticks[i].text[0] &&
            (number_overhang(frame, i, false) > most || number_overhang(frame, i, true) > most)) {
            frame->x.ticks[i].text[0] = '\0';
            n_left--;
        }
    }
}

double frame_right(const struct frame *frame)
{
    double left = 0, right = 0;
    frame_overhang(frame, &left, &right);
    return ceil(fmax(0, right - FRAME_MARGIN + 2));
}

double frame_left(const struct frame *frame)
{
    double left = 0, right = 0;
    frame_overhang(frame, &left, &right);
    const double numbers =
        frame->has_y_numbers ? TICK + 4 + axis_text_width(&frame->y, &frame_number_font) : 0;
    const double label = label_height(frame->y_label, frame->box.height);
    return ceil(fmax(numbers + label, left - FRAME_MARGIN + 2));
}

double frame_below(const struct frame *frame)
{
    const double numbers =
        frame->has_x_numbers ? TICK + 2 + frame_line_height(&frame_number_font) : 0;
    return ceil(numbers + label_height(frame->x_label, frame->box.width));
}

double frame_x(const struct frame *frame, double value)
{
    return frame->box.x + frame->box.width * axis_share(&frame->x, value);
}

static double y_of_share(const struct frame *frame, double share)
{
    return frame->box.y + frame->box.height * (frame->is_downward ? share : 1 - share);
}

double frame_y(const struct frame *frame, double value)
{
    return y_of_share(frame, axis_share(&frame->y, value));
}

/* Lines at numbered ticks only, since minor ticks would clutter the plot. */
void frame_draw_grid(struct picture *picture, const struct frame *frame)
{
    const struct picture_stroke stroke = stroke_of(colour_rule, 1);
    const struct picture_box *box = &frame->box;
    for (size_t i = 0; i < frame->x.n_ticks; i++) {
        const double x = box->x + box->width * axis_tick_share(&frame->x, i);
        const double points[4] = {x, box->y, x, box->y + box->height};
        if (frame->x.ticks[i].text[0]) {
            picture_line(picture, points, 2, &stroke);
        }
    }
    for (size_t i = 0; i < frame->y.n_ticks; i++) {
        const double y = y_of_share(frame, axis_tick_share(&frame->y, i));
        const double points[4] = {box->x, y, box->x + box->width, y};
        if (frame->y.ticks[i].text[0]) {
            picture_line(picture, points, 2, &stroke);
        }
    }
}

static void draw_x_ticks(struct picture *picture, const struct frame *frame)
{
    const struct picture_stroke stroke = stroke_of(colour_ink, 1);
    const double bottom = frame->box.y + frame->box.height;
    for (size_t i = 0; i < frame->x.n_ticks; i++) {
        const char *text = frame->x.ticks[i].text;
        const double x = frame->box.x + frame->box.width * axis_tick_share(&frame->x, i);
        const double points[4] = {x, bottom, x, bottom + (text[0] ? TICK : TICK / 2.0)};
        picture_line(picture, points, 2, &stroke);
        picture_text(picture, x, bottom + TICK + 2 + ASCENT * frame_number_font.size + 1,
                     PICTURE_MIDDLE, &frame_number_font, text);
    }
}

static void draw_y_ticks(struct picture *picture, const struct frame *frame)
{
    const struct picture_stroke stroke = stroke_of(colour_ink, 1);
    for (size_t i = 0; i < frame->y.n_ticks; i++) {
        const char *text = frame->y.ticks[i].text;
        const double y = y_of_share(frame, axis_tick_share(&frame->y, i));
        const double points[4] = {frame->box.x - (text[0] ? TICK : TICK / 2.0), y, frame->box.x, y};
        picture_line(picture, points, 2, &stroke);
        picture_text(picture, frame->box.x - TICK - 4, y + ASCENT * frame_number_font.size / 2,
                     PICTURE_END, &frame_number_font, text);
    }
}

static void draw_labels(struct picture *picture, const struct frame *frame)
{
    const struct picture_font *font = &frame_label_font;
    const struct picture_box *box = &frame->box;
    const struct label_lines x = wrap_label(frame->x_label, box->width);
    const struct label_lines y = wrap_label(frame->y_label, box->height);
    const double bottom = box->y + box->height + frame_below(frame);
    for (size_t i = 0; i < x.n; i++) {
        const double from_last = (double)(x.n - 1 - i) * frame_line_height(font);
        picture_text(picture, box->x + box->width / 2, bottom - from_last - 0.3 * font->size,
                     PICTURE_MIDDLE, font, x.lines[i]);
    }
    for (size_t i = 0; i < y.n; i++) {
        picture_text_up(
            picture, box->x - frame_left(frame) + font->size + (double)i * frame_line_height(font),
            box->y + box->height / 2, font, y.lines[i]);
    }
}

void frame_draw(struct picture *picture, const struct frame *frame)
{
    const struct picture_stroke stroke = stroke_of(colour_ink, 1);
    picture_outline(picture, &frame->box, &stroke);
    if (frame->has_x_numbers) {
        draw_x_ticks(picture, frame);
    }
    if (frame->has_y_numbers) {
        draw_y_ticks(picture, frame);
    }
    draw_labels(picture, frame);
}

double frame_title_height(const struct label_lines *lines, const struct picture_font *font)
{
    return lines->n ? (double)lines->n * frame_line_height(font) + FRAME_GAP : 0;
}

double frame_draw_title(struct picture *picture, const struct label_lines *lines,
                        const struct picture_font *font, double x, double y)
{
    for (size_t i = 0; i < lines->n; i++) {
        picture_text(picture, x, y + (double)i * frame_line_height(font) + 0.95 * font->size,
                     PICTURE_MIDDLE, font, lines->lines[i]);
    }
    return y + frame_title_height(lines, font);
}

double frame_degree_ratio(double lat_lo, double lat_hi)
{
    const double radians = (lat_lo + lat_hi) / 2 * 0.01745329251994329577;
    return fmax(cos(radians), 0.05); /* near a pole the ratio has no useful limit */
}

/* White under dark, so that the line is visible on dark and light cells; thinner on a small map. */
static void draw_chunk(struct picture *picture, const double *points, size_t n, double map_width)
{
    const double share = fmax(0.6, fmin(1, map_width / 700));
    struct picture_stroke halo = stroke_of(colour_paper, 2.6 * share);
    halo.opacity = 0.75;
    const struct picture_stroke core = stroke_of(colour_ink, 1.1 * share);
    picture_line(picture, points, n, &halo);
    picture_line(picture, points, n, &core);
}

void frame_draw_border(struct picture *picture, const struct frame *frame, const double *border,
                       size_t n)
{
    double points[2 * BORDER_CHUNK];
    size_t n_points = 0;
    picture_clip(picture, &frame->box);
    for (size_t i = 0; i < n; i++) {
        const double x = frame_x(frame, border[2 * i + 1]), y = frame_y(frame, border[2 * i]);
        if (isfinite(x) && isfinite(y)) {
            points[2 * n_points] = x;
            points[2 * n_points++ + 1] = y;
        }
        const bool is_end = !isfinite(x) || !isfinite(y) || i + 1 == n;
        if (is_end || n_points == BORDER_CHUNK) {
            draw_chunk(picture, points, n_points, frame->box.width);
            /* The next chunk starts where this one ended. */
            points[0] = x;
            points[1] = y;
            n_points = is_end ? 0 : 1;
        }
    }
    picture_unclip(picture);
}

dpot_status frame_check_map(const double *points, size_t n, const char *what,
                            struct dpot_error *error)
{
    for (size_t i = 0; i < n; i++) {
        if (fabs(points[2 * i]) > 90 || fabs(points[2 * i + 1]) > 360) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "%s %zu is at latitude %g, longitude %g: a map needs degrees, "
                                  "latitude first",
                                  what, i + 1, points[2 * i], points[2 * i + 1]);
        }
    }
    return DPOT_OK;
}
