/* An axis of a picture: its range, and ticks with numbers. */
#ifndef DPOT_PICTURE_AXIS_H
#define DPOT_PICTURE_AXIS_H

#include "picture/picture.h"

#define AXIS_TICKS_MAX 64
#define AXIS_TEXT_MAX 48

enum axis_kind {
    AXIS_NUMBER,
    AXIS_INDEX,     /* integers only */
    AXIS_LATITUDE,  /* degrees north */
    AXIS_LONGITUDE, /* degrees east */
};

/* A tick; text is empty for a minor tick. */
struct axis_tick {
    double value; /* in the units of lo and hi */
    char text[AXIS_TEXT_MAX];
};

struct axis {
    enum axis_kind kind;
    bool is_log;
    double lo, hi; /* lo < hi; log10 of the values if is_log */
    size_t n_ticks;
    struct axis_tick ticks[AXIS_TICKS_MAX];
};

/* Sets the range to that of the values plus `margin` times its length on both sides; a single value
 * gets a range around it. Values are finite, at most PICTURE_VALUE_MAX, and above 0 for a
 * logarithmic axis. */
void axis_init(struct axis *axis, enum axis_kind kind, bool is_log, double lo, double hi,
               double margin);

/* Relative position of a value: 0 at lo, 1 at hi; NaN if a logarithmic axis has no such value. */
double axis_share(const struct axis *axis, double value);

/* Relative position of a tick. */
double axis_tick_share(const struct axis *axis, size_t i);

/* Chooses ticks whose numbers do not touch along `length` units, side by side (is_across) or one
 * above the other. At least one tick has a number. */
void axis_choose_ticks(struct axis *axis, double length, bool is_across,
                       const struct picture_font *font);

/* Adds numbers at both ends of a vertical axis whose ticks are chosen, in place of those that would
 * touch them. Afterwards the first tick is at lo, the last at hi. */
void axis_number_ends(struct axis *axis, double length, const struct picture_font *font);

/* Width of the widest number. */
double axis_text_width(const struct axis *axis, const struct picture_font *font);

#endif
