/* The legend of a colour scale: a bar with numbers, and a swatch for zero. A logarithmic scale says so
 * after its label and has numbers at both ends; the end of a range that values go beyond says "at
 * most" or "at least". */
#ifndef DPOT_PICTURE_COLOUR_BAR_H
#define DPOT_PICTURE_COLOUR_BAR_H

#include "picture/frame.h"

struct colour_bar {
    const struct colour_scale *scale;
    const struct colour *palette; /* (COLOUR_LEVELS) */
    double height;                /* of bar and swatch */
    struct axis axis;
    struct label_lines label;
};

/* DPOT_ERR_RANGE for a range, lowest and highest value, that no scale can have; NULL passes. */
DPOT_WARN_UNUSED dpot_status colour_bar_check_range(const double *range /* (2) */, bool is_log,
                                                    struct dpot_error *error);

/* colour_scale_fix to the range, or without one colour_scale_settle. */
void colour_bar_settle(struct colour_scale *scale, bool is_log, const double *range /* (2) */);

/* Sets the numbers, and breaks the label (NULL: none) into lines that fit beside the bar. */
void colour_bar_init(struct colour_bar *bar, const struct colour_scale *scale,
                     const struct colour *palette, const char *label, double height);

/* Room that it takes. */
double colour_bar_width(const struct colour_bar *bar);

/* With its top left corner at (x, y). */
void colour_bar_draw(struct picture *picture, const struct colour_bar *bar, double x, double y);

#endif
