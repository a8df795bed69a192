/* The law of one draw of noise of the program, in exact integers: the weight of a value is the
 * number of table units of its cell times the threshold of its trial, both obtained from
 * dpot_noise_try. No formula of the law is used here. */
#ifndef DPOT_TESTS_PRIVACY_NOISE_WEIGHTS_H
#define DPOT_TESTS_PRIVACY_NOISE_WEIGHTS_H

#include "mechanism/noise.h"
#include "privacy/wide.h"

struct noise_weights {
    size_t n_values;     /* |noise| < n_values */
    struct wide *weight; /* (n_values): of +x, and of -x for x > 0 */
    struct wide total;
};

/* Asserts that a trial gives the value of its cell and bits, that 0 occurs once, and that both
 * signs of other values have the same threshold. The caller frees the result. */
struct noise_weights noise_weights_new(enum dpot_noise noise, unsigned k);
void noise_weights_free(struct noise_weights *weights);

/* The law in doubles, x = -(n_values - 1) .. n_values - 1. The caller frees it. */
double *noise_weights_to_doubles(const struct noise_weights *weights);

#endif
