/* Colours, and the scale that turns numbers into colours.
 *
 * The scale of heat maps is perceptually uniform by construction: a path through the OKLab space
 * (B. Ottosson, 2020) from yellow over green and blue to dark purple on which lightness falls
 * linearly, so that equal steps of the value look like equal steps, also in grey print and to readers
 * who confuse red and green, and dark is much, as everywhere on a white page. Zero is not on the path: it has a light grey of its own, since
 * "nobody is here" is another statement than "few are here". */
#ifndef DPOT_PICTURE_COLOUR_H
#define DPOT_PICTURE_COLOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct colour {
    uint8_t red, green, blue;
};

#define COLOUR_LEVELS 256 /* of a palette; level 0 stands for zero */
#define COLOUR_CURVES 8   /* colours for curves */

enum colour_palette { COLOUR_PALETTE_HEAT, COLOUR_PALETTE_GREY };

extern const struct colour colour_ink;   /* text and axes */
extern const struct colour colour_paper; /* the page */
extern const struct colour colour_rule;  /* grid lines */
extern const struct colour colour_zero;  /* level 0 */

/* Levels 1..255 run along the palette; level 0 is colour_zero. */
void colour_fill_palette(enum colour_palette palette, struct colour out[COLOUR_LEVELS]);

/* Distinguishable colours for curves (Okabe and Ito 2008), `i` taken modulo COLOUR_CURVES. */
struct colour colour_of_curve(size_t i);

/* From values to levels. Fill it with colour_scale_add from {0}, then settle it. */
struct colour_scale {
    bool is_log;
    bool has_zero;     /* a value was 0, and no value below */
    bool has_negative; /* a value was below 0 */
    bool has_positive;
    double lo, hi; /* of level 1 and 255 */
    bool is_fixed; /* by colour_scale_fix; values may lie beyond lo and hi: */
    bool is_cut_below, is_cut_above;
    bool has_value;
    double min_positive; /* smallest value above 0 */
    double greatest;     /* of all values */
};

/* Takes note of finite values of at most 1e300. */
void colour_scale_add(struct colour_scale *scale, const double *values, size_t n);

/* Chooses lo and hi. Linear: the values and 0. Logarithmic: the values above 0, rounded outwards to
 * few digits; a single one gets a range around it. */
void colour_scale_settle(struct colour_scale *scale, bool is_log);

/* Takes lo < hi (above 0 when is_log) as they are given, so that pictures of different values can be
 * compared. Values beyond have the colour of the end; a bar says so. */
void colour_scale_fix(struct colour_scale *scale, bool is_log, double lo, double hi);

/* The level of a value; 0 for a zero of a scale that has_zero. */
uint8_t colour_scale_level(const struct colour_scale *scale, double value);

#endif
