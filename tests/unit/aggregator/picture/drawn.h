/* Looks at pictures that a test has drawn into its folder (files/folder.h). */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_PICTURE_DRAWN_H
#define DPOT_TESTS_UNIT_AGGREGATOR_PICTURE_DRAWN_H

#include "picture/picture.h"

/* Ends a test: removes the folder and frees the fonts. */
void drawn_clean_up(void);

/* The whole file with a NUL after it; free it. `len` may be NULL. */
char *drawn_read(const char *name, size_t *len);

/* A .png of this size, readable by cairo. */
void expect_png(const char *name, const struct picture_size *size);

/* Pixels of exactly this colour: how many, and where their middle is, as shares of the size. */
struct patch {
    size_t n;
    double x, y;
};
struct patch drawn_find(const char *name, struct colour colour);

/* A well-formed .svg of this size (NULL: any) whose texts stand on the page and do not overlap.
 * Returns it; free it. */
char *expect_svg(const char *name, const struct picture_size *size);

/* How often `part` occurs. */
size_t drawn_count(const char *text, const char *part);

/* The number after the n-th `part` (from 0). */
double drawn_number(const char *text, const char *part, size_t n);

/* No file of this name and no temporary one: the folder is empty but for what the test wrote. */
void expect_no_file(const char *name);

#endif
