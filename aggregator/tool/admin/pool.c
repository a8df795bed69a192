/* dpot pool: counts of a pool, and its reports as a file. */
#include "tool/shared/commands.h"

#include "files/array.h"
#include "files/number.h"
#include "pool/decode.h"
#include "tool/shared/options.h"
#include "tool/shared/revision.h"
#include "json/side_file.h"

#include <stdio.h>
#include <string.h>

#define INDEX_LEN 4  /* bytes of one report of an index mechanism in an export */
#define NUMBER_LEN 8 /* bytes of one number of a vector */

static const struct option options[] = {
    {"export", "F", "write the accepted reports: indices, u4 (n,), or vectors, f8 (n, data_dim)"},
    {"coefficients", NULL, "with --export: vectors as they were released, f8 (n, dim)"},
    {"groups-out", "F", "with --export: the number of the group of each report, u4 (n,)"},
    {"group", "G", "with --export: only the reports of this group, by its label or number"},
    REVISION_OPTION,
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    {NULL, NULL, NULL},
};

/* What is exported, by the server's description of the pool. */
struct export
{
    const char *id, *path;
    uint32_t revision; /* asked for; 0: the server's choice */
    const json_t *pool;
    bool is_vector; /* rows of numbers: also of a sphere */
    enum decode_space space;
    size_t n_columns;
    size_t row_len; /* bytes */
    const char *groups_path;
    const char *group; /* the only one that is wanted; NULL: all */
    uint32_t group_number;
    struct array groups; /* (n) of every report, when that is wanted or needed */
    uint64_t counts[DPOT_GROUPS_MAX];
    size_t n_groups;
};

/* Reports of laplace and gaussian are vectors, those of wpm on a sphere stand for some; their lengths the
 * description tells. */
static dpot_status plan_export(struct run *run, const struct remote *remote, struct export *export)
{
    const char *mechanism = json_string_value(json_object_get(export->pool, "mechanism"));
    const bool is_coefficients = option_is_given(run, "coefficients");
    enum dpot_mechanism_id id;
    int64_t n_columns = 1;
    if (!mechanism || dpot_mechanism_find(mechanism, &id) != DPOT_OK) {
        return dpot_error_set(&run->error, DPOT_ERR_SERVER,
                              "%s tells no mechanism that this program knows: is it older than the "
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
                              "%s tells no length of its vectors: is it a dpotd?", remote->url);
    }
    export->n_columns = (size_t)n_columns;
    export->row_len = export->is_vector ? NUMBER_LEN * export->n_columns : INDEX_LEN;
    return DPOT_OK;
}

/* Labels come from the server's description. */
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
    const uint64_t bits = dpot_load_u64(bytes);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* An empty pool is often the wrong one: the first other revision that holds reports is named. */
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

/* A pool only grows, so that an export that is newer than the counts cannot be smaller. A server that
 * names no revision may have exported another one. */
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

/* What a server tells since a later version; an older one leaves it out. */
static void copy_if_told(const struct export *export, json_t *side)
{
    static const char *const told[] = {"content_digest", "revision", "state", "groups"};
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        json_t *value = json_object_get(export->pool, told[i]);
        if (value) {
            (void)json_object_set(side, told[i], value);
        }
    }
}

static json_t *describe_export(const struct export *export, size_t n)
{
    static const char *const copied[] = {"campaign_hash", "mechanism", "scale",
                                         "accepted",      "duplicate", "rejected"};
    static const char *const copied_vector[] = {"dim",     "data_dim",    "transform",
                                                "epsilon", "delta",       "grid_step",
                                                "domain",  "contraction", "directions"};
    json_t *side = json_object();
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++) {
        json_t *value = json_object_get(export->pool, copied[i]);
        (void)json_object_set_new(side, copied[i], value ? json_incref(value) : json_null());
    }
    copy_if_told(export, side);
    for (size_t i = 0; export->is_vector && i < sizeof copied_vector / sizeof copied_vector[0];
         i++) {
        json_t *value = json_object_get(export->pool, copied_vector[i]);
        if (value) { /* an older server tells less */
            (void)json_object_set(side, copied_vector[i], value);
        }
    }
    if (export->is_vector) {
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
    /* The counts may be older than the export by a moment; n is that of the file. */
    (void)json_object_set_new(side, "n", json_integer((json_int_t)n));
    return side;
}

/* Keeps the rows of one group, and what they are told by. */
static dpot_status keep_group(struct run *run, struct export *export, struct array *reports)
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

/* The groups of n reports. Of a pool that grew meanwhile it is not known whose they are. */
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
                              "the server told the groups of %zu of %zu reports: ask again",
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
    return status == DPOT_OK ? keep_group(run, export, reports) : status;
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
    /* By its number, also when none was asked for: another revision may have opened since. */
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
    if (!is_campaign_id(export->id)) {
        return RUN_USAGE(run, "\"%.80s\" is no campaign ID: it has 32 hex digits", export->id);
    }
    dpot_status status = option_array_output(run, "export", &export->path);
    if (status == DPOT_OK && !export->path && option_is_given(run, "coefficients")) {
        status = RUN_USAGE(run, "--coefficients says what to export: give --export F too");
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "groups-out", &export->groups_path);
    }
    export->group = option_text(run, "group");
    if (status == DPOT_OK && !export->path && (export->groups_path || export->group)) {
        status = RUN_USAGE(run, "--groups-out and --group say what to export: give --export F too");
    }
    return status == DPOT_OK ? revision_read(run, &export->revision) : status;
}

/* The server's description of the pool; *pool is a new reference. */
static dpot_status fetch_pool(struct remote *remote, const struct export *export, json_t **pool)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%.32s/pool", export->id);
    revision_append(path, sizeof path, export->revision);
    const dpot_status status = remote_call_json(remote, "GET", path, NULL, pool);
    return status == DPOT_OK ? revision_check(remote, *pool, export->revision) : status;
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
    .summary = "counts of a campaign's pool; with --export its reports",
    .details =
        "In a campaign with groups --groups-out keeps the number of each report's group, in the "
        "order\n"
        "of the export, and --group exports one group alone; F.json then has group_counts and "
        "group.\n"
        "The pool is that of one revision: without --revision of the open one, else of the newest\n"
        "closed one. The result says which, and which other revisions hold reports.\n"
        "Vectors (laplace, gaussian) are decoded to data units: the grid step times what the\n"
        "device released, then the inverse transform. --coefficients leaves that one out; it is\n"
        "what generators are trained on. Of a sphere the directions that reports name are "
        "written,\n"
        "unit vectors; their mean is contraction times that of the devices' (dpot estimate).\n"
        "F.json beside the export holds revision, state,\n"
        "campaign_hash, content_digest (what the campaign computes, whatever its name),\n"
        "mechanism, scale, n, accepted, duplicate, rejected, groups (labels), and for vectors "
        "epsilon and delta of\n"
        "a report, grid_step, dim, data_dim, domain, transform, space (data or coefficients), of a "
        "sphere\n"
        "epsilon, delta, contraction, directions, dim, domain. "
        "Keys: those but space, min_pool, is_ready,\n"
        "other_revisions [{revision, hash, state, reports}].",
    .example = "dpot pool 3f1d5a0c9b7e4826a1c0d2e4f6a8b0c2 --server https://pool.example.org "
               "--export pool.npy",
    .options = options,
    .run = run_pool,
};
