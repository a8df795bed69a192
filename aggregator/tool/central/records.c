#include "tool/central/records.h"

#include "base/alloc.h"
#include "files/columns.h"
#include "tool/shared/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX
#define COUNT_MAX 4294967296.0 /* 2^32: with 2^28 rows at most, no sum is too large */

/* ---- columns ---- */

static bool is_taken(const struct records *records, size_t position)
{
    return position == records->count_column || position == records->group_column;
}

static dpot_status check_coordinates(struct run *run, const struct records *records)
{
    for (size_t a = 0; a < records->dim; a++) {
        for (size_t b = 0; b < a; b++) {
            if (records->coordinates[a] == records->coordinates[b]) {
                return RUN_USAGE(run, "--columns names column %zu twice", records->coordinates[a]);
            }
        }
        if (is_taken(records, records->coordinates[a])) {
            return RUN_USAGE(run,
                             "column %zu of --data is a coordinate and a count or group: name the "
                             "coordinates with --columns",
                             records->coordinates[a]);
        }
    }
    if (records->count_column != NONE && records->count_column == records->group_column) {
        return RUN_USAGE(run, "--count-column and --group-column are the same column");
    }
    if (records->dim == 0) {
        return RUN_USAGE(run, "--data has no column left for a coordinate");
    }
    return DPOT_OK;
}

/* Whether the options say that the first line has names: no content does. */
static bool has_header(const struct run *run)
{
    static const char *const options[] = {"columns", "count-column", "group-column"};
    bool has_names = option_is_given(run, "header");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const char *text = option_text(run, options[i]);
        has_names = has_names || (text && columns_has_names(text));
    }
    return has_names;
}

static dpot_status choose_columns(struct run *run, struct records *records)
{
    records->count_column = records->group_column = NONE;
    dpot_status status =
        columns_read_one(run, &records->columns, "count-column", &records->count_column);
    if (status == DPOT_OK) {
        status = columns_read_one(run, &records->columns, "group-column", &records->group_column);
    }
    if (status == DPOT_OK) {
        status = columns_read_list(run, &records->columns, "columns", records->coordinates,
                                   &records->dim);
    }
    if (!option_is_given(run, "columns")) {
        for (size_t j = 0; j < records->columns.n; j++) {
            if (!is_taken(records, j)) {
                records->coordinates[records->dim++] = j;
            }
        }
    }
    return status == DPOT_OK ? check_coordinates(run, records) : status;
}

/* ---- values ---- */

/* As weights on the device: what is no number, or negative, counts as 0. */
static int64_t count_of(double value)
{
    return !(value > 0) ? 0 : value < COUNT_MAX ? (int64_t)value : (int64_t)COUNT_MAX;
}

/* Copies row `from` of the file to row `to`. */
static void take_row(struct records *records, const struct array *array, size_t from, size_t to)
{
    const double *values = array->values + from * array->n_cols;
    for (size_t a = 0; a < records->dim; a++) {
        records->points[to * records->dim + a] = values[records->coordinates[a]];
    }
    if (records->counts) {
        records->counts[to] = count_of(values[records->count_column]);
    }
}

/* A row and its group, for sorting. */
struct tag {
    double group;
    size_t row;
};

static int compare_tags(const void *a, const void *b)
{
    const struct tag *x = a, *y = b;
    if (x->group != y->group) {
        return x->group < y->group ? -1 : 1;
    }
    return (x->row > y->row) - (x->row < y->row);
}

static dpot_status take_rows(struct records *records, const struct array *array,
                             const struct tag *tags)
{
    const size_t n = array->n_rows;
    records->n_rows = n;
    records->points = dpot_alloc_array(NULL, n * records->dim, sizeof *records->points);
    if (records->count_column != NONE) {
        records->counts = dpot_alloc_array(NULL, n, sizeof *records->counts);
    }
    if (!records->points || (records->count_column != NONE && !records->counts)) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        take_row(records, array, tags ? tags[i].row : i, i);
    }
    return DPOT_OK;
}

/* ---- groups ---- */

static dpot_status find_groups(struct run *run, struct records *records, const struct tag *tags)
{
    size_t n_groups = 1;
    for (size_t i = 1; tags && i < records->n_rows; i++) {
        n_groups += tags[i].group != tags[i - 1].group;
    }
    if (n_groups > RECORDS_GROUPS_MAX) {
        return dpot_error_set(&run->error, DPOT_ERR_TOO_LARGE,
                              "--group-column has %zu groups: at most %d are read", n_groups,
                              RECORDS_GROUPS_MAX);
    }
    records->groups = dpot_alloc_array(NULL, n_groups, sizeof *records->groups);
    if (!records->groups) {
        return DPOT_ERR_MEMORY;
    }
    records->n_groups = n_groups;
    size_t g = 0;
    for (size_t i = 0; i < records->n_rows; i++) {
        const int64_t count = records->counts ? records->counts[i] : 1;
        g += tags && i > 0 && tags[i].group != tags[i - 1].group;
        struct records_group *group = &records->groups[g];
        group->begin = group->end == 0 ? i : group->begin;
        group->end = i + 1;
        group->name = tags ? tags[i].group : 0;
        group->n += count;
    }
    return DPOT_OK;
}

static dpot_status tag_rows(struct run *run, const struct records *records,
                            const struct array *array, struct tag **tags)
{
    *tags = NULL;
    if (!records->has_groups) {
        return DPOT_OK;
    }
    *tags = dpot_alloc_array(NULL, array->n_rows, sizeof **tags);
    if (!*tags) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; i < array->n_rows; i++) {
        const double group = array->values[i * array->n_cols + records->group_column];
        if (!isfinite(group)) { /* who is in which group is public */
            return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                  "--data %s: the group of row %zu is no finite number: groups are "
                                  "public, correct the column",
                                  option_text(run, "data"), i + 1);
        }
        (*tags)[i] = (struct tag){group, i};
    }
    qsort(*tags, array->n_rows, sizeof **tags, compare_tags);
    return DPOT_OK;
}

static dpot_status take_table(struct run *run, struct records *records, const struct array *array)
{
    struct tag *tags = NULL;
    dpot_status status = choose_columns(run, records);
    records->has_groups = status == DPOT_OK && records->group_column != NONE;
    if (status == DPOT_OK) {
        status = tag_rows(run, records, array, &tags);
    }
    if (status == DPOT_OK) {
        status = take_rows(records, array, tags);
    }
    if (status == DPOT_OK) {
        status = find_groups(run, records, tags);
    }
    dpot_free_secret(NULL, tags, array->n_rows, sizeof *tags);
    return status;
}

dpot_status records_check_options(struct run *run)
{
    const char *path = NULL;
    return option_require(run, "data", "a file of records", &path);
}

/* The columns assumed for an empty file without a header: as many as the options need. */
static size_t empty_width(const struct run *run, size_t dim)
{
    return option_is_given(run, "columns") ? COLUMNS_MAX
                                           : dim + (option_is_given(run, "count-column") ? 1 : 0);
}

static dpot_status load_table(struct run *run, size_t empty_dim, struct array *array)
{
    const dpot_status status = load_private(run, "data", has_header(run), array);
    if (status != DPOT_OK || array->n_rows > 0) {
        return status;
    }
    if (empty_dim == 0) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--data %s: there are no records: give at least one",
                              option_text(run, "data"));
    }
    if (array->n_cols == 0) {
        array->n_cols = empty_width(run, empty_dim);
    }
    return DPOT_OK;
}

dpot_status records_load(struct run *run, size_t empty_dim, struct records *records)
{
    struct array array = {0};
    *records = (struct records){0};
    dpot_status status = load_table(run, empty_dim, &array);
    if (status == DPOT_OK) {
        status = columns_init(run, "data", &array, &records->columns);
    }
    if (status == DPOT_OK) {
        status = take_table(run, records, &array);
    }
    array_wipe(&array);
    return status;
}

void records_release(struct records *records)
{
    dpot_free_secret(NULL, records->points, records->n_rows * records->dim,
                     sizeof *records->points);
    dpot_free_secret(NULL, records->counts, records->n_rows, sizeof *records->counts);
    dpot_free_array(NULL, records->groups, records->n_groups, sizeof *records->groups);
    columns_release(&records->columns);
    *records = (struct records){0};
}

char *records_header(const struct records *records, const char *before)
{
    const size_t cap = strlen(before) + records->dim * ARRAY_NAME_MAX + 1;
    char *header = records->columns.n_names > 0 ? malloc(cap) : NULL;
    if (!header) {
        return NULL;
    }
    size_t len = (size_t)snprintf(header, cap, "%s", before);
    for (size_t a = 0; a < records->dim; a++) {
        len += (size_t)snprintf(header + len, cap - len, "%s%s", a > 0 ? "," : "",
                                records->columns.names[records->coordinates[a]]);
    }
    return header;
}
