#include "files/csv.h"

#include "base/alloc.h"
#include "base/crypto.h"
#include "base/utf8.h"
#include "files/csv_table.h"
#include "files/number.h"

#include <string.h>

#define BLANKS_MAX 1000 /* empty lines in a row, in public files */

/* ---- the first line ---- */

/* What the chosen fields of the first line are. */
struct census {
    size_t n_long;                   /* too long, or broken */
    size_t n_of[CSV_UNTEXT + 1];     /* of the others, by kind */
    size_t first_of[CSV_UNTEXT + 1]; /* column */
};

static void take_census(const struct csv_table *t, struct census *census)
{
    *census = (struct census){0};
    for (size_t k = t->choice.n; k-- > 0;) {
        const size_t j = t->choice.positions[k];
        double value = 0;
        const enum csv_kind kind = csv_kind_of(csv_lines_text(&t->lines, j), &value);
        if (t->lines.fields[j].is_broken || t->lines.fields[j].is_long) {
            census->n_long++; /* read_number refuses it */
        } else {
            census->n_of[kind]++;
            census->first_of[kind] = j;
        }
    }
}

static bool is_header(const struct csv_table *t, const struct census *census)
{
    return census->n_of[CSV_NAME] > 0 &&
           census->n_of[CSV_NAME] + census->n_of[CSV_EMPTY] == t->choice.n;
}

static bool is_utf8(const char *text)
{
    size_t len = 1;
    for (; *text && len > 0; text += len) {
        len = dpot_utf8_decode(text, SIZE_MAX, NULL);
    }
    return len > 0;
}

/* Says of the chosen fields of a first line, of which some are no numbers, why they are neither a
 * row nor a header. */
static dpot_status refuse_first_row(const struct csv_table *t, const struct census *census)
{
    const size_t *n_of = census->n_of, *first_of = census->first_of;
    const enum csv_kind kind = n_of[CSV_UNTEXT] > 0    ? CSV_UNTEXT
                               : n_of[CSV_MISSING] > 0 ? CSV_MISSING
                               : n_of[CSV_OTHER] > 0   ? CSV_OTHER
                               : n_of[CSV_NAME] > 0    ? CSV_NAME
                                                       : CSV_EMPTY;
    const size_t column = first_of[kind];
    const char *text = csv_lines_text(&t->lines, column);
    char shown[CSV_SHOWN_MAX];
    csv_show(text, shown);
    if (kind == CSV_UNTEXT && strchr(text, '\n') && is_utf8(text)) {
        return csv_table_refuse(
            t, DPOT_ERR_MALFORMED, column, NULL,
            "has a line break in quotes: take it out of the name of the column");
    }
    if (kind == CSV_UNTEXT) {
        return csv_table_refuse(t, DPOT_ERR_MALFORMED, column, NULL,
                                "is not text in UTF-8: give a table of text (iconv converts it)");
    }
    if (kind == CSV_EMPTY && n_of[CSV_NUMBER] == 0) {
        return csv_table_refuse(
            t, DPOT_ERR_MALFORMED, column, NULL,
            "is empty, as is the rest of the line: give numbers or the names of the "
            "columns");
    }
    if (kind == CSV_MISSING ||
        (kind == CSV_OTHER &&
         (csv_table_is_decimal_comma(text) || (t->lines.separator != ',' && strchr(text, ','))))) {
        return csv_table_refuse_field(t, column, kind);
    }
    return csv_table_refuse(
        t, DPOT_ERR_MALFORMED, column, shown,
        kind == CSV_OTHER
            ? ", which is not a number: correct it, or begin the name of a column with a "
              "letter"
        : kind == CSV_NAME
            ? " beside numbers: a row has only numbers, a header has none; FILE:LIST or --columns "
              "reads other columns alone"
            : " beside numbers: a row has only numbers, a header has none");
}

/* Declared: by the form, or because it chooses columns by names and no comment has names. */
static bool is_declared(const struct csv_table *t)
{
    return t->form->header == ARRAY_HEADER_YES ||
           (t->form->columns && !t->names && columns_has_names(t->form->columns));
}

static dpot_status keep_declared(struct csv_table *t)
{
    const dpot_status status = csv_table_keep_names(t, *csv_lines_text(&t->lines, 0) == '#');
    t->n_blank = 0; /* above the header */
    return status == DPOT_OK ? csv_table_choose(t) : status;
}

/* In a one-column table of private data an empty line before others is a row without a number. */
static dpot_status take_blanks(struct csv_table *t)
{
    dpot_status status = DPOT_OK;
    for (; status == DPOT_OK && t->n_blank > 0; t->n_blank--) {
        if (t->is_private && t->n_fields == 1) {
            status = csv_table_push_missing(t);
        }
    }
    return status;
}

/* The first line that is neither empty nor a comment settles the width, names and choice. */
static dpot_status take_first(struct csv_table *t)
{
    struct census census;
    t->n_fields = t->lines.n_fields;
    t->lines.keep_max = t->n_fields + 1;
    if (t->n_names != t->n_fields || !csv_table_has_names(t)) {
        csv_table_forget_names(t);
    }
    if (is_declared(t)) {
        return keep_declared(t);
    }
    dpot_status status = csv_table_choose(t);
    if (status == DPOT_OK) {
        status = take_blanks(t);
    }
    if (status != DPOT_OK || t->is_private) {
        return status == DPOT_OK ? csv_table_push_row(t) : status;
    }
    take_census(t, &census);
    if (t->form->header == ARRAY_HEADER_AUTO && is_header(t, &census)) {
        status = csv_table_keep_names(t, false);
        t->names_line = t->lines.line;
        return status;
    }
    const bool is_row = census.n_of[CSV_NUMBER] + census.n_long == t->choice.n;
    return is_row ? csv_table_push_row(t) : refuse_first_row(t, &census);
}

/* ---- the file ---- */

static dpot_status take_blank(struct csv_table *t)
{
    const size_t most = t->is_private ? (size_t)1 << t->lines.rules->entries_log2 : BLANKS_MAX;
    return ++t->n_blank <= most ? DPOT_OK
                                : dpot_error_set(t->error, DPOT_ERR_TOO_LARGE,
                                                 "line %zu is one empty line too many (at most %zu "
                                                 "in a row)",
                                                 t->lines.line, most);
}

static dpot_status take_line(struct csv_table *t)
{
    if (t->lines.is_blank) {
        return take_blank(t);
    }
    if (t->n_fields > 0) {
        const dpot_status status = take_blanks(t);
        return status == DPOT_OK ? csv_table_push_row(t) : status;
    }
    if (!t->is_private && *csv_lines_text(&t->lines, 0) == '#' &&
        t->form->header != ARRAY_HEADER_YES) {
        t->n_blank = 0;
        return csv_table_keep_names(t, true);
    }
    const dpot_status status = take_first(t);
    return status == DPOT_OK ? csv_table_choose_names(t) : status;
}

static dpot_status read_table(struct csv_table *t, FILE *stream, const struct array_rules *rules)
{
    bool is_end = false;
    dpot_status status = csv_lines_open(&t->lines, stream, rules, t->error);
    while (status == DPOT_OK && !is_end) {
        status = csv_lines_next(&t->lines, &is_end);
        if (status == DPOT_OK && !is_end) {
            status = take_line(t);
        }
    }
    if (status == DPOT_OK && t->n_values == 0) {
        status = dpot_error_set(t->error, DPOT_ERR_SHAPE, "there are no rows: give at least one");
    }
    return status;
}

/* Moves values and names to the array. */
static dpot_status finish(struct csv_table *t, struct array *array)
{
    double *values = csv_table_resize(t, t->n_values);
    if (!values) {
        return dpot_error_set(t->error, DPOT_ERR_MEMORY, "out of memory");
    }
    *array = (struct array){.n_rows = t->n_values / t->choice.n,
                            .n_cols = t->choice.n,
                            .is_vector = t->choice.n == 1,
                            .values = values,
                            .names = t->names,
                            .names_line = t->names_line};
    t->values = NULL;
    t->cap = t->n_names = 0;
    t->names = NULL;
    return DPOT_OK;
}

/* A table without rows: its width and names. */
static void state_width(struct csv_table *t, struct array *array)
{
    array->n_cols = t->choice.n > 0 ? t->choice.n : ARRAY_WIDTH_UNKNOWN;
    if (t->choice.n > 0) {
        array->names = t->names;
        array->names_line = t->names_line;
        t->names = NULL;
        t->n_names = 0;
    }
}

dpot_status csv_read(FILE *stream, const struct array_rules *rules, const struct array_form *form,
                     struct array *array, struct dpot_error *error)
{
    struct csv_table t = {.form = form, .error = error, .is_private = rules->is_private};
    *array = (struct array){0};
    dpot_status status = read_table(&t, stream, rules);
    if (status == DPOT_OK) {
        status = finish(&t, array);
    } else if (status == DPOT_ERR_SHAPE) {
        state_width(&t, array);
    }
    dpot_free_secret(NULL, t.values, t.cap, sizeof *t.values);
    csv_table_forget_names(&t);
    columns_choice_release(&t.choice);
    csv_lines_close(&t.lines);
    dpot_wipe(&t, sizeof t);
    return status;
}

/* In quotes where it holds what a reader would take for more than text. */
static void write_name(FILE *stream, const char *name)
{
    if (*name && !strpbrk(name, ",;\t\"#\r\n")) {
        (void)fputs(name, stream);
        return;
    }
    (void)putc('"', stream);
    for (; *name; name++) {
        if (*name == '"') {
            (void)putc('"', stream);
        }
        (void)putc(*name, stream);
    }
    (void)putc('"', stream);
}

static void write_names(FILE *stream, const struct array *array)
{
    for (size_t j = 0; j < array->n_cols; j++) {
        write_name(stream, array->names[j]);
        (void)putc(j + 1 < array->n_cols ? ',' : '\n', stream);
    }
}

void csv_write(FILE *stream, const struct array *array, enum array_type type)
{
    const double *value = array->values;
    if (array->names) {
        write_names(stream, array);
    }
    for (size_t i = 0; i < array->n_rows; i++) {
        for (size_t j = 0; j < array->n_cols; j++, value++) {
            if (j > 0) {
                (void)putc(',', stream);
            }
            if (type == ARRAY_U4) {
                (void)fprintf(stream, "%lu", (unsigned long)*value);
            } else {
                char text[NUMBER_SIZE];
                number_format(*value, text);
                (void)fputs(text, stream);
            }
        }
        (void)putc('\n', stream);
    }
}
