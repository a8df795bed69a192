/* The yardstick of the exact privacy tests: e^epsilon from below, to 96 binary places, computed
 * apart from the program under test (exp_bound.py). */
#ifndef DPOT_TESTS_PRIVACY_EXP_BOUND_H
#define DPOT_TESTS_PRIVACY_EXP_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The E = epsilon 2^32 that have a row: 2^-32, 0.01, 0.5, 1, 4, 20. */
#define N_EXP_BOUNDS 6
uint64_t exp_bound_epsilon_q32(size_t row);

/* True when most <= floor(2^96 e^epsilon) / 2^96 * least: then most / least <= e^epsilon for
 * certain. By 192-bit integers. */
bool ratio_is_within(uint64_t most, uint64_t least, uint64_t epsilon_q32);

#endif
