/* Lines of a text table, split into fields: what files/csv.h makes numbers of. */
#ifndef DPOT_FILES_CSV_LINE_H
#define DPOT_FILES_CSV_LINE_H

#include "files/array.h"

#include <stdio.h>

#define CSV_FIELD_MAX 255 /* bytes of a field that are kept */
#define CSV_BLOCK 65536

struct csv_field {
    size_t start;   /* in the text */
    bool is_broken; /* private: a NUL or a quote that is not closed */
    bool is_long;   /* longer than CSV_FIELD_MAX, and cut */
};

struct csv_lines {
    FILE *stream;
    const struct array_rules *rules;
    struct dpot_error *error;
    char separator;
    size_t line;     /* of the row, from 1 */
    size_t n_fields; /* of the row, also those that were not kept */
    size_t keep_max; /* fields that are kept; the caller may lower it */
    bool is_blank;   /* the row is an empty line */

    size_t n_lines;   /* line ends that were read */
    uint64_t n_bytes; /* read */
    bool is_quoted;   /* the last field had quotes */
    struct csv_field *fields;
    size_t fields_cap;
    char *text;
    size_t text_len, text_cap;
    size_t at, len; /* of the block */
    unsigned char block[CSV_BLOCK];
};

/* Begins to read: passes over a byte order mark and a line "sep=;", and finds the separator.
 * DPOT_ERR_MALFORMED: UTF-16; DPOT_ERR_TOO_LARGE. Close also after a failure. */
DPOT_WARN_UNUSED dpot_status csv_lines_open(struct csv_lines *lines, FILE *stream,
                                            const struct array_rules *rules,
                                            struct dpot_error *error);

/* Reads the next line; *is_end: there is none. Errors as csv_read. */
DPOT_WARN_UNUSED dpot_status csv_lines_next(struct csv_lines *lines, bool *is_end);

/* The text of a field below keep_max, without quotes and blanks around. */
const char *csv_lines_text(const struct csv_lines *lines, size_t j);

/* Wipes and frees. */
void csv_lines_close(struct csv_lines *lines);

#endif
