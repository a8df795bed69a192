/* The frame of a plot: a box with numbered axes, and titles. */
#ifndef DPOT_PICTURE_FRAME_H
#define DPOT_PICTURE_FRAME_H

#include "picture/axis.h"
#include "picture/label.h"

#define FRAME_MARGIN 14    /* between content and the edge of the page */
#define FRAME_GAP 8        /* between related elements */
#define FRAME_PAGE_MIN 420 /* minimum page width: space for a title */

extern const struct picture_font frame_title_font;  /* of the page */
extern const struct picture_font frame_panel_font;  /* above a plot */
extern const struct picture_font frame_label_font;  /* labels of axes, legends */
extern const struct picture_font frame_number_font; /* at ticks */

struct frame {
    struct picture_box box;
    struct axis x, y;              /* with ticks chosen; y increases upwards unless is_downward */
    const char *x_label, *y_label; /* NULL: none */
    bool is_downward;
    bool has_x_numbers, has_y_numbers;
};

/* Distance of two baselines. */
double frame_line_height(const struct picture_font *font);

/* Width and height needed beside and below the box, without the margin of the page. */
double frame_left(const struct frame *frame);
double frame_right(const struct frame *frame);
double frame_below(const struct frame *frame);

/* How far numbers of the x axis extend beyond the left and right ends of the box. */
void frame_overhang(const struct frame *frame, double *left, double *right);

/* Removes numbers of the x axis that extend farther than `most`, except the last one left. */
void frame_trim_numbers(struct frame *frame, double most);

/* Position of a value on the page. */
double frame_x(const struct frame *frame, double value);
double frame_y(const struct frame *frame, double value);

/* Draws lines at the ticks; call it before the marks are drawn. */
void frame_draw_grid(struct picture *picture, const struct frame *frame);

/* Draws the box, ticks, numbers and labels; call it after the marks are drawn. */
void frame_draw(struct picture *picture, const struct frame *frame);

/* Draws lines of text centred at x, from y downwards; returns the y below them. */
double frame_draw_title(struct picture *picture, const struct label_lines *lines,
                        const struct picture_font *font, double x, double y);
double frame_title_height(const struct label_lines *lines, const struct picture_font *font);

/* Length of a degree of longitude relative to a degree of latitude, at the middle latitude. */
double frame_degree_ratio(double lat_lo, double lat_hi);

/* Draws a border on a map: lines through (latitude, longitude); a row with a NaN ends a line. */
void frame_draw_border(struct picture *picture, const struct frame *frame,
                       const double *border /* (n, 2) */, size_t n);

/* DPOT_ERR_RANGE: a latitude beyond 90 or a longitude beyond 360 degrees. NaN is allowed. */
DPOT_WARN_UNUSED dpot_status frame_check_map(const double *points /* (n, 2) */, size_t n,
                                             const char *what, struct dpot_error *error);

#endif
