/* Privacy amplification by shuffling: what n epsilon0-private reports keep together when somebody
 * trusted mixes them and tells nothing but the mixed list.
 *
 * The guarantee is against whoever sees the list only, for one user's report replaced by another, and
 * holds when
 *   - a trusted shuffler removes ids, order, batches, times and network addresses,
 *   - every one of the n users runs the same epsilon0-private mechanism and reports once,
 *   - the other n - 1 are honest and do not pool what they sent.
 * dpotd as it is provides none of the first: it sees batches and addresses. Nothing in this program
 * applies these numbers by itself.
 *
 * Arguments: 0 < epsilon0 <= 512, 2 <= n <= SHUFFLE_USERS_MAX, 1e-300 <= delta < 1. All results are
 * rounded up and at most epsilon0. */
#ifndef DPOT_ACCOUNT_SHUFFLE_H
#define DPOT_ACCOUNT_SHUFFLE_H

#include <stdbool.h>

#define SHUFFLE_USERS_MAX 1e15

/* Feldman, McMillan, Talwar, "Stronger privacy amplification by shuffling for Renyi and approximate
 * differential privacy" (SODA 2023), closed form: for
 *   epsilon0 <= log(n / (8 log(2/delta)) - 1)
 * the list is (epsilon, delta)-private with
 *   epsilon = log(1 + (e^epsilon0 - 1) (4 sqrt(2 log(4/delta)) / sqrt((e^epsilon0 + 1) n) + 4/n)).
 * The limit of epsilon0 may be negative or NaN: then the theorem does not hold for any. */
double shuffle_closed_limit(double n, double delta);
double shuffle_closed_epsilon(double epsilon0, double n, double delta);

/* The same authors, "Hiding among the clones" (FOCS 2021), Theorem 3.1: for
 *   epsilon0 <= log(n / (16 log(2/delta)))
 *   epsilon = log(1 + (e^epsilon0 - 1)/(e^epsilon0 + 1)
 *                      (8 sqrt(e^epsilon0 log(4/delta)) / sqrt n + 8 e^epsilon0 / n)). */
double shuffle_clones_limit(double n, double delta);
double shuffle_clones_epsilon(double epsilon0, double n, double delta);

/* True when epsilon0 is within a limit. */
bool shuffle_holds(double epsilon0, double limit);

/* The pair of laws behind both theorems, computed: no condition, smaller numbers. See shuffle.c for
 * the pair and why it dominates. shuffle_delta is an upper bound of delta at epsilon; `scale` > 0 is
 * the size of delta that matters: masses below 1e-6 of it are bounded, not summed. */
double shuffle_delta(double epsilon0, double n, double epsilon, double scale);
double shuffle_tight_epsilon(double epsilon0, double n, double delta);

#endif
