#include "tool/simulate/crowd.h"

#include "base/alloc.h"
#include "model/private_points.h"
#include "solve/run/workers.h"
#include "tool/shared/columns.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the groups ---- */

static dpot_status check_group(struct run *run, const struct dpot_campaign *campaign, size_t row,
                               double group)
{
    return group >= 0 && group < campaign->n_groups && group == floor(group)
               ? DPOT_OK
               : dpot_error_set(
                     &run->error, DPOT_ERR_RANGE,
                     "--data row %zu: group %.10g is none of the campaign, which has the "
                     "groups 0 to %u",
                     row + 1, group, (unsigned)campaign->n_groups - 1);
}

/* Moves a column of the table to `groups`. */
static dpot_status split_off(struct run *run, const struct dpot_campaign *campaign, size_t column,
                             struct array *data, uint32_t *groups)
{
    const size_t n_cols = data->n_cols;
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < data->n_rows; i++) {
        status = check_group(run, campaign, i, data->values[i * n_cols + column]);
        groups[i] = status == DPOT_OK ? (uint32_t)data->values[i * n_cols + column] : 0;
    }
    size_t n_kept = 0;
    for (size_t k = 0; status == DPOT_OK && k < data->n_rows * n_cols; k++) {
        if (k % n_cols != column) {
            data->values[n_kept++] = data->values[k];
        }
    }
    return status;
}

/* Takes the group of every row out of the data; NULL without --group-column. */
static dpot_status take_groups(struct run *run, const struct dpot_campaign *campaign,
                               struct array *data, uint32_t **groups)
{
    struct columns columns;
    size_t column = 0;
    *groups = NULL;
    if (!option_is_given(run, "group-column")) {
        if (campaign->n_groups > 1) {
            run_warn(run,
                     "campaign \"%s\" has %u groups and there is no --group-column: all devices "
                     "report under \"%s\"",
                     campaign->name, (unsigned)campaign->n_groups, campaign->groups[0]);
        }
        return DPOT_OK;
    }
    if (campaign->n_groups == 0) {
        return RUN_USAGE(run, "--group-column: campaign \"%s\" has no groups, leave it out",
                         campaign->name);
    }
    dpot_status status = columns_init(run, "data", data, &columns);
    if (status == DPOT_OK && option_is_given(run, "columns")) {
        column = data->n_cols - 1; /* load_data appended it */
    } else if (status == DPOT_OK) {
        status = columns_read_one(run, &columns, "group-column", &column);
    }
    columns_release(&columns);
    if (status == DPOT_OK && data->n_cols < 2) {
        status = RUN_USAGE(run, "--group-column: --data has one column, that of the devices");
    }
    if (status == DPOT_OK) {
        *groups = dpot_alloc_array(NULL, data->n_rows, sizeof **groups);
        status = *groups ? split_off(run, campaign, column, data, *groups) : DPOT_ERR_MEMORY;
    }
    return status;
}

/* Refuses a device whose rows are in several groups. */
static dpot_status set_groups(struct run *run, const struct rows *rows, const uint32_t *groups,
                              struct crowd *crowd)
{
    for (size_t t = 0; groups && t < crowd->n_devices; t++) {
        const size_t first = rows->row[rows->first[t]];
        crowd->devices[t].group = groups[first];
        for (size_t i = rows->first[t]; i < rows->first[t + 1]; i++) {
            if (groups[rows->row[i]] != groups[first]) {
                return dpot_error_set(
                    &run->error, DPOT_ERR_RANGE,
                    "--data rows %zu and %zu: device %.0f is in the groups %u and "
                    "%u: give it one",
                    first + 1, rows->row[i] + 1, crowd->devices[t].id, (unsigned)groups[first],
                    (unsigned)groups[rows->row[i]]);
            }
        }
    }
    return DPOT_OK;
}

/* ---- the rows ---- */

/* Copies the rows device by device, contiguous as the client takes them. */
static void copy_rows(const struct rows *rows, struct crowd *crowd)
{
    const uint32_t dim = crowd->dim;
    for (size_t t = 0; t < crowd->n_devices; t++) {
        const size_t first = rows->first[t];
        crowd->devices[t] = (struct crowd_device){
            .id = rows_device(rows, first), .first = first, .n_rows = rows->first[t + 1] - first};
    }
    for (size_t i = 0; i < crowd->n_rows; i++) {
        memcpy(crowd->points + i * dim, rows_coordinates(rows, i), dim * sizeof *crowd->points);
        crowd->counts[i] = rows_count(rows, i);
    }
}

static dpot_status build(struct run *run, const struct rows *rows, struct crowd *crowd)
{
    *crowd = (struct crowd){
        .n_devices = rows->n_devices, .n_rows = rows->first[rows->n_devices], .dim = rows->dim};
    crowd->devices = dpot_alloc_array(NULL, crowd->n_devices, sizeof *crowd->devices);
    crowd->points = dpot_alloc_array(NULL, crowd->n_rows * crowd->dim, sizeof *crowd->points);
    crowd->counts = dpot_alloc_array(NULL, crowd->n_rows, sizeof *crowd->counts);
    crowd->nearest = dpot_alloc_array(NULL, crowd->n_rows, sizeof *crowd->nearest);
    if (!crowd->devices || !crowd->points || !crowd->counts || !crowd->nearest) {
        return dpot_error_set(&run->error, DPOT_ERR_MEMORY, "out of memory for %zu rows",
                              crowd->n_rows);
    }
    copy_rows(rows, crowd);
    return DPOT_OK;
}

/* Loads the columns of --columns and, behind them, that of the groups. */
static dpot_status load_data(struct run *run, struct array *data)
{
    struct array_form form = load_form_options(run);
    const char *group = option_text(run, "group-column");
    if (!form.columns || !group) {
        return load_finite_form(run, "data", &form, data);
    }
    const size_t size = strlen(form.columns) + strlen(group) + 2;
    char *both = dpot_alloc_array(NULL, size, 1);
    if (!both) {
        return DPOT_ERR_MEMORY;
    }
    (void)snprintf(both, size, "%s,%s", form.columns, group);
    form.columns = both;
    const dpot_status status = load_finite_form(run, "data", &form, data);
    dpot_free_array(NULL, both, size, 1);
    return status;
}

dpot_status crowd_load(struct run *run, const struct dpot_campaign *campaign, size_t n_devices,
                       struct crowd *crowd)
{
    struct array data;
    struct rows rows;
    uint32_t *groups = NULL;
    *crowd = (struct crowd){.n_devices = 0};
    dpot_status status = load_data(run, &data);
    if (status != DPOT_OK) {
        return status;
    }
    const size_t n_cols = data.n_cols;
    status = take_groups(run, campaign, &data, &groups);
    if (status == DPOT_OK) {
        data.n_cols -= groups ? 1 : 0;
        status =
            rows_init(&rows, "--data", ROWS_OF_DEVICES, &data, campaign, n_devices, &run->error);
    }
    if (status == DPOT_OK) {
        status = build(run, &rows, crowd);
        status = status == DPOT_OK ? set_groups(run, &rows, groups, crowd) : status;
        rows_release(&rows);
    }
    dpot_free_array(NULL, groups, data.n_rows, sizeof *groups);
    data.n_cols = n_cols;
    array_release(&data);
    if (status != DPOT_OK) {
        crowd_release(crowd);
    }
    return status;
}

void crowd_release(struct crowd *crowd)
{
    dpot_free_array(NULL, crowd->devices, crowd->n_devices, sizeof *crowd->devices);
    dpot_free_array(NULL, crowd->points, crowd->n_rows * crowd->dim, sizeof *crowd->points);
    dpot_free_array(NULL, crowd->counts, crowd->n_rows, sizeof *crowd->counts);
    dpot_free_array(NULL, crowd->nearest, crowd->n_rows, sizeof *crowd->nearest);
    *crowd = (struct crowd){0};
}

struct clamping {
    const struct dpot_campaign *campaign;
    struct crowd *crowd;
};

static dpot_status clamp_device(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    const struct clamping *c = ctx;
    const struct crowd_device *device = &c->crowd->devices[item];
    (void)worker;
    (void)error;
    for (size_t i = device->first; i < device->first + device->n_rows; i++) {
        c->crowd->nearest[i] = dpot_domain_nearest(&c->campaign->domain, &c->campaign->metric,
                                                   c->crowd->points + i * c->crowd->dim);
    }
    return DPOT_OK;
}

dpot_status crowd_clamp(struct run *run, const struct dpot_campaign *campaign, struct crowd *crowd)
{
    struct clamping clamping = {campaign, crowd};
    if (dpot_mechanism_is_vector(campaign->mechanism) || dpot_campaign_is_sphere(campaign)) {
        return DPOT_OK;
    }
    return workers_run(crowd->n_devices, run->n_threads, clamp_device, &clamping, NULL,
                       &run->error);
}

static double total_count(const struct crowd *crowd, const struct crowd_device *device)
{
    double total = 0;
    for (size_t i = device->first; i < device->first + device->n_rows; i++) {
        total += crowd->counts[i];
    }
    return total;
}

/* On a sphere: the weighted mean of the rows as unit vectors; e_1 without counts. */
static void add_units(const struct crowd *crowd, const struct crowd_device *d, double *vector)
{
    double unit[DPOT_DOMAIN_DIM_MAX];
    const double total = total_count(crowd, d);
    for (size_t i = d->first; total > 0 && i < d->first + d->n_rows; i++) {
        memcpy(unit, crowd->points + i * crowd->dim, crowd->dim * sizeof *unit);
        dpot_unit_vector(unit, crowd->dim);
        for (uint32_t j = 0; j < crowd->dim; j++) {
            vector[j] += crowd->counts[i] / total * unit[j];
        }
    }
    vector[0] = total > 0 ? vector[0] : 1;
}

void crowd_vector(const struct crowd *crowd, size_t device, const struct dpot_campaign *campaign,
                  double *vector)
{
    const struct crowd_device *d = &crowd->devices[device];
    const double total = total_count(crowd, d);
    for (uint32_t j = 0; j < crowd->dim; j++) {
        vector[j] = 0;
    }
    if (dpot_campaign_is_sphere(campaign)) {
        add_units(crowd, d, vector);
        return;
    }
    for (size_t i = d->first; total > 0 && i < d->first + d->n_rows; i++) {
        const double weight = crowd->counts[i] / total;
        for (uint32_t j = 0; j < crowd->dim; j++) {
            vector[j] += weight * crowd->points[i * crowd->dim + j];
        }
    }
}

/* The default measure of dpot_private_measure_set: n points, spread evenly. */
static uint32_t default_point(const struct dpot_campaign *campaign, size_t r, size_t *n)
{
    const size_t size = campaign->domain.size;
    *n = campaign->n_max < size ? campaign->n_max : size;
    return (uint32_t)((uint64_t)r * size / *n);
}

void crowd_add_measure(const struct crowd *crowd, size_t device,
                       const struct dpot_campaign *campaign, double weight, double *population)
{
    const struct crowd_device *d = &crowd->devices[device];
    const double total = total_count(crowd, d);
    size_t n = 0;
    for (size_t i = d->first; total > 0 && i < d->first + d->n_rows; i++) {
        population[crowd->nearest[i]] += weight * crowd->counts[i] / total;
    }
    (void)default_point(campaign, 0, &n);
    for (size_t r = 0; !(total > 0) && r < n; r++) {
        population[default_point(campaign, r, &n)] += weight / (double)n;
    }
}

uint32_t crowd_draw_place(const struct crowd *crowd, size_t device,
                          const struct dpot_campaign *campaign, double uniform)
{
    const struct crowd_device *d = &crowd->devices[device];
    const double total = total_count(crowd, d);
    size_t n = 0;
    if (!(total > 0)) {
        (void)default_point(campaign, 0, &n);
        return default_point(campaign, (size_t)(uniform * (double)n), &n);
    }
    double below = 0;
    uint32_t place = crowd->nearest[d->first];
    for (size_t i = d->first; i < d->first + d->n_rows; i++) {
        if (crowd->counts[i] > 0 && below <= uniform * total) {
            place = crowd->nearest[i];
        }
        below += crowd->counts[i];
    }
    return place;
}
