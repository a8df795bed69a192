/* Zero-concentrated differential privacy: what rho promises in (epsilon, delta). */
#ifndef DPOT_ACCOUNT_ZCDP_H
#define DPOT_ACCOUNT_ZCDP_H

/* The smallest epsilon that a rho-zCDP release keeps at `delta` (Canonne, Kamath, Steinke 2020):
 *
 *   delta = inf_{alpha > 1} exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1)
 *
 * rho >= 0, 0 < delta < 1. Rounded up by a relative 1e-13. Every alpha gives a valid epsilon, so that
 * the search for the best one is a matter of utility only. */
double zcdp_epsilon(double rho, double delta);

/* epsilon-private releases are epsilon^2/2-zCDP (Bun, Steinke 2016); rounded up. */
double zcdp_of_pure(double epsilon);

/* Noise N(0, sigma^2), continuous or discrete, with mu = D / sigma is mu^2/2-zCDP; rounded up. */
double zcdp_of_gaussian(double mu);

#endif
