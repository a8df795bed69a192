#include "files/csv_table.h"

#include "base/alloc.h"
#include "files/number.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- memory ---- */

double *csv_table_resize(const struct csv_table *t, size_t cap)
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

static dpot_status push(struct csv_table *t, size_t column, double value)
{
    const unsigned log2 = t->lines.rules->entries_log2;
    if (t->n_values >= (size_t)1 << log2) {
        return dpot_error_set(t->error, DPOT_ERR_TOO_LARGE,
                              "line %zu, column %zu is one entry too many (at most 2^%u)",
                              t->lines.line, column + 1, log2);
    }
    if (t->n_values == t->cap) {
        const size_t cap = t->cap ? 2 * t->cap : 4096;
        double *values = csv_table_resize(t, cap);
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

dpot_status csv_table_refuse(const struct csv_table *t, dpot_status status, size_t column,
                             const char *found, const char *what)
{
    return dpot_error_set(t->error, status, "line %zu, column %zu %s%s%s", t->lines.line,
                          column + 1, found ? "is " : "", found ? found : "", what);
}

bool csv_table_is_decimal_comma(const char *text)
{
    char copy[CSV_FIELD_MAX + 1];
    double value = 0;
    (void)snprintf(copy, sizeof copy, "%s", text);
    char *comma = strchr(copy, ',');
    if (comma) {
        *comma = '.';
    }
    return comma && number_parse(copy, &value);
}

/* What to do about a field that is no number. */
static const char *remedy_of(const struct csv_table *t, const char *text, enum csv_kind kind)
{
    return kind == CSV_EMPTY     ? ", a missing value: give a number"
           : kind == CSV_MISSING ? ", neither a number nor a name: give a number"
           : csv_table_is_decimal_comma(text)
               ? ", with a decimal comma: write a decimal point, and no separator of thousands"
           : kind == CSV_NAME && t->n_fields > 1
               ? ": give a number, or read other columns alone (FILE:LIST or --columns)"
           : t->lines.separator == ',' ? ": give a number, with commas between columns"
           : strchr(text, ',')         ? ": give a number, with a decimal point"
                                       : ": give a number";
}

dpot_status csv_table_refuse_field(const struct csv_table *t, size_t column, enum csv_kind kind)
{
    const char *text = csv_lines_text(&t->lines, column);
    char shown[CSV_SHOWN_MAX];
    csv_show(text, shown);
    return csv_table_refuse(t, DPOT_ERR_MALFORMED, column, shown, remedy_of(t, text, kind));
}

/* The number in a field of the row; NaN for a private one that is none. */
static dpot_status read_number(const struct csv_table *t, size_t column, double *value)
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
        return csv_table_refuse(t, DPOT_ERR_MALFORMED, column, NULL,
                                "is longer than 255 bytes: separate numbers with commas");
    }
    if (is_beyond) {
        return csv_table_refuse(t, DPOT_ERR_RANGE, column, NULL, "is beyond the range of a double");
    }
    return kind == CSV_NUMBER ? DPOT_OK : csv_table_refuse_field(t, column, kind);
}

dpot_status csv_table_push_missing(struct csv_table *t)
{
    dpot_status status = DPOT_OK;
    for (size_t k = 0; status == DPOT_OK && k < t->choice.n; k++) {
        status = push(t, t->choice.positions[k], NAN);
    }
    return status;
}

dpot_status csv_table_push_row(struct csv_table *t)
{
    const size_t n = t->lines.n_fields;
    dpot_status status = DPOT_OK;
    if (n != t->n_fields && t->is_private) {
        return csv_table_push_missing(t);
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

static void set_name(csv_name name, const char *text)
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

void csv_table_forget_names(struct csv_table *t)
{
    dpot_free_secret(NULL, t->names, t->n_names, sizeof *t->names);
    t->names = NULL;
    t->n_names = t->names_line = 0;
}

dpot_status csv_table_keep_names(struct csv_table *t, bool is_comment)
{
    const size_t n = t->lines.n_fields;
    csv_table_forget_names(t);
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

bool csv_table_has_names(const struct csv_table *t)
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
    const struct csv_table *t = ctx;
    return t->names ? t->names[j] : NULL;
}

dpot_status csv_table_choose(struct csv_table *t)
{
    const char *list = t->form->columns ? t->form->columns : ":";
    const struct columns_table table = {t->n_fields, name_of, t, t->is_private};
    return columns_choose(list, &table, &t->choice, t->error);
}

dpot_status csv_table_choose_names(struct csv_table *t)
{
    csv_name *names = t->names ? dpot_alloc_array(NULL, t->choice.n, sizeof *names) : NULL;
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
    csv_table_forget_names(t);
    t->names = names;
    t->n_names = t->choice.n;
    t->names_line = line;
    return DPOT_OK;
}
