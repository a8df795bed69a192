/* A picture that is being drawn: .png (through cairo) and .svg behind one interface.
 *
 *     struct picture_page page = {.path = "map.png", .width = 900, .height = 600, .scale = 1};
 *     status = picture_open(&page, &picture, error);
 *     picture_line(picture, corners, 4, &stroke);  picture_text(picture, ...);  ...
 *     status = picture_commit(picture, NULL, error);     or picture_abandon(picture)
 *
 * heatmap.h, points.h, curves.h and sheet.h decide what is drawn; this header only draws marks on a
 * page.
 *
 * Lengths are page units: x to the right, y down, from the top left corner. A page is at most
 * PICTURE_WIDTH units wide in general, and texts of 12 units are readable at that size; `scale`
 * converts units to pixels, for print. Drawing calls return no status: the first failure is stored
 * and returned by picture_commit. The same calls give the same bytes on the same machine. Text
 * widths, and the pixels of a .png, depend on the font that fontconfig finds for DejaVu Sans.
 *
 * One thread per picture; different pictures may be drawn concurrently. */
#ifndef DPOT_PICTURE_PICTURE_H
#define DPOT_PICTURE_PICTURE_H

#include "base/error.h"
#include "picture/colour.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PICTURE_WIDTH 900                      /* units, width of a usual page */
#define PICTURE_SIDE_MAX 20000                 /* pixels */
#define PICTURE_PIXELS_MAX ((size_t)1 << 27)   /* 512 MiB while a .png is drawn */
#define PICTURE_MARKS_MAX ((size_t)10000000)   /* points, vertices, or cells of a .png */
#define PICTURE_SVG_MARKS_MAX ((size_t)500000) /* of an .svg, which stores each as text */
#define PICTURE_VALUE_MAX 1e300                /* of drawn values: differences stay finite */

/* Options of every kind of picture; NULL: default. Texts are borrowed; invalid UTF-8 and control
 * characters are replaced. */
struct picture_caption {
    const char *path;  /* ends in .png or .svg */
    const char *title; /* of the whole picture; default: none */
    const char *x_label;
    const char *y_label;
    const char *value_label; /* beside the colour bar */
    double scale;            /* pixels per unit; 0 stands for 1 */
};

/* Size of the written picture in pixels. */
struct picture_size {
    uint32_t width, height;
};

struct picture_page {
    const char *path;     /* borrowed during picture_open */
    const char *title;    /* of the document, for screen readers; NULL: none */
    double width, height; /* units */
    double scale;
};

struct picture_box {
    double x, y, width, height; /* top left corner and size */
};

struct picture_stroke {
    struct colour colour;
    double width;
    double opacity;     /* 0 .. 1 */
    double dash, space; /* lengths along the line; dash 0: solid */
};

struct picture_font {
    double size; /* height of the em square */
    bool is_bold;
};

enum picture_anchor { PICTURE_START, PICTURE_MIDDLE, PICTURE_END };

struct picture; /* opaque */

/* DPOT_ERR_ARGUMENT, with a message: the path does not end in .png or .svg. */
DPOT_WARN_UNUSED dpot_status picture_check_path(const char *path, struct dpot_error *error);

/* Maximum number of marks of a picture with this path. */
size_t picture_marks_max(const char *path);

/* DPOT_ERR_TOO_LARGE: n marks, named `what` in the message ("points"), exceed picture_marks_max. */
DPOT_WARN_UNUSED dpot_status picture_check_marks(const char *path, size_t n, const char *what,
                                                 struct dpot_error *error);

/* Opens a white picture. *picture is NULL on failure.
 * DPOT_ERR_ARGUMENT: as picture_check_path, or too many pixels because of the scale.
 * DPOT_ERR_TOO_LARGE: more than PICTURE_SIDE_MAX or PICTURE_PIXELS_MAX. DPOT_ERR_MEMORY,
 * DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status picture_open(const struct picture_page *page, struct picture **picture,
                                          struct dpot_error *error);

/* Writes the file atomically and frees the picture in every case. Returns the first failure of a
 * drawing call, DPOT_ERR_MEMORY or DPOT_ERR_IO. size: may be NULL. */
DPOT_WARN_UNUSED dpot_status picture_commit(struct picture *picture, struct picture_size *size,
                                            struct dpot_error *error);

/* Frees the picture without writing a file; NULL is allowed. */
void picture_abandon(struct picture *picture);

void picture_fill(struct picture *picture, const struct picture_box *box, struct colour colour);

/* The border of a box. */
void picture_outline(struct picture *picture, const struct picture_box *box,
                     const struct picture_stroke *stroke);

/* A line through points; closed if the last point equals the first. */
void picture_line(struct picture *picture, const double *points /* (n, 2) x, y */, size_t n,
                  const struct picture_stroke *stroke);

/* A disc. */
void picture_dot(struct picture *picture, double x, double y, double radius, struct colour colour,
                 double opacity);

/* A rectangle of n_rows x n_cols cells, first row at the top, each in the colour of its level.
 * Cells have sharp edges. */
void picture_cells(struct picture *picture, const struct picture_box *box, size_t n_rows,
                   size_t n_cols, const uint8_t *levels /* (n_rows, n_cols) */,
                   const struct colour palette[COLOUR_LEVELS]);

/* Text in colour_ink with baseline y; `x` is its start, middle or end. */
void picture_text(struct picture *picture, double x, double y, enum picture_anchor anchor,
                  const struct picture_font *font, const char *text);

/* Text that runs upwards, centred at y with baseline x. */
void picture_text_up(struct picture *picture, double x, double y, const struct picture_font *font,
                     const char *text);

/* Restricts drawing to the box until picture_unclip. Cannot be nested. */
void picture_clip(struct picture *picture, const struct picture_box *box);
void picture_unclip(struct picture *picture);

/* Width of a text in units; an estimate if memory is short. */
double picture_text_width(const struct picture_font *font, const char *text);

/* Frees the fonts cached between pictures, for a leak-free exit; the next picture loads them again.
 * No picture may be open in any thread. */
void picture_release_fonts(void);

/* The side of a pixel, in units. */
double picture_pixel(const struct picture *picture);

#endif
