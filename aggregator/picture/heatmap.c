#include "picture/heatmap.h"

#include "base/alloc.h"
#include "picture/colour_bar.h"

#include <math.h>

#define PANEL_GAP_MIN 26.0
#define PANEL_ROW_GAP 14
#define PANELS_ACROSS_MAX 3
#define HEIGHT_MAX 640.0 /* of one plot, in units */
#define HEIGHT_MIN 90.0
#define WIDTH_MIN 60.0
#define BAR_HEIGHT_MAX 420.0
#define ASPECT_MAX 8.0      /* beyond this a map or grid is not drawn to scale */
#define MASS_TOLERANCE 1e-3 /* rounding of masses written with few digits */

struct layout {
    size_t n_across, n_down;
    struct frame frame; /* of the first panel */
    double left, right; /* beside all plots */
    double plots_width;
    double gap;                              /* between adjacent plots */
    double top;                              /* of the first panel's title */
    double panel_title_height, panel_height; /* without the numbers and label below the last row */
    double page_width, page_height;
    double bar_height;
    struct label_lines title, panel_titles[HEATMAP_PANELS_MAX];
};

/* ---- validation ---- */

static dpot_status check_values(const struct heatmap *h, struct dpot_error *error)
{
    for (size_t p = 0; p < h->n_panels; p++) {
        for (size_t i = 0; i < h->n_rows * h->n_cols; i++) {
            const double value = h->values[p][i];
            if (!(fabs(value) <= PICTURE_VALUE_MAX)) {
                return dpot_error_set(error, DPOT_ERR_RANGE,
                                      "cell %zu of heat map %zu is %g: give finite numbers of at "
                                      "most %g",
                                      i + 1, p + 1, value, PICTURE_VALUE_MAX);
            }
            if (h->is_log && value < 0) {
                return dpot_error_set(error, DPOT_ERR_RANGE,
                                      "cell %zu of heat map %zu is %g: a logarithmic scale needs "
                                      "numbers of at least 0",
                                      i + 1, p + 1, value);
            }
        }
    }
    return DPOT_OK;
}

static dpot_status check_box(const struct heatmap *h, struct dpot_error *error)
{
    if (h->is_map && !h->has_box) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "a map needs the box of its cells: give their lowest and highest "
                              "latitude and longitude");
    }
    for (size_t i = 0; h->has_box && i < 2; i++) {
        const bool is_finite =
            fabs(h->lo[i]) <= PICTURE_VALUE_MAX && fabs(h->hi[i]) <= PICTURE_VALUE_MAX;
        if (!is_finite || !(h->lo[i] < h->hi[i])) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "the box of the cells goes from %g to %g in coordinate %zu: the "
                                  "first must be below the second",
                                  h->lo[i], h->hi[i], i + 1);
        }
    }
    if (!h->is_map) {
        return DPOT_OK;
    }
    const dpot_status status = frame_check_map(h->lo, 1, "corner", error);
    return status == DPOT_OK ? frame_check_map(h->hi, 1, "corner", error) : status;
}

static dpot_status check(const struct heatmap *h, struct dpot_error *error)
{
    const size_t most = PICTURE_SIDE_MAX;
    dpot_status status = picture_check_path(h->caption.path, error);
    if (status == DPOT_OK && (h->n_panels < 1 || h->n_panels > HEATMAP_PANELS_MAX)) {
        status = dpot_error_set(error, DPOT_ERR_SHAPE, "%zu heat maps: give 1 to %d", h->n_panels,
                                HEATMAP_PANELS_MAX);
    }
    if (status == DPOT_OK &&
        (h->n_rows < 1 || h->n_rows > most || h->n_cols < 1 || h->n_cols > most)) {
        status = dpot_error_set(error, DPOT_ERR_SHAPE,
                                "a grid of %zu x %zu cells: give 1 to %d a "
                                "side",
                                h->n_rows, h->n_cols, PICTURE_SIDE_MAX);
    }
    if (status == DPOT_OK) {
        status = picture_check_marks(
            h->caption.path, h->n_panels * (h->n_rows * h->n_cols + h->n_border), "cells", error);
    }
    if (status == DPOT_OK) {
        status = check_box(h, error);
    }
    if (status == DPOT_OK) {
        status = colour_bar_check_range(h->range, h->is_log, error);
    }
    if (status == DPOT_OK && h->border) {
        status = frame_check_map(h->border, h->n_border, "border point", error);
    }
    return status == DPOT_OK ? check_values(h, error) : status;
}

/* ---- layout ---- */

/* Height of a plot relative to its width. */
static double aspect_of(const struct heatmap *h)
{
    double aspect = (double)h->n_rows / (double)h->n_cols;
    if (h->is_map) {
        aspect = (h->hi[0] - h->lo[0]) /
                 ((h->hi[1] - h->lo[1]) * frame_degree_ratio(h->lo[0], h->hi[0]));
    }
    return fmax(1 / ASPECT_MAX, fmin(aspect, ASPECT_MAX));
}

static void set_axes(const struct heatmap *h, struct frame *frame)
{
    if (h->has_box) {
        const enum axis_kind y_kind = h->is_map ? AXIS_LATITUDE : AXIS_NUMBER;
        const enum axis_kind x_kind = h->is_map ? AXIS_LONGITUDE : AXIS_NUMBER;
        axis_init(&frame->y, y_kind, false, h->lo[0], h->hi[0], 0);
        axis_init(&frame->x, x_kind, false, h->lo[1], h->hi[1], 0);
    } else {
        axis_init(&frame->y, AXIS_INDEX, false, -0.5, (double)h->n_rows - 0.5, 0);
        axis_init(&frame->x, AXIS_INDEX, false, -0.5, (double)h->n_cols - 0.5, 0);
    }
    frame->is_downward = !h->has_box;
    frame->y_label = h->caption.y_label ? h->caption.y_label
                     : h->is_map        ? "latitude"
                     : h->has_box       ? "first coordinate"
                                        : "row";
    frame->x_label = h->caption.x_label ? h->caption.x_label
                     : h->is_map        ? "longitude"
                     : h->has_box       ? "second coordinate"
                                        : "column";
    frame->has_x_numbers = frame->has_y_numbers = true;
}

/* The size of a plot between left and right; tall plots are narrower. */
static void set_plot_size(const struct heatmap *h, struct layout *l)
{
    struct frame *frame = &l->frame;
    const double gaps = l->gap * (double)(l->n_across - 1);
    const double room =
        fmax(WIDTH_MIN, (PICTURE_WIDTH - l->left - l->right - gaps) / (double)l->n_across);
    const double aspect = aspect_of(h);
    const double height_max = l->n_down > 1 ? HEIGHT_MAX / 2 : HEIGHT_MAX;
    frame->box.width = fmin(room, fmax(height_max / aspect, HEIGHT_MIN));
    frame->box.height = fmax(fmin(frame->box.width * aspect, height_max), HEIGHT_MIN);
    axis_choose_ticks(&frame->y, frame->box.height, false, &frame_number_font);
    axis_choose_ticks(&frame->x, frame->box.width, true, &frame_number_font);
}

static void wrap_panel_titles(const struct heatmap *h, struct layout *l)
{
    l->panel_title_height = 0;
    for (size_t p = 0; p < h->n_panels; p++) {
        label_wrap(&frame_panel_font, h->panel_titles[p], l->frame.box.width + PANEL_GAP_MIN / 2, 2,
                   &l->panel_titles[p]);
        l->panel_title_height =
            fmax(l->panel_title_height, frame_title_height(&l->panel_titles[p], &frame_panel_font));
    }
}

/* Wide enough for numbers that extend beyond the ends of two plots. */
static double panel_gap(const struct frame *frame)
{
    double left = 0, right = 0;
    frame_overhang(frame, &left, &right);
    return ceil(fmax(PANEL_GAP_MIN, left + right + FRAME_GAP));
}

/* Whether all panels have mass one. */
static bool are_distributions(const struct heatmap *h)
{
    for (size_t p = 0; p < h->n_panels; p++) {
        double sum = 0;
        for (size_t i = 0; i < h->n_rows * h->n_cols; i++) {
            sum += h->values[p][i];
        }
        if (!(fabs(sum - 1) <= MASS_TOLERANCE)) {
            return false;
        }
    }
    return true;
}

/* "weight" for distributions only, since other values such as costs may be drawn. */
static const char *value_label(const struct heatmap *h)
{
    return h->caption.value_label ? h->caption.value_label
           : are_distributions(h) ? "weight of a cell"
                                  : "value of a cell";
}

/* All panels share the numbers and the label below the last row. */
static double all_panels_height(const struct layout *l)
{
    return l->panel_height * (double)l->n_down + PANEL_ROW_GAP * (double)(l->n_down - 1) +
           frame_below(&l->frame);
}

/* Computes sizes from the space beside the plots that the previous pass found. */
static void plan_panels(const struct heatmap *h, struct layout *l)
{
    l->left = FRAME_MARGIN + frame_left(&l->frame);
    l->gap = panel_gap(&l->frame);
    set_plot_size(h, l);
    wrap_panel_titles(h, l);
    l->panel_height = l->panel_title_height + l->frame.box.height;
    l->bar_height =
        fmin(all_panels_height(l) - l->panel_title_height - frame_below(&l->frame), BAR_HEIGHT_MAX);
}

static struct layout plan(const struct heatmap *h, const struct colour_scale *scale,
                          const struct colour *palette, struct colour_bar *bar)
{
    struct layout l = {.n_across = h->n_panels == 4 ? 2 : h->n_panels, .right = 100};
    l.n_across = l.n_across > PANELS_ACROSS_MAX ? PANELS_ACROSS_MAX : l.n_across;
    l.n_down = (h->n_panels + l.n_across - 1) / l.n_across;
    set_axes(h, &l.frame);
    /* Numbers depend on the size of the plots, and that on the space for numbers. */
    for (int pass = 0; pass < 3; pass++) {
        plan_panels(h, &l);
        colour_bar_init(bar, scale, palette, value_label(h), l.bar_height);
        l.right = FRAME_MARGIN + 2 * FRAME_GAP + colour_bar_width(bar);
    }
    if (l.n_across > 1) {
        frame_trim_numbers(&l.frame, l.gap / 2 - 2);
    }
    l.left = FRAME_MARGIN + frame_left(&l.frame);
    l.plots_width = (double)l.n_across * (l.frame.box.width + l.gap) - l.gap;
    l.page_width = fmax(FRAME_PAGE_MIN, l.left + l.plots_width + l.right);
    l.left += floor((l.page_width - l.left - l.plots_width - l.right) / 2);
    label_wrap(&frame_title_font, h->caption.title, l.page_width - 2.0 * FRAME_MARGIN,
               LABEL_LINES_MAX, &l.title);
    l.top = FRAME_MARGIN + frame_title_height(&l.title, &frame_title_font);
    l.page_height = l.top + all_panels_height(&l) + FRAME_MARGIN;
    return l;
}

/* ---- drawing ---- */

static void fill_levels(const struct heatmap *h, const struct colour_scale *scale, size_t panel,
                        uint8_t *levels)
{
    for (size_t i = 0; i < h->n_rows; i++) {
        const size_t row = h->has_box ? h->n_rows - 1 - i : i;
        for (size_t j = 0; j < h->n_cols; j++) {
            levels[i * h->n_cols + j] =
                colour_scale_level(scale, h->values[panel][row * h->n_cols + j]);
        }
    }
}

static void draw_panel(struct picture *picture, const struct heatmap *h, const struct layout *l,
                       const uint8_t *levels, const struct colour *palette, size_t panel)
{
    struct frame frame = l->frame;
    const size_t across = panel % l->n_across, down = panel / l->n_across;
    const double y = l->top + (double)down * (l->panel_height + PANEL_ROW_GAP);
    frame.box.x = l->left + (double)across * (frame.box.width + l->gap);
    frame.box.y = y + l->panel_title_height;
    if (across > 0) {
        frame.has_y_numbers = false;
        frame.y_label = NULL;
    }
    if (panel + l->n_across < h->n_panels) { /* shown by the panel below */
        frame.has_x_numbers = false;
        frame.x_label = NULL;
    }
    (void)frame_draw_title(
        picture, &l->panel_titles[panel], &frame_panel_font, frame.box.x + frame.box.width / 2,
        frame.box.y - frame_title_height(&l->panel_titles[panel], &frame_panel_font));
    picture_cells(picture, &frame.box, h->n_rows, h->n_cols, levels, palette);
    if (h->border) {
        frame_draw_border(picture, &frame, h->border, h->n_border);
    }
    frame_draw(picture, &frame);
}

static void draw_page(struct picture *picture, const struct heatmap *h, const struct layout *l,
                      const struct colour_bar *bar, uint8_t *levels)
{
    (void)frame_draw_title(picture, &l->title, &frame_title_font, l->page_width / 2, FRAME_MARGIN);
    for (size_t p = 0; p < h->n_panels; p++) {
        fill_levels(h, bar->scale, p, levels);
        draw_panel(picture, h, l, levels, bar->palette, p);
    }
    colour_bar_draw(picture, bar, l->left + l->plots_width + 2 * FRAME_GAP,
                    l->top + l->panel_title_height);
}

dpot_status heatmap_draw(const struct heatmap *heatmap, struct picture_size *size,
                         struct dpot_error *error)
{
    struct colour palette[COLOUR_LEVELS];
    struct colour_scale scale = {0};
    struct colour_bar bar;
    struct picture *picture = NULL;
    dpot_status status = check(heatmap, error);
    if (status != DPOT_OK) {
        return status;
    }
    for (size_t p = 0; p < heatmap->n_panels; p++) {
        colour_scale_add(&scale, heatmap->values[p], heatmap->n_rows * heatmap->n_cols);
    }
    colour_bar_settle(&scale, heatmap->is_log, heatmap->range);
    colour_fill_palette(COLOUR_PALETTE_HEAT, palette);
    const struct layout layout = plan(heatmap, &scale, palette, &bar);
    const size_t n_cells = heatmap->n_rows * heatmap->n_cols;
    uint8_t *levels = dpot_alloc_array(NULL, n_cells, sizeof *levels);
    const struct picture_page page = {heatmap->caption.path,
                                      heatmap->caption.title ? heatmap->caption.title : "heat map",
                                      layout.page_width, layout.page_height,
                                      heatmap->caption.scale > 0 ? heatmap->caption.scale : 1};
    status = levels
                 ? picture_open(&page, &picture, error)
                 : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu cells", n_cells);
    if (status == DPOT_OK) {
        draw_page(picture, heatmap, &layout, &bar, levels);
        status = picture_commit(picture, size, error);
    }
    dpot_free_array(NULL, levels, n_cells, sizeof *levels);
    return status;
}
