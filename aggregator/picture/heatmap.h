/* Heat maps: values on a grid, one or several panels with a common colour scale. */
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

    /* The box that the cells divide, first coordinate along the rows. With a box the first row is
     * at the bottom, as on a map; without it cells are numbered and the first row is at the top, as
     * in a matrix. */
    bool has_box;
    double lo[2], hi[2];

    bool is_map;          /* latitude, longitude in degrees; needs the box */
    const double *border; /* (n_border, 2) latitude, longitude; NULL: none; NaN rows end a line */
    size_t n_border;
    bool is_log; /* logarithmic colour scale; zeros stay separate */
    /* (2) ends of the colour scale, whose colours values beyond get; NULL: those of the values. */
    const double *range;
};

/* Draws and writes the picture. Zeros have their own colour unless there are negative values. Maps
 * are to scale at their middle latitude. size: may be NULL.
 * DPOT_ERR_ARGUMENT: unknown format. DPOT_ERR_RANGE: a value that is not finite, beyond
 * PICTURE_VALUE_MAX or negative with is_log; box; range. DPOT_ERR_SHAPE, DPOT_ERR_TOO_LARGE,
 * DPOT_ERR_MEMORY, DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status heatmap_draw(const struct heatmap *heatmap, struct picture_size *size,
                                          struct dpot_error *error);

#endif
