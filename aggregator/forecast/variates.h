/* Random variates for forecasts, in floating point, for utility only.
 *
 * Nothing here touches device data or reports: the draws are hypothetical campaigns. A stream is a
 * function of (seed, number), so that draw b of a forecast is the same for any number of threads.
 * One thread per struct. */
#ifndef DPOT_FORECAST_VARIATES_H
#define DPOT_FORECAST_VARIATES_H

#include "base/rng_seeded.h"

struct variates {
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    double spare; /* the second normal number of a pair */
    bool has_spare;
};

/* The struct must not move between init and release. */
void variates_init(struct variates *variates, uint64_t seed, uint64_t stream);
void variates_release(struct variates *variates);

double variates_uniform(struct variates *variates); /* in (0, 1) */
double variates_normal(struct variates *variates);

/* Gamma(shape, 1), shape >= 1. */
double variates_gamma(struct variates *variates, double shape);

/* Binomial(n, p); n is an integer below 2^53. */
double variates_binomial(struct variates *variates, double n, double p);

/* Counts of n draws from p (size), which sums to 1 up to rounding. `cumulative` (size): partial
 * sums of p. */
void variates_multinomial(struct variates *variates, double n, const double *p,
                          const double *cumulative, size_t size, double *counts /* (size) */);

/* The index that a uniform number u selects: the first with a partial sum above u cumulative[size -
 * 1]. */
size_t variates_pick(const double *cumulative, size_t size, double u);

#endif
