/* Colours, and the scale that maps numbers to colours.
 *
 * The scale of heat maps is perceptually uniform by construction: a path through the OKLab space
 * (B. Ottosson, 2020) from yellow over green and blue to dark purple with linearly decreasing
 * lightness. Equal steps of the value look like equal steps, also in greyscale print and to readers
 * with red-green colour blindness, and large values are dark. Zero is not on the path but light
 * grey, to distinguish "none" from "few". */
#ifndef DPOT_PICTURE_COLOUR_H
#define DPOT_PICTURE_COLOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct colour {
    uint8_t red, green, blue;
};

#define COLOUR_LEVELS 256 /* of a palette; level 0 is zero */
#define COLOUR_CURVES 8   /* number of curve colours */

enum colour_palette { COLOUR_PALETTE_HEAT, COLOUR_PALETTE_GREY };

extern const struct colour colour_ink;   /* text and axes */
extern const struct colour colour_paper; /* the page */
extern const struct colour colour_rule;  /* grid lines */
extern const struct colour colour_zero;  /* level 0 */

/* Levels 1 .. 255 are the palette; level 0 is colour_zero. */
void colour_fill_palette(enum colour_palette palette, struct colour out[COLOUR_LEVELS]);

/* Distinguishable colours for curves (Okabe and Ito 2008); `i` is taken modulo COLOUR_CURVES. */
struct colour colour_of_curve(size_t i);

/* A map from values to levels: zero it, add values with colour_scale_add, then call
 * colour_scale_settle or colour_scale_fix. */
struct colour_scale {
    bool is_log;
    bool has_zero;     /* there are zeros and no negative values */
    bool has_negative; /* there are negative values */
    bool has_positive;
    double lo, hi; /* values of level 1 and 255 */
    bool is_fixed; /* set by colour_scale_fix; values may lie beyond lo and hi: */
    bool is_cut_below, is_cut_above;
    bool has_value;
    double min_positive; /* smallest value above 0 */
    double greatest;     /* of all values */
};

/* Adds values: finite, at most 1e300. */
void colour_scale_add(struct colour_scale *scale, const double *values, size_t n);

/* Sets lo and hi from the values. Linear: includes 0. Logarithmic: the values above 0, rounded
 * outward to few digits; a single value gets a range around it. */
void colour_scale_settle(struct colour_scale *scale, bool is_log);

/* Sets lo < hi (above 0 if is_log) to given values, so that pictures of different data are
 * comparable. Values beyond an end have its colour; the colour bar marks such an end. */
void colour_scale_fix(struct colour_scale *scale, bool is_log, double lo, double hi);

/* The level of a value; 0 for a zero if has_zero. */
uint8_t colour_scale_level(const struct colour_scale *scale, double value);

#endif
