/* Ground metrics d(x, y); the cost is d^p (cost_power p).
 *
 *   euclidean, l1, linf   any dimension
 *   cosine                1 - cos of the angle; a zero vector has distance 1 to every vector
 *   haversine             (latitude, longitude) in degrees; great-circle kilometres on a sphere of
 *                         radius 6371.0088
 *   ring                  integer positions 0..ring_size-1, the shorter way round */
#ifndef DPOT_MODEL_METRIC_H
#define DPOT_MODEL_METRIC_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Published numbers (campaign.proto). */
enum dpot_metric_id {
    DPOT_METRIC_EUCLIDEAN = 1,
    DPOT_METRIC_L1 = 2,
    DPOT_METRIC_LINF = 3,
    DPOT_METRIC_COSINE = 4,
    DPOT_METRIC_HAVERSINE = 5,
    DPOT_METRIC_RING = 6,
};

struct dpot_metric {
    enum dpot_metric_id id;
    uint32_t ring_size; /* ring only, otherwise 0 */
};

/* DPOT_ERR_RANGE: unknown id, or a ring_size that is 0 on a ring or not 0 elsewhere.
 * DPOT_ERR_SHAPE: the metric does not take `dim` coordinates (haversine: 2, ring: 1). */
DPOT_WARN_UNUSED dpot_status dpot_metric_check(const struct dpot_metric *metric, uint32_t dim);

/* With haversine: checks that latitude is in [-90, 90] and longitude in [-360, 360]. DPOT_ERR_RANGE
 * (also for NaN) shows the value; the caller prefixes which point it is. Other metrics accept every
 * point. */
DPOT_WARN_UNUSED dpot_status dpot_metric_check_place(const struct dpot_metric *metric,
                                                     const double *point /* (dim) */,
                                                     struct dpot_error *error);

/* d(a, b) >= 0 for finite points, right to rounding whatever their size: squares do not overflow or
 * vanish. Infinity: the distance itself is too large. Total: any doubles give some double.
 * Differences below 2^-1000 count as 0, and so do those below 2^-500 of the largest one (cosine: of
 * the largest coordinate), so that no step meets a subnormal number. The same steps for all
 * points. */
double dpot_metric_distance(const struct dpot_metric *metric, uint32_t dim,
                            const double *a /* (dim) */, const double *b /* (dim) */);

/* The same for public points, faster: sums that over- or underflow take further steps. */
double dpot_metric_distance_public(const struct dpot_metric *metric, uint32_t dim,
                                   const double *a /* (dim) */, const double *b /* (dim) */);

/* The name in files and on the command line, such as "haversine"; NULL for an unknown id. */
const char *dpot_metric_name(enum dpot_metric_id id);

/* DPOT_ERR_NOT_FOUND for an unknown name. */
DPOT_WARN_UNUSED dpot_status dpot_metric_find(const char *name, enum dpot_metric_id *id);

#endif
