#include "tool/simulate/crowd.h"

#include "base/alloc.h"
#include "tool/load.h"
#include "tool/rows.h"
#include "tool/workers.h"

#include <string.h>

/* The grouped rows, device by device in one piece, as the client takes them. */
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

dpot_status crowd_load(struct run *run, const struct dpot_campaign *campaign, size_t n_devices,
                       struct crowd *crowd)
{
    struct array data;
    struct rows rows;
    *crowd = (struct crowd){.n_devices = 0};
    dpot_status status = load_finite(run, "data", &data);
    if (status != DPOT_OK) {
        return status;
    }
    status = rows_init(&rows, "--data", ROWS_OF_DEVICES, &data, campaign, n_devices, &run->error);
    if (status == DPOT_OK) {
        status = build(run, &rows, crowd);
        rows_release(&rows);
    }
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
    if (dpot_mechanism_is_vector(campaign->mechanism)) {
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

void crowd_vector(const struct crowd *crowd, size_t device, double *vector)
{
    const struct crowd_device *d = &crowd->devices[device];
    const double total = total_count(crowd, d);
    for (uint32_t j = 0; j < crowd->dim; j++) {
        vector[j] = 0;
    }
    for (size_t i = d->first; total > 0 && i < d->first + d->n_rows; i++) {
        const double weight = crowd->counts[i] / total;
        for (uint32_t j = 0; j < crowd->dim; j++) {
            vector[j] += weight * crowd->points[i * crowd->dim + j];
        }
    }
}

/* The default measure of dpot_private_measure_set: n points spread evenly. */
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
