/* Heat maps: numbers on a grid, one or several side by side under one colour scale. */
#ifndef DPOT_PICTURE_HEATMAP_H
#define DPOT_PICTURE_HEATMAP_H

#include "picture/picture.h"

#define HEATMAP_PANELS_MAX 6

struct heatmap {
    struct picture_caption caption;
    size_t n_rows, n_cols;
    size_t n_panels;
    const double *values[HEATMAP_PANELS_MAX];     /* (n_rows, n_cols) each */
    const char *panel_titles[HEATMAP_PANELS_MAX]; /* NULL: none */

    /* The box that the cells cut, first coordinate along the rows: then the first row is at the
     * bottom, as on a map. Without it cells have numbers and the first row is on top, as in a
     * matrix. */
    bool has_box;
    double lo[2], hi[2];

    bool is_map;          /* latitude, longitude in degrees; needs the box */
    const double *border; /* (n_border, 2) latitude, longitude; NULL: none; NaN rows end a line */
    size_t n_border;
    bool is_log;         /* colours by the logarithm; zeros stay apart */
    const double *range; /* (2) ends of the colour scale, beyond which colours stay the same; NULL:
                          * those of the values */
};

/* Draws and writes the picture. Cells that are 0 have a colour of their own, unless some are
 * negative. Maps are drawn to scale at their middle latitude. DPOT_ERR_ARGUMENT (no known
 * format), DPOT_ERR_SHAPE, DPOT_ERR_RANGE (not finite, beyond PICTURE_VALUE_MAX, negative with
 * is_log, box, range), DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY, DPOT_ERR_IO. `size` may be NULL. */
DPOT_WARN_UNUSED dpot_status heatmap_draw(const struct heatmap *heatmap, struct picture_size *size,
                                          struct dpot_error *error);

#endif
