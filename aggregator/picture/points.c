#include "picture/points.h"

#include "base/alloc.h"
#include "picture/colour_bar.h"

#include <math.h>
#include <stdlib.h>

#define MARGIN_SHARE 0.04 /* relative to the range, around the points */
#define HEIGHT_MAX 640.0
#define HEIGHT_MIN 90.0
#define BAR_HEIGHT_MAX 420.0
#define ASPECT_MAX 8.0

struct drawing {
    const struct points *points;
    struct frame frame;
    struct label_lines title;
    struct colour_scale scale;
    struct colour palette[COLOUR_LEVELS];
    struct colour_bar bar;
    double page_width, page_height;
    size_t *order; /* (n) drawing order, lightest first */
};

/* Column of the x coordinate: on a map latitude is first. */
static size_t x_of(const struct points *p)
{
    return p->is_map ? 1 : 0;
}

static dpot_status check_points(const struct points *p, struct dpot_error *error)
{
    for (size_t i = 0; i < p->n; i++) {
        const double *point = p->points + 2 * i;
        if (!(fabs(point[0]) <= PICTURE_VALUE_MAX && fabs(point[1]) <= PICTURE_VALUE_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "point %zu is (%g, %g): give finite numbers of at most %g", i + 1,
                                  point[0], point[1], PICTURE_VALUE_MAX);
        }
        if (p->weights && !(p->weights[i] >= 0 && p->weights[i] <= PICTURE_VALUE_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "weight %zu is %g: give numbers from 0 to %g", i + 1,
                                  p->weights[i], PICTURE_VALUE_MAX);
        }
    }
    return DPOT_OK;
}

static dpot_status check(const struct points *p, struct dpot_error *error)
{
    dpot_status status = picture_check_path(p->caption.path, error);
    if (status == DPOT_OK && p->n == 0) {
        status = dpot_error_set(error, DPOT_ERR_SHAPE, "there are no points: give at least one");
    }
    if (status == DPOT_OK) {
        status = picture_check_marks(p->caption.path, p->n + p->n_border, "points", error);
    }
    if (status == DPOT_OK) {
        status = colour_bar_check_range(p->range, p->is_log, error);
    }
    if (status == DPOT_OK) {
        status = check_points(p, error);
    }
    if (status == DPOT_OK && p->is_map) {
        status = frame_check_map(p->points, p->n, "point", error);
    }
    return status == DPOT_OK && p->border
               ? frame_check_map(p->border, p->n_border, "border point", error)
               : status;
}

/* Widens [lo, hi] by a column of the points; NaN is ignored. */
static void widen(double range[2], const double *points, size_t n, size_t column)
{
    for (size_t i = 0; i < n; i++) {
        range[0] = fmin(range[0], points[2 * i + column]);
        range[1] = fmax(range[1], points[2 * i + column]);
    }
}

/* Returns whether all values are equal. */
static bool set_axis(const struct points *p, struct axis *axis, enum axis_kind kind, size_t column)
{
    double range[2] = {HUGE_VAL, -HUGE_VAL};
    widen(range, p->points, p->n, column);
    if (p->border) {
        widen(range, p->border, p->n_border, column);
    }
    axis_init(axis, kind, false, range[0], range[1], MARGIN_SHARE);
    return !(range[1] > range[0]);
}

static void set_length(struct axis *axis, double length)
{
    const double middle = axis->lo / 2 + axis->hi / 2;
    axis->lo = middle - length / 2;
    axis->hi = middle + length / 2;
}

/* A coordinate with a single value gets the range of the other one. */
static void set_axes(const struct points *p, struct frame *frame)
{
    struct axis *x = &frame->x, *y = &frame->y;
    const bool is_x_single = set_axis(p, x, p->is_map ? AXIS_LONGITUDE : AXIS_NUMBER, x_of(p));
    const bool is_y_single = set_axis(p, y, p->is_map ? AXIS_LATITUDE : AXIS_NUMBER, 1 - x_of(p));
    const double width = x->hi - x->lo, height = y->hi - y->lo;
    if (is_x_single && (!is_y_single || height > width)) {
        set_length(x, height);
    } else if (is_y_single) {
        set_length(y, width);
    }
    frame->x_label = p->caption.x_label ? p->caption.x_label : p->is_map ? "longitude" : "x";
    frame->y_label = p->caption.y_label ? p->caption.y_label : p->is_map ? "latitude" : "y";
    frame->has_x_numbers = frame->has_y_numbers = true;
}

/* Height relative to width. If the range of one axis is far smaller (points on a line, a single
 * point), it is widened to keep the scale. */
static double settle_aspect(const struct points *p, struct frame *frame)
{
    struct axis *x = &frame->x, *y = &frame->y;
    const double ratio = p->is_map ? frame_degree_ratio(y->lo, y->hi) : 1;
    const double width = (x->hi - x->lo) * ratio, height = y->hi - y->lo;
    const double aspect = height / width;
    if (p->is_map && aspect > ASPECT_MAX) {
        const double more = (height / ASPECT_MAX - width) / ratio / 2;
        x->lo -= more;
        x->hi += more;
    } else if (p->is_map && aspect < 1 / ASPECT_MAX) {
        const double more = (width / ASPECT_MAX - height) / 2;
        y->lo -= more;
        y->hi += more;
    }
    if (p->is_map || (aspect <= ASPECT_MAX && aspect >= 1 / ASPECT_MAX)) {
        return fmax(1 / ASPECT_MAX, fmin(aspect, ASPECT_MAX));
    }
    return 0.7;
}

/* Width beside the plot, including margins. */
static double room_beside(const struct drawing *d)
{
    const double right = d->points->weights ? 2 * FRAME_GAP + colour_bar_width(&d->bar)
                                            : FRAME_MARGIN + frame_right(&d->frame);
    return 2.0 * FRAME_MARGIN + frame_left(&d->frame) + right;
}

/* Computes sizes from the space beside the plot that the previous pass found. */
static void plan_plot(struct drawing *d, double aspect)
{
    const struct picture_caption *caption = &d->points->caption;
    struct picture_box *box = &d->frame.box;
    box->width = fmin(PICTURE_WIDTH - room_beside(d), fmax(HEIGHT_MAX / aspect, HEIGHT_MIN));
    box->height = fmax(fmin(box->width * aspect, HEIGHT_MAX), HEIGHT_MIN);
    axis_choose_ticks(&d->frame.x, box->width, true, &frame_number_font);
    axis_choose_ticks(&d->frame.y, box->height, false, &frame_number_font);
    if (d->points->weights) {
        colour_bar_init(&d->bar, &d->scale, d->palette,
                        caption->value_label ? caption->value_label : "weight of a point",
                        fmin(box->height, BAR_HEIGHT_MAX));
    }
}

static void plan(struct drawing *d)
{
    const struct points *p = d->points;
    struct frame *frame = &d->frame;
    set_axes(p, frame);
    const double aspect = settle_aspect(p, frame);
    colour_bar_init(&d->bar, &d->scale, d->palette, NULL, BAR_HEIGHT_MAX);
    for (int pass = 0; pass < 3; pass++) { /* numbers and sizes depend on each other */
        plan_plot(d, aspect);
    }
    const double used = room_beside(d) + frame->box.width;
    d->page_width = fmax(FRAME_PAGE_MIN, used);
    label_wrap(&frame_title_font, p->caption.title, d->page_width - 2.0 * FRAME_MARGIN,
               LABEL_LINES_MAX, &d->title);
    frame->box.x = FRAME_MARGIN + frame_left(frame) + floor((d->page_width - used) / 2);
    frame->box.y = FRAME_MARGIN + frame_title_height(&d->title, &frame_title_font);
    d->page_height = frame->box.y + frame->box.height + frame_below(frame) + FRAME_MARGIN;
}

struct weighted {
    double weight;
    size_t index;
};

static int compare_weights(const void *a, const void *b)
{
    const struct weighted *x = a, *y = b;
    if (x->weight != y->weight) {
        return x->weight < y->weight ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static dpot_status sort_by_weight(struct drawing *d, struct dpot_error *error)
{
    const size_t n = d->points->n;
    struct weighted *all = dpot_alloc_array(NULL, n, sizeof *all);
    d->order = dpot_alloc_array(NULL, n, sizeof *d->order);
    if (!all || !d->order) {
        dpot_free_array(NULL, all, n, sizeof *all);
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu points", n);
    }
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct weighted){d->points->weights ? d->points->weights[i] : 0, i};
    }
    if (d->points->weights) {
        qsort(all, n, sizeof *all, compare_weights);
    }
    for (size_t i = 0; i < n; i++) {
        d->order[i] = all[i].index;
    }
    dpot_free_array(NULL, all, n, sizeof *all);
    return DPOT_OK;
}

/* More points are drawn smaller and more transparent. */
static double radius_of(size_t n)
{
    return fmax(0.7, fmin(4.5, 4.5 / pow((double)n / 100, 0.27)));
}

static void draw_points(struct picture *picture, const struct drawing *d)
{
    const struct points *p = d->points;
    const double radius = radius_of(p->n);
    const double opacity = p->weights ? 1 : p->n > 2000 ? 0.35 : 0.8;
    const struct colour plain = colour_of_curve(0);
    picture_clip(picture, &d->frame.box);
    for (size_t i = 0; i < p->n; i++) {
        const size_t index = d->order[i];
        const double *point = p->points + 2 * index;
        const struct colour colour =
            p->weights ? d->palette[colour_scale_level(&d->scale, p->weights[index])] : plain;
        picture_dot(picture, frame_x(&d->frame, point[x_of(p)]),
                    frame_y(&d->frame, point[1 - x_of(p)]), radius, colour, opacity);
    }
    picture_unclip(picture);
}

static void draw_page(struct picture *picture, const struct drawing *d)
{
    const struct points *p = d->points;
    const struct picture_box *box = &d->frame.box;
    (void)frame_draw_title(picture, &d->title, &frame_title_font, d->page_width / 2, FRAME_MARGIN);
    frame_draw_grid(picture, &d->frame);
    draw_points(picture, d);
    if (p->border) {
        frame_draw_border(picture, &d->frame, p->border, p->n_border);
    }
    frame_draw(picture, &d->frame);
    if (p->weights) {
        colour_bar_draw(picture, &d->bar, box->x + box->width + 2 * FRAME_GAP, box->y);
    }
}

dpot_status points_draw(const struct points *points, struct picture_size *size,
                        struct dpot_error *error)
{
    struct drawing d = {.points = points};
    struct picture *picture = NULL;
    dpot_status status = check(points, error);
    if (status == DPOT_OK) {
        status = sort_by_weight(&d, error);
    }
    if (status == DPOT_OK) {
        if (points->weights) {
            colour_scale_add(&d.scale, points->weights, points->n);
        }
        colour_bar_settle(&d.scale, points->is_log, points->range);
        colour_fill_palette(COLOUR_PALETTE_HEAT, d.palette);
        plan(&d);
        const struct picture_page page = {
            points->caption.path, points->caption.title ? points->caption.title : "points",
            d.page_width, d.page_height, points->caption.scale > 0 ? points->caption.scale : 1};
        status = picture_open(&page, &picture, error);
    }
    if (status == DPOT_OK) {
        draw_page(picture, &d);
        status = picture_commit(picture, size, error);
    }
    dpot_free_array(NULL, d.order, points->n, sizeof *d.order);
    return status;
}
