/* A text table while it is read: its rows, the names of its columns and the choice of them. Part of
 * files/csv.h. */
#ifndef DPOT_FILES_CSV_TABLE_H
#define DPOT_FILES_CSV_TABLE_H

#include "files/columns.h"
#include "files/csv_line.h"
#include "files/csv_names.h"

typedef char csv_name[ARRAY_NAME_MAX];

struct csv_table {
    struct csv_lines lines;
    const struct array_form *form;
    struct dpot_error *error;
    bool is_private;
    size_t n_fields; /* of each row; 0 until the first is known */
    struct columns_choice choice;
    csv_name *names; /* (n_names) of the last comment or of the header; of the chosen columns once
                         they are known */
    size_t n_names, names_line;
    double *values; /* (cap), n_values used */
    size_t n_values, cap;
    size_t n_blank; /* empty lines before this one */
};

/* Moves the values to a block of `cap` numbers; private ones are wiped where they were. NULL: out
 * of memory, nothing changed. */
double *csv_table_resize(const struct csv_table *t, size_t cap);

/* Adds the chosen fields of the line. Public: refuses what is no number, and another width.
 * Private: NaN. _missing adds a row of NaN. Errors as csv_read. */
DPOT_WARN_UNUSED dpot_status csv_table_push_row(struct csv_table *t);
DPOT_WARN_UNUSED dpot_status csv_table_push_missing(struct csv_table *t);

/* "line 2, column 1 is FOUND WHAT"; found NULL: "line 2, column 1 WHAT". `column` is from 0. */
dpot_status csv_table_refuse(const struct csv_table *t, dpot_status status, size_t column,
                             const char *found, const char *what);

bool csv_table_is_decimal_comma(const char *text); /* "3,5" */

/* Refuses a field of this kind, which is no number, and says what to do. */
dpot_status csv_table_refuse_field(const struct csv_table *t, size_t column, enum csv_kind kind);

/* Keeps the fields of the line as names, without the '#' of a comment. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status csv_table_keep_names(struct csv_table *t, bool is_comment);
void csv_table_forget_names(struct csv_table *t);
bool csv_table_has_names(const struct csv_table *t); /* one that is not empty */

/* Finds the columns of the form, by the names of all columns. _choose_names: from now on the names
 * are those of the chosen columns. Errors as columns_choose. */
DPOT_WARN_UNUSED dpot_status csv_table_choose(struct csv_table *t);
DPOT_WARN_UNUSED dpot_status csv_table_choose_names(struct csv_table *t);

#endif
