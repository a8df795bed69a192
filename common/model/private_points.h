/* The vectors of one device on a sphere: at most n_max, each made a unit vector, with weights.
 *
 * Device data: leave the device in no form but through a mechanism; wiped on release. */
#ifndef DPOT_MODEL_PRIVATE_POINTS_H
#define DPOT_MODEL_PRIVATE_POINTS_H

#include "model/measure.h"
#include "model/vector.h"

struct dpot_private_points {
    uint32_t dim;
    struct dpot_private_measure measure; /* n_max rows: weights of rows of `vectors` */
    struct dpot_private_vector vectors;  /* (n_max, dim) row-major; unit vectors */
};

/* Allocates exactly n_max rows (before device data are read). DPOT_ERR_MEMORY leaves it zeroed. */
DPOT_WARN_UNUSED dpot_status dpot_private_points_init(struct dpot_private_points *points,
                                                      size_t n_max, uint32_t dim,
                                                      const struct dpot_allocator *allocator);
void dpot_private_points_release(struct dpot_private_points *points);

/* Fills it from n rows of data, which are read by the rule of model/places.h. Total, it cannot fail, and
 * takes the same steps for all data:
 *  - a row is divided by its length; one of zeros or with a number that is not finite becomes the
 *    public default e_1 = (1, 0, ..., 0);
 *  - more than n_max with weight: the n_max heaviest stay, ties to the first, in the order of the data;
 *  - the rest is normalised to mass 1; unused rows are e_1 with weight 0;
 *  - nothing left (no data): e_1 with weight 1. */
void dpot_private_points_set(struct dpot_private_points *points,
                             const double *data /* (n, dim) or NULL */,
                             const double *weights /* (n), or NULL: all 1 */, size_t n,
                             uint64_t uniform);

/* Divides x by its length, or makes it e_1 as above. Total. */
void dpot_unit_vector(double *x /* (dim) */, uint32_t dim);

#endif
