/* A picture while it is being drawn: .png (through cairo) and .svg behind one set of calls.
 *
 *     struct picture_page page = {.path = "map.png", .width = 900, .height = 600, .scale = 1};
 *     status = picture_open(&page, &picture, error);
 *     picture_line(picture, corners, 4, &stroke);  picture_text(picture, ...);  ...
 *     status = picture_commit(picture, NULL, error);     or picture_abandon(picture)
 *
 * What is drawn is decided by heatmap.h, points.h, curves.h and sheet.h; this header only knows
 * marks on a page.
 *
 * Lengths are page units: x to the right, y down, from the top left corner. A page is PICTURE_WIDTH
 * units wide unless its content wants less, and texts of 12 units are readable at that size;
 * `scale` multiplies units into pixels, for print. Drawing calls cannot fail: the first failure is
 * kept and comes out of picture_commit. The same calls give the same bytes on the same machine; the
 * widths of texts, and the pixels of a .png, depend on the font that fontconfig finds for DejaVu
 * Sans.
 *
 * One picture, one thread; different pictures may be drawn at the same time. */
#ifndef DPOT_PICTURE_PICTURE_H
#define DPOT_PICTURE_PICTURE_H

#include "base/error.h"
#include "picture/colour.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PICTURE_WIDTH 900                      /* units of an ordinary page */
#define PICTURE_SIDE_MAX 20000                 /* pixels */
#define PICTURE_PIXELS_MAX ((size_t)1 << 27)   /* 512 MiB while a .png is drawn */
#define PICTURE_MARKS_MAX ((size_t)10000000)   /* points, vertices, cells of a .png */
#define PICTURE_SVG_MARKS_MAX ((size_t)500000) /* of an .svg, which holds each as text */
#define PICTURE_VALUE_MAX 1e300                /* of what is drawn: differences stay finite */

/* What every kind of picture is told: NULL stands for the default. Texts are borrowed; bytes
 * that are not UTF-8, and control characters, are replaced. */
struct picture_caption {
    const char *path;  /* ends in .png or .svg */
    const char *title; /* of the whole picture; default: none */
    const char *x_label;
    const char *y_label;
    const char *value_label; /* beside the colour bar */
    double scale;            /* pixels a unit; 0 stands for 1 */
};

/* Pixels of the picture that was written. */
struct picture_size {
    uint32_t width, height;
};

struct picture_page {
    const char *path;     /* borrowed during picture_open */
    const char *title;    /* of the document, for readers who do not see it; NULL: none */
    double width, height; /* units */
    double scale;
};

struct picture_box {
    double x, y, width, height; /* top left corner and size */
};

struct picture_stroke {
    struct colour colour;
    double width;
    double opacity;     /* 0..1 */
    double dash, space; /* lengths along the line; dash 0: solid */
};

struct picture_font {
    double size; /* height of the em square */
    bool is_bold;
};

enum picture_anchor { PICTURE_START, PICTURE_MIDDLE, PICTURE_END };

struct picture; /* opaque */

/* DPOT_ERR_ARGUMENT with a sentence when the path ends in neither .png nor .svg. */
DPOT_WARN_UNUSED dpot_status picture_check_path(const char *path, struct dpot_error *error);

/* The marks that a picture of this path may have. */
size_t picture_marks_max(const char *path);

/* DPOT_ERR_TOO_LARGE when `n` marks of `what` ("points") are more than that. */
DPOT_WARN_UNUSED dpot_status picture_check_marks(const char *path, size_t n, const char *what,
                                                 struct dpot_error *error);

/* Begins a picture on white. DPOT_ERR_ARGUMENT as picture_check_path, DPOT_ERR_TOO_LARGE above
 * PICTURE_SIDE_MAX or PICTURE_PIXELS_MAX, DPOT_ERR_ARGUMENT when only the scale makes it so, DPOT_ERR_MEMORY, DPOT_ERR_IO; *picture is NULL then. */
DPOT_WARN_UNUSED dpot_status picture_open(const struct picture_page *page, struct picture **picture,
                                          struct dpot_error *error);

/* Writes the file whole or not at all, and frees the picture in every case. The first failure of a
 * drawing call, DPOT_ERR_MEMORY, DPOT_ERR_IO. `size` may be NULL. */
DPOT_WARN_UNUSED dpot_status picture_commit(struct picture *picture, struct picture_size *size,
                                            struct dpot_error *error);

/* Frees the picture and leaves no file; NULL is allowed. */
void picture_abandon(struct picture *picture);

void picture_fill(struct picture *picture, const struct picture_box *box, struct colour colour);

/* The border of a box. */
void picture_outline(struct picture *picture, const struct picture_box *box,
                     const struct picture_stroke *stroke);

/* A line through points; the ends are joined when the last point is the first. */
void picture_line(struct picture *picture, const double *points /* (n, 2) x, y */, size_t n,
                  const struct picture_stroke *stroke);

/* A disc. */
void picture_dot(struct picture *picture, double x, double y, double radius, struct colour colour,
                 double opacity);

/* A rectangle of n_rows x n_cols cells, the first row on top, each in the colour of its level;
 * cells keep hard edges. */
void picture_cells(struct picture *picture, const struct picture_box *box, size_t n_rows,
                   size_t n_cols, const uint8_t *levels /* (n_rows, n_cols) */,
                   const struct colour palette[COLOUR_LEVELS]);

/* Text on the baseline y in colour_ink; `x` is its start, middle or end. */
void picture_text(struct picture *picture, double x, double y, enum picture_anchor anchor,
                  const struct picture_font *font, const char *text);

/* Text that runs upwards, its middle at y and its baseline at x. */
void picture_text_up(struct picture *picture, double x, double y, const struct picture_font *font,
                     const char *text);

/* Between the two nothing is drawn outside the box. Not nested. */
void picture_clip(struct picture *picture, const struct picture_box *box);
void picture_unclip(struct picture *picture);

/* How far a text runs, in units. Total: without memory it is an estimate. */
double picture_text_width(const struct picture_font *font, const char *text);

/* Frees the fonts that are kept from picture to picture; the next picture finds them again. For
 * the end of a program that wants to leave nothing behind: no picture may be open or being drawn
 * anywhere. */
void picture_release_fonts(void);

/* The side of a pixel, in units. */
double picture_pixel(const struct picture *picture);

#endif
