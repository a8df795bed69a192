/* Device rows (device, coordinates..., [count]), grouped by device in the order of appearance: the
 * input of simulate, evaluate and plan. The rows of a device need not be adjacent in the file. */
#ifndef DPOT_TOOL_SHARED_ROWS_H
#define DPOT_TOOL_SHARED_ROWS_H

#include "files/array.h"
#include "model/campaign.h"

struct rows {
    const char *name; /* of the option, for messages; borrowed, as the next two */
    const struct dpot_campaign *campaign;
    const struct array *data;
    uint32_t dim;    /* coordinates of a row */
    bool has_device; /* in column 0 */
    bool has_count;  /* in the last column */
    size_t n_devices;
    size_t *first; /* (n_devices + 1) device t owns row[first[t]] .. row[first[t + 1] - 1] */
    size_t *row;   /* (data rows) */
    size_t cap_devices;
};

enum rows_form {
    ROWS_OF_DEVICES, /* device in column 0 */
    ROWS_OR_VECTORS, /* vector campaigns: also vectors alone, one device each */
};

/* Groups the rows of the first `n_first` devices (0: all). DPOT_ERR_SHAPE: wrong number of columns,
 * or fewer devices. DPOT_ERR_RANGE: a device that is not an integer below 2^53, a count that is
 * negative or above 1e300, or an invalid place. Messages begin with `name` and the row. */
DPOT_WARN_UNUSED dpot_status rows_init(struct rows *rows, const char *name, enum rows_form form,
                                       const struct array *data,
                                       const struct dpot_campaign *campaign, uint64_t n_first,
                                       struct dpot_error *error);
void rows_release(struct rows *rows);

/* Row i in the order of devices, 0 .. first[n_devices] - 1. Without a device column the device is
 * the row number. */
double rows_device(const struct rows *rows, size_t i);
const double *rows_coordinates(const struct rows *rows, size_t i); /* (dim) borrowed */
double rows_count(const struct rows *rows, size_t i);              /* 1 without a count column */

struct rows_entry {
    uint32_t point; /* of the domain */
    double mass;
};

/* Writes the measure of a device on the points of the domain: points increasing, mass one. Returns
 * the number of entries, 0 if the device has no counts. `entries` holds at least as many as its
 * rows. */
size_t rows_entries(const struct rows *rows, size_t device, struct rows_entry *entries);

/* Writes the weighted mean of a device's vectors; zeros if it has no counts. */
void rows_vector(const struct rows *rows, size_t device, double *vector /* (dim) */);

#endif
