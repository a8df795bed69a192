/* Reading the places of a device: always the same number of steps, whatever and how many they are.
 *
 *   - Of more than DPOT_POINTS_WEIGHED entries, so many evenly spaced ones are looked at (numbers that
 *     depend on n only), and the others count as if they were not there.
 *   - At most DPOT_POINTS_READ entries: each is read once and counts with its exact weight, over the
 *     power of two above the largest; entries without weight are read in their stead until there are
 *     DPOT_POINTS_READ.
 *   - More: DPOT_POINTS_READ of them are drawn by weight and count 1 each. The draw is systematic: with
 *     S the sum of all weights and `uniform` one number in [0, 1), the r-th is the entry in which the
 *     running sum passes (r + uniform) S / DPOT_POINTS_READ.
 *   - Weights that are negative, not finite, subnormal or below 2^-40 of the largest count as nothing.
 *
 * So there are DPOT_POINTS_WEIGHED + DPOT_POINTS_READ steps of the walk after two passes over
 * DPOT_POINTS_WEIGHED weights, and DPOT_POINTS_READ places read, in constant memory. Entries that do not
 * exist are never touched.
 *
 * Claim. `uniform` is drawn from the report's own randomness before the data are looked at, and always.
 * Given it, what is read is a measure like any other, and the mechanism's law given the measure lies
 * between the public integers of its campaign; so the law of the report is a mixture, with weights
 * that no data change, of laws that satisfy Theorem A (mechanism/sampler.h), and satisfies it too. */
#ifndef DPOT_MODEL_PLACES_H
#define DPOT_MODEL_PLACES_H

#include "model/nearest.h"

#define DPOT_POINTS_READ 1024
#define DPOT_POINTS_WEIGHED 4096

/* Takes entry `entry` < n (0 when n is 0: there is none) with this weight >= 0. */
typedef void dpot_places_taker(void *ctx, size_t entry, double weight);

/* Calls `take` DPOT_POINTS_READ times, with entries in ascending order; entries without weight may
 * follow in any. Only weights of entries are read. Total. */
void dpot_places_walk(const double *weights /* (n), or NULL: all 1 */, size_t n, uint64_t uniform,
                      dpot_places_taker *take, void *ctx);

/* Adds the weights that are read to the domain's points that are nearest. Total: points may be NULL or n
 * 0, which is no data and takes the same steps. */
void dpot_places_read(struct dpot_nearest *nearest, const double *points /* (n, dim) */,
                      const double *weights /* (n), or NULL: all 1 */, size_t n, uint64_t uniform,
                      double *histogram /* (domain size) */);

#endif
