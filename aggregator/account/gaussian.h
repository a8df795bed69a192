/* The Gaussian mechanism: exactly how private it is, and the noise that a guarantee needs.
 *
 * Noise N(0, sigma^2) on every coordinate of a value that moves by at most D in l2 is
 * (epsilon, delta)-private exactly when delta >= delta(epsilon; mu) with mu = D / sigma and
 *
 *   delta(epsilon; mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
 *
 * (Balle, Wang 2018); mu is also the parameter of Gaussian differential privacy (Dong, Roth, Su
 * 2022), where independent or adaptive releases add up as mu^2. The textbook's
 * sqrt(2 ln(1.25 / delta)) / epsilon is not here: it is wrong above epsilon 1.
 *
 * Arguments: epsilon >= 0, mu > 0, 0 < delta < 1, all finite (anything else ends too, with a mu of 0 or
 * an infinite epsilon where no guarantee follows). Good for epsilon up to 512 and beyond,
 * delta down to 1e-300. Rounded outward (outward.h): delta, epsilon and scales up, mu down, each by
 * a relative 1e-10 or less (mu and scale for a delta above 1/2: 1e-8). */
#ifndef DPOT_ACCOUNT_GAUSSIAN_H
#define DPOT_ACCOUNT_GAUSSIAN_H

/* log delta(epsilon; mu), rounded up; at most 0. */
double gaussian_log_delta(double epsilon, double mu);

/* The largest mu that is (epsilon, delta)-private; epsilon may be 0. */
double gaussian_mu(double epsilon, double delta);

/* The smallest epsilon that mu and delta allow; 0 when none is needed. */
double gaussian_epsilon(double mu, double delta);

/* The smallest sigma for l2 diameter D: D / gaussian_mu(epsilon, delta). */
double gaussian_scale(double epsilon, double delta, double l2_diameter);

/* Equation (5) of the generator paper (004; Zhao and others 2019): sigma = D (c + sqrt(c^2 +
 * epsilon)) / (epsilon sqrt 2), c^2 = ln(2 / (sqrt(16 delta + 1) - 1)). Valid for epsilon > 0 and
 * delta < 1/2, always larger: at most 21 % for epsilon >= 1 and delta <= 1e-6, 38 % for epsilon
 * >= 0.1 and delta <= 1e-6, 85 % for epsilon >= 1; many times for a small epsilon and a large delta. */
double gaussian_paper_scale(double epsilon, double delta, double l2_diameter);

#endif
