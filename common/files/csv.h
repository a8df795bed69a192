/* Text tables: numbers, one row a line, separated by commas, by semicolons or by tabs.
 *
 * Separator: that of a first line sep=; (in either case, also in quotes); else a semicolon or a tab
 * between fields of the first line that is neither empty nor a comment; else the comma. Fields may
 * be padded with blanks or enclosed in double quotes. Lines end in LF, CR LF or CR. A byte order
 * mark and empty lines are passed over. UTF-16 is refused.
 *
 * Header. The first line holds names if the form says so, or if the form names columns; a '#'
 * before them is left out.
 *
 * Public: lines before the first row that begin with '#' are comments, of which the last names the
 * columns if it has as many fields. Without a declared header the first line is one only if it
 * cannot be data by any reading: of the columns that are read every field begins with a letter or
 * _, or is empty (not all), and none is a word for a missing or logical value (NA, null, true).
 * array->names_line says that this was concluded. Every field that is read is a number, nan or
 * inf, and all rows have the same length; anything else is refused with line, column and what was
 * found. Columns that are not read may hold text, also with line ends in quotes.
 *
 * Private: every sequence of bytes is a table. Form, which may be refused and must be public: what
 * the caller says of the file, the first line's encoding, separator and number of fields, and the
 * number of lines and bytes. All else is content: without a declared header every line is a row,
 * words and '#' or not; a field that is no number is NaN, a row of another length is NaN
 * throughout, a quote ends with its line, and an empty line before others is a row of a one-column
 * table. */
#ifndef DPOT_FILES_CSV_H
#define DPOT_FILES_CSV_H

#include "files/array.h"

#include <stdio.h>

/* Errors as array_read_form, without the path. One column is 1-D. Without rows n_cols is as
 * array_read says; of private data array->names are those of the header. */
DPOT_WARN_UNUSED dpot_status csv_read(FILE *stream, const struct array_rules *rules,
                                      const struct array_form *form, struct array *array,
                                      struct dpot_error *error);

/* Writes numbers as number_format does, integers for ARRAY_U4, under the names of the columns if
 * the array has some. Check ferror(stream). */
void csv_write(FILE *stream, const struct array *array, enum array_type type);

#endif
