/* Common parts of the `dpot plot` commands: options and results. */
#ifndef DPOT_TOOL_PICTURE_PLOT_H
#define DPOT_TOOL_PICTURE_PLOT_H

#include "files/array.h"
#include "picture/picture.h"
#include "tool/shared/command.h"

#define PLOT_CAPTION_OPTIONS                                                                       \
    {"title", "T", "title of the picture"},                                                        \
        {"width", "PX 300..20000", "pixels of a full page (default 900); texts grow with it"},     \
    {                                                                                              \
        "out", "F", "the picture; its name ends in .png or .svg"                                   \
    }

#define PLOT_AXIS_OPTIONS                                                                          \
    {"x-label", "T", "name of the horizontal axis, with its unit"},                                \
    {                                                                                              \
        "y-label", "T", "name of the vertical axis, with its unit"                                 \
    }

#define PLOT_MAP_OPTIONS                                                                           \
    {"map", NULL, "coordinates are latitude and longitude in degrees"},                            \
        {"border", "F", "rows of latitude, longitude to draw as a line (implies --map)"},          \
        {"log", NULL, "logarithmic colour scale"},                                                 \
        {"range", "lo,hi", "ends of the colour scale, to compare several pictures"},               \
    {                                                                                              \
        "value-label", "T", "name of the colour bar, with its unit"                                \
    }

/* Reads the caption and --out; `caption` borrows from the run. */
DPOT_WARN_UNUSED dpot_status plot_read_caption(struct run *run, struct picture_caption *caption);

/* True for --map and --border. */
bool plot_is_map(const struct run *run);

/* Reads two positive integers, "16x24". */
DPOT_WARN_UNUSED dpot_status plot_read_shape(struct run *run, const char *name, size_t shape[2],
                                             bool *is_given);

/* Reads two finite numbers, "24.5,-125". */
DPOT_WARN_UNUSED dpot_status plot_read_pair(struct run *run, const char *name, double pair[2],
                                            bool *is_given);

/* As plot_read_pair, for an interval: the lower end first. */
DPOT_WARN_UNUSED dpot_status plot_read_interval(struct run *run, const char *name, double pair[2],
                                                bool *is_given);

/* Reads --range into `pair`; *range points to it, or is NULL without the option. */
DPOT_WARN_UNUSED dpot_status plot_read_range(struct run *run, double pair[2], const double **range);

/* Loads --border (n, 2), an empty array without the option. Rows of NaN end a line. */
DPOT_WARN_UNUSED dpot_status plot_load_border(struct run *run, struct array *border);

/* After drawing: on success adds out, width and height to the result. Returns `status`. */
DPOT_WARN_UNUSED dpot_status plot_finish(struct run *run, dpot_status status,
                                         const struct picture_caption *caption,
                                         const struct picture_size *size);

#endif
