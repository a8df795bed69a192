/* The reference of the exact privacy tests: a lower bound of e^epsilon to 96 binary places,
 * computed independently of the program under test (exp_bound.py). */
#ifndef DPOT_TESTS_PRIVACY_EXP_BOUND_H
#define DPOT_TESTS_PRIVACY_EXP_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values E = epsilon 2^32 in the table: 2^-32, 0.01, 0.5, 1, 4, 20. */
#define N_EXP_BOUNDS 6
uint64_t exp_bound_epsilon_q32(size_t row);

/* True if most <= floor(2^96 e^epsilon) / 2^96 * least, which implies most / least <= e^epsilon. By
 * 192-bit integers. */
bool ratio_is_within(uint64_t most, uint64_t least, uint64_t epsilon_q32);

#endif
