/* Image sheets: many small grey images side by side, as a generator makes them. */
#ifndef DPOT_PICTURE_SHEET_H
#define DPOT_PICTURE_SHEET_H

#include "picture/picture.h"

struct sheet {
    struct picture_caption caption; /* x_label and y_label are not used */
    size_t n;
    size_t height, width; /* pixels of an image */
    const double *images; /* (n, height, width), the first row on top */
    size_t n_columns;     /* images side by side; 0: as many as make a good page */
    const double
        *range; /* (2) black and white, beyond which greys stay the same; NULL: see below */
};

/* Draws and writes the picture: one grey scale for all images, from black to white over `range`, or
 * black for 0 (or the smallest value, when some are negative) and white for the largest. Statuses as heatmap_draw. */
DPOT_WARN_UNUSED dpot_status sheet_draw(const struct sheet *sheet, struct picture_size *size,
                                        struct dpot_error *error);

#endif
