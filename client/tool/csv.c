#include "csv.h"

#include "base/alloc.h"
#include "base/crypto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_MAX 255 /* bytes of one field */
#define BLANKS " \t\r"

/* What the fields of the first line say about it. */
struct first_line {
    size_t n_texts;    /* neither empty nor a number */
    size_t numeric;    /* column of the first text that begins like a number; 0: none */
    size_t text;       /* column of the first field that is no number; 0: none */
    bool is_comment;   /* begins with '#' */
    size_t unreadable; /* column of the first field that is no text in UTF-8; 0: none */
};

struct reader {
    FILE *stream;
    const char *path;
    struct failure *failure;
    struct table *table;
    size_t n_values;   /* in the table */
    size_t n_bytes;    /* of the input */
    size_t line;       /* from 1 */
    size_t column;     /* of the field being read, from 1 */
    size_t n_numbers;  /* in this line */
    size_t blank_line; /* an empty line that was seen; 0: none */
    bool has_header;
    struct first_line first;
    char field[FIELD_MAX + 1];
    size_t field_len;
};

static enum exit_code refuse(const struct reader *r, const char *what)
{
    return fail(r->failure, EXIT_INPUT, "%s, line %zu, column %zu %s", r->path, r->line, r->column,
                what);
}

static enum exit_code push(struct reader *r, double value)
{
    struct table *table = r->table;
    if (r->n_values == TABLE_NUMBERS_MAX) {
        return refuse(r, "is one number too many (at most 2^24)");
    }
    if (r->n_values == table->cap) {
        /* Not resized in place: the old block holds device data and is wiped. */
        const size_t cap = table->cap ? 2 * table->cap : 64;
        double *values = dpot_alloc_array(NULL, cap, sizeof *values);
        if (!values) {
            return refuse(r, "does not fit into memory any more");
        }
        if (r->n_values > 0) {
            memcpy(values, table->values, r->n_values * sizeof *values);
        }
        dpot_free_secret(NULL, table->values, table->cap, sizeof *values);
        table->values = values;
        table->cap = cap;
    }
    table->values[r->n_values++] = value;
    return EXIT_DONE;
}

/* ---- fields ---- */

static void trim(struct reader *r)
{
    char *text = r->field;
    const size_t start = strspn(text, BLANKS);
    while (r->field_len > start && strchr(BLANKS, text[r->field_len - 1])) {
        r->field_len--;
    }
    r->field_len -= start;
    memmove(text, text + start, r->field_len);
    text[r->field_len] = '\0';
}

/* One byte of the input; EOF at its end. */
static enum exit_code take_byte(struct reader *r, int *c)
{
    *c = getc_unlocked(r->stream);
    if (*c != EOF && ++r->n_bytes > TABLE_BYTES_MAX) {
        return refuse(r, "is beyond the first 2^28 bytes: that is the limit");
    }
    return *c == '\0' ? refuse(r, "has a NUL byte: this is not a CSV file") : EXIT_DONE;
}

/* Reads a field up to its comma, end of line or end of file, which goes to *stop. */
static enum exit_code read_field(struct reader *r, int *stop)
{
    bool is_quoted = false;
    r->field_len = 0;
    for (;;) {
        const enum exit_code code = take_byte(r, stop);
        if (code != EXIT_DONE) {
            return code;
        }
        const int c = *stop;
        r->field[r->field_len] = '\0';
        if (c == EOF || c == '\n' || (c == ',' && !is_quoted)) {
            break;
        }
        if (c == '"' && (is_quoted || strspn(r->field, " \t") >= r->field_len)) {
            is_quoted = !is_quoted;
            continue;
        }
        if (r->field_len == FIELD_MAX) {
            return refuse(r, "is longer than 255 bytes: separate numbers with commas");
        }
        r->field[r->field_len++] = (char)c;
    }
    if (is_quoted) {
        return refuse(r, "has a quote that is not closed");
    }
    trim(r);
    return EXIT_DONE;
}

/* Decimal notation, nan, inf; not the hexadecimal that strtod would take. Beyond the doubles it is
 * infinite, which strtod says too. */
static bool read_number(const char *text, double *value)
{
    char *end = NULL;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && !strpbrk(text, "xX(");
}

/* Bytes of the UTF-8 character that begins at `c` (RFC 3629); 0: none begins there. */
static size_t utf8_length(const unsigned char *c)
{
    static const struct {
        unsigned char first, last;
        size_t len;
    } rows[] = {{0x01, 0x7F, 1}, {0xC2, 0xDF, 2}, {0xE0, 0xEF, 3}, {0xF0, 0xF4, 4}};
    size_t len = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        len = *c >= rows[i].first && *c <= rows[i].last ? rows[i].len : len;
    }
    for (size_t i = 1; i < len; i++) {
        if (c[i] < 0x80 || c[i] > 0xBF) {
            return 0;
        }
    }
    return len;
}

/* The first line of a binary file must not pass for a header. */
static bool is_readable(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    while (*c) {
        const size_t len = utf8_length(c);
        if (len == 0 || (*c < ' ' && *c != '\t') || *c == 0x7F) {
            return false;
        }
        c += len;
    }
    return true;
}

/* ---- the first line ---- */

static void note_text(struct reader *r)
{
    struct first_line *first = &r->first;
    first->n_texts += r->field_len > 0;
    first->text = first->text ? first->text : r->column;
    first->unreadable =
        first->unreadable == 0 && !is_readable(r->field) ? r->column : first->unreadable;
    if (first->numeric == 0 && r->field_len > 0 && strchr("0123456789+-.", r->field[0])) {
        first->numeric = r->column;
    }
}

/* A header, or numbers only. A mistyped number must not make a row a header that is passed over. */
static enum exit_code settle_first_line(struct reader *r)
{
    const struct first_line *first = &r->first;
    const size_t n_columns = r->column;
    if (first->unreadable > 0) {
        r->column = first->unreadable;
        return refuse(r, "is not text in UTF-8: give a CSV file");
    }
    if (first->is_comment || (r->n_numbers == 0 && first->numeric == 0 && first->n_texts > 0)) {
        r->has_header = true;
        r->n_values = 0;
        r->table->n_columns = first->is_comment ? 0 : n_columns;
        return EXIT_DONE;
    }
    if (first->numeric > 0) {
        r->column = first->numeric;
        return refuse(r, "begins like a number and is none: correct it, or begin the name of a "
                         "column with a letter");
    }
    if (first->text > 0) {
        r->column = first->text;
        return refuse(r, r->n_numbers > 0
                             ? "is no number beside numbers: a row has only numbers, a "
                               "header has none"
                             : "is empty, as is the rest of the line");
    }
    r->table->n_columns = n_columns;
    r->table->n_rows = 1;
    return EXIT_DONE;
}

/* ---- lines ---- */

static enum exit_code take_field(struct reader *r)
{
    double value = 0;
    if (read_number(r->field, &value)) {
        r->n_numbers++;
        return push(r, value);
    }
    if (r->line > 1) {
        return refuse(r, "is no number: give numbers with commas between columns");
    }
    note_text(r);
    return EXIT_DONE;
}

static enum exit_code end_line(struct reader *r)
{
    struct table *table = r->table;
    if (r->line == 1) {
        return settle_first_line(r);
    }
    table->n_columns = table->n_columns ? table->n_columns : r->column;
    if (r->column != table->n_columns) {
        return fail(r->failure, EXIT_INPUT,
                    "%s, line %zu has %zu columns where %zu were expected: all rows have as many",
                    r->path, r->line, r->column, table->n_columns);
    }
    table->n_rows++;
    return EXIT_DONE;
}

/* Reads one line; *stop is EOF after the last. */
static enum exit_code read_line(struct reader *r, int *stop)
{
    r->line++;
    r->column = 0;
    r->n_numbers = 0;
    do {
        r->column++;
        enum exit_code code = read_field(r, stop);
        if (code != EXIT_DONE) {
            return code;
        }
        if (r->column == 1 && *stop != ',' && r->field_len == 0) {
            r->blank_line = *stop != EOF && r->blank_line == 0 ? r->line : r->blank_line;
            return EXIT_DONE;
        }
        if (r->blank_line > 0) {
            r->line = r->blank_line;
            return refuse(r, "is an empty line before others: remove it");
        }
        r->first.is_comment |= r->line == 1 && r->column == 1 && r->field[0] == '#';
        code = take_field(r);
        if (code != EXIT_DONE) {
            return code;
        }
    } while (*stop == ',');
    return end_line(r);
}

static void skip_byte_order_mark(FILE *stream)
{
    static const int mark[3] = {0xEF, 0xBB, 0xBF};
    for (int i = 0; i < 3; i++) {
        const int c = getc(stream);
        if (c != mark[i]) {
            (void)(c != EOF && ungetc(c, stream));
            return; /* a mark cut short is text and refused as such */
        }
    }
}

static enum exit_code read_lines(struct reader *r)
{
    int stop = '\n';
    skip_byte_order_mark(r->stream);
    while (stop != EOF) {
        const enum exit_code code = read_line(r, &stop);
        if (code != EXIT_DONE) {
            return code;
        }
    }
    if (ferror(r->stream)) {
        return fail(r->failure, EXIT_IO, "%s: reading failed: %s", r->path, strerror(errno));
    }
    if (r->has_header && r->table->n_rows == 0) {
        return fail(r->failure, EXIT_INPUT,
                    "%s, line 1 is text and no numbers follow: a device without data gives an "
                    "empty file",
                    r->path);
    }
    return EXIT_DONE;
}

enum exit_code table_read(struct table *table, const char *path, struct failure *failure)
{
    *table = (struct table){0};
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *stream = is_stdin ? stdin : fopen(path, "r");
    if (!stream) {
        return fail(failure, EXIT_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    struct reader r = {.stream = stream, .path = path, .failure = failure, .table = table};
    const enum exit_code code = read_lines(&r);
    dpot_wipe(&r, sizeof r);
    if (!is_stdin) {
        (void)fclose(stream);
    }
    if (code != EXIT_DONE) {
        table_release(table);
    }
    return code;
}

void table_release(struct table *table)
{
    dpot_free_secret(NULL, table->values, table->cap, sizeof *table->values);
    *table = (struct table){0};
}
