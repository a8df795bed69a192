/* Curves over a common x: convergence of a solver, error by epsilon. */
#ifndef DPOT_PICTURE_CURVES_H
#define DPOT_PICTURE_CURVES_H

#include "picture/picture.h"

#define CURVES_MAX 16
#define CURVES_COLUMNS_MAX (2 * CURVES_MAX + 1) /* with error bars */

struct curves {
    struct picture_caption caption;
    size_t n_rows, n_cols;    /* at least 2 columns: x, y1, y2, ... */
    const double *values;     /* (n_rows, n_cols) */
    const char *const *names; /* (n_cols) for axis and legend; NULL: "column 1", ... */
    bool is_log_x, is_log_y;
    bool has_error_bars; /* columns are x, y1, e1, y2, e2, ...: bars from y - e to y + e */
    bool is_from_zero;   /* the vertical axis includes 0; no effect on a logarithmic axis */
};

/* Draws and writes the picture. Rows are connected in their order.
 * A y that is NaN or infinite, or not above 0 on a logarithmic axis, interrupts its curve;
 * *n_left_out (may be NULL) counts them. An e that is NaN or infinite means no bar; a bar that goes
 * below a logarithmic axis ends at the axis. An x that is not finite, a negative e, and a table
 * with no value to draw are refused. Statuses as heatmap_draw. */
DPOT_WARN_UNUSED dpot_status curves_draw(const struct curves *curves, struct picture_size *size,
                                         size_t *n_left_out, struct dpot_error *error);

#endif
