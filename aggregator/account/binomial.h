/* Binomial distributions with up to 10^15 trials: the logarithm of a probability, and the upper
 * tail of fair coins as a multiple of a probability.
 *
 * Numbers of trials and successes are doubles that hold integers exactly. */
#ifndef DPOT_ACCOUNT_BINOMIAL_H
#define DPOT_ACCOUNT_BINOMIAL_H

/* log P[Bin(n, p) = x] for 0 <= x <= n; q = 1 - p is given separately, to full precision. The error
 * is below 1e-11 + 1e-15 |x - n p| (Loader's saddle point form, which subtracts no factorials).
 * -infinity if p or q is 0 and excludes x. */
double binomial_log_pmf(double n, double x, double p, double q);

/* A lower bound of P[Bin(c, 1/2) >= t] / P[Bin(c, 1/2) = t - 1] for (c + 1)/2 <= t <= c + 1, with a
 * relative error of 1e-12. The error is larger if t is within 0.2 standard deviations of the middle
 * of more than 10^6 coins: the fraction is cut off, so that a call takes at most 50
 * microseconds. */
double binomial_fair_tail(double c, double t);

#endif
