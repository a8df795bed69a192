/* An exact sum of products of doubles: no rounding, no overflow, whatever the finite factors are.
 *
 *     struct dpot_exact_sum sum = {{0}};
 *     dpot_exact_sum_add(&sum, a, b);          sum += a b
 *     dpot_exact_sum_sign(&sum)                -1, 0 or 1
 *     dpot_wipe(&sum, sizeof sum);             when a factor was device data
 *
 * A fixed-point number that holds every bit of every product, from 2^-2148 (the square of the least
 * double) to beyond 2^20 times the largest product. Carries wait: a limb takes 2^20 additions. */
#ifndef DPOT_MODEL_EXACT_SUM_H
#define DPOT_MODEL_EXACT_SUM_H

#include <stdint.h>

#define DPOT_EXACT_SUM_LIMBS 136 /* of 32 bits: 2148 below the point, 2204 above */
#define DPOT_EXACT_SUM_TERMS_MAX ((uint32_t)1 << 20)

struct dpot_exact_sum {
    int64_t limb[DPOT_EXACT_SUM_LIMBS]; /* value = sum of limb[i] 2^(32 i - 2148) */
};

/* Adds a b. Both must be finite; at most DPOT_EXACT_SUM_TERMS_MAX terms. */
void dpot_exact_sum_add(struct dpot_exact_sum *sum, double a, double b);

/* The sign of the sum. Settles the carries: adding may go on, and begins to count anew. */
int dpot_exact_sum_sign(struct dpot_exact_sum *sum);

#endif
