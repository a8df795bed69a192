/* Image sheets: many small grey images in a grid, such as those of a generator. */
#ifndef DPOT_PICTURE_SHEET_H
#define DPOT_PICTURE_SHEET_H

#include "picture/picture.h"

struct sheet {
    struct picture_caption caption; /* x_label and y_label are unused */
    size_t n;
    size_t height, width; /* in pixels */
    const double *images; /* (n, height, width), first row at the top */
    size_t n_columns;     /* images per row; 0: chosen for a good page shape */
    const double *range;  /* (2) values of black and white, clamped beyond; NULL: see below */
};

/* Draws and writes the picture. One grey scale for all images: black to white over `range`, by
 * default black for 0 (or the smallest value if some are negative) and white for the largest.
 * Statuses as heatmap_draw. */
DPOT_WARN_UNUSED dpot_status sheet_draw(const struct sheet *sheet, struct picture_size *size,
                                        struct dpot_error *error);

#endif
