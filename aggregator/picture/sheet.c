#include "picture/sheet.h"

#include "base/alloc.h"
#include "picture/colour_bar.h"

#include <math.h>

#define IMAGE_GAP 5.0
#define IMAGE_GAP_SMALL 1.0   /* with many columns */
#define COLUMNS_CHOSEN_MAX 28 /* images of about 24 units */
#define IMAGE_SIDE_MAX 160.0  /* units, of the longer side */
#define BAR_HEIGHT_MIN 110.0
#define BAR_HEIGHT_MAX 420.0
#define PAGE_ASPECT 1.3 /* width relative to height of a page with a default number of columns */

struct layout {
    size_t n_across, n_down;
    double gap;
    double pixel; /* units per image pixel */
    double step_x, step_y;
    double grid_width, grid_height;
    double left, top;
    double page_width, page_height;
    struct label_lines title;
    struct colour_bar bar;
};

static dpot_status check_pixels(const struct sheet *s, struct dpot_error *error)
{
    const size_t size = s->height * s->width;
    for (size_t i = 0; i < s->n * size; i++) {
        if (!(fabs(s->images[i]) <= PICTURE_VALUE_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "pixel %zu of image %zu is %g: give finite numbers of at most %g",
                                  i % size + 1, i / size + 1, s->images[i], PICTURE_VALUE_MAX);
        }
    }
    return DPOT_OK;
}

static dpot_status check(const struct sheet *s, struct dpot_error *error)
{
    const size_t most = PICTURE_SIDE_MAX;
    dpot_status status = picture_check_path(s->caption.path, error);
    if (status == DPOT_OK &&
        (s->height < 1 || s->height > most || s->width < 1 || s->width > most)) {
        status =
            dpot_error_set(error, DPOT_ERR_SHAPE, "images of %zu x %zu pixels: give 1 to %d a side",
                           s->height, s->width, PICTURE_SIDE_MAX);
    }
    if (status == DPOT_OK && s->n == 0) {
        status = dpot_error_set(error, DPOT_ERR_SHAPE, "there are no images: give at least one");
    }
    if (status == DPOT_OK && s->n > PICTURE_MARKS_MAX) {
        status = picture_check_marks(s->caption.path, s->n, "images", error);
    }
    if (status == DPOT_OK) {
        status = picture_check_marks(s->caption.path, s->n * s->height * s->width, "pixels", error);
    }
    return status == DPOT_OK ? check_pixels(s, error) : status;
}

static size_t choose_columns(const struct sheet *s)
{
    const double ideal =
        ceil(sqrt((double)s->n * (double)s->height / (double)s->width * PAGE_ASPECT));
    const size_t n = s->n_columns ? s->n_columns : (size_t)fmax(1, fmin(ideal, COLUMNS_CHOSEN_MAX));
    return n < s->n ? n : s->n;
}

/* Units per image pixel: an integer number of output pixels if there is space, so that all are
 * equal. */
static double choose_pixel(const struct sheet *s, const struct layout *l, double room, double scale)
{
    const double gaps = l->gap * (double)(l->n_across - 1);
    const double longer = (double)(s->height > s->width ? s->height : s->width);
    const double fitting = (room - gaps) / (double)l->n_across / (double)s->width;
    const double pixel = fmin(fitting, IMAGE_SIDE_MAX / longer);
    return pixel * scale >= 1 ? floor(pixel * scale + 1e-9) / scale : pixel;
}

/* Computes sizes of images and grey scale from the width of the scale that the previous pass
 * found. */
static void plan_images(const struct sheet *s, struct layout *l, double units)
{
    const double beside = 2.0 * FRAME_MARGIN + 2 * FRAME_GAP + colour_bar_width(&l->bar);
    l->pixel = choose_pixel(s, l, PICTURE_WIDTH - beside, units);
    l->step_x = l->pixel * (double)s->width + l->gap;
    l->step_y = l->pixel * (double)s->height + l->gap;
    l->grid_width = l->step_x * (double)l->n_across - l->gap;
    l->grid_height = l->step_y * (double)l->n_down - l->gap;
    const double bar_height = fmin(fmax(l->grid_height, BAR_HEIGHT_MIN), BAR_HEIGHT_MAX);
    colour_bar_init(&l->bar, l->bar.scale, l->bar.palette,
                    s->caption.value_label ? s->caption.value_label : "pixel value", bar_height);
}

static dpot_status plan(const struct sheet *s, const struct colour_scale *scale,
                        const struct colour *palette, struct layout *l, struct dpot_error *error)
{
    const double units = s->caption.scale > 0 ? s->caption.scale : 1;
    l->n_across = choose_columns(s);
    l->n_down = (s->n + l->n_across - 1) / l->n_across;
    l->gap = l->n_across > COLUMNS_CHOSEN_MAX ? IMAGE_GAP_SMALL : IMAGE_GAP;
    colour_bar_init(&l->bar, scale, palette, NULL, BAR_HEIGHT_MAX);
    /* heights and widths of images and scale depend on each other */
    for (int pass = 0; pass < 3; pass++) {
        plan_images(s, l, units);
    }
    if (!(l->pixel * (double)s->width >= 1)) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "%zu images of width %zu do not fit side by side: choose fewer "
                              "columns",
                              l->n_across, s->width);
    }
    const double used = l->grid_width + 2 * FRAME_GAP + colour_bar_width(&l->bar);
    l->page_width = fmax(FRAME_PAGE_MIN, 2.0 * FRAME_MARGIN + used);
    l->left = floor((l->page_width - used) / 2);
    label_wrap(&frame_title_font, s->caption.title, l->page_width - 2.0 * FRAME_MARGIN,
               LABEL_LINES_MAX, &l->title);
    l->top = FRAME_MARGIN + frame_title_height(&l->title, &frame_title_font);
    l->page_height = l->top + fmax(l->grid_height, l->bar.height) + FRAME_MARGIN;
    return l->page_height * units <= PICTURE_SIDE_MAX
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                "%zu images in %zu columns make a picture of %.0f pixels: at most "
                                "%d; choose more columns, or give fewer images",
                                s->n, l->n_across, l->page_height * units, PICTURE_SIDE_MAX);
}

static void draw_image(struct picture *picture, const struct sheet *s, const struct layout *l,
                       size_t i, uint8_t *levels)
{
    const size_t size = s->height * s->width;
    const struct picture_stroke stroke = {.colour = colour_rule, .width = 0.6, .opacity = 1};
    const struct picture_box b = {l->left + l->step_x * (double)(i % l->n_across),
                                  l->top + l->step_y * (double)(i / l->n_across),
                                  l->step_x - l->gap, l->step_y - l->gap};
    for (size_t p = 0; p < size; p++) {
        levels[p] = colour_scale_level(l->bar.scale, s->images[i * size + p]);
    }
    picture_outline(picture, &b, &stroke);
    picture_cells(picture, &b, s->height, s->width, levels, l->bar.palette);
}

static void draw_page(struct picture *picture, const struct sheet *s, const struct layout *l,
                      uint8_t *levels)
{
    (void)frame_draw_title(picture, &l->title, &frame_title_font, l->page_width / 2, FRAME_MARGIN);
    for (size_t i = 0; i < s->n; i++) {
        draw_image(picture, s, l, i, levels);
    }
    colour_bar_draw(picture, &l->bar, l->left + l->grid_width + 2 * FRAME_GAP, l->top);
}

dpot_status sheet_draw(const struct sheet *sheet, struct picture_size *size,
                       struct dpot_error *error)
{
    struct colour palette[COLOUR_LEVELS];
    struct colour_scale scale = {0};
    struct layout layout = {0};
    struct picture *picture = NULL;
    uint8_t *levels = NULL;
    dpot_status status = check(sheet, error);
    if (status != DPOT_OK) {
        return status;
    }
    const size_t image_size = sheet->height * sheet->width;
    colour_scale_add(&scale, sheet->images, sheet->n * image_size);
    if (sheet->range) {
        scale.has_zero = false; /* zero is an ordinary grey between the ends */
        colour_scale_fix(&scale, false, sheet->range[0], sheet->range[1]);
    } else {
        colour_scale_settle(&scale, false);
    }
    colour_fill_palette(COLOUR_PALETTE_GREY, palette);
    status = plan(sheet, &scale, palette, &layout, error);
    if (status == DPOT_OK) {
        levels = dpot_alloc_array(NULL, image_size, sizeof *levels);
        const struct picture_page page = {sheet->caption.path,
                                          sheet->caption.title ? sheet->caption.title : "images",
                                          layout.page_width, layout.page_height,
                                          sheet->caption.scale > 0 ? sheet->caption.scale : 1};
        status = levels ? picture_open(&page, &picture, error)
                        : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for an image");
    }
    if (status == DPOT_OK) {
        draw_page(picture, sheet, &layout, levels);
        status = picture_commit(picture, size, error);
    }
    dpot_free_array(NULL, levels, image_size, sizeof *levels);
    return status;
}
