/* The data of one device on a sphere: at most n_max unit vectors with weights. They leave the
 * device through a mechanism only, and are wiped on release. */
#ifndef DPOT_MODEL_PRIVATE_POINTS_H
#define DPOT_MODEL_PRIVATE_POINTS_H

#include "model/measure.h"
#include "model/vector.h"

struct dpot_private_points {
    uint32_t dim;
    struct dpot_private_measure measure; /* n_max rows; its support numbers rows of `vectors` */
    struct dpot_private_vector vectors;  /* (n_max, dim) row-major; unit vectors */
};

/* Allocates n_max rows, before device data are read. DPOT_ERR_MEMORY: zeroed. */
DPOT_WARN_UNUSED dpot_status dpot_private_points_init(struct dpot_private_points *points,
                                                      size_t n_max, uint32_t dim,
                                                      const struct dpot_allocator *allocator);
void dpot_private_points_release(struct dpot_private_points *points);

/* Fills it from n rows of data, read by the rules of model/places.h. Cannot fail, and takes the
 * same steps for all data:
 *  - a row is divided by its length; a row of zeros, or with a number that is not finite, becomes
 *    the public default e_1 = (1, 0, ..., 0);
 *  - of more than n_max rows with weight the n_max heaviest are used, ties to the first, in the
 *    order of the data;
 *  - these are normalised to mass 1; unused rows are e_1 with weight 0;
 *  - without any weight (no data): e_1 with weight 1. */
void dpot_private_points_set(struct dpot_private_points *points,
                             const double *data /* (n, dim) or NULL */,
                             const double *weights /* (n), or NULL: all 1 */, size_t n,
                             uint64_t uniform);

/* Divides x by its length, or sets it to e_1 as above. Total. */
void dpot_unit_vector(double *x /* (dim) */, uint32_t dim);

#endif
