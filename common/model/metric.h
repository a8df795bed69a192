/* Ground metrics d(x, y); the cost is d^p (cost_power p).
 *
 *   euclidean, l1, linf   any dimension
 *   cosine                1 - cos of the angle; a zero vector is at distance 1 from everything, itself too
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

/* DPOT_ERR_RANGE for an unknown id, DPOT_ERR_SHAPE when the metric does not take `dim` coordinates
 * (haversine 2, ring 1), DPOT_ERR_RANGE for a ring_size that is 0 on a ring or not 0 elsewhere. */
DPOT_WARN_UNUSED dpot_status dpot_metric_check(const struct dpot_metric *metric, uint32_t dim);

/* Whether a place on earth can have the coordinates of `point`: latitude in [-90, 90], longitude in
 * [-360, 360]. Otherwise, which NaN is too, DPOT_ERR_RANGE and a sentence with the value; the caller
 * prefixes whose point it is. Metrics other than haversine take every point here. */
DPOT_WARN_UNUSED dpot_status dpot_metric_check_place(const struct dpot_metric *metric,
                                                     const double *point /* (dim) */,
                                                     struct dpot_error *error);

/* d(a, b) >= 0 for finite points; total: garbage in gives some double, never a trap. Differences below
 * 2^-500 (cosine: of the largest coordinate) count as 0, so that a distance is 0 or a normal number and no step
 * meets a subnormal one. */
double dpot_metric_distance(const struct dpot_metric *metric, uint32_t dim,
                            const double *a /* (dim) */, const double *b /* (dim) */);

/* Its name in files and on the command line ("haversine"); NULL for an unknown id. */
const char *dpot_metric_name(enum dpot_metric_id id);

/* DPOT_ERR_NOT_FOUND for an unknown name. */
DPOT_WARN_UNUSED dpot_status dpot_metric_find(const char *name, enum dpot_metric_id *id);

#endif
