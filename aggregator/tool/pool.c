/* dpot pool: counts of a pool, and its reports as a file. */
#include "tool/commands.h"

#include "files/array.h"
#include "tool/options.h"
#include "tool/remote.h"
#include "tool/side_file.h"

#include <stdio.h>

#define INDEX_LEN 4 /* bytes of one report in an export */

static const struct option options[] = {
    {"export", "F", "write the indices of the accepted reports, u4 (n,)"},
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    {NULL, NULL, NULL},
};

static dpot_status decode(struct run *run, const struct dpot_buf *bytes, struct array *indices)
{
    if (bytes->len == 0) {
        return RUN_FAIL(run, EXIT_CODE_NOT_READY, DPOT_ERR_NOT_OPEN,
                        "the pool is empty: there is nothing to export yet");
    }
    if (bytes->len % INDEX_LEN != 0) {
        return dpot_error_set(&run->error, DPOT_ERR_SERVER,
                              "the export has %zu bytes: it was cut off, ask again", bytes->len);
    }
    const dpot_status status = array_init(indices, bytes->len / INDEX_LEN, 1, true);
    for (size_t i = 0; status == DPOT_OK && i < indices->n_rows; i++) {
        indices->values[i] = dpot_load_u32(bytes->data + INDEX_LEN * i);
    }
    return status;
}

/* The counts may be older than the export by a moment; n is that of the file. */
static dpot_status write_export(struct run *run, const char *path, const json_t *pool,
                                const struct array *indices)
{
    static const char *const copied[] = {"campaign_hash", "mechanism", "accepted", "duplicate",
                                         "rejected"};
    json_t *side = json_object();
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++) {
        json_t *value = json_object_get(pool, copied[i]);
        (void)json_object_set_new(side, copied[i], value ? json_incref(value) : json_null());
    }
    (void)json_object_set_new(side, "scale", json_null());
    (void)json_object_set_new(side, "n", json_integer((json_int_t)indices->n_rows));
    dpot_status status = array_write(path, indices, ARRAY_U4, &run->error);
    if (status == DPOT_OK) {
        status = side ? side_file_write(path, side, &run->error) : DPOT_ERR_MEMORY;
    }
    json_decref(side);
    return status;
}

static dpot_status export_pool(struct run *run, struct remote *remote, const char *id,
                               const char *path, const json_t *pool)
{
    char url_path[96];
    struct dpot_buf bytes;
    struct array indices = {0};
    (void)snprintf(url_path, sizeof url_path, "/v1/admin/campaigns/%.32s/pool/export", id);
    dpot_buf_init(&bytes, ARRAY_ENTRIES_MAX * INDEX_LEN, NULL);
    dpot_status status = remote_call(remote, "GET", url_path, NULL, &bytes);
    if (status == DPOT_OK) {
        status = decode(run, &bytes, &indices);
    }
    if (status == DPOT_OK) {
        status = write_export(run, path, pool, &indices);
    }
    dpot_buf_release(&bytes);
    array_release(&indices);
    return status;
}

static dpot_status run_pool(struct run *run)
{
    struct remote remote = {0};
    json_t *pool = NULL;
    char path[96];
    const char *id = run->operands[0], *out = NULL;
    if (!is_campaign_id(id)) {
        return RUN_USAGE(run, "\"%.80s\" is no campaign ID: it has 32 hex digits", id);
    }
    dpot_status status = option_array_output(run, "export", &out);
    if (status == DPOT_OK) {
        status = remote_open(run, true, &remote);
    }
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%.32s/pool", id);
    if (status == DPOT_OK) {
        status = remote_call_json(&remote, "GET", path, NULL, &pool);
    }
    if (status == DPOT_OK && out) {
        status = export_pool(run, &remote, id, out, pool);
    }
    remote_close(&remote);
    if (status == DPOT_OK) {
        json_decref(run->result);
        run->result = json_incref(pool);
    }
    json_decref(pool);
    return status;
}

const struct command command_pool = {
    .name = "pool",
    .operands = "ID",
    .n_operands = 1,
    .summary = "counts of a campaign's pool; with --export its reports",
    .details =
        "F.json beside the export holds campaign_hash, mechanism, scale, n, accepted, duplicate,\n"
        "rejected. Keys: those, min_pool, is_ready.",
    .example = "dpot pool 3f1d5a0c9b7e4826a1c0d2e4f6a8b0c2 --server https://pool.example.org "
               "--export pool.npy",
    .options = options,
    .run = run_pool,
};
