#include "csv.h"

#include "base/alloc.h"
#include "base/crypto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE 65536
#define NUMBERS_MAX ((size_t)1 << 26)

/* What became of a line. */
enum line_result { LINE_OK, LINE_WORDS, LINE_NOT_NUMBERS, LINE_RAGGED, LINE_NO_MEMORY };

static bool push(struct table *table, size_t n_used, double value)
{
    if (n_used == table->cap) {
        const size_t cap = table->cap ? 2 * table->cap : 64;
        if (cap > NUMBERS_MAX) {
            return false;
        }
        /* Not resized in place: the old block holds device data and is wiped. */
        double *values = dpot_alloc_array(NULL, cap, sizeof *values);
        if (!values) {
            return false;
        }
        if (n_used > 0) {
            memcpy(values, table->values, n_used * sizeof *values);
        }
        dpot_free_secret(NULL, table->values, table->cap, sizeof *values);
        table->values = values;
        table->cap = cap;
    }
    table->values[n_used] = value;
    return true;
}

/* Decimal notation, nan, inf; not the hexadecimal that strtod would take. */
static bool read_number(const char **text, double *value)
{
    char *end = NULL;
    const size_t digits = strspn(*text, " \t+-");
    if ((*text)[digits] == '0' && strchr("xX", (*text)[digits + 1]) && (*text)[digits + 1]) {
        return false;
    }
    *value = strtod(*text, &end);
    if (end == *text) {
        return false;
    }
    *text = end + strspn(end, " \t\r\n");
    return true;
}

static enum line_result read_row(struct table *table, const char *line)
{
    size_t n = 0;
    const size_t start = table->n_rows * table->n_columns;
    for (const char *next = line;; next++) {
        double value = 0;
        if (!read_number(&next, &value) || (*next != ',' && *next != '\0')) {
            return n == 0 && next == line ? LINE_WORDS : LINE_NOT_NUMBERS;
        }
        if (!push(table, start + n, value)) {
            return LINE_NO_MEMORY;
        }
        n++;
        if (*next == '\0') {
            break;
        }
    }
    if (table->n_rows > 0 && n != table->n_columns) {
        return LINE_RAGGED;
    }
    table->n_columns = n;
    table->n_rows++;
    return LINE_OK;
}

static enum exit_code read_lines(struct table *table, FILE *stream, char *line, const char *path,
                                 struct failure *failure)
{
    bool may_be_header = true;
    for (size_t number = 1; fgets(line, LINE_SIZE, stream); number++) {
        if (strlen(line) == LINE_SIZE - 1 && line[LINE_SIZE - 2] != '\n') {
            return fail(failure, EXIT_INPUT, "%s, line %zu: longer than %d bytes", path, number,
                        LINE_SIZE - 2);
        }
        if (line[strspn(line, " \t\r\n")] == '\0') {
            continue;
        }
        switch (read_row(table, line)) {
        case LINE_OK:
            break;
        case LINE_WORDS:
            if (may_be_header) {
                break;
            }
            /* fall through */
        case LINE_NOT_NUMBERS:
            return fail(failure, EXIT_INPUT, "%s, line %zu: not numbers separated by commas", path,
                        number);
        case LINE_RAGGED:
            return fail(failure, EXIT_INPUT, "%s, line %zu: not as many numbers as before", path,
                        number);
        case LINE_NO_MEMORY:
            return fail(failure, EXIT_INPUT, "%s: more numbers than fit in memory", path);
        }
        may_be_header = false;
    }
    if (ferror(stream)) {
        return fail(failure, EXIT_IO, "%s: reading failed", path);
    }
    return EXIT_DONE;
}

enum exit_code table_read(struct table *table, const char *path, struct failure *failure)
{
    *table = (struct table){0};
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *stream = is_stdin ? stdin : fopen(path, "r");
    if (!stream) {
        return fail(failure, EXIT_IO, "%s: cannot be opened", path);
    }
    char *line = dpot_alloc_array(NULL, LINE_SIZE, sizeof *line);
    const enum exit_code code = line ? read_lines(table, stream, line, path, failure)
                                     : fail(failure, EXIT_INTERNAL, "out of memory");
    dpot_free_secret(NULL, line, LINE_SIZE, sizeof *line);
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
