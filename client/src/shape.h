/* Whether what the caller gives has the shape that the campaign wants: sizes alone, which are public; no number of
 * it is read. */
#ifndef DPOT_CLIENT_SHAPE_H
#define DPOT_CLIENT_SHAPE_H

#include "client.h"

/* The caller's data, not looked at before stage 5. */
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

/* DPOT_ERR_ARGUMENT: no memory holds so many points. */
DPOT_WARN_UNUSED dpot_status dpot_shape_check_count(dpot_client *client,
                                                    const struct dpot_device_data *data);

/* DPOT_ERR_SHAPE; DPOT_ERR_RANGE: the group of the device is not one of the campaign's. */
DPOT_WARN_UNUSED dpot_status dpot_shape_check(dpot_client *client,
                                              const struct dpot_campaign *campaign,
                                              const struct dpot_device_data *data);

#endif
