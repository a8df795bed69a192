/* Measures with finite support, and the type that marks device data as private. */
#ifndef DPOT_MODEL_MEASURE_H
#define DPOT_MODEL_MEASURE_H

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* weights[r] >= 0 on domain point support[r]. Not necessarily of mass one. */
struct dpot_measure {
    size_t support_size;
    uint32_t *support; /* (support_size) indices into a domain */
    double *weights;   /* (support_size) */
    const struct dpot_allocator *allocator;
};

/* Device data. Never leaves the device: nothing in proto/ and no log takes it; only model/ and
 * mechanism/ reach into .measure; wiped on release. */
struct dpot_private_measure {
    struct dpot_measure measure;
};

/* A measure of `support_size` zero weights. DPOT_ERR_MEMORY leaves it zeroed. */
DPOT_WARN_UNUSED dpot_status dpot_measure_init(struct dpot_measure *measure, size_t support_size,
                                               const struct dpot_allocator *allocator);
void dpot_measure_release(struct dpot_measure *measure);

/* Allocates a private measure of exactly n_max rows (before device data are read); all weights are
 * zero and every row is valid. */
DPOT_WARN_UNUSED dpot_status dpot_private_measure_init(struct dpot_private_measure *private_measure,
                                                       size_t n_max,
                                                       const struct dpot_allocator *allocator);
void dpot_private_measure_release(struct dpot_private_measure *private_measure);

/* Fills a private measure from a histogram over the domain. Total, it cannot fail:
 *  - histogram entries that are NaN, infinite, negative, subnormal or below 2^-40 of the largest
 *    count as 0;
 *  - more than n_max positive entries: the n_max heaviest stay, ties to the lowest index;
 *  - the rest is normalised to mass 1; unused rows get weight 0 on point 0;
 *  - no positive entry at all (no data): the public default, weight 1/n on n = min(n_max, size)
 *    points spread evenly over the domain (index floor(r size / n)).
 * Its steps depend on size and n_max only: 62 passes over the histogram, whatever is in it.
 * `histogram` is scratch and is wiped on return. */
void dpot_private_measure_set(struct dpot_private_measure *private_measure,
                              double *histogram /* (size) */, size_t size);

/* Checks that w is a probability: finite, >= 0, sum within 1e-6 of 1; then divides by the sum. With
 * `normalize` any positive finite sum is accepted. DPOT_ERR_RANGE with a sentence naming the first
 * bad entry or the sum (this is for data of the tools, not of devices: sentences show values). */
DPOT_WARN_UNUSED dpot_status dpot_weights_check(double *weights, size_t n, int normalize,
                                                struct dpot_error *error);

#endif
