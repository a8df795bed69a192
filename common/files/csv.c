#include "files/csv.h"

#include "base/alloc.h"
#include "base/crypto.h"
#include "base/utf8.h"
#include "files/number.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define FIELD_MAX 255   /* bytes of one field */
#define SHOWN_MAX 35    /* bytes of a field in an error, with quotes and NUL */
#define QUOTES_MAX 64   /* in one field */
#define BLANKS_MAX 1000 /* empty lines at the end */

/* A field of the first line, reported if that line is refused. */
struct culprit {
    size_t column; /* from 1; 0: none */
    char shown[SHOWN_MAX];
};

struct reader {
    FILE *stream;
    const struct array_rules *rules;
    struct dpot_error *error;
    uint64_t n_bytes;  /* read */
    size_t line;       /* of the row being read, from 1 */
    size_t n_cols;     /* 0 until the first row is known */
    size_t n_fields;   /* of the row being read */
    size_t n_numbers;  /* of them */
    size_t blank_line; /* first empty line; 0: none */
    bool has_header;
    size_t n_texts;         /* fields of the first line that are neither empty nor a number */
    struct culprit text;    /* its first field that is not a number */
    struct culprit numeric; /* the first of those that begins like a number */
    double *values;
    size_t n_values;
    size_t cap;
    char field[FIELD_MAX + 1];
    size_t field_len;
};

static dpot_status refuse(const struct reader *r, dpot_status status, const char *what)
{
    return dpot_error_set(r->error, status, "line %zu, column %zu %s", r->line, r->n_fields + 1,
                          what);
}

static void trim(char *text)
{
    size_t start = strspn(text, " \t\r");
    size_t end = strlen(text);
    while (end > start && strchr(" \t\r", text[end - 1])) {
        end--;
    }
    memmove(text, text + start, end - start);
    text[end - start] = '\0';
}

/* Private values move to a new block and the old one is wiped. NULL: out of memory, nothing
 * changed. */
static double *resize(const struct reader *r, size_t cap)
{
    if (!r->rules->is_private) {
        return dpot_resize_array(NULL, r->values, r->cap, cap, sizeof *r->values);
    }
    double *values = dpot_alloc_array(NULL, cap, sizeof *values);
    if (values && r->n_values > 0) {
        memcpy(values, r->values, r->n_values * sizeof *values);
    }
    if (values) {
        dpot_free_secret(NULL, r->values, r->cap, sizeof *values);
    }
    return values;
}

static dpot_status push(struct reader *r, double value)
{
    if (r->n_values == r->cap) {
        const size_t cap = r->cap ? 2 * r->cap : 4096;
        double *values = resize(r, cap);
        if (!values) {
            return dpot_error_set(r->error, DPOT_ERR_MEMORY, "out of memory at line %zu", r->line);
        }
        r->values = values;
        r->cap = cap;
    }
    r->values[r->n_values++] = value;
    return DPOT_OK;
}

/* Reads one field up to a comma, the end of the line or of the file, which goes to *stop. */
static dpot_status read_field(struct reader *r, int *stop)
{
    bool is_quoted = false;
    size_t n_quotes = 0;
    r->field_len = 0;
    for (;;) {
        const int c = getc_unlocked(r->stream);
        if (++r->n_bytes > (uint64_t)1 << r->rules->bytes_log2 && c != EOF) {
            return dpot_error_set(r->error, DPOT_ERR_TOO_LARGE,
                                  "line %zu is beyond the first 2^%u bytes: that is the limit",
                                  r->line, r->rules->bytes_log2);
        }
        if (c == EOF || c == '\n' || (c == ',' && !is_quoted)) {
            *stop = c;
            break;
        }
        if (c == '\0') {
            return refuse(r, DPOT_ERR_MALFORMED, "has a NUL byte: this is not a CSV file");
        }
        if (c == '"' && (is_quoted || strspn(r->field, " \t") >= r->field_len)) {
            is_quoted = !is_quoted;
            if (++n_quotes > QUOTES_MAX) { /* not counted in the length: they could be endless */
                return refuse(r, DPOT_ERR_MALFORMED, "has more than 64 quotes: remove them");
            }
            continue;
        }
        if (r->field_len == FIELD_MAX) {
            return refuse(r, DPOT_ERR_MALFORMED,
                          "is longer than 255 bytes: separate numbers with commas");
        }
        r->field[r->field_len++] = (char)c;
        r->field[r->field_len] = '\0';
    }
    r->field[r->field_len] = '\0';
    if (is_quoted) {
        return refuse(r, DPOT_ERR_MALFORMED, "has a quote that is not closed");
    }
    trim(r->field);
    return DPOT_OK;
}

/* The start of the field in quotes, printable bytes only; "text" for a private one. */
static void show_field(const struct reader *r, char shown[SHOWN_MAX])
{
    if (r->rules->is_private) {
        (void)snprintf(shown, SHOWN_MAX, "text");
        return;
    }
    (void)snprintf(shown, SHOWN_MAX, "\"%.*s\"", SHOWN_MAX - 3, r->field);
    for (char *c = shown; *c; c++) {
        *c = *c >= ' ' && *c <= '~' ? *c : '?';
    }
}

static dpot_status refuse_text(const struct reader *r)
{
    char shown[SHOWN_MAX];
    show_field(r, shown);
    return dpot_error_set(r->error, DPOT_ERR_MALFORMED,
                          "line %zu, column %zu is %s: give a number, with commas between columns",
                          r->line, r->n_fields + 1, shown);
}

/* False for the first line of a binary file, which would otherwise be taken for a header. */
static bool is_readable(const char *text)
{
    size_t len = 1;
    for (; *text && len > 0; text += len) {
        const bool is_control = ((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7F;
        len = is_control ? 0 : dpot_utf8_decode(text, SIZE_MAX, NULL);
    }
    return len > 0;
}

static void remember(const struct reader *r, struct culprit *culprit)
{
    if (culprit->column == 0) {
        culprit->column = r->n_fields + 1;
        show_field(r, culprit->shown);
    }
}

/* A field of the first line that is not a number; the end of the line decides if it is a header. */
static dpot_status note_text(struct reader *r)
{
    if (strchr(r->field, '\r')) {
        return refuse(r, DPOT_ERR_MALFORMED,
                      "has line ends that are CR alone: convert them to LF (tr '\\r' '\\n')");
    }
    if (!is_readable(r->field)) {
        return refuse(r, DPOT_ERR_MALFORMED,
                      "is not text in UTF-8: give a CSV file (a name that ends in .npy is read as "
                      "NumPy's)");
    }
    remember(r, &r->text);
    r->n_texts += r->field[0] != '\0';
    if (r->field[0] && strchr("0123456789+-.", r->field[0])) {
        remember(r, &r->numeric);
    }
    return DPOT_OK;
}

static dpot_status accept_field(struct reader *r, bool is_first_row)
{
    double value = 0;
    if (number_parse(r->field, &value)) {
        if (errno == ERANGE && fabs(value) > 1 && !r->rules->is_private) {
            return refuse(r, DPOT_ERR_RANGE, "is beyond the range of a double");
        }
        r->n_numbers++;
    } else {
        const dpot_status status = is_first_row ? note_text(r) : refuse_text(r);
        if (status != DPOT_OK) {
            return status;
        }
    }
    if (r->n_fields >= ARRAY_COLUMNS_MAX) {
        return refuse(r, DPOT_ERR_TOO_LARGE, "is one column too many (at most 1048576)");
    }
    if (r->n_values >= (size_t)1 << r->rules->entries_log2) {
        return dpot_error_set(r->error, DPOT_ERR_TOO_LARGE,
                              "line %zu, column %zu is one entry too many (at most 2^%u)", r->line,
                              r->n_fields + 1, r->rules->entries_log2);
    }
    const dpot_status status = push(r, value);
    r->n_fields++;
    return status;
}

/* Without this, a mistyped number would turn a row into a header and drop it. */
static dpot_status refuse_first_row(const struct reader *r)
{
    if (r->numeric.column > 0) {
        return dpot_error_set(r->error, DPOT_ERR_MALFORMED,
                              "line %zu, column %zu is %s, which is not a number: correct it, "
                              "or begin the name of a column with a letter",
                              r->line, r->numeric.column, r->numeric.shown);
    }
    if (r->n_numbers > 0) {
        return dpot_error_set(r->error, DPOT_ERR_MALFORMED,
                              "line %zu, column %zu is %s beside numbers: a row has only "
                              "numbers, a header has none",
                              r->line, r->text.column, r->text.shown);
    }
    return dpot_error_set(r->error, DPOT_ERR_MALFORMED,
                          "line %zu, column 1 is empty, as is the rest of the line: give numbers "
                          "or the names of the columns",
                          r->line);
}

/* The first line is a header, where no field looks like a number, or it has only numbers. */
static dpot_status settle_first_row(struct reader *r, bool is_comment)
{
    const bool is_header = r->n_numbers == 0 && r->numeric.column == 0 && r->n_texts > 0;
    if (is_comment || is_header) {
        r->has_header = true;
        r->n_values = 0;
        r->n_cols = is_comment ? 0 : r->n_fields;
        return DPOT_OK;
    }
    if (r->n_numbers < r->n_fields) {
        return refuse_first_row(r);
    }
    r->n_cols = r->n_fields;
    return DPOT_OK;
}

static dpot_status check_width(const struct reader *r)
{
    if (r->n_fields == r->n_cols) {
        return DPOT_OK;
    }
    return dpot_error_set(r->error, DPOT_ERR_MALFORMED,
                          "line %zu has %zu column%s where %zu were expected: rows must not be "
                          "ragged",
                          r->line, r->n_fields, DPOT_S(r->n_fields), r->n_cols);
}

/* A limited number of empty lines may end a file. */
static dpot_status note_blank(struct reader *r, int stop)
{
    if (stop == EOF) {
        return DPOT_OK;
    }
    if (r->blank_line == 0) {
        r->blank_line = r->line;
    }
    return r->line - r->blank_line < BLANKS_MAX
               ? DPOT_OK
               : refuse(r, DPOT_ERR_TOO_LARGE,
                        "is one empty line too many (at most 1000 in a row)");
}

/* Reads one line; *stop is EOF after the last. */
static dpot_status read_line(struct reader *r, bool is_first_row, int *stop)
{
    bool is_comment = false;
    r->line++;
    r->n_fields = r->n_numbers = 0;
    do {
        dpot_status status = read_field(r, stop);
        if (status != DPOT_OK) {
            return status;
        }
        if (r->n_fields == 0 && *stop != ',' && !r->field[0]) {
            return note_blank(r, *stop);
        }
        if (r->blank_line) {
            r->line = r->blank_line;
            return refuse(r, DPOT_ERR_MALFORMED, "is an empty line: remove it");
        }
        is_comment |= is_first_row && r->n_fields == 0 && r->field[0] == '#';
        status = accept_field(r, is_first_row);
        if (status != DPOT_OK) {
            return status;
        }
    } while (*stop == ',');
    if (is_first_row) {
        return settle_first_row(r, is_comment);
    }
    if (r->n_cols == 0) {
        r->n_cols = r->n_fields;
    }
    return check_width(r);
}

static void skip_byte_order_mark(FILE *stream)
{
    static const int mark[3] = {0xEF, 0xBB, 0xBF};
    for (int i = 0; i < 3; i++) {
        const int c = getc(stream);
        if (c != mark[i]) {
            (void)(c != EOF && ungetc(c, stream));
            return; /* part of a mark is not UTF-8 and is refused as text */
        }
    }
}

static dpot_status read_rows(struct reader *r)
{
    int stop = '\n';
    skip_byte_order_mark(r->stream);
    while (stop != EOF) {
        const dpot_status status = read_line(r, r->line == 0, &stop);
        if (status != DPOT_OK) {
            return status;
        }
    }
    if (ferror(r->stream)) {
        return dpot_error_set(r->error, DPOT_ERR_IO, "reading failed after line %zu: %s", r->line,
                              strerror(errno));
    }
    if (r->n_values == 0 && r->has_header && r->rules->is_private) {
        return dpot_error_set(r->error, DPOT_ERR_MALFORMED,
                              "line 1 is text and no numbers follow: a device without data gives "
                              "an empty file");
    }
    if (r->n_values == 0) {
        return dpot_error_set(r->error, DPOT_ERR_SHAPE, "there are no rows: give at least one");
    }
    return DPOT_OK;
}

dpot_status csv_read(FILE *stream, const struct array_rules *rules, struct array *array,
                     struct dpot_error *error)
{
    struct reader r = {.stream = stream, .rules = rules, .error = error};
    *array = (struct array){0};
    dpot_status status = read_rows(&r);
    if (status == DPOT_OK) {
        double *values = resize(&r, r.n_values);
        if (values) {
            *array = (struct array){.n_rows = r.n_values / r.n_cols,
                                    .n_cols = r.n_cols,
                                    .is_vector = r.n_cols == 1,
                                    .values = values};
        } else {
            status = dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
        }
    }
    if (status == DPOT_ERR_SHAPE) {
        array->n_cols = r.n_cols > 0 ? r.n_cols : ARRAY_WIDTH_UNKNOWN;
    }
    if (status != DPOT_OK) {
        dpot_free_secret(NULL, r.values, r.cap, sizeof *r.values);
    }
    dpot_wipe(&r, sizeof r);
    return status;
}

dpot_status csv_read_names(FILE *stream, size_t n_max, char names[][ARRAY_NAME_MAX], size_t *n,
                           struct dpot_error *error)
{
    struct reader r = {.stream = stream, .rules = &array_rules_public, .error = error, .line = 1};
    int stop = ',';
    bool has_number = false, is_comment = false;
    double value = 0;
    skip_byte_order_mark(stream);
    for (*n = 0; stop == ',' && *n < n_max; r.n_fields = ++*n) {
        const dpot_status status = read_field(&r, &stop);
        const char *name = r.field;
        if (status != DPOT_OK) {
            return status;
        }
        if (*n == 0 && *name == '#') {
            is_comment = true;
            name += 1 + strspn(name + 1, " \t");
        }
        has_number = has_number || (!is_comment && number_parse(name, &value));
        (void)snprintf(names[*n], ARRAY_NAME_MAX, "%.*s", ARRAY_NAME_MAX - 1, name);
    }
    *n = has_number ? 0 : *n;
    return DPOT_OK;
}

void csv_write(FILE *stream, const struct array *array, enum array_type type)
{
    const double *value = array->values;
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
