/* Zero-concentrated differential privacy: conversion from and to rho. */
#ifndef DPOT_ACCOUNT_ZCDP_H
#define DPOT_ACCOUNT_ZCDP_H

/* The smallest epsilon of a rho-zCDP release at `delta` (Canonne, Kamath, Steinke 2020):
 *
 *   delta = inf_{alpha > 1} exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1)
 *
 * rho >= 0, 0 < delta < 1. Rounded up by a relative 1e-13. Every alpha gives a valid epsilon, so
 * the search for the best one affects utility only. */
double zcdp_epsilon(double rho, double delta);

/* rho of an epsilon-private release: epsilon^2/2 (Bun, Steinke 2016); rounded up. */
double zcdp_of_pure(double epsilon);

/* rho of noise N(0, sigma^2), continuous or discrete, with mu = D / sigma: mu^2/2; rounded up. */
double zcdp_of_gaussian(double mu);

#endif
