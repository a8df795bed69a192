/* What counts prove about probabilities: exact confidence bounds of a proportion (Clopper, Pearson
 * 1934), and the privacy loss that the counts of one event under two inputs prove.
 *
 * All are one-sided, and rounded outward: lower bounds down, upper bounds up. */
#ifndef DPOT_ACCOUNT_PROPORTION_H
#define DPOT_ACCOUNT_PROPORTION_H

#include <stdint.h>

#define PROPORTION_TRIALS_MAX UINT64_C(1000000000000)

/* With `n_hits` <= `n` independent hits, 1 <= n <= PROPORTION_TRIALS_MAX, and 0 < error < 1: the largest
 * p such that P[Bin(n, p) >= n_hits] <= error (0 without hits), so that the true probability is
 * below it with probability at most `error`. */
double proportion_lower(uint64_t n_hits, uint64_t n, double error);

/* The smallest p such that P[Bin(n, p) <= n_hits] <= error; 1 with hits only. */
double proportion_upper(uint64_t n_hits, uint64_t n, double error);

/* The counts of one event, chosen before they were taken, under two inputs. */
struct proportion_pair {
    uint64_t n_hits, n;             /* under the input where the event is likelier */
    uint64_t n_other_hits, n_other; /* under the other one */
};

/* A lower bound of the epsilon for which P <= e^epsilon Q + delta can hold: log((p - delta) / q) with p
 * a lower bound of P and q an upper one of Q, each at error / 2; 0 when the counts prove nothing. */
double proportion_epsilon(const struct proportion_pair *pair, double delta, double error);

#endif
