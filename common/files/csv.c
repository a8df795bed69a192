#include "files/csv.h"

#include "base/alloc.h"
#include "base/crypto.h"
#include "files/columns.h"
#include "files/csv_line.h"
#include "files/csv_names.h"
#include "files/number.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define BLANKS_MAX 1000 /* empty lines in a row, in public files */

typedef char name_text[ARRAY_NAME_MAX];

struct table {
    struct csv_lines lines;
    const struct array_form *form;
    struct dpot_error *error;
    bool is_private;
    size_t n_fields; /* of each row; 0 until the first is known */
    struct columns_choice choice;
    name_text *names; /* (n_names) of the last comment or of the header; of the chosen columns once
                         they are known */
    size_t n_names, names_line;
    double *values; /* (cap), n_values used */
    size_t n_values, cap;
    size_t n_blank; /* empty lines before this one */
};

/* ---- memory ---- */

/* Private values move to a new block and the old one is wiped. NULL: out of memory, nothing
 * changed. */
static double *resize(const struct table *t, size_t cap)
{
    if (!t->is_private) {
        return dpot_resize_array(NULL, t->values, t->cap, cap, sizeof *t->values);
    }
    double *values = dpot_alloc_array(NULL, cap, sizeof *values);
    if (values && t->n_values > 0) {
        memcpy(values, t->values, t->n_values * sizeof *values);
    }
    if (values) {
        dpot_free_secret(NULL, t->values, t->cap, sizeof *values);
    }
    return values;
}

static dpot_status push(struct table *t, size_t column, double value)
{
    const unsigned log2 = t->lines.rules->entries_log2;
    if (t->n_values >= (size_t)1 << log2) {
        return dpot_error_set(t->error, DPOT_ERR_TOO_LARGE,
                              "line %zu, column %zu is one entry too many (at most 2^%u)",
                              t->lines.line, column + 1, log2);
    }
    if (t->n_values == t->cap) {
        const size_t cap = t->cap ? 2 * t->cap : 4096;
        double *values = resize(t, cap);
        if (!values) {
            return dpot_error_set(t->error, DPOT_ERR_MEMORY, "out of memory at line %zu",
                                  t->lines.line);
        }
        t->values = values;
        t->cap = cap;
    }
    t->values[t->n_values++] = value;
    return DPOT_OK;
}

/* ---- rows ---- */

static dpot_status refuse(const struct table *t, dpot_status status, size_t column,
                          const char *found, const char *what)
{
    return dpot_error_set(t->error, status, "line %zu, column %zu %s%s%s", t->lines.line,
                          column + 1, found ? "is " : "", found ? found : "", what);
}

/* What to do about a field that is no number. */
static const char *remedy_of(const struct table *t, const char *text, enum csv_kind kind)
{
    return kind == CSV_EMPTY           ? ", a missing value: give a number"
           : kind == CSV_MISSING       ? ", neither a number nor a name: give a number"
           : t->lines.separator == ',' ? ": give a number, with commas between columns"
           : strchr(text, ',')         ? ": give a number, with a decimal point"
                                       : ": give a number";
}

static dpot_status refuse_field(const struct table *t, size_t column, enum csv_kind kind)
{
    const char *text = csv_lines_text(&t->lines, column);
    char shown[CSV_SHOWN_MAX];
    csv_show(text, shown);
    return refuse(t, DPOT_ERR_MALFORMED, column, shown, remedy_of(t, text, kind));
}

/* The number in a field of the row; NaN for a private one that is none. */
static dpot_status read_number(const struct table *t, size_t column, double *value)
{
    const struct csv_field *field = &t->lines.fields[column];
    const enum csv_kind kind = csv_kind_of(csv_lines_text(&t->lines, column), value);
    const bool is_beyond = kind == CSV_NUMBER && errno == ERANGE && fabs(*value) > 1;
    if (field->is_broken || field->is_long) {
        *value = NAN;
    }
    if (t->is_private) {
        return DPOT_OK;
    }
    if (field->is_long) {
        return refuse(t, DPOT_ERR_MALFORMED, column, NULL,
                      "is longer than 255 bytes: separate numbers with commas");
    }
    if (is_beyond) {
        return refuse(t, DPOT_ERR_RANGE, column, NULL, "is beyond the range of a double");
    }
    return kind == CSV_NUMBER ? DPOT_OK : refuse_field(t, column, kind);
}

static dpot_status push_missing_row(struct table *t)
{
    dpot_status status = DPOT_OK;
    for (size_t k = 0; status == DPOT_OK && k < t->choice.n; k++) {
        status = push(t, t->choice.positions[k], NAN);
    }
    return status;
}

static dpot_status push_row(struct table *t)
{
    const size_t n = t->lines.n_fields;
    dpot_status status = DPOT_OK;
    if (n != t->n_fields && t->is_private) {
        return push_missing_row(t);
    }
    if (n != t->n_fields) {
        return dpot_error_set(t->error, DPOT_ERR_MALFORMED,
                              "line %zu has %zu column%s where %zu were expected: rows must not be "
                              "ragged",
                              t->lines.line, n, DPOT_S(n), t->n_fields);
    }
    for (size_t k = 0; status == DPOT_OK && k < t->choice.n; k++) {
        double value = 0;
        status = read_number(t, t->choice.positions[k], &value);
        if (status == DPOT_OK) {
            status = push(t, t->choice.positions[k], value);
        }
    }
    return status;
}

/* ---- names ---- */

static void set_name(name_text name, const char *text)
{
    size_t len = strnlen(text, ARRAY_NAME_MAX);
    if (len == ARRAY_NAME_MAX) {
        for (len--; len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80;) {
            len--; /* not in the middle of a character */
        }
    }
    memcpy(name, text, len);
    name[len] = '\0';
}

static void forget_names(struct table *t)
{
    dpot_free_secret(NULL, t->names, t->n_names, sizeof *t->names);
    t->names = NULL;
    t->n_names = t->names_line = 0;
}

/* Keeps the fields of the line as names, without the '#' of a comment. */
static dpot_status keep_names(struct table *t, bool is_comment)
{
    const size_t n = t->lines.n_fields;
    forget_names(t);
    t->names = dpot_alloc_array(NULL, n, sizeof *t->names);
    if (!t->names) {
        return dpot_error_set(t->error, DPOT_ERR_MEMORY, "out of memory for %zu names", n);
    }
    t->n_names = n;
    for (size_t j = 0; j < n; j++) {
        const char *text = csv_lines_text(&t->lines, j);
        text += j == 0 && is_comment ? 1 + strspn(text + 1, " \t") : 0;
        set_name(t->names[j], text);
    }
    return DPOT_OK;
}

static bool has_a_name(const struct table *t)
{
    for (size_t j = 0; j < t->n_names; j++) {
        if (t->names[j][0]) {
            return true;
        }
    }
    return false;
}

static const char *name_of(const void *ctx, size_t j)
{
    const struct table *t = ctx;
    return t->names ? t->names[j] : NULL;
}

static dpot_status choose(struct table *t)
{
    const char *list = t->form->columns ? t->form->columns : ":";
    return columns_choose(list, t->n_fields, name_of, t, &t->choice, t->error);
}

/* Names of the chosen columns take the place of all names. */
static dpot_status choose_names(struct table *t)
{
    name_text *names = t->names ? dpot_alloc_array(NULL, t->choice.n, sizeof *names) : NULL;
    if (!t->names) {
        return DPOT_OK;
    }
    if (!names) {
        return dpot_error_set(t->error, DPOT_ERR_MEMORY, "out of memory for names");
    }
    for (size_t k = 0; k < t->choice.n; k++) {
        memcpy(names[k], t->names[t->choice.positions[k]], sizeof *names);
    }
    const size_t line = t->names_line;
    forget_names(t);
    t->names = names;
    t->n_names = t->choice.n;
    t->names_line = line;
    return DPOT_OK;
}

/* ---- the first line ---- */

/* What the chosen fields of the first line are. */
struct census {
    size_t n_long;                   /* too long, or broken */
    size_t n_of[CSV_UNTEXT + 1];     /* of the others, by kind */
    size_t first_of[CSV_UNTEXT + 1]; /* column */
};

static void take_census(const struct table *t, struct census *census)
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

static bool is_header(const struct table *t, const struct census *census)
{
    return census->n_of[CSV_NAME] > 0 &&
           census->n_of[CSV_NAME] + census->n_of[CSV_EMPTY] == t->choice.n;
}

/* Says of the chosen fields of a first line, of which some are no numbers, why they are neither a
 * row nor a header. */
static dpot_status refuse_first_row(const struct table *t, const struct census *census)
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
    if (kind == CSV_UNTEXT) {
        return refuse(t, DPOT_ERR_MALFORMED, column, NULL,
                      "is not text in UTF-8: give a table of text (iconv converts it)");
    }
    if (kind == CSV_EMPTY && n_of[CSV_NUMBER] == 0) {
        return refuse(t, DPOT_ERR_MALFORMED, column, NULL,
                      "is empty, as is the rest of the line: give numbers or the names of the "
                      "columns");
    }
    if (kind == CSV_MISSING ||
        (kind == CSV_OTHER && t->lines.separator != ',' && strchr(text, ','))) {
        return refuse_field(t, column, kind);
    }
    return refuse(t, DPOT_ERR_MALFORMED, column, shown,
                  kind == CSV_OTHER
                      ? ", which is not a number: correct it, or begin the name of a column with a "
                        "letter"
                      : " beside numbers: a row has only numbers, a header has none");
}

/* Declared: by the form, or because it names columns and no comment did. */
static bool is_declared(const struct table *t)
{
    return t->form->header == ARRAY_HEADER_YES ||
           (t->form->header == ARRAY_HEADER_AUTO && t->form->columns && !t->names &&
            columns_has_names(t->form->columns));
}

static dpot_status keep_declared(struct table *t)
{
    const dpot_status status = keep_names(t, *csv_lines_text(&t->lines, 0) == '#');
    return status == DPOT_OK ? choose(t) : status;
}

/* The first line that is neither empty nor a comment settles the width, names and choice. */
static dpot_status take_first(struct table *t)
{
    struct census census;
    t->n_fields = t->lines.n_fields;
    t->lines.keep_max = t->n_fields + 1;
    if (t->n_names != t->n_fields || !has_a_name(t)) {
        forget_names(t);
    }
    if (is_declared(t)) {
        return keep_declared(t);
    }
    dpot_status status = choose(t);
    if (status != DPOT_OK) {
        return status;
    }
    take_census(t, &census);
    if (t->form->header == ARRAY_HEADER_AUTO && is_header(t, &census)) {
        status = keep_names(t, false);
        t->names_line = t->lines.line;
        return status;
    }
    const bool is_row = census.n_of[CSV_NUMBER] + census.n_long == t->choice.n;
    return t->is_private || is_row ? push_row(t) : refuse_first_row(t, &census);
}

/* ---- the file ---- */

/* In a one-column table of private data an empty line before others is a row without a number. */
static dpot_status take_blanks(struct table *t)
{
    dpot_status status = DPOT_OK;
    for (; status == DPOT_OK && t->n_blank > 0; t->n_blank--) {
        if (t->is_private && t->n_fields == 1) {
            status = push_missing_row(t);
        }
    }
    return status;
}

static dpot_status take_line(struct table *t)
{
    if (t->lines.is_blank) {
        t->n_blank++;
        return t->is_private || t->n_blank < BLANKS_MAX
                   ? DPOT_OK
                   : refuse(t, DPOT_ERR_TOO_LARGE, 0, NULL,
                            "is one empty line too many (at most 1000 in a row)");
    }
    dpot_status status = take_blanks(t);
    if (status != DPOT_OK) {
        return status;
    }
    if (t->n_fields > 0) {
        return push_row(t);
    }
    if (*csv_lines_text(&t->lines, 0) == '#' && t->form->header == ARRAY_HEADER_AUTO) {
        return keep_names(t, true);
    }
    status = take_first(t);
    return status == DPOT_OK ? choose_names(t) : status;
}

static dpot_status read_table(struct table *t, FILE *stream, const struct array_rules *rules)
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
static dpot_status finish(struct table *t, struct array *array)
{
    double *values = resize(t, t->n_values);
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
static void state_width(struct table *t, struct array *array)
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
    struct table t = {.form = form, .error = error, .is_private = rules->is_private};
    *array = (struct array){0};
    dpot_status status = read_table(&t, stream, rules);
    if (status == DPOT_OK) {
        status = finish(&t, array);
    } else if (status == DPOT_ERR_SHAPE) {
        state_width(&t, array);
    }
    dpot_free_secret(NULL, t.values, t.cap, sizeof *t.values);
    forget_names(&t);
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
