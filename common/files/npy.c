#include "files/npy.h"

#include "base/buf.h"
#include "base/double_bits.h"
#include "files/entries.h"

#include <stdint.h>
#include <string.h>

#define HEADER_MAX 65536 /* bytes; NumPy writes 118 for arrays read here */
#define SIZE_BEYOND ((uint64_t)1 << 62)
#define BLOCK 4096 /* entries written at a time */

static const char magic[6] = "\x93NUMPY";

bool npy_has_start(const uint8_t *start, size_t len)
{
    return len >= sizeof magic && memcmp(start, magic, sizeof magic) == 0;
}

/* What the header says. */
struct header {
    char descr[16];
    int fortran_order; /* -1: not seen */
    size_t n_dims;     /* up to 3 are counted */
    uint64_t shape[2];
    bool has_shape;
    const char *complaint; /* a better error than "is not a header"; NULL: none */
};

static dpot_status malformed(struct dpot_error *error, const char *what)
{
    return dpot_error_set(error, DPOT_ERR_MALFORMED, "the .npy header %s: save it again with NumPy",
                          what);
}

static void skip_blanks(const char **p)
{
    while (**p == ' ' || **p == '\t' || **p == '\n' || **p == '\r') {
        (*p)++;
    }
}

/* Takes blanks and `c`; false if something else follows. */
static bool take(const char **p, char c)
{
    skip_blanks(p);
    if (**p != c) {
        return false;
    }
    (*p)++;
    return true;
}

/* Takes a quoted text of less than `cap` bytes without escapes. */
static bool take_text(const char **p, char *out, size_t cap)
{
    skip_blanks(p);
    const char quote = **p;
    if (quote != '\'' && quote != '"') {
        return false;
    }
    const char *start = ++*p;
    while (**p && **p != quote && **p != '\\') {
        (*p)++;
    }
    const size_t len = (size_t)(*p - start);
    if (**p != quote || len >= cap) {
        return false;
    }
    memcpy(out, start, len);
    out[len] = '\0';
    (*p)++;
    return true;
}

static bool take_word(const char **p, const char *word)
{
    skip_blanks(p);
    const size_t len = strlen(word);
    if (strncmp(*p, word, len) != 0) {
        return false;
    }
    *p += len;
    return true;
}

/* Takes digits, saturating at SIZE_BEYOND, which check_shape refuses. */
static bool take_size(const char **p, uint64_t *out)
{
    skip_blanks(p);
    if (**p < '0' || **p > '9') {
        return false;
    }
    uint64_t value = 0;
    for (; **p >= '0' && **p <= '9'; (*p)++) {
        value = value >= (uint64_t)1 << 58 ? SIZE_BEYOND : value * 10 + (uint64_t)(**p - '0');
    }
    (void)(**p == 'L' && (*p)++); /* Python 2 */
    *out = value;
    return true;
}

/* Takes the sides between the parentheses; counts up to 3. */
static bool take_sides(const char **p, struct header *header)
{
    while (!take(p, ')')) {
        uint64_t size = 0;
        if (!take_size(p, &size)) {
            return false;
        }
        if (header->n_dims < 2) {
            header->shape[header->n_dims] = size;
        }
        header->n_dims += header->n_dims < 3;
        if (!take(p, ',')) {
            return take(p, ')');
        }
    }
    return true;
}

static bool take_shape(const char **p, struct header *header)
{
    if (header->has_shape || !take(p, '(')) {
        return false;
    }
    header->has_shape = true;
    if (!take_sides(p, header)) {
        header->complaint = "has a shape that is not made of whole numbers from 0";
        return false;
    }
    return true;
}

static bool take_entry(const char **p, struct header *header)
{
    char key[16];
    if (!take_text(p, key, sizeof key) || !take(p, ':')) {
        return false;
    }
    if (strcmp(key, "descr") == 0 && !header->descr[0]) {
        skip_blanks(p);
        if (**p == '[' || **p == '(') {
            header->complaint =
                "has an element type of several fields (structured), not one number";
        }
        return take_text(p, header->descr, sizeof header->descr);
    }
    if (strcmp(key, "fortran_order") == 0 && header->fortran_order < 0) {
        header->fortran_order = take_word(p, "True") ? 1 : take_word(p, "False") ? 0 : -1;
        return header->fortran_order >= 0;
    }
    return strcmp(key, "shape") == 0 && take_shape(p, header);
}

/* `text` ends with its only NUL. */
static bool parse_header(const char *text, struct header *header)
{
    const char *p = text;
    *header = (struct header){.fortran_order = -1};
    if (!take(&p, '{')) {
        return false;
    }
    while (!take(&p, '}')) {
        if (!take_entry(&p, header)) {
            return false;
        }
        if (!take(&p, ',')) {
            if (!take(&p, '}')) {
                return false;
            }
            break;
        }
    }
    skip_blanks(&p);
    return !*p && header->descr[0] && header->fortran_order >= 0 && header->has_shape;
}

/* Reads magic, version and header; *data_offset is where the entries start. */
static dpot_status read_header(FILE *stream, uint64_t room, struct header *header,
                               uint64_t *data_offset, struct dpot_error *error)
{
    uint8_t start[12] = {0};
    char text[HEADER_MAX + 1];
    *header = (struct header){0};
    if (fread(start, 1, 8, stream) != 8 || memcmp(start, magic, sizeof magic) != 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "this is not a .npy file (it does not begin with \\x93NUMPY)");
    }
    const int version = start[6];
    if (version < 1 || version > 3 || start[7] != 0) {
        return dpot_error_set(error, DPOT_ERR_VERSION,
                              ".npy version %d.%d is not known: save as 1.0, 2.0 or 3.0", version,
                              start[7]);
    }
    const size_t len_size = version == 1 ? 2 : 4;
    if (fread(start + 8, 1, len_size, stream) != len_size) {
        return malformed(error, "is cut off");
    }
    const size_t len = dpot_load_u32(start + 8); /* version 1: the upper bytes are 0 */
    *data_offset = 8 + len_size + len;
    if (*data_offset > room) {
        return malformed(error, "is longer than the file");
    }
    if (len > HEADER_MAX) {
        return malformed(error, "is longer than 65536 bytes");
    }
    if (fread(text, 1, len, stream) != len) {
        return malformed(error, "is cut off");
    }
    text[len] = '\0';
    if (strlen(text) != len || !parse_header(text, header)) {
        return malformed(error, header->complaint ? header->complaint
                                                  : "is not {'descr', 'fortran_order', 'shape'}");
    }
    return DPOT_OK;
}

/* Parses NumPy's "<f8": byte order, kind and bytes. */
static bool parse_type(const char *descr, struct entry_type *type)
{
    static const struct {
        char letter;
        enum entry_kind kind;
        const char *sizes;
    } kinds[] = {{'f', ENTRY_FLOAT, "248"},
                 {'i', ENTRY_SIGNED, "1248"},
                 {'u', ENTRY_UNSIGNED, "1248"},
                 {'b', ENTRY_BOOL, "1"}};
    if (strlen(descr) != 3 || !strchr("<>|", descr[0])) {
        return false;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].letter == descr[1] && strchr(kinds[i].sizes, descr[2])) {
            *type = (struct entry_type){kinds[i].kind, (unsigned)(descr[2] - '0'), descr[0] == '>'};
            return descr[0] != '|' || type->size == 1;
        }
    }
    return false;
}

static dpot_status find_type(const struct header *header, struct entry_type *type,
                             struct dpot_error *error)
{
    if (parse_type(header->descr, type)) {
        return DPOT_OK;
    }
    const char kind = header->descr[0] ? header->descr[1] : '\0';
    return dpot_error_set(error, DPOT_ERR_MALFORMED,
                          "the element type is '%s', which is not read: save %s", header->descr,
                          kind == 'c'                  ? "numpy.column_stack([x.real, x.imag])"
                          : kind == 'U' || kind == 'S' ? "x.astype('<f8') if the texts are numbers"
                                                       : "x.astype('<f8')");
}

static dpot_status check_shape(const struct header *header, const struct array_rules *rules,
                               struct dpot_error *error)
{
    const size_t most = (size_t)1 << rules->entries_log2;
    if (header->n_dims == 0 || header->n_dims > 2) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "the array has %s",
                              header->n_dims == 0
                                  ? "no dimensions: save numpy.atleast_1d(x)"
                                  : "three or more dimensions: save x.reshape(len(x), -1)");
    }
    const uint64_t n_rows = header->shape[0];
    const uint64_t n_cols = header->n_dims == 2 ? header->shape[1] : 1;
    if (n_rows == 0 || n_cols == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "the array is empty: give at least one entry");
    }
    if (n_rows >= SIZE_BEYOND || n_cols >= SIZE_BEYOND) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the shape has a side of 2^62 or more: it is beyond %zu columns or "
                              "%zu entries",
                              ARRAY_COLUMNS_MAX, most);
    }
    if (n_cols > ARRAY_COLUMNS_MAX || n_rows > most / n_cols) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the shape (%llu, %llu) is beyond %zu columns or %zu entries",
                              (unsigned long long)n_rows, (unsigned long long)n_cols,
                              ARRAY_COLUMNS_MAX, most);
    }
    return DPOT_OK;
}

static bool lacks_rows_alone(const struct header *header)
{
    const uint64_t n_cols = header->n_dims == 2 ? header->shape[1] : 1;
    return (header->n_dims == 1 || header->n_dims == 2) && header->shape[0] == 0 && n_cols > 0 &&
           n_cols <= ARRAY_COLUMNS_MAX;
}

dpot_status npy_read(FILE *stream, uint64_t room, const struct array_rules *rules,
                     struct array *array, struct dpot_error *error)
{
    struct header header;
    struct entries entries = {.room = room};
    uint64_t data_offset = 0;
    *array = (struct array){0};
    dpot_status status = read_header(stream, room, &header, &data_offset, error);
    if (status == DPOT_OK) {
        status = find_type(&header, &entries.type, error);
    }
    if (status == DPOT_OK) {
        status = check_shape(&header, rules, error);
        if (status == DPOT_ERR_SHAPE && lacks_rows_alone(&header)) {
            array->n_cols = header.n_dims == 2 ? (size_t)header.shape[1] : 1;
        }
    }
    if (status != DPOT_OK) {
        return status;
    }
    entries.n_rows = (size_t)header.shape[0];
    entries.n_cols = header.n_dims == 2 ? (size_t)header.shape[1] : 1;
    entries.is_vector = header.n_dims == 1;
    entries.is_fortran = header.fortran_order == 1;
    entries.room -= room == UINT64_MAX ? 0 : data_offset;
    return entries_read(stream, &entries, rules->is_private, array, error);
}

static void write_header(FILE *stream, const struct array *array, enum array_type type)
{
    char text[118] = {0}; /* 10 bytes of magic, version and length make 128 */
    uint8_t start[10] = {0};
    const char *descr = type == ARRAY_U4 ? "<u4" : "<f8";
    int len = 0;
    if (array->is_vector) {
        len = snprintf(text, sizeof text,
                       "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }", descr,
                       array->n_rows);
    } else {
        len = snprintf(text, sizeof text,
                       "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }", descr,
                       array->n_rows, array->n_cols);
    }
    memset(text + len, ' ', sizeof text - (size_t)len);
    text[sizeof text - 1] = '\n';
    memcpy(start, magic, sizeof magic);
    start[6] = 1;
    start[8] = sizeof text;
    (void)fwrite(start, 1, sizeof start, stream);
    (void)fwrite(text, 1, sizeof text, stream);
}

static void encode(double value, enum array_type type, uint8_t *out)
{
    if (type == ARRAY_U4) {
        dpot_store_u32(out, (uint32_t)value);
        return;
    }
    dpot_store_u64(out, dpot_double_bits(value));
}

void npy_write(FILE *stream, const struct array *array, enum array_type type)
{
    uint8_t block[BLOCK * 8];
    const size_t size = type == ARRAY_U4 ? 4 : 8;
    const size_t n_entries = array->n_rows * array->n_cols;
    write_header(stream, array, type);
    for (size_t done = 0; done < n_entries;) {
        const size_t n = n_entries - done < BLOCK ? n_entries - done : BLOCK;
        for (size_t i = 0; i < n; i++) {
            encode(array->values[done + i], type, block + i * size);
        }
        (void)fwrite(block, size, n, stream);
        done += n;
    }
}
