#include "picture/curves.h"

#include "picture/frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PLOT_HEIGHT 460
#define MARGIN_SHARE 0.04
#define MARKER_ROWS_MAX 40 /* above this many rows points have no markers */
#define MARKER_RADIUS 2.8
#define LINE_WIDTH 1.8
#define BAR_LINE_WIDTH 1.2
#define BAR_CAP 4 /* half the width of an error bar's cap */
#define SAMPLE 30 /* length of a curve sample in the legend */
#define ENTRY_GAP 22
#define LEGEND_ROW 20
#define FALLBACK_MAX 32
#define PEN_MAX 2048
#define UNSORTED_MAX 200000 /* maximum number of values if x is not sorted */

struct drawing {
    const struct curves *curves;
    struct frame frame;
    struct label_lines title;
    char names[CURVES_MAX][LABEL_BYTES_MAX]; /* in the legend */
    char fallback[FALLBACK_MAX];             /* name of the y axis if there is no other */
    double entry_width;                      /* of the widest legend entry */
    size_t n_curves;
    double page_height;
};

/* ---- values ---- */

static double x_of(const struct curves *c, size_t row)
{
    return c->values[row * c->n_cols];
}

/* The column of a curve's values; the next one contains its error bars. */
static size_t column_of(const struct curves *c, size_t curve)
{
    return 1 + (c->has_error_bars ? 2 * curve : curve);
}

static double y_of(const struct curves *c, size_t row, size_t curve)
{
    return c->values[row * c->n_cols + column_of(c, curve)];
}

static bool is_drawn(const struct curves *c, size_t row, size_t curve)
{
    const double x = x_of(c, row), y = y_of(c, row, curve);
    return fabs(y) <= PICTURE_VALUE_MAX && !(c->is_log_x && x <= 0) && !(c->is_log_y && y <= 0);
}

/* Ends of the error bar of a drawn value; false: no bar. */
static bool bar_of(const struct curves *c, size_t row, size_t curve, double ends[2])
{
    const double y = y_of(c, row, curve);
    const double e = c->has_error_bars ? c->values[row * c->n_cols + column_of(c, curve) + 1] : 0;
    ends[0] = y - e;
    ends[1] = y + e;
    return e > 0 && fabs(ends[0]) <= PICTURE_VALUE_MAX && fabs(ends[1]) <= PICTURE_VALUE_MAX;
}

/* Whether x is monotone: then each pixel column is visited once for any number of rows. */
static bool is_sorted(const struct curves *c)
{
    bool rises = false, falls = false;
    for (size_t i = 1; i < c->n_rows; i++) {
        rises = rises || x_of(c, i) > x_of(c, i - 1);
        falls = falls || x_of(c, i) < x_of(c, i - 1);
    }
    return !(rises && falls);
}

static dpot_status check_x(const struct curves *c, struct dpot_error *error)
{
    for (size_t i = 0; i < c->n_rows; i++) {
        if (!(fabs(x_of(c, i)) <= PICTURE_VALUE_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "x of row %zu is %g: give finite numbers of at most %g", i + 1,
                                  x_of(c, i), PICTURE_VALUE_MAX);
        }
    }
    if (c->n_rows * (c->n_cols - 1) > UNSORTED_MAX && !is_sorted(c)) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "%zu rows whose x goes back and forth: sort them by x, or draw at "
                              "most %d values",
                              c->n_rows, UNSORTED_MAX);
    }
    return DPOT_OK;
}

static dpot_status check_bars(const struct curves *c, struct dpot_error *error)
{
    for (size_t i = 0; c->has_error_bars && i < c->n_rows; i++) {
        for (size_t j = 2; j < c->n_cols; j += 2) {
            const double e = c->values[i * c->n_cols + j];
            if (e < 0) {
                return dpot_error_set(error, DPOT_ERR_RANGE,
                                      "the error bar of row %zu, column %zu is %g: give half its "
                                      "length, at least 0",
                                      i + 1, j + 1, e);
            }
        }
    }
    return DPOT_OK;
}

static dpot_status check_columns(const struct curves *c, struct dpot_error *error)
{
    if (c->has_error_bars && (c->n_cols % 2 == 0 || c->n_cols < 3)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "%zu column%s: with error bars give x, and two columns for every "
                              "curve, its values and half the length of their bars",
                              c->n_cols, DPOT_S(c->n_cols));
    }
    if (c->n_cols < 2 || c->n_cols > column_of(c, CURVES_MAX)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "%zu column%s: give x and 1 to %d curves, %zu columns at most",
                              c->n_cols, DPOT_S(c->n_cols), CURVES_MAX, column_of(c, CURVES_MAX));
    }
    return DPOT_OK;
}

static dpot_status check(const struct curves *c, struct dpot_error *error)
{
    dpot_status status = picture_check_path(c->caption.path, error);
    if (status == DPOT_OK && c->n_rows == 0) {
        status = dpot_error_set(error, DPOT_ERR_SHAPE, "there are no rows: give at least one");
    }
    if (status == DPOT_OK) {
        status = check_columns(c, error);
    }
    if (status == DPOT_OK) {
        status = picture_check_marks(c->caption.path, c->n_rows * (c->n_cols - 1), "values", error);
    }
    if (status == DPOT_OK) {
        status = check_bars(c, error);
    }
    return status == DPOT_OK ? check_x(c, error) : status;
}

static void widen(double range[2], double value)
{
    range[0] = fmin(range[0], value);
    range[1] = fmax(range[1], value);
}

/* Widens the ranges by a drawn value and its error bar. */
static void widen_by(const struct curves *c, size_t row, size_t curve, double x[2], double y[2])
{
    double ends[2];
    widen(x, x_of(c, row));
    widen(y, y_of(c, row, curve));
    if (bar_of(c, row, curve, ends)) {
        widen(y, ends[1]);
        widen(y, c->is_log_y && ends[0] <= 0 ? ends[1] : ends[0]);
    }
}

/* Sets the vertical axis; without a margin beyond 0 if it must include 0. */
static void set_y_axis(const struct curves *c, double y[2], struct axis *axis)
{
    const bool has_zero = c->is_from_zero && !c->is_log_y;
    if (has_zero) {
        widen(y, 0);
    }
    axis_init(axis, AXIS_NUMBER, c->is_log_y, y[0], y[1], MARGIN_SHARE);
    if (has_zero && y[0] == 0 && y[1] > 0) {
        axis->lo = 0;
    } else if (has_zero && y[1] == 0 && y[0] < 0) {
        axis->hi = 0;
    }
}

/* Sets the ranges of the drawn values; false: there are none. */
static bool set_axes(struct drawing *d, size_t *n_left_out)
{
    const struct curves *c = d->curves;
    double x[2] = {HUGE_VAL, -HUGE_VAL}, y[2] = {HUGE_VAL, -HUGE_VAL};
    size_t n_drawn = 0;
    for (size_t i = 0; i < c->n_rows; i++) {
        for (size_t j = 0; j < d->n_curves; j++) {
            if (is_drawn(c, i, j)) {
                widen_by(c, i, j, x, y);
                n_drawn++;
            }
        }
    }
    *n_left_out = c->n_rows * d->n_curves - n_drawn;
    if (n_drawn == 0) {
        return false;
    }
    axis_init(&d->frame.x, AXIS_NUMBER, c->is_log_x, x[0], x[1], MARGIN_SHARE / 2);
    set_y_axis(c, y, &d->frame.y);
    return true;
}

/* ---- layout ---- */

/* The name of a curve, or else its column number, written into `fallback`. */
static const char *name_of(const struct curves *c, size_t curve, char fallback[FALLBACK_MAX])
{
    const size_t column = column_of(c, curve);
    const char *name = c->names ? c->names[column] : NULL;
    (void)snprintf(fallback, FALLBACK_MAX, "column %zu", column + 1);
    return name && *name ? name : fallback;
}

/* Sets the legend entries, at most as wide as the plot. */
static void set_entries(struct drawing *d)
{
    char fallback[FALLBACK_MAX];
    const double beside = SAMPLE + FRAME_GAP;
    d->entry_width = 0;
    for (size_t j = 0; j < d->n_curves; j++) {
        label_fit(&frame_label_font, name_of(d->curves, j, fallback), d->frame.box.width - beside,
                  d->names[j]);
        d->entry_width =
            fmax(d->entry_width, beside + picture_text_width(&frame_label_font, d->names[j]));
    }
}

static void set_labels(struct drawing *d)
{
    const struct curves *c = d->curves;
    const char *x_name = c->names && c->names[0] && *c->names[0] ? c->names[0] : NULL;
    d->frame.x_label = c->caption.x_label ? c->caption.x_label : x_name ? x_name : "x";
    d->frame.y_label = c->caption.y_label;
    if (!d->frame.y_label) {
        d->frame.y_label = d->n_curves == 1 ? name_of(c, 0, d->fallback) : "value";
    }
    d->frame.has_x_numbers = d->frame.has_y_numbers = true;
}

static bool has_legend(const struct drawing *d)
{
    return d->n_curves > 1 || d->curves->caption.y_label;
}

/* Legend entries per row, in columns of the widest entry. */
static size_t entries_across(const struct drawing *d)
{
    const double n = floor((d->frame.box.width + ENTRY_GAP) / (d->entry_width + ENTRY_GAP));
    return n > 1 ? (size_t)n : 1;
}

static void plan(struct drawing *d)
{
    struct frame *frame = &d->frame;
    label_wrap(&frame_title_font, d->curves->caption.title, PICTURE_WIDTH - 2.0 * FRAME_MARGIN,
               LABEL_LINES_MAX, &d->title);
    frame->box.height = PLOT_HEIGHT;
    axis_choose_ticks(&frame->y, frame->box.height, false, &frame_number_font);
    for (int pass = 0; pass < 3; pass++) { /* the overhang of numbers depends on the width */
        frame->box.x = FRAME_MARGIN + frame_left(frame);
        frame->box.width =
            PICTURE_WIDTH - frame->box.x - 2.0 * FRAME_MARGIN - (pass ? frame_right(frame) : 0);
        axis_choose_ticks(&frame->x, frame->box.width, true, &frame_number_font);
    }
    frame_trim_numbers(frame, fmin(frame->box.x, PICTURE_WIDTH - frame->box.x - frame->box.width));
    frame->box.y = FRAME_MARGIN + frame_title_height(&d->title, &frame_title_font);
    set_entries(d);
    const size_t across = entries_across(d), n_legend_rows = (d->n_curves + across - 1) / across;
    d->page_height = frame->box.y + frame->box.height + frame_below(frame) + FRAME_MARGIN +
                     (has_legend(d) ? FRAME_GAP + LEGEND_ROW * (double)n_legend_rows : 0);
}

/* ---- drawing ---- */

/* All colours solid, then all dashed. */
static struct picture_stroke stroke_of(size_t curve)
{
    const bool is_dashed = curve >= COLOUR_CURVES;
    return (struct picture_stroke){.colour = colour_of_curve(curve),
                                   .width = LINE_WIDTH,
                                   .opacity = 1,
                                   .dash = is_dashed ? 7 : 0,
                                   .space = is_dashed ? 4 : 0};
}

/* A pen that omits invisible detail: of the points in one pixel column it draws only the first,
 * lowest, highest and last, in their order. */
struct pen {
    struct picture *picture;
    struct picture_stroke stroke;
    double resolution;
    double points[2 * PEN_MAX];
    size_t n;
    double column; /* of the pending points */
    size_t n_waiting;
    double first[2], low[2], high[2], last[2];
    size_t low_at, high_at; /* in order of arrival */
};

static void pen_put(struct pen *pen, const double point[2])
{
    double *end = pen->points + 2 * pen->n;
    if (pen->n > 0 && end[-2] == point[0] && end[-1] == point[1]) {
        return;
    }
    if (pen->n == PEN_MAX) {
        picture_line(pen->picture, pen->points, pen->n, &pen->stroke);
        memmove(pen->points, end - 2, 2 * sizeof *end);
        pen->n = 1;
    }
    memcpy(pen->points + 2 * pen->n++, point, 2 * sizeof *point);
}

static void pen_put_waiting(struct pen *pen)
{
    if (pen->n_waiting == 0) {
        return;
    }
    const bool is_low_first = pen->low_at < pen->high_at;
    pen_put(pen, pen->first);
    pen_put(pen, is_low_first ? pen->low : pen->high);
    pen_put(pen, is_low_first ? pen->high : pen->low);
    pen_put(pen, pen->last);
    pen->n_waiting = 0;
}

static void pen_move(struct pen *pen, double x, double y)
{
    const double point[2] = {x, y};
    const double column = floor(x / pen->resolution);
    if (column != pen->column) {
        pen_put_waiting(pen);
        pen->column = column;
    }
    if (pen->n_waiting == 0 || y < pen->low[1]) {
        memcpy(pen->low, point, sizeof point);
        pen->low_at = pen->n_waiting;
    }
    if (pen->n_waiting == 0 || y > pen->high[1]) {
        memcpy(pen->high, point, sizeof point);
        pen->high_at = pen->n_waiting;
    }
    if (pen->n_waiting == 0) {
        memcpy(pen->first, point, sizeof point);
    }
    memcpy(pen->last, point, sizeof point);
    pen->n_waiting++;
}

/* Ends a stretch; a point between two gaps becomes a dot, to be visible. */
static void pen_lift(struct pen *pen)
{
    pen_put_waiting(pen);
    if (pen->n == 1) {
        picture_dot(pen->picture, pen->points[0], pen->points[1], MARKER_RADIUS, pen->stroke.colour,
                    1);
    } else if (pen->n > 1) {
        picture_line(pen->picture, pen->points, pen->n, &pen->stroke);
    }
    pen->n = 0;
    pen->column = NAN;
}

static void draw_curve(struct picture *picture, const struct drawing *d, size_t curve)
{
    const struct curves *c = d->curves;
    struct pen pen = {.picture = picture,
                      .stroke = stroke_of(curve),
                      .resolution = picture_pixel(picture) / 2,
                      .column = NAN};
    for (size_t i = 0; i < c->n_rows; i++) {
        if (!is_drawn(c, i, curve)) {
            pen_lift(&pen);
            continue;
        }
        const double x = frame_x(&d->frame, x_of(c, i));
        const double y = frame_y(&d->frame, y_of(c, i, curve));
        pen_move(&pen, x, y);
        if (c->n_rows <= MARKER_ROWS_MAX) {
            picture_dot(picture, x, y, MARKER_RADIUS, pen.stroke.colour, 1);
        }
    }
    pen_lift(&pen);
}

static void draw_bar(struct picture *picture, const struct frame *frame, double x,
                     const double ends[2], const struct picture_stroke *stroke)
{
    const double foot = frame->box.y + frame->box.height;
    const double low = frame_y(frame, ends[0]), high = frame_y(frame, ends[1]);
    const bool is_whole = low <= foot; /* false for NaN: below a logarithmic axis */
    const double bar[4] = {x, is_whole ? low : foot, x, high};
    const double upper[4] = {x - BAR_CAP, high, x + BAR_CAP, high};
    const double lower[4] = {x - BAR_CAP, low, x + BAR_CAP, low};
    picture_line(picture, bar, 2, stroke);
    picture_line(picture, upper, 2, stroke);
    if (is_whole) {
        picture_line(picture, lower, 2, stroke);
    }
}

static void draw_bars(struct picture *picture, const struct drawing *d, size_t curve)
{
    const struct curves *c = d->curves;
    struct picture_stroke stroke = stroke_of(curve);
    double ends[2];
    stroke.width = BAR_LINE_WIDTH;
    stroke.dash = 0;
    for (size_t i = 0; i < c->n_rows; i++) {
        if (is_drawn(c, i, curve) && bar_of(c, i, curve, ends)) {
            draw_bar(picture, &d->frame, frame_x(&d->frame, x_of(c, i)), ends, &stroke);
        }
    }
}

static void draw_legend(struct picture *picture, const struct drawing *d)
{
    const struct picture_box *box = &d->frame.box;
    const double top = box->y + box->height + frame_below(&d->frame) + FRAME_GAP;
    const size_t across = entries_across(d);
    for (size_t j = 0; j < d->n_curves; j++) {
        const struct picture_stroke stroke = stroke_of(j);
        const double x = box->x + (double)(j % across) * (d->entry_width + ENTRY_GAP);
        const double y = top + LEGEND_ROW * ((double)(j / across) + 0.5);
        const double line[4] = {x, y, x + SAMPLE, y};
        picture_line(picture, line, 2, &stroke);
        picture_text(picture, line[2] + FRAME_GAP, y + 0.36 * frame_label_font.size, PICTURE_START,
                     &frame_label_font, d->names[j]);
    }
}

static void draw_page(struct picture *picture, const struct drawing *d)
{
    (void)frame_draw_title(picture, &d->title, &frame_title_font, PICTURE_WIDTH / 2.0,
                           FRAME_MARGIN);
    frame_draw_grid(picture, &d->frame);
    for (size_t j = 0; j < d->n_curves; j++) {
        draw_bars(picture, d, j);
        draw_curve(picture, d, j);
    }
    frame_draw(picture, &d->frame);
    if (has_legend(d)) {
        draw_legend(picture, d);
    }
}

dpot_status curves_draw(const struct curves *curves, struct picture_size *size, size_t *n_left_out,
                        struct dpot_error *error)
{
    struct drawing d = {.curves = curves,
                        .n_curves = (curves->n_cols - 1) / (curves->has_error_bars ? 2 : 1)};
    struct picture *picture = NULL;
    size_t n_missing = 0;
    dpot_status status = check(curves, error);
    if (status == DPOT_OK && !set_axes(&d, &n_missing)) {
        status = dpot_error_set(error, DPOT_ERR_RANGE,
                                "no value can be drawn: a curve needs finite numbers of at most "
                                "%g, above 0 on a logarithmic axis",
                                PICTURE_VALUE_MAX);
    }
    if (n_left_out) {
        *n_left_out = n_missing;
    }
    if (status != DPOT_OK) {
        return status;
    }
    set_labels(&d);
    plan(&d);
    const struct picture_page page = {
        curves->caption.path, curves->caption.title ? curves->caption.title : "curves",
        PICTURE_WIDTH, d.page_height, curves->caption.scale > 0 ? curves->caption.scale : 1};
    status = picture_open(&page, &picture, error);
    if (status == DPOT_OK) {
        draw_page(picture, &d);
        status = picture_commit(picture, size, error);
    }
    return status;
}
