/* An axis of a picture: a range, and the ticks with their numbers. */
#ifndef DPOT_PICTURE_AXIS_H
#define DPOT_PICTURE_AXIS_H

#include "picture/picture.h"

#define AXIS_TICKS_MAX 64
#define AXIS_TEXT_MAX 48

enum axis_kind {
    AXIS_NUMBER,
    AXIS_INDEX,     /* whole numbers only */
    AXIS_LATITUDE,  /* degrees north */
    AXIS_LONGITUDE, /* degrees east */
};

/* One of the ticks; text is empty for a small tick between numbers. */
struct axis_tick {
    double value; /* as lo and hi */
    char text[AXIS_TEXT_MAX];
};

struct axis {
    enum axis_kind kind;
    bool is_log;
    double lo, hi; /* lo < hi; of log10 of the values when is_log */
    size_t n_ticks;
    struct axis_tick ticks[AXIS_TICKS_MAX];
};

/* Sets the range to that of the values, with `margin` of its length added on both sides; a
 * single value gets a range around it. Values are finite, at most PICTURE_VALUE_MAX, and above 0
 * for a logarithmic axis. */
void axis_init(struct axis *axis, enum axis_kind kind, bool is_log, double lo, double hi,
               double margin);

/* Where a value is, 0 at lo and 1 at hi; NaN for a value that a logarithmic axis does not have. */
double axis_share(const struct axis *axis, double value);

/* Where a tick is. */
double axis_tick_share(const struct axis *axis, size_t i);

/* Chooses ticks so that their numbers keep a distance: along a length of `length` units, numbers
 * side by side (is_across) or one above the other. At least one tick has a number. */
void axis_choose_ticks(struct axis *axis, double length, bool is_across,
                       const struct picture_font *font);

/* Numbers at both ends of an axis whose ticks are chosen, along a length where numbers stand one
 * above the other, in place of those that would touch them: after it the first tick is that of lo,
 * the last that of hi. */
void axis_number_ends(struct axis *axis, double length, const struct picture_font *font);

/* Width of the widest number. */
double axis_text_width(const struct axis *axis, const struct picture_font *font);

#endif
