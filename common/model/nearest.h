/* The point of a domain that is nearest to a given place: how device data are clamped. Total, and
 * takes the same steps for every place, whether far, close, infinite or NaN.
 *
 *     dpot_nearest_init(&nearest, &domain, &metric, allocator);     once, before data are read
 *     dpot_nearest_find(&nearest, x)                                -> index of a point
 *     dpot_nearest_release(&nearest);                               wipes
 *
 * Axes are compared as doubles. A scan compares whole numbers: steps of 2^-22 to 2^-28 of the
 * extent of a list (2^8 times wider for a place more than 4 extents away), 2^-29 of a radius, 2^-29
 * of a ring. Ties after rounding go to the lowest index.
 */
#ifndef DPOT_MODEL_NEAREST_H
#define DPOT_MODEL_NEAREST_H

#include "model/domain.h"

struct dpot_nearest {
    const struct dpot_domain *domain; /* borrowed */
    const struct dpot_metric *metric; /* borrowed */
    const struct dpot_allocator *allocator;
    uint32_t width;    /* numbers of a prepared point */
    double scale;      /* lists: 1 / extent, rounded to a power of two */
    double least;      /* smaller numbers count as 0, so that no product is subnormal */
    double unit;       /* whole numbers per extent, radius or unit of a ring */
    int32_t *prepared; /* (size, width) points to scan */
    int32_t *place;    /* (width) the place, prepared */
};

/* Bytes that _init allocates. */
size_t dpot_nearest_bytes(const struct dpot_domain *domain, const struct dpot_metric *metric);

/* DPOT_ERR_MEMORY: zeroed. A zeroed struct may be released. */
DPOT_WARN_UNUSED dpot_status dpot_nearest_init(struct dpot_nearest *nearest,
                                               const struct dpot_domain *domain,
                                               const struct dpot_metric *metric,
                                               const struct dpot_allocator *allocator);
void dpot_nearest_release(struct dpot_nearest *nearest);

uint32_t dpot_nearest_find(struct dpot_nearest *nearest, const double *x /* (dim) */);

#endif
