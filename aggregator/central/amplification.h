/* Privacy amplification by subsampling.
 *
 * Claim. Let a mechanism be epsilon-DP on samples, and let the sample be a secret random part of a
 * population that contains each person with probability `rate`. With respect to one person of the
 * population, sampling and mechanism together are log(1 + rate (e^epsilon - 1))-DP: under
 * add-remove if each person is included independently (Poisson), under replace-one if n of N are
 * drawn without replacement (rate n / N). Each person has one record (Balle, Barthe and Gaboardi
 * 2018).
 *
 * The claim fails if the sample is known or chosen, if a person has several records, and for draws
 * with replacement. The data cannot show this, so amplification is applied on request only. */
#ifndef DPOT_CENTRAL_AMPLIFICATION_H
#define DPOT_CENTRAL_AMPLIFICATION_H

/* The amplified epsilon, rounded up; rate 0 .. 1. */
double amplification_epsilon(double epsilon, double rate);

#endif
