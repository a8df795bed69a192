/* Reading device data as weighted entries, in a number of steps that is the same for all data.
 *
 *   - Of more than DPOT_POINTS_WEIGHED entries, that many evenly spaced ones are used (at indices
 *     that depend on n only); the others are ignored.
 *   - At most DPOT_POINTS_READ entries: each is read once with its exact weight, divided by the
 *     power of two above the largest. Entries without weight are read in addition, up to
 *     DPOT_POINTS_READ.
 *   - More: DPOT_POINTS_READ of them are drawn by weight and count 1 each. Systematic sampling:
 *     with S the sum of all weights and `uniform` a number in [0, 1), the r-th is the entry in
 *     which the running sum passes (r + uniform) S / DPOT_POINTS_READ.
 *   - Weights that are negative, not finite, subnormal or below 2^-40 of the largest count as 0.
 *
 * That is two passes over DPOT_POINTS_WEIGHED weights, a walk of DPOT_POINTS_WEIGHED +
 * DPOT_POINTS_READ steps and DPOT_POINTS_READ entries read, in constant memory. Memory beyond the n
 * entries is never accessed.
 *
 * Claim. `uniform` is always drawn, before the data are read, from the report's own randomness.
 * Given `uniform`, a measure is read, and the law of the report given the measure satisfies Theorem
 * A (client/doc/exact-privacy.md). So the law of the report is a mixture, with weights that do not
 * depend on data, of laws between the same integers L and U, and satisfies Theorem A too. */
#ifndef DPOT_MODEL_PLACES_H
#define DPOT_MODEL_PLACES_H

#include "model/nearest.h"

#define DPOT_POINTS_READ 1024
#define DPOT_POINTS_WEIGHED 4096

/* Receives entry `entry` < n (0 if n is 0: no such entry) with its weight >= 0. */
typedef void dpot_places_taker(void *ctx, size_t entry, double weight);

/* Calls `take` DPOT_POINTS_READ times, entries in ascending order, then those without weight in any
 * order. Reads weights only. Total. */
void dpot_places_walk(const double *weights /* (n), or NULL: all 1 */, size_t n, uint64_t uniform,
                      dpot_places_taker *take, void *ctx);

/* Adds the weights that are read to the histogram, at the nearest points of the domain. Total;
 * points NULL or n 0 means no data and takes the same steps. */
void dpot_places_read(struct dpot_nearest *nearest, const double *points /* (n, dim) */,
                      const double *weights /* (n), or NULL: all 1 */, size_t n, uint64_t uniform,
                      double *histogram /* (domain size) */);

#endif
