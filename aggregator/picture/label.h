/* Texts of pictures: cleaned and fitted. */
#ifndef DPOT_PICTURE_LABEL_H
#define DPOT_PICTURE_LABEL_H

#include "picture/picture.h"

#define LABEL_BYTES_MAX 256 /* of one line, including NUL */
#define LABEL_LINES_MAX 3

/* Copies `text` as one line of valid UTF-8: invalid bytes and characters not allowed in XML become
 * U+FFFD, runs of blanks and control characters one blank; text beyond `cap` bytes is cut between
 * characters. */
void label_clean(const char *text, char *out, size_t cap);

/* label_clean, then shortened with an ellipsis to at most `width` units. */
void label_fit(const struct picture_font *font, const char *text, double width,
               char out[LABEL_BYTES_MAX]);

/* A text wrapped at blanks to lines of at most `width` units. */
struct label_lines {
    size_t n; /* 0: the text is NULL or blank */
    char lines[LABEL_LINES_MAX][LABEL_BYTES_MAX];
};

/* Wraps a text. Words that are too long, and text after `n_max` lines, are shortened with an
 * ellipsis. */
void label_wrap(const struct picture_font *font, const char *text, double width, size_t n_max,
                struct label_lines *out);

#endif
