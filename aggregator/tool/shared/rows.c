#include "tool/shared/rows.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

/* Devices are read as doubles: beyond this two integers may be the same double. */
#define DEVICE_END 9007199254740992.0 /* 2^53 */

/* A file has at most 2^28 entries, so the counts of a device sum to less than 2^28 * 1e300:
 * finite. */
#define COUNT_MAX 1e300

/* A row, its device, and the first row of that device. */
struct tag {
    double device;
    size_t row, appears;
};

static int by_device(const void *a, const void *b)
{
    const struct tag *p = a, *q = b;
    const int order = (p->device > q->device) - (p->device < q->device);
    return order ? order : (p->row > q->row) - (p->row < q->row);
}

static int by_appearance(const void *a, const void *b)
{
    const struct tag *p = a, *q = b;
    const int order = (p->appears > q->appears) - (p->appears < q->appears);
    return order ? order : (p->row > q->row) - (p->row < q->row);
}

static const double *coordinates(const struct rows *rows, size_t row)
{
    return rows->data->values + row * rows->data->n_cols + (rows->has_device ? 1 : 0);
}

static double count_of(const struct rows *rows, size_t row)
{
    return rows->has_count ? coordinates(rows, row)[rows->dim] : 1;
}

static double device_of(const struct rows *rows, size_t row)
{
    return rows->has_device ? coordinates(rows, row)[-1] : (double)row;
}

/* ---- checks ---- */

static uint32_t dim_of(const struct dpot_campaign *campaign)
{
    return dpot_mechanism_is_vector(campaign->mechanism) ? dpot_vector_data_dim(&campaign->vector)
                                                         : campaign->domain.dim;
}

static dpot_status refuse_columns(const struct rows *rows, enum rows_form form,
                                  struct dpot_error *error)
{
    const bool is_vector = dpot_mechanism_is_vector(rows->campaign->mechanism);
    const bool takes_others = form == ROWS_OR_VECTORS;
    const size_t n_cols = rows->data->n_cols;
    return dpot_error_set(
        error, DPOT_ERR_SHAPE,
        "%s has %zu column%s: give %sdevice, %u coordinate%s and, if you like, a count%s",
        rows->name, n_cols, DPOT_S(n_cols), takes_others && is_vector ? "vectors alone, or " : "",
        (unsigned)rows->dim, DPOT_S(rows->dim),
        takes_others && !is_vector ? ", or one weight for each point of the domain" : "");
}

static dpot_status read_columns(struct rows *rows, enum rows_form form, struct dpot_error *error)
{
    const bool is_vector = dpot_mechanism_is_vector(rows->campaign->mechanism);
    const size_t n_cols = rows->data->n_cols;
    rows->dim = dim_of(rows->campaign);
    rows->has_device = !(is_vector && form == ROWS_OR_VECTORS && n_cols == rows->dim);
    rows->has_count = n_cols == (size_t)rows->dim + 2;
    return rows->has_count || n_cols == (size_t)rows->dim + 1 || !rows->has_device
               ? DPOT_OK
               : refuse_columns(rows, form, error);
}

static dpot_status check_device(const struct rows *rows, size_t row, struct dpot_error *error)
{
    const double device = device_of(rows, row);
    if (device != floor(device)) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s row %zu: device %g is not an integer",
                              rows->name, row + 1, device);
    }
    if (!(fabs(device) < DEVICE_END)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "%s row %zu: device %.0f is not below 2^53: integers beyond 2^53 "
                              "are not exact here",
                              rows->name, row + 1, device);
    }
    return DPOT_OK;
}

static dpot_status check_count(const struct rows *rows, size_t row, struct dpot_error *error)
{
    const double count = count_of(rows, row);
    if (!(count >= 0)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "%s row %zu: count %g of device %.0f is negative", rows->name,
                              row + 1, count, device_of(rows, row));
    }
    if (count > COUNT_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "%s row %zu: count %g of device %.0f is above %g: the sum of its "
                              "counts must stay finite",
                              rows->name, row + 1, count, device_of(rows, row), COUNT_MAX);
    }
    return DPOT_OK;
}

static dpot_status check_row(const struct rows *rows, size_t row, struct dpot_error *error)
{
    dpot_status status = check_device(rows, row, error);
    if (status == DPOT_OK && !dpot_mechanism_is_vector(rows->campaign->mechanism)) {
        status = dpot_metric_check_place(&rows->campaign->metric, coordinates(rows, row), error);
        if (status != DPOT_OK) {
            return dpot_error_prefix(error, status, "%s row %zu", rows->name, row + 1);
        }
    }
    return status == DPOT_OK ? check_count(rows, row, error) : status;
}

/* ---- grouping ---- */

static void sort(const struct rows *rows, struct tag *tags, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tags[i].device = device_of(rows, i);
        tags[i].row = i;
    }
    qsort(tags, n, sizeof *tags, by_device);
    for (size_t i = 0; i < n; i++) {
        const bool is_new = i == 0 || tags[i].device != tags[i - 1].device;
        tags[i].appears = is_new ? tags[i].row : tags[i - 1].appears;
    }
    qsort(tags, n, sizeof *tags, by_appearance);
}

static dpot_status group(struct rows *rows, const struct tag *tags, size_t n, uint64_t n_first,
                         struct dpot_error *error)
{
    size_t n_seen = 0, i = 0;
    for (; i < n; i++) {
        if (i == 0 || tags[i].appears != tags[i - 1].appears) {
            if (n_first > 0 && n_seen == n_first) {
                break;
            }
            rows->first[n_seen++] = i;
        }
        rows->row[i] = tags[i].row;
    }
    rows->first[n_seen] = i;
    rows->n_devices = n_seen;
    return n_seen >= n_first
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_SHAPE,
                                "%s has %zu device%s and %llu are asked for: ask for at most %zu",
                                rows->name, n_seen, DPOT_S(n_seen), (unsigned long long)n_first,
                                n_seen);
}

void rows_release(struct rows *rows)
{
    dpot_free_array(NULL, rows->first, rows->cap_devices + 1, sizeof *rows->first);
    dpot_free_array(NULL, rows->row, rows->cap_devices, sizeof *rows->row);
    *rows = (struct rows){0};
}

dpot_status rows_init(struct rows *rows, const char *name, enum rows_form form,
                      const struct array *data, const struct dpot_campaign *campaign,
                      uint64_t n_first, struct dpot_error *error)
{
    const size_t n = data->n_rows;
    *rows = (struct rows){.name = name, .campaign = campaign, .data = data, .cap_devices = n};
    struct tag *tags = NULL;
    dpot_status status = read_columns(rows, form, error);
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        status = check_row(rows, i, error);
    }
    if (status == DPOT_OK) {
        tags = dpot_alloc_array(NULL, n, sizeof *tags);
        rows->first = dpot_alloc_array(NULL, n + 1, sizeof *rows->first);
        rows->row = dpot_alloc_array(NULL, n, sizeof *rows->row);
        status = tags && rows->first && rows->row
                     ? DPOT_OK
                     : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu rows", n);
    }
    if (status == DPOT_OK) {
        sort(rows, tags, n);
        status = group(rows, tags, n, n_first, error);
    }
    dpot_free_array(NULL, tags, n, sizeof *tags);
    if (status != DPOT_OK) {
        rows_release(rows);
    }
    return status;
}

/* ---- reading ---- */

double rows_device(const struct rows *rows, size_t i)
{
    return device_of(rows, rows->row[i]);
}

const double *rows_coordinates(const struct rows *rows, size_t i)
{
    return coordinates(rows, rows->row[i]);
}

double rows_count(const struct rows *rows, size_t i)
{
    return count_of(rows, rows->row[i]);
}

static double total_count(const struct rows *rows, size_t device)
{
    double total = 0;
    for (size_t i = rows->first[device]; i < rows->first[device + 1]; i++) {
        total += count_of(rows, rows->row[i]);
    }
    return total;
}

static int by_point(const void *a, const void *b)
{
    const struct rows_entry *p = a, *q = b;
    return (p->point > q->point) - (p->point < q->point);
}

size_t rows_entries(const struct rows *rows, size_t device, struct rows_entry *entries)
{
    const double total = total_count(rows, device);
    size_t n = 0, n_points = 0;
    for (size_t i = rows->first[device]; total > 0 && i < rows->first[device + 1]; i++) {
        const size_t row = rows->row[i];
        const double mass = count_of(rows, row) / total;
        if (mass > 0) {
            entries[n++] = (struct rows_entry){dpot_domain_nearest(&rows->campaign->domain,
                                                                   &rows->campaign->metric,
                                                                   coordinates(rows, row)),
                                               mass};
        }
    }
    qsort(entries, n, sizeof *entries, by_point);
    for (size_t i = 0; i < n; i++) {
        if (n_points > 0 && entries[n_points - 1].point == entries[i].point) {
            entries[n_points - 1].mass += entries[i].mass;
        } else {
            entries[n_points++] = entries[i];
        }
    }
    return n_points;
}

void rows_vector(const struct rows *rows, size_t device, double *vector)
{
    const double total = total_count(rows, device);
    for (uint32_t j = 0; j < rows->dim; j++) {
        vector[j] = 0;
    }
    for (size_t i = rows->first[device]; total > 0 && i < rows->first[device + 1]; i++) {
        const double weight = count_of(rows, rows->row[i]) / total;
        for (uint32_t j = 0; j < rows->dim; j++) {
            vector[j] += weight * coordinates(rows, rows->row[i])[j];
        }
    }
}
