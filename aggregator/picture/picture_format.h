/* The interface of a picture format: a table of calls next to its implementation.
 *
 * picture.c validates every argument: positions are finite, text is clean UTF-8, marks are counted.
 * A call reports failure through picture_fail and is not called again after the first failure. */
#ifndef DPOT_PICTURE_PICTURE_FORMAT_H
#define DPOT_PICTURE_PICTURE_FORMAT_H

#include "files/output.h"
#include "picture/picture.h"

struct picture_format {
    const char *extension; /* including the dot */
    size_t marks_max;
    dpot_status (*begin)(struct picture *picture, const char *title);
    void (*fill)(struct picture *picture, const struct picture_box *box, struct colour colour);
    void (*line)(struct picture *picture, const double *points, size_t n,
                 const struct picture_stroke *stroke);
    void (*dot)(struct picture *picture, double x, double y, double radius, struct colour colour,
                double opacity);
    void (*cells)(struct picture *picture, const struct picture_box *box, size_t n_rows,
                  size_t n_cols, const uint8_t *levels, const struct colour *palette);
    void (*text)(struct picture *picture, double x, double y, enum picture_anchor anchor,
                 bool is_upward, const struct picture_font *font, const char *text);
    void (*clip)(struct picture *picture, const struct picture_box *box);
    void (*unclip)(struct picture *picture);
    dpot_status (*end)(struct picture *picture); /* writes the rest to the stream */
    void (*release)(struct picture *picture);    /* frees ctx; called once, in every case */
};

extern const struct picture_format picture_format_png;
extern const struct picture_format picture_format_svg;

struct picture {
    const struct picture_format *format;
    struct output output;
    double width, height, scale;
    struct picture_size size; /* pixels */
    size_t n_marks;
    bool is_clipped;
    dpot_status status;      /* the first failure */
    struct dpot_error error; /* its message */
    void *ctx;               /* of the format */
};

/* Width of a clean text, measured by cairo for every format; below 0: failed. */
double picture_measure(const struct picture_font *font, const char *text);

/* Stores the first failure. */
void picture_fail(struct picture *picture, dpot_status status, const char *format, ...)
    DPOT_PRINTF(3, 4);

#endif
