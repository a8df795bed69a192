/* A lower bound of e^epsilon in integers, and the comparison that an index mechanism claims:
 * most <= e^epsilon least. Independent of mechanism/sampler.c, whose bounds it checks: it uses
 * another series, more bits, and e^epsilon itself instead of the square of its root. */
#ifndef DPOT_AUDIT_EXP_BOUND_H
#define DPOT_AUDIT_EXP_BOUND_H

#include "mechanism/u128.h"

#include <stdbool.h>

/* 2^96 e^(E / 2^32) rounded down, by a relative 2^-90 or less; E <= 20 2^32. */
struct dpot_u128 exp_bound(uint64_t epsilon_q32);

/* True only if most <= e^epsilon least; always false if most is greater by a relative 2^-89. */
bool exp_bound_holds(uint64_t most, uint64_t least, uint64_t epsilon_q32);

#endif
