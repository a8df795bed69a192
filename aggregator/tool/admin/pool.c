/* dpot pool: shows the counts of a pool, and exports its reports. */
#include "tool/shared/commands.h"

#include "base/double_bits.h"
#include "files/array.h"
#include "files/number.h"
#include "pool/decode.h"
#include "tool/shared/options.h"
#include "tool/shared/revision.h"
#include "json/side_file.h"

#include <stdio.h>
#include <string.h>

#define INDEX_LEN 4  /* bytes of a report of an index mechanism in an export */
#define NUMBER_LEN 8 /* bytes of a number of a vector */

static const struct option options[] = {
    {"out", "F", "write the accepted reports: indices, u4 (n,), or vectors, f8 (n, data_dim)"},
    {"coefficients", NULL, "with --out: vectors as released by devices, f8 (n, dim)"},
    {"groups-out", "F", "with --out: the number of the group of each report, u4 (n,)"},
    {"group", "G", "with --out: only the reports of this group, by its label or number"},
    REVISION_OPTION,
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    {NULL, NULL, NULL},
};

/* An export, planned by the server's description of the pool. */
struct export
{
    const char *id, *path;
    uint32_t revision; /* 0: chosen by the server */
    const json_t *pool;
    bool is_vector; /* rows of numbers; true also on a sphere */
    enum decode_space space;
    size_t n_columns;
    size_t row_len; /* bytes */
    const char *groups_path;
    const char *group; /* export this group only; NULL: all */
    uint32_t group_number;
    struct array groups; /* (n) of every report, if needed */
    uint64_t counts[DPOT_GROUPS_MAX];
    size_t n_groups;
};

/* Reports of laplace and gaussian are vectors, those of wpm on a sphere stand for vectors; the
 * description has their length. */
static dpot_status plan_export(struct run *run, const struct remote *remote, struct export *export)
{
    const char *mechanism = json_string_value(json_object_get(export->pool, "mechanism"));
    const bool is_coefficients = option_is_given(run, "coefficients");
    enum dpot_mechanism_id id;
    int64_t n_columns = 1;
    if (!mechanism || dpot_mechanism_find(mechanism, &id) != DPOT_OK) {
        return dpot_error_set(&run->error, DPOT_ERR_SERVER,
                              "%s sends no mechanism that this program knows: is it older than the "
                              "server?",
                              remote->url);
    }
    const bool is_sphere = json_object_get(export->pool, "directions") != NULL;
    export->is_vector = dpot_mechanism_is_vector(id) || is_sphere;
    export->space = is_coefficients ? DECODE_COEFFICIENTS : DECODE_DATA;
    if (is_coefficients && (!export->is_vector || is_sphere)) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "the campaign's mechanism is %s, whose reports name %s and have "
                              "no coefficients: leave --coefficients out",
                              mechanism, is_sphere ? "directions" : "points");
    }
    if (export->is_vector &&
        json_get_integer(export->pool, "pool", is_coefficients ? "dim" : "data_dim", 1,
                         DPOT_VECTOR_DIM_MAX, &n_columns, &run->error) != DPOT_OK) {
        return dpot_error_set(&run->error, DPOT_ERR_SERVER,
                              "%s sends no length of its vectors: is it a dpotd?", remote->url);
    }
    export->n_columns = (size_t)n_columns;
    export->row_len = export->is_vector ? NUMBER_LEN * export->n_columns : INDEX_LEN;
    return DPOT_OK;
}

static dpot_status plan_groups(struct run *run, struct export *export)
{
    const json_t *labels = json_object_get(export->pool, "groups");
    const size_t n = json_array_size(labels);
    if (!export->groups_path && !export->group) {
        return DPOT_OK;
    }
    if (n == 0 || n > DPOT_GROUPS_MAX) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "the campaign has no groups: leave --groups-out and --group out");
    }
    export->n_groups = n;
    for (size_t g = 0; export->group && g < n; g++) {
        const char *label = json_string_value(json_array_get(labels, g));
        if (label && strcmp(label, export->group) == 0) {
            export->group_number = (uint32_t)g;
            return DPOT_OK;
        }
    }
    if (!export->group) {
        return DPOT_OK;
    }
    uint64_t number = 0;
    const bool is_number = number_parse_integer(export->group, &number);
    export->group_number = (uint32_t)number;
    return is_number && number < n
               ? DPOT_OK
               : dpot_error_set(
                     &run->error, DPOT_ERR_RANGE,
                     "--group %.64s is none of the campaign: give a label, or a number from 0 to "
                     "%zu",
                     export->group, n - 1);
}

static double load_number(const uint8_t *bytes)
{
    return dpot_double_of_bits(dpot_load_u64(bytes));
}

/* An empty pool is often the wrong one: the message names another revision that holds reports. */
static dpot_status refuse_empty(struct run *run, const struct export *export)
{
    char hint[128] = "";
    const json_t *other = json_array_get(json_object_get(export->pool, "other_revisions"), 0);
    if (other) {
        revision_sentence(other, hint, sizeof hint);
    }
    return RUN_FAIL(run, EXIT_CODE_NOT_READY, DPOT_ERR_NOT_OPEN,
                    "the pool%s is empty: there is nothing to export yet%s%s",
                    export->revision > 0 ? " of this revision" : "", other ? "; " : "", hint);
}

/* A pool only grows, so an export newer than the counts cannot be smaller. A server that names no
 * revision may have exported another one: not checked. */
static dpot_status check_complete(struct run *run, const struct export *export, size_t n)
{
    const json_int_t accepted = json_integer_value(json_object_get(export->pool, "accepted"));
    return revision_of(export->pool) == 0 || accepted <= 0 || (uint64_t)accepted <= n
               ? DPOT_OK
               : dpot_error_set(&run->error, DPOT_ERR_SERVER,
                                "the export has %zu report%s and the server counted %lld: run "
                                "dpotd doctor there",
                                n, DPOT_S(n), (long long)accepted);
}

static dpot_status decode(struct run *run, const struct export *export,
                          const struct dpot_buf *bytes, struct array *reports)
{
    if (bytes->len == 0 && check_complete(run, export, 0) == DPOT_OK) {
        return refuse_empty(run, export);
    }
    if (bytes->len % export->row_len != 0) {
        return dpot_error_set(&run->error, DPOT_ERR_SERVER,
                              "the export has %zu bytes, no multiple of %zu: it was cut off, ask "
                              "again",
                              bytes->len, export->row_len);
    }
    dpot_status status = check_complete(run, export, bytes->len / export->row_len);
    if (status != DPOT_OK) {
        return status;
    }
    status =
        array_init(reports, bytes->len / export->row_len, export->n_columns, !export->is_vector);
    for (size_t i = 0; status == DPOT_OK && i < reports->n_rows * reports->n_cols; i++) {
        reports->values[i] = export->is_vector ? load_number(bytes->data + NUMBER_LEN * i)
                                               : dpot_load_u32(bytes->data + INDEX_LEN * i);
    }
    return status;
}

/* Copies those of the keys that the server sends; older servers leave some out. */
static void copy_keys(const struct export *export, const char *const *keys, json_t *side)
{
    for (; *keys; keys++) {
        json_t *value = json_object_get(export->pool, *keys);
        if (value) {
            (void)json_object_set(side, *keys, value);
        }
    }
}

static json_t *describe_export(const struct export *export, size_t n)
{
    static const char *const copied[] = {"campaign_hash", "mechanism", "scale",
                                         "accepted",      "duplicate", "rejected"};
    static const char *const of_revision[] = {"content_digest", "revision", "state", "groups",
                                              NULL};
    static const char *const of_vectors[] = {"dim",        "data_dim",  "transform", "epsilon",
                                             "delta",      "grid_step", "domain",    "contraction",
                                             "directions", NULL};
    json_t *side = json_object();
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++) {
        json_t *value = json_object_get(export->pool, copied[i]);
        (void)json_object_set_new(side, copied[i], value ? json_incref(value) : json_null());
    }
    copy_keys(export, of_revision, side);
    if (export->is_vector) {
        copy_keys(export, of_vectors, side);
        (void)json_object_set_new(side, "space", json_string(decode_space_name(export->space)));
    }
    if (export->n_groups > 0) {
        json_t *counts = json_array();
        for (size_t g = 0; g < export->n_groups; g++) {
            (void)json_array_append_new(counts, json_integer((json_int_t) export->counts[g]));
        }
        (void)json_object_set_new(side, "group_counts", counts);
        (void)json_object_set_new(side, "group",
                                  export->group ? json_integer(export->group_number) : json_null());
    }
    /* The counts may be slightly older than the export; n is that of the file. */
    (void)json_object_set_new(side, "n", json_integer((json_int_t)n));
    return side;
}

/* With --group: reduces reports and groups to the rows of that group. */
static dpot_status select_group(struct run *run, struct export *export, struct array *reports)
{
    struct array kept = {0}, groups = {0};
    const uint64_t n = export->group ? export->counts[export->group_number] : 0;
    if (!export->group) {
        return DPOT_OK;
    }
    if (n == 0) {
        return RUN_FAIL(run, EXIT_CODE_NOT_READY, DPOT_ERR_NOT_OPEN,
                        "group %.64s has no reports: there is nothing to export yet",
                        export->group);
    }
    dpot_status status = array_init(&kept, (size_t)n, reports->n_cols, reports->is_vector);
    if (status == DPOT_OK) {
        status = array_init(&groups, (size_t)n, 1, true);
    }
    for (size_t i = 0, row = 0; status == DPOT_OK && i < reports->n_rows; i++) {
        if (export->groups.values[i] == export->group_number) {
            memcpy(kept.values + row * kept.n_cols, reports->values + i * kept.n_cols,
                   kept.n_cols * sizeof(double));
            groups.values[row++] = export->group_number;
        }
    }
    if (status == DPOT_OK) {
        array_release(reports);
        array_release(&export->groups);
        *reports = kept;
        export->groups = groups;
        return status;
    }
    array_release(&kept);
    array_release(&groups);
    return status;
}

/* Decodes the groups of n reports. If the pool has grown meanwhile, they cannot be matched. */
static dpot_status decode_groups(struct run *run, struct export *export,
                                 const struct dpot_buf *bytes, size_t n)
{
    if (bytes->len / INDEX_LEN > n) {
        return dpot_error_set(&run->error, DPOT_ERR_STATE,
                              "reports came while the pool was exported: export it again, or when "
                              "its round is over");
    }
    if (bytes->len / INDEX_LEN < n) {
        return dpot_error_set(&run->error, DPOT_ERR_SERVER,
                              "the server sent the groups of %zu of %zu reports: ask again",
                              bytes->len / INDEX_LEN, n);
    }
    const dpot_status status = array_init(&export->groups, n, 1, true);
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        const uint32_t group = dpot_load_u32(bytes->data + INDEX_LEN * i);
        if (group >= export->n_groups) {
            return dpot_error_set(&run->error, DPOT_ERR_SERVER,
                                  "report %zu is of group %u of %zu: run dpotd doctor there", i + 1,
                                  (unsigned)group, export->n_groups);
        }
        export->groups.values[i] = group;
        export->counts[group]++;
    }
    return status;
}

static dpot_status fetch_groups(struct run *run, struct remote *remote, struct export *export,
                                struct array *reports)
{
    char url_path[128];
    struct dpot_buf bytes;
    if (export->n_groups == 0) {
        return DPOT_OK;
    }
    (void)snprintf(url_path, sizeof url_path, "/v1/admin/campaigns/%.32s/pool/groups", export->id);
    revision_append(url_path, sizeof url_path, revision_of(export->pool));
    dpot_buf_init(&bytes, ARRAY_ENTRIES_MAX * INDEX_LEN, NULL);
    dpot_status status = remote_call(remote, "GET", url_path, NULL, &bytes);
    if (status == DPOT_OK) {
        status = decode_groups(run, export, &bytes, reports->n_rows);
    }
    dpot_buf_release(&bytes);
    return status == DPOT_OK ? select_group(run, export, reports) : status;
}

static dpot_status write_export(struct run *run, const struct export *export,
                                const struct array *reports)
{
    json_t *side = describe_export(export, reports->n_rows);
    dpot_status status =
        array_write(export->path, reports, export->is_vector ? ARRAY_F8 : ARRAY_U4, &run->error);
    if (status == DPOT_OK) {
        status = side ? side_file_write(export->path, side, &run->error) : DPOT_ERR_MEMORY;
    }
    json_decref(side);
    if (status == DPOT_OK && export->groups_path) {
        status = array_write(export->groups_path, &export->groups, ARRAY_U4, &run->error);
    }
    return status;
}

static dpot_status export_reports(struct run *run, struct remote *remote, struct export *export)
{
    char url_path[128];
    struct dpot_buf bytes;
    struct array reports = {0};
    (void)snprintf(url_path, sizeof url_path, "/v1/admin/campaigns/%.32s/pool/%s", export->id,
                   export->space == DECODE_DATA ? "export" : "coefficients");
    /* Always by number: another revision may have opened since. */
    revision_append(url_path, sizeof url_path, revision_of(export->pool));
    dpot_buf_init(&bytes, ARRAY_ENTRIES_MAX / export->n_columns * export->row_len, NULL);
    dpot_status status = remote_call(remote, "GET", url_path, NULL, &bytes);
    if (status == DPOT_OK) {
        status = decode(run, export, &bytes, &reports);
    }
    dpot_buf_release(&bytes);
    if (status == DPOT_OK) {
        status = fetch_groups(run, remote, export, &reports);
    }
    if (status == DPOT_OK) {
        status = write_export(run, export, &reports);
    }
    array_release(&export->groups);
    array_release(&reports);
    return status;
}

static dpot_status read_options(struct run *run, struct export *export)
{
    dpot_status status = campaign_id_check(run, export->id);
    if (status == DPOT_OK) {
        status = option_array_output(run, "out", &export->path);
    }
    if (status == DPOT_OK && !export->path && option_is_given(run, "coefficients")) {
        status = RUN_USAGE(run, "--coefficients says what to export: give --out F too");
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "groups-out", &export->groups_path);
    }
    export->group = option_text(run, "group");
    if (status == DPOT_OK && !export->path && (export->groups_path || export->group)) {
        status = RUN_USAGE(run, "--groups-out and --group say what to export: give --out F too");
    }
    return status == DPOT_OK ? revision_read(run, &export->revision) : status;
}

/* Fetches the server's description of the pool; *pool is a new reference. */
static dpot_status fetch_pool(struct remote *remote, const struct export *export, json_t **pool)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%.32s/pool", export->id);
    revision_append(path, sizeof path, export->revision);
    const dpot_status status = remote_call_json(remote, "GET", path, NULL, &remote_pool, pool);
    return status == DPOT_OK ? revision_check(remote->run, *pool, export->revision) : status;
}

static dpot_status run_pool(struct run *run)
{
    struct remote remote = {0};
    json_t *pool = NULL;
    struct export export = {.id = run->operands[0]};
    dpot_status status = read_options(run, &export);
    if (status == DPOT_OK) {
        status = remote_open(run, true, &remote);
    }
    if (status == DPOT_OK) {
        status = fetch_pool(&remote, &export, &pool);
    }
    export.pool = pool;
    if (status == DPOT_OK && export.path) {
        status = plan_export(run, &remote, &export);
    }
    if (status == DPOT_OK && export.path) {
        status = plan_groups(run, &export);
    }
    if (status == DPOT_OK && export.path) {
        status = export_reports(run, &remote, &export);
    }
    remote_close(&remote);
    if (status == DPOT_OK) {
        json_decref(run->result);
        run->result = revision_present(run, pool);
    }
    json_decref(pool);
    return status;
}

const struct command command_pool = {
    .name = "pool",
    .operands = "ID",
    .n_operands = 1,
    .summary = "counts of a campaign's pool; with --out its reports",
    .details =
        "The pool is that of one revision: without --revision the open one, otherwise the newest\n"
        "closed one. The result names it, and other revisions that hold reports.\n"
        "Vectors (laplace, gaussian) are decoded to data units: the grid step times the released\n"
        "integers, then the inverse transform. --coefficients omits the inverse transform, for\n"
        "the training of generators. On a sphere the export has the directions that reports\n"
        "name, unit vectors; their mean is contraction times that of the devices (dpot\n"
        "estimate). In a campaign with groups --groups-out writes the group number of each\n"
        "report, in the order of the export, and --group exports one group only; F.json then has\n"
        "group_counts and group.\n"
        "The side file F.json of the export has revision, state, campaign_hash, content_digest\n"
        "(of domain, outputs, metric and mechanism), mechanism, scale, n, accepted, duplicate,\n"
        "rejected, groups (labels), and for vectors epsilon and delta of a report, grid_step,\n"
        "dim, data_dim, domain, transform, space (data or coefficients), on a sphere epsilon,\n"
        "delta, contraction, directions, dim, domain. Keys: those but space, min_pool, is_ready,\n"
        "other_revisions [{revision, hash, state, reports}].",
    .example = "dpot pool 3f1d5a0c9b7e4826a1c0d2e4f6a8b0c2 --server https://pool.example.org "
               "--out pool.npy",
    .options = options,
    .run = run_pool,
};
