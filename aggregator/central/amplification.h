/* Amplification by subsampling: what a release of a sample is worth to the people it was drawn from.
 *
 * Claim. If a mechanism is epsilon-DP on samples, and the sample is a secret random part of a population
 * of which every person is in it with probability `rate`, then with respect to one person of the
 * population the whole is log(1 + rate (e^epsilon - 1))-DP: for add-remove when each person is taken by
 * her own coin (Poisson), for replace-one when n of N are drawn without replacement (rate n / N), in
 * both cases one record a person (Balle, Barthe and Gaboardi 2018).
 *
 * It fails when the sample is known or chosen, when a person has more records, and for draws with
 * replacement. Nobody can check these from the data: it is applied on request only. */
#ifndef DPOT_CENTRAL_AMPLIFICATION_H
#define DPOT_CENTRAL_AMPLIFICATION_H

/* Rounded up; rate 0 .. 1. */
double amplification_epsilon(double epsilon, double rate);

#endif
