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
 *             or charged in zCDP where dpot_gaussian_rho_accepts, as follows.
 *
 * Cut noise and zCDP. The ideal law, not cut, is rho-zCDP with rho = m^2 / 2, m = D2 / sigma
 * (Canonne, Kamath, Steinke 2020). The program's is not for any rho: noise ends at 47/4 sigma, so
 * that some outputs are possible from one input only, and for m near 9 such outputs are likely. Let
 * A be the outputs whose every coordinate is within 45/4 sigma of both z and z'. On A the program's
 * density is the ideal one up to e^(+-2^-40) a coordinate and a normaliser that is common to all
 * inputs; hence the ratio of two inputs' densities up to e^(+-2^-39) a coordinate. Off A, for m <=
 * 4 (rho <= 8):
 *
 *   P[not A] <= G 2^-93 + sum_j (h(m_j) + h(-m_j)),   h(t) = e^(-(45/4 - t)^2 / 2),  sum m_j^2 <= m^2,
 *
 * because P[Y >= t sigma] <= e^(-t^2 / 2) for the discrete Gaussian Y too. The coordinates with m_j
 * < 1 give at most h(1) + h(-1) < 2^-75.7 each. For the others h(-m_j) is below 2^-30 h(m_j), and
 * h(t) / t^2 increases on [1, 4] (the derivative of ln h is at least 29/4 there, that of ln t^2 at
 * most 2), so that they give together at most (m^2 / 16) h(4) = (rho / 8) 2^-37.9. All with room
 * for the program's weights:
 *
 *   P[not A] <= rho 2^-40 + G 2^-75      of one report, G its coordinates; at most 2^-36.9.
 *
 * Composition, adaptive too: on the transcripts all of whose reports are in their A the ratio is
 * the ideal one up to e^(2^-39 G), and the density the ideal one up to e^(2^-38 G), G the sum over
 * all reports; the others have mass at most rho 2^-40 + G 2^-75 by the union bound, with the sums
 * of rho and G. So if rho-zCDP promises (epsilon, delta), the program keeps
 *
 *   (epsilon + 2^-39 G,  e^(2^-38 G) delta + rho 2^-40 + G 2^-75).
 *
 * dpot_epsilon_of_rho (model/privacy.h) is this. Reports on a row of the certificate with epsilon
 * <= 20 have m <= 3.72 and are covered as well.
 *
 * Neighbours are any two inputs: sensitivity is a diameter (acceptance.h).
 *
 * One trial eats exactly 32 bytes, takes constant time and is accepted or not; trials are
 * independent and alike, so their number tells nothing about the value that comes out. The accept
 * bit is the only thing that branches. Trials are consumed in the order of the byte stream, and
 * each accepted one serves the next coordinate: the noise is a function of the stream, however many
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
 * for its own sides. PART OF THE PROOF: without it some outputs are possible from one input
 * only. */
void dpot_laplace_clamp(unsigned k, const struct dpot_vector_domain *vector, int64_t *values);

#endif
