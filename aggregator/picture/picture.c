#include "picture/picture.h"

#include "base/alloc.h"
#include "picture/label.h"
#include "picture/picture_format.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define TITLE_BYTES_MAX 1024
#define EXTRA_MARKS 10000

static const struct picture_format *const formats[] = {&picture_format_png, &picture_format_svg};

/* By extension, ignoring case; NULL: unknown. */
static const struct picture_format *find_format(const char *path)
{
    const size_t len = strlen(path);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const char *extension = formats[i]->extension;
        const size_t extension_len = strlen(extension);
        size_t n = 0;
        while (len >= extension_len && n < extension_len &&
               (path[len - extension_len + n] | 0x20) == (extension[n] | 0x20)) {
            n++;
        }
        if (n == extension_len) {
            return formats[i];
        }
    }
    return NULL;
}

dpot_status picture_check_path(const char *path, struct dpot_error *error)
{
    return find_format(path)
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_ARGUMENT,
                                "the picture %.200s has no known format: give a name that ends in "
                                ".png or .svg",
                                path);
}

size_t picture_marks_max(const char *path)
{
    const struct picture_format *format = find_format(path);
    return format ? format->marks_max : 0;
}

dpot_status picture_check_marks(const char *path, size_t n, const char *what,
                                struct dpot_error *error)
{
    const size_t most = picture_marks_max(path);
    const bool could_be_png = n <= PICTURE_MARKS_MAX;
    return n <= most ? DPOT_OK
                     : dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                      "%zu %s are too many for %.200s: at most %zu%s", n, what,
                                      path, most, could_be_png ? ", or write a .png" : "");
}

void picture_fail(struct picture *picture, dpot_status status, const char *format, ...)
{
    if (picture->status != DPOT_OK) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(picture->error.text, sizeof picture->error.text, format, arguments);
    va_end(arguments);
    picture->status = status;
}

static bool fits(double width, double height)
{
    return width >= 1 && height >= 1 && width <= PICTURE_SIDE_MAX && height <= PICTURE_SIDE_MAX &&
           width * height <= (double)PICTURE_PIXELS_MAX;
}

/* Maximum width in pixels of a page of these proportions. */
static double widest(const struct picture_page *page)
{
    const double by_pixels = sqrt((double)PICTURE_PIXELS_MAX / (page->width * page->height));
    const double by_side = PICTURE_SIDE_MAX / fmax(page->width, page->height);
    return floor(page->width * fmin(by_pixels, by_side));
}

static dpot_status check_page(const struct picture_page *page, struct picture_size *size,
                              struct dpot_error *error)
{
    const double width = ceil(page->width * page->scale - 1e-6);
    const double height = ceil(page->height * page->scale - 1e-6);
    if (!fits(width, height) && page->scale > 1 && fits(page->width, page->height)) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "the picture would have %.0f x %.0f pixels, at most %d a side and "
                              "%zu in all: this one may be %.0f wide",
                              width, height, PICTURE_SIDE_MAX, PICTURE_PIXELS_MAX, widest(page));
    }
    if (!fits(width, height)) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the picture would have %.0f x %.0f pixels: at most %d a side and "
                              "%zu in all; draw it smaller",
                              width, height, PICTURE_SIDE_MAX, PICTURE_PIXELS_MAX);
    }
    *size = (struct picture_size){(uint32_t)width, (uint32_t)height};
    return DPOT_OK;
}

dpot_status picture_open(const struct picture_page *page, struct picture **picture,
                         struct dpot_error *error)
{
    struct picture_size size;
    char title[TITLE_BYTES_MAX];
    *picture = NULL;
    dpot_status status = picture_check_path(page->path, error);
    if (status == DPOT_OK) {
        status = check_page(page, &size, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    struct picture *p = dpot_alloc_array(NULL, 1, sizeof *p);
    if (!p) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a picture");
    }
    p->format = find_format(page->path);
    p->width = page->width;
    p->height = page->height;
    p->scale = page->scale;
    p->size = size;
    status = output_open(page->path, &p->output, error);
    if (status == DPOT_OK) {
        label_clean(page->title ? page->title : "", title, sizeof title);
        status = p->format->begin(p, title);
        status = status == DPOT_OK ? status : dpot_error_set(error, status, "%s", p->error.text);
    }
    if (status != DPOT_OK) {
        picture_abandon(p);
        return status;
    }
    *picture = p;
    return DPOT_OK;
}

void picture_abandon(struct picture *picture)
{
    if (!picture) {
        return;
    }
    picture->format->release(picture);
    output_abandon(&picture->output);
    dpot_free_array(NULL, picture, 1, sizeof *picture);
}

dpot_status picture_commit(struct picture *picture, struct picture_size *size,
                           struct dpot_error *error)
{
    dpot_status status = picture->status;
    if (status == DPOT_OK) {
        status = picture->format->end(picture);
    }
    if (status != DPOT_OK) {
        status = dpot_error_set(error, status, "%s", picture->error.text);
    } else {
        if (size) {
            *size = picture->size;
        }
        status = output_commit(&picture->output, error);
    }
    picture_abandon(picture);
    return status;
}

/* Whether the next n marks may be drawn. The caller has counted its data; this limits everything
 * else, such as borders drawn twice, numbers and titles. */
static bool may_draw(struct picture *picture, size_t n)
{
    const size_t most = 2 * picture->format->marks_max + EXTRA_MARKS;
    if (picture->status == DPOT_OK && n > most - picture->n_marks) {
        picture_fail(picture, DPOT_ERR_TOO_LARGE, "the picture has more than %zu marks: draw less",
                     most);
    }
    picture->n_marks += picture->status == DPOT_OK ? n : 0;
    return picture->status == DPOT_OK;
}

static bool is_box(const struct picture_box *box)
{
    return isfinite(box->x) && isfinite(box->y) && box->width > 0 && box->height > 0 &&
           isfinite(box->width) && isfinite(box->height);
}

void picture_fill(struct picture *picture, const struct picture_box *box, struct colour colour)
{
    if (may_draw(picture, 1) && is_box(box)) {
        picture->format->fill(picture, box, colour);
    }
}

void picture_line(struct picture *picture, const double *points, size_t n,
                  const struct picture_stroke *stroke)
{
    bool is_finite = n >= 2;
    for (size_t i = 0; is_finite && i < 2 * n; i++) {
        is_finite = isfinite(points[i]);
    }
    if (may_draw(picture, n) && is_finite) {
        picture->format->line(picture, points, n, stroke);
    }
}

void picture_outline(struct picture *picture, const struct picture_box *box,
                     const struct picture_stroke *stroke)
{
    const double x = box->x, y = box->y, right = x + box->width, bottom = y + box->height;
    const double corners[] = {x, y, right, y, right, bottom, x, bottom, x, y};
    picture_line(picture, corners, 5, stroke);
}

void picture_dot(struct picture *picture, double x, double y, double radius, struct colour colour,
                 double opacity)
{
    if (may_draw(picture, 1) && isfinite(x) && isfinite(y) && radius > 0) {
        picture->format->dot(picture, x, y, radius, colour, opacity);
    }
}

void picture_cells(struct picture *picture, const struct picture_box *box, size_t n_rows,
                   size_t n_cols, const uint8_t *levels, const struct colour palette[COLOUR_LEVELS])
{
    const bool is_sized =
        n_rows > 0 && n_cols > 0 && n_rows <= PICTURE_SIDE_MAX && n_cols <= PICTURE_SIDE_MAX;
    if (!is_sized) {
        picture_fail(picture, DPOT_ERR_TOO_LARGE, "%zu x %zu cells: at most %d a side", n_rows,
                     n_cols, PICTURE_SIDE_MAX);
    }
    if (is_sized && may_draw(picture, n_rows * n_cols) && is_box(box)) {
        picture->format->cells(picture, box, n_rows, n_cols, levels, palette);
    }
}

static void draw_text(struct picture *picture, double x, double y, enum picture_anchor anchor,
                      bool is_upward, const struct picture_font *font, const char *text)
{
    char clean[LABEL_BYTES_MAX];
    label_clean(text, clean, sizeof clean);
    if (may_draw(picture, 1) && isfinite(x) && isfinite(y) && clean[0]) {
        picture->format->text(picture, x, y, anchor, is_upward, font, clean);
    }
}

void picture_text(struct picture *picture, double x, double y, enum picture_anchor anchor,
                  const struct picture_font *font, const char *text)
{
    draw_text(picture, x, y, anchor, false, font, text);
}

void picture_text_up(struct picture *picture, double x, double y, const struct picture_font *font,
                     const char *text)
{
    draw_text(picture, x, y, PICTURE_MIDDLE, true, font, text);
}

void picture_clip(struct picture *picture, const struct picture_box *box)
{
    if (picture->status == DPOT_OK && !picture->is_clipped && is_box(box)) {
        picture->format->clip(picture, box);
        picture->is_clipped = true;
    }
}

void picture_unclip(struct picture *picture)
{
    if (picture->status == DPOT_OK && picture->is_clipped) {
        picture->format->unclip(picture);
        picture->is_clipped = false;
    }
}

double picture_text_width(const struct picture_font *font, const char *text)
{
    char clean[TITLE_BYTES_MAX];
    label_clean(text, clean, sizeof clean);
    const double width = picture_measure(font, clean);
    return width >= 0 ? width : 0.65 * font->size * (double)strlen(clean);
}

double picture_pixel(const struct picture *picture)
{
    return 1 / picture->scale;
}
