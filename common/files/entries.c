#include "files/entries.h"

#include "base/alloc.h"
#include "base/crypto.h"
#include "base/double_bits.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define BLOCK 4096                /* entries converted at a time */
#define START ((size_t)1 << 16)   /* entries allocated first if the size of the stream is unknown */
#define EXACT ((uint64_t)1 << 53) /* integers up to here are doubles */

struct reader {
    FILE *stream;
    const struct entries *entries;
    bool is_private;
    size_t n, n_read, cap; /* entries */
    double *values;        /* (cap) in the order of the stream */
    struct dpot_error *error;
};

static uint64_t load(const uint8_t *in, const struct entry_type *type)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < type->size; i++) {
        bits = bits << 8 | in[type->is_big_endian ? i : type->size - 1 - i];
    }
    return bits;
}

static double decode_half(uint64_t bits)
{
    const int exponent = (int)(bits >> 10 & 0x1F);
    const double fraction = (double)(bits & 0x3FF);
    double value = exponent == 0   ? ldexp(fraction, -24)
                   : exponent < 31 ? ldexp(1024 + fraction, exponent - 25)
                   : fraction == 0 ? INFINITY
                                   : NAN;
    return bits >> 15 ? -value : value;
}

static double decode_float(uint64_t bits, unsigned size)
{
    if (size == 2) {
        return decode_half(bits);
    }
    if (size == 4) {
        const uint32_t short_bits = (uint32_t)bits;
        float value;
        memcpy(&value, &short_bits, sizeof value);
        return (double)value;
    }
    return dpot_double_of_bits(bits);
}

/* The magnitude of an integer. */
static uint64_t measure(uint64_t bits, const struct entry_type *type, bool *is_negative)
{
    const unsigned n_unused = 64 - 8 * type->size;
    *is_negative = type->kind == ENTRY_SIGNED && bits >> (8 * type->size - 1) != 0;
    return *is_negative ? (~bits + 1) << n_unused >> n_unused : bits;
}

static double decode(const uint8_t *in, const struct entry_type *type)
{
    const uint64_t bits = load(in, type);
    bool is_negative = false;
    if (type->kind == ENTRY_FLOAT) {
        return decode_float(bits, type->size);
    }
    if (type->kind == ENTRY_BOOL) {
        return bits != 0 ? 1 : 0;
    }
    const double magnitude = (double)measure(bits, type, &is_negative);
    return is_negative ? -magnitude : magnitude;
}

/* Only 8-byte integers can be inexact. The error shows the integer of the file, not its double. */
static dpot_status check_exact(const struct reader *r, const uint8_t *in, size_t entry)
{
    const struct entry_type *type = &r->entries->type;
    bool is_negative = false;
    const uint64_t magnitude = measure(load(in, type), type, &is_negative);
    return magnitude <= EXACT
               ? DPOT_OK
               : dpot_error_set(r->error, DPOT_ERR_RANGE,
                                "entry %zu is %s%llu: integers beyond 2^53 are not exact here",
                                entry, is_negative ? "-" : "", (unsigned long long)magnitude);
}

static dpot_status check_room(const struct entries *entries, uint64_t stated,
                              struct dpot_error *error)
{
    return stated <= entries->room
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the header states %llu bytes of entries but the file has %llu: it "
                                "is cut off or damaged",
                                (unsigned long long)stated, (unsigned long long)entries->room);
}

/* Makes room for `n` entries; those that were moved are wiped. */
static dpot_status grow(struct reader *r, size_t n)
{
    if (n <= r->cap) {
        return DPOT_OK;
    }
    const size_t twice = r->cap > r->n / 2 ? r->n : 2 * r->cap;
    const size_t cap = r->cap == 0 ? n : twice;
    double *values = dpot_alloc_array(NULL, cap, sizeof *values);
    if (!values) {
        return dpot_error_set(r->error, DPOT_ERR_MEMORY, "out of memory for %zu x %zu entries",
                              r->entries->n_rows, r->entries->n_cols);
    }
    if (r->values) {
        memcpy(values, r->values, r->n_read * sizeof *values);
        dpot_free_secret(NULL, r->values, r->cap, sizeof *values);
    }
    r->values = values;
    r->cap = cap;
    return DPOT_OK;
}

static dpot_status explain_end(const struct reader *r, size_t n_more)
{
    return ferror(r->stream)
               ? dpot_error_set(r->error, DPOT_ERR_IO, "reading failed: %s", strerror(errno))
               : dpot_error_set(r->error, DPOT_ERR_MALFORMED,
                                "the file ends within its entries, at entry %zu of %zu: it is cut "
                                "off or damaged",
                                r->n_read + n_more, r->n);
}

static dpot_status read_block(struct reader *r)
{
    uint8_t block[BLOCK * 8];
    const struct entry_type *type = &r->entries->type;
    const size_t n = r->n - r->n_read < BLOCK ? r->n - r->n_read : BLOCK;
    const bool can_be_inexact = type->kind != ENTRY_FLOAT && type->size == 8 && !r->is_private;
    dpot_status status = grow(r, r->n_read + n);
    const size_t n_found = status == DPOT_OK ? fread(block, type->size, n, r->stream) : 0;
    if (status == DPOT_OK && n_found < n) {
        status = explain_end(r, n_found);
    }
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        const uint8_t *in = block + i * type->size;
        r->values[r->n_read + i] = decode(in, type);
        status = can_be_inexact ? check_exact(r, in, r->n_read + i) : DPOT_OK;
    }
    r->n_read += n;
    dpot_wipe(block, sizeof block);
    return status;
}

static dpot_status check_end(const struct reader *r)
{
    const int c = getc(r->stream);
    if (c == EOF) {
        return ferror(r->stream) ? explain_end(r, 0) : DPOT_OK;
    }
    return dpot_error_set(r->error, DPOT_ERR_MALFORMED,
                          "the file goes on after the %zu entries that its header states: it is "
                          "damaged",
                          r->n);
}

/* From columns one after the other to rows. */
static dpot_status transpose(struct reader *r)
{
    const size_t n_rows = r->entries->n_rows, n_cols = r->entries->n_cols;
    if (!r->entries->is_fortran || n_rows == 1 || n_cols == 1) {
        return DPOT_OK;
    }
    double *values = dpot_alloc_array(NULL, r->cap, sizeof *values);
    if (!values) {
        return dpot_error_set(r->error, DPOT_ERR_MEMORY,
                              "out of memory for %zu x %zu entries in Fortran order", n_rows,
                              n_cols);
    }
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t j = 0; j < n_cols; j++) {
            values[i * n_cols + j] = r->values[j * n_rows + i];
        }
    }
    dpot_free_secret(NULL, r->values, r->cap, sizeof *values);
    r->values = values;
    return DPOT_OK;
}

dpot_status entries_read(FILE *stream, const struct entries *entries, bool is_private,
                         struct array *array, struct dpot_error *error)
{
    struct reader r = {.stream = stream,
                       .entries = entries,
                       .is_private = is_private,
                       .n = entries->n_rows * entries->n_cols,
                       .error = error};
    const uint64_t stated = (uint64_t)r.n * entries->type.size;
    dpot_status status = check_room(entries, stated, error);
    if (status == DPOT_OK) {
        status = grow(&r, stated == entries->room || r.n < START ? r.n : START);
    }
    while (status == DPOT_OK && r.n_read < r.n) {
        status = read_block(&r);
    }
    if (status == DPOT_OK) {
        status = check_end(&r);
    }
    if (status == DPOT_OK) {
        status = transpose(&r);
    }
    if (status != DPOT_OK) {
        dpot_free_secret(NULL, r.values, r.cap, sizeof *r.values);
        return status;
    }
    array->n_rows = entries->n_rows;
    array->n_cols = entries->n_cols;
    array->is_vector = entries->is_vector;
    array->values = r.values;
    return DPOT_OK;
}
