/* Checks the caller's data against the shape of the campaign: sizes only, which are public. No
 * value is read. */
#ifndef DPOT_CLIENT_SHAPE_H
#define DPOT_CLIENT_SHAPE_H

#include "client.h"

/* The caller's data, not read before stage 5 of a submit. */
struct dpot_device_data {
    const double *points; /* (n, dim) or NULL */
    const double *weights;
    size_t n;
    uint32_t dim;
    const double *histogram; /* (size) or NULL */
    size_t size;
    const double *vector; /* (dim) or NULL */
    enum { DATA_POINTS, DATA_HISTOGRAM, DATA_VECTOR } kind;
};

/* DPOT_ERR_ARGUMENT: no memory holds n points. */
DPOT_WARN_UNUSED dpot_status dpot_shape_check_count(dpot_client *client,
                                                    const struct dpot_device_data *data);

/* DPOT_ERR_SHAPE; DPOT_ERR_RANGE: the device's group is not one of the campaign's. */
DPOT_WARN_UNUSED dpot_status dpot_shape_check(dpot_client *client,
                                              const struct dpot_campaign *campaign,
                                              const struct dpot_device_data *data);

#endif
