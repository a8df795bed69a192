/* The only user of cairo and fontconfig: .png pictures, and text widths for every format. */
#include "base/alloc.h"
#include "picture/picture_format.h"

#include <cairo.h>
#include <fontconfig/fontconfig.h>
#include <math.h>
#include <string.h>

#define FONT_FAMILY "DejaVu Sans"
#define HALF_PI 1.57079632679489661923
#define SQUARE_SIDE 1.77245385090551602730 /* of the square with the area of a disc of radius 1 */

/* Limits of one stroke: the time of a stroke grows with the square of its length where it crosses
 * itself. */
#define CHUNK_VERTICES 2000
#define CHUNK_LENGTH 4000.0 /* pixels */

struct canvas {
    cairo_surface_t *surface;
    cairo_t *cr;
};

/* Grey antialiasing without hinting: text widths do not depend on the scale. */
static void choose_font(cairo_t *cr, const struct picture_font *font)
{
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(cr, options);
    cairo_font_options_destroy(options);
    cairo_select_font_face(cr, FONT_FAMILY, CAIRO_FONT_SLANT_NORMAL,
                           font->is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, font->size);
}

double picture_measure(const struct picture_font *font, const char *text)
{
    cairo_text_extents_t extents = {0};
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
    cairo_t *cr = cairo_create(surface);
    choose_font(cr, font);
    cairo_text_extents(cr, text, &extents);
    const bool is_measured = cairo_status(cr) == CAIRO_STATUS_SUCCESS;
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
    return is_measured ? fmax(extents.x_advance, extents.x_bearing + extents.width) : -1;
}

void picture_release_fonts(void)
{
    cairo_debug_reset_static_data(); /* cairo's font caches, which contain fontconfig patterns */
    FcFini();
}

static struct canvas *canvas_of(struct picture *picture)
{
    return picture->ctx;
}

static void set_colour(cairo_t *cr, struct colour colour, double opacity)
{
    cairo_set_source_rgba(cr, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0,
                          opacity);
}

/* Copies cairo's first failure into the picture. */
static void store_status(struct picture *picture)
{
    const cairo_status_t status = cairo_status(canvas_of(picture)->cr);
    if (status != CAIRO_STATUS_SUCCESS) {
        picture_fail(picture, DPOT_ERR_MEMORY, "drawing failed: %s",
                     cairo_status_to_string(status));
    }
}

static dpot_status begin(struct picture *picture, const char *title)
{
    (void)title; /* cairo cannot write text into a .png */
    struct canvas *canvas = dpot_alloc_array(NULL, 1, sizeof *canvas);
    if (!canvas) {
        return DPOT_ERR_MEMORY;
    }
    picture->ctx = canvas;
    canvas->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)picture->size.width,
                                                 (int)picture->size.height);
    canvas->cr = cairo_create(canvas->surface);
    set_colour(canvas->cr, colour_paper, 1);
    cairo_paint(canvas->cr);
    cairo_scale(canvas->cr, picture->scale, picture->scale);
    store_status(picture);
    return picture->status;
}

static void release(struct picture *picture)
{
    struct canvas *canvas = canvas_of(picture);
    if (canvas) {
        cairo_destroy(canvas->cr);
        cairo_surface_destroy(canvas->surface);
    }
    dpot_free_array(NULL, canvas, 1, sizeof *canvas);
    picture->ctx = NULL;
}

static void fill(struct picture *picture, const struct picture_box *box, struct colour colour)
{
    cairo_t *cr = canvas_of(picture)->cr;
    set_colour(cr, colour, 1);
    cairo_rectangle(cr, box->x, box->y, box->width, box->height);
    cairo_fill(cr);
    store_status(picture);
}

static void set_stroke(cairo_t *cr, const struct picture_stroke *stroke)
{
    set_colour(cr, stroke->colour, stroke->opacity);
    cairo_set_line_width(cr, stroke->width);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_cap(cr, stroke->dash > 0 ? CAIRO_LINE_CAP_BUTT : CAIRO_LINE_CAP_ROUND);
}

/* Adds the next vertices to the path; returns the index of the last. `run`: length of the line so
 * far. */
static size_t trace_chunk(cairo_t *cr, const double *points, size_t first, size_t n, double length,
                          double *run)
{
    const double end = *run + length;
    size_t i = first;
    cairo_move_to(cr, points[2 * i], points[2 * i + 1]);
    while (i + 1 < n && i - first < CHUNK_VERTICES && *run < end) {
        const double *p = points + 2 * ++i;
        cairo_line_to(cr, p[0], p[1]);
        *run += hypot(p[0] - p[-2], p[1] - p[-1]);
    }
    return i;
}

static void line(struct picture *picture, const double *points, size_t n,
                 const struct picture_stroke *stroke)
{
    cairo_t *cr = canvas_of(picture)->cr;
    const double pattern[2] = {stroke->dash, stroke->space};
    double run = 0;
    set_stroke(cr, stroke);
    for (size_t i = 0; i + 1 < n;) {
        /* Dashes continue across chunks. */
        cairo_set_dash(cr, pattern, stroke->dash > 0 ? 2 : 0, run);
        const bool is_first = i == 0;
        i = trace_chunk(cr, points, i, n, CHUNK_LENGTH / picture->scale, &run);
        if (is_first && i + 1 == n && n > 2 && points[0] == points[2 * i] &&
            points[1] == points[2 * i + 1]) {
            cairo_close_path(cr);
        }
        cairo_stroke(cr);
    }
    store_status(picture);
}

static void dot(struct picture *picture, double x, double y, double radius, struct colour colour,
                double opacity)
{
    cairo_t *cr = canvas_of(picture)->cr;
    set_colour(cr, colour, opacity);
    cairo_new_path(cr);
    if (radius * picture->scale < 1) { /* a square of the same area looks the same and is faster */
        const double side = SQUARE_SIDE * radius;
        cairo_rectangle(cr, x - side / 2, y - side / 2, side, side);
    } else {
        cairo_arc(cr, x, y, radius, 0, 4 * HALF_PI);
    }
    cairo_fill(cr);
}

static cairo_surface_t *image_of_levels(size_t n_rows, size_t n_cols, const uint8_t *levels,
                                        const struct colour *palette)
{
    cairo_surface_t *image =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)n_cols, (int)n_rows);
    unsigned char *data = cairo_image_surface_get_data(image);
    const int stride = cairo_image_surface_get_stride(image);
    for (size_t i = 0; data && i < n_rows; i++) {
        unsigned char *row = data + (ptrdiff_t)i * stride;
        for (size_t j = 0; j < n_cols; j++) {
            const struct colour c = palette[levels[i * n_cols + j]];
            const uint32_t pixel = (uint32_t)c.red << 16 | (uint32_t)c.green << 8 | c.blue;
            memcpy(row + 4 * j, &pixel, sizeof pixel); /* native byte order, as cairo requires */
        }
    }
    cairo_surface_mark_dirty(image);
    return image;
}

static void cells(struct picture *picture, const struct picture_box *box, size_t n_rows,
                  size_t n_cols, const uint8_t *levels, const struct colour *palette)
{
    cairo_t *cr = canvas_of(picture)->cr;
    cairo_surface_t *image = image_of_levels(n_rows, n_cols, levels, palette);
    const double across = box->width / (double)n_cols, down = box->height / (double)n_rows;
    /* Cells smaller than a pixel are averaged; larger ones have sharp edges. */
    const bool is_enlarged = fmin(across, down) * picture->scale >= 1;
    cairo_save(cr);
    cairo_rectangle(cr, box->x, box->y, box->width, box->height);
    cairo_clip(cr);
    cairo_translate(cr, box->x, box->y);
    cairo_scale(cr, across, down);
    cairo_set_source_surface(cr, image, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cr),
                             is_enlarged ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_pattern_set_extend(cairo_get_source(cr), CAIRO_EXTEND_PAD);
    cairo_paint(cr);
    cairo_restore(cr);
    cairo_surface_destroy(image);
    store_status(picture);
}

static void text(struct picture *picture, double x, double y, enum picture_anchor anchor,
                 bool is_upward, const struct picture_font *font, const char *words)
{
    cairo_t *cr = canvas_of(picture)->cr;
    const double width = picture_text_width(font, words);
    const double start = anchor == PICTURE_START ? 0 : anchor == PICTURE_MIDDLE ? width / 2 : width;
    cairo_save(cr);
    choose_font(cr, font);
    set_colour(cr, colour_ink, 1);
    cairo_translate(cr, x, y);
    cairo_rotate(cr, is_upward ? -HALF_PI : 0);
    cairo_move_to(cr, -start, 0);
    cairo_show_text(cr, words);
    cairo_new_path(cr);
    cairo_restore(cr);
    store_status(picture);
}

static void clip(struct picture *picture, const struct picture_box *box)
{
    cairo_t *cr = canvas_of(picture)->cr;
    cairo_save(cr);
    cairo_rectangle(cr, box->x, box->y, box->width, box->height);
    cairo_clip(cr);
    store_status(picture);
}

static void unclip(struct picture *picture)
{
    cairo_restore(canvas_of(picture)->cr);
}

static cairo_status_t write_bytes(void *stream, const unsigned char *data, unsigned int len)
{
    return fwrite(data, 1, len, stream) == len ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static dpot_status end(struct picture *picture)
{
    store_status(picture);
    if (picture->status != DPOT_OK) {
        return picture->status;
    }
    const cairo_status_t status = cairo_surface_write_to_png_stream(
        canvas_of(picture)->surface, write_bytes, picture->output.stream);
    if (status == CAIRO_STATUS_WRITE_ERROR) {
        picture_fail(picture, DPOT_ERR_IO, "writing %s failed: is the disk full?",
                     picture->output.path);
    } else if (status != CAIRO_STATUS_SUCCESS) {
        picture_fail(picture, DPOT_ERR_MEMORY, "writing %s failed: %s", picture->output.path,
                     cairo_status_to_string(status));
    }
    return picture->status;
}

const struct picture_format picture_format_png = {
    .extension = ".png",
    .marks_max = PICTURE_MARKS_MAX,
    .begin = begin,
    .fill = fill,
    .line = line,
    .dot = dot,
    .cells = cells,
    .text = text,
    .clip = clip,
    .unclip = unclip,
    .end = end,
    .release = release,
};
