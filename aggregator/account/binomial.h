/* Binomial laws, also for 10^15 trials: one probability in logarithms, and the upper tail of fair
 * coins as a multiple of one.
 *
 * Numbers of trials and successes are doubles that hold integers exactly. */
#ifndef DPOT_ACCOUNT_BINOMIAL_H
#define DPOT_ACCOUNT_BINOMIAL_H

#define BINOMIAL_TRIALS_MAX 1e15

/* log P[Bin(n, p) = x]; q = 1 - p is given with its own digits. 0 <= x <= n. The error is below
 * 1e-11 + 1e-15 |x - n p| (Loader's saddle point form: no factorial is subtracted from another);
 * -infinity where p or q is 0 and x says otherwise. */
double binomial_log_pmf(double n, double x, double p, double q);

/* A lower bound of P[Bin(c, 1/2) >= t] / P[Bin(c, 1/2) = t - 1] for (c + 1)/2 <= t <= c + 1, within a
 * relative 1e-12 of it, unless t is within 0.2 standard deviations of the middle of more than 10^6
 * coins, where it stops early (and never takes more than 50 microseconds). */
double binomial_fair_tail(double c, double t);

#endif
