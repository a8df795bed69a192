#include "files/idx.h"

#include "base/crypto.h"
#include "files/gzip.h"

#include <errno.h>
#include <string.h>

#define DIMS_MAX 4
#define BLOCK 4096 /* entries converted at a time */

/* One row per element type. */
struct idx_type {
    uint8_t code;
    size_t size;
    double (*decode)(const uint8_t *in);
};

static uint32_t load_u32(const uint8_t *in)
{
    return (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3];
}

static double decode_u1(const uint8_t *in)
{
    return in[0];
}

static double decode_i1(const uint8_t *in)
{
    return in[0] - (in[0] >> 7 ? 256 : 0);
}

static double decode_i2(const uint8_t *in)
{
    return in[0] * 256 + in[1] - (in[0] >> 7 ? 65536 : 0);
}

static double decode_i4(const uint8_t *in)
{
    return (double)load_u32(in) - (in[0] >> 7 ? 4294967296.0 : 0.0);
}

static double decode_f4(const uint8_t *in)
{
    const uint32_t bits = load_u32(in);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double decode_f8(const uint8_t *in)
{
    const uint64_t bits = (uint64_t)load_u32(in) << 32 | load_u32(in + 4);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const struct idx_type types[] = {
    {0x08, 1, decode_u1}, {0x09, 1, decode_i1}, {0x0B, 2, decode_i2},
    {0x0C, 4, decode_i4}, {0x0D, 4, decode_f4}, {0x0E, 8, decode_f8},
};

/* The file, or its unpacked content. */
struct source {
    FILE *stream;
    struct gzip *gzip; /* NULL: not compressed */
};

bool idx_is_compressed(const char *path)
{
    return path_ends_in(path, ".gz");
}

bool idx_has_name(const char *path)
{
    return path_ends_in(path, ".idx") || path_ends_in(path, "-ubyte") ||
           path_ends_in(path, ".idx.gz") || path_ends_in(path, "-ubyte.gz");
}

static dpot_status take(struct source *source, uint8_t *out, size_t cap, size_t *len,
                        struct dpot_error *error)
{
    if (source->gzip) {
        return gzip_read(source->gzip, out, cap, len, error);
    }
    *len = fread(out, 1, cap, source->stream);
    return ferror(source->stream)
               ? dpot_error_set(error, DPOT_ERR_IO, "reading failed: %s", strerror(errno))
               : DPOT_OK;
}

static dpot_status take_all(struct source *source, uint8_t *out, size_t n, const char *what,
                            struct dpot_error *error)
{
    size_t len = 0;
    const dpot_status status = take(source, out, n, &len, error);
    if (status == DPOT_OK && len < n) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the file ends within its %s: it is cut off or no IDX file", what);
    }
    return status;
}

static dpot_status read_type(struct source *source, const struct idx_type **type, size_t *n_dims,
                             struct dpot_error *error)
{
    uint8_t magic[4];
    const dpot_status status = take_all(source, magic, sizeof magic, "header", error);
    if (status != DPOT_OK) {
        return status;
    }
    *type = NULL;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        *type = types[i].code == magic[2] ? &types[i] : *type;
    }
    if (magic[0] != 0 || magic[1] != 0 || !*type) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the file begins with %02x %02x %02x %02x: this is no IDX file",
                              magic[0], magic[1], magic[2], magic[3]);
    }
    *n_dims = magic[3];
    return *n_dims >= 1 && *n_dims <= DIMS_MAX
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_SHAPE,
                                "the array has %zu dimensions: give one of 1 to %d", *n_dims,
                                DIMS_MAX);
}

/* shape: rows, and the product of all other dimensions, checked against overflow at each step. */
static dpot_status read_shape(struct source *source, size_t n_dims, const struct array_rules *rules,
                              size_t shape[2], struct dpot_error *error)
{
    const size_t most = (size_t)1 << rules->entries_log2;
    uint8_t bytes[4 * DIMS_MAX];
    const dpot_status status = take_all(source, bytes, 4 * n_dims, "header", error);
    if (status != DPOT_OK) {
        return status;
    }
    shape[0] = load_u32(bytes);
    shape[1] = 1;
    bool is_possible = shape[0] >= 1 && shape[0] <= most;
    for (size_t i = 1; i < n_dims && is_possible; i++) {
        const size_t side = load_u32(bytes + 4 * i);
        is_possible = side >= 1 && side <= ARRAY_COLUMNS_MAX / shape[1];
        shape[1] *= is_possible ? side : 1;
    }
    if (!is_possible || shape[1] > most / shape[0]) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the header states %u x ... entries: give 1 to %zu entries of which "
                              "at most %zu in a row",
                              load_u32(bytes), most, ARRAY_COLUMNS_MAX);
    }
    return DPOT_OK;
}

/* Called before memory is allocated: can a file of this size hold what the header states? */
static dpot_status check_size(uint64_t stated, uint64_t file_size, bool is_compressed,
                              struct dpot_error *error)
{
    const uint64_t most = is_compressed ? (file_size + 1) * GZIP_RATIO_MAX : file_size;
    if (file_size < ((uint64_t)1 << 48) && stated > most) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the header states %llu bytes of entries and the file has %llu: it "
                              "is cut off or damaged",
                              (unsigned long long)stated, (unsigned long long)file_size);
    }
    return DPOT_OK;
}

static dpot_status read_block(struct source *source, const struct idx_type *type,
                              struct array *array, size_t done, struct dpot_error *error)
{
    uint8_t block[BLOCK * 8];
    const size_t n_entries = array->n_rows * array->n_cols;
    const size_t n = n_entries - done < BLOCK ? n_entries - done : BLOCK;
    const dpot_status status = take_all(source, block, n * type->size, "entries", error);
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        array->values[done + i] = type->decode(block + i * type->size);
    }
    dpot_wipe(block, sizeof block);
    return status;
}

static dpot_status check_end(struct source *source, size_t n_entries, struct dpot_error *error)
{
    uint8_t byte;
    size_t n_more = 0;
    const dpot_status status = take(source, &byte, 1, &n_more, error);
    if (status == DPOT_OK && n_more > 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the file goes on after the %zu entries that its header states: it "
                              "is damaged",
                              n_entries);
    }
    return status;
}

static dpot_status read_array(struct source *source, uint64_t file_size,
                              const struct array_rules *rules, struct array *array,
                              struct dpot_error *error)
{
    const struct idx_type *type = NULL;
    size_t n_dims = 0, shape[2] = {0, 0};
    dpot_status status = read_type(source, &type, &n_dims, error);
    if (status == DPOT_OK) {
        status = read_shape(source, n_dims, rules, shape, error);
    }
    if (status == DPOT_OK) {
        const uint64_t stated = (uint64_t)shape[0] * shape[1] * type->size;
        status = check_size(stated, file_size, source->gzip != NULL, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    status = array_init(array, shape[0], shape[1], n_dims == 1);
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "out of memory for %zu x %zu entries", shape[0],
                              shape[1]);
    }
    const size_t n_entries = shape[0] * shape[1];
    for (size_t done = 0; status == DPOT_OK && done < n_entries; done += BLOCK) {
        status = read_block(source, type, array, done, error);
    }
    if (status == DPOT_OK) {
        status = check_end(source, n_entries, error);
    }
    if (status != DPOT_OK) {
        array_wipe(array);
    }
    return status;
}

dpot_status idx_read(FILE *stream, uint64_t file_size, bool is_compressed,
                     const struct array_rules *rules, struct array *array, struct dpot_error *error)
{
    struct source source = {.stream = stream};
    *array = (struct array){0};
    dpot_status status = is_compressed ? gzip_open(stream, &source.gzip, error) : DPOT_OK;
    if (status == DPOT_OK) {
        status = read_array(&source, file_size, rules, array, error);
    }
    gzip_close(source.gzip);
    return status;
}
