/* Deconvolution problems: noisy data around two places, or any pool of a test. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_SPIKES_H
#define DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_SPIKES_H

#include "solve/estimate/deconvolve.h"

#include <stddef.h>
#include <stdint.h>

#define N_MAX 20000
#define DIM_MAX 5
extern double pool[N_MAX * DIM_MAX], support[1000 * DIM_MAX];
extern double lo[DIM_MAX], hi[DIM_MAX]; /* the domain's box */

/* A problem with everything but the pool and the support. */
struct deconvolve_config make(const struct dpot_noise_density *density, size_t n, size_t dim,
                              double side);
struct dpot_noise_density density_of(enum dpot_noise noise, double scale);

/* Restarts the stream of noise; one draw of it. */
void seed(uint64_t value);
double draw(enum dpot_noise noise, double scale);

/* Fills the pool: 0.3 of the data at -1 in every coordinate, 0.7 at 1. */
void draw_spikes(enum dpot_noise noise, double scale, size_t n, size_t dim);

/* Makes a solver, which the caller frees, and runs it to its end. */
struct deconvolve *solve(const struct deconvolve_config *config, struct deconvolve_result *result);

#endif
