/* Exact draws in integers: what the privacy of every index mechanism depends on.
 *
 * Claim (client/doc/exact-privacy.md, Theorem A; A1 to A6 below are its sections). If for every
 * input the program outputs j with probability exactly W_j / N, N = 2^62, where
 *     (I) L_j <= W_j <= U_j    and    (II) sum W = N,
 * it is (E / 2^32)-LDP, since U_j <= e^epsilon L_j. The doubles q decide utility only:
 * dpot_weights_round ensures (I) and (II) for any q, NaN and infinity included.
 *
 * Everything here is total and allocates nothing. Where it handles q, W or random bytes, its time
 * does not depend on their values: no branch, address or division. */
#ifndef DPOT_MECHANISM_SAMPLER_H
#define DPOT_MECHANISM_SAMPLER_H

#include "model/campaign.h"

#define DPOT_MASS_ONE ((uint64_t)1 << 62) /* N: probability 1 */

/* A2: a proven lower bound of 2^46 e^(epsilon/2), for E <= DPOT_INDEX_EPSILON_MAX_Q32. */
uint64_t dpot_exp_half_lower(uint64_t epsilon_q32);

/* A3: the bounds L and U, from public data. `lower` and `upper` may both be NULL, to check only.
 * DPOT_ERR_RANGE: E, size, a mass code or T. DPOT_ERR_INFEASIBLE: not sum L <= N <= sum U. */
DPOT_WARN_UNUSED dpot_status dpot_bounds_compute(const struct dpot_base_measure *base_measure,
                                                 uint64_t epsilon_q32,
                                                 uint64_t *lower /* (size) L or NULL */,
                                                 uint64_t *upper /* (size) U or NULL */,
                                                 struct dpot_error *error);

/* A4: the public fallback M, with L <= M <= U and sum M = N. */
void dpot_bounds_fallback(const uint64_t *lower, const uint64_t *upper, size_t size,
                          uint64_t *fallback /* (size) */);

/* A4: rounds the doubles q (size) to weights W (size) with (I) and (II), for any L <= U <= N with
 * sum L <= N <= sum U. q and weights may be the same memory: q is read through memcpy. */
void dpot_weights_round(const double *q, const uint64_t *lower, const uint64_t *upper, size_t size,
                        uint64_t *weights);

/* A5: the index for the 62 low bits of `random`. Reads all weights. If W violates (I) or (II),
 * which would be a bug, `fallback` is used instead, by a mask that is fixed before `random` is
 * used. */
uint32_t dpot_weights_draw(const uint64_t *weights, const uint64_t *lower, const uint64_t *upper,
                           const uint64_t *fallback, size_t size, uint64_t random);

/* A6, for the aggregator and tools: encodes a base measure m (size) as integers;
 * base_measure->mass_code must have room for `size` codes. DPOT_ERR_RANGE: the size, or a mass that
 * is not finite and positive. DPOT_ERR_INFEASIBLE: a total outside [e^(-epsilon/2), e^(epsilon/2)]
 * (1e-9 relative). */
DPOT_WARN_UNUSED dpot_status dpot_base_measure_encode(const double *m, size_t size,
                                                      uint64_t epsilon_q32,
                                                      struct dpot_base_measure *base_measure,
                                                      struct dpot_error *error);

/* Decodes the integers: mhat_j = e^(epsilon/2) b_j T / (S N), in doubles (utility only). */
void dpot_base_measure_decode(const struct dpot_base_measure *base_measure, uint64_t epsilon_q32,
                              double *m /* (size) */);

#endif
