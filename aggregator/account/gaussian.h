/* The Gaussian mechanism: its exact privacy guarantee, and the noise that a guarantee needs.
 *
 * Noise N(0, sigma^2) on each coordinate of a value of l2 sensitivity D is (epsilon, delta)-private
 * if and only if delta >= delta(epsilon; mu) with mu = D / sigma and
 *
 *   delta(epsilon; mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
 *
 * (Balle, Wang 2018). mu is also the parameter of Gaussian differential privacy (Dong, Roth, Su
 * 2022), where mu^2 adds up over independent or adaptive releases. The textbook formula sqrt(2
 * ln(1.25 / delta)) / epsilon is not offered: it is wrong for epsilon above 1.
 *
 * Arguments: epsilon >= 0, mu > 0, 0 < delta < 1, all finite. Other arguments return too, with mu 0
 * or an infinite epsilon if no guarantee follows. Accurate for epsilon beyond 512 and delta down to
 * 1e-300. Rounded outward (outward.h): delta, epsilon and scales up, mu down, each by a relative
 * 1e-10 or less (mu and scale for a delta above 1/2: 1e-8). */
#ifndef DPOT_ACCOUNT_GAUSSIAN_H
#define DPOT_ACCOUNT_GAUSSIAN_H

/* log delta(epsilon; mu), rounded up; at most 0. */
double gaussian_log_delta(double epsilon, double mu);

/* The largest mu that is (epsilon, delta)-private; epsilon 0 is allowed. */
double gaussian_mu(double epsilon, double delta);

/* The smallest epsilon for mu and delta; 0 if delta alone covers mu. */
double gaussian_epsilon(double mu, double delta);

/* The smallest sigma for l2 diameter D: D / gaussian_mu(epsilon, delta). */
double gaussian_scale(double epsilon, double delta, double l2_diameter);

/* Equation (5) of the generator paper (004; Zhao and others 2019): sigma = D (c + sqrt(c^2 +
 * epsilon)) / (epsilon sqrt 2), c^2 = ln(2 / (sqrt(16 delta + 1) - 1)). Valid for epsilon > 0 and
 * delta < 1/2. Always larger than gaussian_scale: by up to 21 % for epsilon >= 1 and delta <= 1e-6,
 * 38 % for epsilon >= 0.1 and delta <= 1e-6, 85 % for epsilon >= 1, and many times for a small
 * epsilon with a large delta. */
double gaussian_paper_scale(double epsilon, double delta, double l2_diameter);

#endif
