/* Privacy parameters as integers, and their sums.
 *
 * epsilon and rho are in Q32 (value / 2^32), delta in units of 2^-64. Sums saturate at UINT64_MAX,
 * which is above every cap. Charges are rounded up, caps are rounded down. */
#ifndef DPOT_MODEL_PRIVACY_H
#define DPOT_MODEL_PRIVACY_H

#include "dpot/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The largest epsilon that a device accepts, whatever its caps (compile time, at most 20). Index
 * mechanisms stop at 20 everywhere (the shifts of mechanism/sampler.c). Vector mechanisms go to 512
 * in campaigns marked `simulation`, which devices refuse. */
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
    uint64_t n_gaussian; /* G: Gaussian coordinates released (dpot_epsilon_of_rho) */
};

/* a + b, saturating. */
struct dpot_privacy dpot_privacy_add(struct dpot_privacy a, struct dpot_privacy b);

/* Whether epsilon, delta and rho of a are at most those of b; n_gaussian has no cap. */
bool dpot_privacy_within(struct dpot_privacy a, struct dpot_privacy b);

/* The charge of a pure epsilon release: delta 0, rho = epsilon^2 / 2 rounded up (Bun, Steinke
 * 2016). */
struct dpot_privacy dpot_privacy_pure(uint64_t epsilon_q32);

/* To Q32, rounded down. DPOT_ERR_RANGE unless epsilon < 2^31 and the result is >= 1. */
DPOT_WARN_UNUSED dpot_status dpot_epsilon_from_double(double epsilon, uint64_t *epsilon_q32);
double dpot_epsilon_to_double(uint64_t epsilon_q32);

/* To units of 2^-64, rounded down. DPOT_ERR_RANGE unless 0 <= delta < 1. */
DPOT_WARN_UNUSED dpot_status dpot_delta_from_double(double delta, uint64_t *delta_q64);
double dpot_delta_to_double(uint64_t delta_q64);

/* An epsilon such that releases with the sums rho and G (n_gaussian) of `spent` are (epsilon,
 * delta)-DP. Takes the truncation of Gaussian noise into account, for reports of rho at most 8 each
 * (client/doc/exact-privacy.md, Theorem B3):
 *
 *   rho + 2 sqrt(rho ln(1 / delta')) + 2^-39 G,   delta' = (delta - c) e^(-2^-38 G),
 *   c = rho 2^-40 + G 2^-75; 0 without Gaussian coordinates.
 *
 * INFINITY if delta <= c: no epsilon is known then. For display; caps are in rho. */
double dpot_epsilon_of_rho(struct dpot_privacy spent, double delta);

#endif
