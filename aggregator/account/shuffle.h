/* Privacy amplification by shuffling: the guarantee of n epsilon0-private reports when a trusted
 * party mixes them and reveals only the mixed list.
 *
 * The guarantee is against an observer of the list alone, for one user's report replaced by
 * another. It holds if
 *   - a trusted shuffler removes ids, order, batches, times and network addresses,
 *   - every one of the n users runs the same epsilon0-private mechanism and reports once,
 *   - the other n - 1 users are honest and do not pool what they sent.
 * dpotd is not such a shuffler: it sees batches and addresses. No program applies these numbers on
 * its own.
 *
 * Arguments: 0 < epsilon0 <= 512, 2 <= n <= SHUFFLE_USERS_MAX, 1e-300 <= delta < 1. All results are
 * rounded up and at most epsilon0. */
#ifndef DPOT_ACCOUNT_SHUFFLE_H
#define DPOT_ACCOUNT_SHUFFLE_H

#include <stdbool.h>

#define SHUFFLE_USERS_MAX 1e15

/* Feldman, McMillan, Talwar, "Stronger privacy amplification by shuffling for Renyi and approximate
 * differential privacy" (SODA 2023), closed form: if
 *   epsilon0 <= log(n / (8 log(2/delta)) - 1)
 * the list is (epsilon, delta)-private with
 *   epsilon = log(1 + (e^epsilon0 - 1) (4 sqrt(2 log(4/delta)) / sqrt((e^epsilon0 + 1) n) + 4/n)).
 * The limit of epsilon0 may be negative or NaN: the theorem then applies to no epsilon0. */
double shuffle_closed_limit(double n, double delta);
double shuffle_closed_epsilon(double epsilon0, double n, double delta);

/* The same authors, "Hiding among the clones" (FOCS 2021), Theorem 3.1: if
 *   epsilon0 <= log(n / (16 log(2/delta)))
 *   epsilon = log(1 + (e^epsilon0 - 1)/(e^epsilon0 + 1)
 *                      (8 sqrt(e^epsilon0 log(4/delta)) / sqrt n + 8 e^epsilon0 / n)). */
double shuffle_clones_limit(double n, double delta);
double shuffle_clones_epsilon(double epsilon0, double n, double delta);

/* Whether epsilon0 is within a limit; false for NaN. */
bool shuffle_holds(double epsilon0, double limit);

/* Numerical bounds from the dominating pair behind both theorems (shuffle.c): no condition on
 * epsilon0, smaller results. shuffle_delta is an upper bound of delta at epsilon; masses below 1e-6
 * of `scale` > 0, the size of the deltas of interest, are bounded instead of summed. */
double shuffle_delta(double epsilon0, double n, double epsilon, double scale);
double shuffle_tight_epsilon(double epsilon0, double n, double delta);

#endif
