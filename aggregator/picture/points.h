/* Points in the plane or on a map, with or without weights. */
#ifndef DPOT_PICTURE_POINTS_H
#define DPOT_PICTURE_POINTS_H

#include "picture/picture.h"

struct points {
    struct picture_caption caption;
    size_t n;
    const double *points;  /* (n, 2) x, y; on a map latitude, longitude */
    const double *weights; /* (n) at least 0, shown as colour, largest on top; NULL: none */
    bool is_map;
    const double *border; /* (n_border, 2) as in struct heatmap */
    size_t n_border;
    bool is_log; /* logarithmic colour scale */
    /* (2) ends of the colour scale, as in struct heatmap. */
    const double *range;
};

/* Draws and writes the picture to scale: both coordinates have the same unit, unless one range is
 * more than eight times the other. Statuses as heatmap_draw. */
DPOT_WARN_UNUSED dpot_status points_draw(const struct points *points, struct picture_size *size,
                                         struct dpot_error *error);

#endif
