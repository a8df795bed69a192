/* Points in the plane or on a map, with or without weights. */
#ifndef DPOT_PICTURE_POINTS_H
#define DPOT_PICTURE_POINTS_H

#include "picture/picture.h"

struct points {
    struct picture_caption caption;
    size_t n;
    const double *points;  /* (n, 2) x, y; on a map latitude, longitude */
    const double *weights; /* (n) at least 0, shown as colour, heavy ones on top; NULL: none */
    bool is_map;
    const double *border; /* (n_border, 2) as in struct heatmap */
    size_t n_border;
    bool is_log;         /* colours by the logarithm */
    const double *range; /* (2) ends of the colour scale, beyond which colours stay the same; NULL:
                          * those of the values */
};

/* Draws and writes the picture, to scale: both coordinates count in the same unit, unless one
 * range is more than eight times the other. Statuses as heatmap_draw. */
DPOT_WARN_UNUSED dpot_status points_draw(const struct points *points, struct picture_size *size,
                                         struct dpot_error *error);

#endif
