/* For the exact methods: masses in integer units, so that flows add up exactly and ties stay ties,
 * and compensated sums of doubles, for certificates. */
#ifndef DPOT_OT_EXACT_UNITS_H
#define DPOT_OT_EXACT_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define DPOT_EXACT_UNIT_BITS 61 /* the total mass in units lies in [2^60, 2^61) */

/* Neumaier's compensated sum: a certificate compares two long sums. */
struct dpot_exact_sum {
    double sum, lost;
};
void dpot_exact_add(struct dpot_exact_sum *s, double x);
double dpot_exact_sum_of(const struct dpot_exact_sum *s);

/* Rounds masses (>= 0) to units of 2^(exponent - DPOT_EXACT_UNIT_BITS); returns their sum. */
int64_t dpot_exact_to_units(const double *mass, size_t n, double factor, int exponent,
                            int64_t *units);
double dpot_exact_to_mass(int64_t units, int exponent);

/* Adds the difference that rounding left between two totals to the largest entry. */
void dpot_exact_add_to_largest(int64_t *units, size_t n, int64_t difference);

#endif
