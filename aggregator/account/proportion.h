/* Exact one-sided confidence bounds of a proportion (Clopper, Pearson 1934), and a lower bound of
 * the privacy loss from the counts of one event under two inputs.
 *
 * Rounded outward: lower bounds down, upper bounds up. */
#ifndef DPOT_ACCOUNT_PROPORTION_H
#define DPOT_ACCOUNT_PROPORTION_H

#include <stdint.h>

#define PROPORTION_TRIALS_MAX UINT64_C(1000000000000)

/* Lower bound of the probability of n_hits <= n independent hits: the largest p such that P[Bin(n,
 * p) >= n_hits] <= error, 0 without hits. The true probability is below it with probability at most
 * `error`. 1 <= n <= PROPORTION_TRIALS_MAX, 0 < error < 1. */
double proportion_lower(uint64_t n_hits, uint64_t n, double error);

/* Upper bound: the smallest p such that P[Bin(n, p) <= n_hits] <= error; 1 if all are hits. */
double proportion_upper(uint64_t n_hits, uint64_t n, double error);

/* Counts of one event under two inputs; the event was chosen before they were taken. */
struct proportion_pair {
    uint64_t n_hits, n;             /* under the input with the higher probability */
    uint64_t n_other_hits, n_other; /* under the other input */
};

/* Lower bound of every epsilon with P <= e^epsilon Q + delta: log((p - delta) / q), with p a lower
 * bound of P and q an upper bound of Q, each at error / 2. 0: the counts prove nothing. */
double proportion_epsilon(const struct proportion_pair *pair, double delta, double error);

#endif
