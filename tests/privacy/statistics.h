/* p-values of the fit tests. */
#ifndef DPOT_TESTS_PRIVACY_STATISTICS_H
#define DPOT_TESTS_PRIVACY_STATISTICS_H

#include <stddef.h>

/* P[chi-square with n degrees of freedom >= x]: the regularised upper incomplete gamma function. */
double chi_square_p(double x, double n);

/* Pearson's test of counts (n) against probabilities (n), n_samples in all. Neighbouring cells are
 * merged until each expects at least 20. */
double fit_p(const size_t *counts, const double *probabilities, size_t n, size_t n_samples);

/* Kolmogorov's limit law: P[sqrt(n) D_n >= sqrt(n) d], with Stephens's correction for finite n. */
double kolmogorov_p(double d, size_t n);

#endif
