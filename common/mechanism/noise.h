/* Integer noise for vectors: the discrete Laplace and Gaussian laws whose scale is a power of two.
 *
 * Claim (exact-privacy, B6). With w(x) the exact integer weight that the program gives to |noise| =
 * x,
 *
 *   Laplace   |ln w(x) - ln e^(-x / 2^k)| <= 2^-56 up to a common constant, for every x < 2^(k+5)
 *             and for the one cell beyond; with dpot_laplace_clamp the release of integers whose
 *             set has l1 diameter D1 is (E / 2^32)-LDP where dpot_laplace_accepts (Theorem B1);
 *   Gaussian  |ln w(x) - ln e^(-x^2 / 2^(2k+1))| <= 2^-40 for x < 45 2^(k-2), the rest has mass <
 *             2^-93; the release is (epsilon, delta)-LDP where dpot_gaussian_accepts (Theorem B2),
 *             or charged in zCDP (B3).
 *
 * Neighbours are any two inputs: sensitivity is a diameter (acceptance.h).
 *
 * One trial eats exactly 32 bytes, takes constant time and is accepted or not; trials are
 * independent and alike, so their number tells nothing about the value that comes out. The accept
 * bit is the only thing that branches. Trials are consumed in the order of the byte stream, and each
 * accepted one serves the next coordinate: the noise is a function of the stream, however many
 * trials are evaluated side by side, and no trial is ever read and not used.
 *
 * Nothing here uses floating point, allocates or can fail. Arguments are the caller's promise: k
 * within the ranges of model/campaign.h. */
#ifndef DPOT_MECHANISM_NOISE_H
#define DPOT_MECHANISM_NOISE_H

#include "base/rng.h"
#include "model/vector.h"

#define DPOT_NOISE_TRIAL_LEN 32

enum dpot_noise {
    DPOT_NOISE_LAPLACE,  /* scale t = 2^k, 1 <= k <= 40 */
    DPOT_NOISE_GAUSSIAN, /* standard deviation 2^k, 2 <= k <= 24 */
};

/* What one trial gives. */
struct dpot_noise_trial {
    uint64_t is_accepted; /* 1 or 0; the only part that may be made public */
    int64_t value;        /* meaningless unless accepted */
    uint64_t threshold;   /* p, in units of 2^-63: accepted iff half of the last u64 is below */
};

/* One trial on 32 bytes (B4), four little-endian u64: Ulo, Uhi, F, a. Pure and free of branches on
 * the bytes. -0 is rejected. */
struct dpot_noise_trial dpot_noise_try(enum dpot_noise noise, unsigned k,
                                       const uint8_t bytes[DPOT_NOISE_TRIAL_LEN]);

/* Trials until one is accepted. */
int64_t dpot_noise_draw(enum dpot_noise noise, unsigned k, struct dpot_rng *rng);

/* Adds a draw to each of (values, dim), in order: the same numbers as dim calls of dpot_noise_draw,
 * faster. |values| < 2^62. */
void dpot_noise_add(enum dpot_noise noise, unsigned k, struct dpot_rng *rng, int64_t *values,
                    size_t dim);

/* Where a released coordinate lies whose integer was in [lo, hi]. Laplace: [hi - (M - 1), lo + (M -
 * 1)], M = 2^(k+5), which needs hi - lo <= M - 2. Gaussian: as far as noise reaches. Public. */
void dpot_noise_range(enum dpot_noise noise, unsigned k, int64_t lo, int64_t hi, int64_t *least,
                      int64_t *most);

/* The output clamp of Laplace: each released coordinate into the range that dpot_noise_range gives
 * for its own sides. PART OF THE PROOF: without it some outputs are possible from one input only. */
void dpot_laplace_clamp(unsigned k, const struct dpot_vector_domain *vector, int64_t *values);

#endif
