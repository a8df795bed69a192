/* Integer noise for vectors: discrete Laplace and Gaussian laws whose scale is a power of two.
 *
 * Claim (client/doc/exact-privacy.md, B4 and B6). With w(x) the exact integer weight that the
 * program gives to |noise| = x, up to a common constant:
 *
 *   Laplace   |ln w(x) - ln e^(-x / 2^k)| <= 2^-56 for x < 2^(k+5), and for the sum of all beyond.
 *             With dpot_laplace_clamp the release is (E / 2^32)-LDP where dpot_laplace_accepts
 *             (Theorem B1).
 *   Gaussian  |ln w(x) - ln e^(-x^2 / 2^(2k+1))| <= 2^-40 for x < 45 2^(k-2); noise beyond, which
 *             ends below 12 sigma, has probability < 2^-93. The release is (epsilon, delta)-LDP
 *             where dpot_gaussian_accepts (Theorem B2). Where dpot_gaussian_rho_accepts (rho <= 8),
 *             it has the density of a rho-zCDP mechanism up to a factor within e^(+-2^-40) per
 *             coordinate, outside of an event of probability rho 2^-40 + dim 2^-75 (Theorem B3).
 *             The truncated law is not zCDP itself: some outputs are possible from one input only.
 *
 * Neighbours are any two inputs: the sensitivity is a diameter (acceptance.h).
 *
 * One trial consumes exactly 32 bytes, takes constant time and is accepted or not; only the accept
 * bit is branched on. Trials are independent and alike, so their number is independent of the
 * value. They are consumed in the order of the byte stream, and each accepted one serves the next
 * coordinate: the noise is a function of the stream, however many trials are evaluated together,
 * and no trial is read without being used.
 *
 * No floating point, no allocation, no failure. The caller ensures that k is in the range of
 * model/campaign.h. */
#ifndef DPOT_MECHANISM_NOISE_H
#define DPOT_MECHANISM_NOISE_H

#include "base/rng.h"
#include "model/vector.h"

#define DPOT_NOISE_TRIAL_LEN 32

enum dpot_noise {
    DPOT_NOISE_LAPLACE,  /* scale t = 2^k, 1 <= k <= 40 */
    DPOT_NOISE_GAUSSIAN, /* standard deviation 2^k, 2 <= k <= 24 */
};

/* The result of one trial. */
struct dpot_noise_trial {
    uint64_t is_accepted; /* 1 or 0; the only part that may be made public */
    int64_t value;        /* meaningless unless accepted */
    uint64_t threshold;   /* p, in units of 2^-63: the probability of acceptance */
};

/* One trial (B4) on 32 bytes: four little-endian u64 Ulo, Uhi, F, a. Pure, without branches on the
 * bytes. -0 is rejected. */
struct dpot_noise_trial dpot_noise_try(enum dpot_noise noise, unsigned k,
                                       const uint8_t bytes[DPOT_NOISE_TRIAL_LEN]);

/* Trials until one is accepted. */
int64_t dpot_noise_draw(enum dpot_noise noise, unsigned k, struct dpot_rng *rng);

/* Adds a draw to each of (values, dim), |values| < 2^62, in order: the same numbers as dim calls of
 * dpot_noise_draw, faster. */
void dpot_noise_add(enum dpot_noise noise, unsigned k, struct dpot_rng *rng, int64_t *values,
                    size_t dim);

/* The public range of a released coordinate whose integer is in [lo, hi]. Laplace: [hi - (M - 1),
 * lo + (M
 * - 1)], M = 2^(k+5), for hi - lo <= M - 2. Gaussian: [lo - (12 2^k - 1), hi + (12 2^k - 1)]. */
void dpot_noise_range(enum dpot_noise noise, unsigned k, int64_t lo, int64_t hi, int64_t *least,
                      int64_t *most);

/* Clamps each released coordinate to the range of dpot_noise_range for its own sides. PART OF THE
 * PROOF: without it some outputs would be possible from one input only. */
void dpot_laplace_clamp(unsigned k, const struct dpot_vector_domain *vector, int64_t *values);

#endif
