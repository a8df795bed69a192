#include "tool/simulate/crowd.h"

#include "base/alloc.h"
#include "tool/load.h"
#include "tool/options.h"
#include "tool/workers.h"

#include <math.h>
#include <stdlib.h>

/* The ids of .csv files come as doubles: from here on two of them may be the same double. */
#define DEVICE_END 9007199254740992.0 /* 2^53 */

/* A file has at most 2^28 entries, three and more a row: the counts of a device sum to less than
 * 2^28 / 3 * 1e300, which a double holds. */
#define COUNT_MAX 1e300

/* A row's device and its place in the file. */
struct tag {
    double device;
    size_t row;
    size_t appears; /* row at which its device appears first */
};

static int by_device(const void *a, const void *b)
{
    const struct tag *p = a, *q = b;
    const int first = (p->device > q->device) - (p->device < q->device);
    return first ? first : (p->row > q->row) - (p->row < q->row);
}

static int by_appearance(const void *a, const void *b)
{
    const struct tag *p = a, *q = b;
    const int first = (p->appears > q->appears) - (p->appears < q->appears);
    return first ? first : (p->row > q->row) - (p->row < q->row);
}

static dpot_status check_device(struct run *run, size_t row, double device)
{
    if (device != floor(device)) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "--data row %zu: device %g is not an integer", row + 1, device);
    }
    if (!(fabs(device) < DEVICE_END)) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "--data row %zu: device %.0f is not below 2^53: integers beyond 2^53 "
                              "are not exact here",
                              row + 1, device);
    }
    return DPOT_OK;
}

static dpot_status check_count(struct run *run, size_t row, double device, double count)
{
    if (!(count >= 0)) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "--data row %zu: count %g of device %.0f is negative", row + 1, count,
                              device);
    }
    if (count > COUNT_MAX) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "--data row %zu: count %g of device %.0f is above %g: the sum of its "
                              "counts must stay finite",
                              row + 1, count, device, COUNT_MAX);
    }
    return DPOT_OK;
}

/* Coordinates of a row. */
static uint32_t crowd_dim(const struct dpot_campaign *campaign)
{
    return dpot_mechanism_is_vector(campaign->mechanism) ? dpot_vector_data_dim(&campaign->vector)
                                                         : campaign->domain.dim;
}

static dpot_status check_row(struct run *run, const struct dpot_campaign *campaign, size_t row,
                             const double *values, bool has_count)
{
    dpot_status status = check_device(run, row, values[0]);
    if (status == DPOT_OK && !dpot_mechanism_is_vector(campaign->mechanism)) {
        status = dpot_metric_check_place(&campaign->metric, values + 1, &run->error);
        if (status != DPOT_OK) {
            return dpot_error_prefix(&run->error, status, "--data row %zu", row + 1);
        }
    }
    return status == DPOT_OK && has_count
               ? check_count(run, row, values[0], values[1 + crowd_dim(campaign)])
               : status;
}

static dpot_status check_rows(struct run *run, const struct array *data,
                              const struct dpot_campaign *campaign)
{
    const uint32_t dim = crowd_dim(campaign);
    const bool has_count = data->n_cols == (size_t)dim + 2;
    if (!has_count && data->n_cols != (size_t)dim + 1) {
        return dpot_error_set(
            &run->error, DPOT_ERR_SHAPE,
            "--data has %zu columns: give device, %u coordinates and, if you like, "
            "a count",
            data->n_cols, (unsigned)dim);
    }
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < data->n_rows; i++) {
        status = check_row(run, campaign, i, data->values + i * data->n_cols, has_count);
    }
    return status;
}

/* Sorts the rows by the first appearance of their device; returns the number of devices. */
static size_t sort_rows(const struct array *data, struct tag *tags)
{
    size_t n_devices = 0;
    for (size_t i = 0; i < data->n_rows; i++) {
        tags[i] = (struct tag){.device = data->values[i * data->n_cols], .row = i};
    }
    qsort(tags, data->n_rows, sizeof *tags, by_device);
    for (size_t i = 0; i < data->n_rows; i++) {
        const bool is_new = i == 0 || tags[i].device != tags[i - 1].device;
        n_devices += is_new;
        tags[i].appears = is_new ? tags[i].row : tags[i - 1].appears;
    }
    qsort(tags, data->n_rows, sizeof *tags, by_appearance);
    return n_devices;
}

/* Rows of the first n_devices devices. */
static size_t count_rows(const struct array *data, const struct tag *tags, size_t n_devices)
{
    size_t n_seen = 0, i = 0;
    for (; i < data->n_rows; i++) {
        n_seen += i == 0 || tags[i].appears != tags[i - 1].appears;
        if (n_seen > n_devices) {
            break;
        }
    }
    return i;
}

static void copy_rows(const struct array *data, const struct tag *tags, struct crowd *crowd)
{
    const uint32_t dim = crowd->dim;
    const bool has_count = data->n_cols == (size_t)dim + 2;
    size_t device = SIZE_MAX; /* the first row makes it 0 */
    for (size_t i = 0; i < crowd->n_rows; i++) {
        const double *row = data->values + tags[i].row * data->n_cols;
        if (i == 0 || tags[i].appears != tags[i - 1].appears) {
            device++;
            crowd->devices[device] = (struct crowd_device){.id = row[0], .first = i};
        }
        crowd->devices[device].n_rows++;
        for (uint32_t d = 0; d < dim; d++) {
            crowd->points[i * dim + d] = row[1 + d];
        }
        crowd->counts[i] = has_count ? row[1 + dim] : 1;
    }
}

static dpot_status build(struct run *run, const struct array *data, struct tag *tags,
                         size_t n_devices, struct crowd *crowd)
{
    const size_t n_there = sort_rows(data, tags);
    if (n_there < n_devices) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--data has %zu devices and --devices asks for %zu: ask for at most "
                              "%zu",
                              n_there, n_devices, n_there);
    }
    crowd->n_devices = n_devices;
    crowd->n_rows = count_rows(data, tags, n_devices);
    crowd->devices = dpot_alloc_array(NULL, n_devices, sizeof *crowd->devices);
    crowd->points = dpot_alloc_array(NULL, crowd->n_rows * crowd->dim, sizeof *crowd->points);
    crowd->counts = dpot_alloc_array(NULL, crowd->n_rows, sizeof *crowd->counts);
    crowd->nearest = dpot_alloc_array(NULL, crowd->n_rows, sizeof *crowd->nearest);
    if (!crowd->devices || !crowd->points || !crowd->counts || !crowd->nearest) {
        return dpot_error_set(&run->error, DPOT_ERR_MEMORY, "out of memory for %zu rows",
                              crowd->n_rows);
    }
    copy_rows(data, tags, crowd);
    return DPOT_OK;
}

dpot_status crowd_load(struct run *run, const struct dpot_campaign *campaign, size_t n_devices,
                       struct crowd *crowd)
{
    struct array data;
    *crowd = (struct crowd){.dim = crowd_dim(campaign)};
    dpot_status status = load_finite(run, "data", &data);
    if (status != DPOT_OK) {
        return status;
    }
    const size_t n_rows = data.n_rows;
    status = check_rows(run, &data, campaign);
    if (status == DPOT_OK) {
        struct tag *tags = dpot_alloc_array(NULL, n_rows, sizeof *tags);
        status = tags ? build(run, &data, tags, n_devices, crowd) : DPOT_ERR_MEMORY;
        dpot_free_array(NULL, tags, n_rows, sizeof *tags);
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
