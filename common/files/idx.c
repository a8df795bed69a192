#include "files/idx.h"

#include "files/entries.h"

#include <errno.h>
#include <string.h>

#define DIMS_MAX 4

static const struct {
    uint8_t code;
    struct entry_type type;
} types[] = {
    {0x08, {ENTRY_UNSIGNED, 1, true}}, {0x09, {ENTRY_SIGNED, 1, true}},
    {0x0B, {ENTRY_SIGNED, 2, true}},   {0x0C, {ENTRY_SIGNED, 4, true}},
    {0x0D, {ENTRY_FLOAT, 4, true}},    {0x0E, {ENTRY_FLOAT, 8, true}},
};

static uint32_t load_u32(const uint8_t *in)
{
    return (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3];
}

bool idx_has_start(const uint8_t *start, size_t len)
{
    return len >= 2 && start[0] == 0 && start[1] == 0;
}

static dpot_status read_all(FILE *stream, uint8_t *out, size_t n, struct dpot_error *error)
{
    if (fread(out, 1, n, stream) == n) {
        return DPOT_OK;
    }
    return ferror(stream)
               ? dpot_error_set(error, DPOT_ERR_IO, "reading failed: %s", strerror(errno))
               : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the file ends within its header: it is cut off or no IDX file");
}

static dpot_status read_type(FILE *stream, struct entry_type *type, size_t *n_dims,
                             struct dpot_error *error)
{
    uint8_t magic[4];
    bool is_known = false;
    const dpot_status status = read_all(stream, magic, sizeof magic, error);
    if (status != DPOT_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0] && !is_known; i++) {
        is_known = types[i].code == magic[2];
        *type = types[i].type;
    }
    if (magic[0] != 0 || magic[1] != 0 || !is_known) {
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
static dpot_status read_shape(FILE *stream, size_t n_dims, const struct array_rules *rules,
                              size_t shape[2], struct dpot_error *error)
{
    const size_t most = (size_t)1 << rules->entries_log2;
    uint8_t bytes[4 * DIMS_MAX];
    const dpot_status status = read_all(stream, bytes, 4 * n_dims, error);
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

dpot_status idx_read(FILE *stream, uint64_t room, const struct array_rules *rules,
                     struct array *array, struct dpot_error *error)
{
    struct entries entries = {.room = room};
    size_t n_dims = 0, shape[2] = {0, 0};
    *array = (struct array){0};
    dpot_status status = read_type(stream, &entries.type, &n_dims, error);
    if (status == DPOT_OK) {
        status = read_shape(stream, n_dims, rules, shape, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    entries.n_rows = shape[0];
    entries.n_cols = shape[1];
    entries.is_vector = n_dims == 1;
    const uint64_t header_len = 4 + 4 * n_dims;
    entries.room -= room == UINT64_MAX ? 0 : room < header_len ? room : header_len;
    return entries_read(stream, &entries, rules->is_private, array, error);
}
