/* The legend of a colour scale: a bar with numbers, and a swatch for zero. A logarithmic scale has
 * "log scale" after its label and numbers at both ends. An end that values exceed is marked with
 * "at most" or "at least" signs. */
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

/* DPOT_ERR_RANGE: lowest and highest value do not form a valid range. NULL is valid. */
DPOT_WARN_UNUSED dpot_status colour_bar_check_range(const double *range /* (2) */, bool is_log,
                                                    struct dpot_error *error);

/* Calls colour_scale_fix with the range, or colour_scale_settle if it is NULL. */
void colour_bar_settle(struct colour_scale *scale, bool is_log, const double *range /* (2) */);

/* Chooses the numbers, and wraps the label (NULL: none) to the height of the bar. */
void colour_bar_init(struct colour_bar *bar, const struct colour_scale *scale,
                     const struct colour *palette, const char *label, double height);

/* Width with numbers and label. */
double colour_bar_width(const struct colour_bar *bar);

/* Draws the bar with its top left corner at (x, y). */
void colour_bar_draw(struct picture *picture, const struct colour_bar *bar, double x, double y);

#endif
