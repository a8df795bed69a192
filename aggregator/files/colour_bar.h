/* The legend of a colour scale: a bar with numbers, and a swatch for zero. */
#ifndef DPOT_FILES_COLOUR_BAR_H
#define DPOT_FILES_COLOUR_BAR_H

#include "files/frame.h"

struct colour_bar {
    const struct colour_scale *scale;
    const struct colour *palette; /* (COLOUR_LEVELS) */
    const char *label;            /* NULL: none */
    double height;                /* of bar and swatch */
    struct axis axis;             /* set by colour_bar_init */
};

/* Sets the numbers. */
void colour_bar_init(struct colour_bar *bar, const struct colour_scale *scale,
                     const struct colour *palette, const char *label, double height);

/* Room that it takes. */
double colour_bar_width(const struct colour_bar *bar);

/* With its top left corner at (x, y). */
void colour_bar_draw(struct picture *picture, const struct colour_bar *bar, double x, double y);

#endif
