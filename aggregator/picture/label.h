/* Texts of pictures: made clean, and made to fit. */
#ifndef DPOT_PICTURE_LABEL_H
#define DPOT_PICTURE_LABEL_H

#include "picture/picture.h"

#define LABEL_BYTES_MAX 256 /* of one line, with its NUL */
#define LABEL_LINES_MAX 3

/* Copies `text` as clean UTF-8 of one line: bytes that are not UTF-8 and characters that XML
 * does not know become U+FFFD, runs of blanks and control characters one blank; what does not
 * fit into `cap` bytes is cut between characters. */
void label_clean(const char *text, char *out, size_t cap);

/* label_clean, shortened with an ellipsis until it runs at most `width` units. */
void label_fit(const struct picture_font *font, const char *text, double width,
               char out[LABEL_BYTES_MAX]);

/* A text broken at blanks into lines of at most `width` units. */
struct label_lines {
    size_t n; /* 0 for a text that is NULL or blank */
    char lines[LABEL_LINES_MAX][LABEL_BYTES_MAX];
};

/* Words that are too long, and what is left after `n_max` lines, are shortened with an ellipsis. */
void label_wrap(const struct picture_font *font, const char *text, double width, size_t n_max,
                struct label_lines *out);

#endif
