/* The exact composition of k equal epsilon-private releases. */
#ifndef DPOT_ACCOUNT_OPTIMAL_H
#define DPOT_ACCOUNT_OPTIMAL_H

#include <stdbool.h>
#include <stdint.h>

#define OPTIMAL_COUNT_MAX 100000000u

/* The smallest total epsilon at `delta` that holds for every k-fold adaptive composition of
 * epsilon-private releases (Kairouz, Oh, Viswanath 2015, Theorem 3.3; it is attained by k-ary
 * randomised response):
 *
 *   delta(total) = sum_l C(k, l) max(e^{(k-l) epsilon} - e^{total + l epsilon},
 *   0) / (1+e^epsilon)^k
 *
 * epsilon > 0, 1 <= count <= OPTIMAL_COUNT_MAX, 0 < delta < 1. Rounded up by a relative 1e-8 of
 * delta; at most count times epsilon. */
double optimal_epsilon(double epsilon, uint64_t count, double delta);

#endif
