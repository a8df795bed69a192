/* Exact draws in integers: the part of every index mechanism on which privacy rests.
 *
 * Claim (exact-privacy, Theorem A). If every input leads to output j with probability exactly W_j /
 * 2^62, where L_j <= W_j <= U_j and sum W = 2^62, the program is (E / 2^32)-LDP: U_j / L_j <=
 * e^epsilon by the integer lower bound A <= 2^46 e^(epsilon/2). Floating point (the projection q)
 * decides utility only; NaN, infinity or garbage in q cannot break (I) L <= W <= U and (II) sum W =
 * 2^62.
 *
 * Everything here is total, allocates nothing and, where it touches q, W or random bytes, runs in
 * time that does not depend on their values (no secret-dependent branch or address, no division).
 */
#ifndef DPOT_MECHANISM_SAMPLER_H
#define DPOT_MECHANISM_SAMPLER_H

#include "model/campaign.h"

#define DPOT_MASS_ONE ((uint64_t)1 << 62) /* N: the whole probability */

/* A(E): a provable lower bound of 2^46 e^(epsilon/2); E <= DPOT_INDEX_EPSILON_MAX_Q32. */
uint64_t dpot_exp_half_lower(uint64_t epsilon_q32);

/* The bounds L and U of A3. DPOT_ERR_RANGE: E, size, a mass code or T out of range;
 * DPOT_ERR_INFEASIBLE unless sum L <= N <= sum U. Public data, any time. `lower` and `upper` may
 * both be NULL, to check only. */
DPOT_WARN_UNUSED dpot_status dpot_bounds_compute(const struct dpot_base_measure *base_measure,
                                                 uint64_t epsilon_q32,
                                                 uint64_t *lower /* (size) L or NULL */,
                                                 uint64_t *upper /* (size) U or NULL */,
                                                 struct dpot_error *error);

/* The public fallback M of A4: L <= M <= U, sum M = N. */
void dpot_bounds_fallback(const uint64_t *lower, const uint64_t *upper, size_t size,
                          uint64_t *fallback /* (size) */);

/* A4: rounds the doubles q to weights W with (I) and (II), for bounds that dpot_bounds_compute
 * accepted (only L_j <= U_j <= N and sum L <= N <= sum U are used). q and weights may be the same
 * allocated memory: q is read through memcpy. Both are (size). */
void dpot_weights_round(const double *q, const uint64_t *lower, const uint64_t *upper, size_t size,
                        uint64_t *weights);

/* A5: the index for the 62 low bits of `random`. Scans everything. If W breaks (I) or (II), which
 * would be a bug, `fallback` is used instead, by a mask fixed before `random` is used. */
uint32_t dpot_weights_draw(const uint64_t *weights, const uint64_t *lower, const uint64_t *upper,
                           const uint64_t *fallback, size_t size, uint64_t random);

/* A6: encodes a float base measure m (size) as integers. Refuses (DPOT_ERR_INFEASIBLE,
 * DPOT_ERR_RANGE) masses that are not finite and positive or a total outside [e^(-epsilon/2),
 * e^(epsilon/2)] (1e-9 relative). base_measure->mass_code must have room for `size` codes. For the
 * aggregator and tools. */
DPOT_WARN_UNUSED dpot_status dpot_base_measure_encode(const double *m, size_t size,
                                                      uint64_t epsilon_q32,
                                                      struct dpot_base_measure *base_measure,
                                                      struct dpot_error *error);

/* Decodes the integers: mhat_j = e^(epsilon/2) b_j T / (S N), to double accuracy (utility only). */
void dpot_base_measure_decode(const struct dpot_base_measure *base_measure, uint64_t epsilon_q32,
                              double *m /* (size) */);

#endif
