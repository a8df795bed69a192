/* The frame of a plot: a box with numbered axes, and the titles around it. */
#ifndef DPOT_PICTURE_FRAME_H
#define DPOT_PICTURE_FRAME_H

#include "picture/axis.h"
#include "picture/label.h"

#define FRAME_MARGIN 14    /* between content and the edge of the page */
#define FRAME_GAP 8        /* between things that belong together */
#define FRAME_PAGE_MIN 420 /* width of a page: a title needs some room */

extern const struct picture_font frame_title_font;  /* of the page */
extern const struct picture_font frame_panel_font;  /* above a plot */
extern const struct picture_font frame_label_font;  /* names of axes, legends */
extern const struct picture_font frame_number_font; /* at ticks */

struct frame {
    struct picture_box box;
    struct axis x, y;              /* with their ticks chosen; y rises upwards unless is_downward */
    const char *x_label, *y_label; /* NULL: none */
    bool is_downward;
    bool has_x_numbers, has_y_numbers;
};

/* From one baseline to the next. */
double frame_line_height(const struct picture_font *font);

/* Room beside and below the box for what is shown there, beyond the margin of the page. */
double frame_left(const struct frame *frame);
double frame_right(const struct frame *frame);
double frame_below(const struct frame *frame);

/* How far numbers of the x axis stand out over the left and the right end of the box. */
void frame_overhang(const struct frame *frame, double *left, double *right);

/* Takes away numbers of the x axis that stand out farther, but for the last one left. */
void frame_trim_numbers(struct frame *frame, double most);

/* Where values are on the page. */
double frame_x(const struct frame *frame, double value);
double frame_y(const struct frame *frame, double value);

/* Lines at the ticks, to be drawn before the marks. */
void frame_draw_grid(struct picture *picture, const struct frame *frame);

/* The box, ticks, numbers and labels, after the marks. */
void frame_draw(struct picture *picture, const struct frame *frame);

/* Lines of text centred at x from y downwards; returns the y below them. */
double frame_draw_title(struct picture *picture, const struct label_lines *lines,
                        const struct picture_font *font, double x, double y);
double frame_title_height(const struct label_lines *lines, const struct picture_font *font);

/* The length of a degree of longitude in degrees of latitude, in the middle between two
 * latitudes. */
double frame_degree_ratio(double lat_lo, double lat_hi);

/* A border on a map: lines through (latitude, longitude); a row with a NaN ends a line. */
void frame_draw_border(struct picture *picture, const struct frame *frame,
                       const double *border /* (n, 2) */, size_t n);

/* DPOT_ERR_RANGE for a latitude beyond 90 or a longitude beyond 360 degrees; NaN passes. */
DPOT_WARN_UNUSED dpot_status frame_check_map(const double *points /* (n, 2) */, size_t n,
                                             const char *what, struct dpot_error *error);

#endif
