/* Measures with finite support, and the type that marks them as device data. */
#ifndef DPOT_MODEL_MEASURE_H
#define DPOT_MODEL_MEASURE_H

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* weights[r] >= 0 on domain point support[r]. The mass need not be 1. */
struct dpot_measure {
    size_t support_size;
    uint32_t *support; /* (support_size) indices into a domain */
    double *weights;   /* (support_size) */
    const struct dpot_allocator *allocator;
};

/* Device data. Never leaves the device: nothing in proto/ and no log accepts this type, only model/
 * and mechanism/ may use .measure (tests/lint), and it is wiped on release. */
struct dpot_private_measure {
    struct dpot_measure measure;
};

/* Allocates n_max rows of weight 0 on point 0, before device data are read. DPOT_ERR_MEMORY:
 * zeroed. */
DPOT_WARN_UNUSED dpot_status dpot_private_measure_init(struct dpot_private_measure *private_measure,
                                                       size_t n_max,
                                                       const struct dpot_allocator *allocator);
void dpot_private_measure_release(struct dpot_private_measure *private_measure);

/* Fills a private measure from a histogram over the domain. Cannot fail:
 *  - entries that are NaN, infinite, negative, subnormal or below 2^-40 of the largest count as 0;
 *  - of more than n_max positive entries the n_max heaviest are used, ties to the lowest index;
 *  - these are normalised to mass 1; unused rows have weight 0 on point 0;
 *  - without a positive entry (no data): the public default, weight 1/n on each of n = min(n_max,
 *    size) points spread evenly over the domain (index floor(r size / n)).
 * The number of steps depends on size and n_max only: 62 passes over the histogram. `histogram` is
 * used as scratch and wiped. */
void dpot_private_measure_set(struct dpot_private_measure *private_measure,
                              double *histogram /* (size) */, size_t size);

/* For tools (the error shows values, so never for device data): checks that weights are finite, >=
 * 0 and sum to 1 within 1e-6, or with `normalize` to any positive finite number; then divides by
 * the sum. DPOT_ERR_RANGE names the first bad entry or the sum. */
DPOT_WARN_UNUSED dpot_status dpot_weights_check(double *weights, size_t n, int normalize,
                                                struct dpot_error *error);

#endif
