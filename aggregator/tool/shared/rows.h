/* Device rows (device, coordinates..., [count]), grouped by device in the order of appearance: what
 * simulate, evaluate and plan read. The rows of a device need not be together in the file. */
#ifndef DPOT_TOOL_SHARED_ROWS_H
#define DPOT_TOOL_SHARED_ROWS_H

#include "files/array.h"
#include "model/campaign.h"

struct rows {
    const char *name; /* of the option, for the sentences; borrowed, as all three */
    const struct dpot_campaign *campaign;
    const struct array *data;
    uint32_t dim;    /* coordinates of a row */
    bool has_device; /* column 0 */
    bool has_count;  /* the last column */
    size_t n_devices;
    size_t *first; /* (n_devices + 1) device t has row[first[t]] .. row[first[t + 1] - 1] */
    size_t *row;   /* (data rows) */
    size_t cap_devices;
};

enum rows_form {
    ROWS_OF_DEVICES, /* with a device in column 0 */
    ROWS_OR_VECTORS, /* in a vector campaign also the vectors alone, one device each */
};

/* Groups the rows of the first `n_first` devices (0: of all). DPOT_ERR_SHAPE: columns, fewer devices;
 * DPOT_ERR_RANGE: a device that is no integer below 2^53, a count that is negative or above 1e300,
 * a place that is none; sentences begin with `name` and the row. */
DPOT_WARN_UNUSED dpot_status rows_init(struct rows *rows, const char *name, enum rows_form form,
                                       const struct array *data,
                                       const struct dpot_campaign *campaign, uint64_t n_first,
                                       struct dpot_error *error);
void rows_release(struct rows *rows);

/* Of the i-th row in the order of the devices, 0 .. first[n_devices] - 1. Without a device column the
 * device is the row's number. */
double rows_device(const struct rows *rows, size_t i);
const double *rows_coordinates(const struct rows *rows, size_t i); /* (dim) borrowed */
double rows_count(const struct rows *rows, size_t i); /* 1 without a column of counts */

/* Coordinates of a row, and counts besides: what a campaign's data are. */
uint32_t rows_dim(const struct dpot_campaign *campaign);

struct rows_entry {
    uint32_t point; /* of the domain */
    double mass;
};

/* The measure of a device on the points of the domain, each once, points increasing, mass one; 0
 * entries when it has no counts. `entries` has room for all its rows. */
size_t rows_entries(const struct rows *rows, size_t device, struct rows_entry *entries);

/* The weighted mean of its vectors; zeros when it has no counts. */
void rows_vector(const struct rows *rows, size_t device, double *vector /* (dim) */);

#endif
