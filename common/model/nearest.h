/* The point of a domain that is nearest to a place: the clamp of device data. Total, and the steps are
 * the same for every place, however far, close, infinite or NaN.
 *
 *     dpot_nearest_init(&nearest, &domain, &metric, allocator);     once, before data are read
 *     dpot_nearest_find(&nearest, x)                                -> the number of a point
 *     dpot_nearest_release(&nearest);                               wipes
 *
 * Distances are compared as doubles; of those that are equal after rounding the lowest number wins.
 *
 *   grids, and rings    in euclidean, l1 and linf: on every axis the nearest (in linf others may be as
 *   as lines            near). A place outside is first brought to the edge of the box.
 *   lists               in euclidean, l1 and linf: a scan of all. The list's extent is its largest
 *                       difference of a coordinate from the first point's; a coordinate that is more than
 *                       1,024 extents from the first point's counts as 1,024 extents away on that side,
 *                       so that a place far out keeps its near coordinates and the signs of the others.
 *   ring metric         the position is first reduced to one turn.
 *   haversine           latitudes beyond a pole are at the pole, longitudes go round. On grids the
 *                       nearest longitude, and then the nearest latitude there.
 *   cosine              a scan of directions; coordinates that are infinite outweigh all that are not.
 *
 * NaN is no data: it counts as 0. Infinity counts as the largest double; as a longitude or a position on a
 * ring it is no place and counts as 0, and so does what is beyond 2^52. A sphere and directions have
 * no list: 0. */
#ifndef DPOT_MODEL_NEAREST_H
#define DPOT_MODEL_NEAREST_H

#include "model/domain.h"

struct dpot_nearest {
    const struct dpot_domain *domain; /* borrowed */
    const struct dpot_metric *metric; /* borrowed */
    const struct dpot_allocator *allocator;
    uint32_t width; /* numbers of a prepared point */
    double scale;   /* lists: 1 / extent, to a power of two */
    double least;   /* what is smaller counts as 0, so that no product is subnormal */
    double *
        prepared; /* (size, width) points that are scanned, or NULL: made when they are looked at */
    double *place; /* (width) the place that is looked up */
};

/* Bytes that _init allocates. */
size_t dpot_nearest_bytes(const struct dpot_domain *domain, const struct dpot_metric *metric);

/* DPOT_ERR_MEMORY leaves it zeroed; a zeroed one may be released. */
DPOT_WARN_UNUSED dpot_status dpot_nearest_init(struct dpot_nearest *nearest,
                                               const struct dpot_domain *domain,
                                               const struct dpot_metric *metric,
                                               const struct dpot_allocator *allocator);
void dpot_nearest_release(struct dpot_nearest *nearest);

uint32_t dpot_nearest_find(struct dpot_nearest *nearest, const double *x /* (dim) */);

#endif
