#include "files/csv_line.h"

#include "base/alloc.h"
#include "base/crypto.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX ((size_t)1 << 20) /* bytes of one field in public files */
#define BLANKS " \t"

/* ---- bytes ---- */

static dpot_status refuse(const struct csv_lines *l, dpot_status status, const char *what)
{
    return dpot_error_set(l->error, status, "line %zu, column %zu %s", l->line, l->n_fields + 1,
                          what);
}

static dpot_status fill(struct csv_lines *l)
{
    l->at = 0;
    l->len = fread(l->block, 1, sizeof l->block, l->stream);
    l->n_bytes += l->len;
    if (l->n_bytes > (uint64_t)1 << l->rules->bytes_log2) {
        return dpot_error_set(l->error, DPOT_ERR_TOO_LARGE,
                              "the text goes on beyond the first 2^%u bytes: that is the limit",
                              l->rules->bytes_log2);
    }
    if (l->len == 0 && ferror(l->stream)) {
        return dpot_error_set(l->error, DPOT_ERR_IO, "reading failed after line %zu: %s",
                              l->n_lines, strerror(errno));
    }
    return DPOT_OK;
}

/* The next byte, which stays; EOF at the end. */
static dpot_status peek(struct csv_lines *l, int *c)
{
    const dpot_status status = l->at < l->len ? DPOT_OK : fill(l);
    *c = status == DPOT_OK && l->at < l->len ? l->block[l->at] : EOF;
    return status;
}

/* Takes the byte that was peeked at; CR and CR LF become '\n'. */
static dpot_status take(struct csv_lines *l, int *c)
{
    dpot_status status = peek(l, c);
    if (status != DPOT_OK || *c == EOF) {
        return status;
    }
    l->at++;
    if (*c == '\r') {
        int next = EOF;
        status = peek(l, &next);
        l->at += next == '\n';
        *c = '\n';
    }
    l->n_lines += *c == '\n';
    return status;
}

/* ---- memory: what was private is wiped ---- */

static void *grow(void *old, size_t used, size_t *cap, size_t size)
{
    const size_t more = *cap ? 2 * *cap : 256;
    void *block = dpot_alloc_array(NULL, more, size);
    if (block) {
        if (used > 0) {
            memcpy(block, old, used * size);
        }
        dpot_free_secret(NULL, old, *cap, size);
        *cap = more;
    }
    return block;
}

static dpot_status push_bytes(struct csv_lines *l, const void *bytes, size_t n)
{
    while (l->text_cap - l->text_len < n) {
        char *text = grow(l->text, l->text_len, &l->text_cap, 1);
        if (!text) {
            return dpot_error_set(l->error, DPOT_ERR_MEMORY, "out of memory at line %zu", l->line);
        }
        l->text = text;
    }
    memcpy(l->text + l->text_len, bytes, n);
    l->text_len += n;
    return DPOT_OK;
}

static dpot_status push_field(struct csv_lines *l, struct csv_field field)
{
    if (l->n_fields == l->fields_cap) {
        struct csv_field *fields = grow(l->fields, l->n_fields, &l->fields_cap, sizeof *fields);
        if (!fields) {
            return dpot_error_set(l->error, DPOT_ERR_MEMORY, "out of memory at line %zu", l->line);
        }
        l->fields = fields;
    }
    l->fields[l->n_fields] = field;
    return DPOT_OK;
}

/* ---- fields ---- */

/* A field that is being read. */
struct draft {
    struct csv_field field;
    size_t n_bytes; /* of it, also those that were cut */
    bool is_open;   /* inside quotes */
    bool is_empty;  /* nothing but blanks so far */
};

static dpot_status add_bytes(struct csv_lines *l, struct draft *draft, const void *bytes, size_t n)
{
    const char *text = bytes;
    for (size_t i = 0; i < n && draft->is_empty; i++) {
        draft->is_empty = text[i] == ' ' || text[i] == '\t';
    }
    const size_t room = draft->n_bytes < CSV_FIELD_MAX ? CSV_FIELD_MAX - draft->n_bytes : 0;
    draft->n_bytes += n;
    if (draft->n_bytes > TEXT_MAX && !l->rules->is_private) {
        return refuse(l, DPOT_ERR_MALFORMED,
                      draft->is_open ? "has a quote that is not closed"
                                     : "is longer than 2^20 bytes: separate numbers with commas");
    }
    draft->field.is_long = draft->n_bytes > CSV_FIELD_MAX;
    return push_bytes(l, bytes, n < room ? n : room);
}

/* Adds the bytes in the block up to one that may mean something. */
static dpot_status add_run(struct csv_lines *l, struct draft *draft)
{
    const unsigned char *bytes = l->block + l->at;
    const size_t most = l->len - l->at;
    size_t n = 0;
    while (n < most && (bytes[n] > '"' || bytes[n] == ' ') && bytes[n] != l->separator) {
        n++;
    }
    l->at += n;
    return n > 0 ? add_bytes(l, draft, bytes, n) : DPOT_OK;
}

/* A quote opens at the start of a field, closes, or is doubled inside quotes. */
static dpot_status add_quote(struct csv_lines *l, struct draft *draft)
{
    int next = EOF;
    if (!draft->is_open && (!draft->is_empty || l->is_quoted)) {
        return add_bytes(l, draft, "\"", 1);
    }
    if (!draft->is_open) {
        draft->is_open = l->is_quoted = true;
        return DPOT_OK;
    }
    const dpot_status status = peek(l, &next);
    if (status == DPOT_OK && next == '"') {
        l->at++;
        return add_bytes(l, draft, "\"", 1);
    }
    draft->is_open = false;
    return status;
}

static dpot_status add_nul(const struct csv_lines *l, struct draft *draft)
{
    draft->field.is_broken = true;
    return l->rules->is_private
               ? DPOT_OK
               : refuse(l, DPOT_ERR_MALFORMED, "has a NUL byte: this is no table of text in UTF-8");
}

/* Whether the line begins with '#', as far as it was read, and no row came before. */
static bool is_comment(const struct csv_lines *l)
{
    return l->keep_max == SIZE_MAX && l->n_fields > 0 && *csv_lines_text(l, 0) == '#';
}

/* Reads up to a separator, the end of the line or of the file, which goes to *stop. In comments and
 * private files a quote does not reach beyond its line, so that no record swallows another. */
static dpot_status read_draft(struct csv_lines *l, struct draft *draft, int *stop)
{
    for (;;) {
        dpot_status status = add_run(l, draft);
        if (status == DPOT_OK) {
            status = take(l, stop);
        }
        const char c = (char)*stop;
        const bool is_inside = draft->is_open && !l->rules->is_private && !is_comment(l);
        if (status != DPOT_OK || *stop == EOF || (c == '\n' && !is_inside) ||
            (c == l->separator && !draft->is_open)) {
            return status;
        }
        status = c == '\0'  ? add_nul(l, draft)
                 : c == '"' ? add_quote(l, draft)
                            : add_bytes(l, draft, &c, 1);
        if (status != DPOT_OK) {
            return status;
        }
    }
}

/* Removes blanks around the text from `start` and ends it. */
static dpot_status finish_text(struct csv_lines *l, struct csv_field *field)
{
    const size_t end = l->text_len;
    while (field->start < end && strchr(BLANKS, l->text[field->start])) {
        field->start++;
    }
    while (l->text_len > field->start && strchr(BLANKS, l->text[l->text_len - 1])) {
        l->text_len--;
    }
    return push_bytes(l, "", 1);
}

static dpot_status read_field(struct csv_lines *l, int *stop)
{
    const bool is_kept = l->n_fields < l->keep_max;
    struct draft draft = {.field.start = l->text_len, .is_empty = true};
    l->is_quoted = false;
    dpot_status status = read_draft(l, &draft, stop);
    if (status == DPOT_OK && draft.is_open) {
        draft.field.is_broken = true;
        status = l->rules->is_private || is_comment(l)
                     ? DPOT_OK
                     : refuse(l, DPOT_ERR_MALFORMED, "has a quote that is not closed");
    }
    if (status == DPOT_OK && l->n_fields >= ARRAY_COLUMNS_MAX &&
        (!l->rules->is_private || is_kept)) {
        status = refuse(l, DPOT_ERR_TOO_LARGE, "is one column too many (at most 1048576)");
    }
    if (!is_kept) {
        l->text_len = draft.field.start;
    } else if (status == DPOT_OK) {
        status = finish_text(l, &draft.field);
        status = status == DPOT_OK ? push_field(l, draft.field) : status;
    }
    l->n_fields++;
    return status;
}

dpot_status csv_lines_next(struct csv_lines *l, bool *is_end)
{
    int stop = EOF;
    l->line = l->n_lines + 1;
    l->n_fields = l->text_len = 0;
    do {
        const dpot_status status = read_field(l, &stop);
        if (status != DPOT_OK) {
            return status;
        }
    } while (stop != EOF && stop != '\n');
    l->is_blank = l->n_fields == 1 && !l->is_quoted && !l->fields[0].is_broken &&
                  !l->fields[0].is_long && *csv_lines_text(l, 0) == '\0';
    *is_end = stop == EOF && l->is_blank;
    return DPOT_OK;
}

const char *csv_lines_text(const struct csv_lines *l, size_t j)
{
    return l->text + l->fields[j].start;
}

/* ---- the start of the file ---- */

static bool starts_with(const struct csv_lines *l, const char *bytes, size_t n)
{
    return l->len - l->at >= n && memcmp(l->block + l->at, bytes, n) == 0;
}

/* A line sep=; or "sep=;" of spreadsheets, in either case, names the separator. */
static void read_separator_line(struct csv_lines *l)
{
    const bool is_quoted = starts_with(l, "\"", 1);
    const size_t at = l->at + is_quoted, end = at + 5 + is_quoted;
    const char *line = (const char *)l->block + at;
    if (l->len <= end || strncasecmp(line, "sep=", 4) != 0 || (is_quoted && line[5] != '"')) {
        return;
    }
    const char c = line[4];
    if ((c == ',' || c == ';' || c == '\t') && (l->block[end] == '\n' || l->block[end] == '\r')) {
        l->separator = c;
        l->at = end;
        int line_end = 0;
        (void)!take(l, &line_end); /* it is in the block; an error comes again */
    }
}

/* The first line in the block that is neither empty nor a comment, of which private files have
 * none; else the last. */
static size_t find_line(const struct csv_lines *l, size_t *end)
{
    const char *block = (const char *)l->block;
    for (size_t begin = l->at;; begin = *end + 1) {
        size_t first = begin;
        for (*end = begin; *end < l->len && !strchr("\r\n", block[*end] ? block[*end] : ' ');) {
            (*end)++;
        }
        while (first < *end && (block[first] == ' ' || block[first] == '\t')) {
            first++;
        }
        if (*end >= l->len || (first < *end && (block[first] != '#' || l->rules->is_private))) {
            return begin;
        }
    }
}

/* Whether a tab at `at` has text on both sides in its line, and no comma beside it. */
static bool is_between_fields(const char *line, size_t len, size_t at)
{
    size_t before = at, after = at + 1;
    while (before > 0 && (line[before - 1] == ' ' || line[before - 1] == '\t')) {
        before--;
    }
    while (after < len && (line[after] == ' ' || line[after] == '\t')) {
        after++;
    }
    return before > 0 && after < len && line[before - 1] != ',' && line[after] != ',';
}

/* Outside quotes: a semicolon, else a tab between fields, else the comma. */
static char find_separator(const struct csv_lines *l)
{
    size_t end = 0;
    const size_t begin = find_line(l, &end);
    const char *line = (const char *)l->block + begin;
    bool is_quoted = false;
    char found = ',';
    for (size_t i = 0; i < end - begin; i++) {
        is_quoted ^= line[i] == '"';
        if (!is_quoted && line[i] == ';') {
            return ';';
        }
        if (!is_quoted && line[i] == '\t' && found == ',' &&
            is_between_fields(line, end - begin, i)) {
            found = '\t';
        }
    }
    return found;
}

dpot_status csv_lines_open(struct csv_lines *l, FILE *stream, const struct array_rules *rules,
                           struct dpot_error *error)
{
    memset(l, 0, offsetof(struct csv_lines, block));
    l->stream = stream;
    l->rules = rules;
    l->error = error;
    l->keep_max = SIZE_MAX;
    const dpot_status status = fill(l);
    if (status != DPOT_OK) {
        return status;
    }
    if (starts_with(l, "\xFF\xFE", 2) || starts_with(l, "\xFE\xFF", 2)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the text is in UTF-16: convert it (iconv -f UTF-16 -t UTF-8)");
    }
    if (starts_with(l, "\xEF\xBB\xBF", 3)) {
        l->at += 3;
    }
    read_separator_line(l);
    if (l->separator == '\0') {
        l->separator = find_separator(l);
    }
    return DPOT_OK;
}

void csv_lines_close(struct csv_lines *l)
{
    dpot_free_secret(NULL, l->text, l->text_cap, 1);
    dpot_free_secret(NULL, l->fields, l->fields_cap, sizeof *l->fields);
    dpot_wipe(l, sizeof *l);
}
