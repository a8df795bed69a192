#include "pool/export.h"

#include "base/double_bits.h"
#include "pool/validate.h"

#define INDEX_LEN 4
#define NUMBER_LEN 8

/* An export in progress. */
struct writing {
    const struct dpot_campaign *campaign;
    FILE *stream;
    struct decoder *decoder; /* of rows */
    double *row;             /* (n_columns) */
    uint8_t *bytes;          /* (NUMBER_LEN n_columns) */
    size_t n_columns;
    dpot_status status; /* why it ended early */
    struct dpot_error *error;
};

static int put(struct writing *writing, const uint8_t *bytes, size_t len)
{
    if (writing->status == DPOT_OK && fwrite(bytes, 1, len, writing->stream) != len) {
        writing->status = dpot_error_set(writing->error, DPOT_ERR_IO,
                                         "writing the export failed: free space on its disk");
    }
    return writing->status != DPOT_OK;
}

static int write_index(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct writing *writing = ctx;
    uint8_t bytes[INDEX_LEN];
    (void)round;
    if (!validate_shape(writing->campaign, report)) {
        writing->status = dpot_error_set(writing->error, DPOT_ERR_CORRUPT,
                                         "a stored report is a vector and the campaign's name "
                                         "points: restore the store from a backup");
    }
    dpot_store_u32(bytes, report->index);
    return put(writing, bytes, sizeof bytes);
}

static int write_group(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct writing *writing = ctx;
    uint8_t bytes[INDEX_LEN];
    (void)round;
    dpot_store_u32(bytes, report->group);
    return put(writing, bytes, sizeof bytes);
}

static int write_row(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct writing *writing = ctx;
    (void)round;
    writing->status = decoder_run(writing->decoder, report, writing->row, writing->error);
    for (size_t j = 0; writing->status == DPOT_OK && j < writing->n_columns; j++) {
        dpot_store_u64(writing->bytes + NUMBER_LEN * j, dpot_double_bits(writing->row[j]));
    }
    return put(writing, writing->bytes, NUMBER_LEN * writing->n_columns);
}

static dpot_status make_row(struct writing *writing, enum decode_space space)
{
    const dpot_status status =
        decoder_new(writing->campaign, space, &writing->decoder, writing->error);
    if (status != DPOT_OK) {
        return status;
    }
    writing->n_columns = decoder_n_columns(writing->decoder);
    writing->row = dpot_alloc_array(NULL, writing->n_columns, sizeof *writing->row);
    writing->bytes = dpot_alloc_array(NULL, writing->n_columns, NUMBER_LEN);
    return writing->row && writing->bytes
               ? DPOT_OK
               : dpot_error_set(writing->error, DPOT_ERR_MEMORY,
                                "out of memory for a row of %zu numbers", writing->n_columns);
}

dpot_status export_pool(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                        const struct dpot_campaign *campaign, enum decode_space space, FILE *stream,
                        struct dpot_error *error)
{
    struct writing writing = {.campaign = campaign, .stream = stream, .error = error};
    const bool is_index = !decode_has_rows(campaign) && space == DECODE_DATA;
    dpot_status status = is_index ? DPOT_OK : make_row(&writing, space);
    if (status == DPOT_OK) {
        status = store_read_pool(store, hash, is_index ? write_index : write_row, &writing, error);
    }
    dpot_free_array(NULL, writing.bytes, writing.n_columns, NUMBER_LEN);
    dpot_free_array(NULL, writing.row, writing.n_columns, sizeof *writing.row);
    decoder_free(writing.decoder);
    return status == DPOT_OK ? writing.status : status;
}

dpot_status export_groups(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                          const struct dpot_campaign *campaign, FILE *stream,
                          struct dpot_error *error)
{
    struct writing writing = {.campaign = campaign, .stream = stream, .error = error};
    const dpot_status status = store_read_pool(store, hash, write_group, &writing, error);
    return status == DPOT_OK ? writing.status : status;
}
