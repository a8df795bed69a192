/* Checks of pictures that a test has drawn into its folder (files/folder.h). */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_PICTURE_DRAWN_H
#define DPOT_TESTS_UNIT_AGGREGATOR_PICTURE_DRAWN_H

#include "picture/picture.h"

/* Ends a test: removes the folder and frees the fonts. */
void drawn_clean_up(void);

/* The whole file followed by NUL; free it. `len` may be NULL. */
char *drawn_read(const char *name, size_t *len);

/* A .png of this size, readable by cairo. */
void expect_png(const char *name, const struct picture_size *size);

/* Pixels of exactly this colour: their number, and their centre relative to the size. */
struct patch {
    size_t n;
    double x, y;
};
struct patch drawn_find(const char *name, struct colour colour);

/* Checks for a well-formed .svg of this size (NULL: any) whose texts are on the page and do not
 * overlap. Returns it; free it. */
char *expect_svg(const char *name, const struct picture_size *size);

/* Number of occurrences of `part`. */
size_t drawn_count(const char *text, const char *part);

/* The number after the n-th occurrence of `part`, from 0. */
double drawn_number(const char *text, const char *part, size_t n);

/* Checks that neither a file of this name nor a temporary file is left. */
void expect_no_file(const char *name);

#endif
