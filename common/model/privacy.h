/* Privacy parameters as integers, and their sums.
 *
 * epsilon and rho are in Q32 (value / 2^32), delta in units of 2^-64; arithmetic saturates, so a
 * sum that overflows counts as "more than any cap". What a release is charged is rounded up, what a
 * cap allows is rounded down. */
#ifndef DPOT_MODEL_PRIVACY_H
#define DPOT_MODEL_PRIVACY_H

#include "dpot/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Largest epsilon a device accepts, whatever its caps say (compile time, at most 20). Index
 * mechanisms stop at 20 everywhere: the shifts of mechanism/sampler.h hold up to there. Vector
 * mechanisms go on to 512 in campaigns marked `simulation`, which no device takes part in: numbers
 * of experiments, no protection. */
#ifndef DPOT_EPSILON_CEILING
#define DPOT_EPSILON_CEILING 20
#endif
#define DPOT_EPSILON_ONE ((uint64_t)1 << 32)
#define DPOT_EPSILON_CEILING_Q32 ((uint64_t)DPOT_EPSILON_CEILING << 32)
#define DPOT_INDEX_EPSILON_MAX_Q32 ((uint64_t)20 << 32)
#define DPOT_SIMULATION_EPSILON_MAX_Q32 ((uint64_t)512 << 32)

struct dpot_privacy {
    uint64_t epsilon_q32;
    uint64_t delta_q64;
    uint64_t rho_q32;
    uint64_t n_gaussian; /* G: Gaussian coordinates released; enters the conversion from rho */
};

/* a + b, each part saturating at UINT64_MAX. */
struct dpot_privacy dpot_privacy_add(struct dpot_privacy a, struct dpot_privacy b);

/* True when epsilon, delta and rho of a are at most those of b (n_gaussian has no cap of its own). */
bool dpot_privacy_within(struct dpot_privacy a, struct dpot_privacy b);

/* The charge of a pure epsilon release: delta 0, rho = epsilon^2 / 2 rounded up. */
struct dpot_privacy dpot_privacy_pure(uint64_t epsilon_q32);

/* A real number to Q32, rounded down; DPOT_ERR_RANGE unless 0 < epsilon < 2^31 and the result is
 * >= 1. */
DPOT_WARN_UNUSED dpot_status dpot_epsilon_from_double(double epsilon, uint64_t *epsilon_q32);
double dpot_epsilon_to_double(uint64_t epsilon_q32);

/* A real number to units of 2^-64, rounded down; DPOT_ERR_RANGE unless 0 <= delta < 1. */
DPOT_WARN_UNUSED dpot_status dpot_delta_from_double(double delta, uint64_t *delta_q64);
double dpot_delta_to_double(uint64_t delta_q64);

/* An epsilon such that what has the sums rho and G (n_gaussian) of `spent` is (epsilon, delta)-DP, with
 * the cut of Gaussian noise paid for (mechanism/noise.h; for Gaussian reports of rho at most 8 each):
 *
 *   rho + 2 sqrt(rho ln(1 / delta')) + 2^-39 G,   delta' = (delta - c) e^(-2^-38 G),
 *   c = rho 2^-40 + G 2^-75, 0 without Gaussian coordinates.
 *
 * INFINITY when c leaves nothing of delta: then no epsilon is known. For people to read; caps are in
 * rho. */
double dpot_epsilon_of_rho(struct dpot_privacy spent, double delta);

#endif
